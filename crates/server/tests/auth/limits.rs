//! How much the server takes.

use std::time::Duration;

use interlock_model::Span;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Caller, Running, Wish};

/// More than anything here should ever take.
const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_however_it_comes() {
    let server = Running::start(Wish::default()).await;
    let admin = server.admin().await;
    let body = |length: usize| json!({ "name": "x", "query": "y".repeat(length) }).to_string();
    let most = 1024 * 1024;
    for (length, expected) in [
        (2000, (201, "")),
        (most - 100, (400, "INVALID_INPUT")),
        (most, (413, "TOO_LARGE")),
    ] {
        for chunked in [false, true] {
            let text = body(length);
            let request = reqwest::Client::new()
                .post(format!("{}/api/v1/me/views", server.url))
                .headers(admin.headers.clone())
                .header("content-type", "application/json");
            let request = if chunked {
                let chunks: Vec<Result<Vec<u8>, std::io::Error>> = text
                    .as_bytes()
                    .chunks(64 * 1024)
                    .map(|chunk| Ok(chunk.to_vec()))
                    .collect();
                request.body(reqwest::Body::wrap_stream(futures_util::stream::iter(chunks)))
            } else {
                request.body(text)
            };
            let reply = Caller::reply(request.send().await.unwrap()).await;
            assert_eq!(reply.short(), expected, "{length} {chunked} {}", reply.text);
        }
    }
}

#[tokio::test]
async fn who_asks_too_often_waits() {
    let server = Running::start(Wish::with(|config| {
        config.server.limits.anonymous_per_minute = 5;
        config.server.limits.requests_per_minute = 3;
    }))
    .await;
    let admin = server.admin().await;
    let anybody = server.anybody();
    let mut codes = Vec::new();
    for _ in 0..6 {
        let reply = anybody.get("/api/v1/auth/options").await;
        codes.push(reply.short().0);
        if reply.status == 429 {
            assert_eq!(reply.short().1, "RATE_LIMITED");
            let wait: u64 = reply.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=60).contains(&wait), "{wait}");
        }
    }
    // One was used by signing in.
    assert_eq!(codes, [200, 200, 200, 200, 429, 429]);
    let mut codes = Vec::new();
    for _ in 0..4 {
        codes.push(admin.get("/api/v1/me").await.short().0);
    }
    assert_eq!(
        codes,
        [200, 200, 200, 429],
        "a user is counted apart from their address"
    );
}

/// Sends this and waits for the connection to end; gives back what was said.
async fn say(server: &Running, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.serving.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut said = Vec::new();
    tokio::time::timeout(LONG, stream.read_to_end(&mut said))
        .await
        .expect("the server ends the connection")
        .ok();
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn who_is_slow_is_cut_off() {
    let server = Running::start(Wish::with(|config| {
        config.server.limits.header_timeout = Span::from_millis(200);
    }))
    .await;
    for beginning in [
        &b""[..],
        b"G",
        b"PRI * HTTP/2.0\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /again HTT",
    ] {
        let said = say(&server, beginning).await;
        assert!(!said.contains("200 OK") || beginning.ends_with(b"HTT"), "{said}");
    }
}

#[tokio::test]
async fn there_are_never_more_connections_than_configured_and_they_come_free() {
    let server = Running::start(Wish::with(|config| {
        config.server.limits.connections = 2;
        config.server.limits.header_timeout = Span::from_millis(300);
    }))
    .await;
    let mut idle = Vec::new();
    for _ in 0..8 {
        idle.push(TcpStream::connect(server.serving.address).await.unwrap());
    }
    let reply = tokio::time::timeout(LONG, server.anybody().get("/api/v1/auth/options")).await;
    assert_eq!(
        reply.expect("idle connections do not keep others out").status,
        200
    );
}

#[tokio::test]
async fn heads_are_bounded() {
    let server = Running::start(Wish::default()).await;
    let address = server.serving.address;
    let many = "x-many: 1\r\n".repeat(200);
    let long = format!("x-long: {}\r\n", "y".repeat(100 * 1024));
    for headers in [many, long] {
        let said = say(
            &server,
            format!("GET /api/v1/auth/options HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n").as_bytes(),
        )
        .await;
        assert!(said.starts_with("HTTP/1.1 431"), "{said}");
    }
}
