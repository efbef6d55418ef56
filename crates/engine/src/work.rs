//! One run of a session, as its worker holds it: the claim, the gate's memory, and the way into the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlock_gate::{FileBefore, KillSwitch, NameEntry, Refusal, World};
use interlock_model::Models;
use interlock_protocol::{
    EventBody, ExecutionId, Expectation, RunId, SessionId, SessionKind, StageId, ToolCall,
};
use interlock_store::{Batch, Claim, Error as StoreError, NewSession, Record};
use jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::count;
use crate::engine::Inner;
use crate::error::Error;
use crate::live::Live;
use crate::options::Limits;
use crate::prompt::Prompts;
use crate::registry::RuleSet;
use crate::tape::{Stricter, Tape};

/// How often keeping a receipt is tried again when the store cannot take it, and how long between.
const RECEIPT_TRIES: u32 = 30;
const RECEIPT_PAUSE: Duration = Duration::from_secs(1);

/// How long a decision about a file waits for its content.
const FILE_WITHIN: Duration = Duration::from_secs(15);

/// Why an execution must stop now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// Someone asked for it.
    Cancelled,
    /// The session's time is up.
    TimedOut,
    /// The process is ending; another goes on.
    Draining,
}

/// One run of a session.
pub(crate) struct Work {
    pub(crate) engine: Arc<Inner>,
    pub(crate) claim: Claim,
    pub(crate) run: RunId,
    /// When the session was submitted.
    submitted_at: Timestamp,
    /// Whether it is about an alert, which may say more later.
    pub(crate) is_alert: bool,
    /// The catalogue that the run has, from its beginning to its end.
    pub(crate) tools: Arc<RuleSet>,
    /// Its models, in the same way.
    pub(crate) models: Models,
    /// What its models are told.
    pub(crate) prompts: Arc<Prompts>,
    /// Its bounds.
    pub(crate) limits: Limits,
    pub(crate) cancel: CancellationToken,
    pub(crate) draining: CancellationToken,
    pub(crate) deadline: Instant,
    tape: Mutex<Tape>,
    /// What is kept with the next thing that is.
    later: Mutex<Vec<Record>>,
}

impl Work {
    pub(crate) fn new(
        engine: Arc<Inner>,
        claim: Claim,
        run: RunId,
        (submitted, tape): (&NewSession, Tape),
        cancel: CancellationToken,
        draining: CancellationToken,
    ) -> Self {
        let settings = engine.settings();
        let deadline = Instant::now() + settings.limits.session;
        Self {
            submitted_at: submitted.at,
            is_alert: submitted.kind == SessionKind::Chain,
            models: settings.models.clone(),
            prompts: Arc::clone(&settings.prompts),
            limits: settings.limits.clone(),
            engine,
            claim,
            run,
            tools: Arc::clone(tape.tools()),
            cancel,
            draining,
            deadline,
            tape: Mutex::new(tape),
            later: Mutex::default(),
        }
    }

    pub(crate) fn into_tape(self) -> Tape {
        self.tape.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) const fn session(&self) -> &SessionId {
        &self.claim.session
    }

    /// Finds out what the place offers that a call would run a command on, where that decides about the call, and tells the
    /// gate.
    pub(crate) async fn note_sandbox(&self, call: &ToolCall, names: &[NameEntry], now: Timestamp) {
        self.follow(&mut self.tape());
        let Some(place) = self.tape().sandbox_asked(call, names, now) else {
            return;
        };
        let target = self.engine.settings().inventory.read_target(&place).await;
        self.tape().note_sandbox(place, target, now);
    }

    /// Finds out what the file is that a call would replace, change or remove, and tells the gate: an approval is for that content.
    pub(crate) async fn note_file(&self, call: &ToolCall, names: &[NameEntry], now: Timestamp) {
        let Some(place) = self.tape().file_asked(call, names, now) else {
            return;
        };
        let inventory = Arc::clone(&self.engine.settings().inventory);
        let expectation = Expectation::FilePatched {
            path: place.path.clone(),
        };
        let look = inventory.observe(&place.resource, &expectation);
        let seen = tokio::time::timeout(FILE_WITHIN, look).await.ok().flatten();
        let before = seen.and_then(|reading| FileBefore::seen(&reading.observations, &place.path));
        self.tape().note_file(place, before, now);
    }

    /// The gate's memory. Held for one question, never across an await.
    pub(crate) fn tape(&self) -> MutexGuard<'_, Tape> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the gate something that concerns what all sessions share.
    pub(crate) fn gate<T>(&self, f: impl FnOnce(&mut Tape, &mut World) -> T) -> T {
        let mut tape = self.tape();
        self.follow(&mut tape);
        self.engine.shared.with(|world| f(&mut tape, world))
    }

