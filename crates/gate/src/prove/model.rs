//! Sessions, permits in flight and open holds around the real gate; every step is a call that an engine would make.

use interlock_protocol::{
    Arguments, CallId, ContentHash, Evidence, EvidenceId, ExecutionId, Expectation, HoldId, Observation,
    Outcome, ResourceId, RunIdentity, RunState, Source, ToolCall, ToolKind, ToolName, UserId,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::answer::{AnswerDecision, Conclusion, Question};
use crate::approvals::Approval;
use crate::catalogue::Placement;
use crate::context::{Keep, ResolvedResource};
use crate::gate::{Decision, Gate, Situation};
use crate::governance::Governance;
use crate::hold::{ApprovalToken, Hold, HoldStatus};
use crate::invariants::{self, Actor, Ledger, Occurrence, View, Violation};
use crate::permit::{Ended, Permit, Started};
use crate::refusal::Refusal;
use crate::resolution::NameEntry;
use crate::sabotage::Sabotage;
use crate::session::Session;
use crate::settle::{DueReading, Moment, Report};
use crate::world::{KillSwitch, World};

/// What a call could find out, as far as a model of it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) tool: ToolName,
    pub(crate) arguments: Arguments,
    /// The whole call as text: two calls are the same if this is.
    pub(crate) text: String,
    /// What a resolve finds.
    pub(crate) finds: Vec<ResolvedResource>,
    /// Whether a single resource is asked for.
    pub(crate) asks: bool,
}

impl Call {
    pub(crate) fn new(
        tool: &str,
        arguments: Value,
        finds: Vec<ResolvedResource>,
        asks: bool,
    ) -> Option<Self> {
        let text = format!("{tool} {arguments}");
        let Value::Object(arguments) = arguments else {
            return None;
        };
        Some(Self {
            tool: ToolName::new(tool).ok()?,
            arguments,
            text,
            finds,
            asks,
        })
    }
}

/// What a reading sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    /// What was expected.
    Expected,
    /// Something else, settled.
    Else,
    /// Something that is still changing.
    Changing,
    /// Nothing at all: the resource cannot be observed.
    Nothing,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ending {
    /// It worked, and saw this.
    Succeeded(Seen),
    /// It failed.
    Failed,
    /// Its time ran out.
    TimedOut,
}

/// What is wrong with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrongToken {
    Guessed,
    SomeoneElses,
    Used,
    Old,
    OfAnotherHold,
    OfAnotherPlan,
}

impl WrongToken {
    pub(crate) const ALL: &'static [Self] = &[
        Self::Guessed,
        Self::SomeoneElses,
        Self::Used,
        Self::Old,
        Self::OfAnotherHold,
        Self::OfAnotherPlan,
    ];
}

pub(crate) enum Stage {
    Waiting(Permit),
    Running(Started),
}

/// A permit that was issued and has no receipt.
pub(crate) struct Flight {
    pub(crate) actor: Actor,
    pub(crate) call: Call,
    pub(crate) stage: Stage,
}

/// A hold that nobody has decided.
#[derive(Clone)]
pub(crate) struct OpenHold {
    pub(crate) actor: Actor,
    pub(crate) call: Call,
    pub(crate) hold: Hold,
}

pub(crate) struct Model<'g> {
    pub(crate) gate: &'g Gate,
    /// What names stand for, whether discovered or not.
    pub(crate) names: &'g [NameEntry],
    pub(crate) world: World,
    pub(crate) sessions: Vec<Session>,
    pub(crate) now: Timestamp,
    pub(crate) ledger: Ledger,
    pub(crate) flights: Vec<Flight>,
    pub(crate) holds: Vec<OpenHold>,
    pub(crate) violations: Vec<Violation>,
    approver: UserId,
    readings: u64,
}

/// What became of a proposal.
pub(crate) enum Answered {
    Allowed,
    Held,
    Refused(Box<Refusal>),
}

impl<'g> Model<'g> {
    pub(crate) fn new(gate: &'g Gate, sessions: Vec<Session>, now: Timestamp, approver: UserId) -> Self {
        Self {
            gate,
            names: &[],
            world: World::default(),
            sessions,
            now,
            ledger: Ledger::default(),
            flights: Vec::new(),
            holds: Vec::new(),
            violations: Vec::new(),
            approver,
            readings: 0,
        }
    }

