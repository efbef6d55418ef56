//! One mapping from what the gate did to a counter and its labels. Exhaustive: a new rule does not compile without
//! its metric.

use interlock_protocol::{ErrorCode, ToolName};

use crate::gate::Gate;
use crate::refusal::Refusal;
use crate::rule::Rule;

/// The longest label value, in bytes.
pub const MAX_LABEL: usize = 64;

/// A counter to add one to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// The counter.
    pub name: &'static str,
    /// Its labels.
    pub labels: Vec<(&'static str, String)>,
}

/// A label value that cannot break a metric or multiply it: never empty, no white space or control characters, at
/// most [`MAX_LABEL`] bytes, cut between characters.
pub fn sanitize_label(text: &str) -> String {
    if text.trim().is_empty() {
        return "unknown".to_owned();
    }
    let mut label = String::with_capacity(text.len().min(MAX_LABEL));
    for c in text.chars() {
        let c = if c.is_whitespace() || c.is_control() {
            '_'
        } else {
            c
        };
        if label.len() + c.len_utf8() > MAX_LABEL {
            break;
        }
        label.push(c);
    }
    label
}

impl Gate {
    /// The counter of a refusal.
    pub fn metric(&self, refusal: &Refusal) -> Metric {
        let about = &refusal.about;
        let tool = || ("tool", self.tool_label(about.tool.as_ref()));
        let state = || ("state", about.state.as_str().to_owned());
        let rule = || ("rule", refusal.rule.as_str().to_owned());
        let kind = || {
            (
                "kind",
                about.kind.map_or("unknown", |kind| kind.as_str()).to_owned(),
            )
        };
        let fact = |key: &'static str, label: &'static str| {
            (
                label,
                sanitize_label(
                    refusal
                        .details
                        .get(key)
                        .and_then(serde_json::Value::as_str)
                        .unwrap_or(""),
                ),
            )
        };
        let (name, labels) = match refusal.rule {
            Rule::StateMachine => ("interlock_fsm_tool_block_total", vec![state(), tool(), kind()]),
            Rule::FinalAnswer => ("interlock_fsm_final_block_total", vec![state()]),
            Rule::StrictResolution => (
                "interlock_strict_resolution_block_total",
                vec![tool(), ("action", self.action_label(refusal))],
            ),
            Rule::Routing => (
                "interlock_routing_mismatch_block_total",
                vec![
                    tool(),
                    fact("target_kind", "target_kind"),
                    fact("child_kind", "child_kind"),
                ],
            ),
            Rule::CommandIntent => (
                "interlock_command_intent_block_total",
                vec![tool(), fact("intent", "intent"), fact("category", "category")],
            ),
            Rule::ReadSandbox => (
                "interlock_read_sandbox_block_total",
                vec![tool(), fact("tag", "tag")],
            ),
            Rule::Repetition => ("interlock_loop_detected_total", vec![tool()]),
            Rule::OneWriter => ("interlock_writer_conflict_total", vec![tool()]),
            Rule::ToolKnown | Rule::ToolAllowed | Rule::Arguments => {
                ("interlock_proposal_rejected_total", vec![rule(), tool()])
            }
            Rule::Mode
            | Rule::Category
            | Rule::ArgumentRule
            | Rule::RateLimit
            | Rule::BlastRadius
            | Rule::Budget
            | Rule::Policy => ("interlock_governance_block_total", vec![rule(), tool()]),
            Rule::KillSwitch | Rule::PermitExpiry => ("interlock_permit_revoked_total", vec![rule(), tool()]),
            Rule::ControlLevel | Rule::Approval | Rule::Hold | Rule::LiveState => {
                ("interlock_approval_block_total", vec![rule(), tool()])
            }
        };
        Metric { name, labels }
    }

    /// The counter of a refusal that the proposer may recover from.
    pub fn recovery_attempt(&self, code: ErrorCode, tool: &ToolName) -> Metric {
        self.recovery_metric("interlock_auto_recovery_attempt_total", code, tool)
    }

    /// The counter of a refusal that the proposer recovered from.
    pub fn recovery_success(&self, code: ErrorCode, tool: &ToolName) -> Metric {
        self.recovery_metric("interlock_auto_recovery_success_total", code, tool)
    }

    fn recovery_metric(&self, name: &'static str, code: ErrorCode, tool: &ToolName) -> Metric {
        let labels = vec![
            ("error_code", code.as_str().to_owned()),
            ("tool", self.tool_label(Some(tool))),
        ];
        Metric { name, labels }
    }

    /// Names that a proposer makes up must not become label values.
    fn tool_label(&self, tool: Option<&ToolName>) -> String {
        tool.filter(|tool| self.catalogue.get(tool.as_str()).is_some())
            .map_or_else(|| "unknown".to_owned(), |tool| sanitize_label(tool.as_str()))
    }

    fn action_label(&self, refusal: &Refusal) -> String {
        let tool = refusal
            .about
            .tool
            .as_ref()
            .and_then(|tool| self.catalogue.get(tool.as_str()));
        match (tool, refusal.about.action.as_deref()) {
            (Some(tool), Some(action)) if tool.lists(action) => sanitize_label(action),
            (_, Some(_)) => "other".to_owned(),
            (_, None) => "unknown".to_owned(),
        }
    }
}

/// The counter of an answer that was replaced.
pub fn phantom_detected(provider: &str, model: &str) -> Metric {
    let labels = vec![
        ("provider", sanitize_label(provider)),
        ("model", sanitize_label(model)),
    ];
    Metric {
        name: "interlock_phantom_detected_total",
        labels,
    }
}

/// The counter of one turn between a model and the gate.
pub fn iteration(provider: &str, model: &str) -> Metric {
    let labels = vec![
        ("provider", sanitize_label(provider)),
        ("model", sanitize_label(model)),
    ];
    Metric {
        name: "interlock_agentic_iterations_total",
        labels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_never_empty_long_or_broken() {
        let long = "é".repeat(100);
        let cases = [
            ("", "unknown".to_owned()),
            ("  ", "unknown".to_owned()),
            ("gpt 4 turbo", "gpt_4_turbo".to_owned()),
            ("a\nb\0c\u{a0}d", "a_b_c_d".to_owned()),
            (&long, "é".repeat(32)),
        ];
        for (text, expected) in cases {
            assert_eq!(sanitize_label(text), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_label_is_bounded_and_printable(text in ".{0,300}") {
            let label = sanitize_label(&text);
            proptest::prop_assert!(!label.is_empty() && label.len() <= MAX_LABEL);
            proptest::prop_assert!(!label.chars().any(|c| c.is_whitespace() || c.is_control()));
        }
    }
}
