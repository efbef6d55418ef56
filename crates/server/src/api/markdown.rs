//! A session as a document, for a ticket or a chat.

use std::fmt::Write as _;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use interlock_protocol::{Evidence, SessionId, ToolKind};
use interlock_store::{Call, Outline, TimelineEntry};
use serde_json::Value;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::At;
use super::forms::cut;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(markdown))
}

/// Show a session as a document.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/markdown", operation_id = "getMarkdown", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 200, description = "The session as Markdown", body = String, content_type = "text/markdown; charset=utf-8"),
        Anybody, Signed, Missing,
    ),
)]
async fn markdown(State(app): State<App>, At(session): At<SessionId>) -> Result<Response, Problem> {
    super::visible(&app, &session).await?;
    let store = app.store();
    let outline = store.outline(&session).await?;
    let calls = store.calls(&session).await?;
    let timeline = store.timeline(&session).await?;
    let evidence = store.evidence(&session).await?;
    let text = document(&outline, &timeline, &calls, &evidence);
    let mut response = text.into_response();
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/markdown; charset=utf-8"),
    );
    Ok(response)
}

/// How much of one step is written out, in characters.
const STEP: usize = 2000;

fn document(outline: &Outline, timeline: &[TimelineEntry], calls: &[Call], evidence: &[Evidence]) -> String {
    let session = &outline.session;
    let submitted = &session.submitted;
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = writeln!(text, "# {}\n", plain(&submitted.title));
    let _ = writeln!(text, "- Session: `{}`", submitted.id);
    let _ = writeln!(text, "- Status: **{}**", session.status);
    let owner = submitted.owner.as_ref().map_or("nobody", |owner| owner.as_str());
    let _ = writeln!(
        text,
        "- Asked by {} via {} at {}",
        plain(owner),
        plain(&submitted.channel),
        submitted.at
    );
    if let Some(alert_type) = &submitted.alert_type {
        let _ = writeln!(text, "- Alert type: {}", plain(alert_type));
    }
    if let Some(end) = session.completed_at {
        let _ = writeln!(text, "- Ended at {end}");
    }
    let _ = write!(text, "\n## Input\n\n{}", fenced(&submitted.input));
    if let Some(answer) = &session.answer {
        let _ = write!(text, "\n## Answer\n\n{}\n", answer.trim_end());
    }
    if let Some(error) = &session.error {
        let _ = write!(text, "\n## Error\n\n{}", fenced(error));
    }
    let _ = write!(text, "\n## What was done\n\n");
    let writes: Vec<&Call> = calls
        .iter()
        .filter(|call| call.started.plan.kind == ToolKind::Write)
        .collect();
    if writes.is_empty() {
        text.push_str("Nothing was changed.\n");
    }
    for call in writes {
        text.push_str(&done(call));
    }
    let _ = write!(text, "\n## Timeline\n\n");
    for entry in timeline {
        text.push_str(&step(entry));
    }
    let _ = write!(text, "\n## Evidence\n\n");
    if evidence.is_empty() {
        text.push_str("Nothing was read.\n");
    }
    for evidence in evidence {
        let about = evidence
            .resource
            .as_ref()
            .map_or_else(String::new, |resource| format!(" of `{resource}`"));
        let _ = writeln!(
            text,
            "- `{}`: {}{about}, {} (SHA-256 `{}`)",
            evidence.id, evidence.tool, evidence.taken_at, evidence.hash
        );
    }
    text
}

/// A write, from its receipt.
fn done(call: &Call) -> String {
    let plan = &call.started.plan;
    let action = plan
        .action
        .as_deref()
        .map_or_else(String::new, |action| format!(" {action}"));
    let on = plan
        .resource()
        .map_or_else(String::new, |resource| format!(" on `{resource}`"));
    let came = call.receipt.as_ref().map_or_else(
        || "left no receipt".to_owned(),
        |receipt| format!("{} ({})", receipt.outcome, plain(&receipt.summary)),
    );
    let looked = call
        .verification
        .map_or_else(|| "not looked at yet".to_owned(), |outcome| outcome.to_string());
    let by = call
        .started
        .approved_by
        .as_ref()
        .map_or_else(String::new, |by| format!(", approved by {}", plain(by.as_str())));
    format!("- `{}{}`{on}: {came}, {looked}{by}\n", plan.tool, plain(&action))
}

/// A step of the timeline.
fn step(entry: &TimelineEntry) -> String {
    let clock = entry.at.strftime("%H:%M:%S");
    let fact = |name: &str| entry.metadata.get(name).and_then(Value::as_str);
    let content = cut(&entry.content, STEP);
    match entry.kind.as_str() {
        "llm_tool_call" => {
            let tool = fact("tool").unwrap_or("a tool");
            let arguments = entry
                .metadata
                .get("arguments")
                .map_or_else(String::new, |arguments| {
                    format!(" {}", code(&cut(&arguments.to_string(), 400)))
                });
            let rule = fact("rule").map_or_else(String::new, |rule| format!(" by the rule `{rule}`"));
            let says = if content.trim().is_empty() {
                String::new()
            } else {
                format!(": {}", plain(&cut(&content, 400)))
            };
            format!("- {clock} `{tool}`{arguments} {}{rule}{says}\n", entry.status)
        }
        "final_analysis" => format!("- {clock} answered\n"),
        "user_question" => format!("- {clock} asked: {}\n", plain(&content)),
        "llm_thinking" => format!("- {clock} thought: {}\n", plain(&content)),
        "llm_response" => format!("- {clock} said: {}\n", plain(&content)),
        "error" => {
            let rule = fact("rule").map_or_else(String::new, |rule| format!(" by the rule `{rule}`"));
            format!("- {clock} {}{rule}: {}\n", entry.status, plain(&content))
        }
        other => format!("- {clock} {}: {}\n", plain(other), plain(&content)),
    }
}

/// A text of somebody else on one line, with nothing in it that would be a heading, a link or HTML.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// A text of somebody else as code on one line.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!("{ticks} {text} {ticks}")
}

/// A text of somebody else between fences that it cannot close.
fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_others_becomes_markup() {
        assert_eq!(
            plain("# a\n[x](javascript:1) <b> `c`"),
            "\\# a \\[x\\](javascript:1) \\<b\\> \\`c\\`"
        );
        assert_eq!(fenced("a\n```\nb"), "````text\na\n```\nb\n````\n");
        assert_eq!(code("a`b``c"), "``` a`b``c ```");
    }
}
