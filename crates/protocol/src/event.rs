//! The record of a session: typed events, numbered from one. What is not an event did not happen.

use crate::word::words;
use crate::{
    AgentName, CallId, CategoryName, ContentHash, ControlLevel, ErrorCode, EventId, EvidenceId, ExecutionId,
    Expectation, Head, HoldId, Label, Mode, PermitId, Proposal, Receipt, ReceiptId, ResourceId, RuleName,
    Sequence, SessionId, StageId, ToolKind, ToolName, UserId, Verification,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

words! {
    /// What a session is a run of.
    SessionKind {
        /// A chain, for an alert.
        Chain = "chain",
        /// A conversation.
        Chat = "chat",
    }
}

words! {
    /// Where a session, a stage or an execution stands.
    Status {
        /// It waits for a worker.
        Pending = "pending",
        /// It is worked on.
        InProgress = "in_progress",
        /// It waits for a human.
        Held = "held",
        /// It is being stopped.
        Cancelling = "cancelling",
        /// It ended, and every write in it was looked at afterwards.
        Completed = "completed",
        /// It ended, and the effect of a write could not be observed.
        Unverified = "unverified",
        /// It ended in an error.
        Failed = "failed",
        /// Someone stopped it.
        Cancelled = "cancelled",
        /// Its time ran out.
        TimedOut = "timed_out",
    }
}

/// A refusal, as the record keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefusalRecord {
    /// The stable code.
    pub code: ErrorCode,
    /// The rule that decided.
    pub rule: RuleName,
    /// One sentence for people.
    pub message: String,
    /// What to do next, if there is something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_hint: Option<String>,
    /// Whether a model can get past it by itself.
    pub auto_recoverable: bool,
    /// The facts.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// What the gate answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Decision {
    /// It may run, once.
    Allowed {
        /// The permit.
        permit: PermitId,
        /// What running does to the world.
        kind: ToolKind,
        /// The exact plan that may run.
        plan_hash: ContentHash,
    },
    /// A final answer may be given.
    AnswerAllowed,
    /// A human decides.
    Held {
        /// The hold.
        hold: HoldId,
        /// The exact plan that waits.
        plan_hash: ContentHash,
    },
    /// It may not run.
    Refused(RefusalRecord),
}

/// One thing that happened, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// This event.
    pub id: EventId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// Its place in the session.
    pub sequence: Sequence,
    /// When it happened.
    pub at: Timestamp,
    /// The stage that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<StageId>,
    /// The agent at work that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened. On the wire it is `type`, a stable dotted name, and `data`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", deny_unknown_fields)]
