//! The `interlock` binary: commands for people and for programs.
//!
//! This room reads arguments and input, calls the rooms that decide, and writes what they say. It must never
//! decide anything itself: a verdict or a proof printed here is the one that the gate would use.
//!
//! Exit codes: 0 done, 1 the thing asked for did not succeed, 2 wrong usage or input.

mod classify;
mod prove;
mod terminal;

use clap::{Parser, Subcommand};
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Interlock: the model proposes; code decides.
#[derive(Parser)]
#[command(
    name = "interlock",
    version,
    arg_required_else_help = true,
    after_help = "Examples:\n  interlock classify 'ls / & zfs destroy tank'\n  interlock prove gate"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Say what a shell command can do, and which part of it decided.
    Classify(classify::Arguments),
    /// Check the promises of the gate on this machine.
    Prove(prove::Arguments),
}

/// How a command ended, other than by an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Done.
    Done,
    /// The thing asked for did not succeed.
    Unsuccessful,
    /// Wrong usage or input.
    Wrong,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::SUCCESS,
            Ending::Unsuccessful => Self::from(1),
            Ending::Wrong => Self::from(2),
        }
    }
}

fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Classify(arguments) => classify::run(&arguments),
        Command::Prove(arguments) => prove::run(&arguments),
    };
    match ended {
        Ok(ending) => ending.into(),
        // Whoever read the output has what they wanted (`interlock … | head -1`).
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is gone too, there is nobody left to tell.
            let _ = writeln!(io::stderr(), "error: {error}");
            Ending::Wrong.into()
        }
    }
}
