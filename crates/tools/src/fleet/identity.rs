//! Whether a plan reaches the machine that it was made for: asked live, before anything runs.

use interlock_gate::Plan;
use interlock_infra::Error as InfraError;
use interlock_protocol::{Identity, IdentityFact, ResourceId};

use super::Fleet;
use crate::Failure;

/// Which machine a reading is of. A reading shows by itself whether an object is still the one that was written to.
fn place(identity: Identity) -> Identity {
    identity.without(IdentityFact::ObjectUid)
}

impl Fleet {
    /// The machine that a plan's target is now. Fails where the plan was made for another one.
    pub(super) async fn same_machine(&self, plan: &Plan) -> Result<Identity, Failure> {
        let Some(target) = plan.target.as_ref().filter(|target| !target.identity.is_empty()) else {
            return Ok(Identity::default());
        };
        let live = self.identity_of(&target.id).await?;
        let changes = target.identity.contradictions(&live);
        if changes.is_empty() {
            return Ok(place(live));
        }
        Err(InfraError::AnotherMachine {
            connection: target.id.to_string(),
            changes,
        }
        .into())
    }

    /// Which machine a reading of a resource is of. One that does not say which it is verifies nothing.
    pub(super) async fn place_of(&self, id: &ResourceId) -> Identity {
        self.identity_of(id).await.map(place).unwrap_or_default()
    }

    /// Which machine a resource is now.
    async fn identity_of(&self, id: &ResourceId) -> Result<Identity, InfraError> {
        match self.inner.local.as_ref().filter(|local| local.has(id)) {
            Some(local) => Ok(local.identity()),
            None => self.inner.infra.identity(id).await,
        }
    }
}