pub enum EventBody {
    /// A session began to exist.
    #[serde(rename = "session.created")]
    SessionCreated {
        /// What it is a run of.
        kind: SessionKind,
        /// What to call it.
        title: Label,
        /// Who asked for it; nobody for an alert.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<UserId>,
    },
    /// A session went from one status to another.
    #[serde(rename = "session.status")]
    SessionStatus {
        /// The status that it has now.
        status: Status,
    },
    /// A session ended.
    #[serde(rename = "session.completed")]
    SessionCompleted {
        /// How.
        status: Status,
    },
    /// A stage began.
    #[serde(rename = "stage.started")]
    StageStarted {
        /// What it is called.
        name: Label,
    },
    /// A stage ended.
    #[serde(rename = "stage.completed")]
    StageCompleted {
        /// How.
        status: Status,
    },
    /// An agent began to work.
    #[serde(rename = "execution.started")]
    ExecutionStarted {
        /// Which.
        agent: AgentName,
    },
    /// An agent stopped working.
    #[serde(rename = "execution.completed")]
    ExecutionCompleted {
        /// How.
        status: Status,
    },
    /// A model asked for something.
    #[serde(rename = "proposal.received")]
    ProposalReceived {
        /// What.
        proposal: Proposal,
    },
    /// The gate answered. Every refusal is one of these.
    #[serde(rename = "decision.made")]
    DecisionMade {
        /// The call; nothing for a final answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The answer.
        decision: Decision,
    },
    /// A call waits for a human.
    #[serde(rename = "hold.opened")]
    HoldOpened {
        /// The hold.
        hold: HoldId,
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolName,
        /// The resource.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<ResourceId>,
        /// The exact plan.
        plan_hash: ContentHash,
        /// When nobody can approve it any more.
        expires_at: Timestamp,
    },
    /// A human let it run.
    #[serde(rename = "hold.approved")]
    HoldApproved {
        /// The hold.
        hold: HoldId,
        /// Who.
        by: UserId,
        /// The exact plan that was approved.
        plan_hash: ContentHash,
    },
    /// A human refused it.
    #[serde(rename = "hold.denied")]
    HoldDenied {
        /// The hold.
        hold: HoldId,
        /// Who.
        by: UserId,
        /// Why.
        reason: String,
    },
    /// A human changed the plan; the new one went through the whole gate.
    #[serde(rename = "hold.edited")]
    HoldEdited {
        /// The hold that ended.
        hold: HoldId,
        /// Who.
        by: UserId,
        /// The plan as it was.
        old_plan_hash: ContentHash,
        /// The plan as it is now.
        new_plan_hash: ContentHash,
    },
    /// Nobody decided in time.
    #[serde(rename = "hold.expired")]
    HoldExpired {
        /// The hold.
        hold: HoldId,
    },
    /// A permit was consumed. Written before anything runs.
    #[serde(rename = "call.started")]
    CallStarted {
        /// The call.
        call: CallId,
        /// The permit.
        permit: PermitId,
        /// The tool.
        tool: ToolName,
        /// What it does to the world.
        kind: ToolKind,
        /// The resource.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<ResourceId>,
        /// The exact plan.
        plan_hash: ContentHash,
    },
    /// Running ended.
    #[serde(rename = "receipt.recorded")]
    ReceiptRecorded {
        /// What it did.
        receipt: Receipt,
    },
    /// A read returned. The data itself is kept apart.
    #[serde(rename = "evidence.recorded")]
    EvidenceRecorded {
        /// The evidence.
        evidence: EvidenceId,
        /// The call that read.
        call: CallId,
        /// The resource that was read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        resource: Option<ResourceId>,
        /// When.
        taken_at: Timestamp,
        /// The hash of the data.
        hash: ContentHash,
    },
    /// A write began; its effect must be observed.
    #[serde(rename = "verification.required")]
    VerificationRequired {
        /// The written resource.
        resource: ResourceId,
        /// The permit of the write.
        permit: PermitId,
        /// What must be seen.
        expectation: Expectation,
        /// When code itself takes the reading.
        deadline: Timestamp,
    },
    /// The effect of a write was compared with what was expected.
    #[serde(rename = "verification.completed")]
    VerificationCompleted {
        /// The written resource.
        resource: ResourceId,
        /// The receipt of the write, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receipt: Option<ReceiptId>,
        /// The reading that decided, where there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<EvidenceId>,
        /// What the comparison says.
        outcome: Verification,
    },
    /// The session answered.
    #[serde(rename = "answer.given")]
    AnswerGiven {
        /// What the model wrote.
        text: String,
        /// What code knows about it. Old records have none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<Box<Head>>,
    },
    /// An answer claimed what no receipt shows, and was replaced.
    #[serde(rename = "answer.replaced")]
    AnswerReplaced {
        /// Which kind of claim.
        category: CategoryName,
        /// What was shown instead.
        text: String,
    },
    /// The resolved resources and the states that rest on them were forgotten together.
    #[serde(rename = "context.reset")]
    ContextReset {
        /// How many pinned resources stayed.
        kept: u32,
    },
    /// Someone changed how much may happen without a human.
    #[serde(rename = "control.changed")]
    ControlChanged {
        /// The level now.
        level: ControlLevel,
        /// Who.
        by: UserId,
    },
    /// The operational mode changed.
    #[serde(rename = "mode.changed")]
    ModeChanged {
        /// The mode now.
        mode: Mode,
    },
}

impl EventBody {
    /// The stable name, as it stands in `type`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SessionCreated { .. } => "session.created",
            Self::SessionStatus { .. } => "session.status",
            Self::SessionCompleted { .. } => "session.completed",
            Self::StageStarted { .. } => "stage.started",
            Self::StageCompleted { .. } => "stage.completed",
            Self::ExecutionStarted { .. } => "execution.started",
            Self::ExecutionCompleted { .. } => "execution.completed",
            Self::ProposalReceived { .. } => "proposal.received",
            Self::DecisionMade { .. } => "decision.made",
            Self::HoldOpened { .. } => "hold.opened",
            Self::HoldApproved { .. } => "hold.approved",
            Self::HoldDenied { .. } => "hold.denied",
            Self::HoldEdited { .. } => "hold.edited",
            Self::HoldExpired { .. } => "hold.expired",
            Self::CallStarted { .. } => "call.started",
            Self::ReceiptRecorded { .. } => "receipt.recorded",
            Self::EvidenceRecorded { .. } => "evidence.recorded",
            Self::VerificationRequired { .. } => "verification.required",
            Self::VerificationCompleted { .. } => "verification.completed",
            Self::AnswerGiven { .. } => "answer.given",
            Self::AnswerReplaced { .. } => "answer.replaced",
            Self::ContextReset { .. } => "context.reset",
            Self::ControlChanged { .. } => "control.changed",
            Self::ModeChanged { .. } => "mode.changed",
        }
    }
}
