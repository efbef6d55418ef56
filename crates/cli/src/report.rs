//! What a session came to, for programs: read from the record, whatever the process that prints it saw happen.

use std::collections::BTreeMap;

use interlock_gate::Hold;
use interlock_protocol::{
    CallId, ContentHash, Decision, ErrorCode, EventBody, Head, HoldId, Outcome, PermitId, Proposal,
    ReceiptId, ResourceId, RuleName, RunId, Sequence, SessionId, Status, ToolCall, ToolKind, ToolName,
    UserId, Verification,
};
use interlock_store::{Call, Holds, Store};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;
use crate::grounds::{self, Ground};
use crate::plan::HoldForm;

/// How many events are read at a time.
const PAGE: u32 = 1000;

/// What a session came to.
pub(crate) struct Facts {
    pub(crate) session: interlock_store::Session,
    pub(crate) runs: Vec<interlock_store::Run>,
    pub(crate) calls: Vec<Call>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) events: Vec<interlock_protocol::Event>,
    pub(crate) usage: Usage,
    pub(crate) grounds: Vec<Ground>,
    pub(crate) head: Head,
}

/// What `--json` prints of a session.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    session_id: &'a SessionId,
    run_id: Option<&'a RunId>,
    status: Status,
    /// What code knows about the answer.
    head: &'a Head,
    /// What the model wrote.
    answer: Option<&'a str>,
    error: Option<&'a str>,
    receipts: Vec<ReceiptForm<'a>>,
    refused: Vec<RefusedForm<'a>>,
    holds: Vec<HoldForm<'a>>,
    verifications: Vec<VerificationForm<'a>>,
    grounds: &'a [Ground],
    usage: &'a Usage,
    cost: Option<CostForm>,
}

/// A call that ran.
#[derive(Serialize)]
struct ReceiptForm<'a> {
    receipt_id: &'a ReceiptId,
    call: &'a CallId,
    permit: &'a PermitId,
    tool: &'a ToolName,
    kind: ToolKind,
    resource: Option<&'a ResourceId>,
    command: Option<&'a str>,
    plan_hash: ContentHash,
    approved_by: Option<&'a UserId>,
    hold: Option<&'a HoldId>,
    outcome: Outcome,
    exit_code: Option<i32>,
    summary: &'a str,
    started_at: Timestamp,
    finished_at: Option<Timestamp>,
    verification: Option<Verification>,
}

/// A proposal that was refused.
#[derive(Serialize)]
struct RefusedForm<'a> {
    call: Option<&'a CallId>,
    tool: Option<&'a ToolName>,
    rule: &'a RuleName,
    code: ErrorCode,
    message: &'a str,
    recovery_hint: Option<&'a str>,
}

/// A write that was looked at.
#[derive(Serialize)]
struct VerificationForm<'a> {
    resource: &'a ResourceId,
    receipt: Option<&'a ReceiptId>,
    outcome: Verification,
}

/// What models used, over all calls to them.
#[derive(Serialize, Default, Debug, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) model_calls: u64,
    pub(crate) input_tokens: u64,
    pub(crate) cached_input_tokens: u64,
    pub(crate) output_tokens: u64,
    pub(crate) thinking_tokens: u64,
    #[serde(skip)]
    pub(crate) micro_dollars: Option<u64>,
}

#[derive(Serialize)]
struct CostForm {
    micro_dollars: u64,
}

impl Usage {
    fn of(facts: &[Value]) -> Self {
        let mut usage = Self::default();
        for fact in facts {
            let count = |name: &str| {
                fact.pointer(&format!("/usage/{name}"))
                    .and_then(Value::as_u64)
                    .unwrap_or(0)
            };
            usage.model_calls += 1;
            let add = |sum: &mut u64, name| *sum = sum.saturating_add(count(name));
            add(&mut usage.input_tokens, "input_tokens");
            add(&mut usage.cached_input_tokens, "cached_input_tokens");
            add(&mut usage.output_tokens, "output_tokens");
            add(&mut usage.thinking_tokens, "thinking_tokens");
            if let Some(cost) = fact.pointer("/cost/micro_dollars").and_then(Value::as_u64) {
                usage.micro_dollars = Some(usage.micro_dollars.unwrap_or(0).saturating_add(cost));
            }
        }
        usage
    }
}

