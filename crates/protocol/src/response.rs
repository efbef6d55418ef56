//! The envelope in which every tool answers.
//!
//! On the wire it is `ok`, `data`, `error`, `meta`; in Rust it is a result, so that an answer that is both or
//! neither cannot be built, and one that is read from JSON is refused.

use crate::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Facts that go with an error or a response.
pub type Details = Map<String, Value>;

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ResponseForm", into = "ResponseForm")]
pub struct ToolResponse {
    outcome: Result<Value, ToolError>,
    meta: Details,
}

impl ToolResponse {
    /// It worked, with this result.
    pub fn success(data: impl Into<Value>) -> Self {
        Self {
            outcome: Ok(data.into()),
            meta: Details::new(),
        }
    }

    /// A rule stopped it; nothing ran.
    ///
    /// Where the details do not say whether a model can recover by itself, they get the code's own answer.
    pub fn blocked(code: ErrorCode, message: impl Into<String>, mut details: Details) -> Self {
        details
            .entry("auto_recoverable")
            .or_insert_with(|| code.auto_recoverable().into());
        Self::from_error(ToolError {
            code,
            message: message.into(),
            class: ErrorClass::Blocked,
            details,
        })
    }

    /// It ran and did not succeed. `retry` says whether the same call might succeed later.
    pub fn failed(code: ErrorCode, message: impl Into<String>, retry: Retry, details: Details) -> Self {
        let class = ErrorClass::Failed(retry);
        Self::from_error(ToolError {
            code,
            message: message.into(),
            class,
            details,
        })
    }

    /// The answer that carries this error.
    pub fn from_error(error: ToolError) -> Self {
        Self {
            outcome: Err(error),
            meta: Details::new(),
        }
    }

    /// The same answer with one more fact about how it came to be.
    #[must_use]
    pub fn with_meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Whether it worked.
    pub const fn is_ok(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The result, or the error.
    pub const fn outcome(&self) -> Result<&Value, &ToolError> {
        self.outcome.as_ref()
    }

    /// The error, if it did not work.
    pub fn error(&self) -> Option<&ToolError> {
        self.outcome.as_ref().err()
    }

    /// Facts about how the answer came to be.
    pub const fn meta(&self) -> &Details {
        &self.meta
    }
}

/// Why a tool did not answer with data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ErrorForm", into = "ErrorForm")]
pub struct ToolError {
    /// The stable code.
    pub code: ErrorCode,
    /// One sentence for people.
    pub message: String,
    /// Whether anything ran.
    pub class: ErrorClass,
    /// Facts to act on.
    pub details: Details,
}

/// Whether anything ran before the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// A rule stopped the call; nothing ran.
    Blocked,
    /// It ran and did not succeed.
    Failed(Retry),
}

/// Whether the same call might succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// It might.
    Useful,
    /// It would fail the same way.
    Useless,
}

/// Why JSON is no envelope, although its fields are of the right types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// `ok` is true next to an error.
    #[error("`ok` is true, yet there is an `error`")]
    OkWithError,
    /// `ok` is false with no error.
    #[error("`ok` is false, yet there is no `error`")]
    NotOkWithoutError,
    /// `ok` is false next to data.
    #[error("`ok` is false, yet there is `data`")]
    NotOkWithData,
    /// `blocked` and `failed` are both set or both unset.
    #[error("an error is either `blocked` or `failed`")]
    BlockedOrFailed,
    /// Something that never ran cannot be retried.
    #[error("a `blocked` error is not `retryable`: its call never ran")]
    BlockedRetryable,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseForm {
    ok: bool,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    data: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ToolError>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    meta: Details,
}

impl From<ToolResponse> for ResponseForm {
    fn from(response: ToolResponse) -> Self {
        let ToolResponse { outcome, meta } = response;
        match outcome {
            Ok(data) => Self {
                ok: true,
                data,
                error: None,
                meta,
            },
            Err(error) => Self {
                ok: false,
                data: Value::Null,
                error: Some(error),
                meta,
            },
        }
    }
}

impl TryFrom<ResponseForm> for ToolResponse {
    type Error = Error;

    fn try_from(form: ResponseForm) -> Result<Self, Error> {
        let ResponseForm {
            ok,
            data,
            error,
            meta,
        } = form;
        let outcome = match (ok, error) {
            (true, None) => Ok(data),
            (true, Some(_)) => return Err(Error::OkWithError),
            (false, None) => return Err(Error::NotOkWithoutError),
            (false, Some(_)) if !data.is_null() => return Err(Error::NotOkWithData),
            (false, Some(error)) => Err(error),
        };
        Ok(Self { outcome, meta })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ErrorForm {
    code: ErrorCode,
    message: String,
    #[serde(default, skip_serializing_if = "is_false")]
    blocked: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    failed: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    retryable: bool,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    details: Details,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

impl From<ToolError> for ErrorForm {
    fn from(error: ToolError) -> Self {
        let ToolError {
            code,
            message,
            class,
            details,
        } = error;
        let (blocked, failed, retryable) = match class {
            ErrorClass::Blocked => (true, false, false),
            ErrorClass::Failed(Retry::Useful) => (false, true, true),
            ErrorClass::Failed(Retry::Useless) => (false, true, false),
        };
        Self {
            code,
            message,
            blocked,
            failed,
            retryable,
            details,
        }
    }
}

impl TryFrom<ErrorForm> for ToolError {
    type Error = Error;

    fn try_from(form: ErrorForm) -> Result<Self, Error> {
        let ErrorForm {
            code,
            message,
            blocked,
            failed,
            retryable,
            details,
        } = form;
        let class = match (blocked, failed, retryable) {
            (true, false, false) => ErrorClass::Blocked,
            (false, true, true) => ErrorClass::Failed(Retry::Useful),
            (false, true, false) => ErrorClass::Failed(Retry::Useless),
            (true, false, true) => return Err(Error::BlockedRetryable),
            (true, true, _) | (false, false, _) => return Err(Error::BlockedOrFailed),
        };
        Ok(Self {
            code,
            message,
            class,
            details,
        })
    }
}
