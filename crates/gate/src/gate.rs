//! The one path that every proposal takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use interlock_protocol::{ContentHash, ExecutionId, HoldId, PermitId, RiskLevel, ToolCall, ToolKind, UserId};
use interlock_shell::Verdict;
use jiff::{SignedDuration, Timestamp};

use crate::answer::EvidenceRules;
use crate::catalogue::{Action, Catalogue};
use crate::context::Access;
use crate::governance::{self, Governance, Say};
use crate::hold::{Hold, HoldStatus};
use crate::intent;
use crate::masked;
use crate::permit::Permit;
use crate::plan::{self, Plan};
use crate::refusal::{About, Refusal};
use crate::repetition::{self, Fate, LastCall};
use crate::resolution::{NameEntry, Resolved, StrictResolution};
use crate::routing;
use crate::rule::Rule;
use crate::rules;
use crate::sabotage::{Flaw, Sabotage};
use crate::sandbox::RequireSandbox;
use crate::session::{OpenHold, Outstanding, Session};
use crate::state::State;
use crate::world::{World, Writer};

/// How long a permit waits to begin.
pub const PERMIT_TTL: SignedDuration = SignedDuration::from_mins(1);
/// How long a hold waits for a human.
pub const HOLD_TTL: SignedDuration = SignedDuration::from_mins(10);
/// How long after a human's yes its plan may still begin.
pub const REDEEM_WITHIN: SignedDuration = SignedDuration::from_hours(1);
/// How long after a write code itself takes the reading.
pub const VERIFY_WITHIN: SignedDuration = SignedDuration::from_mins(2);

/// What an operator may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether a target must have been discovered.
    pub strict_resolution: StrictResolution,
    /// Hosts that commands may reach without a human.
    pub egress: BTreeSet<String>,
    /// How long a permit waits to begin.
    pub permit_ttl: SignedDuration,
    /// How long a hold waits for a human.
    pub hold_ttl: SignedDuration,
    /// How long after a human's yes its plan may still begin.
    pub redeem_within: SignedDuration,
    /// How long after a write code itself takes the reading.
    pub verify_within: SignedDuration,
    /// How many identical calls in a row are refused recoverably before it counts as a failure.
    pub repetition_threshold: u32,
    /// On which resources a command that reads must run in a sandbox.
    pub read_sandbox: RequireSandbox,
    /// Files and folders of plain data: in `autonomous` they may be changed without a human.
    pub data_files: BTreeSet<String>,
    /// How readings are weighed. Not for operators: records are replayed with the rules that they were made with.
    pub evidence_rules: EvidenceRules,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strict_resolution: StrictResolution::On,
            egress: BTreeSet::new(),
            permit_ttl: PERMIT_TTL,
            hold_ttl: HOLD_TTL,
            redeem_within: REDEEM_WITHIN,
            verify_within: VERIFY_WITHIN,
            repetition_threshold: repetition::THRESHOLD,
            read_sandbox: RequireSandbox::Never,
            data_files: BTreeSet::new(),
            evidence_rules: EvidenceRules::ByReading,
        }
    }
}

/// The gate: the catalogue and what an operator set. Everything that changes comes in as a value.
#[derive(Debug)]
pub struct Gate {
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) options: Options,
    pub(crate) analyse: fn(&str) -> Verdict,
    #[cfg(test)]
    pub(crate) sabotage: Option<Sabotage>,
}

/// What holds at the moment of a decision, from outside.
#[derive(Debug, Clone, Copy)]
pub struct Situation<'a> {
    /// The time.
    pub now: Timestamp,
    /// What governance says.
    pub governance: Governance<'a>,
    /// What the names in the call stand for, as far as code knows. Knowing a name is not discovering its resource.
    pub names: &'a [NameEntry],
}

impl Situation<'_> {
    /// A moment about which governance has nothing to say.
    pub const fn at(now: Timestamp) -> Self {
        Self {
            now,
            governance: Governance::Absent,
            names: &[],
        }
    }

    /// The same moment, with what the names in a call stand for.
    #[must_use]
    pub const fn with_names<'b>(self, names: &'b [NameEntry]) -> Situation<'b>
    where
        Self: 'b,
    {
        Situation {
            now: self.now,
            governance: self.governance,
            names,
        }
    }
}

