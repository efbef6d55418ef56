//! Docker engines: their containers run in machines of their own; the Engine API over HTTP.
//!
//! A container is a machine with one program. Its image gives the program and its files, so that a bad image really crashes
//! and the engine really restarts it, later and later.

mod api;
pub mod cli;
mod container;
mod core;
mod event;
mod image;
mod lifecycle;
mod log;
mod spec;
mod supervise;
pub(crate) mod wire;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::spec::{
    ContainerSpec, HealthSpec, HostSpec, ImageSpec, PolicyError, PortSpec, Registry, RestartPolicy,
};
use crate::docker::core::Core;
use crate::docker::wire::Door;
use crate::machine::{Machine, Machines};

/// Why an engine did not do what it was told.
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
    /// The machine of a container said no.
    #[error(transparent)]
    Machine(#[from] crate::machine::Error),
    /// There is no such container.
    #[error("No such container: {0}")]
    NoContainer(String),
    /// There is no such image.
    #[error("No such image: {0}")]
    NoImage(String),
    /// It cannot be done in the state that it is in.
    #[error("{0}")]
    Conflict(String),
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
}

/// What a container does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerState {
    /// It never ran.
    Created,
    /// It runs.
    Running,
    /// It ended and is about to be started again.
    Restarting,
    /// It ended.
    Exited,
}

impl ContainerState {
    /// The word that the API uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Restarting => "restarting",
            Self::Exited => "exited",
        }
    }
}

/// What can be seen of a container.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ContainerView {
    /// What it is called.
    pub name: String,
    /// Its id.
    pub id: String,
    /// The image that it was made from.
    pub image: String,
    /// What it does.
    pub state: ContainerState,
    /// How often it was started again by itself.
    pub restart_count: u32,
    /// When it began to run last.
    pub started_at: Option<Timestamp>,
    /// How it ended last; 0 while it runs.
    pub exit_code: i32,
}

/// The Docker engine of one host. Cheap to clone; its API ends with the last one.
#[derive(Debug, Clone)]
pub struct Engine {
    core: Arc<Core>,
    door: Arc<Door>,
    _alive: Arc<DropGuard>,
}

impl Engine {
    /// Starts an engine with its containers, and its API on a free port of loopback and on a socket.
    pub async fn start(machines: Arc<Machines>, host: HostSpec) -> Result<Self, Error> {
        let alive = CancellationToken::new();
        let guard = Arc::new(alive.clone().drop_guard());
        let core = Core::new(machines, host, alive.clone())?;
        let door = Door::open(Some(core.socket_path()), alive)
            .await
            .map_err(|cause| Error::Io {
                what: "listening".to_owned(),
                cause,
            })?;
        let engine = Self {
            core,
            door: Arc::new(door),
            _alive: guard,
        };
        engine.door.admit(&api::router(&engine.core));
        engine.core.start_all().await;
        Ok(engine)
    }

    /// The name of its host.
    pub fn host(&self) -> &str {
        &self.core.name
    }

    /// Where its API is: plain HTTP on loopback.
    pub fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Its socket, to be given to a guest as `/run/docker.sock`.
    pub fn socket(&self) -> PathBuf {
        self.core.socket_path()
    }

    /// Its containers, by name.
    pub fn containers(&self) -> Vec<ContainerView> {
        self.core.views()
    }

    /// The machine of a container that runs.
    pub fn machine(&self, name: &str) -> Option<Machine> {
        self.core.running_machine(name)
    }

    /// Puts a container of the same name and settings in the place of another, made from this image, and starts it: what
    /// happens when a new version is deployed. The image is pulled if it is not there.
    pub async fn deploy(&self, name: &str, image: &str) -> Result<(), Error> {
        self.core.deploy(name, image).await
    }

    /// The host goes down: its containers are killed, its API does not answer any more.
    pub async fn host_down(&self) {
        self.door.shut();
        self.core.power_off().await;
    }

    /// The host comes up: containers start again as their restart policy says.
    pub async fn host_up(&self) {
        self.door.admit(&api::router(&self.core));
        self.core.power_on().await;
    }
}

/// Where a socket is that an engine listens on.
fn socket_in(folder: &Path) -> PathBuf {
    folder.join("docker.sock")
}
