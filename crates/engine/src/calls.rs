//! Runs what a reply proposes: each call through the gate, reads side by side, one write at a time, everything kept
//! before and after.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use interlock_executor::Done;
use interlock_gate::{Decision, Ended, Hold, NameEntry, Permit, Refusal, Started};
use interlock_protocol::{
    Decision as Said, Details, EventBody, Outcome, Proposal, Source, TargetRule, ToolCall, ToolKind,
    ToolResponse,
};
use interlock_store::{Error as StoreError, Record, StartedCall};
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, End, Next};
use crate::count;
use crate::error::Error;
use crate::masking;
use crate::tell::Unasked;
use crate::timeline::{CallFacts, Place, Progress};
use crate::work::Work;

/// How long a write waits for what is observed before it.
const BASELINE_WITHIN: Duration = Duration::from_secs(15);
/// The most bytes of a resource name that is resolved.
const MOST_NAME: usize = 512;

/// A call that has its permit and was kept as about to run.
pub(crate) struct Ready {
    pub(crate) call: ToolCall,
    pub(crate) permit: Permit,
    /// What the model wrote, if code replaced it by an equivalent that ends.
    pub(crate) rewritten: Option<String>,
    /// The hold through which a human let it run.
    pub(crate) hold: Option<Box<Hold>>,
    /// Its place in the timeline.
    pub(crate) shown: Place,
}

/// A call that runs.
struct Running {
    call: ToolCall,
    started: Started,
    rewritten: Option<String>,
    hold: Option<Box<Hold>>,
    shown: Place,
}

/// A call of which it is known how it ended.
struct Ran {
    running: Running,
    done: Done,
    seconds: f64,
}

/// What came of putting a call to the gate.
enum Put {
    Ready(Box<Ready>),
    Answered,
    Held,
}

impl Agent {
    /// Runs the calls of one reply, in their order.
    pub(crate) async fn run_calls(
        &mut self,
        work: &Work,
        cancel: &CancellationToken,
        calls: Vec<ToolCall>,
    ) -> Result<Next, Error> {
        let now = Timestamp::now();
        for call in &calls {
            self.event(EventBody::ProposalReceived {
                proposal: Proposal::ToolCall(call.clone()),
            });
        }
        let mut rest: VecDeque<ToolCall> = calls.into();
        if self.plan.strict {
            for call in rest.split_off(1.min(rest.len())) {
                self.not_run(work, &call, Unasked::OneCall, now);
            }
        }
        while !rest.is_empty() {
            let group = next_group(work, &mut rest);
            let names = names_in(work, &group).await;
            let mut ready = Vec::new();
            let mut held = false;
            for call in group {
                if held {
                    self.not_run(work, &call, Unasked::HeldBefore, now);
                    continue;
                }
                work.note_sandbox(&call, &names, now).await;
                work.note_file(&call, &names, now).await;
                match self.put(work, call, &names, now) {
                    Put::Ready(call) => ready.push(*call),
                    Put::Answered => {}
                    Put::Held => held = true,
                }
            }
            self.run_group(work, cancel, ready).await?;
            if held {
                for call in rest.drain(..) {
                    self.not_run(work, &call, Unasked::HeldBefore, now);
                }
                self.keep(work).await?;
                return Ok(Next::End(End::Held));
            }
            if let Some(halt) = work.halt() {
                for call in rest.drain(..) {
                    self.not_run(work, &call, Unasked::Stopping, now);
                }
                self.keep(work).await?;
                return Ok(Next::End(End::Halted(halt)));
            }
        }
        self.keep(work).await?;
        Ok(Next::Go)
    }

