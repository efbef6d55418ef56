//! Alerts and incidents.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{IncidentEventKind, IncidentStatus, Severity, Status};

/// An alert.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAlert {
    /// Its type, which picks the chain. Left out, the one that the configuration has for alerts without a type.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub alert_type: Option<String>,
    /// What it says: any JSON, or text.
    pub data: serde_json::Value,
    /// One line; left out, what is read from the data.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 512)]
    pub title: Option<String>,
    /// How bad it is; left out, what the label `severity` in the data says, or else `warning`.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// The name, id or address of the resource that it is about; left out, what the labels in the data say.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub resource: Option<String>,
    /// `firing`, or `resolved` when it is over. An alert that is over needs the fingerprint of the one that fired.
    #[serde(default)]
    pub status: Option<AlertmanagerStatus>,
    /// Since when it fires.
    #[serde(default)]
    #[schema(format = DateTime)]
    pub starts_at: Option<String>,
    /// A runbook, as text, that agents are shown.
    #[serde(default)]
    #[schema(max_length = 65536)]
    pub runbook: Option<String>,
    /// Two submissions with the same key are one incident, for ever.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub idempotency_key: Option<String>,
    /// What tells it from other alerts: a repeated alert joins the incident that is open. Left out, it is an incident of its own.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 256)]
    pub fingerprint: Option<String>,
    /// Higher goes first.
    #[serde(default, deserialize_with = "super::whole::whole")]
    #[schema(minimum = -100, maximum = 100)]
    pub priority: i32,
}

/// What Alertmanager sends to a webhook (version 4), and Grafana in the same form. Other fields are ignored.
#[derive(Clone, Deserialize, ToSchema)]
pub struct AlertmanagerPush {
    /// The alerts. One that cannot be read is rejected by itself.
    #[schema(value_type = Vec<AlertmanagerAlert>)]
    pub alerts: Vec<serde_json::Value>,
}

/// One alert of Alertmanager.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct AlertmanagerAlert {
    /// `firing` or `resolved`.
    pub status: AlertmanagerStatus,
    /// What it is: `alertname` and the rest.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What is written about it: `summary`, `description`, `runbook_url`.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Since when.
    #[serde(default, rename = "startsAt", skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<String>,
    /// Where it comes from.
    #[serde(default, rename = "generatorURL", skip_serializing_if = "Option::is_none")]
    pub generator_url: Option<String>,
    /// What it is about, as Alertmanager tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// Where an alert stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertmanagerStatus {
    /// It fires.
    Firing,
    /// It does not fire any more.
    Resolved,
}

/// What became of an alert.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AcceptedAlert {
    /// What became of it.
    pub status: AlertOutcome,
    /// The incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// The newest session for the incident, if one has started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where to look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Why it was rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What became of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AlertOutcome {
    /// A session for it waits for a worker.
    Queued,
    /// It is stored, but no session could start yet: the queue is full, or the chain cannot run. It is retried every second.
    Waiting,
    /// It joined the incident that is known.
    Duplicate,
    /// Its incident is resolved.
    Resolved,
    /// It is over, and nothing is known of it.
    Ignored,
    /// It was not taken.
    Rejected,
}

/// What became of many alerts.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AcceptedList {
    /// One for each, in order.
    pub accepted: Vec<AcceptedAlert>,
    /// How many of them are over.
    pub resolved: u32,
    /// How many of them were rejected.
    pub rejected: u32,
}

/// Alerts that were not taken.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RejectedAlerts {
    /// The newest first; at most 1,000 are kept.
    pub alerts: Vec<RejectedAlert>,
    /// How many there were in all.
    pub total: u64,
}

/// An alert that was not taken.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RejectedAlert {
    /// When it came.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Where it came from.
    pub source: String,
    /// Why it was not taken.
    pub reason: String,
    /// How it begins.
    pub alert: String,
}

/// How many incidents are open.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncidentTotals {
    /// The critical ones.
    pub critical: u64,
    /// The warnings.
    pub warning: u64,
    /// The others.
    pub info: u64,
    /// How many of them wait for a session.
    pub waiting: u64,
}

/// An incident: what an alert is about.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncidentSummary {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: IncidentStatus,
    /// How bad it is.
    pub severity: Severity,
    /// Whether its alert fires, whatever people said about the incident.
    pub firing: bool,
    /// One line.
    pub title: String,
    /// A little more, or nothing.
    pub summary: String,
    /// Where the alert came from.
    pub source: String,
    /// The type of the alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alert_type: Option<String>,
    /// The rule that fired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the alert calls its resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The resource, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Since when the alert fires, as its sender says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub starts_at: Option<Timestamp>,
    /// When it was first heard of.
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// When something happened to it last.
    #[schema(value_type = String, format = DateTime)]
    pub changed_at: Timestamp,
    /// When it was resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub resolved_at: Option<Timestamp>,
    /// How often the alert was sent again.
    pub repeats: u64,
    /// Whether no session could start for it yet.
    pub waiting: bool,
    /// The newest session for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<IncidentSession>,
}

/// A session that works on an incident.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncidentSession {
    /// Its id.
    pub id: String,
    /// Where it stands.
    pub status: Status,
    /// How many of its calls wait for a person.
    pub open_holds: u64,
}

/// A page of incidents.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncidentPage {
    /// Open ones first, the worst first; then resolved ones, the newest first.
    pub incidents: Vec<IncidentSummary>,
    /// How many there are in all.
    pub total: u64,
}

/// An incident with everything that happened to it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncidentDetail {
    /// The incident.
    #[serde(flatten)]
    pub incident: IncidentSummary,
    /// The alert as it came last, masked.
    pub alert: String,
    /// What happened, the newest first.
    pub events: Vec<IncidentEvent>,
    /// The sessions for it, the newest first.
    pub sessions: Vec<IncidentRun>,
}

/// Something that happened to an incident. What repeats is one event.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncidentEvent {
    /// Its place: 1 for the first.
    pub number: u64,
    /// What.
    pub kind: IncidentEventKind,
    /// When it happened first.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// When it happened last.
    #[schema(value_type = String, format = DateTime)]
    pub last_at: Timestamp,
    /// How often.
    pub count: u64,
    /// Who did it; absent for code and for the sender of the alert.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The session that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Why, or more about it.
    pub text: String,
}

/// A session for an incident.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IncidentRun {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it stands.
    pub status: Status,
    /// When it was started.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
}

/// Why somebody moves an incident.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveIncident {
    /// Why; it is kept and shown.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 500)]
    pub reason: Option<String>,
}
