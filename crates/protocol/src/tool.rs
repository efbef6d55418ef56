//! What the catalogue says about a tool. Everything that a rule needs to know about a tool is here, as data.

use crate::proposal::{Arguments, ToolCall};
use crate::word::words;
use crate::{ArgumentName, CategoryName, Mode, ResourceKind, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

words! {
    /// What running a tool does to the world.
    ToolKind {
        /// Finds out what exists.
        Resolve = "resolve",
        /// Looks, and changes nothing.
        Read = "read",
        /// Changes something, or might.
        Write = "write",
    }
}

words! {
    /// How much harm a tool can do at its worst.
    RiskLevel {
        /// Little.
        Low = "low",
        /// Some, recoverable.
        Medium = "medium",
        /// Much.
        High = "high",
    }
}

/// Why a definition contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The parameters are no JSON Schema of an object.
    #[error("the parameters of `{0}` are not a JSON Schema with `type: object` and `properties`")]
    NotAnObjectSchema(ToolName),
    /// A rule speaks of an argument that the schema does not have.
    #[error("`{tool}` has no parameter `{argument}`, yet its {rule} speaks of it")]
    NoSuchArgument {
        /// The tool.
        tool: ToolName,
        /// The argument.
        argument: ArgumentName,
        /// Which rule.
        rule: &'static str,
    },
    /// A tool that no mode allows.
    #[error("`{0}` is allowed in no mode")]
    NoMode(ToolName),
    /// Kinds that depend on the action, with no action.
    #[error("the kind of `{0}` depends on its action, yet no action is listed")]
    NoAction(ToolName),
    /// A target rule that names no argument.
    #[error("`{0}` has a target, yet no argument names it")]
    NoTargetArgument(ToolName),
    /// A target of a bare uid that needs a host.
    #[error("`{tool}` takes a bare `{kind}`, which has a host in its id")]
    BareHostedKind {
        /// The tool.
        tool: ToolName,
        /// The kind.
        kind: ResourceKind,
    },
}

/// A tool as the catalogue knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolDefinition {
    /// Its name, as a call spells it.
    pub name: ToolName,
    /// What it does, for the model.
    pub description: String,
    /// What it takes: a JSON Schema of an object.
    pub parameters: Value,
    /// The governance category.
    pub category: CategoryName,
    /// How much harm it can do.
    pub risk: RiskLevel,
    /// What it does to the world.
    pub kind: KindRule,
    /// In which modes it may run.
    pub modes: BTreeSet<Mode>,
    /// Whether a human must approve each write.
    #[serde(default)]
    pub requires_approval: bool,
    /// How long it may run.
    pub timeout_seconds: NonZeroU32,
    /// How often it may run; no limit of its own where this is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit_per_hour: Option<NonZeroU32>,
    /// Which arguments name the resource that it is about.
    pub target: TargetRule,
    /// How a command reaches a shell.
    #[serde(default)]
    pub shell: ShellRule,
}

impl ToolDefinition {
    /// What this call would do to the world.
    pub fn kind_of(&self, call: &ToolCall) -> ToolKind {
        self.kind.resolve(&call.arguments)
    }

    /// Checks that the parts of the definition agree. A catalogue takes no definition that fails here.
    pub fn check(&self) -> Result<(), Error> {
        let properties = self
            .parameters
            .get("properties")
            .and_then(Value::as_object)
            .filter(|_| self.parameters.get("type").and_then(Value::as_str) == Some("object"))
            .ok_or_else(|| Error::NotAnObjectSchema(self.name.clone()))?;
        if self.modes.is_empty() {
            return Err(Error::NoMode(self.name.clone()));
        }
        let known = |argument: &ArgumentName, rule| {
            if properties.contains_key(argument.as_str()) {
                Ok(())
            } else {
                Err(Error::NoSuchArgument {
                    tool: self.name.clone(),
                    argument: argument.clone(),
                    rule,
                })
            }
        };
        if let KindRule::ByAction { argument, actions } = &self.kind {
            known(argument, "kind")?;
            if actions.is_empty() {
                return Err(Error::NoAction(self.name.clone()));
            }
        }
        if let TargetRule::Arguments { arguments } = &self.target {
            if arguments.is_empty() {
                return Err(Error::NoTargetArgument(self.name.clone()));
            }
            for TargetArgument { name, bare } in arguments {
                known(name, "target")?;
                if let Some(kind) = bare.filter(|kind| kind.scope() == crate::Scope::Hosted) {
                    return Err(Error::BareHostedKind {
                        tool: self.name.clone(),
                        kind,
                    });
                }
            }
        }
        match &self.shell {
            ShellRule::Never => Ok(()),
            ShellRule::Argument { argument } => known(argument, "shell rule"),
        }
    }
}

/// How a call's kind follows from its tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum KindRule {
    /// Always the same.
    Fixed {
        /// That kind.
        kind: ToolKind,
    },
    /// It depends on the action. A missing or unlisted action is a write.
    ByAction {
        /// The argument that says which action.
        argument: ArgumentName,
        /// The kind of each action.
        actions: BTreeMap<String, ToolKind>,
    },
}

impl KindRule {
    /// The kind of a call with these arguments. What is not said clearly is a write.
    pub fn resolve(&self, arguments: &Arguments) -> ToolKind {
        match self {
            Self::Fixed { kind } => *kind,
            Self::ByAction { argument, actions } => arguments
                .get(argument.as_str())
                .and_then(Value::as_str)
                .and_then(|action| actions.get(action))
                .copied()
                .unwrap_or(ToolKind::Write),
        }
    }
}

/// Which resource a call is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetRule {
    /// None: searching the web, recalling. Such a tool needs no discovery.
    None,
    /// Each of these arguments that a call has names a target, by id, name or alias; all of them are checked.
    Arguments {
        /// The arguments, the preferred one first.
        arguments: Vec<TargetArgument>,
    },
}

/// An argument that names a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetArgument {
    /// The argument.
    pub name: ArgumentName,
    /// The kind of resource that a bare uid in it means: `alert_id: "cpu-1"` is `alert:cpu-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bare: Option<ResourceKind>,
}

/// How a command reaches a shell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case", deny_unknown_fields)]
pub enum ShellRule {
    /// It does not.
    #[default]
    Never,
    /// Whatever stands in this argument is run by a shell.
    Argument {
        /// The argument.
        argument: ArgumentName,
    },
}

impl ShellRule {
    /// The value that would reach a shell, whatever its type: what is no string is for the caller to refuse.
    pub fn command<'a>(&self, arguments: &'a Arguments) -> Option<&'a Value> {
        match self {
            Self::Never => None,
            Self::Argument { argument } => arguments.get(argument.as_str()),
        }
    }
}
