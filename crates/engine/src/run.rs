//! One run of a session, from its input to its answer: its stages one after the other, the agents of a stage side by
//! side, and what was left undone by an earlier process first.

use std::collections::BTreeMap;
use std::sync::Arc;

use interlock_gate::{SAFE_FAILURE, State};
use interlock_protocol::{ContentHash, EventBody, ExecutionId, Label, RunId, SessionKind, StageId, Status};
use interlock_store::{Batch, Claim, Execution, Record, Run, Snapshot, Stage};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

mod standing;
mod verdict;

use standing::{Standing, asked_by, close_stale, since_it_ended, standing};
use verdict::{Ended, Verdict, answered, judge, status_of, worst};

use crate::agent::{self, Agent, End};
use crate::count;
use crate::engine::{Inner, Overrides, StagePlan};
use crate::error::{Error, draw};
use crate::history::Entry;
use crate::options::{Controller, Success};
use crate::prompt::{Finding, Tiers};
use crate::work::{Halt, Work, event};

/// How a session stands after it was worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Where it stands.
    pub status: Status,
    /// The answer.
    pub answer: Option<String>,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// The run.
    pub run: RunId,
}

/// Works on a session until it ends or pauses.
pub(crate) async fn run(
    engine: Arc<Inner>,
    claim: Claim,
    cancel: CancellationToken,
    draining: CancellationToken,
) -> Result<Outcome, Error> {
    let mut snapshot = engine.store.snapshot(&claim.session).await?;
    let since = since_it_ended(&engine, &snapshot).await?;
    let mut not_run = engine.store.not_run(&claim.session).await?;
    let stale = close_stale(&mut snapshot, since.ended);
    let parked = engine.unpark(&claim.session, claim.epoch);
    let now = Timestamp::now();
    let (unfinished, only_direct) = match standing(&snapshot, since.asked) {
        Standing::Nothing(last) => return leave(&engine, claim, last).await,
        Standing::Begins => (None, None),
        Standing::GoesOn(run) => (Some(run), None),
        Standing::Direct(run, before) => (Some(run), Some(before)),
    };
    let (mut run, new) = match unfinished {
        Some(run) => (run, false),
        None => (
            Run {
                id: RunId::from_bytes(draw()?),
                channel: snapshot.session.submitted.channel.clone(),
                input: snapshot.session.submitted.input.clone(),
                input_hash: ContentHash::of(&snapshot.session.submitted.input),
                status: Status::InProgress,
                started_at: now,
                completed_at: None,
            },
            true,
        ),
    };
    run.status = Status::InProgress;
    let remembered = parked.is_some();
    let mut tape = match parked {
        Some(tape) => tape,
        None => engine.open_tape(&snapshot, run.id.clone(), now).await?,
    };
    tape.begin_run(run.id.clone());
    not_run.retain(|call| call.at >= run.started_at);
    tape.begin_question(interlock_gate::Question {
        asked_at: run.started_at,
        forgotten: crate::head::actions(&snapshot.calls),
        not_run,
    });
    if !remembered {
        for evidence in &snapshot.evidence {
            tape.remember(evidence.clone());
        }
    }
    let epoch = claim.epoch;
    let work = Work::new(
        engine,
        claim,
        run.id.clone(),
        (&snapshot.session.submitted, tape),
        cancel,
        draining,
    );
    let mut session = Session {
        work: &work,
        snapshot,
        run,
        new,
        stale,
        only_direct,
        remembered,
        all_answered: true,
    };
    let outcome = session.run().await;
    let all_answered = session.all_answered;
    let engine = Arc::clone(&work.engine);
    let session = work.session().clone();
    match &outcome {
        // An execution that code ended permits nothing more in this memory: its next turn begins with a new one.
        Ok(outcome) if !Inner::is_end(outcome.status) || all_answered => {
            engine.park(session, epoch, work.into_tape());
        }
        Ok(_) | Err(_) => {}
    }
    outcome
}

