//! The trace of a run: exactly what the model was sent, what it wrote, what the gate was asked and answered, and what
//! came of it. Enough to ask everything again and compare.
//!
//! A trace is signed where the store is. The comparison finds what contradicts itself; the signature finds every other
//! change.

use std::collections::BTreeSet;

use interlock_protocol::{ContentHash, Evidence, EvidenceId, ExecutionId, RunId, SessionId};
use interlock_seal::{Keyring, PublicKey, Purpose, Signature};
use interlock_store::{Call, Run, SealState, Step, Store};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::replay::{self, Replayed};
use crate::rules::Catalogues;
use crate::tape::Ask;

mod compare;

/// The form of a trace.
const VERSION: u32 = 3;

/// Why a trace cannot be made or checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store does not have it.
    #[error(transparent)]
    Store(#[from] interlock_store::Error),
    /// Its steps cannot be asked again.
    #[error(transparent)]
    Replay(#[from] replay::Error),
    /// It is of another version.
    #[error("this trace has form {found}, and this version of Interlock reads {VERSION}")]
    Version {
        /// Its form.
        found: u32,
    },
    /// It cannot be written as JSON.
    #[error("the trace cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// One call to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The agent at work.
    pub execution: ExecutionId,
    /// Its place in the execution.
    pub number: u32,
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// When it was sent.
    pub at: Timestamp,
    /// The body that was sent, byte for byte.
    pub request: String,
    /// Its hash.
    pub request_hash: ContentHash,
    /// What came back, as it came.
    pub raw_reply: String,
    /// What code made of it, what it used and cost, how long it took, what was tried.
    pub facts: Value,
}

/// Whether the rows that a trace was made from were what the store had signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Rows {
    /// They were.
    Intact {
        /// The number of the session's seal.
        seal: u64,
        /// The digest of the session's rows.
        digest: ContentHash,
    },
    /// The session was in progress: its rows are signed when it pauses or ends.
    InProgress,
    /// The session is older than the signing of the store.
    Older,
    /// The store is not signed.
    Unsigned,
    /// They were not.
    Altered {
        /// Which parts.
        what: String,
    },
}

impl From<SealState> for Rows {
    fn from(state: SealState) -> Self {
        match state {
            SealState::Intact(seal) => Self::Intact {
                seal: seal.number,
                digest: seal.digest,
            },
            SealState::InProgress => Self::InProgress,
            SealState::Older => Self::Older,
            SealState::Unsigned => Self::Unsigned,
            SealState::Altered { what } => Self::Altered { what },
        }
    }
}

/// Who signed a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// What checks the signature.
    pub public_key: PublicKey,
    /// The signature over the trace's hash.
    pub signature: Signature,
}

/// The trace of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The form of this document.
    pub version: u32,
    /// The run.
    #[serde(flatten)]
    pub run: RunFacts,
    /// Whether the rows that it was made from were what was signed.
    pub rows: Rows,
    /// The catalogues of tools that its steps were decided with, by their hash.
    pub catalogues: Catalogues,
    /// The calls to models.
    pub asked: Vec<Asked>,
    /// What the gate was asked and answered, from where it began to remember the session.
    pub steps: Vec<Step>,
    /// What was run, with its receipts.
    pub calls: Vec<Call>,
    /// What was read.
    pub evidence: Vec<Evidence>,
    /// The hash of all of this as it was exported.
    pub hash: ContentHash,
    /// The signature over the hash, where the store is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
}

/// What a trace says about its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFacts {
    /// The run.
    pub run_id: RunId,
    /// The session.
    pub session_id: SessionId,
    /// Where it came from.
    pub channel: String,
    /// The hash of the input.
    pub input_hash: ContentHash,
    /// The input.
    pub input: String,
    /// Where it stands.
    pub status: interlock_protocol::Status,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
}

/// What the signature of a trace says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "signature", rename_all = "snake_case")]
pub enum SignatureState {
    /// A trusted key signed it.
    Valid {
        /// The key.
        public_key: PublicKey,
    },
    /// Nothing signed it.
    Missing,
    /// A key signed it that is not trusted here.
    UnknownKey {
        /// The key.
        public_key: PublicKey,
    },
    /// It is not the signature of this document.
    Invalid,
    /// Nobody asked.
    NotChecked,
}

