//! What code asks about this machine by itself.

use interlock_exec::{Canary, UnitName};
use interlock_gate::{Plan, ReadTarget, ResolvedResource, Where};
use interlock_protocol::{Expectation, Identity, Observation, ResourceId, SandboxWall};
use jiff::Timestamp;
use serde_json::json;

use super::query::running;
use super::{LocalHost, arguments, facts};
use crate::{BoxFuture, Inventory, Reading};

impl LocalHost {
    /// Which sandbox holds commands that read here, as a canary in it shows once.
    pub(crate) async fn read_sandbox(&self) -> SandboxWall {
        let tried = self
            .inner
            .sandbox
            .get_or_try_init(|| async { self.inner.runner.canary().await.map(|canary| shown_by(&canary)) })
            .await;
        match tried {
            Ok(sandbox) => sandbox.clone(),
            Err(error) => SandboxWall::None {
                reason: error.to_string(),
            },
        }
    }
}

/// What a canary showed. One that could do what the sandbox claims to keep back proves that there is none.
fn shown_by(canary: &Canary) -> SandboxWall {
    let wall = canary.sandbox.wall();
    let known: &[String] = match &wall {
        SandboxWall::Enforced { missing, .. } => missing,
        SandboxWall::None { .. } => return wall,
    };
    let signals = known.iter().any(|missing| missing.contains("signals"));
    match canary
        .could
        .iter()
        .find(|could| !(signals && could.contains("signal")))
    {
        Some(could) => SandboxWall::None {
            reason: format!("a test command in its sandbox could {could}"),
        },
        None => wall,
    }
}

impl Inventory for LocalHost {
    fn knows(&self, resource: &ResourceId) -> bool {
        resource == self.id()
    }

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
        let identity = if self.has(resource) {
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
        Box::pin(async move {
            let sandbox = match place {
                Where::In(id) if id != self.id() => SandboxWall::None {
                    reason: format!("`{id}` is not this machine"),
                },
                Where::In(_) | Where::Here => self.read_sandbox().await,
            };
            ReadTarget {
                sandbox,
                tags: self.tags.clone(),
            }
        })
    }
}
