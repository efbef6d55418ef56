//! What happened comes back: receipts, readings, discoveries, and permits that were never begun.

use std::sync::Arc;

use interlock_protocol::{
    ContentHash, Evidence, ExecutionId, Expectation, Observation, Outcome, PermitId, Receipt, ResourceId,
    Source, ToolKind, UserId, Verification,
};
use jiff::Timestamp;

use crate::answer::EvidenceRules;
use crate::context::{Access, Added, Keep, ResolvedResource};
use crate::gate::Gate;
use crate::permit::{self, NotStarted};
use crate::plan::Plan;
use crate::recovery::PendingRecovery;
use crate::refusal::Refusal;
use crate::repetition::Fate;
use crate::sabotage::Sabotage;
use crate::session::{Session, WriteRecord};
use crate::state::State;
use crate::verification::{Before, Comparison, Look, PendingVerification, VerificationEnd, compare};
use crate::world::World;

/// Why a receipt is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No permit of that id is outstanding: never issued, or settled already.
    #[error("permit `{0}` is not outstanding")]
    NotOutstanding(PermitId),
    /// The receipt is for another plan than the permit.
    #[error("the receipt of `{permit}` is for plan {got}, and the permit for {want}")]
    OtherPlan {
        /// The permit.
        permit: PermitId,
        /// The permitted plan.
        want: ContentHash,
        /// The receipt's plan.
        got: ContentHash,
    },
    /// The receipt or the evidence is of another session, execution or call than the permit.
    #[error("what came back for `{0}` is of another session, execution or call")]
    OtherCall(PermitId),
    /// No verification of that permit is pending.
    #[error("no verification of `{0}` is pending")]
    NotPending(PermitId),
    /// The execution is not being concluded.
    #[error("`{0}` is not being concluded")]
    NotConcluding(ExecutionId),
    /// What is brought back is no write with a target of this session.
    #[error("`{0}` is no write of this session with a target")]
    NotAWrite(PermitId),
}

/// Everything that came of running one permit.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// What it did.
    pub receipt: &'a Receipt,
    /// What it read.
    pub evidence: Option<&'a Evidence>,
    /// What it discovered. Taken only from a resolve.
    pub discovered: Vec<ResolvedResource>,
}

/// What settling changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// The verification that a write made due.
    pub required: Option<PendingVerification>,
    /// The verifications that a reading ended.
    pub ended: Vec<VerificationEnd>,
    /// The refusal that this success recovered from.
    pub recovered: Option<PendingRecovery>,
    /// How many discovered resources found no room, or came from a call that may not discover.
    pub dropped: usize,
}

/// A reading that code must take itself, as a typed operation: no model shapes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueReading {
    /// The agent at work.
    pub execution: ExecutionId,
    /// The permit of the write.
    pub permit: PermitId,
    /// What to read.
    pub resource: ResourceId,
    /// What it is compared with.
    pub expectation: Expectation,
    /// Since when it is due.
    pub deadline: Timestamp,
}

/// Why code takes a reading: after it, nothing is left to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The expectation's deadline has come.
    Deadline,
    /// The execution must conclude.
    ForcedConclusion,
}

/// A write that began in an earlier process and left no receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptedWrite {
    /// The permit.
    pub permit: PermitId,
    /// The plan that was permitted.
    pub plan: Arc<Plan>,
    /// When it began.
    pub started_at: Timestamp,
    /// Who approved it, where a human did.
    pub approved_by: Option<UserId>,
    /// What code observed right before it.
    pub baseline: Vec<Observation>,
}

/// A reading that was taken of a resource.
#[derive(Clone, Copy)]
struct Taken<'a> {
    resource: &'a ResourceId,
    evidence: &'a Evidence,
    /// Whether it shows the state of the resource.
    shows_state: bool,
    /// The session's order number of its permit.
    order: u64,
}