/// Lets go of a session that was taken up for a call of which nothing was kept.
async fn leave(engine: &Inner, claim: Claim, last: Run) -> Result<Outcome, Error> {
    let Run { id, status, .. } = last;
    let batch = Batch {
        session: claim.session.clone(),
        claim: Some(claim),
        at: Timestamp::now(),
        records: vec![
            event(None, None, EventBody::SessionCompleted { status }),
            Record::Status {
                status,
                answer: None,
                error: None,
            },
        ],
    };
    engine.append(batch).await?;
    Ok(Outcome {
        status,
        answer: None,
        error: None,
        run: id,
    })
}

struct Session<'a> {
    work: &'a Work,
    snapshot: Snapshot,
    run: Run,
    /// Whether this run begins now.
    new: bool,
    /// Earlier runs that are over since their session ended without them.
    stale: Vec<Run>,
    /// Where the session stood before a call that a person made directly, if that is all that is left.
    only_direct: Option<Status>,
    /// Whether the gate still remembers the session from its last run in this process.
    remembered: bool,
    /// Whether every agent that ended in this run answered.
    all_answered: bool,
}

impl Session<'_> {
    async fn run(&mut self) -> Result<Outcome, Error> {
        let overrides: Overrides = serde_json::from_value(self.snapshot.session.submitted.options.clone())
            .map_err(|source| Error::Unreadable {
                what: format!("the options of {}", self.work.session()),
                source,
            })?;
        let mut first: Vec<Record> = std::mem::take(&mut self.stale)
            .into_iter()
            .map(Record::Run)
            .collect();
        first.push(Record::Run(self.run.clone()));
        if self.new {
            first.push(event(
                None,
                None,
                EventBody::SessionStatus {
                    status: Status::InProgress,
                },
            ));
        }
        self.work.keep_later(first);
        let waits = self.finish_direct_calls().await?;
        if let Some(before) = self.only_direct {
            return if waits {
                self.pause(Status::Held).await
            } else {
                self.end(before, None, None).await
            };
        }
        let plans = self.work.engine.stages(
            &self.snapshot.session.submitted.chain,
            &overrides,
            &self.work.tools,
        )?;
        let mut findings: Vec<Finding> = Vec::new();
        let mut last: Option<(String, Status)> = None;
        for (index, plan) in plans.iter().enumerate() {
            let ends = self.stage(index, plan, &findings).await?;
            self.all_answered &= ends.iter().all(|ended| answered(&ended.end));
            match self.judge(plan.success, &ends) {
                Verdict::Paused => return self.pause(Status::Held).await,
                Verdict::Drained => return self.pause(Status::Pending).await,
                Verdict::Over { status, error } => return self.end(status, last, Some(error)).await,
                Verdict::Answered { agent, text, status } => {
                    findings.push(Finding {
                        stage: plan.name.clone(),
                        agent,
                        text: text.clone(),
                        done: self.done(&findings),
                    });
                    let worse = match &last {
                        Some((_, Status::Unverified)) => Status::Unverified,
                        _ => status,
                    };
                    last = Some((text, worse));
                }
            }
        }
        let status = last.as_ref().map_or(Status::Completed, |(_, status)| *status);
        self.end(status, last, None).await
    }

    /// Runs one stage, or what is left of it.
    async fn stage(
        &mut self,
        index: usize,
        plan: &StagePlan,
        findings: &[Finding],
    ) -> Result<Vec<Ended>, Error> {
        let now = Timestamp::now();
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        let known = self
            .snapshot
            .stages
            .iter()
            .find(|stage| stage.index == number)
            .cloned();
        let begins = known.is_none();
        let mut stage = match known {
            Some(stage) => stage,
            None => Stage {
                id: StageId::from_bytes(draw()?),
                index: number,
                name: plan.name.clone(),
                status: Status::InProgress,
                error: None,
                started_at: now,
                completed_at: None,
            },
        };
        if Inner::is_end(stage.status) && self.was_asked(&stage) {
            return Ok(self.ends_of(&stage));
        }
        stage.status = Status::InProgress;
        stage.completed_at = None;
        let mut records = vec![Record::Stage(stage.clone())];
        if begins {
            records.push(event(
                Some(&stage.id),
                None,
                EventBody::StageStarted {
                    name: Label::new(plan.name.clone())?,
                },
            ));
        }
        self.work.keep_later(records);
        let mut agents = Vec::new();
        for (at, (agent, told)) in plan.agents.iter().zip(&plan.instructions).enumerate() {
            agents.push(self.prepare(&stage, at, agent, told, findings, None).await?);
        }
        let work = self.work;
        let runs = agents.into_iter().map(|prepared| async move {
            match prepared {
                Prepared::Ready(mut agent) => work_on(work, &mut agent).await,
                Prepared::Over(end) => Ok(end),
            }
        });
        let mut ended = Vec::new();
        for result in futures_util::future::join_all(runs).await {
            ended.push(result?);
        }
        self.all_answered &= ended.iter().all(|ended| answered(&ended.end));
        // What did not succeed is not made one by uniting what is left of it.
        let enough = matches!(self.judge(plan.success, &ended), Verdict::Answered { .. });
        if let Some((synthesis, told)) = &plan.synthesis
            && enough
            && ended.iter().filter(|ended| answered(&ended.end)).count() > 1
        {
            let mut found: Vec<Finding> = ended
                .iter()
                .filter_map(|ended| match &ended.end {
                    End::Answered { text, .. } => Some(Finding {
                        stage: plan.name.clone(),
                        agent: ended.agent.clone(),
                        text: text.clone(),
                        done: String::new(),
                    }),
                    End::Held | End::Failed(_) | End::Halted(_) => None,
                })
                .collect();
            if let Some(first) = found.first_mut() {
                first.done = self.done(findings);
            }
            let at = plan.agents.len();
            let prepared = self
                .prepare(&stage, at, synthesis, told, findings, Some(&found))
                .await?;
            let united = match prepared {
                Prepared::Ready(mut agent) => work_on(work, &mut agent).await?,
                Prepared::Over(end) => end,
            };
            // What was united stands for what it was made from, with the worst that any of them left behind.
            let united = match united.end {
                End::Answered { text, status } => End::Answered {
                    text,
                    status: worst(&ended, status),
                },
                other => other,
            };
            ended = vec![Ended {
                agent: "synthesis".to_owned(),
                end: united,
            }];
        }
        stage.status = match self.judge(plan.success, &ended) {
            Verdict::Paused => Status::Held,
            Verdict::Drained => Status::Pending,
            Verdict::Over { status, .. } | Verdict::Answered { status, .. } => status,
        };
        stage.error = ended.iter().find_map(|ended| match &ended.end {
            End::Failed(why) => Some(why.clone()),
            End::Answered { .. } | End::Held | End::Halted(_) => None,
        });
        let mut records = Vec::new();
        if Inner::is_end(stage.status) {
            stage.completed_at = Some(Timestamp::now());
            let body = EventBody::StageCompleted { status: stage.status };
            records.push(event(Some(&stage.id), None, body));
        }
        records.push(Record::Stage(stage));
        self.work.keep_later(records);
        Ok(ended)
    }

    /// What was done in this session and is not yet told with a finding, from receipts.
    fn done(&self, told: &[Finding]) -> String {
        let tape = self.work.tape();
        let known = |line: &str| {
            told.iter()
                .any(|finding| finding.done.lines().any(|one| one == line))
        };
        let lines: Vec<String> = tape
            .actions()
            .iter()
            .map(|action| format!("- {}", action.text()))
            .filter(|line| !known(line))
            .collect();
        lines.join("\n")
    }

    /// Whether an agent of the stage was asked in this run. If not, what it ended with belongs to an earlier one.
    fn was_asked(&self, stage: &Stage) -> bool {
        let of_stage = |execution: &&Execution| execution.stage == stage.id;
        let mut executions = self.snapshot.executions.iter().filter(of_stage);
        executions.any(|execution| self.was_asked_itself(execution))
    }

    fn was_asked_itself(&self, execution: &Execution) -> bool {
        let mut messages = self.snapshot.messages.iter();
        messages.any(|message| message.execution == execution.id && message.run == self.run.id)
    }

    /// How the agents of a stage that is over ended. What united them stands for them all.
    fn ends_of(&self, stage: &Stage) -> Vec<Ended> {
        let mut executions: Vec<&Execution> = self
            .snapshot
            .executions
            .iter()
            .filter(|execution| execution.stage == stage.id && execution.controller != DIRECT)
            .filter(|execution| self.was_asked_itself(execution))
            .collect();
        executions.sort_by_key(|execution| execution.index);
        let ends: Vec<Ended> = executions
            .iter()
            .map(|execution| self.end_of(execution))
            .collect();
        let united = executions.iter().position(|execution| {
            execution.controller == Controller::Synthesis.as_str() && executions.len() > 1
        });
        match united {
            None => ends,
            Some(at) => {
                let mut united = self.end_of(executions[at]);
                if let End::Answered { status, .. } = &mut united.end {
                    *status = worst(&ends, *status);
                }
                vec![united]
            }
        }
    }

    /// What the ends of its agents make of a stage. Nothing waits in a session that is being stopped.
    fn judge(&self, success: Success, ended: &[Ended]) -> Verdict {
        match judge(success, ended) {
            Verdict::Paused if self.work.cancel.is_cancelled() => Verdict::Drained,
            verdict => verdict,
        }
    }

    fn end_of(&self, execution: &Execution) -> Ended {
        let answer = self
            .snapshot
            .messages
            .iter()
            .rev()
            .filter(|message| message.execution == execution.id)
            .find_map(|message| match serde_json::from_value(message.content.clone()) {
                Ok(Entry::Assistant {
                    text, answer: true, ..
                }) => Some(text),
                _ => None,
            });
        let end = match (execution.status, answer) {
            (Status::Completed | Status::Unverified, Some(text)) => End::Answered {
                text,
                status: execution.status,
            },
            (Status::Cancelled, _) => End::Halted(Halt::Cancelled),
            (Status::TimedOut, _) => End::Halted(Halt::TimedOut),
            _ => End::Failed(
                execution
                    .error
                    .clone()
                    .unwrap_or_else(|| "It ended without an answer.".to_owned()),
            ),
        };
        Ended {
            agent: execution.agent.to_string(),
            end,
        }
    }

    /// Makes an agent ready: a new one with its instructions, or one that goes on where it was.
    async fn prepare(
        &mut self,
        stage: &Stage,
        at: usize,
        plan: &agent::Plan,
        told: &str,
        findings: &[Finding],
        unite: Option<&[Finding]>,
    ) -> Result<Prepared, Error> {
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        let known = self
            .snapshot
            .executions
            .iter()
            .find(|execution| {
                execution.stage == stage.id && execution.index == index && execution.controller != DIRECT
            })
            .cloned();
        let now = Timestamp::now();
        let begins = known.is_none();
        // Asked per execution, not per run: a process may have ended when it had asked some of them.
        let asked = known
            .as_ref()
            .is_some_and(|execution| self.was_asked_itself(execution));
        let record = match known {
            Some(execution) if Inner::is_end(execution.status) && asked => {
                return Ok(Prepared::Over(self.end_of(&execution)));
            }
            Some(mut execution) => {
                if !asked {
                    // Somebody may have chosen another model for what comes.
                    execution.model.clone_from(&plan.model);
                    execution.iterations = 0;
                    execution.error = None;
                    execution.completed_at = None;
                }
                execution.status = Status::InProgress;
                execution
            }
            None => Execution {
                id: ExecutionId::from_bytes(draw()?),
                stage: stage.id.clone(),
                index,
                agent: plan.name.clone(),
                model: plan.model.clone(),
                controller: plan.controller.as_str().to_owned(),
                status: Status::InProgress,
                iterations: 0,
                error: None,
                started_at: now,
                completed_at: None,
            },
        };
        let mut agent = Agent::new(plan.clone(), record);
        if begins {
            agent.event(EventBody::ExecutionStarted {
                agent: plan.name.clone(),
            });
            let names: Vec<&str> = plan
                .offer
                .names()
                .map(interlock_protocol::ToolName::as_str)
                .collect();
            let system = self.work.prompts.system(&Tiers {
                tools: &names,
                dialect: &plan.controller.dialect().instructions(&plan.offer),
                servers: &BTreeMap::new(),
                agent: told,
                level: self.work.tape().session().options().level,
                now,
            })?;
            agent.say(self.work, Entry::System { text: system }, now);
        } else {
            self.load(&mut agent)?;
        }
        agent.pending.push(Record::Execution(agent.record.clone()));
        if asked {
            agent.history.begin_run_at_last_question();
            if let Some(end) = agent.resume(self.work, &self.snapshot, self.remembered).await? {
                let name = agent.record.agent.to_string();
                let end = finish(self.work, &mut agent, end).await?;
                return Ok(Prepared::Over(Ended { agent: name, end }));
            }
        } else {
            if !begins {
                agent.wind_up(self.work, &self.snapshot, self.remembered).await?;
            }
            self.question(&mut agent, findings, unite, now).await?;
        }
        agent.keep(self.work).await?;
        Ok(Prepared::Ready(Box::new(agent)))
    }

    /// The input of this run, as the agent is asked.
    async fn question(
        &mut self,
        agent: &mut Agent,
        findings: &[Finding],
        unite: Option<&[Finding]>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let submitted = &self.snapshot.session.submitted;
        let submitted_kind = submitted.kind;
        let prompts = &self.work.prompts;
        let text = match (unite, submitted.kind) {
            (Some(found), _) => prompts.synthesis(&self.run.input, found)?,
            (None, SessionKind::Chain) => {
                prompts.alert(&self.run.input, submitted.alert_type.as_deref(), findings)?
            }
            (None, SessionKind::Chat) => prompts.question(&self.run.input, findings)?,
        };
        {
            let mut tape = self.work.tape();
            if tape.session().state(agent.id()) == State::Concluded {
                tape.next_turn(agent.id(), now);
            }
        }
        agent.history.begin_run();
        let by = asked_by(&self.work.engine, &self.snapshot, &self.run).await?;
        agent.show(
            "user_question",
            "completed",
            self.run.input.clone(),
            by.map_or(Value::Null, |by| json!({ "by": by })),
            now,
        );
        // Only a person's words name something; an alert's come from outside.
        if submitted_kind == SessionKind::Chat {
            agent.mentions(self.work, &self.run.input).await;
        }
        agent.say(self.work, Entry::User { text }, now);
        Ok(())
    }

    /// What was said before.
    fn load(&self, agent: &mut Agent) -> Result<(), Error> {
        for message in self
            .snapshot
            .messages
            .iter()
            .filter(|message| message.execution == agent.record.id)
        {
            let entry: Entry =
                serde_json::from_value(message.content.clone()).map_err(|source| Error::Unreadable {
                    what: format!("message {} of {}", message.number, message.execution),
                    source,
                })?;
            agent.messages = agent.messages.max(message.number);
            // What its alerts said while it paused is news.
            agent.heard = agent.heard.max(Some(message.at));
            agent.history.push(entry);
        }
        for (execution, interactions, timeline) in &self.snapshot.numbers {
            if *execution == agent.record.id {
                agent.resume_conversation(*interactions);
                agent.timeline = *timeline;
            }
        }
        Ok(())
    }

    /// A call that a person made directly and that waited for a human. Says whether one still does.
    async fn finish_direct_calls(&mut self) -> Result<bool, Error> {
        let mut waits = false;
        let waiting: Vec<Execution> = self
            .snapshot
            .executions
            .iter()
            .filter(|execution| execution.controller == DIRECT && !Inner::is_end(execution.status))
            .cloned()
            .collect();
        for record in waiting {
            let mut agent = Agent::new(direct_plan(&record), record);
            self.load(&mut agent)?;
            let end = match agent.resume(self.work, &self.snapshot, self.remembered).await? {
                Some(end) => end,
                None => End::Answered {
                    text: String::new(),
                    status: self.work.tape().session().standing(),
                },
            };
            waits |= end == End::Held;
            finish(self.work, &mut agent, end).await?;
        }
        if !waits {
            let ended: Vec<Record> = self
                .snapshot
                .runs
                .iter()
                .filter(|run| run.channel == DIRECT && !Inner::is_end(run.status) && run.id != self.run.id)
                .map(|run| {
                    Record::Run(Run {
                        status: Status::Completed,
                        completed_at: Some(Timestamp::now()),
                        ..run.clone()
                    })
                })
                .collect();
            self.work.keep(ended).await?;
        }
        Ok(waits)
    }

    async fn pause(&mut self, status: Status) -> Result<Outcome, Error> {
        self.run.status = status;
        let records = vec![
            Record::Run(self.run.clone()),
            event(None, None, EventBody::SessionStatus { status }),
            Record::Status {
                status,
                answer: None,
                error: None,
            },
        ];
        self.work.keep(records).await?;
        Ok(Outcome {
            status,
            answer: None,
            error: None,
            run: self.run.id.clone(),
        })
    }

    async fn end(
        &mut self,
        status: Status,
        answer: Option<(String, Status)>,
        error: Option<String>,
    ) -> Result<Outcome, Error> {
        // What stands in place of a withheld answer are words of code: the reason, and no answer.
        let withheld = answer.as_ref().is_some_and(|(text, _)| text == SAFE_FAILURE);
        let error = error.or_else(|| withheld.then(|| SAFE_FAILURE.to_owned()));
        let answer = answer.map(|(text, _)| text).filter(|_| !withheld);
        self.run.status = status;
        self.run.completed_at = Some(Timestamp::now());
        count::session(status.as_str());
        let records = vec![
            Record::Run(self.run.clone()),
            event(None, None, EventBody::SessionCompleted { status }),
            Record::Status {
                status,
                answer: answer.clone(),
                error: error.clone(),
            },
        ];
        self.work.keep(records).await?;
        Ok(Outcome {
            status,
            answer,
            error,
            run: self.run.id.clone(),
        })
    }
}

