//! What is kept, as values. Everything that a session leaves behind is one of these.

use interlock_gate::{Hold, PendingVerification, Plan, TokenRecord};
use interlock_protocol::{
    AgentName, CallId, ContentHash, ControlLevel, ErrorCode, Event, EventBody, Evidence, ExecutionId, HoldId,
    Observation, PermitId, Receipt, RuleName, RunId, Sequence, SessionId, SessionKind, StageId, Status,
    ToolKind, ToolName, UserId, Verification, WorkerId,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Deed;

/// A session that waits to be worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewSession {
    /// Its id, drawn by the caller.
    pub id: SessionId,
    /// What it is a run of.
    pub kind: SessionKind,
    /// What to call it.
    pub title: String,
    /// Where it came from: `cli`, `api`, `chat`, `webhook`.
    pub channel: String,
    /// Who asked for it; nobody for an alert.
    pub owner: Option<UserId>,
    /// The alert's type, where it is for an alert.
    pub alert_type: Option<String>,
    /// The chain that it runs, by name.
    pub chain: String,
    /// The alert or the question, masked.
    pub input: String,
    /// How much may happen without a human.
    pub level: ControlLevel,
    /// Higher goes first.
    pub priority: i32,
    /// Two submissions with the same key are one session.
    pub idempotency_key: Option<String>,
    /// What an alert is about, as its sender tells it: while a session with the same one is open, a repeated alert joins it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// What the engine wants to find again: model, agent, overrides.
    pub options: Value,
    /// When it was submitted.
    pub at: Timestamp,
}

/// A session as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// What was submitted.
    #[serde(flatten)]
    pub submitted: NewSession,
    /// Where it stands.
    pub status: Status,
    /// Who works on it.
    pub worker: Option<WorkerId>,
    /// How often it was claimed: each claim is a number of its own, and only the newest may write.
    pub epoch: u64,
    /// Whether someone asked to stop it.
    pub cancel_requested: bool,
    /// When work began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// When something last happened.
    pub last_interaction_at: Timestamp,
    /// The last answer.
    pub answer: Option<String>,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// When it was deleted, for people; it is kept until retention removes it.
    pub deleted_at: Option<Timestamp>,
}

/// The right to work on a session. Each taking over makes a new one, and the old one cannot write any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The session.
    pub session: SessionId,
    /// Who works on it.
    pub worker: WorkerId,
    /// The number of the claim.
    pub epoch: u64,
}

/// A stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    /// This stage.
    pub id: StageId,
    /// Its place in the session.
    pub index: u32,
    /// What it is called.
    pub name: String,
    /// Where it stands.
    pub status: Status,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// An agent at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// This execution.
    pub id: ExecutionId,
    /// Its stage.
    pub stage: StageId,
    /// Its place in the stage.
    pub index: u32,
    /// The agent.
    pub agent: AgentName,
    /// The model, by its name in the configuration.
    pub model: String,
    /// The controller.
    pub controller: String,
    /// Where it stands.
    pub status: Status,
    /// How many times the model was asked.
    pub iterations: u32,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// One message of a conversation with a model. Kept once each, in order: never as text inside another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The execution.
    pub execution: ExecutionId,
    /// Its place in the execution: 1 for the first.
    pub number: u32,
    /// The run that it belongs to.
    pub run: RunId,
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// What it says, in the engine's own form.
    pub content: Value,
    /// When.
    pub at: Timestamp,
}

/// What a person sees of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// The execution.
    pub execution: ExecutionId,
    /// Its place in the execution: 1 for the first.
    pub number: u32,
    /// `llm_thinking`, `llm_response`, `llm_tool_call`, `error`, `user_question`, `final_analysis`, …
    pub kind: String,
    /// `streaming`, `completed`, `failed`, `cancelled`, `timed_out`, `held`, `refused`.
    pub status: String,
    /// What it says.
    pub content: String,
    /// The call that it shows, where it shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<ShownCall>,
    /// Facts about it, for people. Nothing is decided by them.
    pub metadata: Value,
    /// When it began.
    pub at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Which call an entry of the timeline shows, and which rows the entry is made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownCall {
    /// The call.
    pub id: CallId,
    /// The tool that it names.
    pub tool: ToolName,
    /// What it does to the world, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<ToolKind>,
    /// The permit that it was started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permit: Option<PermitId>,
    /// The hold through which a human decides or decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldId>,
    /// The rule that refused it, and the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<(RuleName, ErrorCode)>,
}

/// One call to a model: exactly what was sent and what came back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interaction {
    /// The execution.
    pub execution: ExecutionId,
    /// Its place in the execution: 1 for the first.
    pub number: u32,
    /// The run that it belongs to.
    pub run: RunId,
    /// The provider, the model, and its name in the configuration.
    pub provider: String,
    /// The model's own name.
    pub model: String,
    /// How many bytes at the start are those of the interaction before it.
    pub shared: u64,
    /// The rest of the body that was sent.
    pub body: Vec<u8>,
    /// The hash of the whole body.
    pub body_hash: ContentHash,
    /// What came back, as it came.
    pub raw: Vec<u8>,
    /// The seed of the ids of its calls, the finish reason, usage, cost, attempts, timings, error.
    pub facts: Value,
    /// When it was sent.
    pub at: Timestamp,
}

