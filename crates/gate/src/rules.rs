//! The rules that look at the gate's own state. Those about one thing have rooms of their own: resolution, routing,
//! intent, governance.

use interlock_protocol::{
    Arguments, ContentHash, ControlLevel, ErrorCode, ExecutionId, Expectation, ResourceId, RiskLevel,
    ToolKind, ToolName,
};
use jiff::Timestamp;
use serde_json::Value;

use crate::catalogue::{Action, Tool};
use crate::gate::{Gate, Origin};
use crate::harm;
use crate::intent;
use crate::plan::Plan;
use crate::refusal::{About, Recovery, Refusal};
use crate::repetition::{self, Fate, Repeat};
use crate::resolution::{self, NameEntry, Resolved, StrictResolution};
use crate::rule::Rule;
use crate::sabotage::Sabotage;
use crate::session::Session;
use crate::state::State;
use crate::world::{KillSwitch, World};

impl Gate {
    /// Rule 1: the tool is known, allowed for this session, and its arguments fit its schema.
    pub(crate) fn known_tool(
        &self,
        session: &Session,
        name: &ToolName,
        arguments: Arguments,
        state: State,
    ) -> Result<(&Tool, Arguments), Box<Refusal>> {
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
            Err(_) | Ok(()) => {
                let arguments = tool.normalised(arguments);
                match tool.contradicts(&arguments) {
                    Some(argument) if self.intact(Rule::Arguments) => Err(Refusal::new(
                        Rule::Arguments,
                        ErrorCode::InvalidInput,
                        about(tool.action(&arguments).kind),
                        format!("Argument `{argument}` does not agree with the action of the call."),
                    )
                    .detail("at", format!("/{argument}"))
                    .recovery(Recovery::Automatic)),
                    Some(_) | None => Ok((tool, arguments)),
                }
            }
        }
    }

    /// Rule 3: the execution's state allows a call of this kind.
    pub(crate) fn check_state(
        &self,
        session: &Session,
        execution: &ExecutionId,
        kind: ToolKind,
        about: &About,
    ) -> Result<(), Box<Refusal>> {
        let state = about.state;
        let concluding = session
            .executions
            .get(execution)
            .is_some_and(|execution| execution.concluding);
        if concluding && self.intact(Rule::StateMachine) {
            return Err(Refusal::new(
                Rule::StateMachine,
                ErrorCode::FsmBlocked,
                about.clone(),
                "The execution is being concluded.",
            )
            .detail("state", state.as_str())
            .detail("kind", kind.as_str())
            .recovery(Recovery::Outside));
        }
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
    pub(crate) fn check_repetition(
        &self,
        session: &mut Session,
        execution: &ExecutionId,
        fingerprint: ContentHash,
        looks: (ToolKind, Option<&ResourceId>),
        about: &About,
        now: Timestamp,
    ) -> Result<(), Box<Refusal>> {
        if !self.intact(Rule::Repetition) {
            return Ok(());
        }
        let Some(execution) = session.executions.get_mut(execution) else {
            return Ok(());
        };
        let (kind, target) = looks;
        // Nobody decided in time: the call waits for a human no longer.
        if let (Some(last), Some(hold)) = (&mut execution.last, &execution.hold)
            && last.fate == Fate::Held
            && last.fingerprint == hold.fingerprint
            && now >= hold.expires_at
        {
            last.fate = Fate::Failed;
        }
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
                .detail("threshold", self.options.repetition_threshold)
        };
        match repetition::check(
            &mut execution.last,
            fingerprint,
            self.options.repetition_threshold,
        ) {
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
    #[expect(
        clippy::too_many_arguments,
        reason = "a target follows from the call, what the session discovered and what code knows"
    )]
    pub(crate) fn resolve(
        &self,
        session: &mut Session,
        tool: &Tool,
        action: &Action,
        arguments: &Arguments,
        names: &[NameEntry],
        about: &About,
        now: Timestamp,
    ) -> Result<Resolved, Box<Refusal>> {
        let names = if self.broken(Sabotage::NamesAreNotResolved) {
            &[]
        } else {
            names
        };
        let strict = if self.intact(Rule::StrictResolution) {
            self.options.strict_resolution
        } else {
            StrictResolution::Off
        };
        let known = resolution::Names {
            context: &mut session.context,
            directory: names,
            now,
        };
        resolution::resolve(strict, known, tool, action, arguments, about)
    }

    /// Rule 5, also: nobody else is writing to the target.
    pub(crate) fn check_writer(
        &self,
        world: &World,
        kind: ToolKind,
        resolved: &Resolved,
        about: &About,
    ) -> Result<(), Box<Refusal>> {
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
    pub(crate) fn judge(
        &self,
        tool: &Tool,
        action: &Action,
        arguments: &Arguments,
        about: &About,
    ) -> Result<Option<intent::Judged>, Box<Refusal>> {
        let kind = about.kind.unwrap_or(action.kind);
        let Some(command) = tool.command(action, arguments) else {
            return match &action.command {
                Some(missing) if self.intact(Rule::Arguments) => Err(Refusal::new(
                    Rule::Arguments,
                    ErrorCode::InvalidInput,
                    about.clone(),
                    format!("Argument `{missing}` is missing: there is nothing to run."),
                )
                .detail("at", format!("/{missing}"))
                .recovery(Recovery::Automatic)),
                Some(_) | None => Ok(None),
            };
        };
        match intent::check(self.analyse, &self.options.egress, kind, command, about) {
            Ok(judged) => Ok(Some(judged)),
            Err(refusal) if self.intact(Rule::CommandIntent) => Err(refusal),
            Err(_) => Ok(command.as_str().map(|command| intent::Judged {
                command: command.to_owned(),
                risk: RiskLevel::Low,
                hold: None,
                needs_sandbox: false,
                hands_over: false,
            })),
        }
    }

    /// Before anyone is asked: writes are not stopped.
    pub(crate) fn check_kill_switch(
        &self,
        world: &World,
        kind: ToolKind,
        about: &About,
    ) -> Result<(), Box<Refusal>> {
        match (kind, world.kill_switch) {
            (ToolKind::Write, KillSwitch::Engaged) if self.intact(Rule::KillSwitch) => Err(Refusal::new(
                Rule::KillSwitch,
                ErrorCode::PolicyBlocked,
                about.clone(),
                "Writes are stopped by the kill switch.",
            )),
            (ToolKind::Write, KillSwitch::Engaged | KillSwitch::Released)
            | (ToolKind::Resolve | ToolKind::Read, _) => Ok(()),
        }
    }

    /// Rule 9: control level and risk decide between a permit and a hold.
    pub(crate) fn check_level(
        &self,
        level: ControlLevel,
        plan: &Plan,
        harm: Option<&str>,
        about: &About,
    ) -> Result<Option<String>, Box<Refusal>> {
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
            (ControlLevel::Autonomous, RiskLevel::High) => Ok(Some(harm.map_or_else(
                || "the risk is high".to_owned(),
                |why| format!("the risk is high: {why}"),
            ))),
            (ControlLevel::Autonomous, RiskLevel::Low | RiskLevel::Medium) => Ok(None),
        }
    }

    /// Why a write does more harm than its tool says: to a file that runs code, to the power of a machine that carries
    /// others, to what an image is.
    pub(crate) fn harm(
        &self,
        action: &Action,
        kind: ToolKind,
        path: Option<&Value>,
        command: Option<&str>,
        resolved: &Resolved,
    ) -> Option<String> {
        if self.broken(Sabotage::HarmIsIgnored) {
            return None;
        }
        let power = || {
            let id = resolved
                .id()
                .filter(|_| action.power && kind == ToolKind::Write)?;
            harm::carries_others(id.kind()).then(|| format!("it turns a {} off, or restarts it", id.kind()))
        };
        path.and_then(Value::as_str)
            .and_then(|path| harm::of_path(kind, path, &self.options.data_files).1)
            .or_else(|| {
                command.and_then(|command| harm::of_command(kind, command, &self.options.data_files).1)
            })
            .or_else(power)
    }

    /// One call of an execution waits for a human at a time, and no write passes it.
    pub(crate) fn check_open_hold(
        session: &Session,
        execution: &ExecutionId,
        reasons: &[String],
        origin: Origin<'_>,
        about: &About,
        now: Timestamp,
    ) -> Result<(), Box<Refusal>> {
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
}

/// What must be observed after a write.
pub(crate) fn expectation(
    action: &Action,
    kind: ToolKind,
    arguments: &Arguments,
    resolved: &Resolved,
    about: &About,
) -> Result<Option<Expectation>, Box<Refusal>> {
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
