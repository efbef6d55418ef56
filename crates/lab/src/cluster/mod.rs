//! The Proxmox cluster: its nodes, guests, storages and tasks, and what may be done to them.
//!
//! A guest is where its file is in `/etc/pve`, which all nodes share. What is done to it is a task with a name and a log;
//! its machine really starts, stops and comes back with the same disk on another node.

mod agent;
pub mod cli;
mod failure;
mod folder;
mod guest_config;
mod migrate;
mod numbers;
mod power;
mod snapshot;
mod socket;
mod state;
mod tasks;
mod upid;
mod views;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::{StreamExt as _, stream};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use agent::{AgentError, ExecStatus};
pub use failure::Failure;
pub use folder::Located;
pub(crate) use folder::folder_of;
pub use guest_config::{GuestConfig, Lines};
pub use migrate::Migration;
pub(crate) use numbers::{part as part_of, ratio as fraction};
pub use power::Power;
pub use state::{Backup, GuestStatus, Health, LogLine};
pub use tasks::{Outcome, Task};
pub use upid::{NoUpid, TaskKind, Upid};
pub(crate) use views::node_load;
pub use views::{GuestView, NodeView, StorageView};

use crate::machine::{self, Machine, Machines};
use crate::topology::{Guest, Node, Storage, Topology};
use folder::Folder;
use state::{GuestState, NodeState, State};

/// Where `pct` and `qm` find the cluster, in a node.
const SOCKET: &str = "/run/pve-lab.sock";

/// How many machines are started at the same time.
const AT_ONCE: usize = 8;

/// Why the cluster did not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A machine did not.
    #[error(transparent)]
    Machine(#[from] machine::Error),
    /// The system said no.
    #[error("{what}: {cause}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// There is no such node.
    #[error("no such cluster node '{0}'")]
    NoNode(String),
    /// There is no such guest.
    #[error("there is no guest {0}")]
    NoGuest(u32),
    /// There is no such task.
    #[error("no such task: {0}")]
    NoTask(String),
    /// The node of the guest cannot be reached.
    #[error("No route to host")]
    Offline(String),
    /// It cannot be done as things are, in the words of Proxmox.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| Self::Io {
            what: what.into(),
            cause,
        }
    }
}

/// How the cluster behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// How much faster than a real cluster its tasks are.
    pub speed: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { speed: 1.0 }
    }
}

/// Something with a machine of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// A node.
    Node(String),
    /// A guest.
    Guest(u32),
}

/// The cluster. Cheap to clone; when the last one is dropped its sockets are closed. Its machines belong to [`Machines`].
#[derive(Debug, Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    speed: f64,
    machines: Arc<Machines>,
    folder: Folder,
    storages: Vec<Storage>,
    state: Mutex<State>,
    _sockets: DropGuard,
    _place: tempfile::TempDir,
}

/// Seconds of the epoch.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

impl Cluster {
    /// Builds a cluster and starts its nodes and the guests that should run.
    pub async fn start(machines: Arc<Machines>, topology: Topology, options: Options) -> Result<Self, Error> {
        let place = tempfile::Builder::new()
            .prefix("pve")
            .tempdir()
            .map_err(Error::io("the cluster's folder"))?;
        let folder = Folder::create(place.path().join("pve"), &topology).map_err(Error::io("/etc/pve"))?;
        let closing = CancellationToken::new();
        let mut state = State::default();
        let mut sockets = BTreeMap::new();
        for node in topology.nodes {
            let socket = place.path().join(format!("{}.sock", state.nodes.len()));
            sockets.insert(node.name.clone(), socket.clone());
            let (name, node) = node_state(node, folder.root().to_owned(), socket);
            state.nodes.insert(name, node);
        }
        let running: Vec<u32> = topology
            .guests
            .iter()
            .filter(|guest| guest.running)
            .map(|guest| guest.vmid)
            .collect();
        for guest in topology.guests {
            state.guests.insert(guest.vmid, guest_state(guest));
        }
        let cluster = Self {
            inner: Arc::new(Inner {
                name: topology.name,
                speed: options.speed.clamp(0.01, 10_000.0),
                machines,
                folder,
                storages: topology.storages,
                state: Mutex::new(state),
                _sockets: closing.clone().drop_guard(),
                _place: place,
            }),
        };
        for (node, path) in sockets {
            socket::listen(&cluster, node, &path, closing.clone())?;
        }
        cluster.write_members();
        cluster.boot(running).await?;
        Ok(cluster)
    }

