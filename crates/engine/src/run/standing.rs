//! Where a session stands when it is taken up: which of its runs goes on, and whether there is anything to answer.

use interlock_protocol::{EventBody, Sequence, Status, UserId};
use interlock_store::{AuditEntry, AuditFilter, Run, Snapshot};
use jiff::Timestamp;
use serde_json::json;

use super::DIRECT;
use crate::engine::Inner;
use crate::error::Error;
use crate::writes::{ASKED, QUESTION_HASH};

/// How many questions of a session are looked at to find who asked the last.
const QUESTIONS: u32 = 20;

/// How far back the end of a session is looked for that was given its next question since.
const LOOK_BACK: u64 = 200;

/// What happened since a session was last said to have ended.
pub(super) struct Since {
    /// When it ended, and how.
    pub(super) ended: Option<(Timestamp, Status)>,
    /// Whether there is a question to answer. If not, somebody only took it up again, for a call of their own.
    pub(super) asked: bool,
}

pub(super) async fn since_it_ended(engine: &Inner, snapshot: &Snapshot) -> Result<Since, Error> {
    let mut since = Since {
        ended: None,
        asked: true,
    };
    if snapshot.runs.is_empty() {
        return Ok(since);
    }
    let after = Sequence::new(snapshot.last_event.get().saturating_sub(LOOK_BACK));
    let most = u32::try_from(LOOK_BACK).unwrap_or(u32::MAX);
    let session = &snapshot.session.submitted.id;
    let events = engine.store.events(session, after, most).await?;
    let ended = events.iter().rposition(|event| match event.body {
        EventBody::SessionCompleted { status } => {
            since.ended = Some((event.at, status));
            true
        }
        _ => false,
    });
    if let Some(at) = ended {
        // A question puts an ended session into the queue first; a call of a person's own takes it from where it is.
        let next = events[at..].iter().find_map(|event| match event.body {
            EventBody::SessionStatus { status } => Some(status),
            _ => None,
        });
        since.asked = next == Some(Status::Pending);
    }
    Ok(since)
}

/// Who asked what a run answers: the owner for the first, then whoever asked that very question last. Nothing for an alert
/// of a program.
pub(super) async fn asked_by(
    engine: &Inner,
    snapshot: &Snapshot,
    run: &Run,
) -> Result<Option<UserId>, Error> {
    let submitted = &snapshot.session.submitted;
    let before = |other: &Run| other.id != run.id && other.channel != DIRECT;
    if !snapshot.runs.iter().any(before) {
        return Ok(submitted.owner.clone());
    }
    let filter = AuditFilter {
        action: Some(ASKED.to_owned()),
        subject: Some(submitted.id.to_string()),
        limit: QUESTIONS,
        ..AuditFilter::default()
    };
    let hash = json!(run.input_hash);
    let this = |entry: &AuditEntry| entry.deed.details.get(QUESTION_HASH) == Some(&hash);
    let asked = engine.store.audit_entries(&filter).await?;
    Ok(asked.into_iter().find(this).and_then(|entry| entry.deed.actor))
}

/// A session can end outside of its run: stopped while it waited, or given up. What its run left open does not come back
/// to life with the next question.
pub(super) fn close_stale(snapshot: &mut Snapshot, ended: Option<(Timestamp, Status)>) -> Vec<Run> {
    let Some((at, status)) = ended else {
        return Vec::new();
    };
    let mut stale = Vec::new();
    for run in &mut snapshot.runs {
        if !Inner::is_end(run.status) && run.started_at <= at {
            run.status = status;
            run.completed_at = Some(at);
            stale.push(run.clone());
        }
    }
    stale
}

/// What of a session is to go on.
pub(super) enum Standing {
    /// A run begins.
    Begins,
    /// A run did not end.
    GoesOn(Run),
    /// A call that a person made directly did not end, and nothing else is asked. With where the session stood before.
    Direct(Run, Status),
    /// Nothing is asked: this is the last run.
    Nothing(Run),
}

pub(super) fn standing(snapshot: &Snapshot, asked: bool) -> Standing {
    let open = |run: &&Run| !Inner::is_end(run.status);
    let is_direct = |run: &&Run| run.channel == DIRECT;
    let last = snapshot.runs.iter().rev().find(|run| !is_direct(run));
    let direct = snapshot.runs.iter().rev().filter(is_direct).find(open);
    match (last, direct) {
        (Some(last), _) if open(&last) => Standing::GoesOn(last.clone()),
        (Some(last), Some(direct)) if !asked => Standing::Direct(direct.clone(), last.status),
        (Some(last), None) if !asked => Standing::Nothing(last.clone()),
        _ => Standing::Begins,
    }
}