    /// Puts one call to the gate. A refused read that has an equivalent which ends is tried once in that form.
    fn put(&mut self, work: &Work, call: ToolCall, names: &[NameEntry], now: Timestamp) -> Put {
        let (proposed, call, decision, rewritten) = match self.decide(work, &call, names, now) {
            Decision::Block(refusal) => match rewrite(work, &call, &refusal) {
                None => {
                    self.refuse(work, &call, &refusal, now);
                    return Put::Answered;
                }
                Some((better, written)) => {
                    work.count_refusal(&refusal);
                    self.refused_event(Some(&call.id), &refusal);
                    let decision = self.decide(work, &better, names, now);
                    (Some(call), better, decision, Some(written))
                }
            },
            decision => (None, call, decision, None),
        };
        match decision {
            Decision::Block(refusal) => {
                // What is shown as refused is what the model proposed, as the record has it.
                self.refuse(work, proposed.as_ref().unwrap_or(&call), &refusal, now);
                Put::Answered
            }
            Decision::Hold(hold) => {
                self.event(EventBody::DecisionMade {
                    call: Some(call.id.clone()),
                    decision: Said::Held {
                        hold: hold.id.clone(),
                        plan_hash: hold.plan_hash,
                    },
                });
                self.hold_opened(&hold);
                let place = self.new_place(now);
                let waits = Progress::Held { proposed: None };
                self.show_call(&CallFacts::held(&hold), &place, waits, now);
                self.pending.push(Record::Hold(*hold));
                Put::Held
            }
            Decision::Allow(permit) => {
                Put::Ready(Box::new(self.ready(work, call, permit, rewritten, None, now)))
            }
        }
    }

    fn decide(&mut self, work: &Work, call: &ToolCall, names: &[NameEntry], now: Timestamp) -> Decision {
        let execution = self.record.id.clone();
        work.gate(|tape, world| tape.decide(world, &execution, call.clone(), names, now))
    }

    /// Tells that a call waits for a human.
    pub(crate) fn hold_opened(&mut self, hold: &Hold) {
        self.event(EventBody::HoldOpened {
            hold: hold.id.clone(),
            call: hold.call.clone(),
            tool: hold.plan.tool.clone(),
            resource: hold.plan.resource().cloned(),
            plan_hash: hold.plan_hash,
            expires_at: hold.expires_at,
        });
    }

    /// Writes down that a permit is about to be used; with the hold through which it came to be, and where that is shown.
    pub(crate) fn ready(
        &mut self,
        work: &Work,
        call: ToolCall,
        permit: Permit,
        rewritten: Option<String>,
        hold: Option<(&Hold, Place)>,
        now: Timestamp,
    ) -> Ready {
        self.event(EventBody::DecisionMade {
            call: Some(call.id.clone()),
            decision: Said::Allowed {
                permit: permit.id().clone(),
                kind: permit.kind(),
                plan_hash: permit.plan_hash(),
            },
        });
        self.event(EventBody::CallStarted {
            call: call.id.clone(),
            permit: permit.id().clone(),
            tool: call.tool.clone(),
            kind: permit.kind(),
            resource: permit.plan().resource().cloned(),
            plan_hash: permit.plan_hash(),
        });
        self.pending.push(Record::Started(StartedCall {
            permit: permit.id().clone(),
            run: work.run.clone(),
            plan: permit.plan().clone(),
            plan_hash: permit.plan_hash(),
            approved_by: permit.approved_by().cloned(),
            hold: hold.as_ref().map(|(hold, _)| hold.id.clone()),
            started_at: now,
            baseline: Vec::new(),
        }));
        let (hold, shown) = hold.unzip();
        // What waited is what runs: it stays where it was shown.
        let shown = shown.unwrap_or_else(|| self.new_place(now));
        let facts = CallFacts::permitted(permit.plan(), permit.id(), permit.approved_by(), hold);
        self.show_call(&facts, &shown, Progress::Running, now);
        Ready {
            call,
            permit,
            rewritten,
            hold: hold.cloned().map(Box::new),
            shown,
        }
    }

