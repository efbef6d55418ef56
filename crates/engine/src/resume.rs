//! Goes on where an earlier process, or an earlier part of this one, stopped.
//!
//! A write that started and left no receipt is never run again: its resource is looked at first. A call that a human
//! approved runs now, once. Whatever else a model still waits for is answered with what is known about it.

use std::collections::BTreeSet;
use std::sync::Arc;

use interlock_gate::{Hold, HoldStatus, InterruptedWrite, ResolvedResource, WriteRecord};
use interlock_protocol::{
    CallId, ErrorCode, EventBody, Outcome, ResourceId, Retry, SessionKind, ToolCall, ToolKind, ToolResponse,
    UserId,
};
use interlock_store::{Call, Error as StoreError, Record, Run, Snapshot};
use jiff::Timestamp;
use serde_json::{Map, json};

use crate::agent::{Agent, End};
use crate::calls::names_in;
use crate::error::Error;
use crate::history::Entry;
use crate::run::DIRECT;
use crate::tell::Unasked;
use crate::timeline::{CallFacts, Place, Progress};
use crate::work::{Halt, Work, event};

impl Agent {
    /// Brings the execution to where its next turn can begin. Says how it ends if it cannot.
    pub(crate) async fn resume(
        &mut self,
        work: &Work,
        snapshot: &Snapshot,
        remembered: bool,
    ) -> Result<Option<End>, Error> {
        let mine = |call: &&Call| call.started.plan.execution == self.record.id;
        let calls: Vec<Call> = snapshot.calls.iter().filter(mine).cloned().collect();
        let hold = snapshot
            .holds
            .iter()
            .rev()
            .find(|hold| hold.plan.execution == self.record.id)
            .cloned();
        if !remembered {
            self.recall(work, snapshot).await;
            self.restore(work, &calls).await?;
        }
        self.settle_interrupted(work, &calls, remembered).await?;
        self.keep(work).await?;
        let waits = hold.filter(|hold| {
            self.is_open(snapshot, hold)
                && !calls
                    .iter()
                    .any(|call| call.started.hold.as_ref() == Some(&hold.id))
        });
        if work.halt() == Some(Halt::Cancelled) {
            if let Some(hold) = waits {
                self.withdraw(work, hold, Unasked::Stopping).await?;
            }
            self.answer_the_rest(work);
            self.keep(work).await?;
            return Ok(Some(End::Halted(Halt::Cancelled)));
        }
        if let Some(hold) = waits
            && self.take_decision(work, hold).await?
        {
            return Ok(Some(End::Held));
        }
        self.answer_the_rest(work);
        self.keep(work).await?;
        Ok(None)
    }

    /// Closes what an earlier run of a conversation left open, before the next question is put.
    pub(crate) async fn wind_up(
        &mut self,
        work: &Work,
        snapshot: &Snapshot,
        remembered: bool,
    ) -> Result<(), Error> {
        let mine = |call: &&Call| call.started.plan.execution == self.record.id;
        let calls: Vec<Call> = snapshot.calls.iter().filter(mine).cloned().collect();
        if !remembered {
            self.recall(work, snapshot).await;
            self.restore(work, &calls).await?;
        }
        self.settle_interrupted(work, &calls, remembered).await?;
        let remembered = work.tape().session().open_hold(&self.record.id).cloned();
        let open = snapshot.holds.iter().filter(|hold| {
            hold.plan.execution == self.record.id
                && (hold.status == HoldStatus::Pending || remembered.as_ref() == Some(&hold.id))
        });
        for hold in open.cloned().collect::<Vec<_>>() {
            self.withdraw(work, hold, Unasked::NextQuestion).await?;
        }
        self.answer_the_rest(work);
        Ok(())
    }

    /// Whether a hold is what the execution stopped at: the model was not told what came of it, and said nothing since.
    fn is_open(&self, snapshot: &Snapshot, hold: &Hold) -> bool {
        let spoke_since = snapshot.messages.iter().any(|message| {
            message.execution == self.record.id && message.role == "assistant" && message.at > hold.opened_at
        });
        !spoke_since && !self.is_answered(&hold.call)
    }

    /// Ends a hold that nobody will decide any more, or whose yes comes too late.
    async fn withdraw(&mut self, work: &Work, mut hold: Hold, why: Unasked) -> Result<(), Error> {
        let now = Timestamp::now();
        let call = hold.plan.to_call();
        if hold.status == HoldStatus::Pending {
            hold.status = HoldStatus::Withdrawn { at: now };
            // Somebody may decide it in the same moment; it does not run either way.
            match work.keep(vec![Record::Hold(hold.clone())]).await {
                Ok(()) | Err(Error::Store(StoreError::HoldDecided(_))) => {}
                Err(error) => return Err(error),
            }
        }
        work.tape().close_hold(&hold, now);
        if !self.is_answered(&call.id) {
            let place = self.shown_at(work, &hold, now).await?;
            let withdrawn = Progress::Withdrawn(why.message());
            self.show_call(&CallFacts::held(&hold), &place, withdrawn, now);
            self.not_run(work, &call, why, now);
        }
        Ok(())
    }

