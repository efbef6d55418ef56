//! The tools that a session runs on.
//!
//! Tools may come and go while Interlock runs. So a run takes the catalogue of the moment in which it begins, with the gate over
//! it, as one value that never changes ([`RuleSet`]), and names it by its hash in the record. The catalogue is kept once, so
//! that the record can be replayed when the tools have changed. What runs a call is taken when the call runs ([`ToolSet`]): a
//! connection that was removed is not used any more.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use interlock_executor::{Filter, Toolbox};
use interlock_gate::{Catalogue, CatalogueRecord, Gate, Options};
use interlock_protocol::{ContentHash, ToolDefinition, ToolName};
use interlock_store::Store;

use crate::error::Error;
use crate::rules::Rules;

/// What decides about the tools of one moment, and what is kept of it. Holds no connection.
#[derive(Debug)]
pub(crate) struct RuleSet {
    gate: Gate,
    rules: Rules,
    record: Arc<CatalogueRecord>,
    /// The tools that can run.
    names: BTreeSet<ToolName>,
    /// Whether the store is known to have the record.
    kept: Arc<AtomicBool>,
}

impl RuleSet {
    /// What decides.
    pub(crate) const fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What is known about the tools.
    pub(crate) fn catalogue(&self) -> &Catalogue {
        self.gate.catalogue()
    }

    /// What is written down of it when a session is opened.
    pub(crate) const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The names of the tools that can run.
    pub(crate) const fn names(&self) -> &BTreeSet<ToolName> {
        &self.names
    }

    /// The tools that can run, as the catalogue describes them.
    pub(crate) fn runnable(&self) -> impl Iterator<Item = &ToolDefinition> {
        let definition = |tool| -> &ToolDefinition { interlock_gate::Tool::definition(tool) };
        self.catalogue()
            .tools()
            .map(definition)
            .filter(|definition| self.names.contains(&definition.name))
    }

    /// The tools of this one that another one has, described in the same way.
    pub(crate) fn shared_with(&self, other: &Self) -> BTreeSet<ToolName> {
        let same = |name: &&ToolName| {
            let ours = self.catalogue().get(name.as_str());
            let theirs = other.catalogue().get(name.as_str());
            ours.zip(theirs)
                .is_some_and(|(ours, theirs)| ours.definition() == theirs.definition())
        };
        self.names
            .intersection(&other.names)
            .filter(same)
            .cloned()
            .collect()
    }

    /// The same catalogue with a gate that is set otherwise.
    pub(crate) fn with_options(&self, options: Options) -> Self {
        Self {
            rules: Rules::of(&options, self.rules.catalogue),
            gate: self.gate.with_options(options),
            record: Arc::clone(&self.record),
            names: self.names.clone(),
            kept: Arc::clone(&self.kept),
        }
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
        let body = serde_json::to_string(&*self.record).map_err(unreadable)?;
        store.keep_catalogue(self.rules.catalogue, body).await?;
        self.kept.store(true, Ordering::Release);
        Ok(())
    }
}

/// The tools of one moment: what decides about them, what runs them, and what is kept of them.
#[derive(Debug)]
pub struct ToolSet {
    rules: Arc<RuleSet>,
    toolbox: Toolbox,
}

impl ToolSet {
    /// The tools of this gate's catalogue, and what runs them. Fails if the catalogue cannot be written down.
    pub fn new(gate: Gate, toolbox: Toolbox) -> Result<Self, serde_json::Error> {
        let record = gate.catalogue().record()?;
        let rules = Rules::of(gate.options(), record.hash());
        let names = toolbox
            .list(gate.catalogue(), &Filter::default())
            .into_iter()
            .map(|definition| definition.name.clone())
            .collect();
        Ok(Self {
            rules: Arc::new(RuleSet {
                gate,
                rules,
                record: Arc::new(record),
                names,
                kept: Arc::default(),
            }),
            toolbox,
        })
    }

    /// What decides about them.
    pub fn gate(&self) -> &Gate {
        self.rules.gate()
    }

    /// What runs them.
    pub const fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    /// What is known about them.
    pub fn catalogue(&self) -> &Catalogue {
        self.rules.catalogue()
    }

    /// The hash that names their catalogue in the record.
    pub fn hash(&self) -> ContentHash {
        self.rules.rules.catalogue
    }

    /// What is kept of their catalogue.
    pub fn record(&self) -> &CatalogueRecord {
        &self.rules.record
    }

    /// The tools that can run, as the catalogue describes them.
    pub fn runnable(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.rules.runnable()
    }

    pub(crate) const fn rules(&self) -> &Arc<RuleSet> {
        &self.rules
    }
}
