//! Command intent: what reaches a shell does what its tool is for.

use std::collections::BTreeSet;

use interlock_protocol::{ErrorCode, RiskLevel, ToolKind};
use interlock_shell::{Intent, Risk, Verdict};
use serde_json::Value;

use crate::refusal::{About, Recovery, Refusal};
use crate::rule::Rule;

/// What the analysis of a command adds to a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) command: String,
    pub(crate) risk: RiskLevel,
    /// Why a human must see it.
    pub(crate) hold: Option<String>,
    /// It is a read only inside a sandbox.
    pub(crate) needs_sandbox: bool,
    /// What it runs is outside of the sandbox around it.
    pub(crate) hands_over: bool,
}

/// How many reasons a refusal carries.
const REASONS: usize = 5;
/// Why a human sees what would show secrets.
const PRINTS_SECRETS: &str = "the command prints secrets";
/// The tool that reads belong to.
const READ_TOOL: &str = "infra_read";

pub(crate) fn check(
    analyse: fn(&str) -> Verdict,
    egress: &BTreeSet<String>,
    kind: ToolKind,
    command: &Value,
    about: &About,
) -> Result<Judged, Box<Refusal>> {
    let Some(command) = command.as_str() else {
        return Err(Refusal::new(
            Rule::CommandIntent,
            ErrorCode::InvalidInput,
            about.clone(),
            "The command is not a text.",
        ));
    };
    let verdict = analyse(command);
    match kind {
        ToolKind::Resolve | ToolKind::Read => {
            if !verdict.is_bounded_read() {
                return Err(not_a_bounded_read(&verdict, about));
            }
        }
        ToolKind::Write => match verdict.intent {
            Intent::WriteOrUnknown => {}
            // Where there is no sandbox it can be approved as what it may be: a change.
            Intent::ReadOnlyCertain | Intent::ReadOnlyConditional if verdict.needs_sandbox => {}
            Intent::ReadOnlyCertain | Intent::ReadOnlyConditional => {
                return Err(described(
                    &verdict,
                    about,
                    "The command only reads; this tool is for changes.",
                )
                .detail("read_tool", READ_TOOL)
                .hint(format!(
                    "`{READ_TOOL}` with action=exec takes commands that only read."
                ))
                .recovery(Recovery::Automatic));
            }
        },
    }
    let hold = if verdict.sensitive {
        Some(PRINTS_SECRETS.to_owned())
    } else if verdict.network && !within_egress(&verdict, egress) {
        Some(match verdict.hosts.as_slice() {
            [] => "the command reaches hosts that cannot be told beforehand".to_owned(),
            hosts => format!("the command reaches {}", hosts.join(", ")),
        })
    } else {
        None
    };
    Ok(Judged {
        command: command.to_owned(),
        risk: risk_of(verdict.risk),
        hold,
        needs_sandbox: verdict.needs_sandbox,
        hands_over: verdict.hands_over,
    })
}

/// What the path of a typed file operation adds to a plan: the least risk, and why a human must see it.
pub(crate) fn check_path(kind: ToolKind, path: Option<&Value>) -> (RiskLevel, Option<String>) {
    match (path.and_then(Value::as_str), kind) {
        (Some(path), _) if !interlock_shell::path_holds_secrets(path) => (RiskLevel::Low, None),
        (Some(_), ToolKind::Resolve | ToolKind::Read) => (RiskLevel::Low, Some(PRINTS_SECRETS.to_owned())),
        (Some(_), ToolKind::Write) => (RiskLevel::High, None),
        (None, _) => (RiskLevel::Low, None),
    }
}

fn within_egress(verdict: &Verdict, egress: &BTreeSet<String>) -> bool {
    !verdict.hosts.is_empty() && verdict.hosts.iter().all(|host| egress.contains(host))
}

fn not_a_bounded_read(verdict: &Verdict, about: &About) -> Box<Refusal> {
    let message = match (verdict.intent, verdict.category) {
        (Intent::WriteOrUnknown, _) => "The command writes, or cannot be proven not to.".to_owned(),
        (_, Some(category)) => format!("[{}] The command may never end by itself.", category.as_str()),
        (_, None) => "The command may never end by itself.".to_owned(),
    };
    let refusal = described(verdict, about, &message);
    match &verdict.rewrite {
        Some(rewrite) => refusal
            .detail("suggested_rewrite", rewrite.as_str())
            .hint(format!("`{rewrite}` reads the same and ends."))
            .recovery(Recovery::Automatic),
        None => refusal
            .hint("The read tool takes commands that provably read and end by themselves.")
            .recovery(Recovery::Outside),
    }
}

fn described(verdict: &Verdict, about: &About, message: &str) -> Box<Refusal> {
    let reasons: Vec<String> = verdict
        .reasons
        .iter()
        .take(REASONS)
        .map(ToString::to_string)
        .collect();
    Refusal::new(
        Rule::CommandIntent,
        ErrorCode::ReadOnlyViolation,
        about.clone(),
        message,
    )
    .detail("intent", verdict.intent.as_str())
    .detail("risk", verdict.risk.as_str())
    .detail(
        "category",
        verdict
            .category
            .map_or(Value::Null, |category| category.as_str().into()),
    )
    .detail("reasons", reasons)
}

const fn risk_of(risk: Risk) -> RiskLevel {
    match risk {
        Risk::ReadOnly | Risk::LowWrite => RiskLevel::Low,
        Risk::MediumWrite => RiskLevel::Medium,
        Risk::HighWrite => RiskLevel::High,
    }
}
