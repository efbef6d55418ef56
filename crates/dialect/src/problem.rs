//! What was wrong with a reply, in a form that can be answered, counted and shown.

use crate::{JsonFault, Quote, WireName};
use interlock_protocol::{CallId, Details, ErrorCode, ToolName, ToolResponse};
use serde::Serialize;
use std::fmt;

/// Something in a reply that was meant as a proposal and is none. Nothing of it ran; the model can correct it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What is wrong.
    #[serde(flatten)]
    pub fault: Fault,
    /// The call that it is about, where the provider gave it an identity: that call wants an answer of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallRef>,
}

/// A call that cannot be proposed, as the history keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallRef {
    /// Its id: the provider's, or ours where that was missing, malformed or taken.
    pub id: CallId,
    /// A name for the history that the wire takes.
    pub wire_name: WireName,
}

/// Which text a fault is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The arguments of a call.
    Arguments,
    /// A fenced block.
    Block,
    /// An envelope.
    Envelope,
    /// What follows `Action Input:`.
    ActionInput,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Arguments => "The arguments of the call",
            Self::Block => "The fenced block",
            Self::Envelope => "The JSON object",
            Self::ActionInput => "The text after `Action Input:`",
        })
    }
}

/// Which sections a `react` reply had, empty ones not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "four sections, each there or not")]
pub struct Found {
    /// `Thought:`
    pub thought: bool,
    /// `Action:`
    pub action: bool,
    /// `Action Input:`, which may be empty.
    pub action_input: bool,
    /// `Final Answer:`
    pub final_answer: bool,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self { action: true, .. } => {
                "There is an `Action:` and no `Action Input:` after it. A tool without arguments takes `Action Input: {}`."
            }
            Self { action_input: true, .. } => "There is an `Action Input:` and no `Action:` that names a tool.",
            Self { final_answer: true, .. } => "There is a `Final Answer:` with nothing after it.",
            Self { thought: true, .. } => "There is a `Thought:`, and neither an `Action:` nor a `Final Answer:`.",
            _ => "No line begins with `Thought:`, `Action:`, `Action Input:` or `Final Answer:`.",
        })
    }
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum Fault {
    /// There is nothing.
    #[error("The reply is empty.")]
    EmptyReply,
    /// Thinking that never ended, and nothing after it.
    #[error("The reply ends inside its thinking.")]
    UnfinishedThinking,
    /// There is too much.
    #[error("The reply has more than {limit} bytes; nothing of it was taken.")]
    ReplyTooLong {
        /// The most bytes.
        limit: usize,
    },
    /// No such tool.
    #[error("There is no tool `{name}`. Tools: {}.", listed(.tools))]
    UnknownTool {
        /// What the model wrote.
        name: Quote,
        /// What there is.
        tools: Vec<ToolName>,
    },
    /// A tool that this session may not use.
    #[error("This session may not use `{tool}`. Tools: {}.", listed(.tools))]
    ToolNotAllowed {
        /// The tool.
        tool: ToolName,
        /// What there is.
        tools: Vec<ToolName>,
    },
    /// A call to the name under which results are shown.
    #[error("`tool.result` marks results; it is not a tool.")]
    ResultAsCall,
    /// A result that no tool gave.
    #[error("The reply contains a result that no tool gave; it was cut there.")]
    InventedResult,
    /// Arguments with no tool.
    #[error("A call has no name.")]
    NoName,
    /// JSON that cannot be taken.
    #[error("{part} cannot be read as JSON: {json}. Found: {quote}")]
    Json {
        /// Where.
        part: Part,
        /// Why.
        json: JsonFault,
        /// How it begins.
        quote: Quote,
    },
    /// JSON of another shape.
    #[error("{part} must be {expected}. Found: {quote}")]
    Shape {
        /// Where.
        part: Part,
        /// What it must be.
        expected: &'static str,
        /// How it begins.
        quote: Quote,
    },
    /// A call in a block without a label.
    #[error("A block without a label is not a call; the block that names `{tool}` was not run.")]
    Unlabelled {
        /// The tool that it names.
        tool: ToolName,
    },
    /// A call written as text where the provider's own calls are in use.
    #[error(
        "A call to `{tool}` was written as text and not run; calls are made through the provider's tool calls."
    )]
    CallAsText {
        /// The tool that it names.
        tool: ToolName,
    },
    /// A call and a final answer in one reply.
    #[error("The reply has both a `tool_call` and a `final_answer`; neither was taken.")]
    CallAndAnswer,
    /// No envelope.
    #[error("The reply has no JSON object with `tool_call` or `final_answer`. Found: {quote}")]
    NoEnvelope {
        /// How it begins.
        quote: Quote,
    },
    /// Sections that make no proposal.
    #[error("{found}")]
    Format {
        /// What there was.
        found: Found,
    },
}

