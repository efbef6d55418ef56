//! Compares the parts of a trace with each other, in both directions: every step that ran something has its call, and every
//! call has its steps; every reading is named by a step, and every question to the gate by a reply.

use std::collections::{BTreeMap, BTreeSet};

use interlock_dialect::{CallIds, Dialect, Limits, Offer, Reply};
use interlock_gate::{HoldStatus, VerificationEnd};
use interlock_protocol::{
    CallId, ContentHash, Decision as Said, EvidenceId, ExecutionId, HoldId, Outcome, PermitId, Receipt,
    Source, Status, ToolCall, UserId, Verification,
};
use interlock_store::{Call, Step};
use serde_json::Value;

use super::{Rows, Trace};
use crate::tape::Ask;

pub(super) struct Compared {
    pub(super) proposals: usize,
    pub(super) problems: Vec<String>,
}

/// How a permit came about.
struct Permitted {
    plan_hash: ContentHash,
    /// The hold and who approved it, where a human did.
    approved: Option<(HoldId, UserId)>,
}

/// A call that was put to the gate, and what it answered.
struct Decided {
    execution: ExecutionId,
    call: ToolCall,
    outcome: Value,
}

/// What the steps say about what ran.
#[derive(Default)]
struct Steps {
    permitted: BTreeMap<PermitId, Permitted>,
    /// Begun in the run that the trace is about.
    begun: BTreeSet<PermitId>,
    settled: BTreeMap<PermitId, (Receipt, Option<EvidenceId>)>,
    verified: BTreeMap<PermitId, Verification>,
    evidence: BTreeSet<EvidenceId>,
    decided: Vec<Decided>,
    /// The catalogues of tools with which the session was opened.
    catalogues: BTreeSet<ContentHash>,
    /// The statuses with which answers were released in the run that the trace is about.
    released: Vec<Status>,
}

pub(super) fn compare(trace: &Trace) -> Compared {
    let mut problems = Vec::new();
    let steps = Steps::read(trace);
    order(trace, &mut problems);
    calls(trace, &steps, &mut problems);
    readings(trace, &steps, &mut problems);
    let proposals = replies(trace, &steps, &mut problems);
    end(trace, &steps, &mut problems);
    if let Rows::Altered { what } = &trace.rows {
        problems.push(format!(
            "the rows of the session were changed outside Interlock: {what}"
        ));
    }
    Compared { proposals, problems }
}

/// The verifications that a step ended.
pub(super) fn ends(step: &Step) -> Vec<VerificationEnd> {
    step.outcome
        .get("ended")
        .and_then(|ended| serde_json::from_value(ended.clone()).ok())
        .unwrap_or_default()
}

impl Steps {
    fn read(trace: &Trace) -> Self {
        let mut steps = Self::default();
        for step in &trace.steps {
            // A step that cannot be read fails the replay.
            if let Ok(ask) = serde_json::from_value::<Ask>(step.input.clone()) {
                steps.note(step, ask, step.run == trace.run.run_id);
            }
        }
        steps
    }

    fn note(&mut self, step: &Step, ask: Ask, of_this_run: bool) {
        let said = serde_json::from_value::<Said>(step.outcome.clone());
        for end in ends(step) {
            self.verified.insert(end.permit, end.outcome);
        }
        match ask {
            Ask::Open { rules, .. } | Ask::Tighten { rules, .. } => {
                self.catalogues.insert(rules.catalogue);
            }
            Ask::Decide { execution, call, .. } => {
                if let Ok(Said::Allowed {
                    permit, plan_hash, ..
                }) = said
                {
                    self.permit(permit, plan_hash, None);
                }
                if of_this_run {
                    let outcome = step.outcome.clone();
                    self.decided.push(Decided {
                        execution,
                        call,
                        outcome,
                    });
                }
            }
            Ask::Redeem { hold, .. } => {
                if let Ok(Said::Allowed {
                    permit, plan_hash, ..
                }) = said
                {
                    let approved = match &hold.status {
                        HoldStatus::Approved { by, .. } => Some((hold.id.clone(), by.clone())),
                        _ => None,
                    };
                    self.permit(permit, plan_hash, approved);
                }
            }
            Ask::Begin { permit, .. } => {
                if of_this_run && step.outcome == "started" {
                    self.begun.insert(permit);
                }
            }
            Ask::Settle {
                receipt, evidence, ..
            } => {
                self.evidence.extend(evidence.clone());
                self.settled.insert(receipt.permit.clone(), (*receipt, evidence));
            }
            Ask::Observe { evidence, .. } => self.evidence.extend(evidence),
            Ask::Answer { evidence, .. } => {
                self.evidence.extend(evidence);
                let released = step.outcome.get("released");
                let status: Option<Status> =
                    released.and_then(|status| serde_json::from_value(status.clone()).ok());
                if of_this_run {
                    self.released.extend(status);
                }
            }
            Ask::RestoreWrite {
                receipt,
                verification,
                ..
            } => {
                if let Some(verification) = verification {
                    self.verified.insert(receipt.permit.clone(), verification);
                }
            }
            Ask::Abandon { .. }
            | Ask::Baseline { .. }
            | Ask::Sandbox { .. }
            | Ask::File { .. }
            | Ask::Conclude { .. }
            | Ask::Mention { .. }
            | Ask::Rediscover { .. }
            | Ask::Interrupted { .. }
            | Ask::Edit { .. }
            | Ask::CloseHold { .. }
            | Ask::NextTurn { .. } => {}
        }
    }

