//! What an engine says about containers and images, in typed words. Values of environment variables are left out: they
//! are where containers keep their secrets.

use std::collections::BTreeMap;

use bollard::models::{
    ContainerInspectResponse, ContainerStatsResponse, ContainerSummary, EventMessage, ImageSummary,
    PortSummary,
};
use interlock_protocol::{Observation, RunIdentity, RunState};
use jiff::Timestamp;
use serde::Serialize;

/// A container in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Container {
    /// Its name, which it keeps when it is recreated.
    pub name: String,
    /// Its id, which it does not.
    pub id: String,
    /// The image, as it was named.
    pub image: String,
    /// `running`, `exited`, `restarting`, `paused`…
    pub state: String,
    /// The engine's sentence about it: `Up 3 hours (healthy)`.
    pub status: String,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// `8080->80/tcp`.
    pub ports: Vec<String>,
    /// What its health check says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// Its labels, those of tools and standards left out: there are many, and they say nothing about its purpose.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// Everything about one container that is for people and models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Details {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// The image, as it was named.
    pub image: String,
    /// The id of the image's content.
    pub image_id: String,
    /// `running`, `exited`, `restarting`, `paused`…
    pub state: String,
    /// Since when it runs, or ran last.
    pub started_at: Option<Timestamp>,
    /// When it ended last.
    pub finished_at: Option<Timestamp>,
    /// What its process ended with.
    pub exit_code: Option<i64>,
    /// Whether the kernel killed it for want of memory.
    pub out_of_memory: bool,
    /// What the engine says went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often the engine restarted it.
    pub restart_count: i64,
    /// When the engine restarts it: `always`, `unless-stopped`, `on-failure`, `no`.
    pub restart_policy: Option<String>,
    /// What its health check says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// What it runs.
    pub command: Vec<String>,
    /// The names of its environment variables.
    pub environment: Vec<String>,
    /// What of its host it sees.
    pub mounts: Vec<Mount>,
    /// The networks it is in, with its addresses.
    pub networks: Vec<String>,
    /// `0.0.0.0:8080->80/tcp`.
    pub ports: Vec<String>,
}

/// A folder, file or volume that a container sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// `bind`, `volume`, `tmpfs`.
    pub kind: String,
    /// Where it comes from.
    pub source: String,
    /// Where it is in the container.
    pub destination: String,
    /// Whether it cannot be written to.
    pub read_only: bool,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Image {
    /// Its id.
    pub id: String,
    /// Its names.
    pub tags: Vec<String>,
    /// What registries call its content.
    pub digests: Vec<String>,
    /// Its size in bytes.
    pub size: i64,
    /// When it was made.
    pub created_at: Option<Timestamp>,
}

/// What a container uses now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// Of one processor, in percent: 200 are two whole ones.
    pub cpu_percent: Option<f64>,
    /// Memory, without the cache that can be given back.
    pub memory_bytes: Option<u64>,
    /// How much memory it may have.
    pub memory_limit_bytes: Option<u64>,
    /// Received since it runs.
    pub received_bytes: u64,
    /// Sent since it runs.
    pub sent_bytes: u64,
    /// How many processes it has.
    pub processes: Option<u64>,
}

/// What runs in a container.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Processes {
    /// The columns.
    pub titles: Vec<String>,
    /// A row for each process.
    pub rows: Vec<Vec<String>>,
}

/// Something that happened on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When.
    pub at: Option<Timestamp>,
    /// `container`, `image`, `network`…
    pub kind: String,
    /// `die`, `start`, `oom`…
    pub action: String,
    /// What it happened to, by name.
    pub name: String,
}

impl Details {
    /// What it is doing, in the words in which something can be expected.
    pub fn observation(&self) -> Observation {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Observation::Container {
            state: run_state(&self.state),
            image: Some(self.image.clone()),
            started_at: self.started_at,
            run: match self.started_at {
                // The engine's own time of the start names the run; it is compared with itself alone.
                Some(at) => RunIdentity::named(format!("{} {at}", self.id)),
                None => RunIdentity::default(),
            },
            instance: known(&self.id),
            image_id: known(&self.image_id),
            current_image_id: None,
        }
    }
}

