//! The lab as a whole: starts everything, measures it, and ends it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::try_join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::access::{self, Access};
use crate::cluster::{self, Cluster, Place};
use crate::control::Control;
use crate::docker::{self, Engine};
use crate::incident::Incident;
use crate::kubernetes::{self, Kubernetes};
use crate::machine::{self, Machine, Machines, Wish};
use crate::mail::{self, Gateway};
use crate::prometheus::{self, Labels, Prometheus, PromqlError, Sample, State};
use crate::topology::GuestKind;
use crate::{homelab, proxmox, rules, scrape, ssh};

/// Where programs look for Docker.
const DOCKER_SOCKET: &str = "/run/docker.sock";
/// How often something is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(50);
/// The node whose disk dies.
pub(crate) const FAILING_NODE: &str = "minipc";
/// What somebody wants on the dashboard.
pub(crate) const WANTED_ENTRY: &str = "InfluxDB";
/// How often everything is measured.
const SCRAPE: Duration = Duration::from_millis(500);
/// How long an alert may take to fire.
const ALERT_WITHIN: Duration = Duration::from_secs(30);

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
    /// SSH.
    #[error(transparent)]
    Ssh(#[from] ssh::Error),
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
    /// Another lab has the folder.
    #[error("another lab is running in {0}: end it first, or give this one another folder")]
    Busy(PathBuf),
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
    cluster: Cluster,
    engines: Vec<Engine>,
    prometheus: Prometheus,
    access: Access,
    wants_entry: AtomicBool,
    /// What was measured the last time.
    measured: Mutex<BTreeSet<Labels>>,
    stop: CancellationToken,
    _kubernetes: Kubernetes,
    _mail: Gateway,
    _servers: Servers,
    // Last: what runs in machines ends after everything that speaks to them.
    _machines: Arc<Machines>,
    _lock: std::fs::File,
}

/// What listens as long as it is kept.
struct Servers {
    _proxmox: proxmox::Server,
    _ssh: Vec<ssh::Server>,
    _prometheus: prometheus::Serving,
}

/// A lab that somebody else keeps.
#[derive(Clone)]
pub(crate) struct WeakLab(Weak<Inner>);

impl WeakLab {
    /// The lab, as long as it is kept.
    pub(crate) fn upgrade(&self) -> Option<Lab> {
        self.0.upgrade().map(|inner| Lab { inner })
    }
}

