//! Asks the gate everything again that a trace says it was asked, and compares the answers.
//!
//! A permit that comes out of a replay runs nothing: it is dropped here. What is compared is what the gate said.

use std::collections::BTreeMap;
use std::sync::Arc;

use interlock_gate::{
    Approval, Conclusion, ContextLimits, Decision, DueReading, Gate, Hold, HoldStatus, InterruptedWrite,
    KillSwitch, Moment, NameEntry, Permit, Question, Refusal, Report, ResolvedResource, Session,
    SessionOptions, Situation, Started, ToolScope, World, WriteRecord,
};
use interlock_protocol::{Evidence, EvidenceId, PermitId, ResourceId, UserId};
use interlock_store::Step;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::rules::{Catalogues, Rules};
use crate::tape::{
    Ask, Named, Rival, answer_outcome, begun_outcome, closed, edited_outcome, ends_outcome, error_outcome,
    redeemed_outcome, refused, said, settled_outcome,
};

/// A question whose answer was different the second time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Its place in the session.
    pub number: u64,
    /// The question.
    pub input: Value,
    /// What the record says.
    pub recorded: Value,
    /// What the gate says now.
    pub now: Value,
}

/// What replaying came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replayed {
    /// How many questions were asked.
    pub steps: usize,
    /// How many of them were decisions on calls and answers.
    pub decisions: usize,
    /// Where the gate says something else.
    pub differences: Vec<Difference>,
}

impl Replayed {
    /// Whether every answer was the same.
    pub const fn is_same(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Why a list of steps cannot be replayed at all.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step is not in a form that this version knows.
    #[error("step {number} cannot be read: {source}")]
    Step {
        /// Its place.
        number: u64,
        /// Why.
        source: serde_json::Error,
    },
    /// A step comes before a session was opened.
    #[error("step {0} comes before the step that opens the session; export the trace again, whole")]
    NotOpen(u64),
    /// No gate can be set as it was.
    #[error(transparent)]
    Rules(#[from] crate::rules::Error),
    /// A step names evidence that is not there.
    #[error("step {number} names evidence `{evidence}`, which the trace does not have")]
    Evidence {
        /// Its place.
        number: u64,
        /// The evidence.
        evidence: EvidenceId,
    },
}

struct Player<'a> {
    gate: Arc<Gate>,
    world: World,
    session: Session,
    evidence: &'a BTreeMap<EvidenceId, Evidence>,
    permits: BTreeMap<PermitId, Permit>,
    started: BTreeMap<PermitId, Started>,
}

/// Asks everything again.
pub fn replay(
    steps: &[Step],
    evidence: &BTreeMap<EvidenceId, Evidence>,
    catalogues: &Catalogues,
) -> Result<Replayed, Error> {
    let mut player: Option<Player<'_>> = None;
    let mut replayed = Replayed {
        steps: steps.len(),
        decisions: 0,
        differences: Vec::new(),
    };
    for step in steps {
        let number = step.number;
        let ask: Ask =
            serde_json::from_value(step.input.clone()).map_err(|source| Error::Step { number, source })?;
        if matches!(
            ask,
            Ask::Decide { .. } | Ask::Answer { .. } | Ask::Redeem { .. } | Ask::Edit { .. }
        ) {
            replayed.decisions += 1;
        }
        let now = if let Ask::Open {
            session,
            level,
            tools,
            owner,
            four_eyes,
            rules,
        } = ask
        {
            let options = SessionOptions {
                level,
                tools: ToolScope::Only(tools),
                owner,
                four_eyes,
                limits: ContextLimits::default(),
            };
            player = Some(Player {
                gate: Arc::new(rules.gate(catalogues)?),
                world: World::default(),
                session: Session::new(session, options),
                evidence,
                permits: BTreeMap::new(),
                started: BTreeMap::new(),
            });
            Value::Null
        } else {
            let player = player.as_mut().ok_or(Error::NotOpen(number))?;
            if let Ask::Tighten {
                level,
                four_eyes,
                tools,
                rules,
            } = ask
            {
                player.tighten(&rules, catalogues)?;
                player.session.tighten(level, four_eyes, &tools);
                Value::Null
            } else {
                player.ask(step, ask)?
            }
        };
        if now != step.outcome {
            replayed.differences.push(Difference {
                number,
                input: step.input.clone(),
                recorded: step.outcome.clone(),
                now,
            });
        }
    }
    Ok(replayed)
}

impl Player<'_> {
    /// The rules can only have become stricter: what a record says beyond that is not taken.
    fn tighten(&mut self, rules: &Rules, catalogues: &Catalogues) -> Result<(), Error> {
        let recorded = rules.gate(catalogues)?;
        let options = self.gate.options().tightened_by(recorded.options());
        self.gate = Arc::new(self.gate.with_options(options));
        Ok(())
    }

