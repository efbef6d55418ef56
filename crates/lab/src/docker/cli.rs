//! `docker`, as it is found on a Docker host.

use std::process::ExitCode;

/// Runs it, in a guest that is a Docker host.
pub fn main(_arguments: &[String]) -> ExitCode {
    ExitCode::from(2)
}