/// An engine's word for what a container is doing, in ours.
pub(super) fn run_state(word: &str) -> RunState {
    match word {
        "running" => RunState::Running,
        "created" | "exited" => RunState::Stopped,
        "paused" => RunState::Paused,
        "restarting" => RunState::Restarting,
        "removing" | "stopping" => RunState::Stopping,
        "dead" => RunState::Failed,
        _ => RunState::Unknown,
    }
}

pub(super) fn container(summary: ContainerSummary) -> Option<Container> {
    // One of several names is the container's own; those of links have a slash in the middle.
    let name = summary
        .names
        .unwrap_or_default()
        .iter()
        .map(|name| name.trim_start_matches('/').to_owned())
        .find(|name| !name.is_empty() && !name.contains('/'))?;
    let mut ports: Vec<String> = summary.ports.unwrap_or_default().iter().map(port).collect();
    ports.sort_unstable();
    ports.dedup();
    let health = summary
        .health
        .and_then(|health| health.status)
        .map(|status| status.to_string())
        .filter(|word| !matches!(word.as_str(), "" | "none"));
    let own = |name: &String| {
        !["com.docker.", "org.opencontainers.", "org.label-schema."]
            .iter()
            .any(|prefix| name.starts_with(prefix))
    };
    let labels = summary.labels.unwrap_or_default();
    Some(Container {
        name,
        labels: labels.into_iter().filter(|(name, _)| own(name)).collect(),
        id: summary.id.unwrap_or_default(),
        image: summary.image.unwrap_or_default(),
        state: summary.state.map(|state| state.to_string()).unwrap_or_default(),
        status: summary.status.unwrap_or_default(),
        created_at: summary.created.and_then(|at| Timestamp::from_second(at).ok()),
        ports,
        health,
    })
}

fn port(port: &PortSummary) -> String {
    let protocol = port.typ.map(|kind| kind.to_string()).unwrap_or_default();
    match port.public_port {
        Some(public) => format!("{public}->{}/{protocol}", port.private_port),
        None => format!("{}/{protocol}", port.private_port),
    }
}

pub(super) fn details(found: &ContainerInspectResponse) -> Details {
    let state = found.state.clone().unwrap_or_default();
    let config = found.config.clone().unwrap_or_default();
    let host = found.host_config.clone().unwrap_or_default();
    let mut command = found.path.clone().into_iter().collect::<Vec<_>>();
    command.extend(found.args.clone().unwrap_or_default());
    let health = state
        .health
        .as_ref()
        .and_then(|health| health.status)
        .map(|status| status.to_string())
        .filter(|word| !matches!(word.as_str(), "" | "none"));
    Details {
        name: found
            .name
            .as_deref()
            .unwrap_or_default()
            .trim_start_matches('/')
            .to_owned(),
        id: found.id.clone().unwrap_or_default(),
        image: config.image.unwrap_or_default(),
        image_id: found.image.clone().unwrap_or_default(),
        state: state.status.map(|status| status.to_string()).unwrap_or_default(),
        started_at: state.started_at.as_deref().and_then(time),
        finished_at: state.finished_at.as_deref().and_then(time),
        exit_code: state.exit_code,
        out_of_memory: state.oom_killed.unwrap_or(false),
        error: state.error.filter(|text| !text.is_empty()),
        restart_count: found.restart_count.unwrap_or(0),
        restart_policy: host
            .restart_policy
            .and_then(|policy| policy.name)
            .map(|name| name.to_string()),
        health,
        command,
        environment: config
            .env
            .unwrap_or_default()
            .iter()
            .map(|line| name_of(line))
            .collect(),
        mounts: mounts(found),
        networks: networks(found),
        ports: published(found),
    }
}

fn name_of(line: &str) -> String {
    line.split('=').next().unwrap_or_default().to_owned()
}

fn mounts(found: &ContainerInspectResponse) -> Vec<Mount> {
    found
        .mounts
        .iter()
        .flatten()
        .map(|mount| Mount {
            kind: mount.typ.clone().unwrap_or_default(),
            source: mount
                .name
                .clone()
                .filter(|name| !name.is_empty())
                .or_else(|| mount.source.clone())
                .unwrap_or_default(),
            destination: mount.destination.clone().unwrap_or_default(),
            read_only: mount.rw == Some(false),
        })
        .collect()
}