    fn evidence(&self, number: u64, id: Option<&EvidenceId>) -> Result<Option<&Evidence>, Error> {
        let missing = |id: &EvidenceId| Error::Evidence {
            number,
            evidence: id.clone(),
        };
        id.map(|id| self.evidence.get(id).ok_or_else(|| missing(id)))
            .transpose()
    }

    fn at(&mut self, stopped: bool, rivals: &[Rival]) -> Vec<(ResourceId, PermitId)> {
        self.world.kill_switch = switch(stopped);
        for rival in rivals {
            self.world.note_writer(rival.resource.clone(), rival.into());
        }
        rivals
            .iter()
            .map(|rival| (rival.resource.clone(), rival.permit.clone()))
            .collect()
    }

    fn leave(&mut self, rivals: Vec<(ResourceId, PermitId)>) {
        for (resource, permit) in rivals {
            self.world.forget_writer(&resource, &permit);
        }
    }

    fn ask(&mut self, step: &Step, ask: Ask) -> Result<Value, Error> {
        let now = step.at;
        let number = step.number;
        Ok(match ask {
            Ask::Open { .. } | Ask::Tighten { .. } => Value::Null,
            Ask::Decide {
                execution,
                call,
                names,
                stopped,
                rivals,
            } => {
                let rivals = self.at(stopped, &rivals);
                let names: Vec<NameEntry> = names.iter().map(NameEntry::from).collect();
                let decision = self.gate.decide(
                    &mut self.world,
                    &mut self.session,
                    &execution,
                    call,
                    Situation::at(now).with_names(&names),
                );
                self.leave(rivals);
                let outcome = json!(said(&decision));
                if let Decision::Allow(permit) = decision {
                    self.permits.insert(permit.id().clone(), permit);
                }
                outcome
            }
            Ask::Baseline { permit, observed } => {
                self.gate.baseline(&mut self.session, &permit, observed);
                Value::Null
            }
            Ask::Begin { permit, stopped } => match self.permits.remove(&permit) {
                None => json!({ "error": "no such permit" }),
                Some(permit) => {
                    let id = permit.id().clone();
                    let begun = permit.begin(switch(stopped), now);
                    let outcome =
                        begun_outcome(begun.as_ref().map_err(|unused| unused.refusal()).map(|_| ()));
                    match begun {
                        Ok(started) => {
                            self.started.insert(id, started);
                        }
                        Err(unused) => {
                            let _ = self.gate.not_started(&mut self.world, &mut self.session, *unused);
                        }
                    }
                    outcome
                }
            },
            Ask::Abandon { permit, why, taken } => match self.permits.remove(&permit) {
                None => json!({ "error": "no such permit" }),
                Some(permit) => {
                    let unused = if taken {
                        permit.give_way(&why)
                    } else {
                        permit.abandon(&why)
                    };
                    refused(&self.gate.not_started(&mut self.world, &mut self.session, unused))
                }
            },
            Ask::Settle {
                receipt,
                evidence,
                found,
            } => {
                let evidence = self.evidence(number, evidence.as_ref())?.cloned();
                self.started.remove(&receipt.permit);
                let report = Report {
                    receipt: &receipt,
                    evidence: evidence.as_ref(),
                    discovered: found.iter().map(ResolvedResource::from).collect(),
                };
                let settled = self.gate.settle(&mut self.world, &mut self.session, report, now);
                settled_outcome(settled.as_ref())
            }
            Ask::Observe {
                execution,
                permit,
                evidence,
                concluding,
            } => {
                let evidence = self.evidence(number, evidence.as_ref())?.cloned();
                let pending = self
                    .session
                    .pending(&execution)
                    .iter()
                    .find(|pending| pending.permit == permit);
                match pending {
                    None => json!({ "error": format!("no verification of `{permit}` is pending") }),
                    Some(pending) => {
                        let due = DueReading {
                            execution,
                            permit,
                            resource: pending.resource.clone(),
                            expectation: pending.expectation.clone(),
                            deadline: pending.deadline,
                        };
                        let moment = if concluding {
                            Moment::ForcedConclusion
                        } else {
                            Moment::Deadline
                        };
                        let ends = self
                            .gate
                            .observe(&mut self.session, &due, evidence.as_ref(), moment, now);
                        ends_outcome(ends.as_deref())
                    }
                }
            }
            Ask::Conclude { execution } => {
                let due = self.gate.begin_conclusion(&mut self.session, &execution);
                json!({ "due": due.iter().map(|due| &due.permit).collect::<Vec<_>>() })
            }
            Ask::Sandbox { place, target } => {
                self.gate.note_sandbox(&mut self.session, place, target);
                Value::Null
            }
            Ask::File { place, before } => {
                self.gate.note_file(&mut self.session, place, before);
                Value::Null
            }
            Ask::Mention { found } => {
                self.gate.mention(&mut self.session, (&found).into(), now);
                Value::Null
            }
            Ask::Rediscover { execution, found } => {
                let found = found.iter().map(ResolvedResource::from).collect();
                self.gate.rediscover(&mut self.session, &execution, found, now);
                Value::Null
            }
            Ask::RestoreWrite {
                receipt,
                plan,
                baseline,
                verification,
                approved_by,
            } => {
                let write = WriteRecord {
                    receipt: *receipt,
                    plan: Arc::new(*plan),
                    baseline,
                    verification,
                    approved_by,
                };
                let restored = self.gate.restore_write(&mut self.session, write, now);
                error_outcome(restored.as_ref().err())
            }
            Ask::Interrupted {
                permit,
                plan,
                baseline,
                started_at,
                approved_by,
            } => {
                let write = InterruptedWrite {
                    permit,
                    plan: Arc::new(*plan),
                    baseline,
                    started_at,
                    approved_by,
                };
                let pending = self.gate.interrupted(&mut self.session, write, now);
                error_outcome(pending.as_ref().err())
            }
            Ask::Redeem {
                hold,
                names,
                stopped,
                rivals,
            } => {
                let HoldStatus::Approved { by, at } = &hold.status else {
                    return Ok(json!({ "error": "nobody approved the hold" }));
                };
                let accepted = (by.clone(), *at);
                let rivals = self.at(stopped, &rivals);
                let redeemed = self.redeem(*hold, accepted, &names, now);
                self.leave(rivals);
                let outcome = redeemed_outcome(redeemed.as_ref().map_err(AsRef::as_ref));
                if let Ok(permit) = redeemed {
                    self.permits.insert(permit.id().clone(), permit);
                }
                outcome
            }
            Ask::Edit {
                mut hold,
                by,
                arguments,
                names,
                stopped,
                rivals,
            } => {
                let rivals = self.at(stopped, &rivals);
                let names: Vec<NameEntry> = names.iter().map(NameEntry::from).collect();
                let situation = Situation::at(now).with_names(&names);
                let edited = self.gate.edit(
                    &self.world,
                    &mut self.session,
                    &mut hold,
                    &by,
                    arguments,
                    situation,
                );
                self.leave(rivals);
                edited_outcome(edited.as_ref().map_err(AsRef::as_ref))
            }
            Ask::CloseHold { hold } => refused(&closed(&self.gate, &mut self.session, &hold)),
            Ask::NextTurn { execution } => {
                self.gate.next_turn(&mut self.session, &execution, now);
                Value::Null
            }
            Ask::Answer {
                execution,
                text,
                evidence,
                forced,
                tentative,
                asked_at,
                forgotten,
                not_run,
            } => {
                let mut known = Vec::with_capacity(evidence.len());
                for id in &evidence {
                    known.extend(self.evidence(number, Some(id))?.cloned());
                }
                let known: Vec<&Evidence> = known.iter().collect();
                let conclusion = match (forced, tentative) {
                    (true, _) => Conclusion::Forced,
                    (false, true) => Conclusion::Tentative,
                    (false, false) => Conclusion::Offered,
                };
                let decision = self.gate.decide_final_answer(
                    &mut self.session,
                    &execution,
                    &text,
                    &known,
                    &Question {
                        asked_at,
                        forgotten,
                        not_run,
                    },
                    conclusion,
                    now,
                );
                answer_outcome(&decision, &execution)
            }
        })
    }

    /// The token is not in a trace and never will be; one that is made here takes its place.
    fn redeem(
        &mut self,
        hold: Hold,
        (by, at): (UserId, Timestamp),
        names: &[Named],
        now: Timestamp,
    ) -> Result<Permit, Box<Refusal>> {
        let mut hold = Hold {
            status: HoldStatus::Pending,
            ..hold
        };
        let (token, mut record) = hold.open_for(by.clone(), [0; 32], at);
        let mut approval = Approval {
            by: &by,
            token: &token,
            record: &mut record,
        };
        self.gate.accept(&mut hold, &mut approval, at)?;
        let names: Vec<NameEntry> = names.iter().map(NameEntry::from).collect();
        let situation = Situation::at(now).with_names(&names);
        self.gate
            .redeem(&mut self.world, &mut self.session, &hold, &record, situation)
    }
}

const fn switch(stopped: bool) -> KillSwitch {
    if stopped {
        KillSwitch::Engaged
    } else {
        KillSwitch::Released
    }
}
