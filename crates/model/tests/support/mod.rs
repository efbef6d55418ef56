//! A server that does exactly what a test says, byte by byte.

#![allow(dead_code, reason = "each test uses its part")]

use interlock_model::{Client, Flow, Message, Options, Provider, Request, Retries, Secrets, Span};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request.
#[derive(Clone)]
pub(crate) enum Step {
    Send(String),
    Bytes(Vec<u8>),
    Pause(u64),
    /// Sends the same again and again until the client closes.
    Endless(Vec<u8>),
    /// The same, with so many milliseconds between.
    Drip(Vec<u8>, u64),
    /// Stays open until the client closes.
    Hang,
    /// Ends the connection with a reset.
    Reset,
    Close,
}

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl Server {
    /// The n-th request gets the n-th plan; later ones the last.
    pub(crate) async fn start(plans: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let closed = Arc::new(AtomicUsize::new(0));
        let server = Self {
            url,
            requests: requests.clone(),
            connections: connections.clone(),
            closed: closed.clone(),
        };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (plans, requests, closed) = (plans.clone(), requests.clone(), closed.clone());
                tokio::spawn(async move {
                    let mut stream = stream;
                    while let Some(request) = read_request(&mut stream).await {
                        let number = {
                            let mut all = requests.lock().expect("a lock");
                            all.push(request);
                            all.len() - 1
                        };
                        let plan = plans[number.min(plans.len() - 1)].clone();
                        if !follow(plan, &mut stream, &closed).await {
                            return;
                        }
                    }
                    closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        server
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("a lock").clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits until the client has closed a connection.
    pub(crate) async fn client_closed(&self) {
        for _ in 0..200 {
            if self.closed.load(Ordering::SeqCst) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the client kept its connection");
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text[..end]
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse::<usize>()
                        .ok()
                })
                .unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                return Some(text.into_owned());
            }
        }
    }
}

/// Whether the connection goes on.
async fn follow(plan: Vec<Step>, stream: &mut TcpStream, closed: &AtomicUsize) -> bool {
    for step in plan {
        match step {
            Step::Send(text) => {
                let _ = stream.write_all(text.as_bytes()).await;
            }
            Step::Bytes(bytes) => {
                let _ = stream.write_all(&bytes).await;
            }
            Step::Endless(bytes) => {
                while stream.write_all(&bytes).await.is_ok() {}
                closed.fetch_add(1, Ordering::SeqCst);
                return false;
            }
            Step::Drip(bytes, millis) => {
                while stream.write_all(&bytes).await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                }
                closed.fetch_add(1, Ordering::SeqCst);
                return false;
            }
            Step::Pause(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Step::Hang => {
                let mut piece = [0; 64];
                while matches!(stream.read(&mut piece).await, Ok(n) if n > 0) {}
                closed.fetch_add(1, Ordering::SeqCst);
                return false;
            }
            Step::Reset => {
                let _ = stream.set_zero_linger();
                return false;
            }
            Step::Close => return false,
        }
    }
    true
}

/// A whole answer with this type.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> Step {
    Step::Send(format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

/// The head of a stream without an announced length.
pub(crate) fn head() -> Step {
    Step::Send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
    )
}

/// A piece of such a stream.
pub(crate) fn piece(text: &str) -> Step {
    Step::Send(format!("{:x}\r\n{text}\r\n", text.len()))
}

/// Its end.
pub(crate) fn end() -> Step {
    Step::Send("0\r\n\r\n".to_owned())
}

pub(crate) fn said(text: &str) -> String {
    let event = serde_json::json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    format!("data: {event}\n\n")
}

pub(crate) const DONE: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";

/// A reply that is as it should be.
pub(crate) fn good(text: &str) -> Vec<Step> {
    vec![head(), piece(&said(text)), piece(DONE), end()]
}

pub(crate) fn options(url: &str) -> Options {
    let mut options = Options::new(Provider::Openai, "m");
    options.base_url = Some(url.into());
    options.retries = Retries {
        attempts: 3,
        base: Span::from_millis(1),
        cap: Span::from_millis(1500),
    };
    options
}

pub(crate) fn client(options: &Options) -> Client {
    Client::new("main", options, &Secrets::given([("", ""); 0])).expect("a client")
}

pub(crate) fn question() -> Request {
    Request {
        system: "You are careful.".to_owned(),
        messages: vec![Message::user("Hello?")],
        ..Request::default()
    }
}

pub(crate) fn ignore(_: interlock_model::Chunk<'_>) -> Flow {
    Flow::Continue
}
