//! Why a call to a model brought no reply.

use crate::{Attempt, Cost, Finish, ModelInfo, Timing, Usage};
use bytes::Bytes;
use interlock_dialect::Reply;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Too many requests.
    RateLimited,
    /// The account has no money or quota left.
    Quota,
    /// The provider is overloaded or broken (408, 5xx, 529).
    Overloaded,
    /// Nothing of a reply came in time.
    TimeoutFirstChunk,
    /// The reply went silent.
    TimeoutStall,
    /// The whole call took too long.
    TimeoutCall,
    /// The key is missing, wrong, or may not do this.
    Credentials,
    /// The provider does not take the request.
    InvalidRequest,
    /// The conversation is longer than the model can read.
    ContextTooLong,
    /// The provider could not be reached, or the connection broke.
    Transport,
    /// The provider sent something that is not its own wire.
    Malformed,
    /// The reply is larger than is read.
    TooLarge,
    /// The model repeats itself without end.
    Degenerate,
    /// The model said nothing and called nothing.
    Empty,
    /// The provider will not answer this.
    Blocked,
    /// The caller wanted it ended.
    Cancelled,
    /// The script has no reply for this.
    ScriptEnded,
    /// The script expected to be shown something else.
    ScriptMismatch,
}

impl Kind {
    /// Every one.
    pub const ALL: &'static [Self] = &[
        Self::RateLimited,
        Self::Quota,
        Self::Overloaded,
        Self::TimeoutFirstChunk,
        Self::TimeoutStall,
        Self::TimeoutCall,
        Self::Credentials,
        Self::InvalidRequest,
        Self::ContextTooLong,
        Self::Transport,
        Self::Malformed,
        Self::TooLarge,
        Self::Degenerate,
        Self::Empty,
        Self::Blocked,
        Self::Cancelled,
        Self::ScriptEnded,
        Self::ScriptMismatch,
    ];

    /// The stable word: a metric's label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
            Self::TimeoutFirstChunk => "timeout_first_chunk",
            Self::TimeoutStall => "timeout_stall",
            Self::TimeoutCall => "timeout_call",
            Self::Credentials => "credentials",
            Self::InvalidRequest => "invalid_request",
            Self::ContextTooLong => "context_too_long",
            Self::Transport => "transport",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::Degenerate => "degenerate",
            Self::Empty => "empty",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::ScriptEnded => "script_ended",
            Self::ScriptMismatch => "script_mismatch",
        }
    }

    /// Whether it is one of the time-outs.
    pub const fn is_timeout(self) -> bool {
        matches!(
            self,
            Self::TimeoutFirstChunk | Self::TimeoutStall | Self::TimeoutCall
        )
    }

    /// Whether the same request may succeed a moment later.
    pub(crate) const fn is_passing(self) -> bool {
        matches!(self, Self::RateLimited | Self::Overloaded | Self::Transport)
    }

    /// What to do about it.
    pub(crate) const fn remedy(self) -> &'static str {
        match self {
            Self::RateLimited => "Wait, ask less often, or name a `fallback` model.",
            Self::Quota => "Add credit to the provider's account, or name a `fallback` model.",
            Self::Overloaded => "Try again later, or name a `fallback` model.",
            Self::TimeoutFirstChunk | Self::TimeoutStall | Self::TimeoutCall => {
                "Raise `timeouts` if the model is slow, or name a `fallback` model."
            }
            Self::Credentials => "Check the key in the environment variable of `api_key_env`.",
            Self::InvalidRequest => {
                "Check `model`, `base_url`, `extra` and the other settings of this model."
            }
            Self::ContextTooLong => "Shorten the conversation, or use a model with a larger context.",
            Self::Transport => "Check `base_url`, the network and `ca_file`.",
            Self::Malformed => "Check that `base_url` leads to a server of this `provider`.",
            Self::TooLarge => "Lower `max_output_tokens`.",
            Self::Degenerate => "Ask again from what came before, or use another model.",
            Self::Empty => "Ask again, or raise `max_output_tokens` if thinking used them up.",
            Self::Blocked => "Ask in other words, or use another model.",
            Self::Cancelled => "Nothing is left to do.",
            Self::ScriptEnded => "Add a reply to the script.",
            Self::ScriptMismatch => "Compare the script's `expect` with what it was shown.",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A call that brought no reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// What kind it is.
    pub kind: Kind,
    /// What happened and what to do, for people.
    pub message: String,
    /// Whether something of a reply was already passed on. Such a call is never repeated by itself.
    pub visible: bool,
    /// What is worth recording about it.
    pub record: Box<Record>,
}

/// What is worth recording about a failed call.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Who was asked last.
    pub model: ModelInfo,
    /// Every time that it was asked.
    pub attempts: Vec<Attempt>,
    /// The exact body that was sent.
    pub body: Bytes,
    /// What came of the last attempt, up to the limit.
    pub raw: Bytes,
    /// How many bytes came.
    pub raw_total: u64,
    /// What of a reply came, if any. The text of a reply that repeats itself ends before the repetition.
    pub partial: Reply,
    /// Why the reply ended, if it did.
    pub finish: Option<Finish>,
    /// How many tokens it took, as far as known.
    pub usage: Usage,
    /// What it cost, as far as known.
    pub cost: Option<Cost>,
    /// How long it took.
    pub timing: Timing,
}

impl Failure {
    /// A model that cannot be used as it is configured.
    pub(crate) fn of_error(error: &crate::Error, model: ModelInfo) -> Self {
        Self {
            kind: match error {
                crate::Error::KeyMissing { .. } | crate::Error::KeyInvalid { .. } => Kind::Credentials,
                _ => Kind::InvalidRequest,
            },
            message: error.to_string(),
            visible: false,
            record: Box::new(Record {
                model,
                attempts: Vec::new(),
                body: Bytes::new(),
                raw: Bytes::new(),
                raw_total: 0,
                partial: Reply::default(),
                finish: None,
                usage: Usage::default(),
                cost: None,
                timing: Timing::default(),
            }),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// What went wrong in one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    /// What happened, a clause without an end: the remedy follows.
    pub(crate) what: String,
}

impl Fault {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Self {
        Self {
            kind,
            what: what.into(),
        }
    }
}
