//! Approvals of a server: looked at and decided through its API.

use std::fmt::Write as _;

use interlock_protocol::{reveal, reveal_line};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Client, whole};
use crate::Ending;
use crate::decide::{Typed, typed};
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::keyboard::Keyboard;
use crate::sessions::short;
use crate::steps::{seconds, summary};
use crate::table::Table;
use crate::terminal::{Paint, Tone, visible};

/// A decision.
pub(crate) enum Decision<'a> {
    /// Yes, to the plan with this hash; without one, to the plan that is shown and asked about.
    Approve(Option<&'a str>),
    /// No, for this reason.
    Deny(&'a str),
}

pub(crate) async fn list(globals: &Globals, client: &Client, all: bool) -> Result<Ending, Failure> {
    let status = if all { "all" } else { "open" };
    let document = client.get(&format!("/approvals?status={status}")).await?;
    let approvals = document
        .get("approvals")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    globals.print_lines(&approvals, |paint| {
        if approvals.is_empty() {
            return "nothing waits for a human\n".to_owned();
        }
        let now = Timestamp::now();
        let mut table = Table::new(&["hold", "status", "left", "risk", "resource", "plan"]);
        for approval in &approvals {
            let arguments = approval.pointer("/plan/arguments").and_then(Value::as_object);
            let plan = summary(
                at(approval, "/plan/tool"),
                &arguments.cloned().unwrap_or_default(),
            );
            table.row(vec![
                (visible(short(at(approval, "/id"))), None),
                (visible(at(approval, "/status")), Some(Tone::Careful)),
                (left(approval, now), None),
                (visible(at(approval, "/plan/risk")), None),
                (visible(at(approval, "/plan/resource")), None),
                (visible(plan.trim()), None),
            ]);
        }
        table.render(paint)
            + "\n`interlock approvals show ID` shows all of it; `approve ID` and `deny ID` decide\n"
    })?;
    Ok(Ending::Done)
}

/// How long a hold still waits, by the clock here.
fn left(approval: &Value, now: Timestamp) -> String {
    let expires: Option<Timestamp> = at(approval, "/expires_at").parse().ok();
    match expires {
        Some(expires) if at(approval, "/status") == "pending" && expires > now => {
            seconds(expires.duration_since(now))
        }
        Some(_) | None => "none".to_owned(),
    }
}

/// The whole id of a hold that a text names or begins.
async fn whole_id(client: &Client, hold: &str) -> Result<String, Failure> {
    let document = client.get("/approvals?status=all").await?;
    let approvals = document.get("approvals").and_then(Value::as_array);
    let known = approvals
        .into_iter()
        .flatten()
        .map(|approval| at(approval, "/id"));
    whole(hold, known)
}

pub(crate) async fn show(globals: &Globals, client: &Client, hold: &str) -> Result<Ending, Failure> {
    let approval = client
        .get(&format!("/approvals/{}", whole_id(client, hold).await?))
        .await?;
    globals.print(&approval, |paint| render(&approval, paint))?;
    Ok(Ending::Done)
}

pub(crate) async fn decide(
    globals: &Globals,
    client: &Client,
    hold: &str,
    decision: Decision<'_>,
) -> Result<Ending, Failure> {
    let place = format!("/approvals/{}", whole_id(client, hold).await?);
    let decided = match decision {
        Decision::Deny(reason) => {
            let reason = if reason.is_empty() {
                "no reason was given"
            } else {
                reason
            };
            client
                .post(&format!("{place}/deny"), &json!({ "reason": reason }))
                .await?
        }
        Decision::Approve(seen) => {
            let opened = client.post(&format!("{place}/open"), &json!({})).await?;
            let approval = opened.get("approval").cloned().unwrap_or_default();
            let hash = at(&approval, "/plan_hash").to_owned();
            if !has_seen(globals, &approval, &hash, seen).await? {
                say("not approved");
                return Ok(Ending::Unsuccessful);
            }
            let body = json!({ "token": at(&opened, "/token"), "plan_hash": hash });
            client.post(&format!("{place}/approve"), &body).await?
        }
    };
    globals.print(&decided, |_| {
        format!(
            "{} is {}\n",
            visible(at(&decided, "/id")),
            visible(at(&decided, "/status"))
        )
    })?;
    Ok(Ending::Done)
}

pub(crate) async fn edit(
    globals: &Globals,
    client: &Client,
    hold: &str,
    change: impl FnOnce(Value) -> Result<Value, Failure>,
) -> Result<Ending, Failure> {
    let place = format!("/approvals/{}", whole_id(client, hold).await?);
    let approval = client.get(&place).await?;
    let arguments = approval.pointer("/plan/arguments").cloned().unwrap_or(json!({}));
    let body = json!({ "arguments": change(arguments)?, "plan_hash": at(&approval, "/plan_hash") });
    let edited = client.post(&format!("{place}/edit"), &body).await?;
    globals.print(&edited, |paint| {
        format!(
            "the changed plan waits as a hold of its own:\n{}",
            render(&edited, paint)
        )
    })?;
    Ok(Ending::Done)
}

/// Makes sure that whoever approves has seen the plan.
async fn has_seen(
    globals: &Globals,
    approval: &Value,
    hash: &str,
    seen: Option<&str>,
) -> Result<bool, Failure> {
    if let Some(seen) = seen {
        return if seen == hash {
            Ok(true)
        } else {
            Err(Failure::unsuccessful(format!(
                "the plan has another hash, {hash}: look at it again"
            )))
        };
    }
    if !globals.can_ask() {
        return Err(Failure::wrong(
            "without a terminal an approval needs the hash of the plan that was seen; \
             `interlock approvals show ID --json` has it as `plan_hash`, and --plan-hash takes it",
        ));
    }
    say(&render(approval, globals.paint(&std::io::stderr())));
    let mut keyboard = Keyboard::new();
    loop {
        say("Approve exactly this? [y]es, [n]o");
        match keyboard.line().await.as_deref().map(typed) {
            Some(Typed::Yes) => return Ok(true),
            Some(Typed::No(_)) | None => return Ok(false),
            Some(Typed::Details | Typed::Unclear) => {}
        }
    }
}

fn at<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

fn render(approval: &Value, paint: Paint) -> String {
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(
                text,
                "  {}  {}",
                paint.paint(Tone::Quiet, &format!("{:<12}", reveal_line(name).text)),
                // What someone is about to approve is never cut.
                reveal(value).text.replace('\n', "\n                ")
            );
        }
    };
    row("hold", at(approval, "/id"));
    let steps = approval.pointer("/plan/steps").and_then(Value::as_array);
    for step in steps.into_iter().flatten() {
        row(at(step, "/label"), at(step, "/value"));
    }
    let hidden = approval
        .pointer("/plan/hidden_characters")
        .and_then(Value::as_u64);
    if let Some(hidden) = hidden.filter(|hidden| *hidden > 0) {
        row(
            "careful",
            &format!("{hidden} hidden or non-ASCII characters are written out as ⟦U+…⟧"),
        );
    }
    row("reach", at(approval, "/blast_radius"));
    row("why", at(approval, "/why"));
    for reason in approval
        .get("reasons")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        row("because", reason.as_str().unwrap_or(""));
    }
    row("session", at(approval, "/session"));
    row("plan hash", at(approval, "/plan_hash"));
    row("expires", at(approval, "/expires_at"));
    row("status", at(approval, "/status"));
    row("not run", at(approval, "/not_run/message"));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_said_twice() {
        let approval = json!({
            "id": "hold_1", "status": "approved", "session": "ses_1", "plan_hash": "aa", "expires_at": "2026-01-01T00:00:00Z",
            "plan": {
                "steps": [{"label": "tool", "value": "infra_control"}, {"label": "afterwards", "value": "unit web must run"}],
                "expectation": "unit web must run",
            },
            "not_run": {"message": "Its state changed."},
        });
        let text = render(&approval, Paint::Off);
        assert_eq!(text.matches("afterwards").count(), 1, "{text}");
        assert_eq!(text.matches("unit web must run").count(), 1, "{text}");
        assert!(text.contains("not run       Its state changed."), "{text}");
    }

    #[test]
    fn a_plan_is_shown_whole_and_nothing_in_it_is_hidden() {
        let content = format!("{}\u{202e}end", "x\n".repeat(1000));
        let approval = json!({
            "id": "hold_1", "plan": {
                "steps": [{"label": "argument content", "value": content}], "hidden_characters": 1,
            },
        });
        let text = render(&approval, Paint::Off);
        let row = text.lines().skip(1).collect::<Vec<_>>().join("\n");
        let row = row.strip_prefix("  argument content  ").unwrap();
        let (row, warning) = row.split_once("\n  careful").unwrap();
        assert_eq!(
            interlock_protocol::unreveal(&row.replace("\n                ", "\n")).unwrap(),
            content
        );
        assert!(warning.contains("1 hidden or non-ASCII characters"), "{text}");
    }
}