    async fn boot(&self, running: Vec<u32>) -> Result<(), Error> {
        let nodes: Vec<String> = self.with(|state| state.nodes.keys().cloned().collect());
        let places = nodes
            .into_iter()
            .map(Place::Node)
            .chain(running.into_iter().map(Place::Guest));
        let results: Vec<Result<(), Error>> = stream::iter(places)
            .map(|place| async move {
                match place {
                    Place::Node(name) => self.boot_node(&name).await,
                    Place::Guest(vmid) => self.boot_guest(vmid).await,
                }
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        results.into_iter().collect()
    }

    /// Does something with the state. No task can hold it for longer than that.
    fn with<T>(&self, what: impl FnOnce(&mut State) -> T) -> T {
        what(&mut self.inner.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn speed(&self) -> f64 {
        self.inner.speed
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The machine of a node or a guest, if it runs.
    pub fn machine(&self, place: &Place) -> Option<Machine> {
        self.with(|state| match place {
            Place::Node(name) => state.nodes.get(name)?.machine.clone(),
            Place::Guest(vmid) => state.guests.get(vmid)?.machine.clone(),
        })
    }

    /// Where a guest is and how it is configured.
    pub fn locate(&self, vmid: u32) -> Result<Located, Error> {
        let known = self.with(|state| state.guests.contains_key(&vmid));
        known
            .then(|| self.inner.folder.locate(vmid))
            .flatten()
            .ok_or(Error::NoGuest(vmid))
    }

    /// Writes the configuration of a guest.
    pub fn configure(&self, vmid: u32, config: &GuestConfig) -> Result<(), Error> {
        let located = self.locate(vmid)?;
        self.inner
            .folder
            .write(&located.node, located.kind, vmid, config)
            .map_err(Error::io("the configuration of a guest"))
    }

    /// Writes the configuration of a virtual machine, as a task.
    pub fn configure_later(&self, vmid: u32, config: GuestConfig, user: &str) -> Result<Upid, Error> {
        let located = self.locate(vmid)?;
        let cluster = self.clone();
        let id = vmid.to_string();
        Ok(
            self.begin(&located.node, TaskKind::QmConfig, &id, user, |_| async move {
                let written = cluster.configure(vmid, &config);
                written.map_err(|error| error.to_string())
            }),
        )
    }

    /// How a node is.
    pub fn health(&self, node: &str) -> Option<Health> {
        self.with(|state| state.nodes.get(node).map(|node| node.health))
    }

    /// The names of all nodes.
    pub fn node_names(&self) -> Vec<String> {
        self.with(|state| state.nodes.keys().cloned().collect())
    }

    /// The log of the cluster, oldest first.
    pub fn log(&self) -> Vec<LogLine> {
        self.with(|state| state.log.clone())
    }

    /// The backups, oldest first.
    pub fn backups(&self) -> Vec<Backup> {
        self.with(|state| state.backups.clone())
    }
}

fn node_state(node: Node, pve: PathBuf, socket: PathBuf) -> (String, NodeState) {
    let mut spec = node.spec;
    spec.shared.push((PathBuf::from("/etc/pve"), pve));
    spec.sockets.push((PathBuf::from(SOCKET), socket));
    let state = NodeState {
        cpus: node.cpus,
        memory_bytes: node.memory_bytes,
        spec,
        machine: None,
        health: Health::Online,
        health_since: 0,
        booted_at: now() - numbers::age(&node.name),
    };
    (node.name, state)
}

fn guest_state(guest: Guest) -> GuestState {
    GuestState {
        machine: None,
        disk_used: 0,
        generation: 0,
        paused: false,
        history: vec![(now() - numbers::age(&guest.name), guest.running)],
        turn: Arc::default(),
        spec: guest.spec,
    }
}
