//! Errors as the API writes them: objects of the kind `Status`.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::kind::Kind;
use crate::docker::wire;

/// An answer other than the one that was hoped for.
#[derive(Debug)]
pub(super) struct Fault {
    status: StatusCode,
    reason: &'static str,
    message: String,
    details: Value,
}

impl Fault {
    fn new(status: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            reason,
            message: message.into(),
            details: json!({}),
        }
    }

    pub(super) fn missing(kind: Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", kind.qualified());
        let details = json!({ "name": name, "group": kind.group(), "kind": kind.plural() });
        Self {
            details,
            ..Self::new(StatusCode::NOT_FOUND, "NotFound", message)
        }
    }

    pub(super) fn no_resource() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(super) fn forbidden(verb: &str, kind: Kind, namespace: &str, name: &str) -> Self {
        let place = match namespace {
            "" => "at the cluster scope".to_owned(),
            space => format!("in the namespace \"{space}\""),
        };
        let message = format!(
            "{} \"{name}\" is forbidden: User \"viewer\" cannot {verb} resource \"{}\" in API group \"{}\" {place}",
            kind.qualified(),
            kind.plural(),
            kind.group()
        );
        let details = json!({ "name": name, "group": kind.group(), "kind": kind.plural() });
        Self {
            details,
            ..Self::new(StatusCode::FORBIDDEN, "Forbidden", message)
        }
    }

    pub(super) fn conflict(kind: Kind, name: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": the object has been modified; please apply your changes to the latest version and try again",
            kind.qualified()
        );
        Self::new(StatusCode::CONFLICT, "Conflict", message)
    }

    pub(super) fn invalid(kind: Kind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is invalid: {why}", kind.qualified());
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message)
    }

    pub(super) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    pub(super) fn not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
    }

    pub(super) fn unsupported(kind: &str) -> Self {
        let message = format!("the body of the request was in an unknown format: {kind}");
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            message,
        )
    }

    pub(super) fn gone() -> Self {
        Self::new(
            StatusCode::GONE,
            "Expired",
            "The resourceVersion for the provided watch is too old.",
        )
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.status.as_u16(),
        })
    }

    pub(super) fn response(&self) -> Response {
        wire::json(self.status, &self.object())
    }
}