impl Facts {
    /// Reads them.
    pub(crate) async fn of(store: &Store, session: &SessionId) -> Result<Self, Failure> {
        Ok(Self {
            session: store.session(session).await?,
            runs: store.runs(session).await?,
            calls: store.calls(session).await?,
            holds: store.holds(Holds::Of(session.clone())).await?,
            events: events(store, session).await?,
            usage: Usage::of(&store.interaction_facts(session).await?),
            grounds: grounds::of(store, session).await?,
            head: interlock_engine::head(store, session).await?,
        })
    }

    /// What programs see.
    pub(crate) fn report(&self) -> Report<'_> {
        let now = Timestamp::now();
        let Self {
            session,
            runs,
            calls,
            holds,
            events,
            usage,
            grounds,
            head,
        } = self;
        let receipts = calls
            .iter()
            .filter_map(|call| call.receipt.as_ref().map(|receipt| (call, receipt)))
            .map(|(call, receipt)| ReceiptForm {
                receipt_id: &receipt.id,
                call: &receipt.call,
                permit: &receipt.permit,
                tool: &receipt.tool,
                kind: receipt.kind,
                resource: receipt.resource.as_ref(),
                command: call.started.plan.command.as_deref(),
                plan_hash: receipt.plan_hash,
                approved_by: call.started.approved_by.as_ref(),
                hold: call.started.hold.as_ref(),
                outcome: receipt.outcome,
                exit_code: receipt.exit_code,
                summary: &receipt.summary,
                started_at: receipt.started_at,
                finished_at: receipt.finished_at,
                verification: call.verification,
            })
            .collect();
        Report {
            session_id: &session.submitted.id,
            run_id: runs.last().map(|run| &run.id),
            status: session.status,
            head,
            answer: session.answer.as_deref(),
            error: session.error.as_deref(),
            receipts,
            refused: refused(events),
            holds: holds.iter().map(|hold| HoldForm::new(hold, now)).collect(),
            verifications: events
                .iter()
                .filter_map(|event| match &event.body {
                    EventBody::VerificationCompleted {
                        resource,
                        receipt,
                        outcome,
                        ..
                    } => Some(VerificationForm {
                        resource,
                        receipt: receipt.as_ref(),
                        outcome: *outcome,
                    }),
                    _ => None,
                })
                .collect(),
            grounds,
            usage,
            cost: usage
                .micro_dollars
                .map(|micro_dollars| CostForm { micro_dollars }),
        }
    }
}

fn refused(events: &[interlock_protocol::Event]) -> Vec<RefusedForm<'_>> {
    let mut calls: BTreeMap<&CallId, &ToolCall> = BTreeMap::new();
    let mut refused = Vec::new();
    for event in events {
        match &event.body {
            EventBody::ProposalReceived {
                proposal: Proposal::ToolCall(call),
            } => {
                calls.insert(&call.id, call);
            }
            EventBody::DecisionMade {
                call,
                decision: Decision::Refused(refusal),
            } => refused.push(RefusedForm {
                call: call.as_ref(),
                tool: call.as_ref().and_then(|id| calls.get(id)).map(|call| &call.tool),
                rule: &refusal.rule,
                code: refusal.code,
                message: &refusal.message,
                recovery_hint: refusal.recovery_hint.as_deref(),
            }),
            _ => {}
        }
    }
    refused
}

/// All events of a session.
pub(crate) async fn events(
    store: &Store,
    session: &SessionId,
) -> Result<Vec<interlock_protocol::Event>, Failure> {
    let mut all = Vec::new();
    let mut after = Sequence::new(0);
    loop {
        let page = store.events(session, after, PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(all);
        };
        after = last.sequence;
        all.extend(page);
    }
}
