//! Answers and refusals, as the real API gives them.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Response, StatusCode};
use hyper::ext::ReasonPhrase;
use serde_json::{Value, json};

use crate::cluster::{AgentError, Error};
use crate::machine;

/// The status that the proxy of a node gives when another node does not answer.
const NO_ROUTE: u16 = 595;

/// What was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    data: Value,
    total: Option<usize>,
}

impl From<Value> for Answer {
    fn from(data: Value) -> Self {
        Self { data, total: None }
    }
}

impl Answer {
    /// A part of a list that has this many entries.
    pub(super) const fn page(data: Value, total: usize) -> Self {
        Self {
            data,
            total: Some(total),
        }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        let body = match self.total {
            None => json!({ "data": self.data }),
            Some(total) => json!({ "data": self.data, "total": total }),
        };
        respond(StatusCode::OK, "OK", Some(&body))
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Nobody knows who asks.
    Unauthenticated(String),
    /// The password is wrong.
    WrongPassword,
    /// They may not.
    Forbidden {
        /// What it is about.
        path: String,
        /// What they would need.
        privilege: &'static str,
    },
    /// The parameters are wrong, each for its reason.
    Parameters(BTreeMap<String, String>),
    /// It cannot be done.
    Failed(String),
    /// There is no such method.
    NotImplemented {
        /// `GET`
        method: String,
        /// `/nodes/x`
        path: String,
    },
    /// The node does not answer.
    NoRoute,
    /// There is no such page outside of the API.
    NoFile(String),
    /// The request is too large.
    TooLarge,
    /// The body is not what it says.
    Unreadable,
}

impl Refusal {
    /// One parameter is wrong.
    pub(super) fn parameter(name: &str, why: impl Into<String>) -> Self {
        Self::Parameters(BTreeMap::from([(name.to_owned(), why.into())]))
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Unauthenticated(_) | Self::WrongPassword => StatusCode::UNAUTHORIZED,
            Self::Forbidden { .. } => StatusCode::FORBIDDEN,
            Self::Parameters(_) | Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
            // So the real one says that it is too much.
            Self::NotImplemented { .. } | Self::TooLarge => StatusCode::NOT_IMPLEMENTED,
            Self::NoRoute => StatusCode::from_u16(NO_ROUTE).unwrap_or(StatusCode::BAD_GATEWAY),
            Self::NoFile(_) => StatusCode::NOT_FOUND,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Unauthenticated(why) | Self::Failed(why) => why.clone(),
            Self::WrongPassword => "authentication failure".to_owned(),
            Self::Forbidden { path, privilege } => format!("Permission check failed ({path}, {privilege})"),
            Self::Parameters(_) => "Parameter verification failed.".to_owned(),
            Self::NotImplemented { method, path } => format!("Method '{method} {path}' not implemented"),
            Self::NoRoute => "No route to host".to_owned(),
            Self::NoFile(path) => format!("no such file '{path}'"),
            Self::TooLarge => "for data too large".to_owned(),
            Self::Unreadable => "the body could not be read".to_owned(),
        }
    }

    /// What stops a request before it reaches a method has no body.
    fn body(&self) -> Option<Value> {
        let message = format!("{}\n", self.message());
        match self {
            Self::Unauthenticated(_)
            | Self::NoRoute
            | Self::NoFile(_)
            | Self::TooLarge
            | Self::Unreadable => None,
            Self::Parameters(errors) => Some(json!({ "data": null, "message": message, "errors": errors })),
            Self::WrongPassword | Self::Forbidden { .. } | Self::Failed(_) | Self::NotImplemented { .. } => {
                Some(json!({ "data": null, "message": message }))
            }
        }
    }

    pub(super) fn into_response(self) -> Response<Body> {
        respond(self.status(), &self.message(), self.body().as_ref())
    }
}

fn respond(status: StatusCode, reason: &str, body: Option<&Value>) -> Response<Body> {
    let text = body.map(Value::to_string).unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    if body.is_some() {
        let json = HeaderValue::from_static("application/json;charset=UTF-8");
        response.headers_mut().insert(CONTENT_TYPE, json);
    }
    let reason: String = reason
        .chars()
        .map(|letter| {
            if (' '..='~').contains(&letter) {
                letter
            } else {
                ' '
            }
        })
        .collect();
    if let Ok(phrase) = ReasonPhrase::try_from(reason.trim().as_bytes()) {
        response.extensions_mut().insert(phrase);
    }
    response
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error {
            Error::Offline(_) => Self::NoRoute,
            Error::NoNode(_)
            | Error::NoGuest(_)
            | Error::NoTask(_)
            | Error::Refused(_)
            | Error::Machine(_)
            | Error::Io { .. } => Self::Failed(error.to_string()),
        }
    }
}

impl From<AgentError> for Refusal {
    fn from(error: AgentError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<machine::Error> for Refusal {
    fn from(error: machine::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refusals_look_as_the_real_ones() {
        let cases = [
            (
                Refusal::Unauthenticated("No ticket".to_owned()),
                401,
                "No ticket",
                "",
            ),
            (
                Refusal::WrongPassword,
                401,
                "authentication failure",
                r#"{"data":null,"message":"authentication failure\n"}"#,
            ),
            (
                Refusal::Forbidden {
                    path: "/vms/141".to_owned(),
                    privilege: "VM.PowerMgmt",
                },
                403,
                "Permission check failed (/vms/141, VM.PowerMgmt)",
                r#"{"data":null,"message":"Permission check failed (/vms/141, VM.PowerMgmt)\n"}"#,
            ),
            (
                Refusal::parameter("limit", "type check ('integer') failed - got 'x'"),
                400,
                "Parameter verification failed.",
                "{\"data\":null,\"message\":\"Parameter verification failed.\\n\",\
                 \"errors\":{\"limit\":\"type check ('integer') failed - got 'x'\"}}",
            ),
            (
                Refusal::NotImplemented {
                    method: "GET".to_owned(),
                    path: "/x".to_owned(),
                },
                501,
                "Method 'GET /x' not implemented",
                r#"{"data":null,"message":"Method 'GET /x' not implemented\n"}"#,
            ),
            (Refusal::NoRoute, 595, "No route to host", ""),
        ];
        for (refusal, status, reason, body) in cases {
            let response = refusal.clone().into_response();
            let phrase = response.extensions().get::<ReasonPhrase>();
            assert_eq!(
                phrase.map(ReasonPhrase::as_bytes),
                Some(reason.as_bytes()),
                "{refusal:?}"
            );
            assert_eq!(response.status().as_u16(), status, "{refusal:?}");
            let bytes = axum::body::to_bytes(response.into_body(), 4096)
                .await
                .expect("a body");
            assert_eq!(String::from_utf8_lossy(&bytes), body, "{refusal:?}");
        }
    }
}
