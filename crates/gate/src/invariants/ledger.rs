//! What was seen to happen, kept apart from what the gate believes.

use std::collections::{BTreeMap, BTreeSet};

use interlock_protocol::{
    ExecutionId, HoldId, Identity, IdentityFact, PermitId, ResourceId, ToolKind, Verification,
};
use jiff::Timestamp;

use crate::answer::Answer;
use crate::catalogue::Placement;
use crate::gate::Gate;
use crate::governance::Governance;
use crate::hold::Hold;
use crate::permit::Permit;
use crate::refusal::Refusal;
use crate::repetition::Fate;
use crate::session::Session;
use crate::verification::VerificationEnd;
use crate::world::World;

/// Who acts: a session by its place, and an execution in it.
pub(crate) type Actor = (usize, ExecutionId);

/// What was seen to happen, from outside the gate.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ledger {
    /// Counts what happened.
    pub(crate) clock: u64,
    pub(crate) discovered: BTreeSet<(usize, ResourceId)>,
    pub(crate) explicit: BTreeMap<(usize, ResourceId), Timestamp>,
    pub(crate) under_way: BTreeMap<PermitId, Run>,
    pub(crate) unseen: BTreeMap<PermitId, Unseen>,
    pub(crate) last: BTreeMap<Actor, Last>,
    pub(crate) issued: BTreeSet<PermitId>,
    pub(crate) approved: BTreeSet<HoldId>,
    /// How often the machine under a name was replaced by another.
    pub(crate) machines: BTreeMap<ResourceId, u32>,
    /// Writes that were seen to have worked, by actor and resource.
    pub(crate) done: BTreeSet<(usize, ResourceId)>,
}

/// The last call that an actor got a permit for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) call: String,
    pub(crate) permit: PermitId,
    pub(crate) fate: Fate,
}

/// A permit without a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) actor: Actor,
    pub(crate) kind: ToolKind,
    pub(crate) resource: Option<ResourceId>,
    pub(crate) issued_at: u64,
    pub(crate) since: Timestamp,
    pub(crate) begun: bool,
    /// The machine that it is for.
    pub(crate) machine: u32,
}

/// A write that ended and was not looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unseen {
    pub(crate) actor: Actor,
    pub(crate) resource: ResourceId,
    pub(crate) ended_at: u64,
    pub(crate) since: Timestamp,
    /// The machine that was written to.
    pub(crate) machine: u32,
}