    /// Keeps that the calls are about to run, runs them, and keeps what came of each, in their order.
    pub(crate) async fn run_group(
        &mut self,
        work: &Work,
        cancel: &CancellationToken,
        ready: Vec<Ready>,
    ) -> Result<(), Error> {
        if ready.is_empty() {
            return Ok(());
        }
        for call in ready.iter().filter(|call| call.permit.kind() == ToolKind::Write) {
            self.take_baseline(work, &call.permit).await;
        }
        // Nothing runs that was not kept as about to run.
        if let Err(error) = self.keep(work).await {
            return self.give_back(work, ready, error).await;
        }
        let mut running = Vec::with_capacity(ready.len());
        for Ready {
            call,
            permit,
            rewritten,
            hold,
            shown,
        } in ready
        {
            let switch = match permit.kind() {
                // What cannot be asked counts as stopped: a write does not begin on a guess.
                ToolKind::Write => work
                    .kill_switch()
                    .await
                    .unwrap_or(interlock_gate::KillSwitch::Engaged),
                ToolKind::Resolve | ToolKind::Read => interlock_gate::KillSwitch::Released,
            };
            let id = permit.id().clone();
            let plan = permit.shared_plan();
            let approved_by = permit.approved_by().cloned();
            let begun = work.gate(|tape, world| {
                let now = Timestamp::now();
                if cancel.is_cancelled() {
                    // The last moment before an effect: nothing begins that nobody wants any more.
                    return Err(tape.abandon(world, permit, "Not run: it was stopped before it began.", now));
                }
                // Somebody may have stopped writes since it was asked.
                let switch = match world.kill_switch {
                    interlock_gate::KillSwitch::Engaged if permit.kind() == ToolKind::Write => {
                        world.kill_switch
                    }
                    _ => switch,
                };
                tape.begin(world, permit, switch, now)
            });
            match begun {
                Ok(started) => {
                    tracing::info!(
                        event = "tool_call_started",
                        trace_id = %work.run,
                        session = %work.session(),
                        tool = call.tool.as_str(),
                        permit = %id,
                    );
                    running.push(Running {
                        call,
                        started,
                        rewritten,
                        hold,
                        shown,
                    });
                }
                Err(refusal) => {
                    let facts = CallFacts::permitted(&plan, &id, approved_by.as_ref(), hold.as_deref());
                    self.refuse_shown(work, &call, &refusal, (&facts, hold.as_deref()), &shown);
                    self.pending.push(Record::Abandoned { permit: id });
                }
            }
        }
        // What runs a call is what is connected now, not when the run began.
        let tools = work.engine.tools();
        let toolbox = tools.toolbox();
        let parallel = work.limits.parallel_reads.max(1);
        let mut results = futures_util::stream::iter(running)
            .map(|running| async move {
                let began = Instant::now();
                let done = toolbox.run(&running.started, cancel).await;
                Ran {
                    running,
                    done,
                    seconds: began.elapsed().as_secs_f64(),
                }
            })
            .buffered(parallel);
        while let Some(ran) = results.next().await {
            self.settle(work, ran)?;
            let pending = std::mem::take(&mut self.pending);
            work.keep_receipt(pending).await?;
        }
        Ok(())
    }

    /// Observes what a write is about to change, as far as its verification needs that.
    async fn take_baseline(&mut self, work: &Work, permit: &Permit) {
        let settings = work.engine.settings();
        let look = settings.inventory.baseline(permit.plan());
        let Ok(baseline) = tokio::time::timeout(BASELINE_WITHIN, look).await else {
            tracing::warn!(session = %work.session(), "what a write is about to change could not be observed in time");
            return;
        };
        if baseline.is_empty() {
            return;
        }
        for record in &mut self.pending {
            if let Record::Started(call) = record
                && call.permit == *permit.id()
            {
                call.baseline.clone_from(&baseline);
            }
        }
        work.tape().baseline(permit.id(), baseline, Timestamp::now());
    }