    /// Rules that were reloaded hold for what is asked from here on, as far as they are stricter.
    fn follow(&self, tape: &mut Tape) {
        let settings = self.engine.settings();
        let level = tape.session().options().level;
        let now = Stricter {
            level: self.engine.level_now(level, self.submitted_at),
            four_eyes: settings.four_eyes,
            rules: settings.tools.rules(),
        };
        tape.follow(&now, Timestamp::now());
    }

    /// Whether to stop.
    pub(crate) fn halt(&self) -> Option<Halt> {
        if self.cancel.is_cancelled() {
            Some(Halt::Cancelled)
        } else if Instant::now() >= self.deadline {
            Some(Halt::TimedOut)
        } else if self.draining.is_cancelled() {
            Some(Halt::Draining)
        } else {
            None
        }
    }

    /// Keeps records with the next thing that is kept: nobody waits for these alone.
    pub(crate) fn keep_later(&self, records: Vec<Record>) {
        self.later
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(records);
    }

    /// What is to be kept: what waited, these records, and the questions to the gate that were not kept yet.
    fn together(&self, records: Vec<Record>) -> Vec<Record> {
        let mut all = std::mem::take(&mut *self.later.lock().unwrap_or_else(PoisonError::into_inner));
        if all.is_empty() {
            all = records;
        } else {
            all.extend(records);
        }
        let mut tape = self.tape();
        all.extend(tape.take_steps().into_iter().map(Record::Step));
        all.extend(tape.take_unwritable().map(|why| unwritable("a step", &why)));
        all
    }

    /// Keeps records, together with every question to the gate that was not kept yet.
    pub(crate) async fn keep(&self, records: Vec<Record>) -> Result<(), Error> {
        // What another process may have taken can be refused, and then the rest is still to be kept.
        let refusable = records
            .iter()
            .any(|record| matches!(record, Record::Started(_) | Record::Hold(_)));
        let spare = refusable.then(|| {
            let later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
            (later.clone(), self.tape().steps().to_vec())
        });
        let records = self.together(records);
        if records.is_empty() {
            return Ok(());
        }
        let batch = Batch {
            session: self.session().clone(),
            claim: Some(self.claim.clone()),
            at: Timestamp::now(),
            records,
        };
        let kept = self.send(batch).await;
        if let (Err(_), Some((later, steps))) = (&kept, spare) {
            self.later
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .splice(..0, later);
            self.tape().put_back(steps);
        }
        kept.map_err(Error::from)
    }

    async fn send(&self, batch: Batch) -> Result<(), StoreError> {
        let kept = self.engine.append(batch).await?;
        for event in kept.events {
            self.engine.live.tell(|| Live::Event(Box::new(event)));
        }
        Ok(())
    }

    /// Keeps what must not be lost while there is a chance: what a call did. A store without room is asked again for a
    /// while; after that the call counts as interrupted, and its resource is looked at before anything else happens to it.
    pub(crate) async fn keep_receipt(&self, records: Vec<Record>) -> Result<(), Error> {
        let records = self.together(records);
        let batch = Batch {
            session: self.session().clone(),
            claim: Some(self.claim.clone()),
            at: Timestamp::now(),
            records,
        };
        let mut tries = 0;
        loop {
            match self.send(batch.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_storage() && tries < RECEIPT_TRIES => {
                    tries += 1;
                    tracing::warn!(session = %self.session(), %error, tries, "a receipt could not be kept, trying again");
                    tokio::time::sleep(RECEIPT_PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether writes are stopped, asked afresh: the last moment before an effect.
    pub(crate) async fn kill_switch(&self) -> Result<KillSwitch, Error> {
        self.engine.refresh_kill_switch().await
    }

    /// Counts a refusal and writes it to the log.
    pub(crate) fn count_refusal(&self, refusal: &Refusal) {
        let gate = self.tools.gate();
        count::count(gate.metric(refusal));
        let tool = refusal.about.tool.as_ref().map_or("", |tool| tool.as_str());
        if refusal.auto_recoverable()
            && let Some(tool) = &refusal.about.tool
        {
            count::count(gate.recovery_attempt(refusal.code, tool));
        }
        tracing::info!(
            event = "tool_call_blocked",
            trace_id = %self.run,
            session = %self.session(),
            tool,
            code = %refusal.code,
            rule = refusal.rule.as_str(),
            "{}", refusal.message
        );
    }
}

/// An event of an execution, or of the session.
pub(crate) fn event(stage: Option<&StageId>, execution: Option<&ExecutionId>, body: EventBody) -> Record {
    Record::Event {
        stage: stage.cloned(),
        execution: execution.cloned(),
        body,
    }
}

/// What stands in a batch for something that cannot be written: the store refuses the whole batch.
pub(crate) fn unwritable(what: &'static str, why: &impl std::fmt::Display) -> Record {
    Record::Unwritable {
        what,
        reason: why.to_string(),
    }
}
