//! What code knows about a session's last answer, from the record alone: every surface shows this, and so will
//! notifications.

use interlock_gate::{Checked, head as made, planned};
use interlock_protocol::{Head, HeadAction, SessionId, ToolKind, visible};
use interlock_store::{Call, Outline, Store, TimelineEntry};
use jiff::Timestamp;

use crate::run::DIRECT;

/// The timeline's word for an answer.
const ANSWER: &str = "final_analysis";

/// The head of a session's last answer; of what was done so far where there is none.
pub async fn head(store: &Store, session: &SessionId) -> Result<Head, interlock_store::Error> {
    let outline = store.outline(session).await?;
    let calls = store.calls(session).await?;
    let readings = store.readings(session).await?;
    Ok(head_of(&outline, &calls, &readings))
}

/// The same, from what was read of the store: `readings` is when each was taken.
pub fn head_of(outline: &Outline, calls: &[Call], readings: &[Timestamp]) -> Head {
    let asked_at = outline
        .runs
        .iter()
        .filter(|run| run.channel != DIRECT)
        .map(|run| run.started_at)
        .max()
        .unwrap_or(Timestamp::MIN);
    let checked = outline
        .answer
        .as_ref()
        .filter(|entry| entry.kind == ANSWER && entry.at >= asked_at)
        .map(checked);
    made(
        actions(calls),
        outline.not_run.iter().cloned(),
        readings.iter().copied(),
        checked,
        asked_at,
    )
}

/// The writes of a session, in order.
pub(crate) fn actions(calls: &[Call]) -> Vec<HeadAction> {
    let mut actions: Vec<HeadAction> = calls
        .iter()
        .filter(|call| call.started.plan.kind == ToolKind::Write)
        .map(|call| {
            let started = &call.started;
            let began = call
                .receipt
                .as_ref()
                .map_or(started.started_at, |receipt| receipt.started_at);
            HeadAction {
                outcome: call.receipt.as_ref().map(|receipt| receipt.outcome),
                verification: call.verification,
                approved_by: started.approved_by.clone(),
                ..planned(&started.plan, started.permit.clone(), began)
            }
        })
        .collect();
    actions.sort_by_key(|action| action.started_at);
    actions
}

/// What the gate made of an answer's text, as its entry has it.
fn checked(entry: &TimelineEntry) -> Checked {
    let recorded: Option<Head> = entry
        .metadata
        .get("head")
        .and_then(|head| serde_json::from_value(head.clone()).ok());
    recorded.map_or_else(
        || Checked {
            backed: 0,
            unbacked: 0,
            withheld: None,
            hidden: u32::try_from(visible::hidden(&entry.content)).unwrap_or(u32::MAX),
        },
        |head| Checked::from_head(&head),
    )
}
