//! The trace of a run: exactly what the model was sent, what it wrote, what the gate was asked and answered, and what
//! came of it. Enough to ask everything again and compare.

use std::collections::{BTreeMap, BTreeSet};

use interlock_dialect::{CallIds, Dialect, Limits, Offer, Reply};
use interlock_gate::Catalogue;
use interlock_protocol::{
    CallId, ContentHash, Decision as Said, Evidence, EvidenceId, ExecutionId, Outcome, PermitId, Receipt,
    RunId, SessionId,
};
use interlock_store::{Call, Run, Step, Store};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::replay::{self, Replayed};
use crate::tape::Ask;

/// The form of a trace.
const VERSION: u32 = 1;

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
    /// The tools of this version cannot be read.
    #[error(transparent)]
    Tools(#[from] interlock_gate::CatalogueError),
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

/// The trace of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The form of this document.
    pub version: u32,
    /// The run.
    #[serde(flatten)]
    pub run: RunFacts,
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

/// What checking a trace came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traced {
    /// What asking the gate again came to.
    pub replayed: Replayed,
    /// How many calls the recorded replies propose.
    pub proposals: usize,
    /// Calls that were put to the gate and that no recorded reply proposes.
    pub unproposed: Vec<CallId>,
    /// Requests whose bytes are not those of their hash.
    pub altered: Vec<u32>,
    /// Readings whose data is not that of their hash.
    pub altered_evidence: Vec<EvidenceId>,
    /// Calls that ran without the gate's permit for their plan, or whose receipt is not the one that the gate took.
    pub unpermitted: Vec<PermitId>,
    /// Whether the input is not that of its hash.
    pub altered_input: bool,
    /// Whether the document as a whole is not that of its hash.
    pub altered_document: bool,
    /// Steps before which others are missing.
    pub gaps: Vec<u64>,
}

impl Traced {
    /// Whether the trace proves itself.
    pub const fn holds(&self) -> bool {
        self.replayed.is_same()
            && self.unproposed.is_empty()
            && self.altered.is_empty()
            && self.altered_evidence.is_empty()
            && self.unpermitted.is_empty()
            && !self.altered_input
            && !self.altered_document
            && self.gaps.is_empty()
    }
}

impl Trace {
    /// The trace of a run, out of the store.
    pub async fn of(store: &Store, session: &SessionId, run: Run) -> Result<Self, Error> {
        let interactions = store.interactions(&run.id).await?;
        let steps = store.steps(session, Some(&run.id)).await?;
        let calls = store.calls_of_run(&run.id).await?;
        let evidence = store.evidence(session).await?;
        let steps = since_opened(steps, &run.id);
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
            asked,
            steps,
            calls,
            evidence,
            hash: ContentHash::of(""),
        };
        trace.hash = trace.digest();
        Ok(trace)
    }

    /// The hash of everything but the hash.
    fn digest(&self) -> ContentHash {
        // A trace is strings, numbers and JSON: it always serialises.
        let mut whole = serde_json::to_value(self).unwrap_or_default();
        if let Value::Object(members) = &mut whole {
            members.remove("hash");
        }
        ContentHash::of_json(&whole)
    }

    /// Asks the gate everything again, reads every reply again, and compares.
    pub fn check(&self) -> Result<Traced, Error> {
        if self.version != VERSION {
            return Err(Error::Version { found: self.version });
        }
        let evidence: BTreeMap<_, _> = self
            .evidence
            .iter()
            .map(|evidence| (evidence.id.clone(), evidence.clone()))
            .collect();
        let catalogue = Catalogue::built_in()?;
        let replayed = replay::replay(&self.steps, &evidence)?;
        let offer = Offer::new(catalogue.tools().map(interlock_gate::Tool::definition)).unwrap_or_default();
        let mut proposed: BTreeSet<(CallId, String)> = BTreeSet::new();
        let mut proposals = 0;
        for asked in &self.asked {
            for call in reread(&asked.facts, &offer) {
                proposals += 1;
                proposed.insert((call.id, call.tool.into()));
            }
        }
        let direct = self.run.channel == "direct";
        let mut unproposed = Vec::new();
        for step in self
            .steps
            .iter()
            .filter(|step| step.run == self.run.run_id && !direct)
        {
            if let Ok(Ask::Decide { call, .. }) = serde_json::from_value(step.input.clone())
                && !proposed.contains(&(call.id.clone(), call.tool.into()))
            {
                unproposed.push(call.id);
            }
        }
        let altered = self
            .asked
            .iter()
            .filter(|asked| ContentHash::of(&asked.request) != asked.request_hash)
            .map(|asked| asked.number)
            .collect();
        Ok(Traced {
            replayed,
            proposals,
            unproposed,
            altered,
            altered_evidence: self
                .evidence
                .iter()
                .filter(|evidence| ContentHash::of_json(&evidence.data) != evidence.hash)
                .map(|evidence| evidence.id.clone())
                .collect(),
            unpermitted: self.unpermitted(),
            altered_input: ContentHash::of(&self.run.input) != self.run.input_hash,
            altered_document: self.digest() != self.hash,
            gaps: self
                .steps
                .windows(2)
                .filter(|pair| pair[0].number + 1 != pair[1].number)
                .map(|pair| pair[1].number)
                .collect(),
        })
    }

    /// The calls of the record that the steps do not bear out.
    fn unpermitted(&self) -> Vec<PermitId> {
        let mut permitted: BTreeMap<PermitId, ContentHash> = BTreeMap::new();
        let mut receipts: BTreeMap<PermitId, Receipt> = BTreeMap::new();
        for step in &self.steps {
            if let Ok(Said::Allowed {
                permit, plan_hash, ..
            }) = serde_json::from_value(step.outcome.clone())
            {
                permitted.insert(permit, plan_hash);
            }
            if let Ok(Ask::Settle { receipt, .. }) = serde_json::from_value(step.input.clone()) {
                receipts.insert(receipt.permit.clone(), *receipt);
            }
        }
        let bears_out = |call: &Call| {
            let Call { started, receipt, .. } = call;
            permitted.get(&started.permit) == Some(&started.plan_hash)
                && started.plan.hash() == started.plan_hash
                && receipt
                    .as_ref()
                    .is_none_or(|receipt| match receipts.get(&started.permit) {
                        Some(taken) => taken == receipt,
                        // A later run may have found it so; it claims nothing.
                        None => receipt.outcome == Outcome::InterruptedUnknown,
                    })
        };
        self.calls
            .iter()
            .filter(|call| !bears_out(call))
            .map(|call| call.started.permit.clone())
            .collect()
    }
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

/// The calls that a recorded reply proposes.
fn reread(facts: &Value, offer: &Offer) -> Vec<interlock_protocol::ToolCall> {
    let seed: Option<[u8; 16]> = facts
        .get("seed")
        .and_then(|seed| serde_json::from_value(seed.clone()).ok());
    let dialect: Option<Dialect> = facts
        .get("dialect")
        .and_then(|dialect| serde_json::from_value(dialect.clone()).ok());
    let reply: Option<Reply> = facts
        .get("reply")
        .and_then(|reply| serde_json::from_value(reply.clone()).ok());
    match (seed, dialect, reply) {
        (Some(seed), Some(dialect), Some(reply)) => dialect
            .parse(&reply, offer, CallIds::from_bytes(seed), Limits::default())
            .calls()
            .cloned()
            .collect(),
        _ => Vec::new(),
    }
}
