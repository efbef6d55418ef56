//! Sets the sandbox of one command, then executes it: the program `interlock-confine`.
//!
//! The room `exec` starts this program for every command and speaks with it over a socket, which is the program's
//! standard input. The program has three roles:
//!
//! - The **guard** (`guard`) reads [`Orders`], makes what a read needs, and starts the supervisor. If the supervisor is
//!   killed, the guard ends the command.
//! - The **supervisor** (`supervise`) starts one process for each stage of the pipeline, connects them, and reports what
//!   came of them ([`Report`]). When the socket closes, because the command was stopped or because Interlock was
//!   killed, or when the guard is killed, it kills the command with everything that the command started (`ending`).
//! - A **stage** (`stage`) is this program again. It gives up its rights in this order: inherited descriptors, the
//!   superuser's capabilities, the file system (Landlock), resources (rlimits), system calls (seccomp). Then it is
//!   replaced by the command. It dies with its supervisor.
//!
//! A fourth role, the **canary** (`canary`), is a command that tries to write and to connect and says what it could do.
//! A sandbox counts only if the canary could do nothing.
//!
//! Orders are JSON with a version and no unknown keys. Nothing is read from the environment, and nothing that a model
//! wrote becomes a flag of this program: a command is an argument vector behind `--`.
//!
//! This room must never run a command without the sandbox that was ordered, and never decide what may run.

mod canary;
mod capability;
mod ending;
mod guard;
mod hidden;
mod limits;
mod orders;
mod protected;
mod sandbox;
mod seccomp;
mod stage;
mod supervise;
mod temporary;

use std::process::ExitCode;

pub use canary::CANARY;
pub use ending::Ending;
pub use orders::{Ended, Failed, Held, Orders, Policy, Profile, Report, Resources, Stage, Stderr, VERSION};
pub use protected::Protected;

/// The name of the program.
pub const PROGRAM: &str = "interlock-confine";

/// A byte on the control socket: ask the command to end.
pub const TERMINATE: u8 = b't';

/// Wrong usage.
const USAGE: u8 = 2;

/// Runs the program.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        None => guard::run(),
        Some(role) if role == supervise::ROLE => supervise::run(arguments),
        Some(role) if role == stage::ROLE => stage::run(arguments),
        Some(role) if role == CANARY => canary::run(arguments),
        Some(role) if role == "--version" => {
            println!("{PROGRAM} {}, orders {VERSION}", env!("CARGO_PKG_VERSION"));
            ExitCode::SUCCESS
        }
        Some(_) => {
            eprintln!(
                "{PROGRAM} is started by `interlock` to run one command in a sandbox; it has no use of its own"
            );
            ExitCode::from(USAGE)
        }
    }
}
