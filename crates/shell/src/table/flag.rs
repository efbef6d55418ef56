//! Flags, as the table writes them: `-n=`, `--color=?`, `-o=json|yaml`.

use super::operand::Kind;

/// What giving a flag means. Ordered from harmless to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlagEffect {
    Harmless,
    Bound,
    Net,
    Secret,
    Follow,
    Tty,
    Write,
    High,
    Exec,
}

/// Whether a flag takes a value, and what the value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlagValue {
    None,
    Required(Kind),
    /// Only attached: `--color=always`, `-U3`.
    Optional(Kind),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flag {
    pub(crate) effect: FlagEffect,
    pub(crate) value: FlagValue,
}

/// Where a flag is looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FlagName {
    Short(char),
    Long(String),
    /// A whole word behind one dash, in a program that also takes clusters.
    Word(String),
}

impl std::fmt::Display for FlagName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short(letter) => write!(f, "-{letter}"),
            Self::Long(long) => write!(f, "--{long}"),
            Self::Word(word) => write!(f, "-{word}"),
        }
    }
}

/// Reads one flag of the table.
pub(crate) fn parse(spec: &str, effect: FlagEffect, whole_words: bool) -> Result<(FlagName, Flag), String> {
    let (name, value) = match spec.split_once('=') {
        None => (spec, FlagValue::None),
        Some((name, "")) => (name, FlagValue::Required(Kind::Text)),
        Some((name, value)) => match value.strip_prefix('?') {
            Some("") => (name, FlagValue::Optional(Kind::Text)),
            Some(kind) => (name, FlagValue::Optional(Kind::parse(kind)?)),
            None => (name, FlagValue::Required(Kind::parse(value)?)),
        },
    };
    let name = if let Some(long) = name.strip_prefix("--") {
        FlagName::Long(long.to_owned())
    } else if let Some(rest) = name.strip_prefix('-') {
        let mut chars = rest.chars();
        match (chars.next(), chars.next()) {
            (Some(_), _) if whole_words => FlagName::Long(rest.to_owned()),
            (Some(c), None) => FlagName::Short(c),
            (Some(_), Some(_)) => FlagName::Word(rest.to_owned()),
            (None, _) => return Err(format!("`{spec}` is no flag")),
        }
    } else {
        return Err(format!("`{spec}` does not start with a dash"));
    };
    if matches!(&name, FlagName::Long(long) if long.is_empty()) {
        return Err(format!("`{spec}` is no flag"));
    }
    Ok((name, Flag { effect, value }))
}
