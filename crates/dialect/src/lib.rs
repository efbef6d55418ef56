//! What a model said: replies in, proposals out, in every dialect.
//!
//! A model writes its proposals in one of four dialects (see [`Dialect`]): the provider's own tool calls, one fenced JSON
//! block, a JSON envelope, or Thought / Action / Action Input / Final Answer. This room decides which parts of a reply
//! are proposals, which are mistakes that the model can correct, and which are neither. Next to each parser stands what
//! a prompt says about its dialect and how a result is written back, because the two must agree.
//!
//! It must never run anything, never guess a call out of prose, never drop a mistake silently, and never panic,
//! whatever a model writes. Its answer depends on its input alone: no input or output, no clock, no randomness; bytes
//! for call ids come from the caller. Time and memory grow with the length of the reply and are capped by [`Limits`].
//!
//! Data walks: an [`Offer`] says which tools there are; [`Dialect::instructions`] puts them into the prompt (or
//! [`Offer::wire_tools`] onto the wire); the reply comes back as [`Chunk`]s, which a [`Reader`] takes one by one while it
//! says what a user may already see, or at once as a [`Reply`] ([`Dialect::parse`]). Both end in the same [`Parsed`]:
//! its proposals go to the gate, its [`Problem`]s and what was [`Ignored`] go back to the model
//! ([`Parsed::refused_calls`], [`Parsed::feedback`]), and what a tool answered goes back through [`Dialect::observation`].

mod call_ids;
mod dialect;
mod envelope;
mod fenced;
mod ignored;
mod json;
mod limits;
mod native;
mod offer;
mod parsed;
mod problem;
mod prompt;
mod quote;
mod react;
mod reader;
mod reply;
mod thinking;
mod wire_name;

pub use call_ids::CallIds;
pub use dialect::Dialect;
pub use ignored::Ignored;
pub use json::Fault as JsonFault;
pub use limits::Limits;
pub use offer::{Error as OfferError, Offer, RESERVED, WireTool};
pub use parsed::{Confidence, Parsed};
pub use problem::{CallRef, Fault, Found, Part, Problem};
pub use quote::{MAX_CHARS as MAX_QUOTE_CHARS, Quote};
pub use reader::{Channel, Phase, Progress, Reader, Shown, Stop};
pub use reply::{CallDelta, Chunk, NativeArguments, NativeCall, Reply};
pub use wire_name::{MAX_BYTES as MAX_WIRE_NAME_BYTES, WireName};