impl std::fmt::Debug for Lab {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lab")
            .field("cluster", &self.inner.cluster.name())
            .finish_non_exhaustive()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Error {
    move |cause| Error::Io {
        what: what.into(),
        cause,
    }
}

impl Lab {
    /// Starts everything, with a day of history.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let Options {
            program,
            folder,
            speed,
            port,
            isolation,
        } = options;
        let lock = only_one(&folder)?;
        let machines = Arc::new(Machines::new(program, folder.clone(), isolation).await?);
        let mut topology = homelab::topology();
        let engines = try_join_all(homelab::docker_hosts().into_iter().map(|host| {
            let machines = Arc::clone(&machines);
            Engine::start(machines, host)
        }))
        .await?;
        for engine in &engines {
            // Programs in the guest find the engine where programs look for it.
            if let Some(guest) = topology
                .guests
                .iter_mut()
                .find(|guest| guest.name == engine.host())
            {
                guest
                    .spec
                    .sockets
                    .push((PathBuf::from(DOCKER_SOCKET), engine.socket()));
            }
        }
        let cluster = Cluster::start(Arc::clone(&machines), topology, cluster::Options { speed }).await?;
        let kubernetes = Kubernetes::start(kubernetes::ClusterSpec::k3s(), speed)
            .await
            .map_err(io("the Kubernetes API"))?;
        let mail = Gateway::start("mailgw")
            .await
            .map_err(io("the Mail Gateway API"))?;
        let prometheus = Prometheus::new(rules::rules()?);
        let credentials = proxmox::Credentials::generate();
        let proxmox = proxmox::serve(cluster.clone(), credentials.clone(), port.unwrap_or(0))
            .await
            .map_err(io("the Proxmox VE API"))?;
        let metrics = prometheus.serve().await.map_err(io("the Prometheus API"))?;
        let keys = ssh::Access::generate()?;
        let nodes: Vec<String> = cluster.nodes().await.into_iter().map(|node| node.name).collect();
        let ssh = try_join_all(
            nodes
                .iter()
                .map(|node| ssh::serve(cluster.clone(), node, &keys, 0)),
        )
        .await?;
        let control = Control::new().await?;
        let access = Access {
            isolation: machines.isolation().clone(),
            control: control.access(),
            proxmox: access::Proxmox::new(&proxmox, &credentials),
            ssh: sign_in(&folder, &keys, &ssh)?,
            docker: engines.iter().map(docker_access).collect(),
            kubernetes: kubernetes_access(&folder, &kubernetes)?,
            prometheus: access::Http::at(metrics.prometheus),
            alertmanager: access::Http::at(metrics.alertmanager),
            mail_gateway: access::MailGateway {
                url: format!("http://{}", mail.address()),
                user: mail::Role::Auditor.user().to_owned(),
                password: mail.password(mail::Role::Auditor).to_owned(),
                runs_on: "lxc:tower:170".to_owned(),
            },
        };
        let lab = Self {
            inner: Arc::new(Inner {
                cluster,
                engines,
                prometheus,
                access,
                wants_entry: AtomicBool::new(false),
                measured: Mutex::default(),
                stop: CancellationToken::new(),
                _kubernetes: kubernetes,
                _mail: mail,
                _servers: Servers {
                    _proxmox: proxmox,
                    _ssh: ssh,
                    _prometheus: metrics,
                },
                _machines: machines,
                _lock: lock,
            }),
        };
        control.serve(&lab);
        lab.remember_a_day().await;
        lab.keep_measuring();
        Ok(lab)
    }

    /// How to reach it.
    pub fn access(&self) -> &Access {
        &self.inner.access
    }

    /// The Proxmox cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        &self.inner.cluster
    }

    /// The Docker engines.
    pub(crate) fn engines(&self) -> &[Engine] {
        &self.inner.engines
    }

    /// The machine of a guest, if it runs.
    pub(crate) fn guest(&self, name: &str) -> Option<Machine> {
        let vmid = homelab::vmid_of(name)?;
        self.cluster().machine(&Place::Guest(vmid))
    }

    /// Whether somebody wants one more entry on the dashboard.
    pub(crate) fn wants_entry(&self) -> bool {
        self.inner.wants_entry.load(Ordering::Relaxed)
    }

    pub(crate) fn want_entry(&self, wanted: bool) {
        self.inner.wants_entry.store(wanted, Ordering::Relaxed);
    }

    pub(crate) fn weak(&self) -> WeakLab {
        WeakLab(Arc::downgrade(&self.inner))
    }

    pub(crate) fn stopping(&self) -> &CancellationToken {
        &self.inner.stop
    }

    /// The alert that announces an incident, once it fires, as Alertmanager would send it.
    pub async fn alert(&self, incident: Incident) -> Result<Value, Error> {
        let deadline = Instant::now() + ALERT_WITHIN;
        loop {
            let alerts = self.inner.prometheus.alerts();
            let firing = alerts.iter().find(|alert| {
                alert.state == State::Firing && alert.labels.get("alertname") == incident.alert()
            });
            if let Some(alert) = firing {
                return Ok(json!({
                    "status": "firing",
                    "labels": alert.labels.to_map(),
                    "annotations": alert.annotations.to_map(),
                    "startsAt": alert.active_at,
                    "generatorURL": self.access().prometheus.url,
                }));
            }
            if Instant::now() > deadline {
                return Err(Error::Stuck(format!("the alert {} to fire", incident.alert())));
            }
            sleep(LOOK).await;
        }
    }

    /// Ends everything.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        for engine in self.engines() {
            engine.host_down().await;
        }
    }

    async fn remember_a_day(&self) {
        let tsdb = self.inner.prometheus.tsdb();
        let now = Timestamp::now();
        for sample in scrape::samples(self).await {
            let profile = scrape::profile(sample.labels.name(), sample.value);
            if let Err(error) = tsdb.backfill_day(&sample.labels, now, sample.value, &profile) {
                tracing::warn!(%error, "a series has no history");
            }
        }
    }

    /// Measures and judges until the lab ends. Holds nothing of it in between.
    fn keep_measuring(&self) {
        let stop = self.inner.stop.clone();
        let lab = self.weak();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = sleep(SCRAPE) => {}
                }
                let Some(lab) = lab.upgrade() else { return };
                lab.measure().await;
            }
        });
    }

    /// Keeps samples. What was measured the last time and is not any more has ended.
    fn take(&self, samples: Vec<Sample>) {
        let tsdb = self.inner.prometheus.tsdb();
        let now = Timestamp::now();
        let labels: BTreeSet<Labels> = samples.iter().map(|sample| sample.labels.clone()).collect();
        let before = {
            let mut measured = self.inner.measured.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *measured, labels.clone())
        };
        let ended = before
            .difference(&labels)
            .map(|labels| tsdb.mark_stale(labels.clone(), now));
        let kept = samples.into_iter().map(|sample| tsdb.append(sample));
        for outcome in kept.chain(ended.collect::<Vec<_>>()) {
            if let Err(error) = outcome {
                tracing::debug!(%error, "a sample was not kept");
            }
        }
    }

    async fn measure(&self) {
        let prometheus = &self.inner.prometheus;
        self.take(scrape::samples(self).await);
        prometheus.evaluate(Timestamp::now());
        for engine in self.engines() {
            match self.guest(engine.host()) {
                Some(_) => engine.host_up().await,
                None => engine.host_down().await,
            }
        }
    }
}

