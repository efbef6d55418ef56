//! Which refusals a model got past, per tool: the raw material of the recovery rate.

use std::collections::BTreeMap;

use interlock_protocol::{ErrorCode, ToolName};
use jiff::{SignedDuration, Timestamp};

/// How long a refusal waits for its recovery.
pub(crate) const TTL: SignedDuration = SignedDuration::from_mins(10);

/// A recoverable refusal that no success has answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRecovery {
    /// The number of the first refusal, in the session.
    pub id: u64,
    /// The code of the latest refusal.
    pub code: ErrorCode,
    /// The tool that was refused.
    pub tool: ToolName,
    /// When it was first refused.
    pub created_at: Timestamp,
    /// How often it was refused.
    pub attempts: u32,
}

/// The pending recoveries of one execution.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recoveries {
    pending: BTreeMap<ToolName, PendingRecovery>,
}

impl Recoveries {
    pub(crate) fn track(&mut self, id: u64, code: ErrorCode, tool: &ToolName, now: Timestamp) {
        self.expire(now);
        let pending = self
            .pending
            .entry(tool.clone())
            .or_insert_with(|| PendingRecovery {
                id,
                code,
                tool: tool.clone(),
                created_at: now,
                attempts: 0,
            });
        pending.attempts = pending.attempts.saturating_add(1);
        pending.code = code;
    }

    /// The refusal that a success of this tool answers.
    pub(crate) fn succeeded(&mut self, tool: &ToolName, now: Timestamp) -> Option<PendingRecovery> {
        self.expire(now);
        self.pending.remove(tool)
    }

    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }

    /// What is pending.
    pub fn pending(&self) -> impl Iterator<Item = &PendingRecovery> {
        self.pending.values()
    }

    fn expire(&mut self, now: Timestamp) {
        self.pending
            .retain(|_, pending| now.duration_since(pending.created_at) <= TTL);
    }
}
