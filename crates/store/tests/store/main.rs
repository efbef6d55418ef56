//! What the store promises, as cases and laws.
#![allow(clippy::unwrap_used, reason = "a test fails where it likes")]

mod once;
mod queue;
mod record;
mod support;
