//! What people see of a call, made from the record.
//!
//! The rows of a call (its plan, its hold, its receipt, its evidence, the gate's refusal) are the truth. An entry of the timeline
//! is made of them by one function, [`CallFacts::entry`], whenever one of them is kept. So the entry can be made again from
//! the rows at any time ([`derived`]), and nothing needs to read it to go on.

use std::collections::BTreeMap;

use interlock_gate::{Hold, HoldStatus, Plan, Rule};
use interlock_protocol::{
    Arguments, CallId, Decision, Event, EventBody, Evidence, EvidenceId, ExecutionId, HoldId, Outcome,
    PermitId, Proposal, Receipt, RefusalRecord, ResourceId, Sequence, SessionId, ToolCall, ToolKind,
    ToolName, UserId,
};
use interlock_store::{Call, Holds, ShownCall, Store, TimelineEntry};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The timeline's word for a call.
pub(crate) const CALL: &str = "llm_tool_call";
/// What is shown of a read that a process left behind. It changed nothing.
const INTERRUPTED: &str = "Interrupted before it returned.";

/// Where an entry stands: its execution, its number, and since when it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) execution: ExecutionId,
    pub(crate) number: u32,
    pub(crate) since: Timestamp,
}

impl Place {
    /// The place of an entry that is shown already.
    pub(crate) fn of(entry: TimelineEntry) -> Self {
        Self {
            execution: entry.execution,
            number: entry.number,
            since: entry.at,
        }
    }
}

