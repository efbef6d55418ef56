//! Incidents: what alerts are about. An alert is kept before anything is done about it; sessions start as the queue has room.

use interlock_protocol::{
    IncidentEventKind, IncidentId, IncidentStatus, ResourceId, SessionId, Severity, Status, UserId,
};
use jiff::{SignedDuration, Timestamp};

use crate::backend::on;
use crate::{Deed, Error, NewSession, QueueLimits, Store, Submitted};

/// An alert as it is kept. Whoever brings it has masked it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAlert {
    /// The id of the incident, if it becomes a new one.
    pub id: IncidentId,
    /// What tells it from other alerts; nothing where no other one is the same.
    pub fingerprint: Option<String>,
    /// Two alerts with the same key are one, for ever.
    pub idempotency_key: Option<String>,
    /// Whether it fires or is over.
    pub firing: bool,
    /// Since when it fires, as its sender says.
    pub starts_at: Option<Timestamp>,
    /// How bad it is.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// A little more, or nothing.
    pub summary: String,
    /// Where it came from: `alertmanager`, `api`.
    pub source: String,
    /// Who sent it.
    pub owner: Option<UserId>,
    /// Its type, which picks the chain.
    pub alert_type: Option<String>,
    /// Alerts of one rule are given to one session.
    pub rule: Option<String>,
    /// The name by which its resource is looked for.
    pub about: Option<String>,
    /// Higher goes first.
    pub priority: i32,
    /// All of it, as agents are shown it.
    pub alert: String,
}

/// What became of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filed {
    /// A new incident.
    Opened(IncidentId),
    /// The incident is known. Nothing changed but how often its alert was sent.
    Repeated(IncidentId),
    /// The incident was resolved and is open again.
    Reopened(IncidentId),
    /// The incident is resolved by this.
    Resolved(IncidentId),
    /// An alert that is over, of which nothing is known or whose incident was resolved before.
    NothingToResolve,
}

impl Filed {
    /// The incident, if it is about one.
    pub const fn incident(&self) -> Option<&IncidentId> {
        match self {
            Self::Opened(id) | Self::Repeated(id) | Self::Reopened(id) | Self::Resolved(id) => Some(id),
            Self::NothingToResolve => None,
        }
    }
}

/// An incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Its id.
    pub id: IncidentId,
    /// What tells its alert from others.
    pub fingerprint: Option<String>,
    /// Where it stands.
    pub status: IncidentStatus,
    /// Whether its alert fires, whatever people said.
    pub firing: bool,
    /// How bad it is.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// A little more, or nothing.
    pub summary: String,
    /// Where it came from.
    pub source: String,
    /// Who sent it.
    pub owner: Option<UserId>,
    /// Its type.
    pub alert_type: Option<String>,
    /// The rule that fired.
    pub rule: Option<String>,
    /// The name in the alert by which its resource is looked for.
    pub about: Option<String>,
    /// The resource that it is about, if that is known.
    pub resource: Option<ResourceId>,
    /// Higher goes first.
    pub priority: i32,
    /// Since when the alert fires, as its sender says.
    pub starts_at: Option<Timestamp>,
    /// When it was first heard of.
    pub opened_at: Timestamp,
    /// When something happened to it last.
    pub changed_at: Timestamp,
    /// When it was resolved.
    pub resolved_at: Option<Timestamp>,
    /// How often the alert was sent again.
    pub repeats: u64,
    /// Whether it waits for a session.
    pub waiting: bool,
    /// The alert as it came last.
    pub alert: String,
    /// The newest session for it.
    pub session: Option<IncidentSession>,
}

/// A session that works on an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentSession {
    /// Its id.
    pub id: SessionId,
    /// Where it stands.
    pub status: Status,
    /// How many of its calls wait for a person.
    pub open_holds: u64,
}

/// Something that happened to an incident. What repeats is one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentEvent {
    /// Its place in the incident: 1 for the first.
    pub number: u64,
    /// What.
    pub kind: IncidentEventKind,
    /// When it happened first.
    pub at: Timestamp,
    /// When it happened last.
    pub last_at: Timestamp,
    /// How often.
    pub count: u64,
    /// Who did it; nothing for code and for whoever sent the alert.
    pub by: Option<UserId>,
    /// The session that it is about.
    pub session: Option<SessionId>,
    /// Why, or more about it.
    pub text: String,
}

/// News about an incident for whoever works on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentNews {
    /// The incident.
    pub incident: IncidentId,
    /// Its title.
    pub title: String,
    /// What happened.
    pub event: IncidentEvent,
}

