//! What code asks about the fleet by itself.

use std::time::Duration;

use interlock_exec::UnitName;
use interlock_gate::ResolvedResource;
use interlock_infra::FilePath;
use interlock_protocol::{Expectation, Identity, Observation, ResourceId};
use jiff::Timestamp;
use serde_json::json;

use super::reach::reading;
use super::{Fleet, resolved};
use crate::{BoxFuture, Inventory, Reading};

/// How old the graph may be in which a mention is looked up.
const MENTIONS_FOR: Duration = Duration::from_secs(5);

impl Inventory for Fleet {
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move {
            let here = match &self.inner.local {
                Some(local) => local.find(name).await,
                None => Vec::new(),
            };
            let graph = self.inner.infra.graph(MENTIONS_FOR).await;
            let mut found = here;
            for resource in graph.named(name) {
                if !found.iter().any(|known| known.id == resource.id) {
                    found.push(resolved(resource));
                }
            }
            found
        })
    }

    fn identity<'a>(&'a self, resource: &'a ResourceId) -> BoxFuture<'a, Identity> {
        Box::pin(self.place_of(resource))
    }

    fn observe<'a>(
        &'a self,
        resource: &'a ResourceId,
        expectation: &'a Expectation,
    ) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async move {
            if let Some(local) = self.inner.local.as_ref().filter(|local| local.id() == resource) {
                return local.observe(resource, expectation).await;
            }
            match expectation {
                Expectation::FileHash { path, .. }
                | Expectation::FilePatched { path }
                | Expectation::FileAbsent { path } => self.observe_file(resource, path).await,
                Expectation::UnitActivity { unit, .. } | Expectation::UnitRestarted { unit } => {
                    self.observe_unit(resource, unit).await
                }
                Expectation::GuestState { .. }
                | Expectation::GuestRestarted
                | Expectation::Property { .. }
                | Expectation::Present
                | Expectation::Absent
                | Expectation::FreeForm
                | Expectation::ContainerState { .. }
                | Expectation::ContainerRestarted
                | Expectation::ContainerImage { .. }
                | Expectation::ReadyReplicas { .. }
                | Expectation::AlertState { .. } => {
                    let look = self.look(resource).await.ok()?;
                    Some(look.reading(resource))
                }
            }
        })
    }
}

impl Fleet {
    async fn observe_file(&self, id: &ResourceId, path: &str) -> Option<Reading> {
        let taken_at = Timestamp::now();
        let file = FilePath::new(path)?;
        let hash = self.hash_there(id, &file).await.ok()?;
        let data = json!({"path": path, "exists": hash.is_some(), "sha256": hash});
        let observed = Observation::File {
            path: path.to_owned(),
            hash,
        };
        Some(reading(id, taken_at, data, vec![observed]))
    }

    async fn observe_unit(&self, id: &ResourceId, unit: &str) -> Option<Reading> {
        let taken_at = Timestamp::now();
        let name = UnitName::new(unit).ok()?;
        let seen = self.unit_there(id, &name).await.ok()?;
        Some(reading(id, taken_at, seen.data(&name), seen.observations(&name)))
    }
}
