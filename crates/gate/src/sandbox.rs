//! The read sandbox: where one is required, a command that reads runs only on a target that is known to offer one.
//!
//! What a target offers is a fact from outside, found out by trying ([`Gate::note_sandbox`]). Tags come from the
//! configuration and from providers alike, and a tag can only add the requirement: none takes it away.

use std::collections::BTreeSet;

use interlock_protocol::{ErrorCode, ResourceId, SandboxWall, ToolCall, ToolKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::gate::Gate;
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
        if self.options.read_sandbox == RequireSandbox::Never {
            return None;
        }
        let tool = self.catalogue.get(call.tool.as_str())?;
        let action = tool.action(&call.arguments);
        if action.kind == ToolKind::Write || action.command.is_none() {
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
        has_command: bool,
        resolved: &Resolved,
        about: &About,
    ) -> Result<bool, Box<Refusal>> {
        if about.kind == Some(ToolKind::Write) || !has_command || !self.intact(Rule::ReadSandbox) {
            return Ok(false);
        }
        if self.options.read_sandbox == RequireSandbox::Never {
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
        let tags = known.map(|known| &known.tags);
        let tag = match &self.options.read_sandbox {
            RequireSandbox::Never => return Ok(false),
            RequireSandbox::Always => None,
            RequireSandbox::Tagged(wanted) => {
                let tag = tags.and_then(|tags| tags.intersection(wanted).next());
                if tag.is_none() && known.is_some() {
                    return Ok(false);
                }
                tag
            }
        };
        let reason = match known.map(|known| &known.sandbox) {
            Some(SandboxWall::Enforced { .. }) => return Ok(true),
            Some(SandboxWall::None { reason }) => reason.clone(),
            None => "it is not known what it offers".to_owned(),
        };
        let name = match &place {
            Where::Here => "this machine".to_owned(),
            Where::In(id) => format!("`{id}`"),
        };
        let refusal = Refusal::new(
            Rule::ReadSandbox,
            ErrorCode::PolicyBlocked,
            about.clone(),
            format!("Commands on {name} need a read sandbox, and it offers none: {reason}."),
        )
        .detail("reason", reason.as_str())
        .detail("setting", "control.require_read_sandbox")
        .hint("Reads that are no commands still work: action=file, tail, find and logs.");
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
