//! An HTTP server that says exactly what a test wants, also what no proper server would.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What was asked.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    /// All header lines, names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What to answer.
pub(crate) enum Reply {
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// Nothing, for ever.
    Never,
}

/// An answer with a body, and with words of the server's own behind the status.
pub(crate) fn said(status: &str, body: &str) -> Reply {
    Reply::Bytes(
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

/// The envelope of Proxmox around these data.
pub(crate) fn data(data: &str) -> Reply {
    said("200 OK", &format!("{{\"data\":{data}}}"))
}

/// Serves until the test ends. The address, without a slash at its end.
pub(crate) async fn serve(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = Arc::clone(&answer);
            tokio::spawn(async move {
                let _ = one(stream, &*answer).await;
            });
        }
    });
    format!("http://{address}")
}

async fn one(mut stream: TcpStream, answer: &(impl Fn(&Asked) -> Reply + Sync)) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let asked = loop {
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
    match answer(&asked) {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await?,
        Reply::Never => std::future::pending().await,
    }
    stream.shutdown().await
}

fn parsed(bytes: &[u8]) -> Option<Asked> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap_or(0));
    (body.len() >= length).then(|| Asked {
        method: first.next().unwrap_or_default().to_owned(),
        path: first.next().unwrap_or_default().to_owned(),
        headers,
        body: body.to_owned(),
    })
}
