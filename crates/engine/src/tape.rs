//! The gate as a session drives it, with every question written down.
//!
//! Nothing else in this room asks the gate. Because the gate is a pure function, the list of what it was asked is
//! enough to answer it all again: see [`crate::replay`].

use std::sync::{Arc, Mutex, PoisonError};

use interlock_gate::{
    Answer, AnswerDecision, Conclusion, Decision, DueReading, FileBefore, FilePlace, FourEyes, Hold,
    InterruptedWrite, KillSwitch, Moment, NameEntry, Permit, Question, ReadTarget, Refusal, Report,
    ResolvedResource, Session, SessionOptions, Settled, Situation, Started, TokenRecord, ToolScope,
    VerificationEnd, Where, World, WriteRecord,
};
use interlock_protocol::{
    Arguments, ControlLevel, Evidence, ExecutionId, Observation, PermitId, Receipt, ResourceId, RunId,
    SessionId, ToolCall, UserId,
};
use interlock_store::Step;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::RuleSet;

mod ask;
mod outcome;

pub use ask::{Ask, Found, Named, Rival};
pub(crate) use outcome::{
    answer_outcome, begun_outcome, closed, edited_outcome, ends_outcome, error_outcome, redeemed_outcome,
    refused, said, settled_outcome,
};

/// What all sessions of this process share.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<World>);

impl Shared {
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut World) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A session writes to nothing any more in this process.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.with(|world| {
            let mine: Vec<(ResourceId, PermitId)> = world
                .writers()
                .filter(|(_, writer)| writer.session == *session)
                .map(|(resource, writer)| (resource.clone(), writer.permit.clone()))
                .collect();
            for (resource, permit) in mine {
                world.forget_writer(&resource, &permit);
            }
        });
    }

    pub(crate) fn stop_writes(&self, switch: KillSwitch) {
        self.with(|world| world.kill_switch = switch);
    }
}

/// What the configuration says now about a session that runs.
pub(crate) struct Stricter<'a> {
    /// The most that may happen without a human.
    pub(crate) level: ControlLevel,
    /// Whether the owner may approve its holds.
    pub(crate) four_eyes: FourEyes,
    /// What decides about tools now.
    pub(crate) rules: &'a Arc<RuleSet>,
}

/// The gate's memory of one session, and the questions that were not kept yet.
#[derive(Debug)]
pub(crate) struct Tape {
    tools: Arc<RuleSet>,
    /// The rules that it follows: those of the configuration when it was asked last.
    followed: Arc<RuleSet>,
    session: Session,
    run: RunId,
    number: u64,
    steps: Vec<Step>,
    /// Why a question could not be written down. What is kept next is refused for that, and the run fails.
    unwritable: Option<String>,
    evidence: Vec<Arc<Evidence>>,
    question: Question,
}

impl Tape {
    /// Opens a session of which nothing is known in this process.
    pub(crate) fn open(
        tools: Arc<RuleSet>,
        id: SessionId,
        options: SessionOptions,
        run: RunId,
        last_step: u64,
        now: Timestamp,
    ) -> Self {
        let named = match &options.tools {
            ToolScope::All => tools
                .catalogue()
                .tools()
                .map(|tool| tool.definition().name.clone())
                .collect(),
            ToolScope::Only(named) => named.clone(),
        };
        let ask = Ask::Open {
            session: id.clone(),
            level: options.level,
            tools: named,
            owner: options.owner.clone(),
            four_eyes: options.four_eyes,
            rules: Box::new(tools.rules().clone()),
        };
        let mut tape = Self {
            followed: Arc::clone(&tools),
            tools,
            session: Session::new(id, options),
            run,
            number: last_step,
            steps: Vec::new(),
            unwritable: None,
            evidence: Vec::new(),
            question: Question::default(),
        };
        tape.note(&ask, Value::Null, now);
        tape
    }

