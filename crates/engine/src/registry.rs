//! The tools that a session runs on.
//!
//! Tools may come and go while Interlock runs. So a run takes the tools of the moment in which it begins, as one value that
//! never changes ([`ToolSet`]), and names them by the hash of their catalogue in the record. The catalogue is kept once, so
//! that the record can be replayed when the tools have changed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use interlock_executor::Toolbox;
use interlock_gate::{Catalogue, CatalogueRecord, Gate};
use interlock_protocol::{ContentHash, ToolDefinition, ToolName};
use interlock_store::Store;

use crate::error::Error;
use crate::rules::Rules;

/// The tools of one moment: what decides about them, what runs them, and what is kept of them.
#[derive(Debug)]
pub struct ToolSet {
    gate: Gate,
    toolbox: Toolbox,
    rules: Rules,
    record: CatalogueRecord,
    /// Whether the store is known to have the record.
    kept: AtomicBool,
}

impl ToolSet {
    /// The tools of this gate's catalogue, and what runs them. Fails if the catalogue cannot be written down.
    pub fn new(gate: Gate, toolbox: Toolbox) -> Result<Self, serde_json::Error> {
        let record = gate.catalogue().record()?;
        let rules = Rules::of(gate.options(), record.hash());
        Ok(Self {
            gate,
            toolbox,
            rules,
            record,
            kept: AtomicBool::new(false),
        })
    }

    /// What decides about them.
    pub const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What runs them.
    pub const fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// What is known about them.
    pub fn catalogue(&self) -> &Catalogue {
        self.gate.catalogue()
    }

    /// The hash that names their catalogue in the record.
    pub const fn hash(&self) -> ContentHash {
        self.rules.catalogue
    }

    /// What is kept of their catalogue.
    pub const fn record(&self) -> &CatalogueRecord {
        &self.record
    }

    pub(crate) const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Keeps the catalogue, if this process did not do so before. Nothing is decided with a catalogue that is not kept.
    pub(crate) async fn keep(&self, store: &Store) -> Result<(), Error> {
        if self.kept.load(Ordering::Acquire) {
            return Ok(());
        }
        let unreadable = |source| Error::Unreadable {
            what: "the catalogue of tools".to_owned(),
            source,
        };
        let body = serde_json::to_string(&self.record).map_err(unreadable)?;
        store.keep_catalogue(self.hash(), body).await?;
        self.kept.store(true, Ordering::Release);
        Ok(())
    }

    /// The tools that can run, as the catalogue describes them.
    pub fn runnable(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.toolbox
            .list(self.gate.catalogue(), &interlock_executor::Filter::default())
            .into_iter()
    }

    /// The names of the tools that can run.
    pub(crate) fn names(&self) -> BTreeSet<ToolName> {
        self.runnable()
            .map(|definition| definition.name.clone())
            .collect()
    }
}

/// Hands out the tools of the moment. Cheap to clone; whoever has one may replace the tools for all.
#[derive(Debug, Clone)]
pub struct Registry {
    now: Arc<RwLock<Arc<ToolSet>>>,
}

impl Registry {
    /// A registry that begins with these tools.
    pub fn new(tools: ToolSet) -> Self {
        Self {
            now: Arc::new(RwLock::new(Arc::new(tools))),
        }
    }

    /// The tools as they are now. They stay so for whoever took them.
    pub fn now(&self) -> Arc<ToolSet> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Other tools, for every run that begins from now on. A run that has begun goes on with its own.
    pub fn replace(&self, tools: ToolSet) {
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tools);
    }
}
