//! The words of the queue: a session that waits is an entry, and a claim is the right to work on it.

use interlock_protocol::SessionId;

/// How many sessions may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// At most this many wait at the same time.
    pub max_pending: u32,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It waits for a worker.
    New,
    /// One with the same idempotency key is there, or an open one with the same fingerprint: this one.
    Duplicate(SessionId),
}

/// How many sessions may be worked on at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    /// By this worker.
    pub worker: u32,
    /// By all workers together; no number, no limit.
    pub overall: Option<u32>,
}

/// What became of the wish to stop a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancelled {
    /// Nobody had worked on it, or nothing was left to wind up: it is over.
    Now,
    /// Its worker, or the next one, winds it up.
    Requested,
    /// It had ended before.
    Ended,
}

/// How long what ended is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Sessions that ended this many days ago are deleted for people; no number, never.
    pub sessions_days: Option<u32>,
    /// What was deleted for people this many days ago is removed for good; no number, never.
    pub purge_days: Option<u32>,
}

/// What retention did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retained {
    /// How many sessions were deleted for people.
    pub soft_deleted: u64,
    /// How many sessions were removed for good.
    pub purged: u64,
}
