//! The lab as a whole: starts everything, measures it, and ends it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::access::{self, Access};
use crate::cluster::{self, Cluster, Place};
use crate::docker::{self, Engine};
use crate::kubernetes::{self, Kubernetes};
use crate::machine::{self, Isolation, Machine, Machines, Wish};
use crate::mail::{self, Gateway};
use crate::prometheus::{self, Prometheus, PromqlError};
use crate::{control, homelab, proxmox, rules, scrape, secret, ssh};

/// The node whose disk dies.
pub(crate) const FAILING_NODE: &str = "minipc";
/// What somebody wants on the dashboard.
pub(crate) const WANTED_ENTRY: &str = "InfluxDB";
/// How often everything is measured.
const SCRAPE: Duration = Duration::from_millis(500);
/// How long an alert may take to fire.
const ALERT_WITHIN: Duration = Duration::from_secs(10);

/// Why the lab does not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A machine.
    #[error(transparent)]
    Machine(#[from] machine::Error),
    /// The cluster.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// A Docker engine.
    #[error(transparent)]
    Docker(#[from] docker::Error),
    /// A rule of the lab's own.
    #[error("a rule of the lab is wrong: {0}")]
    Rule(#[from] PromqlError),
    /// The system said no.
    #[error("{what}: {cause}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// Something that ought to be there is not.
    #[error("{0} is not there, or does not run")]
    Missing(String),
    /// A command of the lab's own failed.
    #[error("`{command}` failed: {message}")]
    Command {
        /// The command.
        command: String,
        /// What it said.
        message: String,
    },
    /// Something that ought to happen did not.
    #[error("waited too long for {0}")]
    Stuck(String),
}

/// How the lab is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// A binary that calls [`machine::guest_main`] first.
    pub program: PathBuf,
    /// Where keys and sockets are put. Must exist.
    pub folder: PathBuf,
    /// How much faster than a real cluster its tasks are.
    pub speed: f64,
    /// The port of the Proxmox API and of the lab's control; left out, a free one.
    pub port: Option<u16>,
    /// How machines are kept apart.
    pub isolation: Wish,
}

/// The lab. Cheap to clone; the last one to be dropped ends it.
#[derive(Clone)]
pub struct Lab {
    inner: Arc<Inner>,
}

struct Inner {
    machines: Arc<Machines>,
    cluster: Cluster,
    engines: Vec<Engine>,
    kubernetes: Kubernetes,
    mail: Gateway,
    prometheus: Prometheus,
    access: Access,
    wants_entry: AtomicBool,
}

/// Ends the lab when it is dropped.
pub struct Running {
    lab: Lab,
    _stop: DropGuard,
}