fn networks(found: &ContainerInspectResponse) -> Vec<String> {
    let networks = found
        .network_settings
        .as_ref()
        .and_then(|settings| settings.networks.as_ref());
    let mut shown: Vec<String> = networks
        .into_iter()
        .flatten()
        .map(|(name, endpoint)| match endpoint.ip_address.as_deref() {
            None | Some("") => name.clone(),
            Some(address) => format!("{name} {address}"),
        })
        .collect();
    shown.sort_unstable();
    shown
}

fn published(found: &ContainerInspectResponse) -> Vec<String> {
    let ports = found
        .network_settings
        .as_ref()
        .and_then(|settings| settings.ports.as_ref());
    let mut shown: Vec<String> = ports
        .into_iter()
        .flatten()
        .flat_map(|(inside, bindings)| {
            bindings.iter().flatten().map(move |binding| {
                format!(
                    "{}:{}->{inside}",
                    binding.host_ip.as_deref().unwrap_or_default(),
                    binding.host_port.as_deref().unwrap_or_default()
                )
            })
        })
        .collect();
    shown.sort_unstable();
    shown
}

/// A time of the engine. What never happened is the year one.
fn time(text: &str) -> Option<Timestamp> {
    text.parse::<Timestamp>()
        .ok()
        .filter(|at| *at > Timestamp::UNIX_EPOCH)
}

pub(super) fn image(summary: ImageSummary) -> Image {
    Image {
        id: summary.id,
        tags: summary.repo_tags,
        digests: summary.repo_digests,
        size: summary.size,
        created_at: Timestamp::from_second(summary.created).ok(),
    }
}

pub(super) fn usage(stats: &ContainerStatsResponse) -> Usage {
    let memory = stats.memory_stats.as_ref();
    let cache = memory
        .and_then(|memory| memory.stats.as_ref())
        .and_then(|stats| {
            stats
                .get("inactive_file")
                .or_else(|| stats.get("total_inactive_file"))
        })
        .copied()
        .unwrap_or(0);
    let (mut received, mut sent) = (0_u64, 0_u64);
    for network in stats.networks.iter().flat_map(|networks| networks.values()) {
        received = received.saturating_add(network.rx_bytes.unwrap_or(0));
        sent = sent.saturating_add(network.tx_bytes.unwrap_or(0));
    }
    Usage {
        cpu_percent: cpu_percent(stats),
        memory_bytes: memory
            .and_then(|memory| memory.usage)
            .map(|used| used.saturating_sub(cache)),
        memory_limit_bytes: memory.and_then(|memory| memory.limit),
        received_bytes: received,
        sent_bytes: sent,
        processes: stats.pids_stats.as_ref().and_then(|pids| pids.current),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a percentage needs no more than a float has"
)]
fn cpu_percent(stats: &ContainerStatsResponse) -> Option<f64> {
    let (now, before) = (stats.cpu_stats.as_ref()?, stats.precpu_stats.as_ref()?);
    let total = |stats: &bollard::models::ContainerCpuStats| stats.cpu_usage.as_ref()?.total_usage;
    let used = total(now)?.checked_sub(total(before)?)?;
    let passed = now.system_cpu_usage?.checked_sub(before.system_cpu_usage?)?;
    let processors = now.online_cpus.filter(|count| *count > 0).unwrap_or(1);
    (passed > 0).then(|| used as f64 / passed as f64 * f64::from(processors) * 100.0)
}

pub(super) fn event(message: EventMessage) -> Event {
    let actor = message.actor.unwrap_or_default();
    let name = actor
        .attributes
        .as_ref()
        .and_then(|attributes| attributes.get("name").cloned())
        .or(actor.id)
        .unwrap_or_default();
    Event {
        at: message.time.and_then(|at| Timestamp::from_second(at).ok()),
        kind: message.typ.map(|kind| kind.to_string()).unwrap_or_default(),
        action: message.action.unwrap_or_default(),
        name,
    }
}
