//! A reply as it comes from a provider's wire, whichever provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    /// What it says.
    pub text: String,
    /// What the provider gave apart as the model's thinking.
    pub thinking: String,
    /// The provider's tool calls.
    pub calls: Vec<NativeCall>,
}

impl Reply {
    /// A reply of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }
}

/// A tool call as a provider's wire carries it. Nothing of it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NativeCall {
    /// What the provider calls it, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool's name on the wire.
    pub name: String,
    /// The arguments.
    pub arguments: NativeArguments,
}

/// Arguments as the wire has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NativeArguments {
    /// JSON inside a string, which a model wrote and which may be broken: OpenAI-compatible servers, Anthropic's deltas.
    Text(String),
    /// A JSON value: Gemini, Ollama.
    Value(Value),
}

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// More text.
    Text(&'a str),
    /// More thinking that the provider gives apart.
    Thinking(&'a str),
    /// A piece of a tool call.
    CallDelta(CallDelta<'a>),
    /// A tool call that arrives whole.
    Call(NativeCall),
}

/// A piece of a tool call. Which call it belongs to follows from `index`, else from `id`, else it is the latest. An `id`
/// that differs from that of the call at its index begins another call: some servers number all of them 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallDelta<'a> {
    /// The place of the call in the reply.
    pub index: Option<u32>,
    /// What the provider calls it.
    pub id: Option<&'a str>,
    /// More of the name. A repetition of the whole name adds nothing.
    pub name: Option<&'a str>,
    /// More of the arguments.
    pub arguments: &'a str,
}