/// A permit that was consumed. Kept before anything runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedCall {
    /// The permit.
    pub permit: PermitId,
    /// The run that it belongs to.
    pub run: RunId,
    /// The exact plan.
    pub plan: Plan,
    /// Its hash.
    pub plan_hash: ContentHash,
    /// Who approved it, where a human did.
    pub approved_by: Option<UserId>,
    /// The hold that it was approved through. One hold starts one call at most.
    pub hold: Option<HoldId>,
    /// When it began.
    pub started_at: Timestamp,
    /// What code observed right before a write: what later readings are compared with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline: Vec<Observation>,
}

/// A call with what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// How it began.
    #[serde(flatten)]
    pub started: StartedCall,
    /// What it did; nothing while it runs, or if it was interrupted.
    pub receipt: Option<Receipt>,
    /// The look at its resource that is due.
    pub pending: Option<PendingVerification>,
    /// How that ended.
    pub verification: Option<Verification>,
}

/// One input to the gate and what it answered: a session's steps, replayed, give the same answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its place in the session, given by the engine: 1 for the first.
    pub number: u64,
    /// The run that it belongs to.
    pub run: RunId,
    /// What was asked: an engine's own form, by name.
    pub input: Value,
    /// What the gate answered.
    pub outcome: Value,
    /// When.
    pub at: Timestamp,
}

/// One piece of work of a session, from one input to its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// This run.
    pub id: RunId,
    /// Where it came from.
    pub channel: String,
    /// The input.
    pub input: String,
    /// The hash of the input.
    pub input_hash: ContentHash,
    /// Where it stands.
    pub status: Status,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// One thing to keep.
#[derive(Debug, Clone, PartialEq)]
pub enum Record {
    /// An event; the store gives it its place in the session.
    Event {
        /// The stage that it belongs to.
        stage: Option<StageId>,
        /// The agent at work that it belongs to.
        execution: Option<ExecutionId>,
        /// What happened.
        body: EventBody,
    },
    /// A run, new or changed.
    Run(Run),
    /// A stage, new or changed.
    Stage(Stage),
    /// An execution, new or changed.
    Execution(Execution),
    /// A message.
    Message(Message),
    /// A timeline entry, new or changed.
    Timeline(TimelineEntry),
    /// A call to a model.
    Interaction(Interaction),
    /// A permit that is about to be used. For a write, nobody else may be writing to its resource.
    Started(StartedCall),
    /// A permit that was kept as about to be used and was not: nothing ran. Ends the writing.
    Abandoned {
        /// The permit.
        permit: PermitId,
    },
    /// What came of it. Ends the writing.
    Finished {
        /// What it did.
        receipt: Receipt,
        /// The look at its resource that is due.
        pending: Option<PendingVerification>,
    },
    /// A look at a written resource ended.
    Verified {
        /// The permit of the write.
        permit: PermitId,
        /// How.
        outcome: Verification,
    },
    /// What a read returned.
    Evidence(Evidence),
    /// A hold, new or changed. One that was decided cannot be decided again.
    Hold(Hold),
    /// What is kept of an approval token, new or used. One that was used cannot be used again.
    Token(TokenRecord),
    /// What somebody did to the session, for the audit log: kept with what it did, or neither is.
    Deed(Deed),
    /// An input to the gate.
    Step(Step),
    /// Something that has no written form. Its batch is [`crate::Error::Unstorable`]: nothing is kept as if it were all.
    Unwritable {
        /// What.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// Where the session stands now.
    Status {
        /// Where.
        status: Status,
        /// The answer, where there is a new one.
        answer: Option<String>,
        /// Why it did not succeed.
        error: Option<String>,
    },
}

/// Records that are kept together or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The session.
    pub session: SessionId,
    /// The right to write. Without one only what people do to a session may be written.
    pub claim: Option<Claim>,
    /// When.
    pub at: Timestamp,
    /// What to keep, in this order.
    pub records: Vec<Record>,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The events, with their places.
    pub events: Vec<Event>,
}

/// Everything that is needed to go on with a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// The session.
    pub session: Session,
    /// Its runs, in order.
    pub runs: Vec<Run>,
    /// Its stages, in order.
    pub stages: Vec<Stage>,
    /// Its executions, in order.
    pub executions: Vec<Execution>,
    /// Its messages, by execution and number.
    pub messages: Vec<Message>,
    /// Its calls, in the order in which they began.
    pub calls: Vec<Call>,
    /// Its holds, in the order in which they opened.
    pub holds: Vec<Hold>,
    /// The calls, with the ids of their evidence.
    pub evidence: Vec<Evidence>,
    /// The place of its last event.
    pub last_event: Sequence,
    /// The place of its last step; 0 if there is none.
    pub last_step: u64,
    /// For each execution: the number of the last interaction and the last timeline entry.
    pub numbers: Vec<(ExecutionId, u32, u32)>,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Only these statuses; none named, any.
    pub statuses: Vec<Status>,
    /// Only this kind.
    pub kind: Option<SessionKind>,
    /// Only alerts of this type.
    pub alert_type: Option<String>,
    /// Only those whose title, input or answer has this text.
    pub search: Option<String>,
    /// At most this many.
    pub limit: u32,
    /// After this one, in the order of the list (newest first).
    pub after: Option<SessionId>,
}

/// Which hold, found by the beginning of its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRef {
    /// The hold.
    pub hold: HoldId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
}

/// Which holds to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holds {
    /// Those that nobody has decided.
    Open,
    /// All of them.
    All,
    /// Those of one session.
    Of(SessionId),
}