/// One thing that happened.
#[derive(Debug)]
pub(crate) enum Occurrence<'a> {
    /// A permit was issued.
    Permitted {
        actor: &'a Actor,
        permit: &'a Permit,
        /// What its names stand for, looked up apart from the gate.
        meant: Option<&'a ResourceId>,
        call: &'a str,
        placement: Placement,
        governance: Governance<'a>,
        approved: Option<&'a Hold>,
    },
    /// A hold was approved with a token that was not made for it.
    WrongTokenTaken,
    /// A call was held.
    Held { actor: &'a Actor, hold: &'a Hold },
    /// A proposal was refused.
    Refused { actor: &'a Actor, refusal: &'a Refusal },
    /// A permit was consumed and the call runs.
    Begun { permit: &'a PermitId },
    /// A permit was consumed and nothing ran.
    NotBegun { permit: &'a PermitId },
    /// Running ended.
    Ended {
        permit: &'a PermitId,
        succeeded: bool,
        ends: &'a [VerificationEnd],
        found: &'a [ResourceId],
        asked: bool,
        /// Whether it read what happened, or what else there is.
        tells_history: bool,
    },
    /// A permit is gone, and what became of it is not known.
    Lost { permit: &'a PermitId },
    /// Code took a reading.
    Observed {
        resource: &'a ResourceId,
        ends: &'a [VerificationEnd],
        /// Whether code ends the execution.
        concluding: bool,
    },
    /// A final answer was let out.
    Answered {
        actor: &'a Actor,
        answer: &'a Answer,
        claims: Option<&'a ResourceId>,
    },
    /// A person named a resource.
    Mentioned {
        session: usize,
        resource: &'a ResourceId,
    },
    /// Another machine took over a name.
    Replaced { resource: &'a ResourceId },
    /// What was discovered was forgotten.
    Reset { session: usize, kept: &'a [ResourceId] },
}

/// What is looked at after each occurrence.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) gate: &'a Gate,
    pub(crate) world: &'a World,
    pub(crate) sessions: &'a [Session],
    pub(crate) now: Timestamp,
}

impl Ledger {
    /// Which machine has a name now.
    pub(crate) fn machine(&self, resource: &ResourceId) -> u32 {
        self.machines.get(resource).copied().unwrap_or_default()
    }

    /// The identity of the machine with this number.
    pub(crate) fn identity(machine: u32) -> Identity {
        Identity::default().with(IdentityFact::MachineId, format!("machine-{machine}"))
    }

    /// The number of the machine with this identity, where it is one of these.
    fn number_of(identity: &Identity) -> Option<u32> {
        let id = identity.get(IdentityFact::MachineId)?;
        id.strip_prefix("machine-")?.parse().ok()
    }

    /// All that was discovered is too old to be used.
    pub(crate) fn forget_discoveries(&mut self) {
        self.discovered.clear();
        self.explicit.clear();
    }

    pub(super) fn is_busy(&self, actor: &Actor) -> bool {
        self.under_way
            .values()
            .any(|run| run.kind == ToolKind::Write && run.actor == *actor)
            || self.unseen.values().any(|unseen| unseen.actor == *actor)
    }

    pub(super) fn has_explicit_child(&self, session: usize, host: &ResourceId, view: View<'_>) -> bool {
        self.explicit.iter().any(|((owner, id), at)| {
            *owner == session
                && id != host
                && id.host() == Some(host.uid())
                && Self::is_recent(*at, session, view)
                && view.sessions[session].context().get(id, view.now).is_some()
        })
    }

    pub(super) fn is_recent(at: Timestamp, session: usize, view: View<'_>) -> bool {
        view.now.duration_since(at) <= view.sessions[session].options().limits.explicit_window
    }

    pub(super) fn record(&mut self, happened: &Occurrence<'_>, now: Timestamp) {
        self.clock += 1;
        match happened {
            Occurrence::Permitted {
                actor,
                permit,
                call,
                approved,
                ..
            } => {
                self.issued.insert(permit.id().clone());
                let last = Last {
                    call: (*call).to_owned(),
                    permit: permit.id().clone(),
                    fate: Fate::Running,
                };
                self.last.insert((*actor).clone(), last);
                if let Some(hold) = approved {
                    self.approved.insert(hold.id.clone());
                }
                let run = Run {
                    actor: (*actor).clone(),
                    kind: permit.kind(),
                    resource: permit.plan().resource().cloned(),
                    issued_at: self.clock,
                    since: now,
                    begun: false,
                    machine: permit
                        .plan()
                        .target
                        .as_ref()
                        .and_then(|target| Self::number_of(&target.identity))
                        .unwrap_or_default(),
                };
                self.under_way.insert(permit.id().clone(), run);
            }
            Occurrence::Begun { permit } => {
                if let Some(run) = self.under_way.get_mut(*permit) {
                    run.begun = true;
                }
            }
            Occurrence::NotBegun { permit } => {
                if let Some(run) = self.under_way.remove(*permit) {
                    self.fate(&run.actor, permit, Fate::Failed);
                }
            }
            Occurrence::Ended {
                permit,
                succeeded,
                ends,
                found,
                asked,
                ..
            } => {
                let Some(run) = self.under_way.remove(*permit) else {
                    return;
                };
                self.fate(
                    &run.actor,
                    permit,
                    if *succeeded { Fate::Succeeded } else { Fate::Failed },
                );
                if run.kind == ToolKind::Resolve && *succeeded {
                    self.learn(run.actor.0, found, *asked, now);
                }
                self.wrote(permit, run, now);
                self.saw(ends);
            }
            Occurrence::Lost { permit } => {
                if let Some(run) = self.under_way.remove(*permit) {
                    self.fate(&run.actor, permit, Fate::Failed);
                    self.wrote(permit, run, now);
                }
            }
            Occurrence::Observed { ends, .. } => self.saw(ends),
            Occurrence::Mentioned { session, resource } => {
                self.learn(*session, std::slice::from_ref(*resource), true, now);
            }
            Occurrence::Replaced { resource } => {
                *self.machines.entry((*resource).clone()).or_default() += 1;
            }
            Occurrence::Reset { session, kept } => {
                self.discovered
                    .retain(|(owner, id)| owner != session || kept.contains(id));
                self.explicit
                    .retain(|(owner, id), _| owner != session || kept.contains(id));
                self.last.retain(|(owner, _), _| owner != session);
            }
            // The held call is the last one now.
            Occurrence::Held { actor, .. } => {
                self.last.remove(*actor);
            }
            Occurrence::WrongTokenTaken | Occurrence::Refused { .. } | Occurrence::Answered { .. } => {}
        }
    }

    fn learn(&mut self, session: usize, found: &[ResourceId], asked: bool, now: Timestamp) {
        for id in found {
            self.discovered.insert((session, id.clone()));
            if asked && found.len() == 1 {
                self.explicit.insert((session, id.clone()), now);
            }
        }
    }

    /// A write, whatever became of it, must be looked at.
    fn wrote(&mut self, permit: &PermitId, run: Run, now: Timestamp) {
        if let (ToolKind::Write, Some(resource)) = (run.kind, run.resource) {
            let unseen = Unseen {
                actor: run.actor,
                resource,
                ended_at: self.clock,
                since: now,
                machine: run.machine,
            };
            self.unseen.insert(permit.clone(), unseen);
        }
    }

    fn saw(&mut self, ends: &[VerificationEnd]) {
        for end in ends {
            let Some(unseen) = self.unseen.remove(&end.permit) else {
                continue;
            };
            match end.outcome {
                Verification::Verified | Verification::Observed | Verification::Inconclusive => {
                    self.done.insert((unseen.actor.0, unseen.resource));
                }
                Verification::Failed => {}
            }
        }
    }

    fn fate(&mut self, actor: &Actor, permit: &PermitId, fate: Fate) {
        if let Some(last) = self.last.get_mut(actor)
            && last.permit == *permit
        {
            last.fate = fate;
        }
    }
}
