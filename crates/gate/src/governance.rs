//! What an operator's governance says about a call: a typed input, evaluated here, that may be absent.

use interlock_protocol::{CategoryName, ErrorCode, Mode, RiskLevel, ToolName};
use serde_json::Value;
use std::collections::BTreeSet;

use crate::catalogue::Tool;
use crate::plan::Plan;
use crate::refusal::{About, Recovery, Refusal};
use crate::rule::Rule;

/// Whether governance has a say.
#[derive(Debug, Clone, Copy)]
pub enum Governance<'a> {
    /// Nothing is configured: the tool's own definition and the control level decide.
    Absent,
    /// It has.
    Given(&'a GovernanceInput),
}

/// Everything governance knows about one call.
#[derive(Debug, Clone, PartialEq)]
pub struct GovernanceInput {
    /// The operational mode.
    pub mode: Mode,
    /// Categories that may not be used now.
    pub forbidden_categories: BTreeSet<CategoryName>,
    /// Bounds on arguments.
    pub argument_rules: Vec<ArgumentRule>,
    /// How often the tool was called in the last hour.
    pub calls_in_last_hour: u32,
    /// A limit per hour stricter than the tool's own.
    pub rate_limit_per_hour: Option<u32>,
    /// How many resources the call touches, and how many it may.
    pub blast_radius: Option<BlastRadius>,
    /// What may still be spent.
    pub budgets: Vec<Budget>,
    /// Whether a human must see it in this mode.
    pub approval: ApprovalNeed,
    /// What the policies say.
    pub policy: PolicyVerdict,
}

impl GovernanceInput {
    /// A mode, and nothing else to say.
    pub fn in_mode(mode: Mode) -> Self {
        Self {
            mode,
            forbidden_categories: BTreeSet::new(),
            argument_rules: Vec::new(),
            calls_in_last_hour: 0,
            rate_limit_per_hour: None,
            blast_radius: None,
            budgets: Vec::new(),
            approval: ApprovalNeed::NotRequired,
            policy: PolicyVerdict::NotConsulted,
        }
    }
}

/// Whether a human must see a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalNeed {
    /// Not for this.
    NotRequired,
    /// Yes.
    Required,
}

/// How many resources a call touches, and how many it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlastRadius {
    /// How many depend on what is written.
    pub affected: u32,
    /// How many may.
    pub most: u32,
}

/// Something that may be spent, and how much of it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// What: `writes_per_session`, `cost_cents`, …
    pub name: String,
    /// How much was spent.
    pub spent: u64,
    /// How much may be.
    pub limit: u64,
}

/// What the policies say about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyVerdict {
    /// There are none.
    NotConsulted,
    /// A policy permits it.
    Permit {
        /// Which.
        policy: String,
    },
    /// A policy permits it if a human approves.
    PermitWithApproval {
        /// Which.
        policy: String,
    },
    /// A policy forbids it.
    Forbid {
        /// Which.
        policy: String,
    },
    /// No policy permits it.
    DefaultDeny,
}

/// A bound on one argument of one tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ArgumentRule {
    /// The tool.
    pub tool: ToolName,
    /// The argument.
    pub argument: String,
    /// What it may be.
    pub bound: Bound,
}

/// What an argument may be. An argument that is missing is within every bound.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// A path that matches one of these patterns.
    AllowedPaths(Vec<String>),
    /// A path that matches none of these patterns.
    ForbiddenPaths(Vec<String>),
    /// One of these texts.
    AllowedValues(BTreeSet<String>),
    /// None of these texts.
    ForbiddenValues(BTreeSet<String>),
    /// At most this long.
    MaxBytes(usize),
    /// At most this much.
    MaxNumber(f64),
}

/// What governance asks of the approval rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Say {
    /// Nothing.
    Nothing,
    /// A human must approve, for this reason.
    Approve(String),
}