impl Gate {
    /// Takes the receipt of a run. Releases the writer, moves the state machine, learns what a resolve discovered,
    /// and compares what a read observed.
    pub fn settle(
        &self,
        world: &mut World,
        session: &mut Session,
        report: Report<'_>,
        now: Timestamp,
    ) -> Result<Settled, Error> {
        let Report {
            receipt,
            evidence,
            discovered,
        } = report;
        let unknown = || Error::NotOutstanding(receipt.permit.clone());
        let execution = session
            .executions
            .get_mut(&receipt.execution)
            .ok_or_else(unknown)?;
        let outstanding = execution.outstanding.get(&receipt.permit).ok_or_else(unknown)?;
        if outstanding.plan_hash != receipt.plan_hash {
            return Err(Error::OtherPlan {
                permit: receipt.permit.clone(),
                want: outstanding.plan_hash,
                got: receipt.plan_hash,
            });
        }
        let plan = &outstanding.plan;
        let same_words = |evidence: &Evidence| match &evidence.source {
            Some(Source::Call { arguments }) => *arguments == plan.arguments,
            Some(Source::Code) | None => true,
        };
        let belongs = |evidence: &Evidence| {
            same_words(evidence)
                && evidence.session == plan.session
                && evidence.execution == plan.execution
                && evidence.call == plan.call
        };
        if receipt.session != plan.session || receipt.call != plan.call || !evidence.is_none_or(belongs) {
            return Err(Error::OtherCall(receipt.permit.clone()));
        }
        let outstanding = execution
            .outstanding
            .remove(&receipt.permit)
            .ok_or_else(unknown)?;
        let succeeded = match receipt.outcome {
            Outcome::Succeeded => true,
            Outcome::Failed | Outcome::TimedOut | Outcome::InterruptedUnknown | Outcome::Cancelled => false,
        };
        if let Some(last) = &mut execution.last
            && last.permit.as_ref() == Some(&receipt.permit)
        {
            last.fate = if succeeded { Fate::Succeeded } else { Fate::Failed };
        }
        let mut settled = Settled::default();
        if succeeded {
            settled.recovered = execution.recoveries.succeeded(&outstanding.plan.tool, now);
        }
        match outstanding.plan.kind {
            ToolKind::Write => {
                settled.required = self.wrote(world, session, receipt, outstanding, now);
                settled.dropped = discovered.len();
            }
            ToolKind::Resolve | ToolKind::Read => {
                if succeeded && execution.state == State::Resolving {
                    execution.state = State::Reading;
                }
                settled.dropped = match (outstanding.plan.kind, succeeded) {
                    (ToolKind::Resolve, true) => self.learn(session, discovered, outstanding.access, now),
                    _ => discovered.len(),
                };
                if let (true, Some(evidence), Some(resource)) =
                    (succeeded, evidence, outstanding.plan.resource())
                    && evidence.resource.as_ref() == Some(resource)
                {
                    let plan = &outstanding.plan;
                    let shows_state = self.shows_state(plan)
                        && self.was_observed(plan)
                        && (crate::bearing::says_something(plan.command.as_deref(), &evidence.data)
                            || self.broken(Sabotage::AnyReadingObserves));
                    let reading = Taken {
                        resource,
                        evidence,
                        shows_state,
                        order: outstanding.order,
                    };
                    settled.ended = self.read(session, reading, None, now);
                }
            }
        }
        Ok(settled)
    }

    /// Every started write is looked at afterwards: also one that failed or timed out, whose effect is unknown.
    fn wrote(
        &self,
        world: &mut World,
        session: &mut Session,
        receipt: &Receipt,
        outstanding: crate::session::Outstanding,
        now: Timestamp,
    ) -> Option<PendingVerification> {
        let order = session.next_order();
        let baseline = outstanding.baseline;
        let pending = self.pending_of(receipt, &outstanding.plan, baseline.clone(), order, now)?;
        world.release(&pending.resource, &receipt.permit);
        let skip = receipt.outcome != Outcome::Succeeded && self.broken(Sabotage::FailedWriteNeedsNoReading);
        session.writes.push(WriteRecord {
            receipt: receipt.clone(),
            plan: outstanding.plan,
            baseline,
            verification: None,
            approved_by: outstanding.approved_by,
        });
        let execution = session.execution_mut(&receipt.execution);
        if !skip {
            execution.pending.push(pending.clone());
        }
        execution.settle_state();
        Some(pending)
    }

