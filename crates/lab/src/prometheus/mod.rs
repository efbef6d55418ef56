//! Metrics with their history, alerting rules, and the APIs of Prometheus and Alertmanager.
//!
//! Somebody appends samples to the [`Tsdb`] and calls [`Prometheus::evaluate`] in the rhythm of the rules. Queries are
//! evaluated as Prometheus 3 does; what of its language is missing is refused with `bad_data`, never answered wrongly.
//! Firing alerts go to the Alertmanager in here.

pub mod alertmanager;
pub mod clock;
mod http;
pub mod labels;
pub mod profile;
pub mod promql;
pub mod rules;
mod serve;
mod template;
pub mod tsdb;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::Router;
use jiff::{SignedDuration, Timestamp};

pub use alertmanager::Alertmanager;
pub use clock::Clock;
pub use labels::Labels;
pub use profile::Profile;
pub use promql::{Error as PromqlError, Limits, Query};
pub use rules::{Alert, Rule, State};
pub use serve::Serving;
pub use tsdb::{Retention, Sample, Tsdb};

use rules::Running;

/// How often the glue is expected to evaluate the rules; clients are told so.
pub const EVALUATION_INTERVAL: Duration = Duration::from_secs(15);
/// A firing alert that is not told again ends after this.
const ALERT_LIFETIME: SignedDuration = SignedDuration::from_mins(4);

/// Prometheus and its Alertmanager; a clone is another handle on the same ones.
#[derive(Debug, Clone)]
pub struct Prometheus {
    shared: Arc<Shared>,
    tsdb: Tsdb,
    alertmanager: Alertmanager,
}

#[derive(Debug)]
struct Shared {
    rules: Mutex<Vec<Running>>,
    clock: Clock,
    started: Timestamp,
    addresses: OnceLock<(SocketAddr, SocketAddr)>,
}

impl Prometheus {
    /// An empty store with these rules, by the real clock.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self::with_clock(rules, Clock::default())
    }

    /// The same by another clock.
    pub fn with_clock(rules: impl IntoIterator<Item = Rule>, clock: Clock) -> Self {
        let rules = Mutex::new(rules.into_iter().map(Running::new).collect());
        let started = clock.now();
        let alertmanager = Alertmanager::new(clock.clone());
        let shared = Shared {
            rules,
            clock,
            started,
            addresses: OnceLock::new(),
        };
        Self {
            shared: Arc::new(shared),
            tsdb: Tsdb::default(),
            alertmanager,
        }
    }

    /// The store.
    pub fn tsdb(&self) -> &Tsdb {
        &self.tsdb
    }

    /// The Alertmanager that gets the alerts.
    pub fn alertmanager(&self) -> &Alertmanager {
        &self.alertmanager
    }

    /// Evaluates every rule, records the alerts as series and tells Alertmanager.
    pub fn evaluate(&self, now: Timestamp) {
        let mut told = Vec::new();
        for running in self.rules().iter_mut() {
            running.evaluate(&self.tsdb, now);
            told.extend(
                running
                    .alerts
                    .values()
                    .filter_map(|alert| self.notice(alert, &running.rule, now)),
            );
        }
        if let Err(error) = self.alertmanager.put(told) {
            tracing::warn!(%error, "alerts were not taken by Alertmanager");
        }
    }

    /// The alerts that are pending or firing.
    pub fn alerts(&self) -> Vec<Alert> {
        self.rules().iter().flat_map(Running::active).cloned().collect()
    }

    /// The routes of Prometheus.
    pub fn router(&self) -> Router {
        http::router(self.clone())
    }

    /// The routes of Alertmanager.
    pub fn alertmanager_router(&self) -> Router {
        alertmanager::router(self.alertmanager.clone())
    }

    /// What Alertmanager is told about an alert: an end in the future if it fires, in the past if it is over.
    fn notice(&self, alert: &Alert, rule: &Rule, now: Timestamp) -> Option<alertmanager::Alert> {
        let ends_at = match alert.state {
            State::Pending => return None,
            State::Firing => now.checked_add(ALERT_LIFETIME).unwrap_or(now),
            State::Inactive => alert.resolved_at?,
        };
        let query =
            percent_encoding::utf8_percent_encode(&rule.expr.to_string(), percent_encoding::NON_ALPHANUMERIC)
                .to_string();
        Some(alertmanager::Alert {
            labels: alert.labels.clone(),
            annotations: alert.annotations.clone(),
            starts_at: alert
                .active_at
                .checked_add(rule.hold)
                .unwrap_or(alert.active_at)
                .min(now),
            ends_at,
            updated_at: now,
            generator_url: format!("{}/graph?g0.expr={query}&g0.tab=1", self.external_url()),
            timed_out: false,
        })
    }

    fn external_url(&self) -> String {
        match self.shared.addresses.get() {
            Some((address, _)) => format!("http://{address}"),
            None => "http://prometheus.lab".to_owned(),
        }
    }

    fn rules(&self) -> MutexGuard<'_, Vec<Running>> {
        self.shared.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A time in seconds.
#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of this century are exact in a float"
)]
fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1_000.0
}
