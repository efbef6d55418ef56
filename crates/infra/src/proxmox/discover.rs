//! The cluster as resources: itself, its nodes, guests and storages.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use interlock_protocol::{Identity, ResourceId, ResourceKind, RunState};
use serde_json::{Map, Value, json};

use super::Proxmox;
use super::facts::{Fields, facts, rows};
use super::guest::{Guest, GuestKind, state_of};
use crate::{BoxFuture, Error, Resource, Source};

/// The addresses that guests had when they were last asked.
pub(super) type Addresses = BTreeMap<u32, (Instant, Vec<String>)>;

/// How long the addresses of a guest are believed. Asking is one request for each guest.
const ADDRESSES_FOR: Duration = Duration::from_mins(2);
/// How long one guest may take to say them. Without an agent it never does.
const ADDRESS_TIME: Duration = Duration::from_secs(2);
const AT_ONCE: usize = 8;

impl Source for Proxmox {
    fn connection(&self) -> &str {
        self.name()
    }

    fn kind(&self) -> &'static str {
        "proxmox"
    }

    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async {
            let (all, status) = tokio::join!(self.cluster_resources(), self.cluster_status());
            let all = all?;
            if !all.is_array() {
                return Err(Error::Protocol {
                    connection: self.name().to_owned(),
                    message: "the list of resources is no list".to_owned(),
                });
            }
            // A user without the right to see the cluster's status still sees what is in it.
            let status = status.unwrap_or(Value::Null);
            let cluster = Cluster::read(self.name(), &status);
            let mut found: Vec<Resource> = cluster.resource(&status).into_iter().collect();
            found.extend(rows(&all).filter_map(|row| cluster.row(row, &status)));
            share(&mut found);
            self.add_addresses(&mut found).await;
            self.add_identities(&mut found, &status).await;
            Ok(found)
        })
    }
}

impl Proxmox {
    /// Adds to the guests that run which addresses they have: facts of them, and names that they answer to.
    async fn add_addresses(&self, found: &mut [Resource]) {
        let running: Vec<Guest> = found
            .iter()
            .filter(|resource| resource.state.as_deref() == Some("running"))
            .filter_map(|resource| Guest::of(&resource.id))
            .filter(|guest| self.known_addresses(guest.vmid).is_none())
            .collect();
        let asked: Vec<(u32, Vec<String>)> = stream::iter(running)
            .map(|guest| async move {
                let asked = tokio::time::timeout(ADDRESS_TIME, self.guest_addresses(&guest)).await;
                (guest.vmid, asked.ok().and_then(Result::ok).unwrap_or_default())
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let now = Instant::now();
        self.inner
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(asked.into_iter().map(|(vmid, list)| (vmid, (now, list))));
        for resource in found {
            let known = Guest::of(&resource.id).and_then(|guest| self.known_addresses(guest.vmid));
            if let Some(known) = known.filter(|known| !known.is_empty()) {
                // Further addresses are often those of bridges, which many guests share.
                resource.aliases.extend(known.first().cloned());
                resource.facts.insert("ip".to_owned(), json!(known));
            }
        }
    }

    fn known_addresses(&self, vmid: u32) -> Option<Vec<String>> {
        let addresses = self
            .inner
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        addresses
            .get(&vmid)
            .filter(|(at, _)| at.elapsed() < ADDRESSES_FOR)
            .map(|(_, list)| list.clone())
    }
}

/// What the rows of a cluster have in common.
struct Cluster<'a> {
    source: &'a str,
    name: Option<String>,
}

impl<'a> Cluster<'a> {
    fn read(source: &'a str, status: &Value) -> Self {
        let name = cluster_name(status).map(str::to_owned);
        Self { source, name }
    }

    fn id(&self) -> Option<ResourceId> {
        ResourceId::global(ResourceKind::Cluster, self.name.as_deref()?).ok()
    }

    /// The cluster itself; a single node has none.
    fn resource(&self, status: &Value) -> Option<Resource> {
        let row = rows(status).find(|row| row.text("type") == Some("cluster"))?;
        let state = if row.flag("quorate") {
            "quorate"
        } else {
            "no quorum"
        };
        let facts = facts([("nodes", row.whole("nodes").map(Value::from))]);
        Some(self.made(self.id()?, self.name.clone()?, None, Some(state), facts))
    }

    fn row(&self, row: Fields<'_>, status: &Value) -> Option<Resource> {
        match row.text("type")? {
            "node" => self.node(row, status),
            "qemu" => self.guest(row, GuestKind::Vm),
            "lxc" => self.guest(row, GuestKind::Lxc),
            "storage" => self.storage(row),
            _ => None,
        }
    }

    fn node(&self, row: Fields<'_>, status: &Value) -> Option<Resource> {
        let name = row.text("node")?;
        let id = ResourceId::global(ResourceKind::Node, name).ok()?;
        let mut facts = usage(row);
        let mut aliases = Vec::new();
        let known =
            rows(status).find(|node| node.text("type") == Some("node") && node.text("name") == Some(name));
        if let Some(ip) = known.and_then(|node| node.text("ip")) {
            facts.insert("ip".to_owned(), json!([ip]));
            aliases.push(ip.to_owned());
        }
        let mut made = self.made(id, name.to_owned(), self.id(), row.text("status"), facts);
        made.aliases = aliases;
        Some(made)
    }

