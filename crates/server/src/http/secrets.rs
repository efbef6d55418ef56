//! Answers with secrets are neither compressed (their length would speak) nor kept.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};

/// Marks an answer that carries a secret.
#[derive(Debug, Clone, Copy)]
struct Secret;

/// Whether an answer may be compressed.
pub(super) type MayCompress = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

/// Marks the answers of routes that hand out secrets.
pub(super) async fn mark(request: Request, next: Next) -> Response {
    let secret = is_secret(request.uri().path());
    let mut response = next.run(request).await;
    if secret {
        response.extensions_mut().insert(Secret);
        response
            .headers_mut()
            .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

fn is_secret(path: &str) -> bool {
    let Some(path) = path.strip_prefix("/api/v1/") else {
        return false;
    };
    let mut parts = path.split('/');
    match parts.next() {
        Some("auth" | "me" | "users" | "tokens") => true,
        Some("approvals") => parts.nth(1) == Some("open"),
        _ => false,
    }
}

/// Text and JSON of some size, but neither secrets nor streams.
pub(super) fn may_compress(_: StatusCode, _: Version, headers: &HeaderMap, extensions: &Extensions) -> bool {
    if extensions.get::<Secret>().is_some() {
        return false;
    }
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length < 512) {
        return false;
    }
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind != "text/event-stream"
        && (kind.starts_with("text/")
            || matches!(
                kind,
                "application/json" | "application/javascript" | "image/svg+xml" | "application/manifest+json"
            ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hands_out_secrets_is_marked() {
        for (path, secret) in [
            ("/api/v1/me", true),
            ("/api/v1/me/tokens", true),
            ("/api/v1/auth/sign-in", true),
            ("/api/v1/users/zoe/link", true),
            ("/api/v1/approvals/hold_1/open", true),
            ("/api/v1/approvals/hold_1", false),
            ("/api/v1/sessions", false),
            ("/assets/index.js", false),
        ] {
            assert_eq!(is_secret(path), secret, "{path}");
        }
    }
}
