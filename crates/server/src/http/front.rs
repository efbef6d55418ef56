//! The first and the last that see a request: its id, its peer, its span, its headers; and errors as problems.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use interlock_mask::Masker;
use tracing::Instrument as _;

use super::{Peer, Site, headers};
use crate::app::App;
use crate::problem::{Code, PROBLEM, Problem};
use crate::serve::Connection;

/// No problem is longer.
const LONGEST_PROBLEM: usize = 1 << 20;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The outermost layer.
pub(super) async fn front(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let id = crate::auth::random_hex::<16>();
    let span = tracing::info_span!(
        "request",
        id,
        method = %request.method(),
        path = request.uri().path(),
    );
    let begun = Instant::now();
    let (mut response, peer) = pass(&site, request, next).instrument(span.clone()).await;
    headers::secure(response.headers_mut(), peer.as_ref());
    if let Ok(id) = HeaderValue::try_from(id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    span.in_scope(|| {
        tracing::debug!(
            status = response.status().as_u16(),
            elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            client = peer.map(|peer| peer.address.to_string()),
            "answered"
        );
    });
    response
}

async fn pass(site: &Site, request: Request, next: Next) -> (Response, Option<Peer>) {
    let (mut parts, body) = request.into_parts();
    let Some(connection) = parts.extensions.get::<Connection>().copied() else {
        let problem = Problem::new(Code::Internal, "the connection of the request is not known");
        return (problem.into_response(), None);
    };
    let peer = match site.peer(&parts, connection) {
        Ok(peer) => peer,
        // Whoever looks whether we are up may call us by any name: there is nothing to see.
        Err(_) if matches!(parts.uri.path(), "/health" | "/ready") => Peer {
            address: connection.peer.ip(),
            origin: site.url(),
            secure: connection.tls,
        },
        Err(problem) => return (problem.into_response(), None),
    };
    if (changes(&parts.method) || is_upgrade(&parts.headers))
        && let Err(problem) = Site::same_origin(&parts.headers, &peer)
    {
        return (problem.into_response(), Some(peer));
    }
    parts.extensions.insert(peer.clone());
    let response = next.run(Request::from_parts(parts, body)).await;
    (response, Some(peer))
}

/// Whether a method may change something.
pub(crate) fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Whether the request asks for another protocol on its connection.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}

/// An answer must begin in time. A stream that has begun may go on.
pub(super) async fn in_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(
            Code::Timeout,
            format!("there was no answer within {} s", limit.as_secs()),
        )
        .hint("try again; ask for less at once")
        .into_response(),
    }
}

/// How large the body of a request may be, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyRoom {
    /// Where alerts are taken.
    pub(super) alerts: usize,
    /// Everywhere else.
    pub(super) others: usize,
}

/// Bodies have a length that their route takes. One that says its length is refused before it is read.
pub(super) async fn body_room(State(room): State<BodyRoom>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let brings_alerts = path == "/api/v1/alerts" || path.starts_with("/api/v1/alerts/");
    let room = if brings_alerts { room.alerts } else { room.others };
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|said| said.to_str().ok()?.parse::<usize>().ok());
    if said.is_some_and(|said| said > room) {
        return as_problem(StatusCode::PAYLOAD_TOO_LARGE, "").into_response();
    }
    next.run(request.map(|body| Body::new(http_body_util::Limited::new(body, room))))
        .await
}