/// Holds the folder: another lab in it would take its files and sockets away.
fn only_one(folder: &Path) -> Result<std::fs::File, Error> {
    let path = folder.join("lock");
    let file = std::fs::File::create(&path).map_err(io(path.display().to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Busy(folder.to_owned())),
        Err(std::fs::TryLockError::Error(cause)) => Err(io(path.display().to_string())(cause)),
    }
}

fn sign_in(folder: &Path, keys: &ssh::Access, servers: &[ssh::Server]) -> Result<access::Ssh, Error> {
    let key_file = folder.join("id_ed25519");
    let known_hosts = folder.join("known_hosts");
    let lines: String = servers
        .iter()
        .map(|server| server.known_hosts_line() + "\n")
        .collect();
    write_private(&key_file, &keys.private_key)?;
    write_private(&known_hosts, &lines)?;
    Ok(access::Ssh {
        user: "root".to_owned(),
        key_file,
        known_hosts,
        addresses: servers
            .iter()
            .map(|server| (server.node.clone(), server.address.to_string()))
            .collect(),
    })
}

fn kubernetes_access(folder: &Path, cluster: &Kubernetes) -> Result<access::Kubernetes, Error> {
    let (ca_file, kubeconfig) = (folder.join("k3s.pem"), folder.join("kubeconfig"));
    write_private(&ca_file, cluster.identity().certificate())?;
    write_private(&kubeconfig, &cluster.kubeconfig())?;
    Ok(access::Kubernetes {
        name: "k3s".to_owned(),
        url: format!("https://{}", cluster.address()),
        ca_file,
        kubeconfig,
        token: cluster.token(kubernetes::Role::Admin).to_owned(),
    })
}

/// Writes a file that only its owner may read.
pub fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let write = || -> std::io::Result<()> {
        // One that is there may be readable for others, or lead elsewhere.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(text.as_bytes())
    };
    write().map_err(io(path.display().to_string()))
}

fn docker_access(engine: &Engine) -> access::Docker {
    let name = engine.host();
    let topology = homelab::topology();
    let runs_on = topology
        .guests
        .iter()
        .find(|guest| guest.name == name)
        .map(|guest| {
            let kind = match guest.kind {
                GuestKind::Lxc => "lxc",
                GuestKind::Vm => "vm",
            };
            format!("{kind}:{}:{}", guest.node, guest.vmid)
        });
    access::Docker {
        name: name.to_owned(),
        url: format!("tcp://{}", engine.address()),
        runs_on: runs_on.unwrap_or_default(),
    }
}
