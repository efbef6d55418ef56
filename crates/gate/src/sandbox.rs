//! The read sandbox: where one is required, a command that reads runs only on a target that is known to offer one.
//!
//! The configuration can require it, and so can the command: one that runs code which the data it reads can name is a read
//! only inside a sandbox ([`interlock_shell::Verdict::needs_sandbox`]). A command that is handed to another machine or
//! container runs outside of every sandbox of ours, so it does not run where the configuration requires one.
//!
//! What a target offers is a fact from outside, found out by trying ([`Gate::note_sandbox`]). Tags come from the
//! configuration and from providers alike, and a tag can only add the requirement: none takes it away.

use std::collections::BTreeSet;

use interlock_protocol::{ErrorCode, ResourceId, SandboxWall, ToolCall, ToolKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::gate::Gate;
use crate::intent::Judged;
use crate::refusal::{About, Recovery, Refusal};
use crate::resolution::{self, NameEntry, Resolved};
use crate::rule::Rule;
use crate::session::Session;

/// On which resources a command that reads must run in a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequireSandbox {
    /// On none: where there is none, the reading says so.
    #[default]
    Never,
    /// On all.
    Always,
    /// On those that have one of these tags.
    Tagged(BTreeSet<String>),
}

/// What is known of a target that commands run on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadTarget {
    /// The sandbox that it offers.
    pub sandbox: SandboxWall,
    /// Its tags, from the configuration and from its provider.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
}

/// Where a command would run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// On the machine that Interlock runs on, because the call names no other.
    Here,
    /// In this resource.
    In(ResourceId),
}

impl Gate {
    /// Where a call would run a command that reads, if what that place offers decides about it. Nothing where it does not:
    /// nobody need find it out then.
    pub fn sandbox_asked(
        &self,
        session: &Session,
        call: &ToolCall,
        names: &[NameEntry],
        now: Timestamp,
    ) -> Option<Where> {
        let tool = self.catalogue.get(call.tool.as_str())?;
        let action = tool.action(&call.arguments);
        if action.kind == ToolKind::Write {
            return None;
        }
        let command = call.arguments.get(action.command.as_ref()?)?.as_str();
        if self.options.read_sandbox == RequireSandbox::Never
            && !command.is_some_and(|command| (self.analyse)(command).needs_sandbox)
        {
            return None;
        }
        let about = About {
            tool: Some(call.tool.clone()),
            action: None,
            kind: Some(action.kind),
            state: crate::state::State::Reading,
        };
        // On a copy: asking is not using.
        let mut context = session.context.fork();
        let strict = self.options.strict_resolution;
        let known = resolution::Names {
            context: &mut context,
            directory: names,
            now,
        };
        let resolved = resolution::resolve(strict, known, tool, action, &call.arguments, &about).ok()?;
        match (resolved.id(), &resolved.named) {
            (Some(id), _) => Some(Where::In(id.clone())),
            (None, None) => Some(Where::Here),
            // What is not discovered is refused without being asked.
            (None, Some(_)) => None,
        }
    }

    /// Learns what a place offers. Replaces what was known of it.
    pub fn note_sandbox(&self, session: &mut Session, place: Where, target: ReadTarget) {
        session.read_targets.insert(place, target);
    }

    /// Whether the call must run in a sandbox; refused where it must and cannot.
    pub(crate) fn check_sandbox(
        &self,
        session: &Session,
        judged: Option<&Judged>,
        resolved: &Resolved,
        about: &About,
    ) -> Result<bool, Box<Refusal>> {
        let Some(judged) = judged else {
            return Ok(false);
        };
        if about.kind == Some(ToolKind::Write) || !self.intact(Rule::ReadSandbox) {
            return Ok(false);
        }
        let by_command = judged.needs_sandbox;
        if self.options.read_sandbox == RequireSandbox::Never && !by_command {
            return Ok(false);
        }
        let place = match (resolved.id(), &resolved.named) {
            (Some(id), _) => Where::In(id.clone()),
            (None, None) => Where::Here,
            (None, Some(name)) => {
                return Err(Refusal::new(
                    Rule::ReadSandbox,
                    ErrorCode::PolicyBlocked,
                    about.clone(),
                    format!("Commands on `{name}` may need a read sandbox, and it was not discovered yet."),
                )
                .detail("resource_id", name.as_str())
                .hint("`infra_query` with action=search discovers resources.")
                .recovery(Recovery::Automatic));
            }
        };
        let known = session.read_targets.get(&place);
        let (by_setting, tag) = match &self.options.read_sandbox {
            RequireSandbox::Never => (false, None),
            RequireSandbox::Always => (true, None),
            RequireSandbox::Tagged(wanted) => {
                let tag = known.and_then(|known| known.tags.intersection(wanted).next());
                (tag.is_some() || known.is_none(), tag)
            }
        };
        if !by_setting && !by_command {
            return Ok(false);
        }
        let name = match &place {
            Where::Here => "this machine".to_owned(),
            Where::In(id) => format!("`{id}`"),
        };
        let reason = match known.map(|known| &known.sandbox) {
            Some(SandboxWall::Enforced { missing, .. }) => {
                if by_command && !missing.is_empty() {
                    format!("its sandbox leaves open {}", missing.join(", "))
                } else if by_setting && judged.hands_over {
                    HANDED_OVER.to_owned()
                } else {
                    return Ok(true);
                }
            }
            Some(SandboxWall::None { reason }) => reason.clone(),
            None => "it is not known what it offers".to_owned(),
        };
        let message = if by_setting && reason == HANDED_OVER {
            format!("Commands on {name} need a read sandbox, and {reason}.")
        } else if by_command {
            format!("The command is a read only inside a sandbox, which {name} does not offer: {reason}.")
        } else {
            format!("Commands on {name} need a read sandbox, and it offers none: {reason}.")
        };
        let refusal = Refusal::new(
            Rule::ReadSandbox,
            ErrorCode::PolicyBlocked,
            about.clone(),
            message,
        )
        .detail("reason", reason.as_str());
        let refusal = if by_setting {
            refusal.detail("setting", "control.require_read_sandbox")
        } else {
            refusal.detail("needs_sandbox", true)
        };
        let refusal = refusal.hint(if by_command { BY_COMMAND_HINT } else { TYPED_READS });
        let refusal = match &place {
            Where::Here => refusal,
            Where::In(id) => refusal.detail("resource_id", id.to_string()),
        };
        Err(match tag {
            Some(tag) => refusal.detail("tag", tag.as_str()),
            None => refusal,
        })
    }
}

/// Why no sandbox holds a command that is handed over.
const HANDED_OVER: &str =
    "this one runs outside of it, because it is handed to another machine, container or namespace";
/// What runs without a sandbox.
const TYPED_READS: &str = "Reads that are no commands still work: action=file, tail, find and logs.";
/// What helps where a command needs a sandbox that is not there.
const BY_COMMAND_HINT: &str = "The command runs code that the data it reads can name, such as the configuration of a \
    repository. Reads that are no commands still work: action=file, tail, find and logs. Installing bubblewrap on the \
    target makes a sandbox possible. A human can also approve the command as a change, with infra_control.";
