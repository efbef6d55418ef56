//! Writes that were proposed and did not run.

use interlock_protocol::{
    CallId, ErrorCode, ExecutionId, NotRunReason, ToolKind, ToolName, UserId, WriteNotRun,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::head::what;
use crate::hold::{Hold, HoldStatus};
use crate::plan::Plan;

/// One call of a write that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotRunCall {
    /// The agent that proposed it.
    pub execution: ExecutionId,
    /// The call.
    pub call: CallId,
    /// When it was decided that it does not run.
    pub at: Timestamp,
    /// What it was, and why it did not run.
    pub write: WriteNotRun,
}

impl NotRunCall {
    /// A write that the gate refused. Its arguments are left out: they were not accepted, and a model wrote them.
    pub fn refused(
        (execution, call): (ExecutionId, CallId),
        tool: &ToolName,
        code: ErrorCode,
        at: Timestamp,
    ) -> Self {
        Self {
            execution,
            call,
            at,
            write: WriteNotRun {
                reason: NotRunReason::Refused,
                what: tool.to_string(),
                resource: None,
                name: None,
                by: None,
                code: Some(code),
                approved_by: None,
                edited_by: None,
                edited_from: None,
                count: 1,
            },
        }
    }

    /// A write that a person approved, and that the gate refused when it was to run. Nothing for a hold that was not approved.
    pub fn refused_after_approval(hold: &Hold, code: ErrorCode, at: Timestamp) -> Option<Self> {
        let HoldStatus::Approved { by, .. } = &hold.status else {
            return None;
        };
        let mut call = Self::withdrawn(&hold.plan, at)?;
        call.write.reason = NotRunReason::Refused;
        call.write.code = Some(code);
        call.write.approved_by = Some(by.clone());
        Some(call)
    }

    /// The same write, of which a person edited what the model had proposed.
    #[must_use]
    pub fn edited(mut self, by: &UserId, from: &Plan) -> Self {
        self.write.edited_by = Some(by.clone());
        self.write.edited_from = Some(what(from));
        self
    }

    /// A write that waited for a person, and was not approved. Nothing for a read, and for a hold that is open, approved
    /// or replaced by another.
    pub fn of_hold(hold: &Hold) -> Option<Self> {
        let (reason, by, at) = match &hold.status {
            HoldStatus::Denied { by, at, .. } => (NotRunReason::Denied, Some(by), *at),
            HoldStatus::Expired { at } => (NotRunReason::Expired, None, *at),
            HoldStatus::Withdrawn { at } => (NotRunReason::Withdrawn, None, *at),
            HoldStatus::Pending | HoldStatus::Approved { .. } | HoldStatus::Edited { .. } => return None,
        };
        let mut call = Self::withdrawn(&hold.plan, at)?;
        call.write.reason = reason;
        call.write.by = by.cloned();
        Some(call)
    }

    /// A write that waited for a person while its execution went on without it.
    pub(crate) fn withdrawn(plan: &Plan, at: Timestamp) -> Option<Self> {
        (plan.kind == ToolKind::Write).then(|| Self {
            execution: plan.execution.clone(),
            call: plan.call.clone(),
            at,
            write: WriteNotRun {
                reason: NotRunReason::Withdrawn,
                what: what(plan),
                resource: plan.resource().cloned(),
                name: plan.target.as_ref().map(|target| target.name.clone()),
                by: None,
                code: None,
                approved_by: None,
                edited_by: None,
                edited_from: None,
                count: 1,
            },
        })
    }

    /// Which call of the session it is.
    pub(crate) fn key(&self) -> CallKey {
        (self.execution.clone(), self.call.clone())
    }
}

/// A call of a session: ids of calls are unique for one agent.
pub(crate) type CallKey = (ExecutionId, CallId);

/// Those since a moment, in order, alike ones counted together.
pub(super) fn since(calls: impl IntoIterator<Item = NotRunCall>, moment: Timestamp) -> Vec<WriteNotRun> {
    let mut calls: Vec<NotRunCall> = calls.into_iter().filter(|call| call.at >= moment).collect();
    calls.sort_by_key(|call| call.at);
    let mut counted: Vec<WriteNotRun> = Vec::new();
    for NotRunCall { write, .. } in calls {
        let alike = |known: &&mut WriteNotRun| {
            let count = known.count;
            **known
                == WriteNotRun {
                    count,
                    ..write.clone()
                }
        };
        match counted.iter_mut().find(alike) {
            Some(known) => known.count = known.count.saturating_add(write.count),
            None => counted.push(write),
        }
    }
    counted
}