    /// Takes what running did back to the gate, and writes it down.
    fn settle(&mut self, work: &Work, ran: Ran) -> Result<(), Error> {
        let Ran {
            running:
                Running {
                    call,
                    started,
                    rewritten,
                    hold,
                    shown,
                },
            done,
            seconds,
        } = ran;
        let Done {
            response,
            outcome,
            exit_code,
            output_hash,
            summary,
            reading,
            discovered,
            identity,
        } = done;
        let settings = work.engine.settings();
        let masker = settings.masker.for_tool(call.tool.as_str());
        let now = Timestamp::now();
        // What was read is mostly what is answered: it is looked through once.
        let same = reading
            .as_ref()
            .is_some_and(|reading| response.outcome() == Ok(&reading.data));
        let room = work.engine.settings().limits.kept_bytes;
        let response = masking::aside(size(&response), || masked(masker, &response, room));
        let evidence = match reading {
            None => None,
            Some(mut reading) => {
                match response.outcome() {
                    Ok(data) if same => reading.data.clone_from(data),
                    _ => {
                        let bytes = masking::weight(&reading.data);
                        masking::aside(bytes, || masking::result(masker, &mut reading.data, room));
                    }
                }
                let source = Source::Call {
                    arguments: started.plan().arguments.clone(),
                };
                Some(self.evidence(
                    work,
                    (call.id.clone(), call.tool.clone(), source),
                    reading,
                    identity,
                )?)
            }
        };
        let plan = started.shared_plan();
        let approved_by = started.approved_by().cloned();
        let receipt = started.finish(Ended {
            outcome,
            finished_at: Some(now),
            exit_code,
            output_hash,
            summary: masker.mask_text(&summary).into_owned(),
        });
        count::tool_call(call.tool.as_str(), outcome.as_str(), seconds);
        tracing::info!(
            event = if outcome == Outcome::Succeeded { "tool_call_completed" } else { "tool_call_failed" },
            trace_id = %work.run,
            session = %work.session(),
            tool = call.tool.as_str(),
            permit = %receipt.permit,
            outcome = outcome.as_str(),
            seconds,
        );
        self.event(EventBody::ReceiptRecorded {
            receipt: receipt.clone(),
        });
        let evidence_id = evidence.as_ref().map(|evidence| evidence.id.clone());
        let settled = work.gate(|tape, world| tape.settle(world, &receipt, evidence, discovered, now));
        let pending = match settled {
            Ok(settled) => {
                if let Some(recovery) = &settled.recovered {
                    count::count(work.tools.gate().recovery_success(recovery.code, &recovery.tool));
                }
                if let Some(pending) = &settled.required {
                    self.verification_required(pending);
                }
                self.verified(&settled.ended);
                settled.required
            }
            Err(error) => {
                tracing::error!(session = %work.session(), %error, "a receipt was not taken by the gate");
                None
            }
        };
        let facts = CallFacts::permitted(&plan, &receipt.permit, approved_by.as_ref(), hold.as_deref());
        let ended = Progress::Ended {
            receipt: &receipt,
            evidence: evidence_id.as_ref(),
        };
        self.show_call(&facts, &shown, ended, now);
        self.pending.push(Record::Finished { receipt, pending });
        let response = match rewritten {
            None => response,
            Some(written) => response
                .with_meta("rewritten_from", written)
                .with_meta("ran_instead", call.text_argument("command").unwrap_or_default()),
        };
        let response = match hold {
            None => response,
            Some(hold) => tell_of_edit(response, &hold),
        };
        self.answer_call(work, &call, &response, evidence_id.as_ref(), now);
        Ok(())
    }

    /// Someone else writes to the resource, or the store has no room: nothing runs.
    async fn give_back(&mut self, work: &Work, ready: Vec<Ready>, error: Error) -> Result<(), Error> {
        let Error::Store(StoreError::WriterTaken { .. }) = &error else {
            for call in ready {
                let why = "The record could not be kept.";
                work.gate(|tape, world| tape.abandon(world, call.permit, why, Timestamp::now()));
            }
            return Err(error);
        };
        let taken = error.to_string();
        // The batch was not kept. What it said besides is said again, without the starts.
        let starts: Vec<_> = ready.iter().map(|call| call.permit.id().clone()).collect();
        self.pending.retain(|record| match record {
            Record::Started(call) => !starts.contains(&call.permit),
            Record::Event {
                body: EventBody::CallStarted { permit, .. },
                ..
            } => !starts.contains(permit),
            _ => true,
        });
        for call in ready {
            let now = Timestamp::now();
            let refusal = work.gate(|tape, world| tape.give_way(world, call.permit, &taken, now));
            let hold = call.hold.as_deref();
            // No start was kept: nothing but the proposal and the hold is in the record.
            let facts = match hold {
                Some(hold) => CallFacts::held(hold),
                None => CallFacts::proposed(&call.call, refusal.about.kind),
            };
            self.refuse_shown(work, &call.call, &refusal, (&facts, hold), &call.shown);
        }
        self.keep(work).await
    }
}

/// A model that proposed something else is told what became of it.
pub(crate) fn tell_of_edit(response: ToolResponse, hold: &Hold) -> ToolResponse {
    match &hold.edited_from {
        None => response,
        Some(edited) => response
            .with_meta("edited_by", edited.by.as_str())
            .with_meta("edited_arguments", Value::Object(hold.plan.arguments.clone())),
    }
}

