//! What code knows about a session's last answer, from the record alone: every surface shows this, and so will
//! notifications.

use interlock_gate::{Checked, head as made, planned};
use interlock_protocol::{Head, HeadAction, HeadRecord, RecordState, SessionId, ToolKind, visible};
use interlock_store::{Call, Outline, SealState, Store, TimelineEntry};
use jiff::Timestamp;

use crate::run::DIRECT;

/// The timeline's word for an answer.
const ANSWER: &str = "final_analysis";

/// The head of a session's last answer; of what was done so far where there is none.
pub async fn head(store: &Store, session: &SessionId) -> Result<Head, interlock_store::Error> {
    let outline = store.outline(session).await?;
    let calls = store.calls(session).await?;
    let readings = store.readings(session).await?;
    // Last: what was read until here is what is checked.
    let seal = store.seal_of(session).await?;
    Ok(head_of(&outline, &calls, &readings, &seal))
}

/// The same, from what was read of the store: `readings` is when each was taken, `seal` says whether any of it was changed.
pub fn head_of(outline: &Outline, calls: &[Call], readings: &[Timestamp], seal: &SealState) -> Head {
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
    let earlier = outline.not_run.iter().filter(|call| call.at < asked_at);
    Head {
        record: Some(recorded(seal)),
        earlier_not_run: u32::try_from(earlier.count()).unwrap_or(u32::MAX),
        ..made(
            actions(calls),
            outline.not_run.iter().cloned(),
            readings.iter().copied(),
            checked,
            asked_at,
        )
    }
}

/// What the seal of a session says, as a head carries it.
pub fn recorded(seal: &SealState) -> HeadRecord {
    let state = match seal {
        SealState::Intact(_) => RecordState::Signed,
        SealState::InProgress => RecordState::InProgress,
        SealState::Older => RecordState::Older,
        SealState::Unsigned => RecordState::Unsigned,
        SealState::Altered { .. } => RecordState::Altered,
    };
    let what = match seal {
        SealState::Altered { what } => Some(what.clone()),
        _ => None,
    };
    HeadRecord { state, what }
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
            unread: false,
            hidden: u32::try_from(visible::hidden(&entry.content)).unwrap_or(u32::MAX),
        },
        |head| Checked::from_head(&head),
    )
}
