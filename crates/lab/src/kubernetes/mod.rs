//! A Kubernetes cluster and its API.
//!
//! Objects live in a [`store`] with versions; controllers look at them many times a second and move the world towards what
//! was asked for, as the real ones do: a deployment makes replica sets, these make pods, pods start, print and end.

mod api;
mod build;
mod deployments;
mod discovery;
mod kind;
mod logs;
mod patch;
mod pods;
mod select;
mod spec;
mod status;
mod store;
mod table;
mod watching;
mod workloads;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::spec::{ClusterSpec, NodeSpec, WorkloadKind, WorkloadSpec};
use self::store::Store;
use crate::docker::wire::Door;
use crate::tls::Identity;

/// How often controllers look.
const TICK: Duration = Duration::from_millis(40);

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// May do everything.
    Admin,
    /// May only read.
    Viewer,
}

/// What can be seen of a pod.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PodView {
    /// The namespace that it is in.
    pub namespace: String,
    /// What it is called.
    pub name: String,
    /// The node that it is on.
    pub node: Option<String>,
    /// What `kubectl get pods` says about it: `Running`, `ImagePullBackOff`.
    pub status: String,
    /// Whether it is ready.
    pub ready: bool,
}

/// A cluster. Cheap to clone; ends with the last one.
#[derive(Debug, Clone)]
pub struct Kubernetes {
    core: Arc<Core>,
    identity: Identity,
    door: Arc<Door>,
    proxy: Arc<Door>,
    _alive: Arc<DropGuard>,
}

/// What the API and the controllers share.
#[derive(Debug)]
struct Core {
    store: Mutex<Store>,
    admin: String,
    viewer: String,
    alive: CancellationToken,
}

impl Core {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kubernetes {
    /// Builds the cluster and serves its API on a free port of loopback. Everything in it goes `speed` times as fast.
    pub async fn start(spec: ClusterSpec, speed: f64) -> std::io::Result<Self> {
        let alive = CancellationToken::new();
        let core = Arc::new(Core {
            store: Mutex::new(build::cluster(&spec, speed)),
            admin: token(),
            viewer: token(),
            alive: alive.clone(),
        });
        let identity = Identity::generate()?;
        let door = Door::with_identity(None, Some(identity.clone()), alive.clone()).await?;
        door.admit(&api::router(&core, None));
        let proxy = Door::open(None, alive.clone()).await?;
        proxy.admit(&api::router(&core, Some(Role::Admin)));
        tokio::spawn(control(Arc::clone(&core)));
        let guard = Arc::new(alive.drop_guard());
        Ok(Self {
            core,
            identity,
            door: Arc::new(door),
            proxy: Arc::new(proxy),
            _alive: guard,
        })
    }

    /// How its API is known over TLS.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A configuration for `kubectl`, as its administrator.
    pub fn kubeconfig(&self) -> String {
        let cluster = serde_json::json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "k3s", "cluster": {
                "server": format!("https://{}", self.address()),
                "certificate-authority-data": STANDARD.encode(self.identity.certificate()),
            }}],
            "users": [{ "name": "admin", "user": { "token": self.token(Role::Admin) } }],
            "contexts": [{ "name": "k3s", "context": { "cluster": "k3s", "user": "admin" } }],
            "current-context": "k3s",
        });
        format!("{cluster:#}\n")
    }

    /// Where its API is, on loopback: TLS and plain HTTP, with bearer tokens.
    pub fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Where its API needs no token, as behind `kubectl proxy`: for `kubectl`, which sends none over plain HTTP.
    pub fn proxy_address(&self) -> SocketAddr {
        self.proxy.address()
    }

    /// The bearer token of this role.
    pub fn token(&self, role: Role) -> &str {
        match role {
            Role::Admin => &self.core.admin,
            Role::Viewer => &self.core.viewer,
        }
    }

    /// Its pods.
    pub fn pods(&self) -> Vec<PodView> {
        pods::views(&self.core.store())
    }

    /// A node stops or begins to answer. Pods on one that does not are not ready, and are replaced.
    pub fn set_node_ready(&self, node: &str, ready: bool) {
        build::set_node_ready(&mut self.core.store(), node, ready);
    }

    /// Gives a workload another image, as a deployment of a new version does. Whether there is such a workload.
    pub fn set_image(&self, namespace: &str, workload: &str, image: &str) -> bool {
        build::set_image(&mut self.core.store(), namespace, workload, image)
    }

    /// The API stops answering.
    pub fn shut(&self) {
        self.door.shut();
        self.proxy.shut();
    }

    /// The API answers again.
    pub fn open(&self) {
        self.door.admit(&api::router(&self.core, None));
        self.proxy.admit(&api::router(&self.core, Some(Role::Admin)));
    }
}

async fn control(core: Arc<Core>) {
    let alive = core.alive.clone();
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    while alive.run_until_cancelled(tick.tick()).await.is_some() {
        let mut store = core.store();
        let now = Timestamp::now();
        deployments::control(&mut store);
        workloads::control(&mut store);
        pods::control(&mut store, now);
    }
}

/// A token nobody can guess.
fn token() -> String {
    use std::fmt::Write as _;
    let bytes: [u8; 24] = rand::random();
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
