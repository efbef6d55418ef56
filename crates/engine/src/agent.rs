//! An agent at work: one loop for every controller.
//!
//! Ask the model, read its reply in its dialect, put each proposal to the gate, run what has a permit, tell the model
//! what came of it; until an answer is released, a call is held, or code must end it.

use std::sync::Arc;
use std::time::Duration;

use interlock_dialect::{Dialect, Offer, Parsed};
use interlock_gate::iteration;
use interlock_model::{AssistantCall, Completion};
use interlock_protocol::{EventBody, ExecutionId, StageId, Status, ToolCall, ToolKind};
use interlock_store::{Execution, Message, Record, TimelineEntry};
use jiff::Timestamp;
use serde_json::Value;

use crate::ask::{Asked, Conversation};
use crate::count;
use crate::error::Error;
use crate::history::{Entry, History, Results};
use crate::options::Controller;
use crate::timeline::{CallFacts, Place, Progress};
use crate::work::{Halt, Work, event, unwritable};

/// How many times in a row a model's time may run out.
const TIMEOUTS: u32 = 2;

/// An agent as its configuration and its chain make it.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) name: interlock_protocol::AgentName,
    pub(crate) model: String,
    pub(crate) controller: Controller,
    pub(crate) max_iterations: u32,
    pub(crate) strict: bool,
    pub(crate) offer: Arc<Offer>,
}

/// How an execution ended, or paused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// It answered.
    Answered {
        /// What the model answered.
        text: String,
        /// How it stands.
        status: Status,
    },
    /// A call waits for a human.
    Held,
    /// It could not go on.
    Failed(String),
    /// It was stopped.
    Halted(Halt),
}

/// What comes next in the loop.
pub(crate) enum Next {
    Go,
    End(End),
}

/// An agent at work.
pub(crate) struct Agent {
    pub(crate) plan: Plan,
    pub(crate) stage: StageId,
    pub(crate) record: Execution,
    pub(crate) history: History,
    pub(crate) conversation: Conversation,
    pub(crate) messages: u32,
    pub(crate) timeline: u32,
    /// What is to be kept with the next thing that must be.
    pub(crate) pending: Vec<Record>,
    timeouts: u32,
    empty: u32,
    /// Whether an answer was handed back because nothing shows what it claims. The next such one is withheld.
    pub(crate) claimed: bool,
    /// When it was last told what its alerts say; nothing before its first turn.
    pub(crate) heard: Option<Timestamp>,
}

impl Agent {
    pub(crate) fn new(plan: Plan, record: Execution) -> Self {
        Self {
            stage: record.stage.clone(),
            conversation: Conversation::default(),
            plan,
            record,
            history: History::default(),
            messages: 0,
            timeline: 0,
            pending: Vec::new(),
            timeouts: 0,
            empty: 0,
            claimed: false,
            heard: None,
        }
    }

    pub(crate) const fn id(&self) -> &ExecutionId {
        &self.record.id
    }

    pub(crate) const fn dialect(&self) -> Dialect {
        self.plan.controller.dialect()
    }

    pub(crate) fn results(&self) -> Results {
        match self.dialect() {
            Dialect::Native => Results::Messages,
            Dialect::Fenced | Dialect::Envelope | Dialect::React => Results::Text,
        }
    }

    /// Something that happened to this execution.
    pub(crate) fn event(&mut self, body: EventBody) {
        let record = event(Some(&self.stage), Some(&self.record.id), body);
        self.pending.push(record);
    }

    /// Something that was said.
    pub(crate) fn say(&mut self, work: &Work, entry: Entry, now: Timestamp) {
        self.messages += 1;
        self.pending.push(match serde_json::to_value(&entry) {
            Ok(content) => Record::Message(Message {
                execution: self.record.id.clone(),
                number: self.messages,
                run: work.run.clone(),
                role: entry.role().to_owned(),
                content,
                at: now,
            }),
            Err(error) => unwritable("a message", &error),
        });
        self.history.push(entry);
    }

    /// Something for people to see that is no call.
    pub(crate) fn show(
        &mut self,
        kind: &str,
        status: &str,
        content: impl Into<String>,
        metadata: Value,
        now: Timestamp,
    ) {
        let place = self.new_place(now);
        self.pending.push(Record::Timeline(TimelineEntry {
            execution: place.execution,
            number: place.number,
            kind: kind.to_owned(),
            status: status.to_owned(),
            content: content.into(),
            call: None,
            metadata,
            at: now,
            updated_at: now,
        }));
    }

    /// A new place in the timeline.
    pub(crate) fn new_place(&mut self, since: Timestamp) -> Place {
        self.timeline += 1;
        Place {
            execution: self.record.id.clone(),
            number: self.timeline,
            since,
        }
    }

