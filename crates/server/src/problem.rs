//! Errors, as they leave the server: what happened, what it means, what to do.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::Value;

use crate::wire::ProblemForm;

/// The type of a problem on the wire.
pub(crate) const PROBLEM: &str = "application/problem+json";

/// The kind of a problem: one stable word each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Something is wrong with what was sent.
    InvalidInput,
    /// Nobody is signed in.
    Unauthenticated,
    /// The name or the password is wrong, or the link was used.
    SignInFailed,
    /// The sign-in with a provider that somebody comes back from is not known any more.
    SignInOver,
    /// They may not.
    Forbidden,
    /// The change did not come from our own page.
    CsrfFailed,
    /// The request was meant for another host, or came from another site.
    WrongOrigin,
    /// It is not there.
    NotFound,
    /// The route does not take that method.
    MethodNotAllowed,
    /// It does not fit where things stand.
    Conflict,
    /// The record of a session was changed outside Interlock.
    RecordAltered,
    /// It is too large.
    TooLarge,
    /// The body is of a type that is not taken.
    UnsupportedMediaType,
    /// The configuration cannot be used; the one before stays in use.
    ConfigurationRefused,
    /// The gate says no.
    ActionNotAllowed,
    /// Too much at once.
    RateLimited,
    /// Too many streams are open.
    TooManyStreams,
    /// The queue is full.
    QueueFull,
    /// It took too long.
    Timeout,
    /// A part of the server does not work at the moment.
    Unavailable,
    /// A mistake of ours.
    Internal,
}

impl Code {
    /// Every one.
    pub const ALL: &'static [Self] = &[
        Self::InvalidInput,
        Self::Unauthenticated,
        Self::SignInFailed,
        Self::SignInOver,
        Self::Forbidden,
        Self::CsrfFailed,
        Self::WrongOrigin,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::Conflict,
        Self::RecordAltered,
        Self::TooLarge,
        Self::UnsupportedMediaType,
        Self::ConfigurationRefused,
        Self::ActionNotAllowed,
        Self::RateLimited,
        Self::TooManyStreams,
        Self::QueueFull,
        Self::Timeout,
        Self::Unavailable,
        Self::Internal,
    ];

    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "INVALID_INPUT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::SignInFailed => "SIGN_IN_FAILED",
            Self::SignInOver => "SIGN_IN_OVER",
            Self::Forbidden => "FORBIDDEN",
            Self::CsrfFailed => "CSRF_FAILED",
            Self::WrongOrigin => "WRONG_ORIGIN",
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::Conflict => "CONFLICT",
            Self::RecordAltered => "RECORD_ALTERED",
            Self::TooLarge => "TOO_LARGE",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::ConfigurationRefused => "CONFIGURATION_REFUSED",
            Self::ActionNotAllowed => "ACTION_NOT_ALLOWED",
            Self::RateLimited => "RATE_LIMITED",
            Self::TooManyStreams => "TOO_MANY_STREAMS",
            Self::QueueFull => "QUEUE_FULL",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL",
        }
    }

    /// The HTTP status.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::InvalidInput => StatusCode::BAD_REQUEST,
            Self::Unauthenticated | Self::SignInFailed | Self::SignInOver => StatusCode::UNAUTHORIZED,
            Self::Forbidden | Self::CsrfFailed | Self::ActionNotAllowed => StatusCode::FORBIDDEN,
            Self::WrongOrigin => StatusCode::MISDIRECTED_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict | Self::RecordAltered => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::ConfigurationRefused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited | Self::TooManyStreams | Self::QueueFull => StatusCode::TOO_MANY_REQUESTS,
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::InvalidInput => "Something is wrong with what was sent",
            Self::Unauthenticated => "Not signed in",
            Self::SignInFailed => "Signing in did not work",
            Self::SignInOver => "This sign-in is over; start again",
            Self::Forbidden => "Not allowed",
            Self::CsrfFailed => "The change did not come from our page",
            Self::WrongOrigin => "Meant for another host",
            Self::NotFound => "Not found",
            Self::MethodNotAllowed => "That cannot be done here",
            Self::Conflict => "It does not fit where things stand",
            Self::RecordAltered => "The record of this session was changed outside Interlock",
            Self::TooLarge => "Too large",
            Self::UnsupportedMediaType => "A type that is not taken",
            Self::ConfigurationRefused => "The configuration cannot be used",
            Self::ActionNotAllowed => "The gate says no",
            Self::RateLimited => "Too much at once",
            Self::TooManyStreams => "Too many streams are open",
            Self::QueueFull => "The queue is full",
            Self::Timeout => "It took too long",
            Self::Unavailable => "Not available at the moment",
            Self::Internal => "A mistake of ours",
        }
    }
}

