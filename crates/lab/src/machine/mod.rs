//! Machines: private roots with real processes. A node, a guest or a container is one.

mod etc;
mod folders;
mod handle;
mod host;
mod init;
mod isolate;
mod journal;
mod journalctl;
mod keeper;
mod kept;
mod places;
mod service;
mod systemctl;
mod wire;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

/// Why a machine did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system said no.
    #[error("{what}: {cause}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It does not run.
    #[error("`{0}` is not running")]
    Down(String),
    /// It did not answer in time.
    #[error("`{0}` did not answer in time")]
    TimedOut(String),
}

/// How machines are kept apart from the system that they run on.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "isolation", rename_all = "snake_case")]
pub enum Isolation {
    /// Namespaces of their own for users, files, processes, network and names.
    Namespaces,
    /// Plain folders in which only programs of the lab's own run, because namespaces are not to be had.
    Folders {
        /// Why.
        why: String,
    },
}

/// What a machine is made of. Files are written at the first start only: afterwards its disk is its own.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// What it is called: its host name, and the name of its disk. Unique in the lab.
    pub name: String,
    /// Its address, on its own loopback device.
    pub address: Option<Ipv4Addr>,
    /// The size of its root disk.
    pub disk_bytes: u64,
    /// Further volumes of a size of their own, such as `/var/log`: writing more than that fails as on a full disk.
    pub volumes: Vec<(PathBuf, u64)>,
    /// The files that it has besides the programs of the system.
    pub files: Vec<File>,
    /// What it runs.
    pub runs: Runs,
    /// Variables for everything that runs in it.
    pub env: BTreeMap<String, String>,
    /// Sockets of the lab that programs in it may talk to: where in the machine, and where outside.
    pub sockets: Vec<(PathBuf, PathBuf)>,
    /// Folders that it shares with other machines: where in the machine, and where outside.
    pub shared: Vec<(PathBuf, PathBuf)>,
}

/// What runs in a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Runs {
    /// A small init that supervises the units in `/etc/systemd/system` and starts those that are enabled.
    #[default]
    Units,
    /// One program, as in a container: when it ends, the machine ends.
    Program(Vec<String>),
}

/// A file of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where.
    pub path: PathBuf,
    /// What is in it.
    pub content: Vec<u8>,
    /// Its permissions.
    pub mode: u32,
}

/// A program to run in a machine.
#[derive(Debug, Clone, Default)]
pub struct Exec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it reads.
    pub stdin: Vec<u8>,
    /// Further variables.
    pub env: BTreeMap<String, String>,
    /// Where it runs; left out, `/root`.
    pub folder: Option<PathBuf>,
    /// How long it may run; then it is killed with everything it started.
    pub timeout: Option<Duration>,
}

/// What a running program gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chunk {
    /// It printed this.
    Stdout(Vec<u8>),
    /// It complained about this.
    Stderr(Vec<u8>),
    /// It ended: its exit code, or 128 and the number of the signal.
    Exit(i32),
}

/// What a program came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Finished {
    /// Its exit code, or 128 and the number of the signal.
    pub code: i32,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
}

/// How full a disk is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Where it is mounted.
    pub path: PathBuf,
    /// Its size.
    pub total: u64,
    /// How much of it is used.
    pub used: u64,
}

/// How a machine is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Its processes are asked to end, and killed after this long.
    Ask(Duration),
    /// Everything in it is killed.
    Kill,
}

/// Makes machines, and keeps their disks as long as it lives. Dropping it ends all of them.
#[derive(Debug)]
pub struct Machines {
    isolation: Isolation,
    folder: Arc<host::Folder>,
    _keeper: host::Keeper,
}

impl Machines {
    /// Gets ready. `program` is a binary that calls [`guest_main`] first; `folder` is where disks and sockets are.
    pub async fn new(program: PathBuf, folder: PathBuf, wish: Wish) -> Result<Self, Error> {
        Self::begin(program, folder, wish).await
    }

    /// How they are kept apart.
    pub const fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// Starts a machine: with a fresh disk the first time, with its own later.
    pub async fn start(&self, spec: &Spec) -> Result<Machine, Error> {
        self.begin_machine(spec).await
    }

    /// Throws the disk of a machine that does not run away.
    pub async fn discard(&self, name: &str) -> Result<(), Error> {
        self.throw_away(name).await
    }
}

/// Which isolation is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wish {
    /// Namespaces, or folders where they are not to be had.
    #[default]
    Best,
    /// Folders, whatever there is: for tests.
    Folders,
}

/// A machine that runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Machine {
    name: String,
    inner: Arc<host::Inner>,
}

impl Machine {
    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs a program in it, to its end. At most 16 MB of each stream are kept. A program that ran too long was killed:
    /// its code is 137.
    pub async fn exec(&self, exec: Exec) -> Result<Finished, Error> {
        self.run_to_end(exec).await
    }

    /// Runs a program in it and passes on what it prints as it comes. Dropping the receiver kills the program.
    pub async fn stream(&self, exec: Exec) -> Result<mpsc::Receiver<Chunk>, Error> {
        self.run(exec).await
    }

    /// Connects to a port in its own network, sends this, and gives back what comes, to its end or this much of it.
    pub async fn talk(&self, port: u16, request: &[u8], most: usize) -> Result<Vec<u8>, Error> {
        self.talk_to(port, request, most).await
    }

    /// The content of a file in it.
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.read_file(path).await
    }

    /// Writes a file in it, and the folders above it.
    pub async fn write(&self, path: &str, content: &[u8]) -> Result<(), Error> {
        self.write_file(path, content).await
    }

    /// How full its disks are; the root first.
    pub async fn usage(&self) -> Result<Vec<Usage>, Error> {
        self.disk_usage().await
    }

    /// The output of its one program ([`Runs::Program`]) since the machine began, line by line as it comes. Of a long one
    /// the beginning and the end are kept, also after the machine ended.
    pub fn output(&self) -> mpsc::Receiver<Chunk> {
        self.follow_output()
    }

    /// Waits for its end; the exit code of its one program, where it has one.
    pub async fn ended(&self) -> Option<i32> {
        self.wait().await
    }

    /// Ends it.
    pub async fn stop(&self, how: Stop) {
        self.end(how).await;
    }
}

/// What runs inside of machines: init, `systemctl`, `journalctl`, the lab's services, `pct` and `qm`. Nothing if this
/// process was not started for that. Called first in `main`, before any thread begins.
pub fn guest_main() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let called = arguments.next()?;
    let name = called.rsplit('/').next().unwrap_or(&called);
    let rest: Vec<String> = arguments.collect();
    match (name, rest.as_slice()) {
        ("systemctl", _) => Some(systemctl::main(&rest)),
        ("journalctl", _) => Some(journalctl::main(&rest)),
        ("lab-service", _) => Some(service::main(&rest)),
        ("pct" | "qm", _) => Some(crate::cluster::cli::main(name, &rest)),
        ("docker", _) => Some(crate::docker::cli::main(&rest)),
        (_, [word, mode, rest @ ..]) if word == keeper::WORD => Some(match mode.as_str() {
            "keeper" => keeper::main(rest),
            "init" => init::main(),
            _ => ExitCode::from(2),
        }),
        _ => None,
    }
}
