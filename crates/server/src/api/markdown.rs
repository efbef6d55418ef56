//! A session as a document, for a ticket or a chat.

use std::fmt::Write as _;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use interlock_protocol::{Evidence, Head, SessionId, ToolKind, visible};
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
    let readings: Vec<_> = evidence.iter().map(|evidence| evidence.taken_at).collect();
    // Last: what was read until here is what is checked.
    let seal = store.seal_of(&session).await?;
    let head = interlock_engine::head_of(&outline, &calls, &readings, &seal);
    let text = document(&outline, &head, &timeline, &calls, &evidence);
    let mut response = text.into_response();
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/markdown; charset=utf-8"),
    );
    Ok(response)
}

/// How much of one step is written out, in characters.
const STEP: usize = 2000;

fn document(
    outline: &Outline,
    head: &Head,
    timeline: &[TimelineEntry],
    calls: &[Call],
    evidence: &[Evidence],
) -> String {
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
    // What code says comes first; what the model wrote stands in a frame that its text cannot leave.
    let _ = write!(text, "\n## What was done and read\n\n");
    for line in head.lines() {
        // Its parts are written out already.
        let _ = writeln!(
            text,
            "- {} {}",
            line.tone.mark(),
            unmarked(&visible::composed(&line.text))
        );
    }
    if let Some(answer) = &session.answer {
        let _ = write!(text, "\n## The model's answer\n\n{}", quoted(answer));
    }
    if let Some(error) = &session.error {
        let _ = write!(text, "\n## Error\n\n{}", fenced(error));
    }
    let _ = write!(text, "\n## Input\n\n{}", fenced(&submitted.input));
    let _ = write!(text, "\n## Receipts of writes\n\n");
    let writes: Vec<&Call> = calls
        .iter()
        .filter(|call| call.started.plan.kind == ToolKind::Write)
        .collect();
    if writes.is_empty() {
        text.push_str("There are none.\n");
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
        .map_or_else(String::new, |action| format!(" {}", plain(action)));
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
    format!("- `{}{action}`{on}: {came}, {looked}{by}\n", plan.tool)
}

/// A step of the timeline.
fn step(entry: &TimelineEntry) -> String {
    let clock = entry.at.strftime("%H:%M:%S");
    let fact = |name: &str| entry.metadata.get(name).and_then(Value::as_str);
    let content = cut(&entry.content, STEP);
    match entry.kind.as_str() {
        "llm_tool_call" => {
            let call = entry.call.as_ref();
            let tool = code(call.map_or("a tool", |call| call.tool.as_str()));
            let arguments = entry
                .metadata
                .get("arguments")
                .map_or_else(String::new, |arguments| {
                    format!(" {}", code(&cut(&arguments.to_string(), 400)))
                });
            let rule = call
                .and_then(|call| call.refused.as_ref())
                .map_or_else(String::new, |(rule, _)| {
                    format!(" by the rule {}", code(rule.as_str()))
                });
            let says = if content.trim().is_empty() {
                String::new()
            } else {
                format!(": {}", code(&cut(&content, 400)))
            };
            format!(
                "- {clock} {tool}{arguments} {}{rule}{says}\n",
                plain(&entry.status)
            )
        }
        "final_analysis" => format!("- {clock} answered\n"),
        "user_question" => format!("- {clock} asked: {}\n", code(&content)),
        "llm_thinking" => format!("- {clock} thought: {}\n", code(&content)),
        "llm_response" => format!("- {clock} said: {}\n", code(&content)),
        "error" => {
            let rule = fact("rule").map_or_else(String::new, |rule| format!(" by the rule {}", code(rule)));
            format!("- {clock} {}{rule}: {}\n", plain(&entry.status), code(&content))
        }
        other => format!("- {clock} {}: {}\n", plain(other), code(&content)),
    }
}

/// How wide a frame is, in characters: inside a fence nothing wraps a line.
const WIDTH: usize = 100;

/// A text of somebody else on one line, with nothing in it that would be a heading, a link or HTML.
fn plain(text: &str) -> String {
    unmarked(&visible::line(&text.trim().replace(['\r', '\n', '\t'], " ")))
}

/// The text with everything escaped that Markdown would act on.
fn unmarked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // What becomes a link by itself does not with its dot or colon escaped.
        let links = (c == ':' && rest.starts_with("://")) || (c == '.' && follows_www(out.as_bytes()));
        if links || "\\`*_[]<>#|!&~$".contains(c) {
            out.push('\\');
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

fn follows_www(out: &[u8]) -> bool {
    out.last_chunk::<3>()
        .is_some_and(|end| end.eq_ignore_ascii_case(b"www"))
}

/// How many backticks no run in the text has.
fn ticks(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(least) + 1)
}

/// A text of somebody else as code on one line.
fn code(text: &str) -> String {
    let text = visible::line(&text.replace(['\r', '\n', '\t'], " "));
    let ticks = ticks(&text, 0);
    format!("{ticks} {text} {ticks}")
}

/// A text of somebody else between fences that it cannot close.
fn fenced(text: &str) -> String {
    let text = visible::lines(text.trim_end());
    let fence = ticks(&text, 2);
    format!("{fence}text\n{text}\n{fence}\n")
}

/// What a model wrote: quoted, between fences that it cannot close, so that nothing in it is Markdown or HTML, defines a
/// link, mentions somebody, or hides what comes after it.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for line in fenced(&wrapped(text)).lines() {
        // Writing into a String cannot fail.
        let _ = writeln!(out, "> {line}");
    }
    out
}