    /// The tools that it was opened with.
    pub(crate) const fn tools(&self) -> &Arc<RuleSet> {
        &self.tools
    }

    /// Takes rules that are stricter now than when it was opened, for everything that is asked from here on. What became
    /// milder changes nothing.
    pub(crate) fn follow(&mut self, now: &Stricter<'_>, at: Timestamp) {
        let options = self.session.options();
        let level = now.level.min(options.level);
        let four_eyes = now.four_eyes.or(options.four_eyes);
        let same = Arc::ptr_eq(&self.followed, now.rules);
        if same && (level, four_eyes) == (options.level, options.four_eyes) {
            return;
        }
        let stricter = self
            .tools
            .gate()
            .options()
            .tightened_by(now.rules.gate().options());
        let shared = self.tools.shared_with(now.rules);
        let tools = match &options.tools {
            ToolScope::All => shared,
            ToolScope::Only(own) => own & &shared,
        };
        self.followed = Arc::clone(now.rules);
        let unchanged = (level, four_eyes) == (options.level, options.four_eyes)
            && stricter == *self.tools.gate().options()
            && options.tools == ToolScope::Only(tools.clone());
        if unchanged {
            return;
        }
        self.tools = Arc::new(self.tools.with_options(stricter));
        let ask = Ask::Tighten {
            level,
            four_eyes,
            tools: tools.clone(),
            rules: Box::new(self.tools.rules().clone()),
        };
        self.session.tighten(level, four_eyes, &tools);
        self.note(&ask, Value::Null, at);
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) fn begin_run(&mut self, run: RunId) {
        self.run = run;
    }

    /// Brings back what an earlier process read, for grounding.
    pub(crate) fn remember(&mut self, evidence: Evidence) {
        self.evidence.push(Arc::new(evidence));
    }