    /// What must be looked at after a write. A clock that runs ahead does not put it out of reach.
    fn pending_of(
        &self,
        receipt: &Receipt,
        plan: &Plan,
        baseline: Vec<Observation>,
        order: u64,
        now: Timestamp,
    ) -> Option<PendingVerification> {
        let target = plan.target.as_ref()?;
        let started_at = receipt.started_at.min(now);
        Some(PendingVerification {
            permit: receipt.permit.clone(),
            receipt: Some(receipt.id.clone()),
            resource: target.id.clone(),
            expectation: expected_of(plan, receipt),
            identity: target.identity.clone(),
            state_before: target.state.clone(),
            baseline,
            started_at,
            ended_at: receipt.finished_at.unwrap_or(now).clamp(started_at, now),
            deadline: now
                .saturating_add(self.options.verify_within)
                .unwrap_or(Timestamp::MAX),
            order,
        })
    }

    /// Takes back a permit whose value is gone: the task that held it was cancelled, or panicked. Whether a write
    /// began is not known, so it counts as interrupted, and its resource must be observed. A read is forgotten.
    pub fn lost(
        &self,
        world: &mut World,
        session: &mut Session,
        permit: &PermitId,
        now: Timestamp,
    ) -> Result<Option<PendingVerification>, Error> {
        let lost = session
            .executions
            .values_mut()
            .find_map(|execution| {
                let outstanding = execution.outstanding.remove(permit)?;
                if let Some(last) = &mut execution.last
                    && last.permit.as_ref() == Some(permit)
                {
                    last.fate = Fate::Failed;
                }
                Some(outstanding)
            })
            .ok_or_else(|| Error::NotOutstanding(permit.clone()))?;
        match lost.plan.kind {
            ToolKind::Resolve | ToolKind::Read => Ok(None),
            ToolKind::Write => {
                let receipt = permit::interrupted(permit, &lost.plan, lost.plan_hash, lost.issued_at);
                if self.broken(Sabotage::LostIsForgotten) {
                    return Ok(None);
                }
                Ok(self.wrote(world, session, &receipt, lost, now))
            }
        }
    }

    /// Compares a reading with everything that waits for this resource. Only a reading that was permitted and taken
    /// after the write counts.
    fn read(
        &self,
        session: &mut Session,
        reading: Taken<'_>,
        concluding: Option<&ExecutionId>,
        now: Timestamp,
    ) -> Vec<VerificationEnd> {
        let Taken {
            resource,
            evidence,
            shows_state,
            order,
        } = reading;
        let mut ends = Vec::new();
        let taken_at = evidence.taken_at.min(now);
        for (id, execution) in &mut session.executions {
            let mut waiting = Vec::new();
            for pending in std::mem::take(&mut execution.pending) {
                let same = pending.resource == *resource || self.broken(Sabotage::AnyResourceVerifies);
                let after = (order > pending.order && taken_at >= pending.ended_at)
                    || self.broken(Sabotage::EarlierReadingVerifies);
                let same_machine = pending.identity.contradictions(&evidence.identity).is_empty()
                    || self.broken(Sabotage::AnotherMachineVerifies);
                let comparison = if same && same_machine && after {
                    let before = Before {
                        started_at: pending.started_at,
                        state: pending.state_before.as_deref(),
                        baseline: &pending.baseline,
                    };
                    let look = Look {
                        observations: &evidence.observations,
                        taken_at,
                        shows_state,
                    };
                    compare(&pending.expectation, look, before)
                } else {
                    Comparison::NotYet
                };
                let last_chance = pending.deadline <= now || concluding == Some(id);
                let outcome = match comparison {
                    Comparison::Conclusive(outcome) => Some(outcome),
                    Comparison::Unchanged if last_chance => Some(Verification::Failed),
                    Comparison::Unchanged | Comparison::NotYet => None,
                };
                match outcome {
                    None => waiting.push(pending),
                    Some(outcome) => {
                        let end = pending.end(outcome, Some(evidence.id.clone()), now);
                        execution.ended.push(end.clone());
                        ends.push(end);
                    }
                }
            }
            execution.pending = waiting;
        }
        finish(session, &ends);
        ends
    }