/// A problem. What a handler returns instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    code: Code,
    detail: String,
    hint: Option<String>,
    details: Option<Value>,
    retry_after: Option<u64>,
}

impl Problem {
    /// A problem of a kind, and what happened this time.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            hint: None,
            details: None,
            retry_after: None,
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Facts.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// When to try again, in seconds.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The kind.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// As it goes over the wire.
    pub fn form(&self) -> ProblemForm {
        ProblemForm {
            kind: format!("/docs/errors/{}", self.code.as_str()),
            title: self.code.title().to_owned(),
            status: self.code.status().as_u16(),
            detail: self.detail.clone(),
            code: self.code.as_str().to_owned(),
            hint: self.hint.clone(),
            details: self.details.clone(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.form()).unwrap_or_default();
        let mut response = (self.code.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        // The code that records refusals needs it: several codes have the status 403.
        response.extensions_mut().insert(self.code);
        response
    }
}

impl From<interlock_store::Error> for Problem {
    fn from(error: interlock_store::Error) -> Self {
        use interlock_store::Error;
        match &error {
            Error::NotFound { .. } => Self::new(Code::NotFound, error.to_string()),
            Error::Exists { .. }
            | Error::LastAdmin { .. }
            | Error::HoldDecided(_)
            | Error::HoldUsed(_)
            | Error::HoldChanged(_)
            | Error::TokenUsed(_)
            | Error::WrongStatus { .. }
            | Error::IncidentStands { .. } => Self::new(Code::Conflict, error.to_string()),
            Error::StoppedAgain(switch) => Self::new(Code::Conflict, error.to_string())
                .hint("look at who stopped them and why, then send the `revision` that you see")
                .details(serde_json::json!({
                    "revision": switch.revision,
                    "by": switch.by,
                    "at": switch.at,
                    "reason": switch.reason,
                })),
            Error::Altered { session, what } => Self::new(
                Code::RecordAltered,
                format!("nothing was done: the record of this session is not the one that was signed ({what})"),
            )
            .hint(
                "make a copy of the store, run `interlock audit verify` on the server, and compare the session with a backup; \
                 to go on, ask in a new session",
            )
            .details(serde_json::json!({ "session": session })),
            Error::Ambiguous { .. } | Error::Unstorable { .. } => {
                Self::new(Code::InvalidInput, error.to_string())
            }
            Error::QueueFull { .. } => Self::new(Code::QueueFull, error.to_string()).retry_after(5),
            _ if error.is_storage() => {
                tracing::error!(%error, "the store does not work");
                Self::new(Code::Unavailable, "the store does not work at the moment")
                    .hint("the server's log says why")
            }
            _ => {
                tracing::error!(%error, "an unexpected answer of the store");
                Self::new(Code::Internal, "something went wrong in the store")
                    .hint("the server's log says what")
            }
        }
    }
}

impl From<interlock_engine::Error> for Problem {
    fn from(error: interlock_engine::Error) -> Self {
        use interlock_engine::Error;
        match error {
            Error::Store(error) => Self::from(error),
            Error::Unknown { .. } | Error::Name(_) | Error::Model(interlock_model::Error::Unknown { .. }) => {
                Self::new(Code::InvalidInput, error.to_string())
            }
            Error::Refused(refusal) => {
                // What was decided or is over is no question of rights.
                let status = refusal.details.get("hold_status").and_then(Value::as_str);
                let code = match status {
                    None | Some("pending") => Code::ActionNotAllowed,
                    Some(_) => Code::Conflict,
                };
                let refusal = *refusal;
                let mut details = refusal.details;
                details.insert("code".to_owned(), refusal.code.as_str().into());
                details.insert("rule".to_owned(), refusal.rule.as_str().into());
                let problem = Self::new(code, refusal.message).details(Value::Object(details));
                match refusal.recovery_hint {
                    Some(hint) => problem.hint(hint),
                    None => problem,
                }
            }
            Error::Secret { names } => {
                let details = serde_json::json!({ "arguments": names });
                Self::new(Code::InvalidInput, Error::Secret { names }.to_string()).details(details)
            }
            Error::NotNow(message) => Self::new(Code::Conflict, message),
            Error::NoModel | Error::Model(_) => Self::new(Code::Unavailable, error.to_string()),
            Error::Prompt(_)
            | Error::Offer(_)
            | Error::Random(_)
            | Error::Unreadable { .. }
            | Error::Unwritable { .. } => {
                tracing::error!(%error, "an unexpected answer of the engine");
                Self::new(Code::Internal, "something went wrong in the engine")
                    .hint("the server's log says what")
            }
        }
    }
}
