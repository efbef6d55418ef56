//! What a read returned, with its resource, its time and its hash.

use crate::{
    Arguments, CallId, ContentHash, EvidenceId, ExecutionId, Identity, Observation, ResourceId, SessionId,
    ToolName, Walls,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who asked for a reading, and with which words. What a model wrote into its call can come back in the result, and is no fact then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case", deny_unknown_fields)]
pub enum Source {
    /// Code, with a question of its own.
    Code,
    /// A call of a model.
    Call {
        /// The arguments of the call that ran.
        arguments: Arguments,
    },
}

/// What one read returned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// This record.
    pub id: EvidenceId,
    /// The session.
    pub session: SessionId,
    /// The agent at work.
    pub execution: ExecutionId,
    /// The call that read.
    pub call: CallId,
    /// The tool that read.
    pub tool: ToolName,
    /// The resource that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceId>,
    /// Which machine answered, as the connection showed it.
    #[serde(default, skip_serializing_if = "Identity::is_empty")]
    pub identity: Identity,
    /// When the reading was taken at its source, not when it arrived.
    pub taken_at: Timestamp,
    /// The hash of `data` in its canonical form.
    pub hash: ContentHash,
    /// What was returned, masked.
    pub data: Value,
    /// What code made out of it, for comparing with an expectation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observations: Vec<Observation>,
    /// Who asked for it; nothing in records of versions that did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The walls that the reading passed, where a command ran for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walls: Option<Walls>,
}
