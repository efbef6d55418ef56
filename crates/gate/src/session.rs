//! What the gate remembers of one session: what it discovered, and where each of its executions stands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use interlock_protocol::{
    CallId, ContentHash, ControlLevel, ExecutionId, HoldId, Observation, PermitId, Receipt, SessionId,
    Status, ToolKind, ToolName, UserId, Verification,
};
use jiff::Timestamp;

use crate::answer::NotRunCall;
use crate::answer::not_run::CallKey;
use crate::context::{Access, ContextLimits, ResolvedContext};
use crate::file::{FileBefore, FilePlace};
use crate::plan::Plan;
use crate::recovery::Recoveries;
use crate::refusal::Refusal;
use crate::repetition::LastCall;
use crate::rule::Rule;
use crate::sandbox::{ReadTarget, Where};
use crate::state::State;
use crate::verification::{PendingVerification, VerificationEnd};

/// Which tools a session may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolScope {
    /// Every tool of the catalogue.
    #[default]
    All,
    /// These.
    Only(BTreeSet<ToolName>),
}

impl ToolScope {
    /// Whether this tool is among them.
    pub fn contains(&self, tool: &ToolName) -> bool {
        match self {
            Self::All => true,
            Self::Only(tools) => tools.contains(tool),
        }
    }
}

/// Whether the one who owns a session may approve its holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FourEyes {
    /// The owner may.
    #[default]
    Off,
    /// Someone else must.
    On,
}

/// What a session begins with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionOptions {
    /// How much may happen without a human.
    pub level: ControlLevel,
    /// Which tools it may use.
    pub tools: ToolScope,
    /// Who asked for it; nobody for an alert.
    pub owner: Option<UserId>,
    /// Whether the owner may approve its holds.
    pub four_eyes: FourEyes,
    /// The bounds of its context.
    pub limits: ContextLimits,
}

/// What the gate remembers of one session. Has no serial form: see [`ResolvedContext`].
#[derive(Debug)]
pub struct Session {
    pub(crate) id: SessionId,
    pub(crate) options: SessionOptions,
    pub(crate) context: ResolvedContext,
    pub(crate) executions: BTreeMap<ExecutionId, Execution>,
    /// Every write that ran, with how its verification ended.
    pub(crate) writes: Vec<WriteRecord>,
    /// Every write that was proposed and did not run.
    pub(crate) not_run: BTreeMap<CallKey, NotRunCall>,
    /// Holds that were decided here. A stale copy of one cannot be decided again.
    pub(crate) decided_holds: BTreeSet<HoldId>,
    /// What the places offer that commands run on, as far as it was asked.
    pub(crate) read_targets: BTreeMap<Where, ReadTarget>,
    /// What the files are that calls would replace, as far as it was asked.
    pub(crate) files: BTreeMap<FilePlace, FileBefore>,
    /// Orders permits, receipts and refusals among themselves, whatever the clock does.
    pub(crate) order: u64,
}

/// One write that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRecord {
    /// What it did.
    pub receipt: Receipt,
    /// The plan that was permitted.
    pub plan: Arc<Plan>,
    /// What code observed right before it began.
    pub baseline: Vec<Observation>,
    /// How its verification ended; nothing while it is pending.
    pub verification: Option<Verification>,
    /// Who approved it, where a human did.
    pub approved_by: Option<UserId>,
}

/// Where one execution stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Execution {
    pub(crate) state: State,
    pub(crate) outstanding: BTreeMap<PermitId, Outstanding>,
    pub(crate) pending: Vec<PendingVerification>,
    pub(crate) ended: Vec<VerificationEnd>,
    pub(crate) last: Option<LastCall>,
    pub(crate) recoveries: Recoveries,
    pub(crate) hold: Option<OpenHold>,
    /// How many writes were refused since the last verification ended.
    pub(crate) blocked_writes: u32,
    /// Code ends it: nothing more is permitted in this turn.
    pub(crate) concluding: bool,
}

impl Default for Execution {
    fn default() -> Self {
        Self {
            state: State::Resolving,
            outstanding: BTreeMap::new(),
            pending: Vec::new(),
            ended: Vec::new(),
            last: None,
            recoveries: Recoveries::default(),
            hold: None,
            blocked_writes: 0,
            concluding: false,
        }
    }
}

/// A permit without a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outstanding {
    pub(crate) plan: Arc<Plan>,
    pub(crate) plan_hash: ContentHash,
    pub(crate) fingerprint: ContentHash,
    /// Whether what a resolve finds was asked for by itself.
    pub(crate) access: Access,
    /// The session's order number of the permit.
    pub(crate) order: u64,
    /// When the permit was issued.
    pub(crate) issued_at: Timestamp,
    /// Who approved it, where a human did.
    pub(crate) approved_by: Option<UserId>,
    /// What code observed right before a write began.
    pub(crate) baseline: Vec<Observation>,
}

/// A call of this execution that waits for a human.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenHold {
    pub(crate) id: HoldId,
    pub(crate) plan: Arc<Plan>,
    pub(crate) plan_hash: ContentHash,
    pub(crate) fingerprint: ContentHash,
    pub(crate) expires_at: Timestamp,
}

impl Session {
    /// A session that knows nothing yet.
    pub fn new(id: SessionId, options: SessionOptions) -> Self {
        Self {
            id,
            context: ResolvedContext::new(options.limits),
            options,
            executions: BTreeMap::new(),
            writes: Vec::new(),
            not_run: BTreeMap::new(),
            decided_holds: BTreeSet::new(),
            read_targets: BTreeMap::new(),
            files: BTreeMap::new(),
            order: 0,
        }
    }