    fn guest(&self, row: Fields<'_>, kind: GuestKind) -> Option<Resource> {
        let guest = Guest {
            kind,
            node: row.text("node")?.to_owned(),
            vmid: u32::try_from(row.whole("vmid")?).ok()?,
        };
        let id = guest.id().ok()?;
        let parent = ResourceId::global(ResourceKind::Node, &guest.node).ok();
        let number = guest.vmid.to_string();
        let name = row.text("name").unwrap_or(&number).to_owned();
        let mut facts = usage(row);
        let tags: Vec<&str> = row
            .text("tags")
            .unwrap_or("")
            .split([';', ',', ' '])
            .filter(|tag| !tag.is_empty())
            .collect();
        if !tags.is_empty() {
            facts.insert("tags".to_owned(), json!(tags));
        }
        if row.flag("template") {
            facts.insert("template".to_owned(), true.into());
        }
        if let Some(lock) = row.text("lock") {
            facts.insert("lock".to_owned(), lock.into());
        }
        let state = match state_of(row) {
            // What Proxmox has a word for that is none of ours stays its word.
            RunState::Unknown => row.text("status").unwrap_or("unknown"),
            known => known.as_str(),
        };
        let mut made = self.made(id, name.clone(), parent, Some(state), facts);
        made.aliases = short_names(&name);
        made.aliases.push(number);
        Some(made)
    }

    fn storage(&self, row: Fields<'_>) -> Option<Resource> {
        let name = row.text("storage")?;
        let node = row.text("node")?;
        let cluster = self.name.as_deref().filter(|_| row.flag("shared"));
        let id = ResourceId::hosted(ResourceKind::Storage, cluster.unwrap_or(node), name).ok()?;
        let parent = match cluster {
            Some(_) => self.id(),
            None => ResourceId::global(ResourceKind::Node, node).ok(),
        };
        let facts = facts([
            ("type", row.text("plugintype").map(Value::from)),
            ("content", row.text("content").map(Value::from)),
            ("used_bytes", row.whole("disk").map(Value::from)),
            ("total_bytes", row.whole("maxdisk").map(Value::from)),
            ("shared", row.flag("shared").then(|| true.into())),
            ("nodes", Some(json!([node]))),
        ]);
        Some(self.made(id, name.to_owned(), parent, row.text("status"), facts))
    }

    fn made(
        &self,
        id: ResourceId,
        name: String,
        parent: Option<ResourceId>,
        state: Option<&str>,
        facts: Map<String, Value>,
    ) -> Resource {
        Resource {
            id,
            name,
            aliases: Vec::new(),
            parent,
            state: state.map(str::to_owned),
            // Added for all at once, behind this.
            identity: Identity::default(),
            source: self.source.to_owned(),
            facts,
        }
    }
}

/// The name of the cluster; a single node has none.
pub(super) fn cluster_name(status: &Value) -> Option<&str> {
    let rows = status.as_array()?.iter();
    rows.filter(|row| row.get("type").and_then(Value::as_str) == Some("cluster"))
        .find_map(|row| row.get("name").and_then(Value::as_str))
}

/// A full host name also answers to its first part.
fn short_names(name: &str) -> Vec<String> {
    name.split_once('.')
        .map(|(short, _)| short.to_owned())
        .filter(|short| !short.is_empty())
        .into_iter()
        .collect()
}

fn usage(row: Fields<'_>) -> Map<String, Value> {
    facts([
        (
            "cpu_percent",
            row.number("cpu").map(|cpu| json!((cpu * 1000.0).round() / 10.0)),
        ),
        ("cpus", row.whole("maxcpu").map(Value::from)),
        ("memory_bytes", row.whole("mem").map(Value::from)),
        ("memory_total_bytes", row.whole("maxmem").map(Value::from)),
        ("disk_bytes", row.whole("disk").map(Value::from)),
        ("disk_total_bytes", row.whole("maxdisk").map(Value::from)),
        ("uptime_seconds", row.whole("uptime").map(Value::from)),
    ])
}

/// A shared storage is one resource, however many nodes list it.
fn share(found: &mut Vec<Resource>) {
    let mut first: BTreeMap<ResourceId, usize> = BTreeMap::new();
    let mut kept: Vec<Resource> = Vec::with_capacity(found.len());
    for resource in found.drain(..) {
        if let Some(&at) = first.get(&resource.id) {
            let more = resource.facts.get("nodes").and_then(Value::as_array).cloned();
            if let (Some(Value::Array(nodes)), Some(more)) = (kept[at].facts.get_mut("nodes"), more) {
                nodes.extend(more);
            }
        } else {
            first.insert(resource.id.clone(), kept.len());
            kept.push(resource);
        }
    }
    *found = kept;
}
