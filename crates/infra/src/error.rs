//! Why infrastructure did not do, or did not say, what was asked.

use interlock_executor::Failure;
use interlock_protocol::{ErrorCode, IdentityChange};
use serde_json::{Value, json};

fn shown(changes: &[IdentityChange]) -> String {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    changes.join("; ")
}

/// Why infrastructure did not do, or did not say, what was asked. Never with a credential in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The other side cannot be reached.
    #[error("`{connection}` cannot be reached: {cause}")]
    Unreachable {
        /// The connection, by its name in the configuration.
        connection: String,
        /// What the system said.
        cause: String,
    },
    /// It did not answer in time.
    #[error("`{connection}` did not answer within {seconds} seconds")]
    TimedOut {
        /// The connection.
        connection: String,
        /// How long it had.
        seconds: u64,
    },
    /// It does not take our credentials.
    #[error("`{connection}` does not accept the credentials: {message}")]
    Unauthorized {
        /// The connection.
        connection: String,
        /// What it said.
        message: String,
    },
    /// The credentials are good, but not for this.
    #[error("`{connection}` forbids this to the configured user: {message}")]
    Forbidden {
        /// The connection.
        connection: String,
        /// What it said.
        message: String,
    },
    /// What was asked for is not there.
    #[error("{what} is not there")]
    NotFound {
        /// What.
        what: String,
    },
    /// It understood and said no, or failed.
    #[error("`{connection}` refused: {message}")]
    Refused {
        /// The connection.
        connection: String,
        /// The HTTP status, where there is one.
        status: Option<u16>,
        /// What it said.
        message: String,
    },
    /// It answered something that its protocol does not have.
    #[error("`{connection}` answered what was not understood: {message}")]
    Protocol {
        /// The connection.
        connection: String,
        /// What was wrong about it.
        message: String,
    },
    /// The answer is larger than what is taken.
    #[error("`{connection}` answered more than {most} bytes")]
    TooLarge {
        /// The connection.
        connection: String,
        /// How much is taken.
        most: u64,
    },
    /// Another machine answers than the one that the plan was made for.
    #[error(
        "`{connection}` is not the machine that the plan was made for: {}",
        shown(changes)
    )]
    AnotherMachine {
        /// The connection.
        connection: String,
        /// What is not as it was.
        changes: Vec<IdentityChange>,
    },
    /// Reads of this resource need a sandbox, and it offers none.
    #[error("`{resource}` offers no read sandbox, and one is required: {reason}")]
    NoSandbox {
        /// The resource.
        resource: String,
        /// Why there is none.
        reason: String,
    },
    /// Nothing that is connected can do this.
    #[error("{0}")]
    Unsupported(String),
    /// It was cancelled.
    #[error("it was cancelled")]
    Cancelled,
    /// The configuration of a connection is wrong.
    #[error("the connection `{connection}` is not configured well: {message}")]
    Configuration {
        /// The connection.
        connection: String,
        /// What to change.
        message: String,
    },
}

/// What a tool says that was refused by infrastructure, or did not reach it.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::NotFound { .. } => ErrorCode::NotFound,
            Error::AnotherMachine { .. } => ErrorCode::StrictResolution,
            Error::TimedOut { .. } => ErrorCode::Timeout,
            Error::Cancelled => ErrorCode::Cancelled,
            Error::NoSandbox { .. } => ErrorCode::PolicyBlocked,
            Error::Unreachable { .. }
            | Error::Unauthorized { .. }
            | Error::Forbidden { .. }
            | Error::Refused { .. }
            | Error::Protocol { .. }
            | Error::TooLarge { .. }
            | Error::Unsupported(_)
            | Error::Configuration { .. } => ErrorCode::ExecutionFailed,
        };
        let failure = Self::new(code, error.to_string());
        match &error {
            Error::AnotherMachine { changes, .. } => {
                let changes: Vec<Value> = changes.iter().map(|change| json!(change)).collect();
                failure.detail("changes", changes)
            }
            _ => failure,
        }
    }
}
