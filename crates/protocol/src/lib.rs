//! The shared words of Interlock: what every room calls the same thing by the same name.
//!
//! This room holds ids, resources, tool definitions, proposals, the response envelope with its error codes,
//! receipts, evidence, expectations and events. Its types check themselves when they are made or read: a value
//! that exists is well-formed.
//!
//! It must never decide (the gate does), never do input or output, never draw a random number or ask for the
//! time, and depend on no other room. Whatever it reads from JSON may come from a model: malformed input is an
//! error, never a panic, and never a value that looks almost right.
//!
//! Data walks: a [`Proposal`] comes in; the gate consults the [`ToolDefinition`] and answers a [`Decision`];
//! running a permit leaves a [`Receipt`], a read leaves [`Evidence`] whose [`Observation`]s are compared with an
//! [`Expectation`]; the caller gets a [`ToolResponse`]; each step is an [`Event`].

pub mod capture;
pub mod error_code;
pub mod event;
pub mod evidence;
pub mod expectation;
pub mod hash;
pub mod head;
pub mod id;
pub mod identity;
pub mod incident;
pub mod mode;
pub mod name;
pub mod proposal;
pub mod receipt;
pub mod resource;
pub mod response;
pub mod tool;
pub mod user_name;
pub mod visible;
pub mod walls;
pub mod word;

pub use capture::{Capture, Captured, MOST_TAKEN, head_and_tail};
pub use error_code::ErrorCode;
pub use event::{Decision, Event, EventBody, RefusalRecord, SessionKind, Status};
pub use evidence::{Evidence, Source};
pub use expectation::{
    AlertState, Expectation, Observation, RunIdentity, RunState, UnitActivity, Verification,
};
pub use hash::ContentHash;
pub use head::{
    Head, HeadAction, HeadLine, HeadRecord, HeadTone, NotRunReason, RecordState, Support, Withheld,
    WriteNotRun,
};
pub use id::{
    AgentName, ArgumentName, CallId, CategoryName, EventId, EvidenceId, ExecutionId, HoldId, IncidentId,
    Label, PermitId, ReceiptId, RuleName, RunId, Sequence, SessionId, StageId, ToolName, UserId, WorkerId,
};
pub use identity::{Identity, IdentityChange, IdentityFact};
pub use incident::{IncidentEventKind, IncidentStatus, Severity};
pub use mode::{ControlLevel, Mode, Role};
pub use name::{name_key, short_name};
pub use proposal::{Arguments, Proposal, ToolCall};
pub use receipt::{Outcome, Receipt};
pub use resource::{ResourceId, ResourceKind, Scope};
pub use response::{Details, ErrorClass, Retry, ToolError, ToolResponse};
pub use tool::{KindRule, RiskLevel, ShellRule, TargetArgument, TargetRule, ToolDefinition, ToolKind};
pub use user_name::UserName;
pub use visible::{Revealed, reveal, reveal_line, unreveal};
pub use walls::{AnalysisWall, SandboxWall, SocketKind, WallKind, Walls};
