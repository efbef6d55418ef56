//! One resource: what it is doing, and how it is built.

use std::time::Duration;

use interlock_gate::Started;
use interlock_infra::Resource;
use interlock_infra::proxmox::Guest;
use interlock_protocol::{ResourceId, ResourceKind};
use serde_json::{Value, json};

use super::query::{id_of, shown};
use super::reach::nothing_named;
use super::{Fleet, resolved};
use crate::Done;
use crate::Failure;
use crate::local::arguments;

/// How old the graph may be in which a name is looked up; what the resource is doing is asked anew.
const NAMES_FOR: Duration = Duration::from_secs(2);

impl Fleet {
    /// One resource by id, name or alias, looked at freshly.
    pub(super) async fn one(&self, started: &Started, action: &str) -> Result<Done, Failure> {
        let name = arguments::needed(started.plan(), "resource_id")?;
        if let Some(local) = &self.inner.local
            && (local.answers_to(name) || local.service_named(name).is_some())
        {
            return local.query(started).await;
        }
        let known = self.known(name).await?;
        let id = match (&known, id_of(name)) {
            (Some(resource), _) => resource.id.clone(),
            // It may be gone, or have moved: the cluster is asked about the number.
            (None, Some(id)) if Guest::of(&id).is_some() => id,
            (None, _) => return Err(nothing_named(name)),
        };
        if known.is_none() && !self.has_node(&id).await {
            return Err(nothing_named(name));
        }
        let mut look = self.look(&id).await?;
        let mut data = known
            .as_ref()
            .map_or_else(|| json!({"id": id, "kind": id.kind()}), shown);
        if let Value::Object(data) = &mut data {
            data.extend(std::mem::take(&mut look.data));
        }
        if action == "config" && look.exists {
            data["config"] = self.config_of(&id, &data).await?;
        }
        let mut discovered: Vec<_> = known
            .iter()
            .map(|resource| {
                let mut resource = resolved(resource);
                resource.state = data["state"].as_str().map(str::to_owned).or(resource.state);
                resource
            })
            .collect();
        if let Some(moved) = data["moved_to"].as_str().and_then(id_of) {
            let graph = self.inner.infra.graph(Duration::ZERO).await;
            discovered.extend(graph.get(&moved).map(resolved));
        }
        let summary = match action {
            "config" => "how a resource is built",
            "health" => "how a resource is doing",
            _ => "a resource",
        };
        look.data = match &data {
            Value::Object(members) => members.clone(),
            _ => serde_json::Map::new(),
        };
        let reading = look.reading(&id);
        Ok(Done::succeeded(data, summary)
            .with_reading(reading)
            .with_discovered(discovered))
    }

    async fn known(&self, name: &str) -> Result<Option<Resource>, Failure> {
        let graph = self.inner.infra.graph(NAMES_FOR).await;
        match graph.named(name).as_slice() {
            [] => Ok(None),
            [one] => Ok(Some((*one).clone())),
            _ => {
                let id = self.named(name).await?;
                Ok(graph.get(&id).cloned())
            }
        }
    }

    /// Whether the node that an id names is one that is connected: else the id is made up.
    async fn has_node(&self, id: &ResourceId) -> bool {
        let graph = self.inner.infra.graph(NAMES_FOR).await;
        id.host()
            .and_then(|host| ResourceId::global(ResourceKind::Node, host).ok())
            .is_some_and(|node| graph.get(&node).is_some())
    }

    /// How a resource is built, as its provider has it written down.
    async fn config_of(&self, id: &ResourceId, data: &Value) -> Result<Value, Failure> {
        let now = data["moved_to"].as_str().and_then(id_of);
        let id = now.as_ref().unwrap_or(id);
        if let Some(guest) = Guest::of(id) {
            let proxmox = self.inner.infra.proxmox_of(id).await?;
            return Ok(proxmox.guest_config(&guest).await?);
        }
        Ok(data.get("facts").cloned().unwrap_or(Value::Null))
    }
}
