//! What code asks about the fleet by itself.

use std::time::Duration;

use interlock_exec::UnitName;
use interlock_gate::{Plan, ReadTarget, ResolvedResource, Where};
use interlock_infra::FilePath;
use interlock_protocol::{Expectation, Identity, Observation, ResourceId, SandboxWall};
use jiff::Timestamp;
use serde_json::json;

use super::reach::reading;
use super::{Fleet, resolved};
use crate::local::arguments;
use crate::{BoxFuture, Inventory, Reading};

/// How old the graph may be in which a mention is looked up.
const MENTIONS_FOR: Duration = Duration::from_secs(5);

/// Everything that is connected, without this machine.
pub(super) struct Connected(pub(super) Fleet);

impl Inventory for Connected {
    fn baseline<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Vec<Observation>> {
        Box::pin(async move {
            let (Some(resource), Some(expectation)) = (plan.resource(), &plan.expectation) else {
                return Vec::new();
            };
            match expectation {
                Expectation::FileAppended { path, .. } => self.0.before_append(resource, plan, path).await,
                expectation if expectation.needs_baseline() => self
                    .observe(resource, expectation)
                    .await
                    .map(|reading| reading.observations)
                    .unwrap_or_default(),
                _ => Vec::new(),
            }
        })
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move {
            let graph = self.0.inner.infra.graph(MENTIONS_FOR).await;
            graph.named(name).into_iter().map(resolved).collect()
        })
    }

    fn identity<'a>(&'a self, resource: &'a ResourceId) -> BoxFuture<'a, Identity> {
        Box::pin(self.0.place_of(resource))
    }

    fn observe<'a>(
        &'a self,
        resource: &'a ResourceId,
        expectation: &'a Expectation,
    ) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async move {
            match expectation {
                Expectation::FileHash { path, .. }
                | Expectation::FilePatched { path }
                | Expectation::FileAbsent { path }
                | Expectation::FileAppended { path, .. } => self.0.observe_file(resource, path).await,
                Expectation::NoteKept { .. } => self.0.observe_notes().await,
                Expectation::UnitActivity { unit, .. } | Expectation::UnitRestarted { unit } => {
                    self.0.observe_unit(resource, unit).await
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
                | Expectation::ContainerUpdated
                | Expectation::RolledOut
                | Expectation::Replaced
                | Expectation::ReadyReplicas { .. }
                | Expectation::AlertState { .. } => {
                    let look = self.0.look(resource).await.ok()?;
                    Some(look.reading(resource))
                }
            }
        })
    }

    fn read_target<'a>(&'a self, place: &'a Where) -> BoxFuture<'a, ReadTarget> {
        Box::pin(async move {
            match place {
                Where::In(id) => self.0.read_target_there(id).await,
                Where::Here => ReadTarget {
                    sandbox: SandboxWall::None {
                        reason: "the machine that Interlock runs on is none of the resources".to_owned(),
                    },
                    tags: std::collections::BTreeSet::new(),
                },
            }
        })
    }
}

impl Fleet {
    /// What a file is, and what it will be once the text of the plan was added.
    async fn before_append(&self, id: &ResourceId, plan: &Plan, path: &str) -> Vec<Observation> {
        let mut observed = self
            .observe_file(id, path)
            .await
            .map(|reading| reading.observations)
            .unwrap_or_default();
        let added = arguments::text(plan, "content").unwrap_or_default();
        let after = match FilePath::new(path) {
            Some(file) => self.hash_with(id, &file, added).await,
            None => None,
        };
        observed.extend(after.map(|hash| Observation::FileAfter {
            path: path.to_owned(),
            hash,
        }));
        observed
    }

    /// What a resource that commands run on offers, and its tags. One that cannot be asked offers no sandbox.
    async fn read_target_there(&self, id: &ResourceId) -> ReadTarget {
        let infra = &self.inner.infra;
        let (sandbox, tags) = tokio::join!(infra.read_sandbox(id), infra.tags(id));
        ReadTarget {
            sandbox: sandbox.unwrap_or_else(|error| SandboxWall::None {
                reason: error.to_string(),
            }),
            tags,
        }
    }

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