    /// Brings back what the gate must know: what was written, and what must still be looked at.
    pub(crate) async fn restore(&mut self, work: &Work, calls: &[Call]) -> Result<(), Error> {
        let now = Timestamp::now();
        let mut resources: BTreeSet<ResourceId> = BTreeSet::new();
        for call in calls {
            let plan = &call.started.plan;
            if plan.kind != ToolKind::Write {
                continue;
            }
            if call.verification.is_none() {
                resources.extend(plan.resource().cloned());
            }
            let Some(receipt) = &call.receipt else {
                continue;
            };
            let write = WriteRecord {
                receipt: receipt.clone(),
                plan: Arc::new(call.started.plan.clone()),
                baseline: call.started.baseline.clone(),
                verification: call.verification,
                approved_by: call.started.approved_by.clone(),
            };
            // A change that the gate cannot be told of must not be forgotten either: nothing goes on without it.
            work.tape()
                .restore_write(write, now)
                .map_err(|error| Error::NotNow(format!("a write cannot be brought back: {error}")))?;
        }
        self.rediscover(work, resources).await;
        Ok(())
    }

    /// Code finds again what somebody asked for by itself: by naming it in a question, or by opening it. Without it the
    /// gate would not know what was meant.
    pub(crate) async fn recall(&self, work: &Work, snapshot: &Snapshot) {
        let gate = work.tools.gate();
        let window = interlock_gate::ContextLimits::default().explicit_window;
        let since = Timestamp::now()
            .checked_sub(window)
            .unwrap_or(Timestamp::UNIX_EPOCH);
        let mut names: Vec<String> = Vec::new();
        if snapshot.session.submitted.kind == SessionKind::Chat {
            let asked = |run: &&Run| run.channel != DIRECT && run.started_at >= since;
            for run in snapshot.runs.iter().filter(asked) {
                names.extend(mentioned(&run.input).into_iter().map(str::to_owned));
            }
        }
        let opened = |call: &Call| {
            let Call { started, receipt, .. } = call;
            let succeeded = receipt
                .as_ref()
                .is_some_and(|receipt| receipt.outcome == Outcome::Succeeded);
            if !succeeded || started.started_at < since {
                return None;
            }
            let plan = &started.plan;
            let tool = gate.catalogue().get(plan.tool.as_str())?;
            let argument = tool.action(&plan.arguments).opens.as_ref()?;
            plan.arguments.get(argument)?.as_str().map(str::to_owned)
        };
        names.extend(snapshot.calls.iter().filter_map(opened));
        names.dedup();
        for name in names {
            let found = work.engine.settings().inventory.find(&name).await;
            if let [resource] = found.as_slice() {
                work.tape().mention(resource.clone(), Timestamp::now());
            }
        }
    }

    /// Code resolves resources again that the plan or a due reading names.
    pub(crate) async fn rediscover(&self, work: &Work, resources: BTreeSet<ResourceId>) {
        let mut found: Vec<ResolvedResource> = Vec::new();
        for resource in resources {
            let name = resource.to_string();
            let known = work.engine.settings().inventory.find(&name).await;
            found.extend(known.into_iter().filter(|known| known.id == resource));
        }
        if !found.is_empty() {
            work.tape().rediscover(&self.record.id, found, Timestamp::now());
        }
    }

