//! A Docker host and its containers, for the graph.

use futures_util::StreamExt as _;
use interlock_protocol::Identity;
use serde_json::{Map, Value, json};

use super::Docker;
use super::view::Container;
use crate::{BoxFuture, Error, Resource, Source};

/// How many containers are looked at closely at the same time.
const AT_ONCE: usize = 8;
/// How many containers are looked at closely at all.
const MOST: usize = 200;
/// How much of an id people use.
const SHORT_ID: usize = 12;

impl Source for Docker {
    fn connection(&self) -> &str {
        self.name()
    }

    fn kind(&self) -> &'static str {
        "docker"
    }

    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async move {
            let (containers, identity) = tokio::join!(self.containers(), self.identity());
            let containers = containers?;
            let identity = identity.unwrap_or_else(|_| self.last_identity());
            let mut all = vec![self.host(containers.len(), &identity)];
            let counts = self.restart_counts(&containers).await;
            for (place, container) in containers.into_iter().enumerate() {
                let count = counts.get(place).copied().flatten();
                all.extend(self.resource(container, count, &identity));
            }
            Ok(all)
        })
    }
}

impl Docker {
    fn host(&self, containers: usize, identity: &Identity) -> Resource {
        let mut facts = Map::new();
        facts.insert("containers".to_owned(), containers.into());
        Resource {
            id: self.inner.id.clone(),
            name: self.inner.name.clone(),
            aliases: Vec::new(),
            parent: self.inner.runs_on.clone(),
            state: Some("running".to_owned()),
            identity: identity.clone(),
            source: self.inner.name.clone(),
            facts,
        }
    }

    /// How often the engine restarted each: a list of containers does not say.
    async fn restart_counts(&self, containers: &[Container]) -> Vec<Option<i64>> {
        let names: Vec<String> = containers
            .iter()
            .take(MOST)
            .map(|container| container.name.clone())
            .collect();
        futures_util::stream::iter(names)
            .map(|name| async move { self.inspect(&name).await.ok().map(|found| found.restart_count) })
            .buffered(AT_ONCE)
            .collect()
            .await
    }

    fn resource(
        &self,
        container: Container,
        restart_count: Option<i64>,
        identity: &Identity,
    ) -> Option<Resource> {
        let id = self.container_id(&container.name)?;
        let mut aliases = vec![format!("{}/{}", self.inner.name, container.name)];
        if let Some(short) = container.id.get(..SHORT_ID) {
            aliases.push(short.to_owned());
        }
        if !container.id.is_empty() {
            aliases.push(container.id);
        }
        let mut facts = Map::new();
        let mut fact = |name: &str, value: Value| {
            if !value.is_null() {
                facts.insert(name.to_owned(), value);
            }
        };
        fact("image", json!(container.image));
        fact("ports", json!(container.ports));
        fact("status", json!(container.status));
        fact("restart_count", json!(restart_count));
        fact("health", json!(container.health));
        if !container.labels.is_empty() {
            fact("labels", json!(container.labels));
        }
        Some(Resource {
            id,
            name: container.name,
            aliases,
            parent: Some(self.inner.id.clone()),
            state: Some(container.state),
            identity: identity.clone(),
            source: self.inner.name.clone(),
            facts,
        })
    }
}
