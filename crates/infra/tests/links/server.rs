//! An HTTP server that says exactly what a test wants, also what no proper server would.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    head: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// What to answer.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// A raw stream, as for a command in a container: first everything that comes in, then what is made of it.
    Stream(fn(&[u8]) -> Vec<u8>),
    /// Nothing, for ever.
    Never,
}

pub(crate) fn said(status: &str, body: &str) -> Reply {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}");
    Reply::Bytes(format!("{head}\r\nconnection: close\r\n\r\n{body}").into_bytes())
}

pub(crate) fn ok(body: &str) -> Reply {
    said("200 OK", body)
}

/// The rest of the answer never comes.
pub(crate) fn cut(body: &str) -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000";
    Reply::Bytes(format!("{head}\r\n\r\n{body}").into_bytes())
}

/// A server, and everything that it was asked.
pub(crate) struct Server {
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// `METHOD /path` of everything that was asked.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked()
            .iter()
            .map(|asked| format!("{} {}", asked.method, asked.path))
            .collect()
    }
}

pub(crate) async fn serve(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (answer, record) = (Arc::new(answer), Arc::clone(&asked));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (answer, record) = (Arc::clone(&answer), Arc::clone(&record));
            tokio::spawn(async move {
                let _ = one(stream, &*answer, &record).await;
            });
        }
    });
    Server { address, asked }
}

async fn one(
    mut stream: TcpStream,
    answer: &(impl Fn(&Asked) -> Reply + Sync),
    record: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let (asked, rest) = loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(asked) = parsed(&bytes) {
            break asked;
        }
    };
    record.lock().unwrap().push(asked.clone());
    match answer(&asked) {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await?,
        Reply::Stream(make) => {
            let head = "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.multiplexed-stream\r\n\
                        Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
            stream.write_all(head.as_bytes()).await?;
            let mut input = rest;
            if make(b"").is_empty() {
                stream.read_to_end(&mut input).await?;
                stream.write_all(&make(&input)).await?;
            } else {
                // It does not wait for input.
                stream.write_all(&make(b"")).await?;
            }
        }
        Reply::Never => std::future::pending().await,
    }
    stream.shutdown().await
}

fn parsed(bytes: &[u8]) -> Option<(Asked, Vec<u8>)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut first = head.lines().next()?.split(' ').map(str::to_owned);
    let mut asked = Asked {
        method: first.next()?,
        path: first.next()?,
        head,
        body: String::new(),
    };
    let length: usize = asked
        .header("content-length")
        .map_or(0, |value| value.parse().unwrap_or(0));
    let body = bytes.get(end + 4..end + 4 + length)?;
    asked.body = String::from_utf8_lossy(body).into_owned();
    Some((asked, bytes[end + 4 + length..].to_vec()))
}
