//! What the store promises, as cases and laws.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails where it likes")]

mod audit;
mod boundary;
mod faults;
mod feed;
mod forged;
mod incidents;
mod laws;
mod lists;
mod marks;
mod notes;
mod once;
mod people;
mod process;
mod queue;
mod record;
mod retention;
mod rotation;
mod schema;
mod split;
mod support;
mod upgrade;
