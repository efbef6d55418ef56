//! What an operator may change about masking.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Kind;

/// Changes to what is masked. The default masks every built-in kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Mask")]
pub struct Options {
    /// Kinds that are left as they are.
    pub off: BTreeSet<Kind>,
    /// Patterns of your own, in addition to the built-in ones.
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
    /// The built-in patterns did not compile: a fault of this build.
    #[error("the built-in patterns did not compile in this build")]
    BuiltIn,
}
