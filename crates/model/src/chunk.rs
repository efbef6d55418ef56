//! What arrives while a model writes.

use interlock_dialect::{CallDelta, NativeCall};
use serde_json::Value;

/// A piece of a reply as it arrives.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk<'a> {
    /// More text.
    Text(&'a str),
    /// More thinking.
    Thinking(&'a str),
    /// A piece of a tool call.
    CallDelta(CallDelta<'a>),
    /// A tool call that arrives whole.
    Call(NativeCall),
    /// What the provider searched and found, in its own words.
    Grounding(Value),
    /// Code that the provider ran, or what came of it, in its own words.
    CodeExecution(Value),
}

impl<'a> Chunk<'a> {
    /// The piece as a [`interlock_dialect::Reader`] takes it; nothing for what is no part of the reply itself.
    pub fn for_reader(&self) -> Option<interlock_dialect::Chunk<'a>> {
        match self {
            Self::Text(text) => Some(interlock_dialect::Chunk::Text(text)),
            Self::Thinking(text) => Some(interlock_dialect::Chunk::Thinking(text)),
            Self::CallDelta(delta) => Some(interlock_dialect::Chunk::CallDelta(*delta)),
            Self::Call(call) => Some(interlock_dialect::Chunk::Call(call.clone())),
            Self::Grounding(_) | Self::CodeExecution(_) => None,
        }
    }
}

/// What the receiver of a piece wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// More.
    Continue,
    /// Nothing more: the request ends at once and the rest is not read.
    Stop,
}

/// Receives the pieces of a reply.
pub type Sink<'s> = dyn FnMut(Chunk<'_>) -> Flow + Send + 's;
