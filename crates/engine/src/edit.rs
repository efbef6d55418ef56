//! A person replaces the arguments of a call that waits. The new plan passes the whole gate, through the tape like every
//! question, and waits in a hold of its own; nothing runs here.

use std::sync::Arc;

use interlock_gate::Hold;
use interlock_protocol::{Arguments, Decision as Said, EventBody, Status, ToolKind};
use interlock_store::{Call, Claim, Error as StoreError, Record, Run, Snapshot};
use jiff::Timestamp;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::approver::Decider;
use crate::calls::names_in;
use crate::engine::{Engine, Inner};
use crate::error::Error;
use crate::masking;
use crate::refused::Act;
use crate::run::{DIRECT, direct_plan};
use crate::timeline::{CallFacts, Progress};
use crate::work::{Work, event};
use crate::writes::deed;

impl Engine {
    /// Replaces the arguments of a held plan. The new plan passes the whole gate and waits in a hold of its own, which
    /// comes back; if the gate refuses it, the old hold stays open.
    ///
    /// The session must wait: while an agent of it works, [`interlock_store::Error::WrongStatus`] says so.
    pub async fn edit(&self, decider: &Decider, arguments: Arguments) -> Result<Hold, Error> {
        let inner = &self.inner;
        let store = &inner.store;
        let hold = store.hold(decider.hold()).await?;
        match self.edit_open(decider, &hold, arguments).await {
            Ok(new) => Ok(new),
            Err(EditError::Recorded(error)) => Err(error),
            Err(EditError::Other(error)) => {
                let facts = decider.facts(&hold);
                let (by, subject) = (decider.user(), hold.id.as_str());
                Err(inner.refuse_person(by, Act::Edit, subject, facts, error).await)
            }
        }
    }

    async fn edit_open(
        &self,
        decider: &Decider,
        hold: &Hold,
        arguments: Arguments,
    ) -> Result<Hold, EditError> {
        let inner = &self.inner;
        let store = &inner.store;
        masking::arguments_of_person(&inner.settings().masker, &arguments)?;
        let session = hold.plan.session.clone();
        // On a copy: what was decided or is over need not be taken from anybody to be refused.
        let mut copy = hold.clone();
        inner
            .tools()
            .gate()
            .reject(&mut copy, decider.user(), "", Timestamp::now())
            .map_err(|refusal| Error::refused(&refusal, &copy))?;
        ended(store.session(&session).await?.status)?;
        let (claim, before) = store.reopen(&session, &inner.worker, Timestamp::now()).await?;
        let cancel = CancellationToken::new();
        let working = inner.begin_work(&session, cancel.clone());
        let result = match ended(before) {
            Ok(()) => {
                self.edit_claimed(&claim, before, (decider, arguments), cancel)
                    .await
            }
            Err(error) => Err(error.into()),
        };
        drop(working);
        if result.is_err() {
            // Where the claim is over already nothing changes; the session is not left hanging on it.
            let _ = store.release(&claim, before, Timestamp::now()).await;
        }
        result
    }

