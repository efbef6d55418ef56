//! Alerting rules: from inactive over pending to firing, and back.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::labels::Labels;
use super::promql::{self, Item, Limits, Query, Value};
use super::template;
use super::tsdb::{Sample, Tsdb};

/// How long a resolved alert is still told to Alertmanager.
const RESOLVED_RETENTION: SignedDuration = SignedDuration::from_mins(15);

/// An alerting rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The alert's name.
    pub alert: String,
    /// What must give a result for the alert to be there.
    pub expr: Query,
    /// How long it must do so before the alert fires.
    pub hold: Duration,
    /// Labels that are added to the alert; templates.
    pub labels: BTreeMap<String, String>,
    /// What is told about the alert; templates.
    pub annotations: BTreeMap<String, String>,
}

impl Rule {
    /// A rule that fires at once, without labels and annotations.
    pub fn new(alert: &str, expr: &str) -> Result<Self, promql::Error> {
        Ok(Self {
            alert: alert.to_owned(),
            expr: Query::parse(expr)?,
            hold: Duration::ZERO,
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        })
    }

    /// The rule's `for`: how long its expression must hold.
    #[must_use]
    pub fn holding(mut self, hold: Duration) -> Self {
        self.hold = hold;
        self
    }

    /// The rule with a label.
    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The rule with an annotation.
    #[must_use]
    pub fn annotation(mut self, name: &str, value: &str) -> Self {
        self.annotations.insert(name.to_owned(), value.to_owned());
        self
    }
}

/// Where an alert stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// The expression gives nothing (any more).
    Inactive,
    /// It gives something, but not for long enough.
    Pending,
    /// The alert is on.
    Firing,
}

impl State {
    /// The name in the API and in the series `ALERTS`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Pending => "pending",
            Self::Firing => "firing",
        }
    }
}

/// An alert of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    /// What names it, with `alertname`.
    pub labels: Labels,
    /// What is told about it.
    pub annotations: Labels,
    /// Where it stands.
    pub state: State,
    /// Since when its expression gives something.
    pub active_at: Timestamp,
    /// Since when it is over.
    pub resolved_at: Option<Timestamp>,
    /// The last value of its expression.
    pub value: f64,
}

/// A rule with its alerts and its last evaluation.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) rule: Rule,
    pub(super) alerts: BTreeMap<Labels, Alert>,
    pub(super) last_evaluation: Option<Timestamp>,
    pub(super) took: Duration,
    pub(super) last_error: Option<promql::Error>,
}

impl Running {
    pub(super) fn new(rule: Rule) -> Self {
        Self {
            rule,
            alerts: BTreeMap::new(),
            last_evaluation: None,
            took: Duration::ZERO,
            last_error: None,
        }
    }

    /// Evaluates the rule; a failed evaluation leaves its alerts as they are.
    pub(super) fn evaluate(&mut self, tsdb: &Tsdb, now: Timestamp) {
        let begun = std::time::Instant::now();
        self.last_evaluation = Some(now);
        match self.rule.expr.instant(tsdb, now, Limits::default()) {
            Ok(value) => {
                self.last_error = None;
                let before = self.series();
                self.update(items(value), now);
                self.record(tsdb, &before, now);
            }
            Err(error) => self.last_error = Some(error),
        }
        self.took = begun.elapsed();
    }

    /// The most serious state of its alerts.
    pub(super) fn state(&self) -> State {
        self.alerts
            .values()
            .map(|alert| alert.state)
            .max()
            .unwrap_or(State::Inactive)
    }

    /// The alerts that are pending or firing.
    pub(super) fn active(&self) -> impl Iterator<Item = &Alert> {
        self.alerts
            .values()
            .filter(|alert| alert.state != State::Inactive)
    }

    fn update(&mut self, items: Vec<Item>, now: Timestamp) {
        let mut found: BTreeMap<Labels, Alert> = BTreeMap::new();
        for item in items {
            let (labels, annotations) = self.describe(&item);
            let held = self
                .alerts
                .remove(&labels)
                .filter(|alert| alert.state != State::Inactive);
            let active_at = held.as_ref().map_or(now, |alert| alert.active_at);
            let was_firing = held.is_some_and(|alert| alert.state == State::Firing);
            let long_enough = now.duration_since(active_at).unsigned_abs() >= self.rule.hold;
            let state = if was_firing || long_enough {
                State::Firing
            } else {
                State::Pending
            };
            let alert = Alert {
                labels: labels.clone(),
                annotations,
                state,
                active_at,
                resolved_at: None,
                value: item.value,
            };
            found.insert(labels, alert);
        }
        for (labels, alert) in std::mem::take(&mut self.alerts) {
            if let Some(resolved) = resolve(alert, now) {
                found.insert(labels, resolved);
            }
        }
        self.alerts = found;
    }

    fn describe(&self, item: &Item) -> (Labels, Labels) {
        let source = item.labels.without_name();
        let expand = |text: &str| template::expand(text, &source, item.value);
        let added = self
            .rule
            .labels
            .iter()
            .map(|(name, text)| (name.clone(), expand(text)));
        let own = source
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let name = ("alertname".to_owned(), self.rule.alert.clone());
        let annotations = self
            .rule
            .annotations
            .iter()
            .map(|(name, text)| (name.clone(), expand(text)));
        (
            Labels::new(own.chain(added).chain([name])),
            Labels::new(annotations),
        )
    }

    /// The series that tell of the alerts, with their values.
    fn series(&self) -> BTreeMap<Labels, f64> {
        let tell = |alert: &Alert| {
            let state = alert.labels.with("alertstate", alert.state.name());
            let since = super::seconds(alert.active_at);
            [
                (state.with("__name__", "ALERTS"), 1.0),
                (alert.labels.with("__name__", "ALERTS_FOR_STATE"), since),
            ]
        };
        self.active().flat_map(tell).collect()
    }

    fn record(&self, tsdb: &Tsdb, before: &BTreeMap<Labels, f64>, now: Timestamp) {
        let after = self.series();
        let ended = before.keys().filter(|labels| !after.contains_key(*labels));
        let told = ended
            .map(|labels| tsdb.mark_stale(labels.clone(), now))
            .chain(after.iter().map(|(labels, value)| {
                tsdb.append(Sample {
                    labels: labels.clone(),
                    at: now,
                    value: *value,
                })
            }));
        for error in told.filter_map(Result::err) {
            tracing::debug!(%error, "an alert was not recorded as a series");
        }
    }
}

/// What becomes of an alert whose expression gives nothing any more.
fn resolve(alert: Alert, now: Timestamp) -> Option<Alert> {
    match alert.state {
        State::Pending => None,
        State::Firing => Some(Alert {
            state: State::Inactive,
            resolved_at: Some(now),
            ..alert
        }),
        State::Inactive => {
            let remembered = alert
                .resolved_at
                .is_some_and(|at| now.duration_since(at) < RESOLVED_RETENTION);
            remembered.then_some(alert)
        }
    }
}

fn items(value: Value) -> Vec<Item> {
    match value {
        Value::Vector(items) => items,
        Value::Scalar(value) => vec![Item {
            labels: Labels::empty(),
            value,
            at: 0,
        }],
        Value::Text(_) | Value::Matrix(_) => Vec::new(),
    }
}
