//! What the gate answered, as steps keep it: a replay compares these.

use interlock_gate::{
    AnswerDecision, Decision, Gate, Hold, Permit, Refusal, Session, Settled, VerificationEnd,
};
use interlock_protocol::{Decision as Said, ExecutionId};
use serde_json::{Value, json};

/// Tells a session how a hold of it was decided without a permit.
pub(crate) fn closed(gate: &Gate, session: &mut Session, hold: &Hold) -> Box<Refusal> {
    use interlock_gate::HoldStatus;
    match &hold.status {
        HoldStatus::Denied { .. } => gate.denied(session, hold),
        HoldStatus::Pending
        | HoldStatus::Approved { .. }
        | HoldStatus::Edited { .. }
        | HoldStatus::Expired { .. }
        | HoldStatus::Withdrawn { .. } => gate.expired(session, hold),
    }
}

/// A decision as the record says it. A refusal whose own words do not fit the record's types is still a refusal.
pub(crate) fn said(decision: &Decision) -> Option<Said> {
    match decision {
        Decision::Allow(permit) => Some(Said::Allowed {
            permit: permit.id().clone(),
            kind: permit.kind(),
            plan_hash: permit.plan_hash(),
        }),
        Decision::Hold(hold) => Some(Said::Held {
            hold: hold.id.clone(),
            plan_hash: hold.plan_hash,
        }),
        Decision::Block(refusal) => refusal.to_record().ok().map(Said::Refused),
    }
}

pub(crate) fn refused(refusal: &Refusal) -> Value {
    json!(refusal.to_record().ok().map(Said::Refused))
}

pub(crate) fn begun_outcome(begun: Result<(), &Refusal>) -> Value {
    match begun {
        Ok(()) => json!("started"),
        Err(refusal) => refused(refusal),
    }
}

pub(crate) fn settled_outcome(settled: Result<&Settled, &interlock_gate::SettleError>) -> Value {
    match settled {
        Err(error) => json!({ "error": error.to_string() }),
        Ok(Settled {
            required,
            ended,
            recovered,
            dropped,
        }) => json!({
            "required": required.as_ref().map(|pending| (&pending.permit, &pending.resource, pending.deadline)),
            "ended": ended,
            "recovered": recovered.as_ref().map(|recovery| (recovery.id, recovery.code)),
            "dropped": dropped,
        }),
    }
}

pub(crate) fn ends_outcome(ends: Result<&[VerificationEnd], &interlock_gate::SettleError>) -> Value {
    match ends {
        Ok(ends) => json!({ "ended": ends }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

pub(crate) fn error_outcome(error: Option<&interlock_gate::SettleError>) -> Value {
    error.map_or(Value::Null, |error| json!({ "error": error.to_string() }))
}

pub(crate) fn redeemed_outcome(redeemed: Result<&Permit, &Refusal>) -> Value {
    match redeemed {
        Ok(permit) => json!(Said::Allowed {
            permit: permit.id().clone(),
            kind: permit.kind(),
            plan_hash: permit.plan_hash(),
        }),
        Err(refusal) => refused(refusal),
    }
}

pub(crate) fn edited_outcome(edited: Result<&Hold, &Refusal>) -> Value {
    match edited {
        Ok(hold) => json!(Said::Held {
            hold: hold.id.clone(),
            plan_hash: hold.plan_hash,
        }),
        Err(refusal) => refused(refusal),
    }
}

pub(crate) fn answer_outcome(decision: &AnswerDecision, execution: &ExecutionId) -> Value {
    match decision {
        AnswerDecision::Release(answer) => json!({
            "execution": execution,
            "released": answer.status,
            "replaced": answer.replaced.is_some(),
            "text": interlock_protocol::ContentHash::of(&answer.text),
            "head": answer.head,
        }),
        AnswerDecision::Block(refusal) => refused(refusal),
    }
}