/// Errors that a library wrote as plain text leave as problems like all others. What any of them repeats of a request, a
/// record or another server is masked.
pub(super) async fn problems(State(app): State<App>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (is_problem, is_plain) = match response.headers().get(header::CONTENT_TYPE) {
        None => (false, true),
        Some(kind) => (
            kind.as_bytes() == PROBLEM.as_bytes(),
            kind.as_bytes().starts_with(b"text/plain"),
        ),
    };
    if is_problem {
        return masked(&app.masker(), response).await;
    }
    if !is_plain {
        return response;
    }
    let (parts, body) = response.into_parts();
    let said = to_bytes(body, 4096)
        .await
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let said = app.masker().mask_text(&said).into_owned();
    let mut answer = as_problem(status, &said).into_response();
    for name in [header::ALLOW, header::WWW_AUTHENTICATE, header::RETRY_AFTER] {
        if let Some(value) = parts.headers.get(&name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

/// A problem without what looks like a secret.
async fn masked(masker: &Masker, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, LONGEST_PROBLEM).await.unwrap_or_default();
    let Ok(mut problem) = serde_json::from_slice::<serde_json::Value>(&bytes) else {
        return Problem::new(Code::Internal, "something went wrong").into_response();
    };
    if masker.mask_value(&mut problem) == 0 {
        return Response::from_parts(parts, bytes.into());
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, problem.to_string().into())
}

/// The longest JSON that is looked through: lists and records are far below it.
const MOST_JSON: usize = 256 * 1024 * 1024;

/// JSON leaves with every character escaped that a terminal acts on or hides (`\u009b`, `\u202e`). It says the same.
pub(super) async fn nothing_hidden(request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| {
        let kind = kind
            .as_bytes()
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default();
        kind == b"application/json" || kind.starts_with(b"application/") && kind.ends_with(b"+json")
    });
    if !is_json {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, MOST_JSON).await else {
        return Problem::new(Code::Internal, "the answer is too long").into_response();
    };
    let escaped = match std::str::from_utf8(&bytes).map(interlock_protocol::visible::json) {
        Ok(Cow::Owned(text)) => Some(Bytes::from(text)),
        Ok(Cow::Borrowed(_)) | Err(_) => None,
    };
    if escaped.is_some() {
        parts.headers.remove(header::CONTENT_LENGTH);
    }
    Response::from_parts(parts, Body::from(escaped.unwrap_or(bytes)))
}

fn as_problem(status: StatusCode, said: &str) -> Problem {
    let (code, detail) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => (
            Code::TooLarge,
            "the body is larger than this server takes (`server.limits.body_bytes`, for alerts `server.limits.alert_bytes`)",
        ),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            Code::UnsupportedMediaType,
            "send the body as `content-type: application/json`",
        ),
        StatusCode::NOT_FOUND => (Code::NotFound, "there is nothing here"),
        StatusCode::METHOD_NOT_ALLOWED => (Code::MethodNotAllowed, "this route does not take that method"),
        StatusCode::REQUEST_TIMEOUT => (Code::Timeout, "the request did not come in time"),
        StatusCode::UNAUTHORIZED => (Code::Unauthenticated, "you are not signed in"),
        StatusCode::FORBIDDEN => (Code::Forbidden, "that is not allowed"),
        StatusCode::SERVICE_UNAVAILABLE => (Code::Unavailable, "not available at the moment"),
        _ if status.is_client_error() => (Code::InvalidInput, "the request cannot be understood"),
        _ => (Code::Internal, "something went wrong"),
    };
    let speaks = matches!(code, Code::InvalidInput) && !said.is_empty();
    Problem::new(code, if speaks { said } else { detail })
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use axum::{Json, Router};
    use serde_json::{Value, json};
    use tower::ServiceExt as _;

    use super::*;

    const HOSTILE: &str = "a\u{9b}2J\u{202e}b\u{200b}c\u{e0041}\u{7f}";

    async fn answer(path: &str) -> (HeaderMap, String) {
        let router: Router = Router::new()
            .route(
                "/json",
                get(|| async { Json(json!({ HOSTILE: HOSTILE, "é": "日本" })) }),
            )
            .route("/plain", get(|| async { Json(json!({ "é": "日本" })) }))
            .route(
                "/problem",
                get(|| async { Problem::new(Code::NotFound, HOSTILE) }),
            )
            .route("/text", get(|| async { HOSTILE }))
            .layer(axum::middleware::from_fn(nothing_hidden));
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 1 << 20).await.unwrap();
        (parts.headers, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn json_leaves_with_hidden_characters_escaped_and_says_the_same() {
        for path in ["/json", "/problem"] {
            let (headers, text) = answer(path).await;
            let hidden = ['\u{9b}', '\u{202e}', '\u{200b}', '\u{e0041}', '\u{7f}'];
            assert!(!text.contains(hidden), "{text:?}");
            assert!(text.contains("\\u009b") && text.contains("\\u202e"), "{text}");
            let length = headers
                .get(header::CONTENT_LENGTH)
                .and_then(|length| length.to_str().ok());
            assert!(length.is_none_or(|length| length == text.len().to_string()));
            let value: Value = serde_json::from_str(&text).unwrap();
            let said = value.get(HOSTILE).or_else(|| value.get("detail"));
            assert_eq!(said.and_then(Value::as_str), Some(HOSTILE));
        }
        assert_eq!(answer("/plain").await.1, r#"{"é":"日本"}"#);
        assert_eq!(answer("/text").await.1, HOSTILE);
    }
}
