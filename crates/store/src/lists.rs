//! Lists over all sessions: pages, counts and sums, fast over a hundred thousand of them.

use interlock_protocol::{
    CallId, ErrorCode, HoldId, ResourceId, RuleName, Sequence, SessionId, SessionKind, Status, ToolName,
    UserId,
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::backend::on;
use crate::{Call, Error, Session, Store};

/// What a list of sessions is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SortBy {
    /// When it was submitted.
    #[default]
    CreatedAt,
    /// When something last happened.
    LastInteraction,
    /// Its status, by word.
    Status,
    /// Its title.
    Title,
    /// How long it took.
    Duration,
}

/// Which sessions, in which order, which page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionQuery {
    /// Only these statuses; none named, any.
    pub statuses: Vec<Status>,
    /// Only this kind.
    pub kind: Option<SessionKind>,
    /// Only alerts of this type.
    pub alert_type: Option<String>,
    /// Only runs of this chain.
    pub chain: Option<String>,
    /// Only those that this person asked for.
    pub owner: Option<UserId>,
    /// Only those whose title, input or answer has this text.
    pub search: Option<String>,
    /// Only those submitted at this moment or later.
    pub from: Option<Timestamp>,
    /// Only those submitted before this moment.
    pub to: Option<Timestamp>,
    /// The order.
    pub sort: SortBy,
    /// Whether the smallest comes first; else the largest does.
    pub ascending: bool,
    /// How many to skip.
    pub offset: u64,
    /// At most this many.
    pub limit: u32,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListedSession {
    /// The session. Its input and answer are cut to 400 characters.
    pub session: Session,
    /// What is counted of it.
    pub tally: Tally,
}

/// What is counted of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// How many of its holds are open.
    pub open_holds: u32,
    /// How many writes it began.
    pub writes: u32,
    /// How many of them a look at the live state confirmed.
    pub writes_verified: u32,
    /// How many proposals were refused.
    pub refusals: u32,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<ListedSession>,
    /// How many there are in all pages together.
    pub total: u64,
}

/// How many sessions stand where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// By status, not counting deleted ones.
    pub by_status: Vec<(Status, u64)>,
    /// How many holds are open, not counting those of deleted ones.
    pub open_holds: u64,
    /// How many sessions were found changed outside Interlock, ever.
    pub altered: u64,
}

/// An answer of the gate, found in the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRow {
    /// Its place among all events: what the next page starts before.
    pub position: u64,
    /// The session.
    pub session: SessionId,
    /// Its place in the session.
    pub sequence: Sequence,
    /// When.
    pub at: Timestamp,
    /// The call; nothing for a final answer.
    pub call: Option<CallId>,
    /// The tool, where the call is known.
    pub tool: Option<ToolName>,
    /// `allowed`, `answer_allowed`, `held` or `refused`.
    pub answer: String,
    /// The rule that decided, of a refusal.
    pub rule: Option<RuleName>,
    /// The code, of a refusal.
    pub code: Option<ErrorCode>,
    /// The sentence, of a refusal.
    pub message: Option<String>,
    /// The facts, of a refusal.
    pub details: Map<String, Value>,
    /// The hold, of what waits.
    pub hold: Option<HoldId>,
}

/// Which decisions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DecisionFilter {
    /// Only this session's.
    pub session: Option<SessionId>,
    /// Only these answers.
    pub answer: Option<String>,
    /// Only refusals with this code.
    pub code: Option<String>,
    /// Only about this call of the session.
    pub call: Option<CallId>,
    /// Only before this place.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: u32,
}

/// What models cost, in one group.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct UsageRow {
    /// What the group is: a day (`2026-11-15`), a model's name, an alert type.
    pub group: String,
    /// How many calls to models.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many sessions.
    pub sessions: u64,
    /// Tokens in.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// The cost in dollars, where it is known: of the calls whose cost is.
    pub cost: Option<f64>,
    /// The median time of a call, in seconds.
    pub seconds_p50: f64,
    /// The time that 95 of 100 calls stay under, in seconds.
    pub seconds_p95: f64,
}

/// What usage is grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageBy {
    /// The day, in UTC.
    Day,
    /// The model, by its name in the configuration.
    Model,
    /// The type of the alert; chats are one group.
    AlertType,
}

/// How a tool has been doing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolUse {
    /// The tool.
    pub tool: ToolName,
    /// How many calls ran.
    pub calls: u64,
    /// How many of them did not succeed.
    pub failed: u64,
    /// How many were writes.
    pub writes: u64,
    /// The median time, in seconds.
    pub seconds_p50: f64,
    /// The time that 95 of 100 stay under, in seconds.
    pub seconds_p95: f64,
    /// When it last ran.
    pub last_at: Option<Timestamp>,
}

impl Store {
    /// A page of sessions that are not deleted. Of more than five thousand that have the text of a search, the newest
    /// are looked at; of a long input or answer, its first two thousand characters. A text of one or two characters finds
    /// titles that begin like it.
    pub async fn session_page(&self, query: &SessionQuery) -> Result<SessionPage, Error> {
        on!(self, session_page(query))
    }

    /// How many sessions stand where.
    pub async fn counts(&self) -> Result<Counts, Error> {
        on!(self, counts())
    }

    /// The alert types, chains and owners that sessions have, for a filter to choose from.
    pub async fn filter_options(&self) -> Result<FilterOptions, Error> {
        on!(self, filter_options())
    }

    /// Answers of the gate, newest first. Those of deleted sessions are not among them.
    pub async fn decisions(&self, filter: &DecisionFilter) -> Result<Vec<DecisionRow>, Error> {
        on!(self, decisions(filter))
    }

    /// What was called on a resource, newest first, with its session. Deleted sessions called nothing.
    pub async fn calls_on(&self, resource: &ResourceId, limit: u32) -> Result<Vec<(SessionId, Call)>, Error> {
        on!(self, calls_on(resource, limit))
    }

    /// What models cost from a moment on, and before another. What was removed for good is not counted.
    pub async fn usage(&self, from: Timestamp, to: Timestamp, by: UsageBy) -> Result<Vec<UsageRow>, Error> {
        on!(self, usage(from, to, by))
    }

    /// How the tools have been doing since a moment.
    pub async fn tool_use(&self, since: Timestamp) -> Result<Vec<ToolUse>, Error> {
        on!(self, tool_use(since))
    }

    /// The open session of an alert with this fingerprint, if there is one: a repeated alert joins it.
    /// [`Store::submit`] asks the same in the step that submits.
    pub async fn open_with_fingerprint(&self, fingerprint: &str) -> Result<Option<SessionId>, Error> {
        on!(self, open_with_fingerprint(fingerprint))
    }
}

/// What a filter can choose from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FilterOptions {
    /// Types of alerts.
    pub alert_types: Vec<String>,
    /// Chains.
    pub chains: Vec<String>,
    /// Who asked.
    pub owners: Vec<UserId>,
}
