//! What a model asks for. Untrusted, always: a proposal is a claim about what should happen, nothing more.

use crate::{CallId, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a call, by name.
pub type Arguments = Map<String, Value>;

/// A request to run one tool with these arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// What the caller calls it; the response carries it back.
    pub id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// Its arguments, not yet checked against the tool's schema.
    #[serde(default)]
    pub arguments: Arguments,
}

impl ToolCall {
    /// The argument of this name, if it is there and is a string.
    pub fn text_argument(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }
}

/// What a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Proposal {
    /// Run a tool.
    ToolCall(ToolCall),
    /// End with this answer.
    FinalAnswer {
        /// The answer.
        text: String,
    },
}