    /// A copy for exploring two futures of one session.
    pub(crate) fn fork(&self) -> Self {
        Self {
            id: self.id.clone(),
            options: self.options.clone(),
            context: self.context.fork(),
            executions: self.executions.clone(),
            writes: self.writes.clone(),
            not_run: self.not_run.clone(),
            decided_holds: self.decided_holds.clone(),
            read_targets: self.read_targets.clone(),
            files: self.files.clone(),
            order: self.order,
        }
    }

    /// This session.
    pub const fn id(&self) -> &SessionId {
        &self.id
    }

    /// What it began with.
    pub const fn options(&self) -> &SessionOptions {
        &self.options
    }

    /// Changes how much may happen without a human, from now on: for tests. A running session is only tightened
    /// ([`Session::tighten`]).
    #[cfg(test)]
    pub(crate) fn set_level(&mut self, level: ControlLevel) {
        self.options.level = level;
    }

    /// What it discovered.
    pub const fn context(&self) -> &ResolvedContext {
        &self.context
    }

    /// What it discovered, for pinning.
    pub const fn context_mut(&mut self) -> &mut ResolvedContext {
        &mut self.context
    }

    /// Where an execution stands. One that has done nothing is `Resolving`.
    pub fn state(&self, execution: &ExecutionId) -> State {
        self.executions
            .get(execution)
            .map_or(State::Resolving, |execution| execution.state)
    }

    /// The executions that have done something.
    pub fn executions(&self) -> impl Iterator<Item = &ExecutionId> {
        self.executions.keys()
    }

    /// The writes of an execution whose resources were not yet looked at: what a restart must bring back.
    pub fn pending(&self, execution: &ExecutionId) -> &[PendingVerification] {
        self.executions
            .get(execution)
            .map_or(&[], |execution| &execution.pending)
    }

    /// How the verifications of an execution ended.
    pub fn ended(&self, execution: &ExecutionId) -> &[VerificationEnd] {
        self.executions
            .get(execution)
            .map_or(&[], |execution| &execution.ended)
    }

    /// How many writes were refused since the last verification ended.
    pub fn blocked_writes(&self, execution: &ExecutionId) -> u32 {
        self.executions
            .get(execution)
            .map_or(0, |execution| execution.blocked_writes)
    }

    /// The refusals of an execution that no success has answered yet.
    pub fn recoveries(&self, execution: &ExecutionId) -> Option<&Recoveries> {
        self.executions
            .get(execution)
            .map(|execution| &execution.recoveries)
    }

    /// The hold that an execution waits for.
    pub fn open_hold(&self, execution: &ExecutionId) -> Option<&HoldId> {
        self.executions.get(execution)?.hold.as_ref().map(|hold| &hold.id)
    }

    /// Every write that ran, in order.
    pub fn writes(&self) -> &[WriteRecord] {
        &self.writes
    }

    /// The status with which the session would end now, as far as its writes go.
    pub fn standing(&self) -> Status {
        let unseen = self
            .writes
            .iter()
            .any(|write| matches!(write.verification, None | Some(Verification::Inconclusive)));
        let interrupted = self.executions.values().any(|execution| {
            !execution.pending.is_empty()
                || execution
                    .ended
                    .iter()
                    .any(|end| end.outcome == Verification::Inconclusive)
        });
        if unseen || interrupted {
            Status::Unverified
        } else {
            Status::Completed
        }
    }

    /// Whether the gate knows by itself what became of this call.
    pub fn remembers(&self, call: &NotRunCall) -> bool {
        let key = (&call.execution, &call.call);
        let ran = |write: &WriteRecord| (&write.plan.execution, &write.plan.call) == key;
        self.not_run.contains_key(&call.key()) || self.writes.iter().any(ran)
    }

    /// Remembers a write that did not run. What was noted first stands: what comes after it is a consequence.
    pub(crate) fn note_not_run(&mut self, call: NotRunCall) {
        self.not_run.entry(call.key()).or_insert(call);
    }

    /// Remembers a call that was refused, if it is a write.
    pub(crate) fn note_refused(
        &mut self,
        execution: &ExecutionId,
        call: &CallId,
        refusal: &Refusal,
        now: Timestamp,
    ) {
        // A tool that there is not would do nothing, and a model made its name up.
        if refusal.rule == Rule::ToolKnown {
            return;
        }
        if let (Some(ToolKind::Write), Some(tool)) = (refusal.about.kind, &refusal.about.tool) {
            let key = (execution.clone(), call.clone());
            self.note_not_run(NotRunCall::refused(key, tool, refusal.code, now));
        }
    }

    pub(crate) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    pub(crate) fn execution_mut(&mut self, id: &ExecutionId) -> &mut Execution {
        self.executions.entry(id.clone()).or_default()
    }
}

impl Execution {
    /// The state that follows from what is pending, outside `Resolving` and `Concluded`.
    pub(crate) fn settle_state(&mut self) {
        let writing = self
            .outstanding
            .values()
            .any(|outstanding| outstanding.plan.kind == interlock_protocol::ToolKind::Write);
        self.state = if writing {
            State::Writing
        } else if self.pending.is_empty() {
            State::Reading
        } else {
            State::Verifying
        };
    }
}
