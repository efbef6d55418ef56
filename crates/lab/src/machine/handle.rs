//! The lab's side of a machine that runs: each question is a conversation of its own with its first process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::host::{Life, PATIENCE, done};
use super::wire::{self, ExecRequest, Fill, Kind, Request};
use super::{Chunk, Error, Exec, Finished, Machine, Stop, Usage, places};

/// How much of each stream of a program is kept.
const MOST_BYTES: usize = 16 << 20;

impl Machine {
    async fn ask(&self, request: &Request) -> Result<UnixStream, Error> {
        if *self.inner.life.borrow() != Life::Runs {
            return Err(Error::Down(self.name.clone()));
        }
        let asked = async {
            let mut connection = self
                .inner
                .folder
                .connect(&places::socket_name(&self.name))
                .await?;
            wire::send_json_async(&mut connection, Kind::Request, request).await?;
            Ok(connection)
        };
        asked.await.map_err(|cause: io::Error| match cause.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::BrokenPipe | io::ErrorKind::NotFound => {
                Error::Down(self.name.clone())
            }
            _ => self.failed("asking")(cause),
        })
    }

    fn failed(&self, what: &str) -> impl FnOnce(io::Error) -> Error + use<> {
        let (name, what) = (self.name.clone(), format!("{what} in `{}`", self.name));
        move |cause| match cause.kind() {
            io::ErrorKind::TimedOut => Error::TimedOut(name),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => Error::Down(name),
            _ => Error::Io { what, cause },
        }
    }

    pub(super) async fn run_to_end(&self, exec: Exec) -> Result<Finished, Error> {
        let mut chunks = self.run(exec).await?;
        let mut finished = Finished::default();
        let mut ended = false;
        while let Some(chunk) = chunks.recv().await {
            let (kept, bytes) = match chunk {
                Chunk::Stdout(bytes) => (&mut finished.stdout, bytes),
                Chunk::Stderr(bytes) => (&mut finished.stderr, bytes),
                Chunk::Exit(code) => {
                    finished.code = code;
                    ended = true;
                    continue;
                }
            };
            let left = MOST_BYTES.saturating_sub(kept.len());
            kept.extend(bytes.into_iter().take(left));
        }
        if ended {
            Ok(finished)
        } else {
            Err(Error::Down(self.name.clone()))
        }
    }

    pub(super) async fn run(&self, exec: Exec) -> Result<mpsc::Receiver<Chunk>, Error> {
        let request = Request::Exec(Box::new(ExecRequest {
            argv: exec.argv,
            env: exec.env,
            folder: exec.folder,
            timeout_milliseconds: exec.timeout.map(milliseconds),
            reads: !exec.stdin.is_empty(),
        }));
        let connection = self.ask(&request).await?;
        let (send, receive) = mpsc::channel(64);
        tokio::spawn(pass_on(connection, exec.stdin, send));
        Ok(receive)
    }

    pub(super) async fn talk_to(&self, port: u16, request: &[u8], most: usize) -> Result<Vec<u8>, Error> {
        let mut connection = self.ask(&Request::Talk { port, most }).await?;
        let talked = async {
            wire::send_bytes_async(&mut connection, request).await?;
            all_bytes(&mut connection).await
        };
        talked
            .await
            .map_err(self.failed(&format!("talking to port {port}")))
    }

    pub(super) async fn read_file(&self, path: &str) -> Result<Vec<u8>, Error> {
        let mut connection = self.ask(&Request::Read { path: path.into() }).await?;
        all_bytes(&mut connection)
            .await
            .map_err(self.failed(&format!("reading {path}")))
    }

    pub(super) async fn write_file(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        let mut connection = self.ask(&Request::Write { path: path.into() }).await?;
        let written = async {
            wire::send_bytes_async(&mut connection, content).await?;
            done(wire::receive_async(&mut connection).await?)
        };
        written.await.map_err(self.failed(&format!("writing {path}")))
    }

    pub(super) async fn disk_usage(&self) -> Result<Vec<Usage>, Error> {
        let mut connection = self.ask(&Request::Usage).await?;
        let asked = async {
            let frame = wire::receive_async(&mut connection).await?;
            let frame = frame.ok_or(io::ErrorKind::UnexpectedEof)?;
            if frame.kind == Kind::Failed {
                return Err(frame.failure());
            }
            frame.json::<Vec<Fill>>()
        };
        let fills = asked.await.map_err(self.failed("asking for the disks"))?;
        let usage = |fill: Fill| Usage {
            path: fill.path,
            total: fill.total,
            used: fill.used,
        };
        Ok(fills.into_iter().map(usage).collect())
    }

    pub(super) fn follow_output(&self) -> mpsc::Receiver<Chunk> {
        match &self.inner.kept {
            Some(kept) => Arc::clone(kept).follow(),
            None => mpsc::channel(1).1,
        }
    }

    pub(super) async fn wait(&self) -> Option<i32> {
        let mut life = self.inner.life.clone();
        let code = match life.wait_for(|life| *life != Life::Runs).await.as_deref() {
            Ok(Life::Ended(code)) => *code,
            Ok(Life::Runs) | Err(_) => 128 + 9,
        };
        self.inner.kept.as_ref().map(|_| code)
    }

    pub(super) async fn end(&self, how: Stop) {
        if let Stop::Ask(patience) = how {
            let request = Request::Stop {
                milliseconds: milliseconds(patience),
            };
            // A machine that does not even listen is killed below.
            if let Ok(_connection) = self.ask(&request).await {
                let margin = Duration::from_secs(2);
                if tokio::time::timeout(patience + margin, self.wait()).await.is_ok() {
                    return;
                }
            }
        }
        let _ = self.inner.kill.send(());
        let _ = tokio::time::timeout(PATIENCE, self.wait()).await;
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

async fn all_bytes(connection: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let frame = wire::receive_async(connection)
            .await?
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        match frame.kind {
            Kind::Data => bytes.extend_from_slice(&frame.body),
            Kind::End => return Ok(bytes),
            _ => return Err(frame.failure()),
        }
    }
}

/// Passes on what a program prints; leaves, which kills it, when nobody listens any more.
async fn pass_on(mut connection: UnixStream, stdin: Vec<u8>, send: mpsc::Sender<Chunk>) {
    let (mut from, mut to) = connection.split();
    let feed = async {
        let _ = wire::send_bytes_async(&mut to, &stdin).await;
        std::future::pending::<()>().await;
    };
    let print = async {
        while let Ok(Some(frame)) = wire::receive_async(&mut from).await {
            let chunk = match frame.kind {
                Kind::Stdout => Chunk::Stdout(frame.body),
                Kind::Stderr => Chunk::Stderr(frame.body),
                Kind::Exit => {
                    let _ = send.send(Chunk::Exit(frame.code())).await;
                    return;
                }
                _ => return,
            };
            if send.send(chunk).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = print => {}
        () = feed => {}
        () = send.closed() => {}
    }
}
