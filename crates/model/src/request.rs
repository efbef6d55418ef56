//! What a model is asked, whichever provider serves it.

use interlock_dialect::WireTool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a model is asked: everything that goes on the wire except credentials.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Request {
    /// What holds for the whole conversation.
    pub system: String,
    /// The conversation so far; what is to be answered stands last.
    pub messages: Vec<Message>,
    /// The tools that the wire offers. Empty for the dialects that are written as text.
    pub tools: Vec<WireTool>,
    /// The most tokens to write; the model's own setting where this is missing.
    pub max_output_tokens: Option<u32>,
    /// How freely it chooses; the model's own setting where this is missing.
    pub temperature: Option<f32>,
    /// Texts at which it stops writing.
    pub stop: Vec<String>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum Message {
    /// What a person, or our code in a person's place, says.
    User {
        /// The words.
        text: String,
    },
    /// What the model answered.
    Assistant {
        /// What it said.
        #[serde(default)]
        text: String,
        /// What it thought, as its provider wants it back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        thinking: Vec<Thought>,
        /// The tool calls that it made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<AssistantCall>,
    },
    /// What a tool answered.
    Tool {
        /// The id of the call.
        call: String,
        /// The tool's name on the wire.
        name: String,
        /// The answer.
        text: String,
        /// Whether the call failed.
        #[serde(default)]
        failed: bool,
    },
}

impl Message {
    /// A user's words.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { text: text.into() }
    }

    /// The model's words, without thoughts and calls.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant {
            text: text.into(),
            thinking: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// The words of it.
    pub fn text(&self) -> &str {
        match self {
            Self::User { text } | Self::Assistant { text, .. } | Self::Tool { text, .. } => text,
        }
    }
}

/// A piece of a model's thinking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thought {
    /// What it thought, as far as the provider shows it.
    pub text: String,
    /// What the provider wants back with it. It begins with the name of the wire that it came from, and goes back only to
    /// that one: another provider would refuse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// A tool call in the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssistantCall {
    /// Its id, which the tool's answer repeats.
    pub id: String,
    /// The tool's name on the wire.
    pub name: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// As for [`Thought::signature`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The wires that hand out something opaque and want it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sealed {
    Anthropic,
    AnthropicRedacted,
    Gemini,
    OpenAi,
}

impl Sealed {
    const fn tag(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic:",
            Self::AnthropicRedacted => "anthropic-redacted:",
            Self::Gemini => "gemini:",
            Self::OpenAi => "openai:",
        }
    }

    /// What the wire gave, marked with where it came from.
    pub(crate) fn seal(self, opaque: &str) -> String {
        [self.tag(), opaque].concat()
    }

    /// What this wire gave, if it was this one.
    pub(crate) fn open(self, signature: Option<&String>) -> Option<&str> {
        signature?.strip_prefix(self.tag())
    }
}
