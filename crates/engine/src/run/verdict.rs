//! What the ends of its agents make of a stage.

use interlock_protocol::Status;

use crate::agent::End;
use crate::options::Success;
use crate::work::Halt;

/// How one agent ended.
pub(super) struct Ended {
    pub(super) agent: String,
    pub(super) end: End,
}

pub(super) const fn status_of(end: &End) -> Status {
    match end {
        End::Answered { status, .. } => *status,
        End::Held => Status::Held,
        End::Failed(_) => Status::Failed,
        End::Halted(Halt::Cancelled) => Status::Cancelled,
        End::Halted(Halt::TimedOut) => Status::TimedOut,
        End::Halted(Halt::Draining) => Status::Pending,
    }
}

pub(super) const fn answered(end: &End) -> bool {
    matches!(end, End::Answered { .. })
}

pub(super) fn worst(ended: &[Ended], status: Status) -> Status {
    let unverified = ended
        .iter()
        .any(|ended| status_of(&ended.end) == Status::Unverified);
    if unverified { Status::Unverified } else { status }
}

/// What the ends of its agents make of a stage.
pub(super) enum Verdict {
    Paused,
    Drained,
    Over {
        status: Status,
        error: String,
    },
    Answered {
        agent: String,
        text: String,
        status: Status,
    },
}

pub(super) fn judge(success: Success, ended: &[Ended]) -> Verdict {
    if ended.iter().any(|ended| ended.end == End::Held) {
        return Verdict::Paused;
    }
    if ended.iter().any(|ended| ended.end == End::Halted(Halt::Draining)) {
        return Verdict::Drained;
    }
    let failed: Vec<&Ended> = ended.iter().filter(|ended| !answered(&ended.end)).collect();
    let enough = match success {
        Success::All => failed.is_empty(),
        Success::Any => failed.len() < ended.len(),
    };
    let first = ended.iter().find_map(|ended| match &ended.end {
        End::Answered { text, .. } => Some((ended.agent.clone(), text.clone())),
        End::Held | End::Failed(_) | End::Halted(_) => None,
    });
    if let (Some((agent, text)), true) = (first, enough) {
        return Verdict::Answered {
            agent,
            text,
            status: worst(ended, Status::Completed),
        };
    }
    let all = |status: Status| failed.iter().all(|ended| status_of(&ended.end) == status);
    let status = if all(Status::TimedOut) {
        Status::TimedOut
    } else if all(Status::Cancelled) {
        Status::Cancelled
    } else {
        Status::Failed
    };
    let error = failed
        .iter()
        .find_map(|ended| match &ended.end {
            End::Failed(why) => Some(why.clone()),
            End::Halted(Halt::TimedOut) => Some("The session's time ran out.".to_owned()),
            End::Halted(Halt::Cancelled) => Some("It was cancelled.".to_owned()),
            End::Answered { .. } | End::Held | End::Halted(Halt::Draining) => None,
        })
        .unwrap_or_else(|| "No agent answered.".to_owned());
    Verdict::Over { status, error }
}
