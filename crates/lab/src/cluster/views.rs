//! How the cluster looks from outside, at this moment.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;

use super::folder::Located;
use super::numbers::{self, GuestLoad, NodeLoad};
use super::state::{GuestStatus, Health};
use super::{Cluster, now};
use crate::machine::{Machine, Usage};
use crate::topology::{GuestKind, Storage};

/// How long a machine has to say how full its disks are. A view must not wait for one that hangs.
const PATIENCE: Duration = Duration::from_secs(2);

/// A node, as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeView {
    /// What it is called.
    pub name: String,
    /// How it is.
    pub health: Health,
    /// Since when, in seconds of the epoch.
    pub health_since: i64,
    /// Its address.
    pub address: Option<std::net::Ipv4Addr>,
    /// How many processors it has.
    pub cpus: u32,
    /// The part of them that is used.
    pub cpu: f64,
    /// The part of them that waits for disks.
    pub wait: f64,
    /// Its load average.
    pub load: f64,
    /// How much memory it has.
    pub memory_bytes: u64,
    /// How much of it is used.
    pub memory_used: u64,
    /// The size of its root disk.
    pub disk_bytes: u64,
    /// How much of it is used.
    pub disk_used: u64,
    /// Since when it has been up, in seconds of the epoch.
    pub booted_at: i64,
}

/// A guest, as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct GuestView {
    /// Its number.
    pub vmid: u32,
    /// What it is.
    pub kind: GuestKind,
    /// What it is called.
    pub name: String,
    /// The node that it is on.
    pub node: String,
    /// How it is.
    pub status: GuestStatus,
    /// What holds it, such as `migrate`.
    pub lock: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its address.
    pub address: Option<std::net::Ipv4Addr>,
    /// How many processors it has.
    pub cores: u64,
    /// The part of them that it uses.
    pub cpu: f64,
    /// How much memory it has.
    pub memory_bytes: u64,
    /// How much of it it uses.
    pub memory_used: u64,
    /// The size of its root disk.
    pub disk_bytes: u64,
    /// How much of it is used, as its own file system says, or said when it last ran.
    pub disk_used: u64,
    /// Bytes received since it was started.
    pub net_in: u64,
    /// Bytes sent since it was started.
    pub net_out: u64,
    /// Bytes read since it was started.
    pub disk_read: u64,
    /// Bytes written since it was started.
    pub disk_write: u64,
    /// For how long it has been running, in seconds.
    pub uptime: i64,
    /// The process that runs it; another one for each run.
    pub pid: i64,
    /// The storage of its root disk.
    pub storage: String,
}

/// A storage, as a node sees it.
#[derive(Debug, Clone)]
pub struct StorageView {
    /// The node.
    pub node: String,
    /// What it is.
    pub storage: Storage,
    /// How much of it is used.
    pub used: u64,
    /// Whether the node can be asked.
    pub available: bool,
}

struct Part {
    vmid: u32,
    located: Located,
    status: GuestStatus,
    started_at: Option<i64>,
    machine: Option<Machine>,
    disk_bytes: u64,
    disk_used: u64,
    address: Option<std::net::Ipv4Addr>,
}

impl Cluster {
    /// Every guest, by its number.
    pub async fn guests(&self) -> Vec<GuestView> {
        let mut places = self.inner.folder.all();
        let parts: Vec<Part> = self.with(|state| {
            let offline = |name: &str| {
                state
                    .nodes
                    .get(name)
                    .is_none_or(|node| node.health == Health::Offline)
            };
            state
                .guests
                .iter()
                .filter_map(|(vmid, guest)| {
                    let located = places.remove(vmid)?;
                    let status = if offline(&located.node) {
                        GuestStatus::Unknown
                    } else {
                        guest.status()
                    };
                    Some(Part {
                        vmid: *vmid,
                        located,
                        status,
                        started_at: guest.started_at(),
                        machine: guest.machine.clone(),
                        disk_bytes: guest.spec.disk_bytes,
                        disk_used: guest.disk_used,
                        address: guest.spec.address,
                    })
                })
                .collect()
        });
        let views = join_all(parts.into_iter().map(Part::view)).await;
        self.with(|state| {
            for view in &views {
                if let Some(guest) = state.guests.get_mut(&view.vmid) {
                    guest.disk_used = view.disk_used;
                }
            }
        });
        views
    }

    /// A guest.
    pub async fn guest(&self, vmid: u32) -> Option<GuestView> {
        self.guests().await.into_iter().find(|guest| guest.vmid == vmid)
    }