    fn permit(&mut self, permit: PermitId, plan_hash: ContentHash, approved: Option<(HoldId, UserId)>) {
        self.permitted.insert(permit, Permitted { plan_hash, approved });
    }
}

/// Nothing is missing, doubled or moved.
fn order(trace: &Trace, problems: &mut Vec<String>) {
    for pair in trace.steps.windows(2) {
        if pair[0].number + 1 != pair[1].number {
            problems.push(format!(
                "step {} follows step {}: steps are missing, doubled or moved",
                pair[1].number, pair[0].number
            ));
        }
    }
    let own = |step: &Step| step.run == trace.run.run_id;
    let first_own = trace.steps.iter().position(own).unwrap_or(trace.steps.len());
    for step in trace.steps.iter().skip(first_own).filter(|step| !own(step)) {
        problems.push(format!("step {} belongs to another run", step.number));
    }
    let mut last: BTreeMap<&str, u32> = BTreeMap::new();
    for asked in &trace.asked {
        let before = last.insert(asked.execution.as_str(), asked.number);
        if before.is_some_and(|before| before + 1 != asked.number) {
            problems.push(format!(
                "model call {} of {} does not follow the one before it",
                asked.number, asked.execution
            ));
        }
    }
}

/// What ran is what was permitted, and what was permitted and begun is there.
fn calls(trace: &Trace, steps: &Steps, problems: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for call in &trace.calls {
        let permit = &call.started.permit;
        if !seen.insert(permit.clone()) {
            problems.push(format!("{permit} is there twice"));
        }
        if let Some(why) = misfit(trace, steps, call) {
            problems.push(format!("{permit}: {why}"));
        }
    }
    for permit in steps.begun.iter().filter(|permit| !seen.contains(*permit)) {
        problems.push(format!("{permit} was begun, and its call is missing"));
    }
    for (permit, (receipt, _)) in &steps.settled {
        if steps.begun.contains(permit) && receipt.session != trace.run.session_id {
            problems.push(format!("the receipt of {permit} belongs to another session"));
        }
    }
}

/// Why a call is not what the steps say.
fn misfit(trace: &Trace, steps: &Steps, call: &Call) -> Option<&'static str> {
    let Call {
        started,
        receipt,
        verification,
        ..
    } = call;
    let Some(permitted) = steps.permitted.get(&started.permit) else {
        return Some("the gate gave no such permit");
    };
    if started.plan.hash() != started.plan_hash || permitted.plan_hash != started.plan_hash {
        return Some("the plan is not the one that was permitted");
    }
    if started.plan.session != trace.run.session_id || started.run != trace.run.run_id {
        return Some("it belongs to another run");
    }
    let unknown = |receipt: &Receipt| receipt.outcome == Outcome::InterruptedUnknown;
    // A process may end between keeping that a call begins and beginning it: then it left no receipt.
    if !steps.begun.contains(&started.permit) && !receipt.as_ref().is_none_or(unknown) {
        return Some("its permit was never begun");
    }
    let approved = started.hold.clone().zip(started.approved_by.clone());
    if approved != permitted.approved || started.hold.is_some() != started.approved_by.is_some() {
        return Some("who approved it is not what the gate was told");
    }
    let settled = steps.settled.get(&started.permit).map(|(receipt, _)| receipt);
    match (receipt, settled) {
        (Some(receipt), Some(settled)) if receipt == settled => {}
        // It runs still, or a later run found that it left no receipt.
        (None, None) => {}
        (Some(receipt), None) if receipt.outcome == Outcome::InterruptedUnknown => {}
        (Some(_), _) => return Some("its receipt is not the one that the gate was given"),
        (None, Some(_)) => return Some("its receipt is missing"),
    }
    (steps.verified.get(&started.permit) != verification.as_ref())
        .then_some("how its verification ended is not what the gate said")
}