    async fn edit_claimed(
        &self,
        claim: &Claim,
        before: Status,
        (decider, arguments): (&Decider, Arguments),
        cancel: CancellationToken,
    ) -> Result<Hold, EditError> {
        let inner = &self.inner;
        let (hold, by) = (decider.hold(), decider.user());
        let snapshot = inner.store.snapshot(&claim.session).await?;
        let missing = |what, id: &str| StoreError::NotFound {
            what,
            id: id.to_owned(),
        };
        let mut hold = snapshot
            .holds
            .iter()
            .find(|known| known.id == *hold)
            .cloned()
            .ok_or_else(|| missing("hold", hold.as_str()))?;
        let record = snapshot
            .executions
            .iter()
            .find(|execution| execution.id == hold.plan.execution)
            .cloned()
            .ok_or_else(|| missing("execution", hold.plan.execution.as_str()))?;
        let run = run_of(&snapshot, record.controller == DIRECT)
            .ok_or_else(|| missing("run of", claim.session.as_str()))?;
        let parked = inner.unpark(&claim.session, claim.epoch);
        let remembered = parked.is_some();
        let mut tape = match parked {
            Some(tape) => tape,
            None => {
                inner
                    .open_tape(&snapshot, run.id.clone(), Timestamp::now())
                    .await?
            }
        };
        tape.begin_run(run.id.clone());
        let work = Work::new(
            Arc::clone(inner),
            claim.clone(),
            run.id.clone(),
            (&snapshot.session.submitted, tape),
            cancel,
            CancellationToken::new(),
        );
        let mut agent = Agent::new(direct_plan(&record), record);
        let numbers = snapshot.numbers.iter().find(|(id, _, _)| id == agent.id());
        agent.timeline = numbers.map_or(0, |(_, _, timeline)| *timeline);
        if !remembered {
            agent.bring_back(&work, &snapshot).await?;
        }
        // The new plan is made for what is so now.
        agent.rediscover(&work, hold.resources().cloned().collect()).await;
        work.kill_switch().await?;
        let mut call = hold.plan.to_call();
        call.arguments.clone_from(&arguments);
        let names = names_in(&work, std::slice::from_ref(&call)).await;
        work.note_sandbox(&call, &names, Timestamp::now()).await;
        work.note_file(&call, &names, Timestamp::now()).await;
        let now = Timestamp::now();
        let old = hold.clone();
        let edited = work.gate(|tape, world| tape.edit(world, &mut hold, by, (arguments, &names), now));
        let mut facts = decider.facts(&old);
        let mut records = Vec::new();
        let action = match &edited {
            Ok(new) => {
                facts["into"] = json!(new.id);
                facts["new_plan_hash"] = json!(new.plan_hash);
                agent.show_edited(&work, (&old, new), now).await?;
                records.push(Record::Hold(hold));
                records.push(Record::Hold(new.clone()));
                records.append(&mut agent.pending);
                "hold.edited"
            }
            Err(refusal) => {
                work.count_refusal(refusal);
                facts["rule"] = json!(refusal.rule.as_str());
                facts["code"] = json!(refusal.code);
                "hold.edit_refused"
            }
        };
        records.push(Record::Deed(deed(by, action, Some(old.id.as_str()), facts)));
        records.push(event(None, None, EventBody::SessionStatus { status: before }));
        records.push(Record::Status {
            status: before,
            answer: None,
            error: None,
        });
        work.keep(records).await?;
        if remembered {
            // What was opened for this alone does not know the other agents of the session.
            inner.park(claim.session.clone(), claim.epoch, work.into_tape());
        }
        edited.map_err(|refusal| EditError::Recorded(Error::refused(&refusal, &old)))
    }
}

/// Why a plan was not replaced.
enum EditError {
    /// The gate refused the new plan, which is in the record already.
    Recorded(Error),
    /// Anything else.
    Other(Error),
}

impl<E: Into<Error>> From<E> for EditError {
    fn from(error: E) -> Self {
        Self::Other(error.into())
    }
}

impl Agent {
    /// What the gate must know of the execution to judge a plan of it, in a process that knows nothing.
    async fn bring_back(&mut self, work: &Work, snapshot: &Snapshot) -> Result<(), Error> {
        let mine = |call: &&Call| call.started.plan.execution == self.record.id;
        let calls: Vec<Call> = snapshot.calls.iter().filter(mine).cloned().collect();
        let interrupted = |call: &Call| call.receipt.is_none() && call.started.plan.kind == ToolKind::Write;
        if calls.iter().any(interrupted) {
            return Err(Error::NotNow(
                "a write of this agent was interrupted and is looked at first; try again when the session waits"
                    .to_owned(),
            ));
        }
        self.recall(work, snapshot).await;
        self.restore(work, &calls).await
    }

    /// Tells that one hold ended in another, and shows the call as it waits now.
    async fn show_edited(
        &mut self,
        work: &Work,
        (old, new): (&Hold, &Hold),
        now: Timestamp,
    ) -> Result<(), Error> {
        let place = self.shown_at(work, old, now).await?;
        if let Some(edited) = &new.edited_from {
            self.event(EventBody::HoldEdited {
                hold: old.id.clone(),
                by: edited.by.clone(),
                old_plan_hash: old.plan_hash,
                new_plan_hash: new.plan_hash,
            });
        }
        self.event(EventBody::DecisionMade {
            call: Some(new.call.clone()),
            decision: Said::Held {
                hold: new.id.clone(),
                plan_hash: new.plan_hash,
            },
        });
        self.hold_opened(new);
        let held = Progress::Held {
            proposed: Some(&old.plan.arguments),
        };
        self.show_call(&CallFacts::held(new), &place, held, now);
        Ok(())
    }
}

/// Nothing of a session that has ended can be edited.
fn ended(status: Status) -> Result<(), Error> {
    if Inner::is_end(status) {
        return Err(Error::NotNow(format!(
            "the session is {status}: nothing of it runs any more, so nothing of it can be edited"
        )));
    }
    Ok(())
}

/// The run that a hold belongs to: the last of its kind that did not end.
fn run_of(snapshot: &Snapshot, direct: bool) -> Option<Run> {
    let of_kind = |run: &&Run| (run.channel == DIRECT) == direct;
    let open = |run: &&Run| !Inner::is_end(run.status);
    let mut runs = snapshot.runs.iter().rev().filter(of_kind);
    let last = runs.clone().next();
    runs.find(open).or(last).cloned()
}
