//! What running a permit did. The record of what happened; the model's words are not.

use crate::word::words;
use crate::{
    CallId, ContentHash, ExecutionId, PermitId, ReceiptId, ResourceId, SessionId, ToolKind, ToolName,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

words! {
    /// How a run ended.
    Outcome {
        /// It did what it was told.
        Succeeded = "succeeded",
        /// It ran and failed; a write may still have had an effect.
        Failed = "failed",
        /// Its time ran out; a write may still have had an effect.
        TimedOut = "timed_out",
        /// It began and left no trace of its end. It is never run again.
        InterruptedUnknown = "interrupted_unknown",
        /// Someone stopped it; a write may still have had an effect.
        Cancelled = "cancelled",
    }
}

/// What running one permit did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// This record.
    pub id: ReceiptId,
    /// The permit that was consumed.
    pub permit: PermitId,
    /// The call that was permitted.
    pub call: CallId,
    /// The session.
    pub session: SessionId,
    /// The agent at work.
    pub execution: ExecutionId,
    /// The tool that ran.
    pub tool: ToolName,
    /// What it does to the world.
    pub kind: ToolKind,
    /// The resource that it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceId>,
    /// The exact plan that was permitted.
    pub plan_hash: ContentHash,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Outcome,
    /// The exit code, where a process ran and ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The hash of the whole output, where there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_hash: Option<ContentHash>,
    /// One line for people, made by code.
    pub summary: String,
}