    /// Whether the result of a plan shows the state of its target.
    fn shows_state(&self, plan: &Plan) -> bool {
        let tool = self.catalogue.get(plan.tool.as_str());
        tool.is_some_and(|tool| tool.action(&plan.arguments).shows_state(&plan.arguments))
            || self.broken(Sabotage::AnyReadingObserves)
    }

    /// Whether the output of a plan's command was observed, and not written by the model.
    fn was_observed(&self, plan: &Plan) -> bool {
        match (self.options.evidence_rules, plan.command.as_deref()) {
            (EvidenceRules::ByWord, _) | (EvidenceRules::ByReading, None) => true,
            (EvidenceRules::ByReading, Some(command)) => {
                interlock_shell::printed(command).is_observed() || self.broken(Sabotage::AnyReadingObserves)
            }
        }
    }

    /// Takes what code observed right before a permitted write began. Later readings are compared with it.
    pub fn baseline(&self, session: &mut Session, permit: &PermitId, baseline: Vec<Observation>) {
        let outstanding = session
            .executions
            .values_mut()
            .find_map(|execution| execution.outstanding.get_mut(permit));
        if let Some(outstanding) = outstanding.filter(|outstanding| outstanding.plan.kind == ToolKind::Write)
        {
            outstanding.baseline = baseline;
        }
    }

    /// Takes back a permit that never began. Nothing ran, so there is nothing to verify.
    pub fn not_started(&self, world: &mut World, session: &mut Session, unused: NotStarted) -> Box<Refusal> {
        if let Some(resource) = unused.plan().resource() {
            world.release(resource, unused.permit());
        }
        let id = unused.plan().execution.clone();
        let mut issued_at = None;
        if let Some(execution) = session.executions.get_mut(&id) {
            let outstanding = execution.outstanding.remove(unused.permit());
            issued_at = outstanding.map(|outstanding| outstanding.issued_at);
            if let Some(last) = &mut execution.last
                && last.permit.as_ref() == Some(unused.permit())
            {
                last.fate = Fate::Failed;
            }
            match execution.state {
                State::Writing => execution.settle_state(),
                State::Resolving | State::Reading | State::Verifying | State::Concluded => {}
            }
        }
        let call = unused.plan().call.clone();
        let refusal = unused.into_refusal();
        if let Some(issued_at) = issued_at {
            session.note_refused(&id, &call, &refusal, issued_at);
        }
        refusal
    }

    /// The readings that code must take itself now, because a deadline has come.
    pub fn due_readings(&self, session: &Session, now: Timestamp) -> Vec<DueReading> {
        due(session, |pending| pending.deadline <= now)
    }

    /// Code ends an execution: from now on nothing of it is permitted, until its next turn. What comes back are the
    /// readings that code must take itself first, with [`Moment::ForcedConclusion`].
    pub fn begin_conclusion(&self, session: &mut Session, execution: &ExecutionId) -> Vec<DueReading> {
        session.execution_mut(execution).concluding = true;
        self.readings_before_conclusion(session, execution)
    }

    /// The readings that code must take itself before it may force an execution to conclude.
    pub fn readings_before_conclusion(&self, session: &Session, execution: &ExecutionId) -> Vec<DueReading> {
        let mut due = due(session, |_| true);
        due.retain(|reading| reading.execution == *execution);
        due
    }

