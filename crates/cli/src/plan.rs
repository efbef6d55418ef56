//! A plan that waits for a human, as people and programs see it: exactly what would run, and why someone must look.

use std::fmt::Write as _;

use interlock_gate::{Hold, HoldStatus, expected};
use interlock_protocol::{
    Arguments, ContentHash, Expectation, HoldId, Identity, ResourceId, RiskLevel, SessionId, ToolKind,
    ToolName, UserId, reveal, reveal_line,
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::steps::{moment, seconds, summary};
use crate::terminal::{Paint, Tone};

/// A hold, for programs.
#[derive(Serialize)]
pub(crate) struct HoldForm<'a> {
    pub(crate) hold_id: &'a HoldId,
    session_id: &'a SessionId,
    tool: &'a ToolName,
    action: Option<&'a str>,
    kind: ToolKind,
    risk: RiskLevel,
    resource: Option<&'a ResourceId>,
    identity: Option<&'a Identity>,
    command: Option<&'a str>,
    arguments: &'a Arguments,
    expectation: Option<&'a Expectation>,
    reasons: &'a [String],
    plan_hash: ContentHash,
    opened_at: Timestamp,
    expires_at: Timestamp,
    status: &'static str,
    decided_by: Option<&'a UserId>,
    denial: Option<&'a str>,
    /// The rows of the plan as people may see them, and how many characters were written out.
    #[serde(flatten)]
    shown: Shown,
}

/// A plan as people may see it.
#[derive(Serialize)]
struct Shown {
    shown: Vec<(String, String)>,
    hidden_characters: usize,
}

impl Shown {
    fn of(hold: &Hold) -> Self {
        let mut hidden_characters = 0;
        let shown = hold
            .plan
            .rows()
            .into_iter()
            .map(|(label, value)| {
                let value = reveal(&value);
                hidden_characters += value.hidden;
                (reveal_line(&label).text, value.text)
            })
            .collect();
        Self {
            shown,
            hidden_characters,
        }
    }
}

impl<'a> HoldForm<'a> {
    pub(crate) fn new(hold: &'a Hold, now: Timestamp) -> Self {
        let plan = &hold.plan;
        let (decided_by, denial) = match &hold.status {
            HoldStatus::Approved { by, .. } | HoldStatus::Edited { by, .. } => (Some(by), None),
            HoldStatus::Denied { by, reason, .. } => (Some(by), Some(reason.as_str())),
            HoldStatus::Pending | HoldStatus::Expired { .. } | HoldStatus::Withdrawn { .. } => (None, None),
        };
        Self {
            hold_id: &hold.id,
            session_id: &plan.session,
            tool: &plan.tool,
            action: plan.action.as_deref(),
            kind: plan.kind,
            risk: plan.risk,
            resource: plan.resource(),
            identity: plan.target.as_ref().map(|target| &target.identity),
            shown: Shown::of(hold),
            command: plan.command.as_deref(),
            arguments: &plan.arguments,
            expectation: plan.expectation.as_ref(),
            reasons: &hold.reasons,
            plan_hash: hold.plan_hash,
            opened_at: hold.opened_at,
            expires_at: hold.expires_at,
            status: word(hold, now),
            decided_by,
            denial,
        }
    }
}

/// Where a hold stands, in one word.
pub(crate) fn word(hold: &Hold, now: Timestamp) -> &'static str {
    hold.word(now)
}

/// How long a hold still waits.
pub(crate) fn left(hold: &Hold, now: Timestamp) -> String {
    if hold.is_open(now) {
        seconds(hold.expires_at.duration_since(now))
    } else {
        "none".to_owned()
    }
}

/// A hold in one line.
pub(crate) fn line(hold: &Hold) -> String {
    summary(hold.plan.tool.as_str(), &hold.plan.arguments)
}

