//! Generated scripts against the real programs.
//!
//! A generator for each language puts scripts together from pieces that implementations are known to read differently, with a
//! payload that makes a file. What the analysis calls a read is run by every implementation that is installed, in a sandbox; if
//! a file appears, the analysis has a hole. Of what it refuses a sample is run too: it must reach the payload, or the
//! generator shows nothing. The analyses of an earlier version, which had holes, are kept in `former`: each generator must
//! find them.
//!
//! The seed is fixed. `make fuzz` sets `ORACLE_SEED` and `ORACLE_SECONDS` and goes on with new seeds for so long.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up fails"
)]

#[path = "../sandbox/mod.rs"]
mod sandbox;

mod arena;
mod awk;
mod find;
mod former;
mod jq;
mod random;
mod sed;
mod shell;
mod sql;

/// A word in single quotes, as a shell reads it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
