//! The repetition guard: the same call at once after itself.

use interlock_protocol::{ContentHash, PermitId};

/// How many identical calls are refused recoverably before it counts as a failure.
pub const THRESHOLD: u32 = 3;

/// What became of the last permitted or held call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Fate {
    /// It has a permit and no receipt.
    Running,
    /// It waits for a human.
    Held,
    /// A human refused it.
    Denied,
    /// It did what it was told.
    Succeeded,
    /// It failed, timed out, expired or never began: trying again is reasonable.
    Failed,
}

/// The last permitted or held call of an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastCall {
    pub(crate) fingerprint: ContentHash,
    /// Its permit; none while it waits for a human.
    pub(crate) permit: Option<PermitId>,
    pub(crate) fate: Fate,
    pub(crate) repeats: u32,
}

/// What the guard says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It is no repetition.
    None,
    /// It repeats, and may be recovered from.
    Recoverable(u32),
    /// It has repeated too often.
    Failure(u32),
}

/// Whether the call with this fingerprint repeats the last one. Counts it if it does.
pub(crate) fn check(last: &mut Option<LastCall>, fingerprint: ContentHash, threshold: u32) -> Repeat {
    let Some(last) = last.as_mut().filter(|last| last.fingerprint == fingerprint) else {
        return Repeat::None;
    };
    match last.fate {
        Fate::Failed => Repeat::None,
        Fate::Running | Fate::Held | Fate::Denied | Fate::Succeeded => {
            last.repeats = last.repeats.saturating_add(1).min(threshold.saturating_add(1));
            if last.repeats > threshold {
                Repeat::Failure(last.repeats)
            } else {
                Repeat::Recoverable(last.repeats)
            }
        }
    }
}