pub(crate) fn check(
    governance: Governance<'_>,
    tool: &Tool,
    plan: &Plan,
    about: &About,
    intact: impl Fn(Rule) -> bool,
) -> Result<Say, Box<Refusal>> {
    let definition = tool.definition();
    let input = match governance {
        Governance::Absent => return Ok(Say::Nothing),
        Governance::Given(input) => input,
    };
    let refuse = |rule, code, message: String| Refusal::new(rule, code, about.clone(), message);
    if !definition.modes.contains(&input.mode) && intact(Rule::Mode) {
        return Err(refuse(
            Rule::Mode,
            ErrorCode::ActionNotAllowed,
            format!("`{}` may not run in mode `{}`.", plan.tool, input.mode),
        )
        .detail("mode", input.mode.as_str())
        .detail(
            "allowed_modes",
            definition
                .modes
                .iter()
                .map(|mode| mode.as_str())
                .collect::<Vec<_>>(),
        ));
    }
    if input.mode == Mode::Lockdown && plan.kind == interlock_protocol::ToolKind::Write && intact(Rule::Mode)
    {
        return Err(refuse(
            Rule::Mode,
            ErrorCode::ActionNotAllowed,
            "Nothing may change in mode `lockdown`.".to_owned(),
        )
        .detail("mode", input.mode.as_str()));
    }
    if input.forbidden_categories.contains(&definition.category) && intact(Rule::Category) {
        return Err(refuse(
            Rule::Category,
            ErrorCode::PolicyBlocked,
            format!("Category `{}` is forbidden.", definition.category),
        )
        .detail("category", definition.category.as_str()));
    }
    for rule in input.argument_rules.iter().filter(|rule| rule.tool == plan.tool) {
        if let Some(value) = plan.arguments.get(&rule.argument)
            && let Err(why) = rule.bound.admits(value)
            && intact(Rule::ArgumentRule)
        {
            return Err(refuse(
                Rule::ArgumentRule,
                ErrorCode::PolicyBlocked,
                format!("Argument `{}` {why}.", rule.argument),
            )
            .detail("argument", rule.argument.as_str()));
        }
    }
    let limits = [
        definition.rate_limit_per_hour.map(std::num::NonZeroU32::get),
        input.rate_limit_per_hour,
    ];
    if let Some(limit) = limits.into_iter().flatten().min()
        && input.calls_in_last_hour >= limit
        && intact(Rule::RateLimit)
    {
        return Err(refuse(
            Rule::RateLimit,
            ErrorCode::RateLimited,
            format!(
                "`{}` ran {} times in the last hour; {limit} is the most.",
                plan.tool, input.calls_in_last_hour
            ),
        )
        .detail("limit_per_hour", limit)
        .detail("calls_in_last_hour", input.calls_in_last_hour)
        .recovery(Recovery::Outside));
    }
    if let Some(radius) = input.blast_radius
        && radius.affected > radius.most
        && intact(Rule::BlastRadius)
    {
        return Err(refuse(
            Rule::BlastRadius,
            ErrorCode::PolicyBlocked,
            format!(
                "{} resources would be affected; {} is the most.",
                radius.affected, radius.most
            ),
        )
        .detail("affected", radius.affected)
        .detail("most", radius.most));
    }
    if let Some(budget) = input.budgets.iter().find(|budget| budget.spent >= budget.limit)
        && intact(Rule::Budget)
    {
        return Err(refuse(
            Rule::Budget,
            ErrorCode::PolicyBlocked,
            format!(
                "Budget `{}` is spent: {} of {}.",
                budget.name, budget.spent, budget.limit
            ),
        )
        .detail("budget", budget.name.as_str())
        .detail("spent", budget.spent)
        .detail("limit", budget.limit));
    }
    let denied = |policy: Option<&str>| {
        let message = match policy {
            Some(policy) => format!("Policy `{policy}` forbids it."),
            None => "No policy permits it.".to_owned(),
        };
        refuse(Rule::Policy, ErrorCode::PolicyBlocked, message)
            .detail("policy", policy.map_or(Value::Null, Value::from))
    };
    let by_policy = match &input.policy {
        PolicyVerdict::Forbid { policy } if intact(Rule::Policy) => return Err(denied(Some(policy))),
        PolicyVerdict::DefaultDeny if intact(Rule::Policy) => return Err(denied(None)),
        PolicyVerdict::Forbid { .. }
        | PolicyVerdict::DefaultDeny
        | PolicyVerdict::NotConsulted
        | PolicyVerdict::Permit { .. } => None,
        PolicyVerdict::PermitWithApproval { policy } => Some(format!("policy `{policy}` requires approval")),
    };
    let by_mode = match input.approval {
        ApprovalNeed::NotRequired => None,
        ApprovalNeed::Required => Some(format!("mode `{}` requires approval", input.mode)),
    };
    Ok(by_policy.or(by_mode).map_or(Say::Nothing, Say::Approve))
}