    /// What started and left no receipt.
    async fn settle_interrupted(
        &mut self,
        work: &Work,
        calls: &[Call],
        remembered: bool,
    ) -> Result<(), Error> {
        let open: Vec<&Call> = calls.iter().filter(|call| call.receipt.is_none()).collect();
        for call in open {
            let now = Timestamp::now();
            let started = &call.started;
            let store = &work.engine.store;
            let entry = store.entry_of_permit(work.session(), &started.permit).await?;
            let place = entry.map(Place::of);
            let hold = match &started.hold {
                None => None,
                Some(hold) => Some(store.hold(hold).await?),
            };
            let facts = CallFacts::permitted(
                &started.plan,
                &started.permit,
                started.approved_by.as_ref(),
                hold.as_ref(),
            );
            match started.plan.kind {
                ToolKind::Resolve | ToolKind::Read => {
                    if let Some(place) = &place {
                        self.show_call(&facts, place, Progress::Interrupted, now);
                    }
                    self.pending.push(Record::Abandoned {
                        permit: started.permit.clone(),
                    });
                }
                ToolKind::Write => {
                    let write = InterruptedWrite {
                        permit: started.permit.clone(),
                        plan: Arc::new(started.plan.clone()),
                        baseline: started.baseline.clone(),
                        started_at: started.started_at,
                        approved_by: started.approved_by.clone(),
                    };
                    // A process that remembers the session cannot have lost a write of its own.
                    debug_assert!(!remembered, "an interrupted write in a process that goes on");
                    let pending = match work.tape().interrupted(write, now) {
                        Ok(pending) => pending,
                        Err(error) => {
                            return Err(Error::NotNow(format!(
                                "an interrupted write cannot be brought back: {error}"
                            )));
                        }
                    };
                    let receipt = work
                        .tape()
                        .session()
                        .writes()
                        .iter()
                        .find(|write| write.receipt.permit == started.permit)
                        .map(|write| write.receipt.clone());
                    let Some(receipt) = receipt else { continue };
                    tracing::warn!(
                        session = %work.session(),
                        permit = %started.permit,
                        "a write was interrupted; it is not run again"
                    );
                    self.event(EventBody::ReceiptRecorded {
                        receipt: receipt.clone(),
                    });
                    self.verification_required(&pending);
                    if let Some(place) = &place {
                        let ended = Progress::Ended {
                            receipt: &receipt,
                            evidence: None,
                        };
                        self.show_call(&facts, place, ended, now);
                    }
                    self.pending.push(Record::Finished {
                        receipt,
                        pending: Some(pending),
                    });
                }
            }
            let call = started.plan.to_call();
            if !self.is_answered(&call.id) {
                let response = interrupted(started.plan.kind);
                self.answer_call(work, &call, &response, None, now);
            }
        }
        Ok(())
    }

    /// Does what was decided about a hold. Says whether it still waits.
    async fn take_decision(&mut self, work: &Work, mut hold: Hold) -> Result<bool, Error> {
        let call = hold.plan.to_call();
        // Whatever was decided, the model goes on knowing the resource that its plan was about.
        self.rediscover(work, hold.resources().cloned().collect()).await;
        let now = Timestamp::now();
        let shown = self.shown_at(work, &hold, now).await?;
        match &hold.status {
            HoldStatus::Pending if now < hold.expires_at => return Ok(true),
            HoldStatus::Pending => {
                hold.status = HoldStatus::Expired { at: now };
                let body = EventBody::HoldExpired {
                    hold: hold.id.clone(),
                };
                let records = vec![
                    Record::Hold(hold.clone()),
                    event(Some(&self.stage), Some(&self.record.id), body),
                ];
                match work.keep(records).await {
                    // Another process saw it in the same moment.
                    Ok(()) | Err(Error::Store(StoreError::HoldDecided(_))) => {}
                    Err(error) => return Err(error),
                }
            }
            HoldStatus::Denied { .. }
            | HoldStatus::Expired { .. }
            | HoldStatus::Withdrawn { .. }
            | HoldStatus::Edited { .. } => {}
            HoldStatus::Approved { by, at } => {
                let accepted = (by.clone(), *at);
                self.redeem(work, (&hold, accepted, shown), call).await?;
                return Ok(false);
            }
        }
        let refusal = work.tape().close_hold(&hold, now);
        let facts = CallFacts::held(&hold);
        self.refuse_shown(work, &call, &refusal, (&facts, Some(&hold)), &shown);
        Ok(false)
    }

    /// Where a call that waits for a human is shown.
    pub(crate) async fn shown_at(
        &mut self,
        work: &Work,
        hold: &Hold,
        now: Timestamp,
    ) -> Result<Place, Error> {
        let store = &work.engine.store;
        let shown = store.entry_of_hold(work.session(), &hold.id).await?;
        Ok(shown.map_or_else(|| self.new_place(now), Place::of))
    }

    /// Runs what a human approved, if it is still what it was.
    async fn redeem(
        &mut self,
        work: &Work,
        (hold, (by, at), shown): (&Hold, (UserId, Timestamp), Place),
        call: ToolCall,
    ) -> Result<(), Error> {
        let tokens = work.engine.store.tokens(&hold.id).await?;
        work.kill_switch().await?;
        let names = names_in(work, std::slice::from_ref(&call)).await;
        work.note_sandbox(&call, &names, Timestamp::now()).await;
        work.note_file(&call, &names, Timestamp::now()).await;
        let now = Timestamp::now();
        // A token that another replaced counts as used, but approved nothing.
        let used = tokens
            .into_iter()
            .find(|token| token.approver == by && token.used_at == Some(at));
        let redeemed = match used {
            Some(record) => work.gate(|tape, world| tape.redeem(world, hold, &record, &names, now)),
            None => Err(work.tape().close_hold(hold, now)),
        };
        match redeemed {
            Ok(permit) => {
                let ready = self.ready(work, call, permit, None, Some((hold, shown)), now);
                self.run_group(work, &work.cancel.child_token(), vec![ready])
                    .await
            }
            Err(refusal) => {
                // Decided and not to run: nothing waits for a human any more.
                work.tape().close_hold(hold, now);
                self.refuse_shown(
                    work,
                    &call,
                    &refusal,
                    (&CallFacts::held(hold), Some(hold)),
                    &shown,
                );
                Ok(())
            }
        }
    }

