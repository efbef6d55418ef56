//! What code asks about this machine by itself.

use interlock_exec::UnitName;
use interlock_gate::{Plan, ReadTarget, ResolvedResource, Where};
use interlock_protocol::{Expectation, Identity, Observation, ResourceId, SandboxWall, WallKind};
use jiff::Timestamp;
use serde_json::json;

use super::query::running;
use super::{LocalHost, arguments, facts};
use crate::{BoxFuture, Inventory, Reading};

impl LocalHost {
    /// Which sandbox commands that read get here.
    pub(crate) fn read_sandbox(&self) -> SandboxWall {
        if self.inner.runner.requires_sandbox() {
            // Where it cannot be enforced, nothing runs.
            SandboxWall::Enforced {
                by: WallKind::LandlockSeccomp,
                sockets: Vec::new(),
                missing: Vec::new(),
            }
        } else {
            SandboxWall::None {
                reason: "commands on this machine run without one where the kernel offers none".to_owned(),
            }
        }
    }
}

impl Inventory for LocalHost {
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move {
            if self.answers_to(name) {
                return vec![self.resource()];
            }
            let Some((id, unit_name)) = self.service_named(name) else {
                return Vec::new();
            };
            match self.unit(&unit_name).await {
                Ok(unit) if unit.loaded => {
                    vec![
                        ResolvedResource::new(id, unit_name.as_str())
                            .in_state(unit.activity.as_str())
                            .identified(self.identity()),
                    ]
                }
                Ok(_) | Err(_) => Vec::new(),
            }
        })
    }

    fn identity<'a>(&'a self, resource: &'a ResourceId) -> BoxFuture<'a, Identity> {
        let identity = if self.knows(resource) {
            self.identity()
        } else {
            Identity::default()
        };
        Box::pin(std::future::ready(identity))
    }

    fn observe<'a>(
        &'a self,
        resource: &'a ResourceId,
        expectation: &'a Expectation,
    ) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async move {
            if resource != self.id() {
                return None;
            }
            let taken_at = Timestamp::now();
            let (data, observations) = match expectation {
                Expectation::FileHash { path, .. }
                | Expectation::FilePatched { path }
                | Expectation::FileAbsent { path }
                | Expectation::FileAppended { path, .. } => {
                    let (data, observed) = self.observe_file(path).await?;
                    (data, vec![observed])
                }
                Expectation::UnitActivity { unit, .. } | Expectation::UnitRestarted { unit } => {
                    let name = UnitName::new(unit).ok()?;
                    let seen = self.unit(&name).await.ok()?;
                    (seen.data(&name), seen.observations(&name))
                }
                Expectation::GuestState { .. } | Expectation::GuestRestarted => {
                    (facts::health(), vec![running()])
                }
                Expectation::FreeForm | Expectation::Present | Expectation::Absent => {
                    (json!({"exists": true, "state": "running"}), Vec::new())
                }
                Expectation::ContainerState { .. }
                | Expectation::ContainerRestarted
                | Expectation::ContainerImage { .. }
                | Expectation::ContainerUpdated
                | Expectation::RolledOut
                | Expectation::Replaced
                | Expectation::NoteKept { .. }
                | Expectation::ReadyReplicas { .. }
                | Expectation::AlertState { .. }
                | Expectation::Property { .. } => return None,
            };
            Some(self.reading(taken_at, data, observations))
        })
    }

    fn baseline<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Vec<Observation>> {
        Box::pin(async move {
            let Some(expectation) = plan
                .expectation
                .as_ref()
                .filter(|expected| expected.needs_baseline())
            else {
                return Vec::new();
            };
            let mut observed = self
                .observe(self.id(), expectation)
                .await
                .map(|reading| reading.observations)
                .unwrap_or_default();
            if let Expectation::FileAppended { path, .. } = expectation {
                let added = arguments::text(plan, "content").unwrap_or_default();
                let after = self.hash_with(path, added).await;
                observed.extend(after.map(|hash| Observation::FileAfter {
                    path: path.clone(),
                    hash,
                }));
            }
            observed
        })
    }

    fn here(&self) -> Option<ResolvedResource> {
        Some(self.resource())
    }

    fn read_target<'a>(&'a self, place: &'a Where) -> BoxFuture<'a, ReadTarget> {
        let sandbox = match place {
            Where::In(id) if id != self.id() => SandboxWall::None {
                reason: format!("`{id}` is not this machine"),
            },
            Where::In(_) | Where::Here => self.read_sandbox(),
        };
        Box::pin(std::future::ready(ReadTarget {
            sandbox,
            tags: std::collections::BTreeSet::new(),
        }))
    }
}