/// Every reading is named by a step, is what its hash says, and belongs to its call.
fn readings(trace: &Trace, steps: &Steps, problems: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for evidence in &trace.evidence {
        let id = &evidence.id;
        if !seen.insert(id) {
            problems.push(format!("{id} is there twice"));
        }
        if ContentHash::of_json(&evidence.data) != evidence.hash {
            problems.push(format!("{id} is not what was read"));
        }
        if !steps.evidence.contains(id) {
            problems.push(format!("{id} was given to the gate by no step"));
        }
        if evidence.session != trace.run.session_id {
            problems.push(format!("{id} belongs to another session"));
        }
    }
    let by_id: BTreeMap<&EvidenceId, _> = trace.evidence.iter().map(|found| (&found.id, found)).collect();
    for (receipt, evidence) in steps.settled.values() {
        let Some(found) = evidence.as_ref().and_then(|id| by_id.get(id)) else {
            continue;
        };
        if (&found.call, &found.execution, &found.tool) != (&receipt.call, &receipt.execution, &receipt.tool)
        {
            problems.push(format!("{} does not belong to the call that read it", found.id));
        }
        if found.source == Some(Source::Code) {
            problems.push(format!("{} says that code took it, and a call did", found.id));
        }
    }
}

/// Every call that was put to the gate is in a reply, with the same arguments; every request is the one that was sent.
fn replies(trace: &Trace, steps: &Steps, problems: &mut Vec<String>) -> usize {
    let used = &steps.catalogues;
    for hash in trace.catalogues.keys().filter(|hash| !used.contains(*hash)) {
        problems.push(format!("no step was decided with the catalogue of tools {hash}"));
    }
    // A run that another version took up was decided with two catalogues.
    let offers: Vec<Offer> = trace
        .catalogues
        .values()
        .map(|catalogue| Offer::new(catalogue.definitions()).unwrap_or_default())
        .collect();
    let mut proposed: BTreeMap<(ExecutionId, CallId), ToolCall> = BTreeMap::new();
    let mut proposals = 0;
    for asked in &trace.asked {
        if ContentHash::of(&asked.request) != asked.request_hash {
            problems.push(format!("request {} is not the one that was sent", asked.number));
        }
        let mut calls = BTreeMap::new();
        for offer in &offers {
            let found = reread(&asked.facts, offer);
            calls.extend(found.into_iter().map(|call| (call.id.clone(), call)));
        }
        proposals += calls.len();
        for (id, call) in calls {
            proposed.insert((asked.execution.clone(), id), call);
        }
    }
    // A person's own call has no reply.
    if trace.run.channel != "direct" {
        let mut offered = Offered::default();
        for decided in &steps.decided {
            let id = &decided.call.id;
            match proposed.get(&(decided.execution.clone(), id.clone())) {
                None => problems.push(format!(
                    "{id} was put to the gate, and no recorded reply proposes it"
                )),
                Some(call) if *call != decided.call && !offered.has(decided) => {
                    problems.push(format!("{id} is not what the recorded reply proposes"));
                }
                Some(_) => {}
            }
            offered.note(decided);
        }
    }
    if ContentHash::of(&trace.run.input) != trace.run.input_hash {
        problems.push("the input is not the one that was given".to_owned());
    }
    proposals
}

/// The bounded forms of commands that the gate offered when it refused a call: everything that its answers say, by the
/// call. Looking one up does not depend on how many there are.
#[derive(Default)]
struct Offered(BTreeSet<(ContentHash, String)>);

impl Offered {
    /// What a call is apart from its command.
    fn key(decided: &Decided) -> ContentHash {
        let ToolCall { id, tool, arguments } = &decided.call;
        let rest: BTreeMap<&String, &Value> =
            arguments.iter().filter(|(name, _)| *name != "command").collect();
        ContentHash::of_json(&serde_json::json!([decided.execution, id, tool, rest]))
    }

    /// Whether a call is the bounded form that the gate offered when it refused the same call before.
    fn has(&self, decided: &Decided) -> bool {
        let command = decided.call.arguments.get("command").and_then(Value::as_str);
        command.is_some_and(|command| self.0.contains(&(Self::key(decided), command.to_owned())))
    }

    fn note(&mut self, decided: &Decided) {
        let key = Self::key(decided);
        strings(&decided.outcome, &mut |text| {
            self.0.insert((key, text.to_owned()));
        });
    }
}

/// Every text in a value.
fn strings(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(members) => members.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

/// A run that has ended says so, and what it ended with was released.
fn end(trace: &Trace, steps: &Steps, problems: &mut Vec<String>) {
    let status = trace.run.status;
    if interlock_store::is_terminal(status) != trace.run.completed_at.is_some() {
        problems.push(format!("the run is {status}, which does not fit its end"));
    }
    if matches!(status, Status::Completed | Status::Unverified)
        && trace.run.channel != "direct"
        && !steps.released.contains(&status)
    {
        problems.push(format!("the run is {status}, and no such answer was released"));
    }
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