    /// Takes a reading that code took itself; `None` if the resource could not be observed. What it does not settle
    /// stays unsettled for good: `inconclusive`.
    pub fn observe(
        &self,
        session: &mut Session,
        due: &DueReading,
        evidence: Option<&Evidence>,
        moment: Moment,
        now: Timestamp,
    ) -> Result<Vec<VerificationEnd>, Error> {
        let missing = || Error::NotPending(due.permit.clone());
        let concluding = match moment {
            Moment::Deadline => None,
            Moment::ForcedConclusion => {
                let concluding = session
                    .executions
                    .get(&due.execution)
                    .is_some_and(|execution| execution.concluding);
                if !concluding && !self.broken(Sabotage::AnyTimeIsConclusion) {
                    return Err(Error::NotConcluding(due.execution.clone()));
                }
                Some(&due.execution)
            }
        };
        if evidence.is_some_and(|evidence| evidence.session != session.id) {
            return Err(Error::OtherCall(due.permit.clone()));
        }
        let mut ends = Vec::new();
        let usable = evidence.filter(|evidence| evidence.resource.as_ref() == Some(&due.resource));
        if let Some(evidence) = usable {
            let order = session.next_order();
            let reading = Taken {
                resource: &due.resource,
                evidence,
                // Code asks for the state and for nothing else.
                shows_state: true,
                order,
            };
            ends = self.read(session, reading, concluding, now);
            if ends.iter().any(|end| end.permit == due.permit) {
                return Ok(ends);
            }
        }
        let execution = session.executions.get_mut(&due.execution).ok_or_else(missing)?;
        let at = execution
            .pending
            .iter()
            .position(|pending| pending.permit == due.permit)
            .ok_or_else(missing)?;
        let over = match moment {
            Moment::Deadline => execution.pending[at].deadline <= now,
            Moment::ForcedConclusion => true,
        };
        if over {
            let pending = execution.pending.remove(at);
            let end = pending.end(
                Verification::Inconclusive,
                usable.map(|evidence| evidence.id.clone()),
                now,
            );
            execution.ended.push(end.clone());
            finish(session, std::slice::from_ref(&end));
            ends.push(end);
        }
        Ok(ends)
    }

    /// Learns a resource that a person named: an `@mention` or a selection. Counts as explicit access.
    pub fn mention(&self, session: &mut Session, resource: ResolvedResource, now: Timestamp) -> Added {
        session.context.add(resource, Access::Explicit, now)
    }

    /// A person picked a resource that is known. Counts as explicit access.
    pub fn select(&self, session: &mut Session, resource: &ResourceId, now: Timestamp) {
        session.context.mark_explicit(resource, now);
    }

    /// Learns resources that code resolved for an execution by its own typed operation, as after a restart.
    pub fn rediscover(
        &self,
        session: &mut Session,
        execution: &ExecutionId,
        resources: Vec<ResolvedResource>,
        now: Timestamp,
    ) {
        self.learn(session, resources, Access::Bulk, now);
        let known = session.context.has_any(now);
        let execution = session.execution_mut(execution);
        if known && execution.state == State::Resolving {
            execution.state = State::Reading;
        }
    }

    /// Brings back a verification that was pending when an earlier process ended.
    pub fn restore(&self, session: &mut Session, execution: &ExecutionId, mut pending: PendingVerification) {
        // Only what is permitted from here on was permitted after the write.
        pending.order = session.next_order();
        let execution = session.execution_mut(execution);
        execution.pending.retain(|known| known.permit != pending.permit);
        execution.pending.push(pending);
        execution.settle_state();
    }

    /// Brings back a write of an earlier process, so that what is said about it is backed. One that was not looked at
    /// waits for that again, also if its verification was not stored.
    pub fn restore_write(
        &self,
        session: &mut Session,
        write: WriteRecord,
        now: Timestamp,
    ) -> Result<(), Error> {
        let refuse = || Error::NotAWrite(write.receipt.permit.clone());
        if write.plan.kind != ToolKind::Write
            || write.plan.session != session.id
            || write.receipt.session != session.id
            || write.receipt.execution != write.plan.execution
            || write.receipt.plan_hash != write.plan.hash()
        {
            return Err(refuse());
        }
        let execution = write.receipt.execution.clone();
        let waits = session
            .pending(&execution)
            .iter()
            .any(|pending| pending.permit == write.receipt.permit);
        if write.verification.is_none() && !waits {
            let pending = self
                .pending_of(&write.receipt, &write.plan, write.baseline.clone(), 0, now)
                .ok_or_else(refuse)?;
            self.restore(session, &execution, pending);
        }
        session
            .writes
            .retain(|known| known.receipt.permit != write.receipt.permit);
        session.writes.push(write);
        Ok(())
    }

