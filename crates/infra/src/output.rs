//! What came of a command that ran elsewhere, and the bounds it ran in.

use std::time::Duration;

use interlock_protocol::{Captured, ContentHash, SandboxWall};

/// The bounds of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub wall: Duration,
    /// How many bytes of each stream are kept.
    pub output_bytes: usize,
    /// How many bytes of each stream are taken at all before it is ended.
    pub drain_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            output_bytes: 64 * 1024,
            drain_bytes: 64 * 1024 * 1024,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal,
    /// Its time ran out and it was ended.
    TimedOut,
    /// It was cancelled and ended.
    Cancelled,
    /// It printed without end and was ended.
    OutputLimit,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What it printed.
    pub stdout: Captured,
    /// What it complained about.
    pub stderr: Captured,
    /// How it ended.
    pub exit: Exit,
    /// How long it took.
    pub duration: Duration,
    /// The sandbox that it ran in. Nothing for what changes something, and for questions of our own.
    pub sandbox: Option<SandboxWall>,
}

impl Output {
    /// Whether it ended by itself and well.
    pub const fn is_success(&self) -> bool {
        matches!(self.exit, Exit::Code(0))
    }

    /// One hash for both streams: of the first alone if the second is empty, else of the two hashes.
    pub fn hash(&self) -> ContentHash {
        if self.stderr.total == 0 {
            return self.stdout.hash;
        }
        let both = [
            self.stdout.hash.as_bytes().as_slice(),
            self.stderr.hash.as_bytes(),
        ];
        ContentHash::of(both.concat())
    }
}

/// `timeout` ends with 124, or with 137 where it had to kill.
pub(crate) fn exit_of(code: Option<i32>, wall: Duration, took: Duration) -> Exit {
    match code {
        Some(124 | 137) if took >= wall => Exit::TimedOut,
        Some(code) => Exit::Code(code),
        None => Exit::Signal,
    }
}
