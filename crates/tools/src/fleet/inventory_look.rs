//! Looking at one resource, freshly: what it is doing, and where it is now.

use std::time::Duration;

use interlock_infra::proxmox::{Guest, GuestStatus, Proxmox};
use interlock_infra::{Error, Probe};
use interlock_protocol::{Observation, ResourceId, ResourceKind, RunIdentity, RunState};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::Fleet;
use super::reach::nothing_named;
use crate::Failure;
use crate::Reading;
use crate::local::facts;

/// The fields of a guest's status that say something to an operator.
const GUEST_FIELDS: [&str; 17] = [
    "agent",
    "cpu",
    "cpus",
    "disk",
    "diskread",
    "diskwrite",
    "ha",
    "lock",
    "maxdisk",
    "maxmem",
    "maxswap",
    "mem",
    "netin",
    "netout",
    "qmpstatus",
    "swap",
    "uptime",
];

/// What a fresh look at one resource shows.
pub(super) struct Look {
    pub(super) taken_at: Timestamp,
    pub(super) data: Map<String, Value>,
    pub(super) observations: Vec<Observation>,
    /// Whether it is still there.
    pub(super) exists: bool,
}

impl Look {
    fn new(taken_at: Timestamp, data: Value, observations: Vec<Observation>) -> Self {
        let mut all = vec![Observation::Present];
        all.extend(observations);
        Self {
            taken_at,
            data: members(data),
            observations: all,
            exists: true,
        }
    }

    fn gone(taken_at: Timestamp) -> Self {
        Self {
            taken_at,
            data: members(json!({"exists": false})),
            observations: vec![Observation::Absent],
            exists: false,
        }
    }

    pub(super) fn reading(self, id: &ResourceId) -> Reading {
        Reading {
            resource: Some(id.clone()),
            taken_at: self.taken_at,
            data: Value::Object(self.data),
            observations: self.observations,
            walls: None,
        }
    }
}

/// What a connector saw of its own resource.
fn seen(id: &ResourceId, reading: Option<Reading>) -> Result<Look, Failure> {
    let reading = reading.ok_or_else(|| Failure::failed(format!("what knows `{id}` does not answer")))?;
    Ok(Look {
        taken_at: reading.taken_at,
        exists: !reading.observations.contains(&Observation::Absent),
        data: members(reading.data),
        observations: reading.observations,
    })
}

impl Fleet {
    /// Looks at a resource by a question of our own; nothing that was known before goes into it.
    pub(super) async fn look(&self, id: &ResourceId) -> Result<Look, Failure> {
        match id.kind() {
            ResourceKind::Vm | ResourceKind::Lxc => self.look_at_guest(id).await,
            ResourceKind::Node => self.look_at_node(id).await,
            ResourceKind::Host => self.look_at_host(id).await,
            // What other connectors know more of has an arm of its own.
            ResourceKind::DockerContainer => seen(id, self.observe_container(id).await),
            ResourceKind::KubernetesDeployment
            | ResourceKind::KubernetesStatefulSet
            | ResourceKind::KubernetesDaemonSet
            | ResourceKind::KubernetesPod => seen(id, self.observe_replicas(id).await),
            ResourceKind::Alert => seen(id, self.observe_alert(id).await),
            ResourceKind::Cluster
            | ResourceKind::DockerHost
            | ResourceKind::KubernetesCluster
            | ResourceKind::MailGateway
            | ResourceKind::ToolServer
            | ResourceKind::Note
            | ResourceKind::Storage
            | ResourceKind::Service
            | ResourceKind::DockerService
            | ResourceKind::DockerImage
            | ResourceKind::DockerVolume
            | ResourceKind::DockerNetwork
            | ResourceKind::KubernetesNode
            | ResourceKind::KubernetesNamespace
            | ResourceKind::KubernetesJob
            | ResourceKind::KubernetesService => self.look_in_graph(id).await,
        }
    }

    /// What the sources say when they are asked again.
    async fn look_in_graph(&self, id: &ResourceId) -> Result<Look, Failure> {
        let taken_at = Timestamp::now();
        let graph = self.inner.infra.graph(Duration::ZERO).await;
        match graph.get(id) {
            Some(resource) if resource.facts.contains_key("stale_since") => Err(Failure::failed(format!(
                "the connection `{}` that knows `{id}` does not answer",
                resource.source
            ))),
            Some(resource) => Ok(Look::new(
                taken_at,
                json!({"state": resource.state, "facts": resource.facts}),
                Vec::new(),
            )),
            None => Err(nothing_named(&id.to_string())),
        }
    }

    async fn look_at_guest(&self, id: &ResourceId) -> Result<Look, Failure> {
        let guest = Guest::of(id).ok_or_else(|| nothing_named(&id.to_string()))?;
        let proxmox = self.inner.infra.proxmox_of(id).await?;
        let taken_at = Timestamp::now();
        let away = match proxmox.guest_status(&guest).await {
            Ok(status) => return Ok(guest_look(taken_at, &guest, &status)),
            Err(error @ (Error::NotFound { .. } | Error::Unreachable { .. } | Error::Refused { .. })) => {
                error
            }
            Err(error) => return Err(error.into()),
        };
        // It may have moved, be gone, or its node may be away: the cluster knows.
        match proxmox.guest_numbered(guest.vmid).await? {
            None => Ok(Look::gone(taken_at)),
            Some(now) if now.node == guest.node => Ok(unknown_guest(taken_at, &guest, &away)),
            Some(now) => moved(&proxmox, taken_at, &now).await,
        }
    }

