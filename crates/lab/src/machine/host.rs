//! The lab's side of machines: starts the keeper, and talks to it and to the machines.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::sync::{mpsc, watch};

use super::kept::{Kept, Splitter};
use super::wire::{self, Ask, Config, ExecRequest, FileHead, Fill, Frame, Kind, Request};
use super::{
    Chunk, Error, Exec, Finished, Isolation, Machine, Machines, Runs, Spec, Stop, Usage, Wish, keeper, places,
};

/// How long the keeper may take to get ready, and a machine to start.
const PATIENCE: Duration = Duration::from_secs(20);
/// How much of each stream of a program is kept.
const MOST_BYTES: usize = 16 << 20;
/// The longest name: a host name has at most that many letters.
const LONGEST_NAME: usize = 63;

fn told(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
    move |cause| Error::Io {
        what: what.into(),
        cause,
    }
}

/// The process that keeps all machines. They end with it.
#[derive(Debug)]
pub(super) struct Keeper(Child);

impl Drop for Keeper {
    fn drop(&mut self) {
        // Its children are killed by the system when it ends.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The folder of the sockets, open: their own paths may be too long.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    async fn connect(&self, name: &str) -> io::Result<UnixStream> {
        UnixStream::connect(places::socket_path(self.0.as_raw_fd(), name)).await
    }
}

/// Where a machine is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Runs,
    Ended(i32),
}

/// What a machine is to the lab.
#[derive(Debug)]
pub(super) struct Inner {
    folder: Arc<Folder>,
    life: watch::Receiver<Life>,
    kill: mpsc::UnboundedSender<()>,
    kept: Option<Arc<Kept>>,
}

impl Machines {
    pub(super) async fn begin(program: PathBuf, folder: PathBuf, wish: Wish) -> Result<Self, Error> {
        let folder = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::canonicalize(&folder))
            .map_err(told("the folder of the machines"))?;
        let opened = std::fs::File::open(&folder).map_err(told("the folder of the machines"))?;
        let opened = Arc::new(Folder(opened.into()));
        let why = match wish {
            Wish::Best => match start_keeper(&program, &folder, "namespaces").await {
                Ok(keeper) => match probe(keeper, &opened).await {
                    Ok(machines) => return Ok(machines),
                    Err(cause) => cause.to_string(),
                },
                Err(cause) => cause.to_string(),
            },
            Wish::Folders => "asked for".to_owned(),
        };
        let keeper = start_keeper(&program, &folder, "folders")
            .await
            .map_err(told("the keeper"))?;
        Ok(Self {
            isolation: Isolation::Folders { why },
            folder: opened,
            _keeper: keeper,
        })
    }

    pub(super) async fn begin_machine(&self, spec: &Spec) -> Result<Machine, Error> {
        check_name(&spec.name)?;
        let what = || format!("starting `{}`", spec.name);
        let starting = self.ask_start(spec);
        let (connection, kept) = tokio::time::timeout(PATIENCE, starting)
            .await
            .map_err(|_| Error::TimedOut(spec.name.clone()))?
            .map_err(told(what()))?;
        let (life, lives) = watch::channel(Life::Runs);
        let (kill, killed) = mpsc::unbounded_channel();
        tokio::spawn(watch_over(connection, life, killed, kept.clone()));
        Ok(Machine {
            name: spec.name.clone(),
            inner: Arc::new(Inner {
                folder: Arc::clone(&self.folder),
                life: lives,
                kill,
                kept,
            }),
        })
    }

    async fn ask_start(&self, spec: &Spec) -> io::Result<(UnixStream, Option<Arc<Kept>>)> {
        let mut connection = self.folder.connect(keeper::SOCKET).await?;
        let ask = Ask::Start(Box::new(config(spec)));
        wire::send_json_async(&mut connection, Kind::Request, &ask).await?;
        for file in &spec.files {
            wire::send_bytes_async(&mut connection, &file.content).await?;
        }
        done(wire::receive_async(&mut connection).await?)?;
        if spec.runs == Runs::Units {
            return Ok((connection, None));
        }
        let kept = Arc::new(Kept::new());
        let mut output = self.folder.connect(&places::socket_name(&spec.name)).await?;
        wire::send_json_async(&mut output, Kind::Request, &Request::Output).await?;
        tokio::spawn(keep(output, Arc::clone(&kept)));
        Ok((connection, Some(kept)))
    }

    pub(super) async fn throw_away(&self, name: &str) -> Result<(), Error> {
        let discard = async {
            let mut connection = self.folder.connect(keeper::SOCKET).await?;
            let ask = Ask::Discard {
                name: name.to_owned(),
            };
            wire::send_json_async(&mut connection, Kind::Request, &ask).await?;
            done(wire::receive_async(&mut connection).await?)
        };
        tokio::time::timeout(PATIENCE, discard)
            .await
            .map_err(|_| Error::TimedOut(name.to_owned()))?
            .map_err(told(format!("discarding `{name}`")))
    }
}

