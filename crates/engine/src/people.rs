//! What people do to sessions: stop them, call a tool themselves. What they decide is in [`crate::approve`] and
//! [`crate::edit`].

use std::sync::Arc;

use interlock_protocol::{
    AgentName, Arguments, CallId, ContentHash, EventBody, ExecutionId, RunId, SessionId, StageId, Status,
    ToolCall, ToolName, UserId,
};
use interlock_store::{Claim, Execution, Record, Run, Stage};
use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, End, Next};
use crate::engine::{Engine, Inner};
use crate::error::{Error, draw, written};
use crate::history::Entry;
use crate::refused::Act;
use crate::run::{DIRECT, direct_plan, finish};
use crate::work::{Work, event};
use crate::writes::ASKED_DIRECTLY;

/// The stage of what people call directly.
const BESIDE: u32 = u32::MAX;

impl Engine {
    /// Stops a session, wherever it stands.
    pub async fn cancel(
        &self,
        session: &SessionId,
        by: &UserId,
    ) -> Result<interlock_store::Cancelled, Error> {
        let cancelled = self
            .inner
            .store
            .request_cancel(session, Some(by), Timestamp::now())
            .await?;
        self.inner.cancel_here(session);
        // Stopping is the safe side: it is done before it is written down.
        self.inner
            .audit(by, "session.cancelled", Some(session.as_str()), json!({}))
            .await?;
        Ok(cancelled)
    }

    /// Calls a tool for a person, through the same gate as everyone. What comes back is what a model would have seen.
    pub async fn call(
        &self,
        session: &SessionId,
        by: &UserId,
        tool: &str,
        arguments: Arguments,
    ) -> Result<Called, Error> {
        let tool = ToolName::new(tool)?;
        match self.call_checked(session, by, tool.clone(), arguments).await {
            Ok(called) => Ok(called),
            Err(error) => {
                let facts = json!({ "tool": tool });
                let subject = session.as_str();
                Err(self
                    .inner
                    .refuse_person(by, Act::Call, subject, facts, error)
                    .await)
            }
        }
    }

    async fn call_checked(
        &self,
        session: &SessionId,
        by: &UserId,
        tool: ToolName,
        arguments: Arguments,
    ) -> Result<Called, Error> {
        let store = &self.inner.store;
        crate::masking::arguments_of_person(&self.inner.settings().masker, &arguments)?;
        store.check_session(session, Timestamp::now()).await?;
        // First, so that nothing waits whose asker is not known: where four eyes are wanted, they do not approve it.
        self.inner
            .audit(
                by,
                ASKED_DIRECTLY,
                Some(session.as_str()),
                json!({ "tool": tool }),
            )
            .await?;
        let (claim, before) = store
            .reopen(session, &self.inner.worker, Timestamp::now())
            .await?;
        // Registered like a run: others see that it is worked on, and it can be stopped.
        let cancel = CancellationToken::new();
        let working = self.inner.begin_work(session, cancel.clone());
        let result = self
            .call_claimed(&claim, before, (by, tool, arguments), cancel)
            .await;
        drop(working);
        if result.is_err() {
            // What went wrong is told; the session is not left hanging on it.
            let _ = store.release(&claim, before, Timestamp::now()).await;
        }
        result
    }

