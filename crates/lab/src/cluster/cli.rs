//! `pct` and `qm`, as they are found on a node.

use std::process::ExitCode;

/// Runs one of them, by its name, in a node.
pub fn main(_program: &str, _arguments: &[String]) -> ExitCode {
    ExitCode::from(2)
}
