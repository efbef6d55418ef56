//! Compares what a bundle says about approvals in its four places: the call that ran, the hold, the audit log, and, through the
//! trace, the gate. Each names the same person, plan and session, and each has its counterpart.

use std::collections::BTreeMap;

use interlock_gate::{Hold, HoldStatus};
use interlock_protocol::{HoldId, UserId};
use interlock_store::AuditEntry;
use serde_json::Value;

use super::Bundle;

/// The entries of the audit log about what people did with a hold.
const APPROVED: &str = "hold.approved";
const DENIED: &str = "hold.denied";
const EDITED: &str = "hold.edited";

/// Everything that does not fit, in sentences.
pub(super) fn faults(bundle: &Bundle) -> Vec<String> {
    let mut faults = Vec::new();
    let mut holds: BTreeMap<&str, &Hold> = BTreeMap::new();
    for hold in &bundle.holds {
        if holds.insert(hold.id.as_str(), hold).is_some() {
            faults.push(format!("hold {} is there twice", hold.id));
        }
        if hold.plan.session != bundle.session.submitted.id {
            faults.push(format!("hold {} belongs to another session", hold.id));
        }
        if hold.plan.hash() != hold.plan_hash {
            faults.push(format!("hold {} is not for the plan that it shows", hold.id));
        }
    }
    let mut decisions: BTreeMap<&str, Vec<&AuditEntry>> = BTreeMap::new();
    for entry in &bundle.audit {
        if [APPROVED, DENIED, EDITED].contains(&entry.deed.action.as_str()) {
            let subject = entry.deed.subject.as_deref().unwrap_or_default();
            decisions.entry(subject).or_default().push(entry);
            if !holds.contains_key(subject) {
                faults.push(format!(
                    "audit entry {} is about hold {subject}, which is missing",
                    entry.number
                ));
            }
        }
    }
    for hold in &bundle.holds {
        let entries = decisions.get(hold.id.as_str()).map_or(&[][..], Vec::as_slice);
        faults.extend(decision(hold, entries));
    }
    for call in bundle.traces.iter().flat_map(|trace| &trace.calls) {
        faults.extend(approval(
            call.started.permit.as_str(),
            (call.started.hold.as_ref(), call.started.approved_by.as_ref()),
            &holds,
            &call.started.plan_hash.to_string(),
        ));
    }
    faults
}

/// A hold that a person decided has one entry in the audit log that says the same; another has none.
fn decision(hold: &Hold, entries: &[&AuditEntry]) -> Option<String> {
    let (action, by) = match &hold.status {
        HoldStatus::Approved { by, .. } => (APPROVED, by),
        HoldStatus::Denied { by, .. } => (DENIED, by),
        HoldStatus::Edited { by, .. } => (EDITED, by),
        HoldStatus::Pending | HoldStatus::Expired { .. } | HoldStatus::Withdrawn { .. } => {
            return entries.first().map(|entry| {
                format!(
                    "audit entry {} says {} about hold {}, which nobody decided",
                    entry.number, entry.deed.action, hold.id
                )
            });
        }
    };
    let [entry] = entries else {
        return Some(format!(
            "hold {} was decided by {by}, and {} entries of the audit log say so",
            hold.id,
            entries.len()
        ));
    };
    let fact = |name: &str| entry.deed.details.get(name).and_then(Value::as_str);
    let what = if entry.deed.action != action {
        "what was decided"
    } else if entry.deed.actor.as_ref() != Some(by) {
        "who decided"
    } else if fact("session") != Some(hold.plan.session.as_str()) {
        "the session"
    } else if fact("plan_hash") != Some(hold.plan_hash.to_string().as_str()) {
        "the plan"
    } else {
        return None;
    };
    Some(format!(
        "hold {} and audit entry {} do not say the same about {what}",
        hold.id, entry.number
    ))
}

/// A call that a person approved names the hold, and the hold the same person and plan.
fn approval(
    permit: &str,
    (hold, by): (Option<&HoldId>, Option<&UserId>),
    holds: &BTreeMap<&str, &Hold>,
    plan: &str,
) -> Option<String> {
    let (hold, by) = match (hold, by) {
        (None, None) => return None,
        (Some(hold), Some(by)) => (hold, by),
        _ => {
            return Some(format!(
                "call {permit} names its approver or its hold, and not both"
            ));
        }
    };
    let Some(hold) = holds.get(hold.as_str()) else {
        return Some(format!(
            "call {permit} was approved through hold {hold}, which is missing"
        ));
    };
    let approver = match &hold.status {
        HoldStatus::Approved { by, .. } => Some(by),
        _ => None,
    };
    if approver != Some(by) {
        return Some(format!(
            "call {permit} was approved by {by}, and hold {} says something else",
            hold.id
        ));
    }
    (hold.plan_hash.to_string() != plan)
        .then(|| format!("call {permit} ran another plan than hold {} shows", hold.id))
}