/// What checking a trace came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traced {
    /// What asking the gate again came to.
    pub replayed: Replayed,
    /// How many calls the recorded replies propose.
    pub proposals: usize,
    /// What contradicts something else in the trace, in sentences.
    pub problems: Vec<String>,
    /// What the signature says.
    pub signature: SignatureState,
}

impl Traced {
    /// Whether the trace proves itself.
    pub const fn holds(&self) -> bool {
        self.replayed.is_same()
            && self.problems.is_empty()
            && matches!(
                self.signature,
                SignatureState::Valid { .. } | SignatureState::NotChecked
            )
    }

    /// Everything that is wrong, in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let mut told: Vec<String> = self
            .replayed
            .differences
            .iter()
            .map(|difference| {
                format!(
                    "step {}: recorded {}, now {}",
                    difference.number, difference.recorded, difference.now
                )
            })
            .collect();
        told.extend(self.problems.iter().cloned());
        match &self.signature {
            SignatureState::Valid { .. } | SignatureState::NotChecked => {}
            SignatureState::Missing => told.push("the trace is not signed".to_owned()),
            SignatureState::UnknownKey { public_key } => {
                told.push(format!(
                    "the trace is signed by the key {public_key}, which is not trusted"
                ));
            }
            SignatureState::Invalid => told.push("the signature does not fit the trace".to_owned()),
        }
        told
    }
}

impl Trace {
    /// The trace of a run, out of the store.
    pub async fn of(store: &Store, session: &SessionId, run: Run) -> Result<Self, Error> {
        let interactions = store.interactions(&run.id).await?;
        let steps = store.steps(session, Some(&run.id)).await?;
        let mut calls = store.calls_of_run(&run.id).await?;
        let mut evidence = store.evidence(session).await?;
        let rows = Rows::from(store.seal_of(session).await?);
        let steps = since_opened(steps, &run.id);
        let told = Told::by(&steps);
        let catalogues = kept_catalogues(store, &told).await?;
        evidence.retain(|evidence| told.evidence.contains(&evidence.id));
        for call in &mut calls {
            // A later run may have looked at the resource: that belongs to its trace.
            if !told.verified.contains(call.started.permit.as_str()) {
                call.verification = None;
            }
        }
        let asked = interactions
            .into_iter()
            .map(|interaction| Asked {
                execution: interaction.execution,
                number: interaction.number,
                provider: interaction.provider,
                model: interaction.model,
                at: interaction.at,
                request: String::from_utf8_lossy(&interaction.body).into_owned(),
                request_hash: interaction.body_hash,
                raw_reply: String::from_utf8_lossy(&interaction.raw).into_owned(),
                facts: interaction.facts,
            })
            .collect();
        let mut trace = Self {
            version: VERSION,
            run: RunFacts {
                run_id: run.id,
                session_id: session.clone(),
                channel: run.channel,
                input_hash: run.input_hash,
                input: run.input,
                status: run.status,
                started_at: run.started_at,
                completed_at: run.completed_at,
            },
            rows,
            catalogues,
            asked,
            steps,
            calls,
            evidence,
            hash: ContentHash::of(""),
            signed: None,
        };
        trace.hash = trace.digest()?;
        // What was changed outside Interlock is not signed.
        let sound = !matches!(trace.rows, Rows::Altered { .. });
        if let Some(signer) = store.keyring().and_then(Keyring::signer).filter(|_| sound) {
            trace.signed = Some(Signed {
                public_key: signer.public(),
                signature: signer.sign(Purpose::Trace, trace.hash.as_bytes()),
            });
        }
        Ok(trace)
    }

    /// The hash of everything but the hash and the signature.
    fn digest(&self) -> Result<ContentHash, Error> {
        let mut whole = serde_json::to_value(self)?;
        if let Value::Object(members) = &mut whole {
            members.remove("hash");
            members.remove("signed");
        }
        Ok(ContentHash::of_json(&whole))
    }