/// The calls that may run side by side: reads with reads, discoveries with discoveries, a write alone. What stands
/// behind waits for their results, because it may rest on them.
fn next_group(work: &Work, rest: &mut VecDeque<ToolCall>) -> Vec<ToolCall> {
    let catalogue = work.tools.catalogue();
    let kind = |call: &ToolCall| catalogue.classify(call.tool.as_str(), &call.arguments);
    let mut group: Vec<ToolCall> = rest.pop_front().into_iter().collect();
    let Some(first) = group.first().map(kind) else {
        return group;
    };
    while first != ToolKind::Write && rest.front().is_some_and(|next| kind(next) == first) {
        group.extend(rest.pop_front());
    }
    group
}

/// What the names in these reads stand for, where the session has not discovered it. Looked up once, before the gate is asked:
/// what is decided on is what runs.
pub(crate) async fn names_in(work: &Work, calls: &[ToolCall]) -> Vec<NameEntry> {
    let catalogue = work.tools.catalogue();
    let inventory = Arc::clone(&work.engine.settings().inventory);
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    for call in calls {
        let Some(tool) = catalogue.get(call.tool.as_str()) else {
            continue;
        };
        if tool.action(&call.arguments).kind != ToolKind::Read {
            continue;
        }
        let TargetRule::Arguments { arguments } = &tool.definition().target else {
            continue;
        };
        let named: Vec<&str> = arguments
            .iter()
            .filter_map(|target| call.text_argument(target.name.as_str()))
            .filter(|name| name.len() <= MOST_NAME)
            .collect();
        if named.is_empty() {
            wanted.insert(String::new());
        }
        let tape = work.tape();
        let known = tape.session().context();
        let unknown = named
            .into_iter()
            .filter(|name| !known.knows(name, Timestamp::now()));
        wanted.extend(unknown.map(str::to_owned));
    }
    let mut names = Vec::with_capacity(wanted.len());
    for name in wanted {
        let resources = if name.is_empty() {
            inventory.here().into_iter().collect()
        } else {
            inventory.find(&name).await
        };
        if !resources.is_empty() {
            names.push(NameEntry { name, resources });
        }
    }
    names
}

/// The same call with the command that the refusal offers in its place.
fn rewrite(work: &Work, call: &ToolCall, refusal: &Refusal) -> Option<(ToolCall, String)> {
    if !refusal.auto_recoverable() {
        return None;
    }
    let better = refusal.details.get("suggested_rewrite")?.as_str()?;
    let tool = work.tools.catalogue().get(call.tool.as_str())?;
    let argument = tool.action(&call.arguments).command.clone()?;
    let written = call.arguments.get(&argument)?.as_str()?.to_owned();
    let mut call = call.clone();
    call.arguments.insert(argument, better.into());
    Some((call, written))
}

/// About how many bytes an answer has as text.
fn size(response: &ToolResponse) -> usize {
    let members = |members: &Details| -> usize { members.values().map(masking::weight).sum() };
    let outcome = match response.outcome() {
        Ok(data) => masking::weight(data),
        Err(error) => error.message.len() + members(&error.details),
    };
    outcome + members(response.meta())
}

/// The answer without what looks like a secret, and with room for each of its texts.
fn masked(masker: &interlock_mask::Masker, response: &ToolResponse, room: usize) -> ToolResponse {
    let mut meta = Value::Object(response.meta().clone());
    masking::result(masker, &mut meta, room);
    let mut rebuilt = match response.outcome() {
        Ok(data) => {
            let mut data = data.clone();
            masking::result(masker, &mut data, room);
            ToolResponse::success(data)
        }
        Err(error) => {
            let mut error = error.clone();
            error.message = masking::text_result(masker, &error.message, room);
            let mut details = Value::Object(std::mem::take(&mut error.details));
            masking::result(masker, &mut details, room);
            if let Value::Object(details) = details {
                error.details = details;
            }
            ToolResponse::from_error(error)
        }
    };
    if let Value::Object(meta) = meta {
        for (key, value) in meta {
            rebuilt = rebuilt.with_meta(key, value);
        }
    }
    rebuilt
}
