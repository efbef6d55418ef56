//! What the store promises, as cases and laws.
#![allow(clippy::unwrap_used, reason = "a test fails where it likes")]

mod faults;
mod laws;
mod notes;
mod once;
mod process;
mod queue;
mod record;
mod retention;
mod support;
