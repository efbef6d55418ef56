//! Silences: for a time, nobody is told about the alerts that match.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::super::labels::Labels;
use super::matcher::Matcher;
use super::{Error, Matchers};

/// More silences than this are refused.
const MAX_SILENCES: usize = 1_000;
/// How long an expired silence is remembered.
const RETENTION: SignedDuration = SignedDuration::from_hours(120);

/// What a silence asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) matchers: Vec<Matcher>,
    pub(super) starts_at: Timestamp,
    pub(super) ends_at: Timestamp,
    pub(super) created_by: String,
    pub(super) comment: String,
}

#[derive(Debug, Clone)]
pub(super) struct Silence {
    pub(super) id: String,
    pub(super) wish: Wish,
    pub(super) updated_at: Timestamp,
    tests: Matchers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SilenceState {
    Active,
    Pending,
    Expired,
}

impl SilenceState {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Pending => "pending",
            Self::Expired => "expired",
        }
    }
}

impl Silence {
    pub(super) fn state(&self, now: Timestamp) -> SilenceState {
        if now >= self.wish.ends_at {
            SilenceState::Expired
        } else if now < self.wish.starts_at {
            SilenceState::Pending
        } else {
            SilenceState::Active
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Silences(BTreeMap<String, Silence>);

impl Silences {
    /// Creates a silence, or changes one. What changes whom an active silence matches makes a new one.
    pub(super) fn set(
        &mut self,
        id: Option<String>,
        mut wish: Wish,
        now: Timestamp,
    ) -> Result<String, Error> {
        let tests = check(&wish, now)?;
        wish.starts_at = wish.starts_at.max(now);
        self.0
            .retain(|_, silence| now.duration_since(silence.wish.ends_at) < RETENTION);
        if let Some(id) = id {
            let held = self
                .0
                .get_mut(&id)
                .ok_or_else(|| Error::UnknownSilence(id.clone()))?;
            if held.state(now) != SilenceState::Expired && held.wish.matchers == wish.matchers {
                if held.state(now) == SilenceState::Active {
                    wish.starts_at = held.wish.starts_at;
                }
                held.wish = wish;
                held.updated_at = now;
                return Ok(id);
            }
            if held.state(now) != SilenceState::Expired {
                expire(held, now);
            }
        }
        if self.0.len() >= MAX_SILENCES {
            return Err(Error::Full(MAX_SILENCES));
        }
        let id = new_id()?;
        self.0.insert(
            id.clone(),
            Silence {
                id: id.clone(),
                wish,
                updated_at: now,
                tests,
            },
        );
        Ok(id)
    }

    pub(super) fn expire(&mut self, id: &str, now: Timestamp) -> Result<(), Error> {
        let held = self
            .0
            .get_mut(id)
            .ok_or_else(|| Error::UnknownSilence(id.to_owned()))?;
        if held.state(now) == SilenceState::Expired {
            return Err(Error::Expired(id.to_owned()));
        }
        expire(held, now);
        Ok(())
    }

    pub(super) fn get(&self, id: &str) -> Option<&Silence> {
        self.0.get(id)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Silence> {
        self.0.values()
    }

    /// The ids of the active silences that match.
    pub(super) fn matching(&self, labels: &Labels, now: Timestamp) -> Vec<String> {
        let active = self
            .0
            .values()
            .filter(|silence| silence.state(now) == SilenceState::Active);
        active
            .filter(|silence| silence.tests.match_labels(labels))
            .map(|silence| silence.id.clone())
            .collect()
    }
}

fn expire(silence: &mut Silence, now: Timestamp) {
    silence.wish.starts_at = silence.wish.starts_at.min(now);
    silence.wish.ends_at = now;
    silence.updated_at = now;
}

fn check(wish: &Wish, now: Timestamp) -> Result<Matchers, Error> {
    let invalid = |why: &str| Err(Error::Invalid(format!("invalid silence: {why}")));
    if wish.matchers.is_empty() {
        return invalid("at least one matcher required");
    }
    let tests = Matchers::new(&wish.matchers)?;
    if tests.match_nothing() {
        return invalid("at least one matcher must not match the empty string");
    }
    if wish.ends_at <= wish.starts_at {
        return Err(Error::Invalid(
            "failed to create silence: start time must be before end time".to_owned(),
        ));
    }
    if wish.ends_at <= now {
        return Err(Error::Invalid(
            "failed to create silence: end time can't be in the past".to_owned(),
        ));
    }
    Ok(tests)
}

/// A random id in the form of a UUID.
fn new_id() -> Result<String, Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Invalid(format!("no random bytes: {error}")))?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = bytes
        .iter()
        .fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}