    async fn call_claimed(
        &self,
        claim: &Claim,
        before: Status,
        (by, tool, arguments): (&UserId, ToolName, Arguments),
        cancel: CancellationToken,
    ) -> Result<Called, Error> {
        let inner = &self.inner;
        let snapshot = inner.store.snapshot(&claim.session).await?;
        let now = Timestamp::now();
        let call = ToolCall {
            id: CallId::from_bytes(draw()?),
            tool,
            arguments,
        };
        let input = written("the call", &call)?.to_string();
        let input = crate::masking::input(&inner.settings().masker, &input).await;
        let mut run = Run {
            id: RunId::from_bytes(draw()?),
            channel: DIRECT.to_owned(),
            input_hash: ContentHash::of(&input),
            input,
            status: Status::InProgress,
            started_at: now,
            completed_at: None,
        };
        let mut tape = match inner.unpark(&claim.session, claim.epoch) {
            Some(tape) => tape,
            None => inner.open_tape(&snapshot, run.id.clone(), now).await?,
        };
        tape.begin_run(run.id.clone());
        let work = Work::new(
            Arc::clone(inner),
            claim.clone(),
            run.id.clone(),
            (&snapshot.session.submitted, tape),
            cancel.clone(),
            CancellationToken::new(),
        );
        let mut agent = direct_agent(&snapshot, by, now)?;
        let known = snapshot.stages.iter().find(|stage| stage.index == BESIDE);
        let stage = Stage {
            id: agent.stage.clone(),
            index: BESIDE,
            name: "direct calls".to_owned(),
            status: Status::Completed,
            error: None,
            started_at: known.map_or(now, |stage| stage.started_at),
            completed_at: Some(now),
        };
        agent.pending.push(Record::Run(run.clone()));
        agent.pending.push(Record::Stage(stage));
        agent.pending.push(Record::Execution(agent.record.clone()));
        let said = Entry::Assistant {
            text: format!("(called directly by {by})"),
            thinking: Vec::new(),
            calls: Vec::new(),
            answer: false,
        };
        agent.say(&work, said, now);
        let next = agent.run_calls(&work, &cancel, vec![call]).await?;
        let response = agent
            .history
            .entries()
            .iter()
            .rev()
            .find_map(|entry| match entry {
                Entry::Tool { text, failed, .. } => Some((text.clone(), *failed)),
                _ => None,
            });
        let held = matches!(next, Next::End(End::Held));
        let end = if held {
            End::Held
        } else {
            End::Answered {
                text: String::new(),
                status: Status::Completed,
            }
        };
        finish(&work, &mut agent, end).await?;
        let status = if held { Status::Held } else { before };
        run.status = if held { Status::Held } else { Status::Completed };
        run.completed_at = (!held).then(Timestamp::now);
        let stands = if Inner::is_end(status) {
            EventBody::SessionCompleted { status }
        } else {
            EventBody::SessionStatus { status }
        };
        work.keep(vec![
            Record::Run(run.clone()),
            event(None, None, stands),
            Record::Status {
                status,
                answer: None,
                error: None,
            },
        ])
        .await?;
        let epoch = claim.epoch;
        inner.park(claim.session.clone(), epoch, work.into_tape());
        Ok(match response {
            Some((text, failed)) if !held => Called::Answered {
                text,
                failed,
                run: run.id,
            },
            _ => Called::Held { run: run.id },
        })
    }
}

/// What came of a direct call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// An answer, or a refusal.
    Answered {
        /// As a model would have seen it.
        text: String,
        /// Whether it was refused or failed.
        failed: bool,
        /// The run.
        run: RunId,
    },
    /// It waits for a human.
    Held {
        /// The run.
        run: RunId,
    },
}

fn direct_agent(snapshot: &interlock_store::Snapshot, by: &UserId, now: Timestamp) -> Result<Agent, Error> {
    let known = snapshot
        .executions
        .iter()
        .find(|execution| execution.controller == DIRECT)
        .cloned();
    let record = match known {
        Some(execution) => execution,
        None => Execution {
            id: ExecutionId::from_bytes(draw()?),
            stage: snapshot
                .stages
                .iter()
                .find(|stage| stage.index == BESIDE)
                .map_or_else(|| draw().map(StageId::from_bytes), |stage| Ok(stage.id.clone()))?,
            index: 0,
            agent: AgentName::new(by.as_str())?,
            model: String::new(),
            controller: DIRECT.to_owned(),
            status: Status::InProgress,
            iterations: 0,
            error: None,
            started_at: now,
            completed_at: None,
        },
    };
    let mut agent = Agent::new(direct_plan(&record), record);
    agent.record.status = Status::InProgress;
    let numbers = snapshot.numbers.iter().find(|(id, _, _)| *id == agent.record.id);
    if let Some((_, interactions, timeline)) = numbers {
        agent.resume_conversation(*interactions);
        agent.timeline = *timeline;
    }
    agent.messages = snapshot
        .messages
        .iter()
        .filter(|message| message.execution == agent.record.id)
        .map(|message| message.number)
        .max()
        .unwrap_or(0);
    Ok(agent)
}

impl Inner {
    /// A session is worked on here from now on, until what comes back is dropped.
    pub(crate) fn begin_work<'a>(&'a self, session: &SessionId, cancel: CancellationToken) -> Working<'a> {
        self.running
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .insert(session.clone(), cancel);
        Working {
            engine: self,
            session: session.clone(),
        }
    }

    pub(crate) fn cancel_here(&self, session: &SessionId) {
        let running = self
            .running
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(token) = running.get(session) {
            token.cancel();
        }
    }
}

/// A session that is worked on. Work that ends, also by being dropped in the middle, leaves nothing taken behind: what a
/// write without a receipt has taken is known to the store.
pub(crate) struct Working<'a> {
    engine: &'a Inner,
    session: SessionId,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.engine
            .running
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .remove(&self.session);
        self.engine.shared.forget(&self.session);
    }
}
