//! Pools, volumes, snapshots, backups, disks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use interlock_gate::Started;
use interlock_infra::proxmox::{Guest, Proxmox};
use interlock_infra::{Graph, Resource};
use interlock_protocol::{ResourceId, ResourceKind};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::query::shown;
use super::reach::reading;
use crate::Done;
use crate::Failure;
use crate::local::arguments;
use crate::options::count;

/// What a call is about: everything, or one resource.
struct About {
    graph: Arc<Graph>,
    resource: Option<Resource>,
}

impl Fleet {
    pub(super) async fn storage(
        &self,
        started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let taken_at = Timestamp::now();
        let graph = self.inner.infra.graph(Duration::ZERO).await;
        let id = match (&plan.target, arguments::text(plan, "resource_id")) {
            (Some(target), _) => Some(target.id.clone()),
            (None, Some(name)) => Some(self.named(name).await?),
            (None, None) => None,
        };
        let resource = id.as_ref().and_then(|id| graph.get(id)).cloned();
        let about = About { graph, resource };
        let action = arguments::text(plan, "action").unwrap_or("pools");
        let (mut rows, problems) = match action {
            "pools" => (about.pools(), Vec::new()),
            "volumes" => self.content(&about, None).await,
            "backups" => self.content(&about, Some("backup")).await,
            "snapshots" => self.snapshots(&about).await,
            "disks" => self.per_node(&about, Question::Disks).await,
            "replication" => self.per_node(&about, Question::Replication).await,
            "ceph" => self.ceph().await,
            _ => return Err(Failure::invalid("`action` is none that this tool has")),
        };
        if rows.is_empty() && !problems.is_empty() {
            return Err(Failure::failed(format!(
                "nothing could be read: {}",
                problems.join("; ")
            )));
        }
        let total = rows.len();
        let most = count(self.inner.options.entries);
        rows.truncate(most);
        let mut data = json!({action: rows, "total": total, "truncated": total > most});
        if !problems.is_empty() {
            data["problems"] = problems.into();
        }
        let done = Done::succeeded(data.clone(), format!("{total} {action}"));
        Ok(match id {
            Some(id) => done.with_reading(reading(&id, taken_at, data, Vec::new())),
            None => done,
        })
    }

    /// What is on the storages, of one guest where the call is about one.
    async fn content(&self, about: &About, content: Option<&str>) -> (Vec<Value>, Vec<String>) {
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        let guest = about
            .resource
            .as_ref()
            .and_then(|resource| Guest::of(&resource.id));
        for storage in about.storages() {
            let Ok(proxmox) = self.inner.infra.proxmox_of(&storage.id).await else {
                continue;
            };
            // A shared storage is the same from every node.
            let Some(node) = about.node_of(storage) else {
                continue;
            };
            match proxmox.storage_content(&node, storage.id.uid(), content).await {
                Ok(found) => rows.extend(
                    list(found)
                        .into_iter()
                        .filter(|row| guest.as_ref().is_none_or(|guest| is_of(row, guest.vmid)))
                        .map(|row| with(row, "storage", storage.id.to_string())),
                ),
                Err(error) => problems.push(format!("{}: {error}", storage.id)),
            }
        }
        rows.sort_by(|one, other| one["volid"].as_str().cmp(&other["volid"].as_str()));
        (rows, problems)
    }

    async fn snapshots(&self, about: &About) -> (Vec<Value>, Vec<String>) {
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for resource in about.guests() {
            let (Some(guest), Ok(proxmox)) = (
                Guest::of(&resource.id),
                self.inner.infra.proxmox_of(&resource.id).await,
            ) else {
                continue;
            };
            match proxmox.guest_snapshots(&guest).await {
                Ok(found) => rows.extend(
                    list(found)
                        .into_iter()
                        // Proxmox lists the present as one of them.
                        .filter(|row| row["name"] != "current")
                        .map(|row| with(row, "resource_id", resource.id.to_string())),
                ),
                Err(error) => problems.push(format!("{}: {error}", resource.id)),
            }
        }
        (rows, problems)
    }

    async fn per_node(&self, about: &About, question: Question) -> (Vec<Value>, Vec<String>) {
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for node in about.nodes() {
            let Ok(id) = ResourceId::global(ResourceKind::Node, &node) else {
                continue;
            };
            let Ok(proxmox) = self.inner.infra.proxmox_of(&id).await else {
                continue;
            };
            let found = match question {
                Question::Disks => disks(&proxmox, &node).await,
                Question::Replication => proxmox.replication(&node).await.map(list),
            };
            match found {
                Ok(found) => rows.extend(found.into_iter().map(|row| with(row, "node", node.clone()))),
                Err(error) => problems.push(format!("{node}: {error}")),
            }
        }
        (rows, problems)
    }

