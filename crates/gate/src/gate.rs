//! The one path that every proposal takes.

use std::collections::BTreeSet;
use std::sync::Arc;

use interlock_protocol::{
    Arguments, ContentHash, ControlLevel, ErrorCode, ExecutionId, Expectation, HoldId, PermitId, ResourceId,
    RiskLevel, ToolCall, ToolKind, ToolName, UserId,
};
use interlock_shell::Verdict;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::catalogue::{Action, Catalogue, Tool};
use crate::context::Access;
use crate::governance::{self, Governance, Say};
use crate::hold::{Hold, HoldStatus};
use crate::intent;
use crate::permit::Permit;
use crate::plan::{self, Plan};
use crate::refusal::{About, Recovery, Refusal};
use crate::repetition::{self, Fate, LastCall, Repeat};
use crate::resolution::{self, Resolved, StrictResolution};
use crate::routing;
use crate::rule::Rule;
use crate::sabotage::Sabotage;
use crate::session::{OpenHold, Outstanding, Session};
use crate::state::State;
use crate::world::{KillSwitch, World, Writer};

/// How long a permit waits to begin.
pub const PERMIT_TTL: SignedDuration = SignedDuration::from_mins(1);
/// How long a hold waits for a human.
pub const HOLD_TTL: SignedDuration = SignedDuration::from_mins(10);
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
    /// How long after a write code itself takes the reading.
    pub verify_within: SignedDuration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strict_resolution: StrictResolution::On,
            egress: BTreeSet::new(),
            permit_ttl: PERMIT_TTL,
            hold_ttl: HOLD_TTL,
            verify_within: VERIFY_WITHIN,
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
}

