//! A plan that waits for a human, as people and programs see it: exactly what would run, and why someone must look.

use std::fmt::Write as _;

use interlock_gate::{Hold, HoldStatus, expected};
use interlock_protocol::{
    Arguments, ContentHash, Expectation, HoldId, ResourceId, RiskLevel, SessionId, ToolKind, ToolName, UserId,
};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::steps::{moment, seconds, summary};
use crate::terminal::{Paint, Tone, visible, visible_lines};

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
    for reason in &hold.reasons {
        rows.push(("because", visible(reason)));
    }
    rows.push(("session", plan.session.to_string()));
    rows.push(("plan hash", hold.plan_hash.to_string()));
    match &hold.status {
        HoldStatus::Pending => rows.push(("time left", left(hold, now))),
        HoldStatus::Approved { by, at } => rows.push(("approved", format!("by {by}, {}", moment(*at)))),
        HoldStatus::Denied { by, at, reason } => {
            rows.push(("denied", format!("by {by}, {}: {}", moment(*at), visible(reason))));
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

/// A text that someone is about to approve is never cut.
fn whole(text: &str) -> String {
    visible_lines(text).replace('\n', "\n              ")
}
