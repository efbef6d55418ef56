//! Generated scripts against the real programs.
//!
//! A generator for each language puts scripts together from pieces that implementations are known to read differently, with a
//! payload that makes a file. What the analysis calls a read is run by every implementation that is installed, in a sandbox; if
//! a file appears, the analysis has a hole. Of what it refuses a sample is run too: it must reach the payload, or the
//! generator shows nothing. The analyses of an earlier version, which had holes, are kept in `former`: each generator must
//! find them.
//!
//! `watched` runs what is called a read under `strace`; `folders` compares the file that a script opens with the one that the
//! analysis expects.
//!
//! The seed is fixed. `make fuzz` sets `ORACLE_SEED` and `ORACLE_SECONDS` and goes on with new seeds for so long.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up fails"
)]

#[path = "../watch/exceptions.rs"]
mod exceptions;
#[path = "../sandbox/mod.rs"]
mod sandbox;
#[path = "../watch/table.rs"]
mod table;
#[path = "../watch/trace.rs"]
mod trace;

mod arena;
mod awk;
mod examples;
mod find;
mod folders;
mod former;
mod jq;
mod random;
mod root;
mod sed;
mod shell;
mod sql;
mod watched;

/// A word in single quotes, as a shell reads it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