/// The text with its long lines broken, behind a space where there is one.
fn wrapped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 64);
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let mut rest = line;
        while let Some((end, _)) = rest.char_indices().nth(WIDTH) {
            let end = rest[..end].rfind(' ').map_or(end, |space| space + 1);
            out.push_str(rest[..end].trim_end());
            out.push('\n');
            rest = &rest[end..];
        }
        out.push_str(rest);
    }
    out
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
        assert_eq!(
            plain("http://a www.b &lt; \u{202e}"),
            "http\\://a www\\.b \\&lt; ⟦U+202E⟧"
        );
        assert_eq!(fenced("a\n```\nb"), "````text\na\n```\nb\n````\n");
        assert_eq!(code("a`b``c"), "``` a`b``c ```");
    }

    #[derive(serde::Deserialize)]
    struct Forged {
        what: String,
        text: String,
    }

    #[test]
    fn every_forged_answer_stays_in_its_frame() {
        let forged: Vec<Forged> =
            serde_json::from_str(include_str!("../../../protocol/tests/forged.json")).unwrap();
        for Forged { what, text } in forged {
            let shown = quoted(&text);
            let lines: Vec<&str> = shown.lines().collect();
            let fence = lines[0].strip_prefix("> ").unwrap().trim_end_matches("text");
            assert!(
                fence.len() >= 3 && fence.chars().all(|c| c == '`'),
                "{what}: {shown}"
            );
            let (last, inside) = lines[1..].split_last().unwrap();
            assert_eq!(*last, format!("> {fence}"), "{what}");
            for line in inside {
                let line = line
                    .strip_prefix("> ")
                    .unwrap_or_else(|| panic!("{what}: {line:?}"));
                // Only as many backticks as opened it close a fence.
                assert!(!line.contains(fence), "{what}: {line:?}");
                assert!(line.chars().count() <= 8 * WIDTH, "{what}: {line:?}");
                assert!(
                    !line.contains(|c: char| c.is_control() && c != '\t'),
                    "{what}: {line:?}"
                );
                assert!(
                    !line.contains(['\u{202e}', '\u{200b}', '\u{2066}', '\u{2028}']),
                    "{what}"
                );
            }
        }
    }
}