/// The whole plan, for the person who decides.
pub(crate) fn render(hold: &Hold, now: Timestamp, paint: Paint) -> String {
    let plan = &hold.plan;
    let mut rows: Vec<(&str, String)> = vec![("hold", hold.id.to_string())];
    let action = plan
        .action
        .as_deref()
        .map_or_else(String::new, |action| format!(" {}", visible(action)));
    rows.push(("tool", format!("{}{action}", plan.tool)));
    let resource = plan.target.as_ref().map_or_else(
        || "none".to_owned(),
        |target| {
            let state = target
                .state
                .as_deref()
                .map_or_else(String::new, |state| format!(", {}", visible(state)));
            format!(
                "{} ({}{state})",
                visible(&target.id.to_string()),
                visible(&target.name)
            )
        },
    );
    rows.push(("resource", resource));
    let identity = plan.target.as_ref().map(|target| &target.identity);
    if let Some(identity) = identity.filter(|identity| !identity.is_empty()) {
        rows.push(("machine", visible(&identity.to_string())));
    }
    if let Some(command) = &plan.command {
        rows.push(("command", whole(command)));
    }
    for (name, value) in &plan.arguments {
        if matches!(name.as_str(), "action" | "command") && plan.action.is_some() {
            continue;
        }
        let text = match value {
            Value::String(text) => whole(text),
            other => whole(&other.to_string()),
        };
        rows.push(("argument", format!("{} = {text}", visible(name))));
    }
    rows.push(("risk", plan.risk.to_string()));
    rows.push((
        "afterwards",
        plan.expectation.as_ref().map_or_else(
            || "nothing to look at".to_owned(),
            |expectation| visible(&expected(expectation)),
        ),
    ));
    let hidden = Shown::of(hold).hidden_characters;
    if hidden > 0 {
        let warning = format!("{hidden} hidden or non-ASCII characters are written out as ⟦U+…⟧");
        rows.push(("careful", paint.paint(Tone::Careful, &warning)));
    }
    for reason in &hold.reasons {
        rows.push(("because", interlock_protocol::visible::line(reason)));
    }
    rows.push(("session", plan.session.to_string()));
    rows.push(("plan hash", hold.plan_hash.to_string()));
    match &hold.status {
        HoldStatus::Pending => rows.push(("time left", left(hold, now))),
        HoldStatus::Approved { by, at } => rows.push(("approved", format!("by {by}, {}", moment(*at)))),
        HoldStatus::Denied { by, at, reason } => {
            rows.push((
                "denied",
                format!(
                    "by {by}, {}: {}",
                    moment(*at),
                    interlock_protocol::visible::line(reason)
                ),
            ));
        }
        HoldStatus::Edited { by, at, .. } => rows.push(("changed", format!("by {by}, {}", moment(*at)))),
        HoldStatus::Expired { at } => rows.push(("expired", moment(*at))),
        HoldStatus::Withdrawn { at } => rows.push(("withdrawn", moment(*at))),
    }
    let mut text = String::new();
    for (name, value) in rows {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "  {}  {value}", paint_padded(name, paint));
    }
    text
}

/// Padding counts the bytes of a colour, so that it goes around the padded word.
fn paint_padded(name: &str, paint: Paint) -> String {
    paint.paint(Tone::Quiet, &format!("{name:<10}"))
}

/// A text of a plan on one line: never cut, with everything that does not print written out.
fn visible(text: &str) -> String {
    reveal_line(text).text
}

/// A text that someone is about to approve is never cut.
fn whole(text: &str) -> String {
    reveal(text).text.replace('\n', "\n              ")
}

#[cfg(test)]
mod tests {
    use interlock_protocol::unreveal;
    use serde_json::json;

    use super::*;

    fn hold(command: &str, content: &str) -> Hold {
        serde_json::from_value(json!({
            "id": "hold_1", "call": "call_1", "plan_hash": "0".repeat(64), "reasons": ["because"], "four_eyes": "off",
            "opened_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-01T00:10:00Z", "status": {"status": "pending"},
            "plan": {
                "session": "ses_1", "execution": "exe_1", "call": "call_1", "tool": "infra_control", "action": "command",
                "arguments": {"action": "command", "command": command, "content": content},
                "kind": "write", "risk": "medium", "command": command, "timeout_seconds": 30,
                "target": {
                    "id": "host:box", "name": "box",
                    "identity": {"endpoint": "10.0.0.5:22", "ssh_host_key": "SHA256:abc"},
                },
            },
        }))
        .unwrap()
    }

    /// The text of a row, read off what is shown.
    fn row<'a>(text: &'a str, name: &str, next: &str) -> Option<&'a str> {
        let (_, rest) = text.split_once(&format!("\n  {name:<10}  "))?;
        rest.split_once(&format!("\n  {next:<10}  ")).map(|(row, _)| row)
    }

    #[test]
    fn what_will_run_can_be_read_off_the_terminal_to_the_last_byte() {
        for hostile in [
            "rm -rf /srv\u{202e}/gnimoc",
            "a\u{200b}b\u{e0041}\u{fe0f}",
            "\u{1b}[2J\u{1b}]0;x\u{7}",
            "line\n\u{1b}[1Aother\r\n",
            "⟦U+202E⟧ e\u{301}\u{302}\u{303}\u{304}",
            &format!("{}{}", "0123456789abcdef".repeat(4), "y".repeat(5000)),
        ] {
            let hold = hold(hostile, hostile);
            let text = render(&hold, hold.opened_at, Paint::Off);
            let command = row(&text, "command", "argument").unwrap();
            let shown = command.replace("\n              ", "\n");
            assert_eq!(unreveal(&shown).as_deref(), Some(hostile), "{text}");
            let content = row(&text, "argument", "risk").unwrap();
            let shown = content.replace("\n              ", "\n");
            assert_eq!(
                unreveal(shown.strip_prefix("content = ").unwrap()).as_deref(),
                Some(hostile)
            );
            assert_eq!(
                text.contains("hidden or non-ASCII characters"),
                hostile.contains(|c: char| !c.is_alphanumeric()),
                "{text}"
            );
        }
    }

    #[test]
    fn the_machine_is_shown() {
        let hold = hold("true", "x");
        let text = render(&hold, hold.opened_at, Paint::Off);
        assert!(
            text.contains("machine     at 10.0.0.5:22, SSH key SHA256:abc\n"),
            "{text}"
        );
    }
}