    /// The same world, for exploring another future of it.
    pub(crate) fn fork(&self) -> Self {
        let flights = self
            .flights
            .iter()
            .map(|flight| Flight {
                actor: flight.actor.clone(),
                call: flight.call.clone(),
                stage: match &flight.stage {
                    Stage::Waiting(permit) => Stage::Waiting(permit.in_another_future()),
                    Stage::Running(started) => Stage::Running(started.in_another_future()),
                },
            })
            .collect();
        Self {
            gate: self.gate,
            names: self.names,
            world: self.world.clone(),
            sessions: self.sessions.iter().map(Session::fork).collect(),
            now: self.now,
            ledger: self.ledger.clone(),
            flights,
            holds: self.holds.clone(),
            violations: Vec::new(),
            approver: self.approver.clone(),
            readings: self.readings,
        }
    }

    fn happened(&mut self, occurrence: &Occurrence<'_>) {
        let view = View {
            gate: self.gate,
            world: &self.world,
            sessions: &self.sessions,
            now: self.now,
        };
        invariants::check(&mut self.ledger, occurrence, view, &mut self.violations);
    }

    pub(crate) fn propose(&mut self, actor: &Actor, call: &Call, governance: Governance<'_>) -> Answered {
        let proposal = ToolCall {
            id: CallId::from_bytes([0; 16]),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
        };
        let names = self.names_now();
        let situation = Situation {
            now: self.now,
            governance,
            names: &names,
        };
        match self.gate.decide(
            &mut self.world,
            &mut self.sessions[actor.0],
            &actor.1,
            proposal,
            situation,
        ) {
            Decision::Allow(permit) => {
                self.permitted(actor, call, permit, governance, None);
                Answered::Allowed
            }
            Decision::Hold(hold) => {
                self.happened(&Occurrence::Held { actor, hold: &hold });
                // An execution waits for one hold; an older one of it is over.
                self.holds.retain(|open| open.actor != *actor);
                self.holds.push(OpenHold {
                    actor: actor.clone(),
                    call: call.clone(),
                    hold: *hold,
                });
                Answered::Held
            }
            Decision::Block(refusal) => {
                self.happened(&Occurrence::Refused {
                    actor,
                    refusal: &refusal,
                });
                Answered::Refused(refusal)
            }
        }
    }

    fn permitted(
        &mut self,
        actor: &Actor,
        call: &Call,
        permit: Permit,
        governance: Governance<'_>,
        approved: Option<&Hold>,
    ) {
        let placement = self
            .gate
            .catalogue()
            .get(permit.plan().tool.as_str())
            .map_or(Placement::Inside, |tool| {
                tool.action(&permit.plan().arguments).placement
            });
        // What the call names, by a lookup of its own.
        let named = ["target_resource_id", "target_host"]
            .iter()
            .find_map(|argument| call.arguments.get(*argument)?.as_str());
        let meant = named.and_then(|name| {
            let entry = self.names.iter().find(|entry| entry.name == name)?;
            entry.resources.first().map(|resource| &resource.id)
        });
        let meant = meant.or_else(|| permit.plan().resource()).cloned();
        self.happened(&Occurrence::Permitted {
            actor,
            meant: meant.as_ref(),
            permit: &permit,
            call: &call.text,
            placement,
            governance,
            approved,
        });
        self.flights.push(Flight {
            actor: actor.clone(),
            call: call.clone(),
            stage: Stage::Waiting(permit),
        });
    }

    /// Begins a permit that waits.
    pub(crate) fn begin(&mut self, at: usize) {
        let flight = self.flights.remove(at);
        let Stage::Waiting(permit) = flight.stage else {
            self.flights.insert(at, flight);
            return;
        };
        let id = permit.id().clone();
        match permit.begin(self.world.kill_switch, self.now) {
            Ok(started) => {
                let was = Observation::Guest {
                    state: RunState::Running,
                    started_at: None,
                    run: RunIdentity::named("before"),
                };
                self.gate
                    .baseline(&mut self.sessions[flight.actor.0], &id, vec![was]);
                self.happened(&Occurrence::Begun { permit: &id });
                let flight = Flight {
                    stage: Stage::Running(started),
                    ..flight
                };
                self.flights.insert(at, flight);
            }
            Err(unused) => {
                let session = &mut self.sessions[flight.actor.0];
                let refusal = self.gate.not_started(&mut self.world, session, *unused);
                self.happened(&Occurrence::NotBegun { permit: &id });
                self.happened(&Occurrence::Refused {
                    actor: &flight.actor,
                    refusal: &refusal,
                });
            }
        }
    }

