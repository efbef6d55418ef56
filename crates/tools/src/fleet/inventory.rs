//! What code asks about the fleet by itself.

use interlock_gate::ResolvedResource;
use interlock_protocol::{Expectation, ResourceId};

use super::Fleet;
use crate::{BoxFuture, Inventory, Reading};

impl Inventory for Fleet {
    fn find<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async { Vec::new() })
    }

    fn observe<'a>(
        &'a self,
        _resource: &'a ResourceId,
        _expectation: &'a Expectation,
    ) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async { None })
    }
}
