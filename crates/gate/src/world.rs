//! What all sessions share: who is writing to what, and whether writes are stopped.

use std::collections::BTreeMap;

use interlock_protocol::{ExecutionId, PermitId, ResourceId, SessionId};

/// Whether writes are stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum KillSwitch {
    /// Writes may start.
    #[default]
    Released,
    /// No write may start.
    Engaged,
}

/// Who is writing to a resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer {
    /// The session.
    pub session: SessionId,
    /// The agent at work.
    pub execution: ExecutionId,
    /// The permit.
    pub permit: PermitId,
}

/// What all sessions share. A value: replicas fill it from the store before they ask.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct World {
    /// Whether writes are stopped.
    pub kill_switch: KillSwitch,
    writers: BTreeMap<ResourceId, Writer>,
}

impl World {
    /// A world in which nobody writes.
    pub fn new(kill_switch: KillSwitch) -> Self {
        Self {
            kill_switch,
            writers: BTreeMap::new(),
        }
    }

    /// Who is writing to this resource.
    pub fn writer_of(&self, resource: &ResourceId) -> Option<&Writer> {
        self.writers.get(resource)
    }

    /// Everyone who is writing.
    pub fn writers(&self) -> impl Iterator<Item = (&ResourceId, &Writer)> {
        self.writers.iter()
    }

    /// Takes over what another replica reports. A resource that has a writer here keeps it.
    pub fn note_writer(&mut self, resource: ResourceId, writer: Writer) {
        self.writers.entry(resource).or_insert(writer);
    }

    /// Forgets a writer that another replica reports gone.
    pub fn forget_writer(&mut self, resource: &ResourceId, permit: &PermitId) {
        self.release(resource, permit);
    }

    pub(crate) fn take(&mut self, resource: ResourceId, writer: Writer) {
        self.writers.insert(resource, writer);
    }

    pub(crate) fn release(&mut self, resource: &ResourceId, permit: &PermitId) {
        if self
            .writers
            .get(resource)
            .is_some_and(|writer| writer.permit == *permit)
        {
            self.writers.remove(resource);
        }
    }
}