    /// A write that began in an earlier process and left no receipt is never run again; its resource must be
    /// observed first. Its receipt says `interrupted_unknown`.
    pub fn interrupted(
        &self,
        session: &mut Session,
        write: InterruptedWrite,
        now: Timestamp,
    ) -> Result<PendingVerification, Error> {
        let InterruptedWrite {
            permit: id,
            plan,
            started_at,
            approved_by,
            baseline,
        } = write;
        let receipt = permit::interrupted(&id, &plan, plan.hash(), started_at);
        let execution = plan.execution.clone();
        let record = WriteRecord {
            receipt,
            plan,
            baseline,
            verification: None,
            approved_by,
        };
        self.restore_write(session, record, now)?;
        let mut pending = session.pending(&execution).iter();
        let pending = pending.find(|pending| pending.permit == id).cloned();
        pending.ok_or(Error::NotAWrite(id))
    }

    /// Forgets what was discovered and, with it, every state that rests on it. A write that is under way or was not
    /// looked at yet stays: forgetting does not undo it.
    pub fn reset(&self, session: &mut Session, keep: Keep, now: Timestamp) {
        session.context.expire(now);
        session.context.clear(keep);
        let known = session.context.has_any(now);
        let drop_pending = self.broken(Sabotage::ResetDropsVerification);
        for execution in session.executions.values_mut() {
            execution.recoveries.clear();
            execution.last = None;
            execution.blocked_writes = 0;
            if drop_pending {
                execution.pending.clear();
            }
            match execution.state {
                State::Concluded => {}
                State::Resolving | State::Reading | State::Writing | State::Verifying => {
                    execution.settle_state();
                    if execution.state == State::Reading && !known {
                        execution.state = State::Resolving;
                    }
                }
            }
        }
    }

    /// Begins the next turn of an execution that has answered.
    pub fn next_turn(&self, session: &mut Session, execution: &ExecutionId, now: Timestamp) {
        let known = session.context.has_any(now);
        let execution = session.execution_mut(execution);
        if execution.state == State::Concluded {
            execution.concluding = false;
            execution.state = if known { State::Reading } else { State::Resolving };
        }
    }

    /// Adds what a resolve found. A single resource that was asked for by itself counts as explicit access.
    fn learn(
        &self,
        session: &mut Session,
        found: Vec<ResolvedResource>,
        asked: Access,
        now: Timestamp,
    ) -> usize {
        let access = if self.broken(Sabotage::BulkIsExplicit) {
            Access::Explicit
        } else if found.len() == 1 {
            asked
        } else {
            Access::Bulk
        };
        found
            .into_iter()
            .map(|resource| session.context.add(resource, access, now))
            .filter(|added| *added == Added::Full)
            .count()
    }
}

/// What must be observed after a write. What a patch made of a file is known once it ran: its receipt has the hash.
fn expected_of(plan: &Plan, receipt: &Receipt) -> Expectation {
    match (&plan.expectation, receipt.outcome, receipt.output_hash) {
        (Some(Expectation::FilePatched { path }), Outcome::Succeeded, Some(hash)) => Expectation::FileHash {
            path: path.clone(),
            hash,
        },
        // Whether it took effect is not known, nor what the file would have then: it is looked at.
        (Some(Expectation::FilePatched { .. }) | None, _, _) => Expectation::FreeForm,
        (Some(expectation), _, _) => expectation.clone(),
    }
}

/// Records how verifications ended and lets their executions go on.
fn finish(session: &mut Session, ends: &[VerificationEnd]) {
    for end in ends {
        for write in session
            .writes
            .iter_mut()
            .filter(|write| write.receipt.permit == end.permit)
        {
            write.verification = Some(end.outcome);
        }
    }
    for execution in session.executions.values_mut() {
        match execution.state {
            State::Verifying => {
                execution.settle_state();
                if execution.state != State::Verifying {
                    execution.blocked_writes = 0;
                }
            }
            State::Resolving | State::Reading | State::Writing | State::Concluded => {}
        }
    }
}

fn due(session: &Session, when: impl Fn(&PendingVerification) -> bool) -> Vec<DueReading> {
    session
        .executions
        .iter()
        .flat_map(|(id, execution)| execution.pending.iter().map(move |pending| (id, pending)))
        .filter(|(_, pending)| when(pending))
        .map(|(id, pending)| DueReading {
            execution: id.clone(),
            permit: pending.permit.clone(),
            resource: pending.resource.clone(),
            expectation: pending.expectation.clone(),
            deadline: pending.deadline,
        })
        .collect()
}