impl Bound {
    pub(crate) fn admits(&self, value: &Value) -> Result<(), String> {
        let text = value.as_str();
        match self {
            Self::AllowedPaths(patterns) => match text {
                Some(path) if patterns.iter().any(|pattern| path_matches(pattern, path)) => Ok(()),
                _ => Err("is outside the allowed paths".to_owned()),
            },
            Self::ForbiddenPaths(patterns) => match text {
                Some(path)
                    if !patterns.iter().any(|pattern| path_matches(pattern, path)) && is_plain(path) =>
                {
                    Ok(())
                }
                _ => Err("is among the forbidden paths".to_owned()),
            },
            Self::AllowedValues(values) => match text {
                Some(text) if values.contains(text) => Ok(()),
                _ => Err("is not among the allowed values".to_owned()),
            },
            Self::ForbiddenValues(values) => match text {
                Some(text) if !values.contains(text) => Ok(()),
                _ => Err("is among the forbidden values".to_owned()),
            },
            Self::MaxBytes(most) => match text {
                Some(text) if text.len() <= *most => Ok(()),
                _ => Err(format!("has more than {most} bytes")),
            },
            Self::MaxNumber(most) => match value.as_f64() {
                Some(number) if number <= *most => Ok(()),
                _ => Err(format!("is more than {most}")),
            },
        }
    }
}

/// A path that says where it leads: absolute, no `.`, `..` or empty segment.
fn is_plain(path: &str) -> bool {
    path.strip_prefix('/').is_some_and(|rest| {
        !path.contains('\0') && rest.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
    })
}

/// `*` stands for a part of one segment, `**` for any number of segments. A path that is not plain matches nothing.
fn path_matches(pattern: &str, path: &str) -> bool {
    fn segments(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, None) => true,
            (Some((&"**", rest)), _) => {
                rest.is_empty() || (0..=path.len()).any(|skip| segments(rest, &path[skip..]))
            }
            (Some((want, rest)), Some((have, path))) => segment(want, have) && segments(rest, path),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
    fn segment(pattern: &str, text: &str) -> bool {
        let mut parts = pattern.split('*');
        let first = parts.next().unwrap_or("");
        let Some(mut rest) = text.strip_prefix(first) else {
            return false;
        };
        let parts: Vec<&str> = parts.collect();
        let Some((last, middle)) = parts.split_last() else {
            return rest.is_empty();
        };
        for part in middle {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
    if !is_plain(path) {
        return false;
    }
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    segments(&pattern, &path)
}

/// The worse of two risks.
pub(crate) fn worse(a: RiskLevel, b: RiskLevel) -> RiskLevel {
    a.max(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_by_segments_and_never_through_dots() {
        let cases = [
            ("/srv/**", "/srv/app/config.yaml", true),
            ("/srv/**", "/srv", true),
            ("/srv/**", "/srvx/a", false),
            ("/srv/*.yaml", "/srv/a.yaml", true),
            ("/srv/*.yaml", "/srv/a/b.yaml", false),
            ("/srv/**/c", "/srv/a/b/c", true),
            ("/srv/**", "/srv/../etc/shadow", false),
            ("/srv/**", "srv/a", false),
            ("/srv/**", "/srv//a", false),
            ("/a*b*c", "/aXbYc", true),
            ("/a*b*c", "/aXcYb", false),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(path_matches(pattern, path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn a_path_that_hides_where_it_leads_is_forbidden_too() {
        let bound = Bound::ForbiddenPaths(vec!["/etc/**".to_owned()]);
        for (path, admitted) in [
            ("/srv/a", true),
            ("/etc/shadow", false),
            ("/srv/../etc/shadow", false),
            ("etc/shadow", false),
        ] {
            assert_eq!(bound.admits(&Value::from(path)).is_ok(), admitted, "{path}");
        }
    }
}