fn listed(tools: &[ToolName]) -> String {
    if tools.is_empty() {
        return "none".to_owned();
    }
    tools.iter().map(ToolName::as_str).collect::<Vec<_>>().join(", ")
}

impl Fault {
    /// The stable word for metrics and logs.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::EmptyReply => "empty_reply",
            Self::UnfinishedThinking => "unfinished_thinking",
            Self::ReplyTooLong { .. } => "reply_too_long",
            Self::UnknownTool { .. } => "unknown_tool",
            Self::ToolNotAllowed { .. } => "tool_not_allowed",
            Self::ResultAsCall => "result_as_call",
            Self::InventedResult => "invented_result",
            Self::NoName => "no_name",
            Self::Json { .. } => "json",
            Self::Shape { .. } => "shape",
            Self::Unlabelled { .. } => "unlabelled",
            Self::CallAsText { .. } => "call_as_text",
            Self::CallAndAnswer => "call_and_answer",
            Self::NoEnvelope { .. } => "no_envelope",
            Self::Format { .. } => "format",
        }
    }

    /// Whether the form of the reply is at fault, so that saying the form again helps.
    pub(crate) const fn is_about_form(&self) -> bool {
        match self {
            Self::UnknownTool { .. } | Self::ToolNotAllowed { .. } | Self::ReplyTooLong { .. } => false,
            Self::EmptyReply
            | Self::UnfinishedThinking
            | Self::ResultAsCall
            | Self::InventedResult
            | Self::NoName
            | Self::Json { .. }
            | Self::Shape { .. }
            | Self::Unlabelled { .. }
            | Self::CallAsText { .. }
            | Self::CallAndAnswer
            | Self::NoEnvelope { .. }
            | Self::Format { .. } => true,
        }
    }

    /// The error code that a response about it carries: those that the gate gives for the same.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownTool { .. } => ErrorCode::NotFound,
            Self::ToolNotAllowed { .. } => ErrorCode::ActionNotAllowed,
            Self::EmptyReply
            | Self::UnfinishedThinking
            | Self::ReplyTooLong { .. }
            | Self::ResultAsCall
            | Self::InventedResult
            | Self::NoName
            | Self::Json { .. }
            | Self::Shape { .. }
            | Self::Unlabelled { .. }
            | Self::CallAsText { .. }
            | Self::CallAndAnswer
            | Self::NoEnvelope { .. }
            | Self::Format { .. } => ErrorCode::InvalidInput,
        }
    }
}

impl Problem {
    /// The answer to the call: nothing ran, and the model can get past it by itself.
    pub fn to_response(&self) -> ToolResponse {
        let mut details = Details::new();
        details.insert("auto_recoverable".to_owned(), true.into());
        if let Fault::UnknownTool { tools, .. } | Fault::ToolNotAllowed { tools, .. } = &self.fault {
            let names: Vec<&str> = tools.iter().map(ToolName::as_str).collect();
            details.insert("tools".to_owned(), names.into());
        }
        ToolResponse::blocked(self.fault.code(), self.fault.to_string(), details)
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self { fault, call: None }
    }
}
