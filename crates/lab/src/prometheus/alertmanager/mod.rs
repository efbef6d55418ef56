//! Alertmanager: takes alerts from the rules and from others, groups, silences and inhibits them, and serves its API v2.

mod http;
mod matcher;
mod silence;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

use super::clock::Clock;
use super::labels::Labels;
use matcher::Matchers;
use silence::Silences;

pub(super) use http::router;

/// How long an alert without an end stays active after it was last told.
const RESOLVE_TIMEOUT: SignedDuration = SignedDuration::from_mins(5);
/// How long a resolved alert is remembered.
const RESOLVED_RETENTION: SignedDuration = SignedDuration::from_mins(15);
/// More alerts than this are refused.
const MAX_ALERTS: usize = 10_000;
/// The one receiver.
const RECEIVER: &str = "default";

/// Why something was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What was sent is wrong.
    #[error("{0}")]
    Invalid(String),
    /// There is no such silence.
    #[error("silence {0} not found")]
    UnknownSilence(String),
    /// It ended before.
    #[error("silence {0} already expired")]
    Expired(String),
    /// There is no room for more.
    #[error("at most {0} are held")]
    Full(usize),
}

/// An alert as Alertmanager holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// What names it.
    pub labels: Labels,
    /// What is told about it.
    pub annotations: Labels,
    /// Since when.
    pub starts_at: Timestamp,
    /// Until when; in the past if it is resolved.
    pub ends_at: Timestamp,
    /// When it was last told.
    pub updated_at: Timestamp,
    /// Where it comes from.
    pub generator_url: String,
    /// Its end is only the time-out, not something that was told.
    pub timed_out: bool,
}

impl Alert {
    fn is_resolved(&self, now: Timestamp) -> bool {
        self.ends_at <= now
    }

    /// One alert from two tellings of it: the newer wins, the earliest start stays.
    fn merged(self, newer: Self, now: Timestamp) -> Self {
        let overlap = (newer.ends_at > self.starts_at && newer.ends_at < self.ends_at)
            || (newer.starts_at > self.starts_at && newer.starts_at < self.ends_at);
        if !overlap {
            return newer;
        }
        let starts_at = self.starts_at.min(newer.starts_at);
        let later = self.ends_at > newer.ends_at;
        let keeps_end = if newer.is_resolved(now) {
            self.is_resolved(now)
        } else {
            !self.timed_out
        };
        let ends_at = if later && keeps_end {
            self.ends_at
        } else {
            newer.ends_at
        };
        Self {
            starts_at,
            ends_at,
            ..newer
        }
    }
}

/// Whether and why nobody is told about an alert.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Muted {
    /// The silences that match it.
    pub silenced_by: Vec<String>,
    /// The fingerprints of more serious alerts that stand for it.
    pub inhibited_by: Vec<String>,
}

impl Muted {
    fn is_empty(&self) -> bool {
        self.silenced_by.is_empty() && self.inhibited_by.is_empty()
    }
}

#[derive(Debug, Default)]
struct State {
    alerts: BTreeMap<Labels, Alert>,
    silences: Silences,
}

/// Alertmanager; a clone is another handle on the same one.
#[derive(Debug, Clone)]
pub struct Alertmanager {
    state: Arc<Mutex<State>>,
    clock: Clock,
    started: Timestamp,
}

impl Alertmanager {
    pub(super) fn new(clock: Clock) -> Self {
        let started = clock.now();
        Self {
            state: Arc::default(),
            clock,
            started,
        }
    }

    /// Takes alerts. One that ended resolves the alert with the same labels.
    pub fn put(&self, alerts: impl IntoIterator<Item = Alert>) -> Result<(), Error> {
        let now = self.clock.now();
        let mut state = self.lock();
        state
            .alerts
            .retain(|_, alert| now.duration_since(alert.ends_at) < RESOLVED_RETENTION);
        for alert in alerts {
            if state.alerts.len() >= MAX_ALERTS && !state.alerts.contains_key(&alert.labels) {
                return Err(Error::Full(MAX_ALERTS));
            }
            let alert = match state.alerts.remove(&alert.labels) {
                Some(held) => held.merged(alert, now),
                None => alert,
            };
            state.alerts.insert(alert.labels.clone(), alert);
        }
        Ok(())
    }

    /// The alerts that are not resolved, with what mutes them.
    pub fn active(&self) -> Vec<(Alert, Muted)> {
        let now = self.clock.now();
        let state = self.lock();
        let active: Vec<&Alert> = state
            .alerts
            .values()
            .filter(|alert| !alert.is_resolved(now))
            .collect();
        let muted = |alert: &Alert| Muted {
            silenced_by: state.silences.matching(&alert.labels, now),
            inhibited_by: active
                .iter()
                .filter(|source| inhibits(source, alert))
                .map(|a| fingerprint(&a.labels))
                .collect(),
        };
        active
            .iter()
            .map(|alert| ((*alert).clone(), muted(alert)))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one rule of inhibition: what is critical stands for the warnings of the same name and instance.
fn inhibits(source: &Alert, target: &Alert) -> bool {
    let same = |name| source.labels.get(name) == target.labels.get(name);
    source.labels.get("severity") == "critical"
        && target.labels.get("severity") == "warning"
        && same("alertname")
        && same("instance")
}

/// The fingerprint of labels, as every Prometheus component computes it (FNV-1a).
pub fn fingerprint(labels: &Labels) -> String {
    const SEPARATOR: u8 = 0xff;
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    for (name, value) in labels.iter() {
        name.bytes()
            .chain([SEPARATOR])
            .chain(value.bytes())
            .chain([SEPARATOR])
            .for_each(&mut add);
    }
    format!("{hash:016x}")
}