enum Prepared {
    Ready(Box<Agent>),
    Over(Ended),
}

/// The controller of what a person calls directly, as the store names it.
pub(crate) const DIRECT: &str = "direct";

pub(crate) fn direct_plan(record: &Execution) -> agent::Plan {
    agent::Plan {
        name: record.agent.clone(),
        model: record.model.clone(),
        controller: Controller::Native,
        max_iterations: 0,
        strict: true,
        offer: Arc::new(interlock_dialect::Offer::default()),
    }
}

async fn work_on(work: &Work, agent: &mut Agent) -> Result<Ended, Error> {
    let end = agent.work(work).await?;
    let end = finish(work, agent, end).await?;
    Ok(Ended {
        agent: agent.record.agent.to_string(),
        end,
    })
}

/// Keeps how an execution ended, or that it pauses.
pub(crate) async fn finish(work: &Work, agent: &mut Agent, end: End) -> Result<End, Error> {
    match &end {
        End::Halted(Halt::Cancelled | Halt::TimedOut) => agent.close_verifications(work).await?,
        End::Answered { .. } | End::Held | End::Failed(_) | End::Halted(Halt::Draining) => {}
    }
    agent.record.status = status_of(&end);
    agent.record.error = match &end {
        End::Failed(why) => Some(why.clone()),
        End::Answered { .. } | End::Held | End::Halted(_) => None,
    };
    if Inner::is_end(agent.record.status) {
        agent.record.completed_at = Some(Timestamp::now());
        let status = agent.record.status;
        agent.event(EventBody::ExecutionCompleted { status });
    }
    agent.pending.push(Record::Execution(agent.record.clone()));
    // The stage and the session say at once how they stand; one of several agents may be long before the others.
    work.keep_later(std::mem::take(&mut agent.pending));
    Ok(end)
}
