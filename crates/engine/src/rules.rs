//! What the gate was set to when a session was opened: a record is replayed with the rules that held.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use interlock_gate::{
    Catalogue, CatalogueRecord, EvidenceRules, Gate, Options, RequireSandbox, StrictResolution,
};
use interlock_protocol::ContentHash;
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// Why no gate can be set so.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The catalogue that it was decided with is not there.
    #[error(
        "this was decided with the catalogue of tools {0}, which was not kept; replay it with the version that made it"
    )]
    Missing(ContentHash),
    /// What is kept under the hash of a catalogue is another one.
    #[error("what is kept as the catalogue of tools {0} is not that catalogue: it was changed")]
    Changed(ContentHash),
    /// The catalogue cannot be read.
    #[error(transparent)]
    Tools(#[from] interlock_gate::CatalogueError),
}

/// What the gate was set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Whether a target must have been discovered.
    pub strict_resolution: bool,
    /// Hosts that commands may reach without a human.
    pub egress: BTreeSet<String>,
    /// How long a permit waits to begin, in seconds.
    pub permit_ttl: i64,
    /// How long a hold waits for a human, in seconds.
    pub hold_ttl: i64,
    /// How long after a human's yes its plan may still begin, in seconds.
    pub redeem_within: i64,
    /// How long after a write code itself takes the reading, in seconds.
    pub verify_within: i64,
    /// How many identical calls in a row are refused recoverably.
    pub repetition_threshold: u32,
    /// On which resources a command that reads must run in a sandbox.
    #[serde(default, skip_serializing_if = "is_never")]
    pub read_sandbox: RequireSandbox,
    /// Files and folders of plain data.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub data_files: BTreeSet<String>,
    /// How readings are weighed; by word where earlier versions recorded nothing.
    #[serde(default, skip_serializing_if = "is_by_word")]
    pub evidence: EvidenceRules,
    /// The hash of the catalogue of tools.
    pub catalogue: ContentHash,
}

fn is_never(read_sandbox: &RequireSandbox) -> bool {
    *read_sandbox == RequireSandbox::Never
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_by_word(rules: &EvidenceRules) -> bool {
    *rules == EvidenceRules::ByWord
}

/// The catalogues that a record was decided with, by their hash.
pub type Catalogues = BTreeMap<ContentHash, CatalogueRecord>;

impl Rules {
    /// What a gate with these options and this catalogue is set to.
    pub(crate) fn of(options: &Options, catalogue: ContentHash) -> Self {
        Self {
            strict_resolution: options.strict_resolution == StrictResolution::On,
            egress: options.egress.clone(),
            permit_ttl: options.permit_ttl.as_secs(),
            hold_ttl: options.hold_ttl.as_secs(),
            redeem_within: options.redeem_within.as_secs(),
            verify_within: options.verify_within.as_secs(),
            repetition_threshold: options.repetition_threshold,
            read_sandbox: options.read_sandbox.clone(),
            data_files: options.data_files.clone(),
            evidence: options.evidence_rules,
            catalogue,
        }
    }

    /// A gate that is set so, with the catalogue that was kept.
    pub fn gate(&self, catalogues: &Catalogues) -> Result<Gate, Error> {
        let record = catalogues
            .get(&self.catalogue)
            .ok_or(Error::Missing(self.catalogue))?;
        if record.hash() != self.catalogue {
            return Err(Error::Changed(self.catalogue));
        }
        let catalogue = Catalogue::from_record(record.clone())?;
        let options = Options {
            strict_resolution: if self.strict_resolution {
                StrictResolution::On
            } else {
                StrictResolution::Off
            },
            egress: self.egress.clone(),
            permit_ttl: SignedDuration::from_secs(self.permit_ttl),
            hold_ttl: SignedDuration::from_secs(self.hold_ttl),
            redeem_within: SignedDuration::from_secs(self.redeem_within),
            verify_within: SignedDuration::from_secs(self.verify_within),
            repetition_threshold: self.repetition_threshold,
            read_sandbox: self.read_sandbox.clone(),
            data_files: self.data_files.clone(),
            evidence_rules: self.evidence,
        };
        Ok(Gate::new(Arc::new(catalogue), options))
    }
}