    async fn look_at_node(&self, id: &ResourceId) -> Result<Look, Failure> {
        let proxmox = self.inner.infra.proxmox_of(id).await?;
        let taken_at = Timestamp::now();
        match proxmox.node_status(id.uid()).await {
            Ok(status) => {
                let uptime = status.get("uptime").and_then(Value::as_u64);
                let running = Observation::Guest {
                    state: RunState::Running,
                    started_at: uptime.and_then(|seconds| before_now(taken_at, seconds)),
                    run: RunIdentity {
                        id: None,
                        seconds: uptime,
                    },
                };
                let mut data = status;
                data["state"] = "online".into();
                Ok(Look::new(taken_at, data, vec![running]))
            }
            Err(error @ (Error::Unreachable { .. } | Error::TimedOut { .. })) => {
                // That nobody hears from it does not say that it is off.
                let unknown = Observation::Guest {
                    state: RunState::Unknown,
                    started_at: None,
                    run: RunIdentity::default(),
                };
                let data = json!({"state": "offline", "problem": error.to_string()});
                Ok(Look::new(taken_at, data, vec![unknown]))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn look_at_host(&self, id: &ResourceId) -> Result<Look, Failure> {
        let taken_at = Timestamp::now();
        let output = self.inner.infra.probe(id, &Probe::Uptime).await?;
        let run = run_in(&output.stdout.text());
        let started_at = run.seconds.and_then(|seconds| before_now(taken_at, seconds));
        let running = Observation::Guest {
            state: RunState::Running,
            started_at,
            run,
        };
        let data = json!({"state": "running", "started_at": started_at});
        Ok(Look::new(taken_at, data, vec![running]))
    }
}

fn guest_look(taken_at: Timestamp, guest: &Guest, status: &GuestStatus) -> Look {
    let mut data = json!({
        "state": status.state,
        "started_at": status.started_at,
        "node": guest.node,
        "vmid": guest.vmid,
    });
    for name in GUEST_FIELDS {
        if let Some(value) = status.data.get(name).filter(|value| !value.is_null()) {
            data[name] = value.clone();
        }
    }
    let mut observations = vec![status.observation()];
    // While it moves it is on neither for certain.
    if status.state != RunState::Migrating {
        observations.push(Observation::Property {
            name: "node".to_owned(),
            value: guest.node.as_str().into(),
        });
    }
    Look::new(taken_at, data, observations)
}

fn unknown_guest(taken_at: Timestamp, guest: &Guest, away: &Error) -> Look {
    let data = json!({"state": "unknown", "node": guest.node, "problem": away.to_string()});
    let unknown = Observation::Guest {
        state: RunState::Unknown,
        started_at: None,
        run: RunIdentity::default(),
    };
    Look::new(taken_at, data, vec![unknown])
}

/// A guest that lives on another node now, answered for the id that was asked for.
async fn moved(proxmox: &Proxmox, taken_at: Timestamp, now: &Guest) -> Result<Look, Failure> {
    let status = proxmox.guest_status(now).await?;
    let mut look = guest_look(taken_at, now, &status);
    if let Ok(id) = now.id() {
        look.data.insert("moved_to".to_owned(), id.to_string().into());
    }
    // What is known of it from before says where it was.
    if let Ok(node) = ResourceId::global(ResourceKind::Node, &now.node) {
        look.data.insert("parent".to_owned(), node.to_string().into());
    }
    Ok(look)
}

/// The run in what [`Probe::Uptime`] prints: a boot id, the first process, the seconds since boot. A system may keep one of
/// them to itself.
fn run_in(text: &str) -> RunIdentity {
    let line = |is: fn(&str) -> bool| text.lines().map(str::trim).find(|line| is(line));
    let boot = line(|line| line.len() == 36 && line.bytes().filter(|byte| *byte == b'-').count() == 4);
    let first = line(|line| line.starts_with("1 (")).and_then(facts::first_process);
    let uptime = line(|line| {
        !line.contains('-') && line.contains('.') && line.starts_with(|c: char| c.is_ascii_digit())
    });
    facts::run_of(boot, first, uptime.filter(|line| !line.starts_with("1 (")))
}

fn before_now(now: Timestamp, seconds: u64) -> Option<Timestamp> {
    let seconds = i64::try_from(seconds).ok()?;
    now.checked_sub(SignedDuration::from_secs(seconds)).ok()
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_read_from_what_the_kernel_says() {
        let boot = "9f3c1e2a-7a0b-4f9e-8f55-0123456789ab";
        let stat = "1 (a ) b) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 42 170 9";
        let known = |id: &str, seconds| RunIdentity {
            id: Some(id.to_owned()),
            seconds,
        };
        let cases = [
            (
                format!("{boot}\n{stat}\n86400.25 1.0\n"),
                known(&format!("boot {boot} 42"), Some(86_400)),
            ),
            (
                format!("{boot}\n86400.25 1.0\n"),
                known(&format!("boot {boot} 0"), Some(86_400)),
            ),
            (
                "86400.25 1.0\n".to_owned(),
                RunIdentity {
                    id: None,
                    seconds: Some(86_400),
                },
            ),
            (
                "cat: /proc/uptime: No such file\n".to_owned(),
                RunIdentity::default(),
            ),
        ];
        for (text, run) in cases {
            assert_eq!(run_in(&text), run, "{text}");
        }
    }
}
