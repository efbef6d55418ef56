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
use super::wire::{self, Ask, Config, FileHead, Frame, Kind, Request};
use super::{Chunk, Error, Exec, Isolation, Machine, Machines, Runs, Spec, Stop, Wish, keeper, places};

/// How long the keeper may take to get ready, and a machine to start.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
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
    pub(super) async fn connect(&self, name: &str) -> io::Result<UnixStream> {
        UnixStream::connect(places::socket_path(self.0.as_raw_fd(), name)).await
    }
}

/// Where a machine is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Runs,
    Ended(i32),
}

/// What a machine is to the lab.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) folder: Arc<Folder>,
    pub(super) life: watch::Receiver<Life>,
    pub(super) kill: mpsc::UnboundedSender<()>,
    pub(super) kept: Option<Arc<Kept>>,
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
        .stderr(Stdio::null())
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

pub(super) fn done(frame: Option<Frame>) -> io::Result<()> {
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