impl Situation<'_> {
    /// A moment about which governance has nothing to say.
    pub const fn at(now: Timestamp) -> Self {
        Self {
            now,
            governance: Governance::Absent,
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

    /// Answers a proposal to run a tool.
    pub fn decide(
        &self,
        world: &mut World,
        session: &mut Session,
        execution: &ExecutionId,
        call: ToolCall,
        situation: Situation<'_>,
    ) -> Decision {
        match self.assess(world, session, execution, call, Origin::Proposed, situation) {
            Err(refusal) => Decision::Block(Box::new(self.note_refusal(
                session,
                execution,
                refusal,
                situation.now,
            ))),
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
    ) -> Result<Assessed, Refusal> {
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
        let resolved = self.resolve(session, tool, action, &arguments, &about, now);
        match origin {
            Origin::Proposed => {
                let target = resolved.as_ref().ok().and_then(Resolved::id);
                self.check_repetition(session, execution, fingerprint, kind, target, &about)?;
            }
            Origin::Approved { .. } | Origin::Edited { .. } => {}
        }
        let resolved = resolved?;
        self.check_writer(world, kind, &resolved, &about)?;
        if self.intact(Rule::Routing) {
            routing::check(&session.context, action.placement, &resolved, &about, now)?;
        }
        let judged = match tool.command(action, &arguments) {
            None => None,
            Some(command) => self.judge(kind, command, &about)?,
        };
        let plan = Plan {
            session: session.id.clone(),
            execution: execution.clone(),
            call: call.id,
            tool: call.tool,
            action: about.action.clone(),
            expectation: expectation(action, kind, &arguments, &resolved, &about)?,
            arguments,
            kind,
            risk: judged
                .as_ref()
                .map_or(action.risk, |judged| governance::worse(action.risk, judged.risk)),
            target: resolved.target(),
            command: judged.as_ref().map(|judged| judged.command.clone()),
            timeout_seconds: tool.definition().timeout_seconds.get(),
        };
        let say = if self.intact(Rule::Policy) {
            governance::check(situation.governance, tool, &plan, &about)?
        } else {
            Say::Nothing
        };
        self.check_kill_switch(world, kind, &about)?;
        let mut reasons: Vec<String> = Vec::new();
        reasons.extend(judged.and_then(|judged| judged.hold));
        if tool.definition().requires_approval {
            reasons.push(format!("`{}` requires approval", plan.tool));
        }
        match say {
            Say::Nothing => {}
            Say::Approve(why) => reasons.push(why),
        }
        reasons.extend(self.check_level(session.options.level, &plan, &about)?);
        self.check_open_hold(session, execution, &reasons, origin, &about, now)?;
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

    /// Rule 1: the tool is known, allowed for this session, and its arguments fit its schema.
    fn known_tool(
        &self,
        session: &Session,
        name: &ToolName,
        arguments: Arguments,
        state: State,
    ) -> Result<(&Tool, Arguments), Refusal> {
        let about = |kind| About {
            tool: Some(name.clone()),
            action: None,
            kind: Some(kind),
            state,
        };
        let Some(tool) = self.catalogue.get(name.as_str()) else {
            let known: Vec<&str> = self
                .catalogue
                .tools()
                .map(|tool| &tool.definition().name)
                .filter(|name| session.options.tools.contains(name))
                .map(ToolName::as_str)
                .collect();
            return Err(Refusal::new(
                Rule::ToolKnown,
                ErrorCode::NotFound,
                about(ToolKind::Write),
                format!("There is no tool `{name}`."),
            )
            .detail("tools", known)
            .recovery(Recovery::Automatic));
        };
        if !session.options.tools.contains(name) && self.intact(Rule::ToolAllowed) {
            return Err(Refusal::new(
                Rule::ToolAllowed,
                ErrorCode::ActionNotAllowed,
                about(tool.action(&arguments).kind),
                format!("This session may not use `{name}`."),
            ));
        }
        let arguments = Value::Object(arguments);
        let checked = tool.validate(&arguments);
        let Value::Object(arguments) = arguments else {
            // Wrapped as an object just above.
            return Ok((tool, Arguments::new()));
        };
        match checked {
            Err((at, why)) if self.intact(Rule::Arguments) => Err(Refusal::new(
                Rule::Arguments,
                ErrorCode::InvalidInput,
                about(tool.action(&arguments).kind),
                format!("The arguments of `{name}` do not fit: {why}."),
            )
            .detail("at", at)
            .detail("problem", why)),
            Err(_) | Ok(()) => Ok((tool, arguments)),
        }
    }

    /// Rule 3: the execution's state allows a call of this kind.
    fn check_state(
        &self,
        session: &Session,
        execution: &ExecutionId,
        kind: ToolKind,
        about: &About,
    ) -> Result<(), Refusal> {
        let state = about.state;
        if state.admits(kind) || !self.intact(Rule::StateMachine) {
            return Ok(());
        }
        let refuse = |message: String| {
            Refusal::new(Rule::StateMachine, ErrorCode::FsmBlocked, about.clone(), message)
                .detail("state", state.as_str())
                .detail("kind", kind.as_str())
        };
        Err(match state {
            State::Resolving => {
                refuse("Nothing was discovered or read yet; a write needs that first.".to_owned())
                    .hint("A successful discovery or read makes writes possible.")
            }
            State::Writing => refuse("A write of this execution is under way.".to_owned())
                .hint("The receipt of the running write makes the next one possible."),
            State::Verifying => {
                let resources: Vec<String> = session
                    .pending(execution)
                    .iter()
                    .map(|pending| pending.resource.to_string())
                    .collect();
                refuse(format!(
                    "The last write on {} was not verified yet.",
                    resources.join(", ")
                ))
                .detail("unverified_resources", resources)
                .hint("A read of the written resource, taken after the write, verifies it.")
            }
            State::Concluded => refuse("The final answer was given.".to_owned()).recovery(Recovery::Outside),
            // Reading admits every kind.
            State::Reading => refuse("The state does not admit it.".to_owned()),
        })
    }

    /// Rule 4: the call does not repeat the one before. Looking again at a resource that is being verified does not
    /// count as repeating.
    fn check_repetition(
        &self,
        session: &mut Session,
        execution: &ExecutionId,
        fingerprint: ContentHash,
        kind: ToolKind,
        target: Option<&ResourceId>,
        about: &About,
    ) -> Result<(), Refusal> {
        if !self.intact(Rule::Repetition) {
            return Ok(());
        }
        let Some(execution) = session.executions.get_mut(execution) else {
            return Ok(());
        };
        let looks_again = kind != ToolKind::Write
            && target.is_some_and(|id| execution.pending.iter().any(|pending| pending.resource == *id))
            && execution
                .last
                .as_ref()
                .is_none_or(|last| last.fate != Fate::Running);
        if looks_again {
            return Ok(());
        }
        let refuse = |message: &str, repeats: u32| {
            Refusal::new(Rule::Repetition, ErrorCode::LoopDetected, about.clone(), message)
                .detail("repeats", repeats)
                .detail("threshold", repetition::THRESHOLD)
        };
        match repetition::check(&mut execution.last, fingerprint) {
            Repeat::None => Ok(()),
            Repeat::Recoverable(repeats) => Err(refuse(
                "The same call came directly after itself, and the first did not fail.",
                repeats,
            )
            .hint("The result of the first call stands; another call is possible.")),
            Repeat::Failure(repeats) => Err(refuse("The same call came again and again.", repeats).failed()),
        }
    }

    /// Rule 5: the target was discovered in this session.
    fn resolve(
        &self,
        session: &mut Session,
        tool: &Tool,
        action: &Action,
        arguments: &Arguments,
        about: &About,
        now: Timestamp,
    ) -> Result<Resolved, Refusal> {
        let strict = if self.intact(Rule::StrictResolution) {
            self.options.strict_resolution
        } else {
            StrictResolution::Off
        };
        resolution::resolve(strict, &mut session.context, tool, action, arguments, about, now)
    }

    /// Rule 5, also: nobody else is writing to the target.
    fn check_writer(
        &self,
        world: &World,
        kind: ToolKind,
        resolved: &Resolved,
        about: &About,
    ) -> Result<(), Refusal> {
        match kind {
            ToolKind::Resolve | ToolKind::Read => return Ok(()),
            ToolKind::Write => {}
        }
        let Some(resource) = &resolved.resource else {
            return Ok(());
        };
        match world.writer_of(&resource.id) {
            Some(_) if self.intact(Rule::OneWriter) => Err(Refusal::new(
                Rule::OneWriter,
                ErrorCode::FsmBlocked,
                about.clone(),
                format!("Someone else is writing to `{}`.", resource.id),
            )
            .detail("resource_id", resource.id.to_string())
            .hint("The receipt of the running write makes the next one possible.")),
            Some(_) | None => Ok(()),
        }
    }

    /// Rule 7: what reaches a shell does what its tool is for.
    fn judge(
        &self,
        kind: ToolKind,
        command: &Value,
        about: &About,
    ) -> Result<Option<intent::Judged>, Refusal> {
        match intent::check(self.analyse, &self.options.egress, kind, command, about) {
            Ok(judged) => Ok(Some(judged)),
            Err(refusal) if self.intact(Rule::CommandIntent) => Err(refusal),
            Err(_) => Ok(command.as_str().map(|command| intent::Judged {
                command: command.to_owned(),
                risk: RiskLevel::Low,
                hold: None,
            })),
        }
    }

    /// Before anyone is asked: writes are not stopped.
    fn check_kill_switch(&self, world: &World, kind: ToolKind, about: &About) -> Result<(), Refusal> {
        match (kind, world.kill_switch) {
            (ToolKind::Write, KillSwitch::Engaged) => Err(Refusal::new(
                Rule::KillSwitch,
                ErrorCode::PolicyBlocked,
                about.clone(),
                "Writes are stopped by the kill switch.",
            )),
            (ToolKind::Write, KillSwitch::Released) | (ToolKind::Resolve | ToolKind::Read, _) => Ok(()),
        }
    }

    /// Rule 9: control level and risk decide between a permit and a hold.
    fn check_level(
        &self,
        level: ControlLevel,
        plan: &Plan,
        about: &About,
    ) -> Result<Option<String>, Refusal> {
        match plan.kind {
            ToolKind::Resolve | ToolKind::Read => return Ok(None),
            ToolKind::Write => {}
        }
        if !self.intact(Rule::ControlLevel) {
            return Ok(None);
        }
        match (level, plan.risk) {
            (ControlLevel::ReadOnly, _) => Err(Refusal::new(
                Rule::ControlLevel,
                ErrorCode::ActionNotAllowed,
                about.clone(),
                "The control level is `read_only`: nothing may be changed.",
            )
            .detail("control_level", level.as_str())),
            (ControlLevel::Controlled, _) => Ok(Some("the control level is `controlled`".to_owned())),
            (ControlLevel::Autonomous, RiskLevel::High) => Ok(Some("the risk is high".to_owned())),
            (ControlLevel::Autonomous, RiskLevel::Low | RiskLevel::Medium) => Ok(None),
        }
    }

    /// One call of an execution waits for a human at a time, and no write passes it.
    fn check_open_hold(
        &self,
        session: &Session,
        execution: &ExecutionId,
        reasons: &[String],
        origin: Origin<'_>,
        about: &About,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let open = session
            .executions
            .get(execution)
            .and_then(|execution| execution.hold.as_ref())
            .filter(|hold| now < hold.expires_at);
        let Some(open) = open else { return Ok(()) };
        let own = match origin {
            Origin::Approved { hold } | Origin::Edited { hold } => *hold == open.id,
            Origin::Proposed => false,
        };
        if own || (about.kind != Some(ToolKind::Write) && reasons.is_empty()) {
            return Ok(());
        }
        Err(Refusal::new(
            Rule::Approval,
            ErrorCode::ApprovalRequired,
            about.clone(),
            "A call of this execution already waits for a human.",
        )
        .detail("hold", open.id.as_str())
        .hint("The decision on the open hold makes the next one possible."))
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
        let id = PermitId::from_bytes(id_bytes(plan_hash, order, now));
        let plan = Arc::new(plan);
        if let (ToolKind::Write, Some(resource)) = (plan.kind, plan.resource()) {
            let writer = Writer {
                session: session.id.clone(),
                execution: plan.execution.clone(),
                permit: id.clone(),
            };
            world.take(resource.clone(), writer);
        }
        let execution = session.execution_mut(&plan.execution);
        execution.last = Some(LastCall {
            fingerprint,
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
            },
        );
        match plan.kind {
            ToolKind::Write => execution.state = State::Writing,
            ToolKind::Resolve | ToolKind::Read => {}
        }
        let expires_at = now
            .saturating_add(self.options.permit_ttl)
            .unwrap_or(Timestamp::MAX);
        Permit::issue(id, plan, plan_hash, expires_at, approved_by)
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
            fate: Fate::Held,
            repeats: 0,
        });
        execution.hold = Some(OpenHold {
            id: id.clone(),
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
        refusal: Refusal,
        now: Timestamp,
    ) -> Refusal {
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

/// What must be observed after a write.
fn expectation(
    action: &Action,
    kind: ToolKind,
    arguments: &Arguments,
    resolved: &Resolved,
    about: &About,
) -> Result<Option<Expectation>, Refusal> {
    match kind {
        ToolKind::Resolve | ToolKind::Read => return Ok(None),
        ToolKind::Write => {}
    }
    let (Some(rule), Some(resource)) = (&action.expect, &resolved.resource) else {
        return Ok(Some(Expectation::FreeForm));
    };
    rule.fill(arguments, resource.id.kind())
        .map(Some)
        .map_err(|missing| {
            Refusal::new(
                Rule::Arguments,
                ErrorCode::InvalidInput,
                about.clone(),
                format!("Argument `{missing}` is missing: without it the effect could not be checked."),
            )
            .detail("at", format!("/{missing}"))
        })
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