    /// The questions that were not kept yet.
    pub(crate) fn take_steps(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.steps)
    }

    /// Why a question could not be written down, since this was asked last.
    pub(crate) fn take_unwritable(&mut self) -> Option<String> {
        self.unwritable.take()
    }

    /// The same, to look at.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Questions that could not be kept wait again, before those that came after them.
    pub(crate) fn put_back(&mut self, steps: Vec<Step>) {
        self.steps.splice(..0, steps);
    }

    fn note(&mut self, ask: &Ask, outcome: Value, now: Timestamp) {
        self.number += 1;
        match serde_json::to_value(ask) {
            Ok(input) => self.steps.push(Step {
                number: self.number,
                run: self.run.clone(),
                input,
                outcome,
                at: now,
            }),
            Err(error) => {
                self.unwritable.get_or_insert(error.to_string());
            }
        }
    }

    fn rivals(&self, world: &World) -> Vec<Rival> {
        world
            .writers()
            .filter(|(_, writer)| writer.session != *self.session.id())
            .map(|(resource, writer)| Rival {
                resource: resource.clone(),
                session: writer.session.clone(),
                execution: writer.execution.clone(),
                permit: writer.permit.clone(),
            })
            .collect()
    }

    pub(crate) fn decide(
        &mut self,
        world: &mut World,
        execution: &ExecutionId,
        call: ToolCall,
        names: &[NameEntry],
        now: Timestamp,
    ) -> Decision {
        let ask = Ask::Decide {
            execution: execution.clone(),
            call: call.clone(),
            names: names.iter().map(Named::from).collect(),
            stopped: world.kill_switch == KillSwitch::Engaged,
            rivals: self.rivals(world),
        };
        let decision = self.tools.gate().decide(
            world,
            &mut self.session,
            execution,
            call,
            Situation::at(now).with_names(names),
        );
        self.note(&ask, json!(said(&decision)), now);
        decision
    }

    /// Takes what code observed right before a write begins.
    pub(crate) fn baseline(&mut self, permit: &PermitId, observed: Vec<Observation>, now: Timestamp) {
        let ask = Ask::Baseline {
            permit: permit.clone(),
            observed: observed.clone(),
        };
        self.tools.gate().baseline(&mut self.session, permit, observed);
        self.note(&ask, Value::Null, now);
    }

    /// Where a call would run a command, if what that place offers decides about it.
    pub(crate) fn sandbox_asked(
        &self,
        call: &ToolCall,
        names: &[NameEntry],
        now: Timestamp,
    ) -> Option<Where> {
        self.tools.gate().sandbox_asked(&self.session, call, names, now)
    }

    /// Learns what a place offers.
    pub(crate) fn note_sandbox(&mut self, place: Where, target: ReadTarget, now: Timestamp) {
        let ask = Ask::Sandbox {
            place: place.clone(),
            target: target.clone(),
        };
        self.tools.gate().note_sandbox(&mut self.session, place, target);
        self.note(&ask, Value::Null, now);
    }

    /// Which file a call would replace, change or remove.
    pub(crate) fn file_asked(
        &self,
        call: &ToolCall,
        names: &[NameEntry],
        now: Timestamp,
    ) -> Option<FilePlace> {
        self.tools.gate().file_asked(&self.session, call, names, now)
    }

    /// Learns what a file is.
    pub(crate) fn note_file(&mut self, place: FilePlace, before: Option<FileBefore>, now: Timestamp) {
        let ask = Ask::File {
            place: place.clone(),
            before,
        };
        self.tools.gate().note_file(&mut self.session, place, before);
        self.note(&ask, Value::Null, now);
    }

    /// Consumes a permit. `Err` is what the proposer is told.
    pub(crate) fn begin(
        &mut self,
        world: &mut World,
        permit: Permit,
        switch: KillSwitch,
        now: Timestamp,
    ) -> Result<Started, Box<Refusal>> {
        let ask = Ask::Begin {
            permit: permit.id().clone(),
            stopped: switch == KillSwitch::Engaged,
        };
        let begun = permit.begin(switch, now);
        let outcome = begun_outcome(begun.as_ref().map_err(|unused| unused.refusal()).map(|_| ()));
        let result = begun.map_err(|unused| self.tools.gate().not_started(world, &mut self.session, *unused));
        self.note(&ask, outcome, now);
        result
    }

    /// Gives a permit back: it is not wanted any more.
    pub(crate) fn abandon(
        &mut self,
        world: &mut World,
        permit: Permit,
        why: &str,
        now: Timestamp,
    ) -> Box<Refusal> {
        let ask = Ask::Abandon {
            permit: permit.id().clone(),
            why: why.to_owned(),
            taken: false,
        };
        self.give_back(world, &ask, permit.abandon(why), now)
    }

    /// Gives a permit back: another process writes to its resource.
    pub(crate) fn give_way(
        &mut self,
        world: &mut World,
        permit: Permit,
        why: &str,
        now: Timestamp,
    ) -> Box<Refusal> {
        let ask = Ask::Abandon {
            permit: permit.id().clone(),
            why: why.to_owned(),
            taken: true,
        };
        self.give_back(world, &ask, permit.give_way(why), now)
    }

    fn give_back(
        &mut self,
        world: &mut World,
        ask: &Ask,
        unused: interlock_gate::NotStarted,
        now: Timestamp,
    ) -> Box<Refusal> {
        let refusal = self.tools.gate().not_started(world, &mut self.session, unused);
        self.note(ask, refused(&refusal), now);
        refusal
    }

    pub(crate) fn settle(
        &mut self,
        world: &mut World,
        receipt: &Receipt,
        evidence: Option<Evidence>,
        discovered: Vec<ResolvedResource>,
        now: Timestamp,
    ) -> Result<Settled, interlock_gate::SettleError> {
        let ask = Ask::Settle {
            receipt: Box::new(receipt.clone()),
            evidence: evidence.as_ref().map(|evidence| evidence.id.clone()),
            found: discovered.iter().map(Found::from).collect(),
        };
        let report = Report {
            receipt,
            evidence: evidence.as_ref(),
            discovered,
        };
        let settled = self.tools.gate().settle(world, &mut self.session, report, now);
        self.note(&ask, settled_outcome(settled.as_ref()), now);
        self.evidence.extend(evidence.map(Arc::new));
        settled
    }

    pub(crate) fn due(&self, now: Timestamp) -> Vec<DueReading> {
        self.tools.gate().due_readings(&self.session, now)
    }

    pub(crate) fn conclude(&mut self, execution: &ExecutionId, now: Timestamp) -> Vec<DueReading> {
        let ask = Ask::Conclude {
            execution: execution.clone(),
        };
        let due = self.tools.gate().begin_conclusion(&mut self.session, execution);
        let outcome = json!({ "due": due.iter().map(|due| &due.permit).collect::<Vec<_>>() });
        self.note(&ask, outcome, now);
        due
    }

    pub(crate) fn observe(
        &mut self,
        due: &DueReading,
        evidence: Option<Evidence>,
        moment: Moment,
        now: Timestamp,
    ) -> Result<Vec<VerificationEnd>, interlock_gate::SettleError> {
        let ask = Ask::Observe {
            execution: due.execution.clone(),
            permit: due.permit.clone(),
            evidence: evidence.as_ref().map(|evidence| evidence.id.clone()),
            concluding: moment == Moment::ForcedConclusion,
        };
        let ends = self
            .tools
            .gate()
            .observe(&mut self.session, due, evidence.as_ref(), moment, now);
        self.note(&ask, ends_outcome(ends.as_deref()), now);
        self.evidence.extend(evidence.map(Arc::new));
        ends
    }

    pub(crate) fn mention(&mut self, resource: ResolvedResource, now: Timestamp) {
        let ask = Ask::Mention {
            found: Found::from(&resource),
        };
        self.tools.gate().mention(&mut self.session, resource, now);
        self.note(&ask, Value::Null, now);
    }

    pub(crate) fn rediscover(
        &mut self,
        execution: &ExecutionId,
        resources: Vec<ResolvedResource>,
        now: Timestamp,
    ) {
        let ask = Ask::Rediscover {
            execution: execution.clone(),
            found: resources.iter().map(Found::from).collect(),
        };
        self.tools
            .gate()
            .rediscover(&mut self.session, execution, resources, now);
        self.note(&ask, Value::Null, now);
    }

    pub(crate) fn restore_write(
        &mut self,
        write: WriteRecord,
        now: Timestamp,
    ) -> Result<(), interlock_gate::SettleError> {
        let ask = Ask::RestoreWrite {
            receipt: Box::new(write.receipt.clone()),
            plan: Box::new((*write.plan).clone()),
            baseline: write.baseline.clone(),
            verification: write.verification,
            approved_by: write.approved_by.clone(),
        };
        let restored = self.tools.gate().restore_write(&mut self.session, write, now);
        self.note(&ask, error_outcome(restored.as_ref().err()), now);
        restored
    }

    pub(crate) fn interrupted(
        &mut self,
        write: InterruptedWrite,
        now: Timestamp,
    ) -> Result<interlock_gate::PendingVerification, interlock_gate::SettleError> {
        let ask = Ask::Interrupted {
            permit: write.permit.clone(),
            plan: Box::new((*write.plan).clone()),
            baseline: write.baseline.clone(),
            started_at: write.started_at,
            approved_by: write.approved_by.clone(),
        };
        let pending = self.tools.gate().interrupted(&mut self.session, write, now);
        self.note(&ask, error_outcome(pending.as_ref().err()), now);
        pending
    }

    pub(crate) fn redeem(
        &mut self,
        world: &mut World,
        hold: &Hold,
        record: &TokenRecord,
        names: &[NameEntry],
        now: Timestamp,
    ) -> Result<Permit, Box<Refusal>> {
        let ask = Ask::Redeem {
            hold: Box::new(hold.clone()),
            names: names.iter().map(Named::from).collect(),
            stopped: world.kill_switch == KillSwitch::Engaged,
            rivals: self.rivals(world),
        };
        let situation = Situation::at(now).with_names(names);
        let redeemed = self
            .tools
            .gate()
            .redeem(world, &mut self.session, hold, record, situation);
        self.note(
            &ask,
            redeemed_outcome(redeemed.as_ref().map_err(AsRef::as_ref)),
            now,
        );
        redeemed
    }

    /// Replaces the arguments of a held plan: the old hold ends in the new one, or waits on.
    pub(crate) fn edit(
        &mut self,
        world: &World,
        hold: &mut Hold,
        by: &UserId,
        (arguments, names): (Arguments, &[NameEntry]),
        now: Timestamp,
    ) -> Result<Hold, Box<Refusal>> {
        let ask = Ask::Edit {
            hold: Box::new(hold.clone()),
            by: by.clone(),
            arguments: arguments.clone(),
            names: names.iter().map(Named::from).collect(),
            stopped: world.kill_switch == KillSwitch::Engaged,
            rivals: self.rivals(world),
        };
        let situation = Situation::at(now).with_names(names);
        let edited = self
            .tools
            .gate()
            .edit(world, &mut self.session, hold, by, arguments, situation);
        self.note(&ask, edited_outcome(edited.as_ref().map_err(AsRef::as_ref)), now);
        edited
    }

    /// Closes a hold that was denied or expired, and says what the proposer is told.
    pub(crate) fn close_hold(&mut self, hold: &Hold, now: Timestamp) -> Box<Refusal> {
        let ask = Ask::CloseHold {
            hold: Box::new(hold.clone()),
        };
        let refusal = closed(self.tools.gate(), &mut self.session, hold);
        self.note(&ask, refused(&refusal), now);
        refusal
    }

    pub(crate) fn next_turn(&mut self, execution: &ExecutionId, now: Timestamp) {
        let ask = Ask::NextTurn {
            execution: execution.clone(),
        };
        self.tools.gate().next_turn(&mut self.session, execution, now);
        self.note(&ask, Value::Null, now);
    }

    /// The question that is worked on from here on.
    pub(crate) fn begin_question(&mut self, question: Question) {
        self.question = question;
    }

    /// Every write of the session that is known, in order.
    pub(crate) fn actions(&self) -> Vec<interlock_protocol::HeadAction> {
        self.tools
            .gate()
            .head_so_far(&self.session, &self.question)
            .actions
    }

    pub(crate) fn answer(
        &mut self,
        execution: &ExecutionId,
        text: &str,
        conclusion: Conclusion,
        now: Timestamp,
    ) -> Result<Box<Answer>, Box<Refusal>> {
        // What the gate remembers is in its own memory, where a replay finds it.
        let question = Question {
            not_run: self
                .question
                .not_run
                .iter()
                .filter(|call| !self.session.remembers(call))
                .cloned()
                .collect(),
            ..self.question.clone()
        };
        let ask = Ask::Answer {
            execution: execution.clone(),
            text: text.to_owned(),
            evidence: self.evidence.iter().map(|evidence| evidence.id.clone()).collect(),
            forced: conclusion == Conclusion::Forced,
            tentative: conclusion == Conclusion::Tentative,
            asked_at: self.question.asked_at,
            forgotten: self.question.forgotten.clone(),
            not_run: question.not_run.clone(),
        };
        let evidence: Vec<&Evidence> = self.evidence.iter().map(Arc::as_ref).collect();
        let decision = self.tools.gate().decide_final_answer(
            &mut self.session,
            execution,
            text,
            &evidence,
            &question,
            conclusion,
            now,
        );
        self.note(&ask, answer_outcome(&decision, execution), now);
        match decision {
            AnswerDecision::Release(answer) => Ok(answer),
            AnswerDecision::Block(refusal) => Err(refusal),
        }
    }
}