    /// The task that holds a permit, or runs it, is gone.
    pub(crate) fn lose(&mut self, at: usize) {
        let flight = self.flights.remove(at);
        let id = match flight.stage {
            Stage::Waiting(permit) => permit.id().clone(),
            Stage::Running(started) => started.permit().clone(),
        };
        let session = &mut self.sessions[flight.actor.0];
        // What is refused here shows in the invariants: the permit stays outstanding.
        let _ = self.gate.lost(&mut self.world, session, &id, self.now);
        self.happened(&Occurrence::Lost { permit: &id });
    }

    /// Ends a run.
    pub(crate) fn end(&mut self, at: usize, ending: Ending) {
        let flight = self.flights.remove(at);
        let Stage::Running(started) = flight.stage else {
            self.flights.insert(at, flight);
            return;
        };
        let outcome = match ending {
            Ending::Succeeded(_) => Outcome::Succeeded,
            Ending::Failed => Outcome::Failed,
            Ending::TimedOut => Outcome::TimedOut,
        };
        let kind = started.plan().kind;
        let resource = started.plan().resource().cloned();
        let evidence = match (kind, ending, &resource) {
            (ToolKind::Read | ToolKind::Resolve, Ending::Succeeded(seen), Some(resource)) => {
                self.reading(&flight.actor, resource, seen)
            }
            _ => None,
        };
        let found: Vec<ResolvedResource> = if kind == ToolKind::Resolve {
            let finds = flight.call.finds.iter();
            finds.map(|found| self.as_it_is(found)).collect()
        } else {
            Vec::new()
        };
        let ids: Vec<ResourceId> = found.iter().map(|resource| resource.id.clone()).collect();
        let receipt = started.finish(Ended {
            outcome,
            finished_at: Some(self.now),
            exit_code: None,
            output_hash: None,
            summary: String::new(),
        });
        let report = Report {
            receipt: &receipt,
            evidence: evidence.as_ref(),
            discovered: found,
        };
        let settled = self
            .gate
            .settle(
                &mut self.world,
                &mut self.sessions[flight.actor.0],
                report,
                self.now,
            )
            .unwrap_or_default();
        self.happened(&Occurrence::Ended {
            permit: &receipt.permit,
            succeeded: outcome == Outcome::Succeeded,
            ends: &settled.ended,
            found: &ids,
            asked: flight.call.asks,
            tells_history: tells_history(&flight.call),
        });
    }

