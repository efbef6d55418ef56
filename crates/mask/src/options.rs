//! What an operator may change about masking.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Group, Kind};

/// Changes to what is masked. The default masks every built-in kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Mask")]
pub struct Options {
    /// Kinds that are left as they are.
    pub off: BTreeSet<Kind>,
    /// Patterns of your own, in addition to the built-in ones.
    pub custom: Vec<Custom>,
    /// What holds for alerts. What models write, what people type and messages of errors are always masked as `off` and
    /// `custom` say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alerts: Option<Source>,
    /// What holds for the results of tools, by the name of the tool; `NAME*` is every tool whose name begins with `NAME`. The
    /// longest name that fits decides.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Source>,
}

/// What is masked in one source, besides what holds everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "MaskSource")]
pub struct Source {
    /// The groups of kinds that are masked here, and no others. Without any, every kind of secret is.
    pub groups: Vec<Group>,
    /// Kinds that are left as they are here.
    pub off: BTreeSet<Kind>,
    /// Patterns for this source alone, in addition to those that hold everywhere.
    pub custom: Vec<Custom>,
}

/// A pattern of an operator's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CustomMask")]
pub struct Custom {
    /// What the secret is called in `[masked:NAME]`: letters, digits, `_` and `-`, at most 40.
    pub name: String,
    /// A regular expression (syntax of the Rust crate `regex`). Its first group is masked, or all of it without one.
    pub pattern: String,
    /// What to write instead of `[masked:NAME]`, as it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
}

/// Why a masker cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The pattern of a custom entry is no regular expression, or too large a one.
    #[error("the pattern of custom mask `{name}` does not compile: {reason}")]
    Pattern {
        /// The entry.
        name: String,
        /// What the regular expression engine says.
        reason: String,
    },
    /// The pattern matches where there is nothing.
    #[error(
        "the pattern of custom mask `{name}` matches the empty text; it must name at least one character"
    )]
    MatchesNothing {
        /// The entry.
        name: String,
    },
    /// The name cannot stand in a marker.
    #[error("the custom mask name `{name}` must be 1 to 40 letters, digits, `_` or `-`")]
    Name {
        /// The entry.
        name: String,
    },
    /// The replacement would be masked again.
    #[error("the replacement of custom mask `{name}` is itself matched by a pattern; choose another text")]
    Replacement {
        /// The entry.
        name: String,
    },
    /// More custom patterns than a source may have.
    #[error("more than {most} custom masks hold for one source; join some of them with `|`")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
    /// The name of a tool cannot be one.
    #[error(
        "`{name}` names no tool: use letters, digits, `_`, `.`, `-` and `/`, with one `*` at its end for a family of tools"
    )]
    Tool {
        /// The name.
        name: String,
    },
    /// The values of Interlock's own secrets are always masked.
    #[error(
        "`configured_secret` cannot be turned off: it is the value of a secret that Interlock uses itself"
    )]
    NotOff,
    /// The built-in patterns did not compile: a fault of this build.
    #[error("the built-in patterns did not compile in this build")]
    BuiltIn,
}
