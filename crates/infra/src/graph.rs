//! The one resource graph: what exists, by which names, on what, in which state.

use std::collections::{BTreeMap, BTreeSet};

use interlock_protocol::{Identity, ResourceId, name_key};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{BoxFuture, Error};

/// One resource as its provider describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// Its canonical id.
    pub id: ResourceId,
    /// Its display name.
    pub name: String,
    /// Other names it answers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// What it lives on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ResourceId>,
    /// The state it is in, in its provider's word: `running`, `stopped`, `online`, `restarting`…
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Which machine it is: what tells it from another one under the same name.
    #[serde(skip_serializing_if = "Identity::is_empty")]
    pub identity: Identity,
    /// The connection that knows it, by its name in the configuration.
    pub source: String,
    /// What else its provider says: numbers, tags, addresses.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

impl Resource {
    /// The tags that its provider reports: Proxmox tags; labels of containers, as `key` and as `key=value`.
    pub fn tags(&self) -> impl Iterator<Item = String> {
        let list = self.facts.get("tags").and_then(Value::as_array);
        let tags = list
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned);
        let labels = self.facts.get("labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten().flat_map(|(key, value)| {
            let pair = value.as_str().map(|value| format!("{key}={value}"));
            std::iter::once(key.clone()).chain(pair)
        });
        tags.chain(labels)
    }
}

/// Whether a connection works.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// The connection, by its name in the configuration.
    pub connection: String,
    /// What it speaks: `proxmox`, `docker`, `prometheus`…
    pub kind: &'static str,
    /// Why it does not work; nothing if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// How many resources it made known.
    pub resources: usize,
}

/// Something that makes resources known.
pub trait Source: Send + Sync {
    /// The connection, by its name in the configuration.
    fn connection(&self) -> &str;

    /// What it speaks.
    fn kind(&self) -> &'static str;

    /// Everything that it knows now.
    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>>;
}

/// Everything that all connections know, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Graph {
    /// Sorted by id.
    resources: Vec<Resource>,
    health: Vec<Health>,
    taken_at: Option<Timestamp>,
}

impl Graph {
    /// A graph of these resources.
    ///
    /// What two connections know by one id cannot be told apart, so it is left out, and both say so: acting on it could hit
    /// the other one.
    pub fn new(mut resources: Vec<Resource>, mut health: Vec<Health>, taken_at: Timestamp) -> Self {
        resources.sort_by(|one, other| one.id.cmp(&other.id));
        let mut twice: BTreeMap<ResourceId, BTreeSet<String>> = BTreeMap::new();
        for pair in resources.windows(2) {
            if let [one, other] = pair
                && one.id == other.id
                && one.source != other.source
            {
                let sources = twice.entry(one.id.clone()).or_default();
                sources.extend([one.source.clone(), other.source.clone()]);
            }
        }
        resources.retain(|resource| !twice.contains_key(&resource.id));
        resources.dedup_by(|one, other| one.id == other.id);
        for health in &mut health {
            let shared = twice
                .iter()
                .find(|(_, sources)| sources.contains(&health.connection));
            if let (Some((id, sources)), None) = (shared, &health.problem) {
                let names: Vec<&str> = sources.iter().map(String::as_str).collect();
                health.problem = Some(format!(
                    "`{id}` is known by {} at once and left out; give them names of their own",
                    names.join(" and ")
                ));
            }
        }
        Self {
            resources,
            health,
            taken_at: Some(taken_at),
        }
    }

    /// All resources, by id.
    pub fn resources(&self) -> &[Resource] {
        &self.resources
    }

    /// How each connection did.
    pub fn health(&self) -> &[Health] {
        &self.health
    }

    /// When it was taken: what it says is not older.
    pub const fn taken_at(&self) -> Option<Timestamp> {
        self.taken_at
    }

    /// The resource with this id.
    pub fn get(&self, id: &ResourceId) -> Option<&Resource> {
        let at = self
            .resources
            .binary_search_by(|resource| resource.id.cmp(id))
            .ok()?;
        self.resources.get(at)
    }

    /// What goes by this id, name or alias, however it is written. Several, where a name is not unique.
    pub fn named(&self, name: &str) -> Vec<&Resource> {
        if let Ok(id) = name.parse::<ResourceId>() {
            return self.get(&id).into_iter().collect();
        }
        let key = name_key(name);
        self.resources
            .iter()
            .filter(|resource| {
                let mut names = [&resource.name, resource.id.uid()]
                    .into_iter()
                    .chain(resource.aliases.iter().map(String::as_str));
                names.any(|name| name_key(name) == key)
            })
            .collect()
    }

    /// What lives directly on a resource.
    pub fn children(&self, id: &ResourceId) -> impl Iterator<Item = &Resource> {
        self.resources
            .iter()
            .filter(move |resource| resource.parent.as_ref() == Some(id))
    }
}
