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
    for last in 2..10 {
        idle.push(connect_from([127, 0, 0, last], &server).await);
    }
    let reply = tokio::time::timeout(LONG, server.anybody().get("/api/v1/auth/options")).await;
    assert_eq!(
        reply.expect("idle connections do not keep others out").status,
        200
    );
}

/// A connection from this address.
async fn connect_from(address: [u8; 4], server: &Running) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind((address, 0).into()).unwrap();
    socket.connect(server.serving.address).await.unwrap()
}

/// Whether the server has ended a connection on which nothing was said.
async fn ended(stream: &mut TcpStream) {
    let mut said = Vec::new();
    tokio::time::timeout(LONG, stream.read_to_end(&mut said))
        .await
        .expect("the server ends the connection")
        .ok();
}

#[tokio::test]
async fn one_address_has_a_quarter_of_all_connections() {
    for proxies in [&[][..], &["127.0.0.7"]] {
        let server = Running::start(Wish::with(|config| {
            config.server.limits.connections = 8;
            config.server.trusted_proxies = proxies.iter().map(|&text: &&str| text.to_owned()).collect();
        }))
        .await;
        let ask = format!("GET /health HTTP/1.1\r\nHost: {}\r\n\r\n", server.serving.address);
        let mut answered = Vec::new();
        for _ in 0..2 {
            let mut stream = connect_from([127, 0, 0, 7], &server).await;
            stream.write_all(ask.as_bytes()).await.unwrap();
            stream.read_exact(&mut [0; 12]).await.unwrap();
            answered.push(stream);
        }
        let mut third = connect_from([127, 0, 0, 7], &server).await;
        if proxies.is_empty() {
            ended(&mut third).await;
            drop(answered.pop());
        } else {
            third.write_all(ask.as_bytes()).await.unwrap();
            third.read_exact(&mut [0; 12]).await.unwrap();
        }
        let other = server.anybody().get("/health").await;
        assert_eq!(other.status, 200, "others are served");
    }
}

/// Begins to speak HTTP/2 and asks one thing. Answers nothing that the server says, as an unfriendly client would.
async fn ask_over_http2(server: &Running, path: &str, token: &str) -> TcpStream {
    let literal = |name: &[u8], value: &str| {
        let length = u8::try_from(value.len()).unwrap();
        [name, &[length], value.as_bytes()].concat()
    };
    // `:method: GET`, `:scheme: http`, then `:path`, `:authority` and `authorization` by their numbers in the static table.
    let head = [
        vec![0x82, 0x86],
        literal(&[0x04], path),
        literal(&[0x01], &server.serving.address.to_string()),
        literal(&[0x0f, 0x08], &format!("Bearer {token}")),
    ]
    .concat();
    let length = u8::try_from(head.len()).unwrap();
    let mut stream = TcpStream::connect(server.serving.address).await.unwrap();
    let said = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &[0, 0, 0, 4, 0, 0, 0, 0, 0],
        &[0, 0, length, 1, 5, 0, 0, 0, 1],
        &head,
    ]
    .concat();
    stream.write_all(&said).await.unwrap();
    stream
}

const DATA: u8 = 0;
const GO_AWAY: u8 = 7;

/// The kinds of the frames that come until one of this kind, or until the end.
async fn kinds(stream: &mut TcpStream, last: Option<u8>) -> Vec<u8> {
    let mut kinds = Vec::new();
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut rest = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut rest).await.unwrap();
        kinds.push(head[3]);
        if last == Some(head[3]) {
            break;
        }
    }
    kinds
}

#[tokio::test]
async fn an_idle_connection_is_let_go_and_one_that_is_answered_is_not() {
    let server = Running::start(Wish::with(|config| {
        config.server.limits.header_timeout = Span::from_millis(200);
    }))
    .await;
    let token = server.token(interlock_protocol::Role::Viewer, &["read"]).await;
    let in_time = async {
        let mut streams = ask_over_http2(&server, "/api/v1/stream", &token).await;
        let begun = kinds(&mut streams, Some(DATA)).await;
        assert!(begun.contains(&DATA), "{begun:?}");
        let mut idle = ask_over_http2(&server, "/api/v1/me", &token).await;
        let said = kinds(&mut idle, None).await;
        assert!(said.contains(&DATA) && said.contains(&GO_AWAY), "{said:?}");
        // The other one began earlier, and was neither closed nor told to go.
        let mut more = [0; 1024];
        match streams.try_read(&mut more) {
            Err(nothing) => assert_eq!(nothing.kind(), std::io::ErrorKind::WouldBlock),
            Ok(length) => assert!(length > 0 && more[3] != GO_AWAY, "{:?}", &more[..length]),
        }
        drop(streams);
    };
    tokio::time::timeout(LONG, in_time)
        .await
        .expect("the server ends an idle connection");
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
