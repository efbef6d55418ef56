//! A Proxmox Mail Gateway and its API.
//!
//! Mail flows through it by the hour of the day; statistics over any span of time agree with each other. When the server
//! behind it does not answer, its queue really grows, and empties when somebody flushes it after that.

mod api;
mod node;
mod queue;
mod session;
mod statistics;
mod traffic;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::node::Services;
use self::queue::Queues;
use self::session::Keys;
use crate::docker::wire::Door;

/// Who signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// `root@pam`, who may do everything.
    Root,
    /// `audit@pmg`, who may only read.
    Auditor,
}

impl Role {
    /// The name to sign in with.
    pub const fn user(self) -> &'static str {
        match self {
            Self::Root => "root@pam",
            Self::Auditor => "audit@pmg",
        }
    }
}

/// A mail gateway. Cheap to clone; ends with the last one.
#[derive(Debug, Clone)]
pub struct Gateway {
    core: Arc<Core>,
    door: Arc<Door>,
    _alive: Arc<DropGuard>,
}

/// What the API works on.
#[derive(Debug)]
struct Core {
    node: String,
    began: Timestamp,
    keys: Keys,
    queues: Mutex<Queues>,
    services: Mutex<Services>,
}

impl Core {
    /// The queues as they are now.
    fn queues(&self) -> MutexGuard<'_, Queues> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.go_on(Timestamp::now());
        queues
    }

    fn services(&self) -> MutexGuard<'_, Services> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gateway {
    /// Starts a gateway on this node and serves its API on a free port of loopback, under `/api2/json`.
    pub async fn start(node: &str) -> std::io::Result<Self> {
        let alive = CancellationToken::new();
        let now = Timestamp::now();
        let core = Arc::new(Core {
            node: node.to_owned(),
            began: now,
            keys: Keys::new(),
            queues: Mutex::new(Queues::new(now)),
            services: Mutex::new(Services::new()),
        });
        let door = Door::open(None, alive.clone()).await?;
        door.admit(&api::router(&core));
        Ok(Self {
            core,
            door: Arc::new(door),
            _alive: Arc::new(alive.drop_guard()),
        })
    }

    /// Where its API is: plain HTTP on loopback.
    pub fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// The name of its node.
    pub fn node(&self) -> &str {
        &self.core.node
    }

    /// The password of this role.
    pub fn password(&self, role: Role) -> &str {
        self.core.keys.password(role)
    }

    /// How many messages wait.
    pub fn queued(&self) -> usize {
        self.core.queues().len()
    }

    /// The server behind it stops answering, and so many messages wait for it already. More come all the time.
    pub fn fill_queue(&self, messages: usize) {
        let mut queues = self.core.queues();
        queues.set_relay_up(false);
        queues.fill(messages, Timestamp::now());
    }

    /// The server behind it answers, or does not. Messages that wait are delivered when somebody flushes the queue.
    pub fn set_relay_up(&self, up: bool) {
        self.core.queues().set_relay_up(up);
    }

    /// The server behind it answers, and nothing waits any more.
    pub fn clear_queue(&self) {
        let mut queues = self.core.queues();
        queues.set_relay_up(true);
        queues.clear();
    }

    /// The gateway stops answering.
    pub fn shut(&self) {
        self.door.shut();
    }

    /// The gateway answers again.
    pub fn open(&self) {
        self.door.admit(&api::router(&self.core));
    }
}