    async fn ceph(&self) -> (Vec<Value>, Vec<String>) {
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for proxmox in self.inner.infra.proxmox() {
            match proxmox.ceph().await {
                Ok(Some(status)) => {
                    rows.push(with(Value::Object(status), "cluster", proxmox.name().to_owned()));
                }
                Ok(None) => {}
                Err(error) => problems.push(format!("{}: {error}", proxmox.name())),
            }
        }
        (rows, problems)
    }
}

#[derive(Debug, Clone, Copy)]
enum Question {
    Disks,
    Replication,
}

/// The disks of a node, each with what it says about its own health.
async fn disks(proxmox: &Proxmox, node: &str) -> Result<Vec<Value>, interlock_infra::Error> {
    let mut disks = list(proxmox.disks(node).await?);
    for disk in &mut disks {
        let Some(device) = disk["devpath"].as_str().map(str::to_owned) else {
            continue;
        };
        if let Ok(health) = proxmox.disk_health(node, &device).await {
            disk["smart"] = health;
        }
    }
    Ok(disks)
}

impl About {
    fn id(&self) -> Option<&ResourceId> {
        self.resource.as_ref().map(|resource| &resource.id)
    }

    fn of_kind(&self, kinds: &[ResourceKind]) -> impl Iterator<Item = &Resource> {
        self.graph
            .resources()
            .iter()
            .filter(move |resource| kinds.contains(&resource.id.kind()))
    }

    /// The storages that the call is about: one, those of a node, or all.
    fn storages(&self) -> Vec<&Resource> {
        self.of_kind(&[ResourceKind::Storage])
            .filter(|storage| match self.id() {
                None => true,
                Some(id) => match id.kind() {
                    ResourceKind::Storage => storage.id == *id,
                    ResourceKind::Node => on(storage, id.uid()),
                    ResourceKind::Vm | ResourceKind::Lxc => id.host().is_some_and(|node| on(storage, node)),
                    _ => self
                        .resource
                        .as_ref()
                        .is_some_and(|resource| resource.source == storage.source),
                },
            })
            .collect()
    }

    fn pools(&self) -> Vec<Value> {
        self.storages().into_iter().map(shown).collect()
    }

    fn guests(&self) -> Vec<&Resource> {
        self.of_kind(&[ResourceKind::Vm, ResourceKind::Lxc])
            .filter(|guest| match self.id() {
                None => true,
                Some(id) if id.kind() == ResourceKind::Node => guest.id.host() == Some(id.uid()),
                Some(id) => guest.id == *id,
            })
            .collect()
    }

    /// The nodes that the call is about: of what it names, or all that are up.
    fn nodes(&self) -> BTreeSet<String> {
        match self.id() {
            Some(id) if id.kind() == ResourceKind::Node => BTreeSet::from([id.uid().to_owned()]),
            Some(id) if matches!(id.kind(), ResourceKind::Vm | ResourceKind::Lxc) => {
                id.host().map(str::to_owned).into_iter().collect()
            }
            _ => self
                .of_kind(&[ResourceKind::Node])
                .filter(|node| node.state.as_deref() == Some("online"))
                .map(|node| node.id.uid().to_owned())
                .collect(),
        }
    }

    /// A node that is up and has this storage.
    fn node_of(&self, storage: &Resource) -> Option<String> {
        nodes_with(storage).into_iter().find(|name| {
            self.of_kind(&[ResourceKind::Node])
                .any(|node| node.id.uid() == name && node.state.as_deref() == Some("online"))
        })
    }
}

fn nodes_with(storage: &Resource) -> Vec<String> {
    let nodes = storage.facts.get("nodes").and_then(Value::as_array);
    nodes
        .into_iter()
        .flatten()
        .filter_map(|node| node.as_str().map(str::to_owned))
        .collect()
}

fn on(storage: &Resource, node: &str) -> bool {
    nodes_with(storage).iter().any(|name| name == node)
}

/// Whether a volume or backup belongs to a guest; its number may come as a text.
fn is_of(row: &Value, vmid: u32) -> bool {
    match &row["vmid"] {
        Value::Number(number) => number.as_u64() == Some(vmid.into()),
        Value::String(text) => *text == vmid.to_string(),
        _ => false,
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(rows) => rows.into_iter().filter(Value::is_object).collect(),
        _ => Vec::new(),
    }
}

fn with(mut row: Value, name: &str, value: String) -> Value {
    row[name] = value.into();
    row
}