/// The answer to a proposal.
#[derive(Debug)]
#[must_use]
pub enum Decision {
    /// It may run, once, as planned.
    Allow(Permit),
    /// A human decides.
    Hold(Box<Hold>),
    /// It may not run.
    Block(Box<Refusal>),
}

/// Where a call comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A proposer.
    Proposed,
    /// A hold that a human approved.
    Approved { hold: &'a HoldId },
    /// A human who changed the plan of a hold.
    Edited { hold: &'a HoldId },
}

/// A call that every rule up to the human let pass.
pub(crate) struct Assessed {
    pub(crate) plan: Plan,
    pub(crate) fingerprint: ContentHash,
    pub(crate) access: Access,
    /// Why a human must see it; empty if none must.
    pub(crate) reasons: Vec<String>,
}

impl Gate {
    /// A gate over these tools.
    pub fn new(catalogue: Arc<Catalogue>, options: Options) -> Self {
        Self {
            catalogue,
            options,
            analyse: interlock_shell::classify,
            #[cfg(test)]
            sabotage: None,
        }
    }

    /// The tools.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// What an operator set.
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Answers a proposal to run a tool.
    pub fn decide(
        &self,
        world: &mut World,
        session: &mut Session,
        execution: &ExecutionId,
        call: ToolCall,
        situation: Situation<'_>,
    ) -> Decision {
        let id = call.id.clone();
        match self.assess(world, session, execution, call, Origin::Proposed, situation) {
            Err(refusal) => {
                session.note_refused(execution, &id, &refusal, situation.now);
                Decision::Block(self.note_refusal(session, execution, refusal, situation.now))
            }
            Ok(assessed) if assessed.reasons.is_empty() => {
                Decision::Allow(self.permit(world, session, assessed, None, situation.now))
            }
            Ok(assessed) => Decision::Hold(Box::new(self.hold(session, assessed, situation.now))),
        }
    }

    /// Asks every rule, in order.
    pub(crate) fn assess(
        &self,
        world: &World,
        session: &mut Session,
        execution: &ExecutionId,
        call: ToolCall,
        origin: Origin<'_>,
        situation: Situation<'_>,
    ) -> Result<Assessed, Box<Refusal>> {
        let now = situation.now;
        let state = session.state(execution);
        let (tool, arguments) = self.known_tool(session, &call.tool, call.arguments, state)?;
        let action = tool.action(&arguments);
        let kind = self.kind_of(action);
        let about = About {
            tool: Some(call.tool.clone()),
            action: tool.action_name(&arguments).map(str::to_owned),
            kind: Some(kind),
            state,
        };
        self.check_state(session, execution, kind, &about)?;
        let fingerprint = plan::fingerprint(&call.tool, &arguments);
        // Looked up before repetition is asked, which must know the target; refused after it.
        let resolved = self.resolve(session, tool, action, &arguments, situation.names, &about, now);
        match origin {
            Origin::Proposed => {
                let target = resolved.as_ref().ok().and_then(Resolved::id);
                self.check_repetition(session, execution, fingerprint, (kind, target), &about, now)?;
            }
            Origin::Approved { .. } | Origin::Edited { .. } => {}
        }
        let resolved = resolved?;
        self.check_writer(world, kind, &resolved, &about)?;
        if self.intact(Rule::Routing) {
            routing::check(&session.context, action.placement, &resolved, &about, now)?;
        }
        if kind == ToolKind::Write && !self.broken(Sabotage::MaskedContentPasses) {
            masked::check(&arguments, &about)?;
        }
        let judged = self.judge(tool, action, &arguments, &about)?;
        let sandbox_required = self.check_sandbox(session, judged.as_ref(), &resolved, &about)?;
        let path = action.path.as_ref().and_then(|path| arguments.get(path));
        let (least_risk, shows) = intent::check_path(kind, path);
        let command = judged.as_ref().map(|judged| judged.command.as_str());
        let harm = self.harm(action, kind, path, command, &resolved);
        let least_risk = governance::worse(
            least_risk,
            harm.as_ref().map_or(RiskLevel::Low, |_| RiskLevel::High),
        );
        let expectation = rules::expectation(action, kind, &arguments, &resolved, &about)?;
        let plan = Plan {
            before: session.file_before(resolved.id(), expectation.as_ref()),
            session: session.id.clone(),
            execution: execution.clone(),
            call: call.id,
            tool: call.tool,
            action: about.action.clone(),
            expectation,
            arguments,
            kind,
            risk: governance::worse(
                least_risk,
                judged
                    .as_ref()
                    .map_or(action.risk, |judged| governance::worse(action.risk, judged.risk)),
            ),
            target: resolved.target(),
            command: judged.as_ref().map(|judged| judged.command.clone()),
            undo: action.undo,
            timeout_seconds: tool.definition().timeout_seconds.get(),
            sandbox_required,
        };
        let say = governance::check(situation.governance, tool, &plan, &about, |rule| {
            self.intact(rule)
        })?;
        self.check_kill_switch(world, kind, &about)?;
        let mut reasons: Vec<String> = Vec::new();
        let by_command = judged.and_then(|judged| judged.hold).or(shows);
        reasons.extend(by_command.filter(|_| !self.broken(Sabotage::SecretsNeedNobody)));
        if tool.definition().requires_approval && !self.broken(Sabotage::ToolsNeedNobody) {
            reasons.push(format!("`{}` requires approval", plan.tool));
        }
        match say {
            Say::Approve(why) if !self.broken(Sabotage::GovernanceNeedsNobody) => reasons.push(why),
            Say::Nothing | Say::Approve(_) => {}
        }
        reasons.extend(self.check_level(session.options.level, &plan, harm.as_deref(), &about)?);
        Self::check_open_hold(session, execution, &reasons, origin, &about, now)?;
        let access = match &action.opens {
            Some(argument) if plan.arguments.contains_key(argument) => Access::Explicit,
            Some(_) | None => Access::Bulk,
        };
        Ok(Assessed {
            plan,
            fingerprint,
            access,
            reasons,
        })
    }

    pub(crate) fn permit(
        &self,
        world: &mut World,
        session: &mut Session,
        assessed: Assessed,
        approved_by: Option<UserId>,
        now: Timestamp,
    ) -> Permit {
        let Assessed {
            plan,
            fingerprint,
            access,
            reasons: _,
        } = assessed;
        let plan_hash = plan::hash(&plan, fingerprint);
        let order = session.next_order();
        let id = if self.broken(Sabotage::PermitIdsRepeat) {
            PermitId::from_bytes([0; 16])
        } else {
            PermitId::from_bytes(id_bytes(plan_hash, order, now))
        };
        let plan = Arc::new(plan);
        if let (ToolKind::Write, Some(resource)) = (plan.kind, plan.resource()) {
            let writer = Writer {
                session: session.id.clone(),
                execution: plan.execution.clone(),
                permit: id.clone(),
            };
            world.take(resource.clone(), writer);
        }
        session
            .not_run
            .remove(&(plan.execution.clone(), plan.call.clone()));
        let execution = session.execution_mut(&plan.execution);
        execution.last = Some(LastCall {
            fingerprint,
            permit: Some(id.clone()),
            fate: Fate::Running,
            repeats: 0,
        });
        execution.outstanding.insert(
            id.clone(),
            Outstanding {
                plan: Arc::clone(&plan),
                plan_hash,
                fingerprint,
                access,
                order,
                issued_at: now,
                approved_by: approved_by.clone(),
                baseline: Vec::new(),
            },
        );
        match plan.kind {
            ToolKind::Write => execution.state = State::Writing,
            ToolKind::Resolve | ToolKind::Read => {}
        }
        let expires_at = now
            .saturating_add(self.options.permit_ttl)
            .unwrap_or(Timestamp::MAX);
        Permit::issue(id, plan, plan_hash, expires_at, approved_by, self.flaw())
    }

    pub(crate) fn hold(&self, session: &mut Session, assessed: Assessed, now: Timestamp) -> Hold {
        let Assessed {
            plan,
            fingerprint,
            access: _,
            reasons,
        } = assessed;
        let plan_hash = plan::hash(&plan, fingerprint);
        let order = session.next_order();
        let id = HoldId::from_bytes(id_bytes(plan_hash, order, now));
        let expires_at = now
            .saturating_add(self.options.hold_ttl)
            .unwrap_or(Timestamp::MAX);
        let execution = session.execution_mut(&plan.execution);
        execution.last = Some(LastCall {
            fingerprint,
            permit: None,
            fate: Fate::Held,
            repeats: 0,
        });
        execution.hold = Some(OpenHold {
            id: id.clone(),
            plan: Arc::new(plan.clone()),
            plan_hash,
            fingerprint,
            expires_at,
        });
        Hold {
            id,
            call: plan.call.clone(),
            plan,
            plan_hash,
            reasons,
            owner: session.options.owner.clone(),
            four_eyes: session.options.four_eyes,
            opened_at: now,
            expires_at,
            edited_from: None,
            status: HoldStatus::Pending,
        }
    }

    /// Remembers a refusal for the recovery rate, and counts refused writes.
    pub(crate) fn note_refusal(
        &self,
        session: &mut Session,
        execution: &ExecutionId,
        refusal: Box<Refusal>,
        now: Timestamp,
    ) -> Box<Refusal> {
        let refusal = if self.broken(Sabotage::RefusalsTellStories) {
            refusal.hint("Please let me suggest that you try again.")
        } else {
            refusal
        };
        let order = session.next_order();
        let known = refusal
            .about
            .tool
            .as_ref()
            .filter(|tool| self.catalogue.get(tool.as_str()).is_some());
        let execution = session.execution_mut(execution);
        if refusal.rule == Rule::StateMachine && refusal.about.kind == Some(ToolKind::Write) {
            execution.blocked_writes = execution.blocked_writes.saturating_add(1);
        }
        if let (true, Some(tool)) = (refusal.auto_recoverable(), known) {
            execution.recoveries.track(order, refusal.code, tool, now);
        }
        refusal
    }

    /// What the classification says this call does.
    fn kind_of(&self, action: &Action) -> ToolKind {
        match action.kind {
            ToolKind::Write if self.broken(Sabotage::WriteIsRead) => ToolKind::Read,
            kind => kind,
        }
    }

    /// Whether a rule is in force. Always, but in the tests that show what happens otherwise.
    pub(crate) fn intact(&self, rule: Rule) -> bool {
        !self.broken(Sabotage::Skip(rule))
    }

    /// What the tests broke on purpose, for a permit to carry.
    #[cfg(test)]
    const fn flaw(&self) -> Flaw {
        Flaw {
            sabotage: self.sabotage,
        }
    }

    /// Nothing is broken on purpose outside the tests.
    #[cfg(not(test))]
    #[expect(
        clippy::unused_self,
        reason = "a broken gate of the tests answers differently"
    )]
    const fn flaw(&self) -> Flaw {
        Flaw {}
    }

    /// Whether the tests broke this on purpose.
    #[cfg(test)]
    pub(crate) fn broken(&self, sabotage: Sabotage) -> bool {
        self.sabotage == Some(sabotage)
    }

    /// Nothing is broken on purpose outside the tests.
    #[cfg(not(test))]
    #[expect(
        clippy::unused_self,
        reason = "a broken gate of the tests answers differently"
    )]
    pub(crate) const fn broken(&self, _sabotage: Sabotage) -> bool {
        false
    }
}

/// An id that the same inputs make again: replaying a trace reproduces it.
fn id_bytes(plan_hash: ContentHash, order: u64, now: Timestamp) -> [u8; 16] {
    let mut input = Vec::with_capacity(64);
    input.extend_from_slice(plan_hash.as_bytes());
    input.extend_from_slice(&order.to_le_bytes());
    input.extend_from_slice(&now.as_nanosecond().to_le_bytes());
    let digest = ContentHash::of(input);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    bytes
}