    /// Calls of the last reply that nobody answered: they were not run.
    fn answer_the_rest(&mut self, work: &Work) {
        let last = self.history.entries().iter().rev().find_map(|entry| match entry {
            Entry::Assistant { calls, .. } => Some(calls.clone()),
            _ => None,
        });
        let now = Timestamp::now();
        for call in last.unwrap_or_default() {
            let Ok(id) = CallId::new(call.id.clone()) else {
                continue;
            };
            if self.is_answered(&id) {
                continue;
            }
            let response = self.turn_away(work, &id, &call.name, Unasked::ProcessEnded);
            let text = self.shown(work, None, &response);
            let entry = Entry::Tool {
                call: call.id,
                name: call.name,
                brief: text.clone(),
                text,
                failed: true,
            };
            self.say(work, entry, now);
        }
    }

    /// Whether the model was told what came of a call of its last reply.
    fn is_answered(&self, id: &CallId) -> bool {
        self.history
            .entries()
            .iter()
            .rev()
            .take_while(|entry| !matches!(entry, Entry::Assistant { .. }))
            .any(|entry| matches!(entry, Entry::Tool { call, .. } if call == id.as_str()))
    }

    /// Resolves the resources that a person named with `@`, before the question is put. Naming counts as asking for them
    /// by themselves.
    pub(crate) async fn mentions(&mut self, work: &Work, text: &str) {
        for name in mentioned(text) {
            let found = work.engine.settings().inventory.find(name).await;
            let now = Timestamp::now();
            match found.as_slice() {
                [] => self.note_mention(work, &format!("@{name} is no known resource."), now),
                [resource] => {
                    let line = format!("@{name} is {} ({}).", resource.id, resource.name);
                    work.tape().mention(resource.clone(), now);
                    self.note_mention(work, &line, now);
                }
                several => {
                    let ids: Vec<String> = several.iter().map(|found| found.id.to_string()).collect();
                    let line = format!("@{name} could be any of {}: ask which is meant.", ids.join(", "));
                    self.note_mention(work, &line, now);
                }
            }
        }
    }

    fn note_mention(&mut self, work: &Work, text: &str, now: Timestamp) {
        self.show("mention", "completed", text, json!({}), now);
        let entry = Entry::Note {
            text: text.to_owned(),
        };
        self.say(work, entry, now);
    }
}

fn interrupted(kind: ToolKind) -> ToolResponse {
    match kind {
        ToolKind::Write => ToolResponse::failed(
            ErrorCode::ExecutionFailed,
            "Interrupted: whether it took effect is not known. It is not run again; read the resource first.",
            Retry::Useless,
            Map::new(),
        ),
        ToolKind::Resolve | ToolKind::Read => ToolResponse::failed(
            ErrorCode::ExecutionFailed,
            "Interrupted before it returned. It changed nothing and can be called again.",
            Retry::Useful,
            Map::new(),
        ),
    }
}

/// The most resources that one message can name.
const MENTIONS: usize = 20;

/// The names behind `@` in a text, each once.
fn mentioned(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || "._-/".contains(c)) {
            // An address of mail, not a name.
            continue;
        }
        let rest = &text[at + 1..];
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || "._-:/".contains(c)))
            .unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches(['.', ':', '-', '/']);
        if !name.is_empty() && !names.contains(&name) && names.len() < MENTIONS {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::mentioned;

    #[test]
    fn a_name_behind_an_at_sign_is_a_mention_and_mail_is_not() {
        let cases: &[(&str, &[&str])] = &[
            ("restart @web please", &["web"]),
            ("@lxc:delly:141 and @web, @web.", &["lxc:delly:141", "web"]),
            ("mail root@example.org", &[]),
            ("@", &[]),
            ("what about @db-1.lan?", &["db-1.lan"]),
            ("(@nas)", &["nas"]),
        ];
        for (text, names) in cases {
            assert_eq!(&mentioned(text), names, "{text}");
        }
    }
}
