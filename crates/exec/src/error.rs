//! Why a process did not run, for the one who has to do something about it.

use std::io;
use std::path::PathBuf;

use interlock_executor::Failure;
use interlock_protocol::ErrorCode;

/// Why a process did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program.
    #[error("there is no program `{program}` on this machine; install it, or name it by its full path")]
    NotFound {
        /// The program.
        program: String,
    },
    /// The program may not be run.
    #[error(
        "`{program}` may not be run: {cause}; check that it is executable for the user that runs Interlock and does \
         not lie in a protected folder"
    )]
    Denied {
        /// The program.
        program: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The folder to run in is not there.
    #[error("the folder `{}` to run in is not there or may not be entered: {cause}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// No program was named.
    #[error("the command is empty; name a program")]
    Empty,
    /// The sandbox is required, or there, and cannot be entered.
    #[error("nothing was run, because the sandbox cannot be entered: {reason}")]
    NoSandbox {
        /// Why.
        reason: String,
    },
    /// The program that sets the sandbox is missing.
    #[error(
        "nothing was run, because the program `interlock-confine`, which sets the sandbox, is not at `{}`; install it \
         in the same folder as `interlock` (`cargo build --package interlock-confine`)", path.display()
    )]
    NoConfine {
        /// Where it should be.
        path: PathBuf,
    },
    /// The program of the lab is missing.
    #[error(
        "the lab is the program `interlock-lab`, which is not at `{}`; install it in the same folder as `interlock` \
         (`cargo build --package interlock-lab`)", path.display()
    )]
    NoLab {
        /// Where it should be.
        path: PathBuf,
    },
    /// The lab did not start.
    #[error("the lab did not start: {message}")]
    Lab {
        /// What it said.
        message: String,
    },
    /// The program that sets the sandbox is of another version, or broke off.
    #[error(
        "nothing was run, because `interlock-confine` refused its orders: {reason}; install `interlock` and \
         `interlock-confine` of the same version"
    )]
    Confine {
        /// Why.
        reason: String,
    },
    /// The system started no process.
    #[error("`{program}` could not be started: {cause}")]
    Spawn {
        /// The program.
        program: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The process ran and could not be watched; it was killed.
    #[error("`{program}` could not be watched and was killed: {cause}")]
    Watch {
        /// The program.
        program: String,
        /// What the system says.
        cause: io::Error,
    },
    /// It was cancelled before anything ran.
    #[error("cancelled before it began; nothing ran")]
    CancelledFirst,
    /// A text is no name of a unit.
    #[error("`{0}` is no name of a unit: letters, digits and `:_.@\\-`, not beginning with `-` or `.`")]
    UnitName(String),
    /// This process could not be hidden.
    #[error("this process could not be hidden from others of the same user: {0}")]
    Hide(io::Error),
}

/// What a tool says that runs a process and could not.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::CancelledFirst => ErrorCode::Cancelled,
            Error::UnitName(_) | Error::Empty => ErrorCode::InvalidInput,
            Error::NotFound { .. }
            | Error::Denied { .. }
            | Error::Folder { .. }
            | Error::NoSandbox { .. }
            | Error::NoConfine { .. }
            | Error::NoLab { .. }
            | Error::Lab { .. }
            | Error::Confine { .. }
            | Error::Spawn { .. }
            | Error::Watch { .. }
            | Error::Hide(_) => ErrorCode::ExecutionFailed,
        };
        Self::new(code, error.to_string())
    }
}