/// Which incidents to list: open ones the worst first, then resolved ones the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentQuery {
    /// Only these statuses; all where there is none.
    pub statuses: Vec<IncidentStatus>,
    /// Only this severity.
    pub severity: Option<Severity>,
    /// Only about this resource.
    pub resource: Option<ResourceId>,
    /// How many to pass over.
    pub offset: u32,
    /// At most this many.
    pub limit: u32,
}

/// How many incidents are open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IncidentCounts {
    /// The critical ones.
    pub critical: u64,
    /// The warnings.
    pub warning: u64,
    /// The others.
    pub info: u64,
    /// How many of them wait for a session.
    pub waiting: u64,
}

/// What a person says about an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IncidentMove {
    /// They have seen it.
    Acknowledge,
    /// It is over.
    Resolve,
    /// It is not over.
    Reopen,
}

/// An alert that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedAlert {
    /// When it came.
    pub at: Timestamp,
    /// Where it came from.
    pub source: String,
    /// Why it was not taken.
    pub reason: String,
    /// Its beginning, masked.
    pub alert: String,
}

impl Store {
    /// Keeps alerts: all of them or none. Each joins the incident that it is about or opens one; one that was resolved no
    /// longer than `reopen_within` ago is opened again.
    pub async fn file_alerts(
        &self,
        alerts: Vec<NewAlert>,
        reopen_within: SignedDuration,
        now: Timestamp,
    ) -> Result<Vec<Filed>, Error> {
        on!(self, file_alerts(alerts, reopen_within, now))
    }

    /// Incidents that wait for a session, in the order in which they get one.
    pub async fn waiting_incidents(&self, limit: u32) -> Result<Vec<Incident>, Error> {
        on!(self, waiting_incidents(limit))
    }

    /// Puts a session for incidents into the queue. Says nothing where another process has started one for some of them in
    /// the meantime: then nothing was done.
    pub async fn start_incidents(
        &self,
        session: NewSession,
        incidents: Vec<IncidentId>,
        limits: &QueueLimits,
    ) -> Result<Option<Submitted>, Error> {
        let started = on!(self, start_incidents(session, incidents, *limits))?;
        if started.is_some() {
            self.wake();
        }
        Ok(started)
    }

    /// One incident.
    pub async fn incident(&self, id: &IncidentId) -> Result<Incident, Error> {
        on!(self, incident(id))
    }

    /// A page of incidents, and how many there are in all.
    pub async fn incidents(&self, query: &IncidentQuery) -> Result<(Vec<Incident>, u64), Error> {
        on!(self, incidents(query))
    }

    /// What happened to an incident, the newest first.
    pub async fn incident_events(&self, id: &IncidentId, limit: u32) -> Result<Vec<IncidentEvent>, Error> {
        on!(self, incident_events(id, limit))
    }

    /// The sessions for an incident, the newest first.
    pub async fn incident_sessions(&self, id: &IncidentId) -> Result<Vec<SessionId>, Error> {
        on!(self, incident_sessions(id))
    }

    /// The incidents that a session is for.
    pub async fn incidents_of(&self, session: &SessionId) -> Result<Vec<Incident>, Error> {
        on!(self, incidents_of(session))
    }

    /// What alerts said about the incidents of a session after a moment.
    pub async fn incident_news(
        &self,
        session: &SessionId,
        after: Timestamp,
    ) -> Result<Vec<IncidentNews>, Error> {
        on!(self, incident_news(session, after))
    }

    /// How many incidents are open.
    pub async fn incident_counts(&self) -> Result<IncidentCounts, Error> {
        on!(self, incident_counts())
    }

    /// A person says something about an incident. What they say and the entry in the audit log are kept together.
    pub async fn move_incident(
        &self,
        id: &IncidentId,
        to: IncidentMove,
        by: &UserId,
        reason: &str,
        deed: Deed,
    ) -> Result<Incident, Error> {
        on!(self, move_incident(id, to, by, reason, deed))
    }

    /// Something that code did to an incident.
    pub async fn note_incident(
        &self,
        id: &IncidentId,
        kind: IncidentEventKind,
        text: &str,
        at: Timestamp,
    ) -> Result<(), Error> {
        on!(self, note_incident(id, kind, text, at))
    }

    /// The resource that an incident is about was found.
    pub async fn link_incident(&self, id: &IncidentId, resource: &ResourceId) -> Result<(), Error> {
        on!(self, link_incident(id, resource))
    }

    /// Keeps what was not taken. Beyond a thousand the oldest are forgotten.
    pub async fn keep_rejected(&self, alerts: Vec<RejectedAlert>) -> Result<(), Error> {
        on!(self, keep_rejected(alerts))
    }

    /// What was not taken, the newest first, and how many there were in all.
    pub async fn rejected_alerts(&self, limit: u32) -> Result<(Vec<RejectedAlert>, u64), Error> {
        on!(self, rejected_alerts(limit))
    }
}
