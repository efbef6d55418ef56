//! Several inventories as one.

use std::collections::BTreeSet;
use std::sync::Arc;

use interlock_gate::{Plan, ReadTarget, ResolvedResource, Where};
use interlock_protocol::{Expectation, Identity, Observation, ResourceId, SandboxWall};

use crate::{BoxFuture, Inventory, Reading};

/// Several inventories as one. About a resource the first one that knows it is asked, and no other: a resource is looked
/// at by what acts on it.
#[derive(Clone, Default)]
pub struct Inventories {
    all: Vec<Arc<dyn Inventory>>,
}

impl std::fmt::Debug for Inventories {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inventories")
            .field("count", &self.all.len())
            .finish()
    }
}

impl Inventories {
    /// These, in this order.
    pub fn of(all: impl IntoIterator<Item = Arc<dyn Inventory>>) -> Self {
        Self {
            all: all.into_iter().collect(),
        }
    }

    fn knowing(&self, resource: &ResourceId) -> Option<&dyn Inventory> {
        let found = self.all.iter().find(|inventory| inventory.knows(resource));
        found.map(AsRef::as_ref)
    }
}

impl Inventory for Inventories {
    fn knows(&self, resource: &ResourceId) -> bool {
        self.knowing(resource).is_some()
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move {
            let mut found: Vec<ResolvedResource> = Vec::new();
            for inventory in &self.all {
                for resource in inventory.find(name).await {
                    if !found.iter().any(|known| known.id == resource.id) {
                        found.push(resource);
                    }
                }
            }
            found
        })
    }

    fn observe<'a>(
        &'a self,
        resource: &'a ResourceId,
        expectation: &'a Expectation,
    ) -> BoxFuture<'a, Option<Reading>> {
        match self.knowing(resource) {
            Some(inventory) => inventory.observe(resource, expectation),
            None => Box::pin(std::future::ready(None)),
        }
    }

    fn identity<'a>(&'a self, resource: &'a ResourceId) -> BoxFuture<'a, Identity> {
        match self.knowing(resource) {
            Some(inventory) => inventory.identity(resource),
            None => Box::pin(std::future::ready(Identity::default())),
        }
    }

    fn baseline<'a>(&'a self, plan: &'a Plan) -> BoxFuture<'a, Vec<Observation>> {
        match plan.resource().and_then(|resource| self.knowing(resource)) {
            Some(inventory) => inventory.baseline(plan),
            None => Box::pin(std::future::ready(Vec::new())),
        }
    }

    fn here(&self) -> Option<ResolvedResource> {
        self.all.iter().find_map(|inventory| inventory.here())
    }

    fn read_target<'a>(&'a self, place: &'a Where) -> BoxFuture<'a, ReadTarget> {
        let (inventory, reason) = match place {
            Where::In(id) => (
                self.knowing(id),
                format!("nothing that is connected knows `{id}`"),
            ),
            Where::Here => (
                self.all
                    .iter()
                    .find(|inventory| inventory.here().is_some())
                    .map(AsRef::as_ref),
                "the machine that Interlock runs on is none of the resources".to_owned(),
            ),
        };
        match inventory {
            Some(inventory) => inventory.read_target(place),
            None => Box::pin(std::future::ready(ReadTarget {
                sandbox: SandboxWall::None { reason },
                tags: BTreeSet::new(),
            })),
        }
    }
}