    /// Asks the gate everything again, reads every reply again, and compares. With a keyring the signature is checked too.
    pub fn check(&self, keyring: Option<&Keyring>) -> Result<Traced, Error> {
        if self.version != VERSION {
            return Err(Error::Version { found: self.version });
        }
        let evidence = self
            .evidence
            .iter()
            .map(|evidence| (evidence.id.clone(), evidence.clone()))
            .collect();
        let replayed = replay::replay(&self.steps, &evidence, &self.catalogues)?;
        let mut compared = compare::compare(self);
        if self.digest()? != self.hash {
            compared
                .problems
                .push("the document is not as it was exported".to_owned());
        }
        Ok(Traced {
            replayed,
            proposals: compared.proposals,
            problems: compared.problems,
            signature: keyring.map_or(SignatureState::NotChecked, |keyring| self.signature(keyring)),
        })
    }

    /// The catalogues of tools that its steps were decided with.
    pub(crate) fn named_catalogues(&self) -> BTreeSet<ContentHash> {
        Told::by(&self.steps).catalogues
    }

    /// Whether the document is the one that a trusted key signed. Asks the gate nothing.
    pub fn is_as_signed(&self, keyring: &Keyring) -> bool {
        matches!(self.signature(keyring), SignatureState::Valid { .. })
            && self.digest().is_ok_and(|digest| digest == self.hash)
    }

    fn signature(&self, keyring: &Keyring) -> SignatureState {
        match &self.signed {
            None => SignatureState::Missing,
            Some(Signed { public_key, .. }) if !keyring.trusts(public_key) => SignatureState::UnknownKey {
                public_key: *public_key,
            },
            Some(Signed {
                public_key,
                signature,
            }) if keyring.verifies(public_key, Purpose::Trace, self.hash.as_bytes(), signature) => {
                SignatureState::Valid {
                    public_key: *public_key,
                }
            }
            Some(_) => SignatureState::Invalid,
        }
    }
}

/// What steps name.
struct Told {
    evidence: BTreeSet<EvidenceId>,
    /// The permits of the writes whose verification ended.
    verified: BTreeSet<String>,
    /// The catalogues of tools.
    catalogues: BTreeSet<ContentHash>,
}

impl Told {
    fn by(steps: &[Step]) -> Self {
        let mut told = Self {
            evidence: BTreeSet::new(),
            verified: BTreeSet::new(),
            catalogues: BTreeSet::new(),
        };
        for step in steps {
            for end in compare::ends(step) {
                told.verified.insert(end.permit.to_string());
            }
            match serde_json::from_value(step.input.clone()) {
                Ok(Ask::Settle { evidence, .. } | Ask::Observe { evidence, .. }) => {
                    told.evidence.extend(evidence);
                }
                Ok(Ask::Answer { evidence, .. }) => told.evidence.extend(evidence),
                Ok(Ask::Open { rules, .. }) => {
                    told.catalogues.insert(rules.catalogue);
                }
                _ => {}
            }
        }
        told
    }
}

/// The catalogues that the steps were decided with, as far as they were kept. What is missing or changed is found by asking again.
async fn kept_catalogues(store: &Store, told: &Told) -> Result<Catalogues, Error> {
    let mut catalogues = Catalogues::new();
    for hash in &told.catalogues {
        if let Some(body) = store.catalogue(*hash).await? {
            catalogues.insert(*hash, serde_json::from_str(&body)?);
        }
    }
    Ok(catalogues)
}

/// The steps from where the gate began to remember the session as it stood in this run.
fn since_opened(steps: Vec<Step>, run: &RunId) -> Vec<Step> {
    let first = steps.iter().position(|step| step.run == *run).unwrap_or(0);
    let is_open = |step: &Step| step.input.get("ask").and_then(Value::as_str) == Some("open");
    let start = steps
        .iter()
        .take(first + 1)
        .rposition(is_open)
        .unwrap_or_default();
    steps.into_iter().skip(start).collect()
}
