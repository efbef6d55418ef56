//! What an engine's refusals mean.

use bollard::errors::Error as Bollard;

use super::Docker;
use crate::Error;
use crate::http::{deepest, message};

impl Docker {
    /// An error of the client, about something that was asked for.
    pub(super) fn error(&self, what: &str, error: Bollard) -> Error {
        let connection = self.inner.name.clone();
        match error {
            Bollard::DockerResponseServerError {
                status_code,
                message: text,
            } => answered(connection, what, status_code, &text),
            Bollard::RequestTimeoutError => Error::TimedOut {
                connection,
                seconds: super::WRITE.as_secs() + super::READ.as_secs(),
            },
            Bollard::HyperLegacyError { err } if err.is_connect() => Error::Unreachable {
                connection,
                cause: deepest(&err),
            },
            Bollard::SocketNotFoundError(path) => Error::Unreachable {
                connection,
                cause: format!("there is no socket at `{path}`"),
            },
            Bollard::IOError { err } => Error::Unreachable {
                connection,
                cause: err.to_string(),
            },
            Bollard::DockerStreamError { error } => Error::Refused {
                connection,
                status: None,
                message: message(&error),
            },
            other => Error::Protocol {
                connection,
                message: message(&deepest(&other)),
            },
        }
    }
}

fn answered(connection: String, what: &str, status: u16, text: &str) -> Error {
    let message = message(text);
    match status {
        401 => Error::Unauthorized { connection, message },
        403 => Error::Forbidden { connection, message },
        404 => Error::NotFound {
            what: format!("{what} on `{connection}`"),
        },
        _ => Error::Refused {
            connection,
            status: Some(status),
            message,
        },
    }
}
