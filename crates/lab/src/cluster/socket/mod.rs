//! What `pct` and `qm` in a node talk to.

mod commands;
mod print;
mod words;

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::cli::frame::{self, Frame, Kind};
use super::{Cluster, Error, Inner};
use crate::machine::{Chunk, Exec, Machine};

/// How long a program that may get input waits for the first of it.
const FIRST_INPUT: Duration = Duration::from_millis(250);
/// How long it waits for the rest, once some came.
const MORE_INPUT: Duration = Duration::from_secs(10);
/// More input than this is not taken.
const MOST_INPUT: usize = 16 << 20;

/// Listens for the programs of one node.
pub(super) fn listen(
    cluster: &Cluster,
    node: String,
    path: &Path,
    closing: CancellationToken,
) -> Result<(), Error> {
    let listener = UnixListener::bind(path).map_err(Error::io("the socket of a node"))?;
    let inner = Arc::downgrade(&cluster.inner);
    tokio::spawn(async move {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = closing.cancelled() => return,
            };
            let Ok((stream, _)) = accepted else { return };
            let (reader, writer) = stream.into_split();
            tokio::spawn(serve(inner.clone(), node.clone(), reader, writer));
        }
    });
    Ok(())
}

/// The program at the other end.
#[derive(Debug)]
struct Caller {
    input: mpsc::Receiver<Frame>,
    writer: OwnedWriteHalf,
}

async fn serve(inner: Weak<Inner>, node: String, mut reader: OwnedReadHalf, writer: OwnedWriteHalf) {
    let Ok(first) = frame::receive(&mut reader).await else {
        return;
    };
    let Ok(words) = serde_json::from_slice::<Vec<String>>(&first.payload) else {
        return;
    };
    let Some(inner) = inner.upgrade() else { return };
    let (sender, input) = mpsc::channel(16);
    tokio::spawn(async move {
        while let Ok(frame) = frame::receive(&mut reader).await {
            if sender.send(frame).await.is_err() {
                return;
            }
        }
    });
    let mut caller = Caller { input, writer };
    let code = commands::run(&Cluster { inner }, &node, &words, &mut caller).await;
    let _ = caller.send(Kind::Exit, vec![code]).await;
}

impl Caller {
    async fn send(&mut self, kind: Kind, payload: Vec<u8>) -> std::io::Result<()> {
        self.writer.write_all(&Frame::new(kind, payload).bytes()).await
    }

    async fn print(&mut self, text: impl Into<String>) -> u8 {
        let _ = self.send(Kind::Stdout, text.into().into_bytes()).await;
        0
    }

    /// Complains, and gives the exit code for that.
    async fn fail(&mut self, code: u8, text: &str) -> u8 {
        let _ = self.send(Kind::Stderr, format!("{text}\n").into_bytes()).await;
        code
    }

    /// The input of the program, to its end. Who sends none and leaves it open is not waited for.
    async fn input(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let patience = if all.is_empty() { FIRST_INPUT } else { MORE_INPUT };
            match tokio::time::timeout(patience, self.input.recv()).await {
                Ok(Some(frame)) if frame.kind == Kind::Stdin && all.len() < MOST_INPUT => {
                    all.extend(frame.payload);
                }
                Ok(_) | Err(_) => return all,
            }
        }
    }

    /// Runs a program and passes on what it prints; its exit code. It is killed if nobody listens any more.
    async fn stream(&mut self, machine: &Machine, exec: Exec) -> u8 {
        let mut chunks = match machine.stream(exec).await {
            Ok(chunks) => chunks,
            Err(error) => return self.fail(255, &error.to_string()).await,
        };
        loop {
            let chunk = tokio::select! {
                chunk = chunks.recv() => chunk,
                () = gone(&mut self.input) => return 255,
            };
            let sent = match chunk {
                Some(Chunk::Stdout(bytes)) => self.send(Kind::Stdout, bytes).await,
                Some(Chunk::Stderr(bytes)) => self.send(Kind::Stderr, bytes).await,
                Some(Chunk::Exit(code)) => return u8::try_from(code).unwrap_or(255),
                None => return 255,
            };
            if sent.is_err() {
                return 255;
            }
        }
    }
}

/// Waits until the other end is gone. Input that comes too late is thrown away.
async fn gone(input: &mut mpsc::Receiver<Frame>) {
    while input.recv().await.is_some() {}
}