    /// Every node, by its name.
    pub async fn nodes(&self) -> Vec<NodeView> {
        let guests = self.guests().await;
        let parts: Vec<(NodeView, Option<Machine>)> = self.with(|state| {
            let view = |(name, node): (&String, &super::state::NodeState)| {
                let load = node_load(name, node.health, node.memory_bytes, &guests, now());
                let up = node.health != Health::Offline;
                let view = NodeView {
                    name: name.clone(),
                    health: node.health,
                    health_since: node.health_since,
                    address: node.spec.address,
                    cpus: node.cpus,
                    cpu: if up { load.cpu } else { 0.0 },
                    wait: if up { load.wait } else { 0.0 },
                    load: if up { load.load } else { 0.0 },
                    memory_bytes: node.memory_bytes,
                    memory_used: if up {
                        numbers::part(load.memory, node.memory_bytes)
                    } else {
                        0
                    },
                    disk_bytes: node.spec.disk_bytes,
                    disk_used: 0,
                    booted_at: node.booted_at,
                };
                (view, node.machine.clone())
            };
            state.nodes.iter().map(view).collect()
        });
        join_all(parts.into_iter().map(|(mut view, machine)| async move {
            if let Some(usage) = root_usage(machine.as_ref()).await {
                (view.disk_bytes, view.disk_used) = (usage.total, usage.used);
            }
            view
        }))
        .await
    }

    /// Every storage, as each node sees it.
    pub async fn storages(&self) -> Vec<StorageView> {
        let guests = self.guests().await;
        let nodes: BTreeMap<String, Health> = self.with(|state| {
            let pair = |(name, node): (&String, &super::state::NodeState)| (name.clone(), node.health);
            state.nodes.iter().map(pair).collect()
        });
        let backups = self.backups();
        let mut views = Vec::new();
        for (node, health) in nodes {
            for storage in &self.inner.storages {
                let here = |guest: &&GuestView| {
                    guest.storage == storage.name && (storage.shared || guest.node == node)
                };
                let disks: u64 = guests.iter().filter(here).map(|guest| guest.disk_used).sum();
                let kept: u64 = backups
                    .iter()
                    .filter(|backup| backup.storage == storage.name)
                    .map(|backup| backup.size)
                    .sum();
                views.push(StorageView {
                    node: node.clone(),
                    storage: storage.clone(),
                    used: (storage.base_bytes + disks + kept).min(storage.total_bytes),
                    available: health != Health::Offline,
                });
            }
        }
        views
    }

    /// Whether a guest ran at a time.
    pub(crate) fn ran_at(&self, vmid: u32, at: i64) -> bool {
        self.with(|state| {
            state.guests.get(&vmid).is_some_and(|guest| {
                guest
                    .history
                    .iter()
                    .rev()
                    .find(|(since, _)| *since <= at)
                    .is_some_and(|(_, running)| *running)
            })
        })
    }

    /// How busy a guest is at a time.
    pub(crate) fn guest_load(name: &str, at: i64) -> GuestLoad {
        numbers::guest(name, at)
    }
}

/// How busy a node is at a time, with these guests.
pub(crate) fn node_load(name: &str, health: Health, memory: u64, guests: &[GuestView], at: i64) -> NodeLoad {
    let promised: u64 = guests
        .iter()
        .filter(|guest| guest.node == name && guest.uptime > 0)
        .map(|guest| guest.memory_bytes)
        .sum();
    let failing = health == Health::DiskFailing;
    numbers::node(name, at, numbers::ratio(promised, memory).min(1.0), failing)
}

async fn root_usage(machine: Option<&Machine>) -> Option<Usage> {
    let usage = tokio::time::timeout(PATIENCE, machine?.usage()).await.ok()?;
    usage.ok()?.into_iter().next()
}

impl Part {
    async fn view(self) -> GuestView {
        let usage = root_usage(self.machine.as_ref()).await;
        let config = &self.located.config;
        let kind = self.located.kind;
        let name = config
            .name(kind)
            .map_or_else(|| format!("guest{}", self.vmid), str::to_owned);
        let up = matches!(self.status, GuestStatus::Running | GuestStatus::Paused);
        let uptime = match self.started_at {
            Some(at) if up => (now() - at).max(1),
            _ => 0,
        };
        let pid = match self.started_at {
            Some(at) if up => 1000 + (at + i64::from(self.vmid)).rem_euclid(30_000),
            _ => 0,
        };
        let (load, steady) = (numbers::guest(&name, now()), numbers::steady(&name));
        let memory_bytes = config.memory_bytes();
        GuestView {
            vmid: self.vmid,
            kind,
            node: self.located.node.clone(),
            status: self.status,
            lock: config.now.get("lock").map(str::to_owned),
            tags: config
                .now
                .get("tags")
                .map(|tags| {
                    tags.split([';', ',', ' '])
                        .filter(|tag| !tag.is_empty())
                        .map(str::to_owned)
                        .collect()
                })
                .unwrap_or_default(),
            address: self.address,
            cores: config.cores(),
            cpu: if self.status == GuestStatus::Running {
                load.cpu
            } else {
                0.0
            },
            memory_bytes,
            memory_used: if up {
                numbers::part(load.memory, memory_bytes)
            } else {
                0
            },
            disk_bytes: usage.as_ref().map_or(self.disk_bytes, |usage| usage.total),
            disk_used: usage.map_or(self.disk_used, |usage| usage.used),
            net_in: numbers::total(steady.net_in, uptime),
            net_out: numbers::total(steady.net_out, uptime),
            disk_read: numbers::total(steady.disk_read, uptime),
            disk_write: numbers::total(steady.disk_write, uptime),
            uptime,
            pid,
            storage: config
                .volume(kind)
                .map(|(storage, _)| storage.to_owned())
                .unwrap_or_default(),
            name,
        }
    }
}
