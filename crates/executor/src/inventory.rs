//! What code asks by itself: no permit, no shell, nothing that a model shapes.

use interlock_gate::{Plan, ReadTarget, ResolvedResource, Where};
use interlock_protocol::{Expectation, Identity, Observation, ResourceId, SandboxWall};

use crate::{BoxFuture, Reading};

/// Knows what exists and what it is doing.
pub trait Inventory: Send + Sync {
    /// Whether a resource is one of its own. Where inventories are composed, only the first one that says so is asked.
    fn knows(&self, _resource: &ResourceId) -> bool {
        true
    }

    /// What goes by this id, name or alias: for a mention, and for discovering a plan's own resource anew.
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>>;

    /// Looks at a resource for what is expected of it. `None` where that cannot be observed.
    fn observe<'a>(
        &'a self,
        resource: &'a ResourceId,
        expectation: &'a Expectation,
    ) -> BoxFuture<'a, Option<Reading>>;

    /// Which machine a resource is now, asked live: a reading of another machine verifies nothing.
    ///
    /// What knows nothing of identities says nothing, and its readings then verify no write to a machine that has one.
    fn identity<'a>(&'a self, _resource: &'a ResourceId) -> BoxFuture<'a, Identity> {
        Box::pin(std::future::ready(Identity::default()))
    }

    /// What a later reading is compared with, observed right before a write begins. Empty where nothing is needed, or where
    /// it cannot be observed.
    fn baseline<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Vec<Observation>> {
        Box::pin(async move {
            match (plan.resource(), &plan.expectation) {
                (Some(resource), Some(expectation)) if expectation.needs_baseline() => self
                    .observe(resource, expectation)
                    .await
                    .map(|reading| reading.observations)
                    .unwrap_or_default(),
                _ => Vec::new(),
            }
        })
    }

    /// The machine that is meant where a call names none.
    fn here(&self) -> Option<ResolvedResource> {
        None
    }

    /// Which sandbox commands get in a place, and which tags it has. A place that cannot be asked offers none.
    fn read_target<'a>(&'a self, place: &'a Where) -> BoxFuture<'a, ReadTarget> {
        let _ = place;
        Box::pin(std::future::ready(ReadTarget {
            sandbox: SandboxWall::None {
                reason: "no commands run there".to_owned(),
            },
            tags: std::collections::BTreeSet::new(),
        }))
    }
}