/// How far a call has come.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Progress<'a> {
    /// It waits for a human. Where a person edited the plan, with the arguments before.
    Held { proposed: Option<&'a Arguments> },
    /// It runs.
    Running,
    /// It ran.
    Ended {
        receipt: &'a Receipt,
        evidence: Option<&'a EvidenceId>,
    },
    /// A read of a process that ended before it returned.
    Interrupted,
    /// The gate refused it.
    Refused(&'a RefusalRecord),
    /// It waited for a person, and the session went on without it.
    Withdrawn(&'a str),
}

/// What the record says about a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallFacts<'a> {
    id: &'a CallId,
    tool: &'a ToolName,
    arguments: &'a Arguments,
    kind: Option<ToolKind>,
    resource: Option<&'a ResourceId>,
    permit: Option<&'a PermitId>,
    approved_by: Option<&'a UserId>,
    hold: Option<&'a Hold>,
}

impl<'a> CallFacts<'a> {
    /// A call that has no plan: the gate refused it.
    pub(crate) const fn proposed(call: &'a ToolCall, kind: Option<ToolKind>) -> Self {
        Self {
            id: &call.id,
            tool: &call.tool,
            arguments: &call.arguments,
            kind,
            resource: None,
            permit: None,
            approved_by: None,
            hold: None,
        }
    }

    fn planned(plan: &'a Plan) -> Self {
        Self {
            id: &plan.call,
            tool: &plan.tool,
            arguments: &plan.arguments,
            kind: Some(plan.kind),
            resource: plan.resource(),
            permit: None,
            approved_by: None,
            hold: None,
        }
    }

    /// A call that waits, or waited, for a human.
    pub(crate) fn held(hold: &'a Hold) -> Self {
        Self {
            hold: Some(hold),
            ..Self::planned(&hold.plan)
        }
    }

    /// A call with a permit, and the hold through which a human let it run.
    pub(crate) fn permitted(
        plan: &'a Plan,
        permit: &'a PermitId,
        approved_by: Option<&'a UserId>,
        hold: Option<&'a Hold>,
    ) -> Self {
        Self {
            permit: Some(permit),
            approved_by,
            hold,
            ..Self::planned(plan)
        }
    }

    /// The entry of the timeline. There is no other way to make one for a call.
    pub(crate) fn entry(
        &self,
        place: &Place,
        progress: Progress<'_>,
        updated_at: Timestamp,
    ) -> TimelineEntry {
        let (status, content) = shown(self.hold, progress);
        let refusal = match progress {
            Progress::Refused(refusal) => Some(refusal),
            _ => None,
        };
        TimelineEntry {
            execution: place.execution.clone(),
            number: place.number,
            kind: CALL.to_owned(),
            status: status.to_owned(),
            content,
            call: Some(ShownCall {
                id: self.id.clone(),
                tool: self.tool.clone(),
                kind: self.kind,
                permit: self.permit.cloned(),
                hold: self.hold.map(|hold| hold.id.clone()),
                refused: refusal.map(|refusal| (refusal.rule.clone(), refusal.code)),
            }),
            metadata: self.metadata(progress),
            at: place.since,
            updated_at,
        }
    }

    fn metadata(&self, progress: Progress<'_>) -> Value {
        let mut facts = json!({
            "call": self.id,
            "tool": self.tool,
            "arguments": self.arguments,
        });
        if let Some(kind) = self.kind {
            facts["kind"] = json!(kind);
        }
        if let Some(resource) = self.resource {
            facts["resource"] = json!(resource);
        }
        if let Some(permit) = self.permit {
            facts["permit"] = json!(permit);
        }
        if let Some(hold) = self.hold {
            facts["hold"] = json!(hold.id);
            facts["reasons"] = json!(hold.reasons);
            if let Some(edited) = &hold.edited_from {
                facts["edited_from"] = json!(edited.hold);
                facts["edited_by"] = json!(edited.by);
            }
        }
        let approved = match (progress, self.hold.map(|hold| &hold.status)) {
            // What a person decides while it waits is not news until the session goes on.
            (Progress::Held { .. }, _) => None,
            (Progress::Refused(_), Some(HoldStatus::Approved { by, .. })) => Some(by),
            _ => self.approved_by,
        };
        if let Some(by) = approved {
            facts["approved_by"] = json!(by);
        }
        match progress {
            Progress::Held {
                proposed: Some(arguments),
            } => facts["proposed_arguments"] = json!(arguments),
            Progress::Ended { receipt, evidence } => {
                facts["evidence"] = json!(evidence);
                let took = receipt
                    .finished_at
                    .map(|at| at.duration_since(receipt.started_at));
                facts["seconds"] = json!(took.map(|took| took.as_secs_f64()));
            }
            Progress::Refused(refusal) => {
                facts["rule"] = json!(refusal.rule);
                facts["code"] = json!(refusal.code);
                facts["details"] = json!(refusal.details);
            }
            Progress::Held { proposed: None }
            | Progress::Running
            | Progress::Interrupted
            | Progress::Withdrawn(_) => {}
        }
        facts
    }
}

/// The status of an entry, and what it says.
fn shown(hold: Option<&Hold>, progress: Progress<'_>) -> (&'static str, String) {
    match progress {
        Progress::Held { .. } => (
            "held",
            hold.map(|hold| hold.reasons.join("; ")).unwrap_or_default(),
        ),
        Progress::Running => ("streaming", String::new()),
        Progress::Ended { receipt, .. } => {
            let status = match receipt.outcome {
                Outcome::Succeeded => "completed",
                Outcome::Failed | Outcome::InterruptedUnknown => "failed",
                Outcome::TimedOut => "timed_out",
                Outcome::Cancelled => "cancelled",
            };
            (status, receipt.summary.clone())
        }
        Progress::Interrupted => ("failed", INTERRUPTED.to_owned()),
        Progress::Refused(refusal) => ("refused", refusal.message.clone()),
        Progress::Withdrawn(why) => ("cancelled", why.to_owned()),
    }
}

/// What was decided about one proposal of a call, in order.
struct Turn {
    call: ToolCall,
    decided: Vec<Decision>,
    /// Whether an entry shows it.
    taken: bool,
}

impl Turn {
    /// The last refusal after a decision.
    fn refused_after(&self, is_it: impl Fn(&Decision) -> bool) -> Option<&RefusalRecord> {
        let from = self.decided.iter().position(is_it)?;
        refusal(self.decided.get(from..)?)
    }
}

fn refusal(decided: &[Decision]) -> Option<&RefusalRecord> {
    decided.iter().rev().find_map(|decision| match decision {
        Decision::Refused(refusal) => Some(refusal),
        _ => None,
    })
}

/// What the typed rows of a session say about its calls.
struct Rows {
    /// A model may use an id again: each proposal is a turn of its own.
    turns: BTreeMap<(ExecutionId, CallId), Vec<Turn>>,
    holds: BTreeMap<HoldId, Hold>,
    evidence: Vec<Evidence>,
    /// Those that ran or run.
    calls: BTreeMap<PermitId, Call>,
}

/// The entries of a session's calls, made again from what is kept of the calls: plans, holds, receipts, evidence and the gate's
/// decisions. Each stands where the timeline has it, and has the times at which the timeline was written. An entry whose rows
/// are not there is left out.
pub async fn derived(
    store: &Store,
    session: &SessionId,
) -> Result<Vec<TimelineEntry>, interlock_store::Error> {
    let timeline = store.timeline(session).await?;
    let mut rows = Rows::of(store, session).await?;
    let mut entries = Vec::new();
    for entry in timeline {
        let Some(shown) = &entry.call else { continue };
        let place = Place {
            execution: entry.execution.clone(),
            number: entry.number,
            since: entry.at,
        };
        let abandoned = match &shown.permit {
            Some(permit) if !rows.calls.contains_key(permit) => store.call(session, permit).await?,
            _ => None,
        };
        entries.extend(rows.entry(&place, shown, abandoned.as_ref(), entry.updated_at));
    }
    Ok(entries)
}

impl Rows {
    async fn of(store: &Store, session: &SessionId) -> Result<Self, interlock_store::Error> {
        let holds = store.holds(Holds::Of(session.clone())).await?;
        let calls = store.calls(session).await?;
        let mut rows = Self {
            turns: BTreeMap::new(),
            holds: holds.into_iter().map(|hold| (hold.id.clone(), hold)).collect(),
            evidence: store.evidence(session).await?,
            calls: calls
                .into_iter()
                .map(|call| (call.started.permit.clone(), call))
                .collect(),
        };
        for event in store.events(session, Sequence::new(0), u32::MAX).await? {
            rows.take(event);
        }
        Ok(rows)
    }

    fn take(&mut self, event: Event) {
        let Some(execution) = event.execution else {
            return;
        };
        match event.body {
            EventBody::ProposalReceived {
                proposal: Proposal::ToolCall(call),
            } => self
                .turns
                .entry((execution, call.id.clone()))
                .or_default()
                .push(Turn {
                    call,
                    decided: Vec::new(),
                    taken: false,
                }),
            EventBody::DecisionMade {
                call: Some(call),
                decision,
            } => {
                let turn = self
                    .turns
                    .get_mut(&(execution, call))
                    .and_then(|turns| turns.last_mut());
                if let Some(turn) = turn {
                    turn.decided.push(decision);
                }
            }
            _ => {}
        }
    }

    /// The entry of one call.
    fn entry(
        &mut self,
        place: &Place,
        shown: &ShownCall,
        abandoned: Option<&Call>,
        updated_at: Timestamp,
    ) -> Option<TimelineEntry> {
        let permits = |decision: &Decision| matches!(decision, Decision::Allowed { permit, .. } if Some(permit) == shown.permit.as_ref());
        let holds = |decision: &Decision| matches!(decision, Decision::Held { hold, .. } if Some(hold) == shown.hold.as_ref());
        let turns = self.turns.get_mut(&(place.execution.clone(), shown.id.clone()))?;
        let turn = turns.iter_mut().find(|turn| {
            if shown.permit.is_some() {
                turn.decided.iter().any(permits)
            } else if shown.hold.is_some() {
                turn.decided.iter().any(holds)
            } else {
                !turn.taken && refusal(&turn.decided).is_some_and(by_gate)
            }
        })?;
        turn.taken = true;
        let hold = match &shown.hold {
            None => None,
            Some(id) => Some(self.holds.get(id)?),
        };
        let (facts, progress) = if let Some(permit) = &shown.permit {
            let runs = self.calls.get(permit);
            let call = runs.or(abandoned)?;
            let started = &call.started;
            let facts = CallFacts::permitted(&started.plan, permit, started.approved_by.as_ref(), hold);
            let progress = match (&call.receipt, turn.refused_after(permits)) {
                (Some(receipt), _) => Progress::Ended {
                    receipt,
                    evidence: self
                        .evidence
                        .iter()
                        .rfind(|evidence| is_of(evidence, call))
                        .map(|evidence| &evidence.id),
                },
                (None, _) if runs.is_some() => Progress::Running,
                (None, Some(refusal)) => Progress::Refused(refusal),
                (None, None) => Progress::Interrupted,
            };
            (facts, progress)
        } else if let Some(hold) = hold {
            let before = hold.edited_from.as_ref();
            let before = before.and_then(|edited| self.holds.get(&edited.hold));
            let progress = match turn.refused_after(holds) {
                None => Progress::Held {
                    proposed: before.map(|before| &before.plan.arguments),
                },
                Some(refusal) if by_gate(refusal) => Progress::Refused(refusal),
                Some(other) => Progress::Withdrawn(&other.message),
            };
            (CallFacts::held(hold), progress)
        } else {
            let facts = CallFacts::proposed(&turn.call, shown.kind);
            (facts, Progress::Refused(refusal(&turn.decided)?))
        };
        Some(facts.entry(place, progress, updated_at))
    }
}

/// Whether a call returned this. Its id alone does not say so: a model may use one again.
fn is_of(evidence: &Evidence, call: &Call) -> bool {
    let plan = &call.started.plan;
    evidence.execution == plan.execution
        && evidence.call == plan.call
        && evidence.taken_at >= call.started.started_at
        && call
            .receipt
            .as_ref()
            .and_then(|receipt| receipt.finished_at)
            .is_none_or(|at| evidence.taken_at <= at)
}

/// Whether a refusal is the gate's. Others are made by code that did not ask it.
fn by_gate(refusal: &RefusalRecord) -> bool {
    Rule::ALL
        .iter()
        .any(|rule| rule.as_str() == refusal.rule.as_str())
}
