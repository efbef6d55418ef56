//! Streams of events over plain HTTP.

use std::fmt::Write as _;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::site::{PATIENCE, Site, append};

/// An answer of which the body comes bit by bit.
pub(crate) struct Stream {
    pub(crate) status: u16,
    pub(crate) head: String,
    body: BufReader<TcpStream>,
    text: String,
}

/// One event of a stream.
#[derive(Debug, Default, PartialEq)]
struct Event {
    id: Option<u64>,
    kind: String,
    data: Value,
}

impl Stream {
    pub(crate) async fn get(site: &Site, path: &str, headers: &[(&str, &str)]) -> Self {
        let mut socket = TcpStream::connect(&site.address).await.unwrap();
        let mut request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n", site.address);
        for (name, value) in headers {
            write!(request, "{name}: {value}\r\n").unwrap();
        }
        socket
            .write_all(format!("{request}\r\n").as_bytes())
            .await
            .unwrap();
        let mut body = BufReader::new(socket);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(
                timeout(PATIENCE, body.read_line(&mut head))
                    .await
                    .unwrap()
                    .unwrap()
                    > 0,
                "{head}"
            );
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head: head.to_lowercase(),
            body,
            text: String::new(),
        }
    }

    async fn signed_in(site: &Site, path: &str, last: Option<u64>) -> Self {
        let bearer = format!("Bearer {}", site.token);
        let last = last.map(|last| last.to_string());
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(last.as_deref().map(|last| ("last-event-id", last)));
        Self::get(site, path, &headers).await
    }

    /// The next chunk; nothing at the end.
    async fn chunk(&mut self) -> Option<()> {
        let mut size = String::new();
        let read = timeout(PATIENCE, self.body.read_line(&mut size)).await.unwrap();
        if !read.is_ok_and(|read| read > 0) {
            return None;
        }
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let mut bytes = vec![0; size + 2];
        self.body.read_exact(&mut bytes).await.unwrap();
        self.text.push_str(std::str::from_utf8(&bytes[..size]).unwrap());
        (size > 0).then_some(())
    }

    /// The next event, comments left out; nothing at the end.
    async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let mut event = Event::default();
                for line in block.lines() {
                    match line.split_once(": ") {
                        Some(("id", id)) => event.id = id.parse().ok(),
                        Some(("event", kind)) => kind.clone_into(&mut event.kind),
                        Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                        Some(("retry" | "", _)) => {}
                        other => panic!("{other:?}"),
                    }
                }
                if !event.kind.is_empty() {
                    return Some(event);
                }
            }
            self.chunk().await?;
        }
    }
}

#[tokio::test]
async fn a_stream_goes_on_where_it_was() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let path = format!("/api/v1/sessions/{session}/stream");
    append(&site.store, &session, 300, "past").await;
    let mut stream = Stream::signed_in(&site, &format!("{path}?after=0"), None).await;
    assert_eq!(stream.status, 200);
    assert!(
        stream.head.contains("content-type: text/event-stream"),
        "{}",
        stream.head
    );
    for place in 1..=200 {
        let event = stream.next().await.unwrap();
        assert_eq!(event.id, Some(place));
        assert_eq!(event.data["position"], place);
        assert_eq!(event.data["type"], event.kind.as_str());
    }
    drop(stream);
    append(&site.store, &session, 50, "while away").await;
    // The header goes before what the address says, which stays the same when a browser comes back.
    let mut stream = Stream::signed_in(&site, &format!("{path}?after=0"), Some(200)).await;
    for place in 201..=351 {
        assert_eq!(stream.next().await.unwrap().id, Some(place));
    }
    append(&site.store, &session, 1, "now").await;
    assert_eq!(stream.next().await.unwrap().id, Some(352));
    // Without a place: only what is new.
    let mut new = Stream::signed_in(&site, &path, None).await;
    append(&site.store, &session, 1, "new").await;
    assert_eq!(new.next().await.unwrap().id, Some(353));
}

#[tokio::test]
async fn the_list_of_sessions_is_a_stream() {
    let site = Site::start().await;
    let first = site.session(1).await;
    let mut stream = Stream::signed_in(&site, "/api/v1/stream?after=0", None).await;
    let second = site.session(2).await;
    append(&site.store, &second, 3, "not in the list").await;
    let third = site.session(3).await;
    let mut last = None;
    for session in [first, second, third] {
        let event = stream.next().await.unwrap();
        assert_eq!(event.kind, "session.created");
        assert_eq!(event.data["session"], session.as_str());
        assert!(event.id > last);
        last = event.id;
    }
}

#[tokio::test]
async fn what_cannot_be_streamed_is_a_problem() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let bearer = format!("Bearer {}", site.token);
    let own = format!("/api/v1/sessions/{session}/stream");
    let unknown = format!(
        "/api/v1/sessions/{}/stream",
        interlock_protocol::SessionId::from_bytes([9; 16])
    );
    let bad = format!("{own}?after=x");
    let more = format!("{own}?after=1&since=2");
    let signed = ("authorization", bearer.as_str());
    let cases: Vec<(&str, Vec<(&str, &str)>, u16)> = vec![
        (&own, vec![], 401),
        ("/api/v1/stream", vec![], 401),
        (&unknown, vec![signed], 404),
        ("/api/v1/sessions/%22/stream", vec![signed], 404),
        (&bad, vec![signed], 400),
        (&more, vec![signed], 400),
        (&own, vec![signed, ("last-event-id", "x")], 400),
        ("/api/v1/ws", vec![signed], 400),
        ("/api/v1/ws", vec![], 401),
    ];
    for (path, headers, expected) in cases {
        let answer = Stream::get(&site, path, &headers).await;
        assert_eq!(answer.status, expected, "{path} {headers:?}");
        assert!(
            answer.head.contains("application/problem+json"),
            "{}",
            answer.head
        );
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_rights_and_with_the_server() {
    let mut site = Site::start().await;
    let mut stream = Stream::signed_in(&site, "/api/v1/stream", None).await;
    assert_eq!(stream.status, 200);
    site.store
        .revoke_token("tok_viewer", None, jiff::Timestamp::now())
        .await
        .unwrap();
    assert_eq!(stream.next().await, None);
    site.token = site.new_token("tok_again", "viewer", "read").await;
    let mut stream = Stream::signed_in(&site, "/api/v1/stream", None).await;
    assert_eq!(stream.status, 200);
    let (end, ()) = tokio::join!(stream.next(), site.stop());
    assert_eq!(end, None);
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let site = Site::start().await;
    let session = site.session(1).await;
    let path = format!("/api/v1/sessions/{session}/stream");
    let mut stream = Stream::signed_in(&site, &path, None).await;
    assert_eq!(stream.status, 200);
    let now = jiff::Timestamp::now();
    site.store.request_cancel(&session, None, now).await.unwrap();
    site.store.soft_delete(&session, now).await.unwrap();
    while let Some(event) = stream.next().await {
        assert!(event.kind.starts_with("session."), "{event:?}");
    }
    // A browser that comes back finds what everybody finds.
    assert_eq!(Stream::signed_in(&site, &path, Some(1)).await.status, 404);
}
