//! Talks to models: OpenAI-compatible, Anthropic, Gemini, Ollama, scripted.
//!
//! A [`Request`] goes in; pieces of a reply come out while they arrive ([`Chunk`]) and a [`Completion`] at the end, or a
//! [`Failure`] that says what happened and what to do. This room asks again where that is safe, watches the clock, notices
//! a model that says nothing or repeats itself, and lets another model take over. What a reply means is not its
//! business: that is `dialect`'s. Everything that a model said is untrusted.
//!
//! It must never let a key, a header's value or an address's credentials into an error, a log or a record; never ask again
//! after something of a reply was shown; never pass off half a reply for a whole one; and never read without a limit.
//!
//! Data walks: [`Options`] and [`Secrets`] make a [`Client`], or all of them [`Models`] with a [`Route`] for each
//! execution. [`Client::generate`] renders the body (`wire/*`, the conversation last, so that the requests of one
//! execution differ only at their ends), sends it (`attempt.rs`, `http.rs`), cuts what comes back into events
//! (`lines.rs`, `wire/stream.rs`), reads them (`wire/*`), and puts the reply together while it passes the pieces on
//! (`collect.rs`). [`check()`] says what a model can do.

mod attempt;
pub mod check;
mod chunk;
mod client;
mod collect;
mod completion;
mod degenerate;
pub mod duration;
mod error;
mod failure;
mod http;
mod limits;
mod lines;
mod models;
mod options;
mod request;
mod retry;
pub mod scripted;
mod secrets;
mod wire;

pub use check::{Report, check};
pub use chunk::{Chunk, Flow, Sink};
pub use client::Client;
pub use completion::{Attempt, Completion, Cost, Finish, ModelInfo, Timing, Usage};
pub use duration::Span;
pub use error::Error;
pub use failure::{Failure, Kind, Record};
pub use http::Transport;
pub use limits::Limits;
pub use models::{Models, Outcome, Route, Switched};
pub use options::{
    BaseUrl, Effort, HeaderText, NativeTools, Options, Price, Provider, Retries, Thinking, Timeouts,
};
pub use request::{AssistantCall, Message, Request, Thought};
pub use scripted::Script;
pub use secrets::Secrets;
