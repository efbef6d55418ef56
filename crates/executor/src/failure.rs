//! Why a tool did not do what it was told, on its way to a [`Done`].

use std::io;

use interlock_protocol::{ContentHash, Details, ErrorCode, Identity, Outcome, Retry, ToolResponse};
use serde_json::Value;

use crate::Done;

/// Why a tool did not do what it was told. Behind a pointer: it is rare, and large.
#[derive(Debug, Clone)]
pub struct Failure(Box<Facts>);

#[derive(Debug, Clone)]
struct Facts {
    code: ErrorCode,
    message: String,
    details: Details,
    exit_code: Option<i32>,
    output_hash: Option<ContentHash>,
    summary: Option<String>,
}

impl Failure {
    /// With a code of the catalogue of errors and a sentence that says what failed and what to do.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(Facts {
            code,
            message: message.into(),
            details: Details::new(),
            exit_code: None,
            output_hash: None,
            summary: None,
        }))
    }

    /// An argument is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidInput, message)
    }

    /// It was tried and did not work.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::ExecutionFailed, message)
    }

    /// An argument is missing.
    pub fn missing(argument: &str) -> Self {
        Self::invalid(format!("`{argument}` is missing; this action needs it"))
    }

    /// What the system answered about a file.
    pub fn io(what: &str, path: &str, error: &io::Error) -> Self {
        let (code, hint) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorCode::NotFound, ""),
            io::ErrorKind::PermissionDenied => (
                ErrorCode::ExecutionFailed,
                "; the user that runs Interlock has no right to it",
            ),
            _ => (ErrorCode::ExecutionFailed, ""),
        };
        Self::new(code, format!("`{path}` cannot be {what}: {error}{hint}")).detail("path", path)
    }

    /// The same, with a fact for the model.
    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.details.insert(key.to_owned(), value.into());
        self
    }

    /// The same, with all the facts of an object.
    #[must_use]
    pub fn details(mut self, data: Value) -> Self {
        if let Value::Object(data) = data {
            self.0.details.extend(data);
        }
        self
    }

    /// The same, with the exit code of a process.
    #[must_use]
    pub fn exit_code(mut self, code: Option<i32>) -> Self {
        self.0.exit_code = code;
        self
    }

    /// The same, with the hash of what was printed.
    #[must_use]
    pub fn output_hash(mut self, hash: ContentHash) -> Self {
        self.0.output_hash = Some(hash);
        self
    }

    /// The line for people, where the message says too much for it.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.0.summary = Some(summary.into());
        self
    }
}

impl From<Failure> for Done {
    fn from(failure: Failure) -> Self {
        let failure = *failure.0;
        let (outcome, retry) = match failure.code {
            ErrorCode::Timeout => (Outcome::TimedOut, Retry::Useful),
            ErrorCode::Cancelled => (Outcome::Cancelled, Retry::Useful),
            _ => (Outcome::Failed, Retry::Useless),
        };
        let summary = failure.summary.unwrap_or_else(|| failure.message.clone());
        Self {
            response: ToolResponse::failed(failure.code, failure.message, retry, failure.details),
            outcome,
            exit_code: failure.exit_code,
            output_hash: failure.output_hash,
            summary,
            reading: None,
            discovered: Vec::new(),
            identity: Identity::default(),
        }
    }
}
