//! What every request meets first: host, headers, pages, problems.

use interlock_protocol::Role;
use reqwest::Method;
use serde_json::json;

use crate::support::{Running, Wish};

#[tokio::test]
async fn a_name_that_is_not_ours_gets_nothing() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let port = server.serving.address.port();
    for (host, expected) in [
        (format!("127.0.0.1:{port}"), (200, "")),
        (format!("localhost:{port}"), (200, "")),
        (format!("[::1]:{port}"), (200, "")),
        (format!("rebound.evil.example:{port}"), (421, "WRONG_ORIGIN")),
        ("localhost".to_owned(), (421, "WRONG_ORIGIN")),
        (format!("localhost:{}", port ^ 1), (421, "WRONG_ORIGIN")),
        ("169.254.169.254".to_owned(), (421, "WRONG_ORIGIN")),
    ] {
        let caller = admin.clone().with("host", &host);
        assert_eq!(caller.get("/api/v1/me").await.short(), expected, "{host}");
        let page = caller.clone().with("accept", "text/html").get("/").await;
        assert_eq!(page.short(), expected, "{host}");
        // Who only says they were forwarded changes nothing.
        let forwarded = caller.with("x-forwarded-host", "localhost");
        assert_eq!(forwarded.get("/api/v1/me").await.short(), expected, "{host}");
    }
}

#[tokio::test]
async fn every_answer_has_the_headers_that_keep_a_browser_safe() {
    let server = Running::start(Wish::default()).await;
    let caller = server.anybody().with("accept", "text/html");
    let mut ids = Vec::new();
    for path in [
        "/",
        "/api/v1/me",
        "/api/v1/auth/options",
        "/assets/none.js",
        "/docs/errors/NOT_FOUND",
    ] {
        let reply = caller.get(path).await;
        let header = |name: &str| {
            reply
                .headers
                .get(name)
                .map_or("", |value| value.to_str().unwrap())
        };
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert!(header("permissions-policy").contains("camera=()"), "{path}");
        let policy = header("content-security-policy");
        for part in [
            "default-src 'self'",
            "script-src 'self';",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(part), "{path}: {part} is not in {policy}");
        }
        let socket = server.url.replace("http", "ws");
        assert!(
            policy.contains(&format!("connect-src 'self' {socket};")),
            "{policy}"
        );
        assert!(!reply.headers.contains_key("strict-transport-security"));
        ids.push(header("x-request-id").to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "each request has an id of its own: {ids:?}");
    let wrong = caller.with("host", "evil.example").get("/").await;
    assert!(wrong.headers.contains_key("content-security-policy"));
}

#[tokio::test]
async fn every_error_is_a_problem() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let text = |body: &str, kind: &str| {
        let client = reqwest::Client::new();
        let mut headers = admin.headers.clone();
        headers.insert("content-type", kind.parse().unwrap());
        client
            .post(format!("{}/api/v1/me/views", server.url))
            .headers(headers)
            .body(body.to_owned())
            .send()
    };
    let sent = [
        (text("{", "application/json").await, (400, "INVALID_INPUT")),
        (text("[]", "application/json").await, (400, "INVALID_INPUT")),
        (text("{}", "text/plain").await, (415, "UNSUPPORTED_MEDIA_TYPE")),
        (
            text("name=x", "application/x-www-form-urlencoded").await,
            (415, "UNSUPPORTED_MEDIA_TYPE"),
        ),
    ];
    for (response, expected) in sent {
        let reply = crate::support::Caller::reply(response.unwrap()).await;
        assert_eq!(reply.short(), expected, "{}", reply.text);
        assert_eq!(reply.headers["content-type"], "application/problem+json");
    }
    for (method, path, expected) in [
        (Method::GET, "/api/v1/nothing", (404, "NOT_FOUND")),
        (Method::GET, "/api", (404, "NOT_FOUND")),
        (Method::POST, "/api/v1/nothing", (404, "NOT_FOUND")),
        (Method::PATCH, "/api/v1/me", (405, "METHOD_NOT_ALLOWED")),
        (Method::DELETE, "/", (405, "METHOD_NOT_ALLOWED")),
        (Method::GET, "/api/v1/auth/sign-in", (405, "METHOD_NOT_ALLOWED")),
    ] {
        let caller = admin.clone().with("accept", "text/html");
        let reply = caller.ask(method.clone(), path, None).await;
        assert_eq!(reply.short(), expected, "{method} {path}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
        assert_eq!(
            reply.headers.contains_key("allow"),
            expected.0 == 405,
            "{method} {path}"
        );
        let page = reply.json["type"].as_str().unwrap();
        let page = caller.get(page).await;
        assert_eq!(page.status, 200, "every kind of problem has its page");
        assert!(page.text.contains(expected.1));
    }
}

#[tokio::test]
async fn pages_are_for_browsers_and_answers_are_not_kept() {
    let server = Running::start(Wish::default()).await;
    let browser = server.anybody().with("accept", "text/html,*/*");
    for path in ["/", "/sessions/ses_1", "/sign-in", "/index.html"] {
        let page = browser.get(path).await;
        assert_eq!(page.status, 200, "{path}");
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(page.headers["cache-control"], "no-cache");
        assert!(page.text.contains("Interlock"));
    }
    for path in [
        "/assets/..%2f..%2fCargo.toml",
        "/.git/config",
        "/assets/x.js",
        "/docs/errors/..%2fx",
        "/docs/errors/%3Cscript%3E",
    ] {
        assert_eq!(browser.get(path).await.status, 404, "{path}");
    }
    assert_eq!(server.anybody().get("/sessions/ses_1").await.status, 404);
    // Whoever asks without a browser is told what this is.
    for accept in ["", "*/*", "application/json"] {
        let about = server.anybody().with("accept", accept).get("/").await;
        assert_eq!(about.status, 200, "{accept}");
        assert_eq!(about.headers["content-type"], "text/plain; charset=utf-8");
        let there = format!("{}/api/v1/openapi.json", server.url);
        assert!(about.text.contains(&there), "{}", about.text);
    }
    let admin = server.admin().await;
    let compressed = admin.with("accept-encoding", "br, gzip").get("/api/v1/me").await;
    assert_eq!(compressed.headers["cache-control"], "no-store");
    assert!(!compressed.headers.contains_key("content-encoding"));
}

#[tokio::test]
async fn what_is_large_is_compressed_unless_it_has_secrets() {
    let server = Running::start(Wish::default()).await;
    let caller = server
        .program(Role::Admin, &["read", "operate", "approve", "admin"])
        .await
        .with("accept-encoding", "br, gzip");
    for number in 0..20 {
        let user = json!({ "id": format!("user-number-{number}"), "role": "viewer", "password": "correct horse battery" });
        assert_eq!(caller.post("/api/v1/users", &user).await.status, 201);
    }
    assert!(
        !caller
            .get("/api/v1/users")
            .await
            .headers
            .contains_key("content-encoding")
    );
    let page = caller
        .with("accept", "text/html")
        .get("/docs/errors/NOT_FOUND")
        .await;
    assert_eq!(page.headers["content-encoding"], "br");
}
