//! The four dialects, each with its parser and with what a prompt says about it.

use crate::{CallIds, Chunk, Limits, Offer, Parsed, Reader, Reply, envelope, fenced, native, react};
use interlock_protocol::{ToolCall, ToolResponse};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How a model writes proposals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// The provider's own tool calls.
    Native,
    /// One fenced JSON block.
    Fenced,
    /// One JSON object: `tool_call` or `final_answer`.
    Envelope,
    /// Thought / Action / Action Input / Final Answer.
    React,
}

impl Dialect {
    /// Every one.
    pub const ALL: &'static [Self] = &[Self::Native, Self::Fenced, Self::Envelope, Self::React];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Fenced => "fenced",
            Self::Envelope => "envelope",
            Self::React => "react",
        }
    }

    /// Reads a whole reply. A [`Reader`] that is given the same reply in pieces comes to the same.
    pub fn parse(self, reply: &Reply, offer: &Offer, ids: CallIds, limits: Limits) -> Parsed {
        let Reply {
            text,
            thinking,
            calls,
        } = reply;
        let mut reader = Reader::new(self, limits);
        reader.push(Chunk::Thinking(thinking));
        reader.push(Chunk::Text(text));
        for call in calls {
            reader.push(Chunk::Call(call.clone()));
        }
        reader.finish(offer, ids)
    }

    /// What a prompt says about the tools and how to call them. Nothing for `native`: there the wire carries the tools
    /// ([`Offer::wire_tools`]).
    pub fn instructions(self, offer: &Offer) -> String {
        match self {
            Self::Native => String::new(),
            Self::Fenced => fenced::prompt::instructions(offer),
            Self::Envelope => envelope::prompt::instructions(offer),
            Self::React => react::prompt::instructions(offer),
        }
    }

    /// What a tool answered, as the next message shows it. It is one JSON value on one line: nothing that a tool printed
    /// can begin a line, close a fence or look like a header.
    pub fn observation(self, call: &ToolCall, response: &ToolResponse) -> String {
        match self {
            Self::Native => native::observation(response),
            Self::Fenced => fenced::prompt::observation(call, response),
            Self::Envelope => envelope::prompt::observation(call, response),
            Self::React => react::prompt::observation(response),
        }
    }

    /// The form of a proposal, in a few lines.
    pub(crate) const fn form(self) -> &'static str {
        match self {
            Self::Native => native::FORM,
            Self::Fenced => fenced::prompt::FORM,
            Self::Envelope => envelope::prompt::FORM,
            Self::React => react::prompt::FORM,
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