    fn reading(&mut self, actor: &Actor, resource: &ResourceId, seen: Seen) -> Option<Evidence> {
        let expectation = self.sessions[actor.0]
            .executions()
            .flat_map(|execution| self.sessions[actor.0].pending(execution))
            .find(|pending| pending.resource == *resource)
            .map(|pending| &pending.expectation);
        let observations = observations(expectation, seen, self.now)?;
        self.readings += 1;
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.readings.to_le_bytes());
        Some(Evidence {
            id: EvidenceId::from_bytes(bytes),
            session: self.sessions[actor.0].id().clone(),
            execution: actor.1.clone(),
            call: CallId::from_bytes([0; 16]),
            tool: ToolName::new("infra_read").ok()?,
            resource: Some(resource.clone()),
            identity: Ledger::identity(self.ledger.machine(resource)),
            taken_at: self.now,
            hash: ContentHash::of(""),
            data: Value::Null,
            observations,
            source: Some(Source::Code),
            walls: None,
        })
    }

    /// A human approves, with a fresh token; and someone else tries to at the same moment.
    pub(crate) fn approve(&mut self, at: usize, governance: Governance<'_>) {
        let open = self.holds.remove(at);
        let before = open.hold.clone();
        self.look_again(&open);
        let mut hold = open.hold;
        if self.gate.broken(Sabotage::ApprovesAnotherPlan) {
            hold.plan.arguments.insert("action".to_owned(), "stop".into());
        }
        let names = self.names_now();
        let situation = Situation {
            now: self.now,
            governance,
            names: &names,
        };
        for mut attempt in [hold.clone(), before.clone()] {
            let (token, mut record) = before.open_for(self.approver.clone(), [7; 32], self.now);
            if self.gate.broken(Sabotage::ExpiredHoldApproves) {
                record.expires_at = Timestamp::MAX;
            }
            let approver = self.approver.clone();
            let mut approval = Approval {
                by: &approver,
                token: &token,
                record: &mut record,
            };
            let session = &mut self.sessions[open.actor.0];
            match self
                .gate
                .approve(&mut self.world, session, &mut attempt, &mut approval, situation)
            {
                Ok(permit) => self.permitted(&open.actor, &open.call, permit, governance, Some(&before)),
                Err(refusal) => self.happened(&Occurrence::Refused {
                    actor: &open.actor,
                    refusal: &refusal,
                }),
            }
            hold.status = attempt.status;
        }
        if hold.status == HoldStatus::Pending {
            self.holds.insert(
                at,
                OpenHold {
                    actor: open.actor,
                    call: open.call,
                    hold: before,
                },
            );
        }
    }

    /// Another machine takes over the name of a resource: the address in a configuration changed, or a guest was made again.
    pub(crate) fn replace_machine(&mut self, resource: &ResourceId) {
        self.happened(&Occurrence::Replaced { resource });
    }

    /// Code resolves the resource of a held plan again before the plan runs. What was forgotten stays so.
    fn look_again(&mut self, open: &OpenHold) {
        let session = &self.sessions[open.actor.0];
        let known: Vec<ResolvedResource> = open
            .hold
            .resources()
            .filter_map(|id| session.context().get(id, self.now))
            .map(|known| self.as_it_is(known))
            .collect();
        let session = &mut self.sessions[open.actor.0];
        self.gate.rediscover(session, &open.actor.1, known, self.now);
    }

    /// What names stand for, with the machines that have those names now.
    fn names_now(&self) -> Vec<NameEntry> {
        self.names
            .iter()
            .map(|entry| NameEntry {
                name: entry.name.clone(),
                resources: entry
                    .resources
                    .iter()
                    .map(|resource| self.as_it_is(resource))
                    .collect(),
            })
            .collect()
    }

    /// A resource with the machine that has its name now.
    fn as_it_is(&self, resource: &ResolvedResource) -> ResolvedResource {
        let machine = self.ledger.machine(&resource.id);
        resource.clone().identified(Ledger::identity(machine))
    }

    /// A wrong token, someone else's, a used or old one, one of another hold or plan: never a permit.
    pub(crate) fn approve_wrongly(&mut self, at: usize, wrong: WrongToken) {
        let Some(open) = self.holds.get(at).cloned() else {
            return;
        };
        let (mut token, mut record) = open.hold.open_for(self.approver.clone(), [7; 32], self.now);
        match wrong {
            WrongToken::Guessed => token = ApprovalToken::from_bytes([8; 32]),
            WrongToken::SomeoneElses => {
                if let Ok(other) = UserId::new("someone_else") {
                    record.approver = other;
                }
            }
            WrongToken::Used => record.used_at = Some(self.now),
            WrongToken::Old => record.expires_at = self.now,
            WrongToken::OfAnotherHold => record.hold = HoldId::from_bytes([9; 16]),
            WrongToken::OfAnotherPlan => record.plan_hash = ContentHash::of("another plan"),
        }
        let approver = self.approver.clone();
        let mut approval = Approval {
            by: &approver,
            token: &token,
            record: &mut record,
        };
        let mut hold = open.hold.clone();
        let session = &mut self.sessions[open.actor.0];
        match self.gate.approve(
            &mut self.world,
            session,
            &mut hold,
            &mut approval,
            Situation::at(self.now),
        ) {
            Ok(permit) => {
                self.permitted(
                    &open.actor,
                    &open.call,
                    permit,
                    Governance::Absent,
                    Some(&open.hold),
                );
                self.happened(&Occurrence::WrongTokenTaken);
                self.holds.remove(at);
            }
            Err(refusal) => self.happened(&Occurrence::Refused {
                actor: &open.actor,
                refusal: &refusal,
            }),
        }
    }

    pub(crate) fn deny(&mut self, at: usize) {
        let mut open = self.holds.remove(at);
        let approver = self.approver.clone();
        let session = &mut self.sessions[open.actor.0];
        let refusal = match self
            .gate
            .deny(session, &mut open.hold, &approver, "not now", self.now)
        {
            Ok(refusal) | Err(refusal) => refusal,
        };
        self.happened(&Occurrence::Refused {
            actor: &open.actor,
            refusal: &refusal,
        });
    }

    pub(crate) fn edit(&mut self, at: usize, call: &Call) {
        let mut open = self.holds.remove(at);
        let approver = self.approver.clone();
        let session = &mut self.sessions[open.actor.0];
        let situation = Situation::at(self.now);
        let arguments = call.arguments.clone();
        match self.gate.edit(
            &self.world,
            session,
            &mut open.hold,
            &approver,
            arguments,
            situation,
        ) {
            Ok(edited) => {
                self.happened(&Occurrence::Held {
                    actor: &open.actor,
                    hold: &edited,
                });
                self.holds.insert(
                    at,
                    OpenHold {
                        actor: open.actor,
                        call: call.clone(),
                        hold: edited,
                    },
                );
            }
            Err(refusal) => {
                self.happened(&Occurrence::Refused {
                    actor: &open.actor,
                    refusal: &refusal,
                });
                if open.hold.status == HoldStatus::Pending {
                    self.holds.insert(at, open);
                }
            }
        }
    }

    /// Time passes, and code closes the holds whose time is over.
    pub(crate) fn wait(&mut self, duration: SignedDuration) {
        self.now = self.now.saturating_add(duration).unwrap_or(self.now);
    }

    pub(crate) fn expire_holds(&mut self) {
        let now = self.now;
        for open in &mut self.holds {
            self.gate
                .expire(&mut self.sessions[open.actor.0], &mut open.hold, now);
        }
        self.holds.retain(|open| open.hold.status == HoldStatus::Pending);
    }

    /// Code takes the readings that are due.
    pub(crate) fn observe(&mut self, actor: &Actor, moment: Moment, seen: Seen) {
        let due = match moment {
            Moment::Deadline => self.gate.due_readings(&self.sessions[actor.0], self.now),
            Moment::ForcedConclusion => self.gate.begin_conclusion(&mut self.sessions[actor.0], &actor.1),
        };
        self.take(actor, due, moment, seen);
    }

    /// A caller claims that an execution is being concluded, and does not conclude it.
    pub(crate) fn waive(&mut self, actor: &Actor) {
        let due = self
            .gate
            .readings_before_conclusion(&self.sessions[actor.0], &actor.1);
        self.take(actor, due, Moment::ForcedConclusion, Seen::Nothing);
    }

    fn take(&mut self, actor: &Actor, due: Vec<DueReading>, moment: Moment, seen: Seen) {
        for reading in due {
            let evidence = self.reading(actor, &reading.resource, seen);
            let ends = self
                .gate
                .observe(
                    &mut self.sessions[actor.0],
                    &reading,
                    evidence.as_ref(),
                    moment,
                    self.now,
                )
                .unwrap_or_default();
            self.happened(&Occurrence::Observed {
                resource: &reading.resource,
                ends: &ends,
                concluding: self.sessions[actor.0]
                    .executions
                    .get(&reading.execution)
                    .is_some_and(|execution| execution.concluding),
            });
        }
    }

    /// The final answer, which claims to have restarted `claims`. Says whether it was let out.
    pub(crate) fn answer(
        &mut self,
        actor: &Actor,
        claims: Option<&ResolvedResource>,
        conclusion: Conclusion,
    ) -> bool {
        let text = claims.map_or_else(
            || "All is well.".to_owned(),
            |resource| format!("I restarted {}.", resource.name),
        );
        let session = &mut self.sessions[actor.0];
        match self.gate.decide_final_answer(
            session,
            &actor.1,
            &text,
            &[],
            &Question::default(),
            conclusion,
            self.now,
        ) {
            AnswerDecision::Release(answer) => {
                let claims = claims.map(|resource| &resource.id);
                self.happened(&Occurrence::Answered {
                    actor,
                    answer: &answer,
                    claims,
                });
                self.holds.retain(|open| open.actor != *actor);
                true
            }
            AnswerDecision::Block(refusal) => {
                self.happened(&Occurrence::Refused {
                    actor,
                    refusal: &refusal,
                });
                false
            }
        }
    }

    pub(crate) fn reset(&mut self, session: usize, keep: Keep) {
        let context = self.sessions[session].context();
        let kept: Vec<ResourceId> = match keep {
            Keep::Nothing => Vec::new(),
            Keep::Pinned => {
                let pinned = context
                    .resources(self.now)
                    .filter(|resource| context.is_pinned(&resource.id));
                pinned.map(|resource| resource.id.clone()).collect()
            }
        };
        self.gate.reset(&mut self.sessions[session], keep, self.now);
        self.happened(&Occurrence::Reset { session, kept: &kept });
    }

    pub(crate) fn mention(&mut self, session: usize, resource: &ResolvedResource) {
        let found = self.as_it_is(resource);
        self.gate.mention(&mut self.sessions[session], found, self.now);
        self.happened(&Occurrence::Mentioned {
            session,
            resource: &resource.id,
        });
    }

    pub(crate) fn toggle_kill_switch(&mut self) {
        self.world.kill_switch = match self.world.kill_switch {
            KillSwitch::Released => KillSwitch::Engaged,
            KillSwitch::Engaged => KillSwitch::Released,
        };
    }

    /// What code does to end an execution, whatever its proposer does: settles what is in flight, looks at what was
    /// written, and answers. Says whether that works.
    pub(crate) fn conclude(&mut self, actor: &Actor) -> bool {
        while let Some(at) = self.flights.iter().position(|flight| flight.actor == *actor) {
            match self.flights[at].stage {
                Stage::Running(_) => self.end(at, Ending::TimedOut),
                Stage::Waiting(_) => {
                    let flight = self.flights.remove(at);
                    let Stage::Waiting(permit) = flight.stage else {
                        continue;
                    };
                    let id = permit.id().clone();
                    let unused = permit.abandon("the execution concludes");
                    let session = &mut self.sessions[actor.0];
                    self.gate.not_started(&mut self.world, session, unused);
                    self.happened(&Occurrence::NotBegun { permit: &id });
                }
            }
        }
        self.observe(actor, Moment::ForcedConclusion, Seen::Nothing);
        self.answer(actor, None, Conclusion::Forced)
    }

    pub(crate) fn execution(name: &str) -> Option<ExecutionId> {
        ExecutionId::new(name).ok()
    }
}

/// Whether a call reads what happened, or what else there is, instead of what its resource is doing.
fn tells_history(call: &Call) -> bool {
    let says = |name: &str| {
        call.arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    matches!(says("action"), "logs" | "tail" | "history" | "list")
        || matches!(says("type"), "events" | "logs" | "pods")
        || matches!(
            call.tool.as_str(),
            "read_system_logs" | "infra_metrics" | "infra_storage"
        )
        || says("command").contains("journalctl")
        || says("path").starts_with("/var/log/")
}

/// What a reading of a resource with this expectation sees.
fn observations(expectation: Option<&Expectation>, seen: Seen, now: Timestamp) -> Option<Vec<Observation>> {
    let guest = |state| Observation::Guest {
        state,
        started_at: Some(now),
        run: RunIdentity::named("after"),
    };
    let absent = expectation == Some(&Expectation::Absent);
    Some(vec![match (seen, absent) {
        (Seen::Nothing, _) => return None,
        (Seen::Expected, true) => Observation::Absent,
        (Seen::Else, true) => Observation::Present,
        (Seen::Expected, false) => guest(RunState::Running),
        (Seen::Else, false) => guest(RunState::Failed),
        (Seen::Changing, _) => guest(RunState::Starting),
    }])
}