/// Whether machines can really be had: some systems only refuse when it comes to that.
async fn probe(keeper: Keeper, folder: &Arc<Folder>) -> Result<Machines, Error> {
    let machines = Machines {
        isolation: Isolation::Namespaces,
        folder: Arc::clone(folder),
        _keeper: keeper,
    };
    let spec = Spec {
        name: "probe".to_owned(),
        disk_bytes: 4 << 20,
        ..Spec::default()
    };
    let machine = machines.start(&spec).await?;
    let tried = machine
        .exec(Exec {
            argv: vec!["true".to_owned()],
            ..Exec::default()
        })
        .await?;
    machine.stop(Stop::Kill).await;
    machines.discard(&spec.name).await?;
    if tried.code == 0 {
        Ok(machines)
    } else {
        Err(told("a first program")(io::Error::other(
            String::from_utf8_lossy(&tried.stderr).into_owned(),
        )))
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the machines of the lab are processes, and the keeper is the first of them"
)]
async fn start_keeper(program: &Path, folder: &Path, mode: &str) -> io::Result<Keeper> {
    let mut child = std::process::Command::new(program)
        .args([keeper::WORD, "keeper", mode])
        .args([program, folder])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.take();
    let keeper = Keeper(child);
    let ready = tokio::task::spawn_blocking(move || {
        let mut stdout = stdout.ok_or(io::ErrorKind::BrokenPipe)?;
        done(wire::receive(&mut stdout)?)
    });
    match tokio::time::timeout(PATIENCE, ready).await {
        Ok(Ok(ready)) => ready.map(|()| keeper),
        Ok(Err(cause)) => Err(io::Error::other(cause)),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

fn done(frame: Option<Frame>) -> io::Result<()> {
    match frame {
        Some(Frame { kind: Kind::Done, .. }) => Ok(()),
        Some(frame) => Err(frame.failure()),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let takes = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.starts_with(['.', '-'])
        && name.chars().all(takes)
    {
        return Ok(());
    }
    let cause = io::Error::new(io::ErrorKind::InvalidInput, "not a host name");
    Err(told(format!("`{name}`"))(cause))
}

fn config(spec: &Spec) -> Config {
    Config {
        name: spec.name.clone(),
        address: spec.address,
        disk_bytes: spec.disk_bytes,
        volumes: spec.volumes.clone(),
        files: spec
            .files
            .iter()
            .map(|file| FileHead {
                path: file.path.clone(),
                mode: file.mode,
            })
            .collect(),
        program: match &spec.runs {
            Runs::Units => None,
            Runs::Program(argv) => Some(argv.clone()),
        },
        env: spec.env.clone(),
        sockets: spec.sockets.clone(),
        shared: spec.shared.clone(),
        fresh: true,
        root: PathBuf::new(),
        folders: false,
    }
}

/// Notices the end of a machine, and passes on that it shall be killed.
async fn watch_over(
    mut connection: UnixStream,
    life: watch::Sender<Life>,
    mut killed: mpsc::UnboundedReceiver<()>,
    kept: Option<Arc<Kept>>,
) {
    let mut told_to = false;
    let (mut from, mut to) = connection.split();
    let mut frame = Box::pin(wire::receive_async(&mut from));
    let ended = loop {
        tokio::select! {
            frame = &mut frame => break frame,
            // Whoever drops the last handle leaves the machine as it is.
            Some(()) = killed.recv(), if !told_to => {
                told_to = true;
                let _ = wire::send_async(&mut to, Kind::End, &[]).await;
            }
        }
    };
    let code = match ended {
        Ok(Some(frame)) if frame.kind == Kind::Exit => frame.code(),
        Ok(_) | Err(_) => 128 + 9,
    };
    if let Some(kept) = kept {
        // What it printed last may still be on its way.
        let _ = tokio::time::timeout(Duration::from_secs(2), kept.ended()).await;
        kept.end();
    }
    life.send_replace(Life::Ended(code));
}

/// Keeps what the one program of a machine prints.
async fn keep(mut output: UnixStream, kept: Arc<Kept>) {
    let (mut stdout, mut stderr) = (Splitter::default(), Splitter::default());
    let mut exit = None;
    while let Ok(Some(frame)) = wire::receive_async(&mut output).await {
        match frame.kind {
            Kind::Stdout => stdout
                .add(&frame.body)
                .into_iter()
                .for_each(|line| kept.push(Chunk::Stdout(line))),
            Kind::Stderr => stderr
                .add(&frame.body)
                .into_iter()
                .for_each(|line| kept.push(Chunk::Stderr(line))),
            Kind::Exit => {
                exit = Some(frame.code());
                break;
            }
            _ => break,
        }
    }
    if let Some(rest) = stdout.rest() {
        kept.push(Chunk::Stdout(rest));
    }
    if let Some(rest) = stderr.rest() {
        kept.push(Chunk::Stderr(rest));
    }
    kept.push(Chunk::Exit(exit.unwrap_or(128 + 9)));
    kept.end();
}

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