    /// Shows where a call stands, made from what is kept of it.
    pub(crate) fn show_call(
        &mut self,
        facts: &CallFacts<'_>,
        place: &Place,
        progress: Progress<'_>,
        now: Timestamp,
    ) {
        self.pending
            .push(Record::Timeline(facts.entry(place, progress, now)));
    }

    /// Keeps what is pending. What could not be kept because of another writer is pending still.
    pub(crate) async fn keep(&mut self, work: &Work) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        let writes = pending.iter().any(|record| match record {
            Record::Started(call) => call.plan.kind == ToolKind::Write,
            _ => false,
        });
        let copy = if writes { pending.clone() } else { Vec::new() };
        let kept = work.keep(pending).await;
        if kept.is_err() {
            self.pending = copy;
        }
        kept
    }

    /// Works until it ends or pauses.
    pub(crate) async fn work(&mut self, work: &Work) -> Result<End, Error> {
        loop {
            if let Some(halt) = work.halt() {
                return Ok(End::Halted(halt));
            }
            self.take_due_readings(work).await?;
            self.hear_news(work).await?;
            if !self.plan.controller.has_tools() || self.record.iterations >= self.plan.max_iterations {
                let why = format!("The limit of {} iterations is reached.", self.plan.max_iterations);
                let reason = self.plan.controller.has_tools().then_some(why);
                return self.conclude(work, reason.as_deref()).await;
            }
            if let Next::End(end) = self.iterate(work).await? {
                return Ok(end);
            }
        }
    }

    /// One turn between the model and the gate, in its time.
    async fn iterate(&mut self, work: &Work) -> Result<Next, Error> {
        let turn = work.cancel.child_token();
        let timer = turn.clone();
        let alarm = tokio::time::sleep(time_left(work));
        let run = self.turn(work, &turn);
        tokio::pin!(run, alarm);
        tokio::select! {
            next = &mut run => next,
            () = &mut alarm => {
                // What runs is stopped and settled, never dropped: its effect must be known.
                timer.cancel();
                run.await
            }
        }
    }

    async fn turn(
        &mut self,
        work: &Work,
        cancel: &tokio_util::sync::CancellationToken,
    ) -> Result<Next, Error> {
        self.record.iterations += 1;
        let offer = Arc::clone(&self.plan.offer);
        match self.ask(work, cancel, Some(&offer)).await? {
            Asked::Replied { completion, parsed } => {
                self.timeouts = 0;
                count::count(iteration(
                    completion.model.provider.as_str(),
                    &completion.model.model,
                ));
                self.take_reply(work, cancel, &completion, *parsed).await
            }
            Asked::Empty => {
                self.empty += 1;
                if self.empty > work.limits.nudges {
                    return self
                        .fail(work, "The model's replies were empty, again and again.")
                        .await;
                }
                self.note(
                    work,
                    "The reply was empty. Call a tool, or give the final answer.",
                );
                self.keep(work).await?;
                Ok(Next::Go)
            }
            Asked::Again(why) => {
                self.note(work, &why);
                self.keep(work).await?;
                Ok(Next::Go)
            }
            Asked::TimedOut(why) => {
                self.timeouts += 1;
                let now = Timestamp::now();
                self.show("error", "timed_out", why.clone(), Value::Null, now);
                if self.timeouts >= TIMEOUTS {
                    return self
                        .fail(work, &format!("{why} That was {TIMEOUTS} times in a row."))
                        .await;
                }
                self.keep(work).await?;
                Ok(Next::Go)
            }
            Asked::Failed(why) => self.fail(work, &why).await,
            Asked::Stopped => {
                if let Some(halt) = work.halt() {
                    return Ok(Next::End(End::Halted(halt)));
                }
                // The turn's own time ran out while the model wrote.
                self.timeouts += 1;
                if self.timeouts >= TIMEOUTS {
                    return self
                        .fail(work, "The time for a turn ran out twice in a row.")
                        .await;
                }
                self.keep(work).await?;
                Ok(Next::Go)
            }
        }
    }

    async fn fail(&mut self, work: &Work, why: &str) -> Result<Next, Error> {
        // What was written must be looked at, whatever ends the execution.
        self.close_verifications(work).await?;
        self.show("error", "failed", why, Value::Null, Timestamp::now());
        self.keep(work).await?;
        Ok(Next::End(End::Failed(why.to_owned())))
    }

    /// What code tells the model.
    pub(crate) fn note(&mut self, work: &Work, text: &str) {
        let entry = Entry::Note {
            text: text.to_owned(),
        };
        self.say(work, entry, Timestamp::now());
    }

    async fn take_reply(
        &mut self,
        work: &Work,
        cancel: &tokio_util::sync::CancellationToken,
        completion: &Completion,
        parsed: Parsed,
    ) -> Result<Next, Error> {
        let now = Timestamp::now();
        if !parsed.thinking.trim().is_empty() {
            self.show(
                "llm_thinking",
                "completed",
                parsed.thinking.clone(),
                Value::Null,
                now,
            );
        }
        for problem in &parsed.problems {
            self.not_understood(work, problem, now);
        }
        if let Some(answer) = parsed.final_answer() {
            self.empty = 0;
            return self.take_answer(work, completion, answer, now).await;
        }
        if !parsed.prose.trim().is_empty() {
            self.show(
                "llm_response",
                "completed",
                parsed.prose.clone(),
                Value::Null,
                now,
            );
        }
        let calls: Vec<ToolCall> = parsed.calls().cloned().collect();
        self.say_reply(work, completion, &parsed, &calls, now);
        for (call, response) in parsed.refused_calls() {
            let shown = self.shown(work, None, &response);
            let entry = Entry::Tool {
                call: call.id.as_str().to_owned(),
                name: call.wire_name.as_str().to_owned(),
                brief: shown.clone(),
                text: shown,
                failed: true,
            };
            self.say(work, entry, now);
        }
        let mut feedback = parsed.feedback();
        if calls.is_empty() {
            let text = feedback.take().unwrap_or_else(|| {
                "Nothing in the reply could be acted on. Call a tool, or give the final answer.".to_owned()
            });
            // A wire with tool messages has heard it there already.
            if parsed.refused_calls().next().is_none() || parsed.feedback().is_some() {
                self.note(work, &text);
            }
            self.keep(work).await?;
            return Ok(Next::Go);
        }
        self.empty = 0;
        let next = self.run_calls(work, cancel, calls).await?;
        if let (Next::Go, Some(feedback)) = (&next, feedback) {
            self.note(work, &feedback);
        }
        Ok(next)
    }

    /// The reply, as the history keeps it.
    fn say_reply(
        &mut self,
        work: &Work,
        completion: &Completion,
        parsed: &Parsed,
        calls: &[ToolCall],
        now: Timestamp,
    ) {
        let mut said: Vec<AssistantCall> = Vec::new();
        let mut text = completion.reply.text.clone();
        if self.dialect() == Dialect::Native {
            text.clone_from(&parsed.prose);
            for call in calls {
                said.push(AssistantCall {
                    id: call.id.as_str().to_owned(),
                    name: interlock_dialect::WireName::of(&call.tool).as_str().to_owned(),
                    arguments: call.arguments.clone(),
                    signature: None,
                });
            }
            for (call, _) in parsed.refused_calls() {
                said.push(AssistantCall {
                    id: call.id.as_str().to_owned(),
                    name: call.wire_name.as_str().to_owned(),
                    arguments: serde_json::Map::new(),
                    signature: None,
                });
            }
            sign(&mut said, completion);
        }
        let thinking = match self.dialect() {
            Dialect::Native => completion.thoughts.clone(),
            Dialect::Fenced | Dialect::Envelope | Dialect::React => Vec::new(),
        };
        let entry = Entry::Assistant {
            text,
            thinking,
            calls: said,
            answer: false,
        };
        self.say(work, entry, now);
    }

    /// Asks for a conclusion, in the time of one turn.
    pub(crate) async fn ask_in_time(&mut self, work: &Work) -> Result<Asked, Error> {
        let turn = work.cancel.child_token();
        let timer = turn.clone();
        let alarm = tokio::time::sleep(time_left(work));
        let ask = self.ask(work, &turn, None);
        tokio::pin!(ask, alarm);
        tokio::select! {
            asked = &mut ask => asked,
            () = &mut alarm => {
                timer.cancel();
                ask.await
            }
        }
    }
}

/// How long a turn that begins now may take.
fn time_left(work: &Work) -> Duration {
    let left = work
        .deadline
        .saturating_duration_since(tokio::time::Instant::now());
    work.limits.iteration.min(left)
}

/// Gives each call what its provider wants back with it.
fn sign(said: &mut [AssistantCall], completion: &Completion) {
    for (at, native) in completion.reply.calls.iter().enumerate() {
        let Some(signature) = completion.call_signatures.get(at).cloned().flatten() else {
            continue;
        };
        let same = |call: &&mut AssistantCall| native.id.as_deref() == Some(call.id.as_str());
        let found = match said.iter_mut().find(same) {
            Some(call) => Some(call),
            None => said.get_mut(at),
        };
        if let Some(call) = found {
            call.signature = Some(signature);
        }
    }
}
