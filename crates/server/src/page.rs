//! The dashboard, from inside the binary, and pages about errors.
//!
//! Every address that is no route and no file is the dashboard's own business, if a browser asks for a page. What is under
//! `/api` is never a page.

use axum::Extension;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rust_embed::{EmbeddedFile, RustEmbed};

use crate::http::{Peer, Styles, policy};
use crate::problem::{Code, Problem};

/// The built dashboard; empty where it was not built.
#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Dashboard;

/// The pages about error codes.
#[derive(RustEmbed)]
#[folder = "../../docs/errors"]
struct Errors;

/// What the codes of the HTTP API mean, a section each.
const API_ERRORS: &str = include_str!("../../../docs/api-errors.md");

/// What stands in the page where its number used once goes.
const NONCE: &str = "__CSP_NONCE__";
const NO_DASHBOARD: &str = include_str!("no_dashboard.html");

/// Serves whatever no route serves.
pub(crate) async fn serve(Extension(peer): Extension<Peer>, request: Request) -> Response {
    let path = request.uri().path();
    if is_program(path) {
        return nothing(path).into_response();
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let problem = Problem::new(
            Code::MethodNotAllowed,
            format!("a page does not take {}", request.method()),
        );
        return ([(header::ALLOW, "GET, HEAD")], problem).into_response();
    }
    if let Some(code) = path.strip_prefix("/docs/errors/") {
        return error_page(code);
    }
    let name = path.trim_start_matches('/');
    if name.starts_with('.') || name.contains("/.") {
        return nothing(path).into_response();
    }
    if !matches!(name, "" | "index.html")
        && let Some(response) = file(name, request.headers())
    {
        return response;
    }
    if name.is_empty() && !wants_page(request.headers()) {
        return about(&peer);
    }
    if name.starts_with("assets/") || !wants_page(request.headers()) {
        return nothing(path).into_response();
    }
    index(&peer)
}

/// For whoever comes without a browser and wants to know what this is.
fn about(peer: &Peer) -> Response {
    let (version, origin) = (env!("CARGO_PKG_VERSION"), &peer.origin);
    format!(
        "Interlock {version}: the model proposes; code decides.\n\n\
         The dashboard is at {origin}/, for a browser.\n\
         The API is under {origin}/api/v1, described at {origin}/api/v1/openapi.json.\n\
         Programs send `Authorization: Bearer ilk_…`; tokens are made under Settings.\n\
         Whether the server is up: {origin}/health\n"
    )
    .into_response()
}

/// Addresses for programs: a page in their place would only confuse.
fn is_program(path: &str) -> bool {
    ["/api", "/health", "/ready", "/metrics"].iter().any(|root| {
        path.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn nothing(path: &str) -> Problem {
    let shown: String = path.chars().take(200).collect();
    Problem::new(Code::NotFound, format!("there is nothing at `{shown}`"))
        .hint("the description of the API is at /api/v1/openapi.json")
}

fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/html"))
}

/// A file of the dashboard, compressed beforehand where the browser and the build allow it.
fn file(name: &str, headers: &HeaderMap) -> Option<Response> {
    let plain = Dashboard::get(name)?;
    let tag = tag(&plain);
    let kept = if name.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let (encoding, found) = ["br", "gzip"]
            .iter()
            .zip([".br", ".gz"])
            .filter(|(encoding, _)| accepts(headers, encoding))
            .find_map(|(encoding, ending)| {
                Some((Some(*encoding), Dashboard::get(&format!("{name}{ending}"))?))
            })
            .unwrap_or((None, plain));
        let mut response = found.data.into_owned().into_response();
        if let Some(encoding) = encoding {
            put(&mut response, header::CONTENT_ENCODING, encoding);
        }
        let kind = mime_guess::from_path(name).first_or_octet_stream();
        let kind = match kind.type_() {
            mime_guess::mime::TEXT => format!("{kind}; charset=utf-8"),
            _ => kind.to_string(),
        };
        put(&mut response, header::CONTENT_TYPE, &kind);
        response
    };
    put(&mut response, header::CACHE_CONTROL, kept);
    put(&mut response, header::ETAG, &tag);
    put(&mut response, header::VARY, "accept-encoding");
    Some(response)
}

fn tag(file: &EmbeddedFile) -> String {
    let hash = crate::auth::hex(&file.metadata.sha256_hash()[..16]);
    format!("\"{hash}\"")
}

fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            parts.next() == Some(encoding) && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00"))
        })
}

/// The dashboard's one page.
fn index(peer: &Peer) -> Response {
    let Some(page) = Dashboard::get("index.html") else {
        return html(NO_DASHBOARD.to_owned());
    };
    let mut page = String::from_utf8_lossy(&page.data).into_owned();
    let styles = if page.contains(NONCE) {
        let nonce = crate::auth::random_hex::<16>();
        page = page.replace(NONCE, &nonce);
        Styles::Nonce(nonce)
    } else {
        Styles::Any
    };
    let mut response = html(page);
    put(
        &mut response,
        header::CONTENT_SECURITY_POLICY,
        &policy(Some(peer), &styles),
    );
    response
}

/// The page about an error code.
fn error_page(code: &str) -> Response {
    let known = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let text = known.then(|| error_text(code)).flatten();
    let Some(text) = text else {
        return Problem::new(Code::NotFound, "there is no page about that code")
            .hint("the codes are in capitals: /docs/errors/NOT_FOUND")
            .into_response();
    };
    let text = escape(&text);
    html(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><title>{code} - Interlock</title></head>\n\
         <body>\n<pre style=\"max-width: 60rem; margin: 2rem auto; padding: 0 1rem; white-space: pre-wrap; \
         font: 1rem/1.6 system-ui, sans-serif\">{text}</pre>\n</body>\n</html>\n"
    ))
}

/// What is written about a code: for the HTTP API, and for models and people who read the record.
fn error_text(code: &str) -> Option<String> {
    let heading = format!("## {code}\n");
    let section = API_ERRORS.split_once(&heading).map(|(_, rest)| {
        let end = rest.find("\n## ").unwrap_or(rest.len());
        format!("# {code}\n\n{}\n", rest[..end].trim())
    });
    let page =
        Errors::get(&format!("{code}.md")).map(|page| String::from_utf8_lossy(&page.data).into_owned());
    match (section, page) {
        (Some(section), Some(page)) => Some(format!("{section}\n\n{page}")),
        (section, page) => section.or(page),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn html(page: String) -> Response {
    let mut response = page.into_response();
    put(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    put(&mut response, header::CACHE_CONTROL, "no-cache");
    response
}

fn put(response: &mut Response, name: http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_api_has_a_text() {
        for code in Code::ALL {
            assert!(error_text(code.as_str()).is_some(), "{}", code.as_str());
        }
        assert_eq!(error_text("NO_SUCH_CODE"), None);
    }

    #[test]
    fn addresses_of_programs_are_no_pages() {
        for (path, program) in [
            ("/api", true),
            ("/api/v2/x", true),
            ("/health", true),
            ("/metrics", true),
            ("/apiary", false),
            ("/sessions/1", false),
        ] {
            assert_eq!(is_program(path), program, "{path}");
        }
    }
}
