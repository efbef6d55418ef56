//! Starts a child. The one place in Interlock where a process begins.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use interlock_confine::{
    Ended, Ending, Failed, Orders, Policy, Profile, Report, Resources, TERMINATE, VERSION,
};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout};

use crate::sandbox::Sandbox;
use crate::{Error, Program, Protected};

/// Where programs are looked for, whatever our own environment says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What every program finds in its environment, and nothing else of ours. A read also finds `TMPDIR`.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("PATH", PATH),
    ("LANG", "C.UTF-8"),
    ("HOME", "/nonexistent"),
    ("TERM", "dumb"),
];

/// Memory of each process of a read.
const MEMORY_BYTES: u64 = 4 * 1024 * 1024 * 1024;
/// Processes and threads of a read.
const PROCESSES: u64 = 512;
/// Open files of each process of a read.
const OPEN_FILES: u64 = 4096;
/// The size of a temporary file of a read.
const FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Processor time beyond what the wall-clock limit allows on all processors. It binds only what nobody watches.
const CPU_SLACK_SECONDS: u64 = 5;

/// What a child is held by.
#[derive(Debug, Clone)]
pub(crate) struct Confinement {
    pub(crate) program: PathBuf,
    pub(crate) profile: Profile,
    pub(crate) protected: Arc<Protected>,
    pub(crate) policy: Policy,
    pub(crate) wall: Duration,
    pub(crate) ending: Ending,
}

/// A command that was started. Dropping it closes the control socket, and its supervisor kills everything of it.
#[derive(Debug)]
pub(crate) struct Spawned {
    /// The guard of the command.
    child: Child,
    control: Option<OwnedWriteHalf>,
    reports: Reports,
    pub(crate) sandbox: Sandbox,
}

impl Spawned {
    pub(crate) fn pipes(&mut self) -> Option<(ChildStdout, ChildStderr)> {
        self.child.stdout.take().zip(self.child.stderr.take())
    }

    /// How the command ended. Nothing is lost if it is dropped while it waits.
    pub(crate) async fn ended(&mut self) -> io::Result<Ended> {
        match self.reports.next().await? {
            Report::Ended(ended) => Ok(ended),
            Report::Started(_) | Report::Failed(_) => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Waits for the end of `interlock-confine` itself.
    pub(crate) async fn gone(&mut self) {
        // The status says nothing that was not reported.
        let _ = self.child.wait().await;
    }

    /// Asks the command to end.
    pub(crate) async fn terminate(&mut self) {
        if let Some(control) = &mut self.control {
            // Nothing is left to ask if this fails.
            let _ = control.write_all(&[TERMINATE]).await;
        }
    }

    /// Has the supervisor kill everything of the command.
    pub(crate) fn kill(&mut self) {
        // Its end of the socket sees the end of ours.
        self.control = None;
    }
}

/// What the supervisor says.
#[derive(Debug)]
struct Reports {
    socket: BufReader<OwnedReadHalf>,
    /// The part of a line that was read before whoever waited for it stopped waiting.
    line: Vec<u8>,
}

impl Reports {
    fn new(socket: OwnedReadHalf) -> Self {
        Self {
            socket: BufReader::new(socket),
            line: Vec::new(),
        }
    }

    async fn next(&mut self) -> io::Result<Report> {
        self.socket.read_until(b'\n', &mut self.line).await?;
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_slice(&line)?)
    }
}

/// Starts a program under a supervisor, and returns when every stage of it runs in its sandbox.
pub(crate) async fn spawn(program: &Program, confinement: &Confinement) -> Result<Spawned, Error> {
    let failed = |cause: io::Error| Error::Spawn {
        program: program.name().to_owned(),
        cause,
    };
    let folder = program.folder().unwrap_or_else(|| Path::new("/"));
    if let Err(cause) = folder.metadata() {
        return Err(Error::Folder {
            path: folder.to_owned(),
            cause,
        });
    }
    let (ours, theirs) = StdUnixStream::pair().map_err(failed)?;
    ours.set_nonblocking(true).map_err(failed)?;
    let (reports, mut control) = UnixStream::from_std(ours).map_err(failed)?.into_split();
    let child = start(&confinement.program, theirs.into()).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotFound => Error::NoConfine {
            path: confinement.program.clone(),
        },
        _ => failed(cause),
    })?;
    let mut orders = serde_json::to_vec(&orders(program, folder, confinement))
        .map_err(|error| failed(io::Error::other(error)))?;
    orders.push(b'\n');
    control.write_all(&orders).await.map_err(failed)?;
    let mut reports = Reports::new(reports);
    let first = reports.next().await.map_err(|error| Error::Confine {
        reason: format!("it ended without a report ({error})"),
    })?;
    match first {
        Report::Started(held) => Ok(Spawned {
            child,
            control: Some(control),
            reports,
            sandbox: Sandbox::new(confinement.profile, program.sockets(), held),
        }),
        Report::Failed(why) => Err(match why {
            Failed::NotFound { program } => Error::NotFound { program },
            Failed::Denied { program, cause } => Error::Denied {
                program,
                cause: io::Error::new(io::ErrorKind::PermissionDenied, cause),
            },
            Failed::Spawn { program, cause } => Error::Spawn {
                program,
                cause: io::Error::other(cause),
            },
            Failed::NoSandbox { reason } => Error::NoSandbox { reason },
            Failed::Orders { reason } => Error::Confine { reason },
        }),
        Report::Ended(_) => Err(Error::Confine {
            reason: "it ended before it began".to_owned(),
        }),
    }
}

fn orders(program: &Program, folder: &Path, confinement: &Confinement) -> Orders {
    let env = ENVIRONMENT
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .chain(program.env().clone())
        .collect();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let processors = u64::try_from(processors).unwrap_or(u64::MAX);
    Orders {
        version: VERSION,
        profile: confinement.profile,
        policy: confinement.policy,
        folder: folder.to_owned(),
        env,
        stages: program.stages().to_vec(),
        protected: confinement.protected.paths().to_vec(),
        temporary: std::env::temp_dir(),
        resources: Resources {
            cpu_seconds: confinement
                .wall
                .as_secs()
                .saturating_add(1)
                .saturating_mul(processors)
                .saturating_add(CPU_SLACK_SECONDS),
            memory_bytes: MEMORY_BYTES,
            processes: PROCESSES,
            open_files: OPEN_FILES,
            file_bytes: FILE_BYTES,
        },
        ending: confinement.ending,
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "here, and nowhere else, a process begins: for a permit, or for one of our own fixed questions"
)]
fn start(confine: &Path, control: OwnedFd) -> io::Result<Child> {
    tokio::process::Command::new(confine)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(control))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}
