//! What an answer rests on: each number and state in it, with the evidence that shows it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlock_protocol::{EvidenceId, ResourceId, SessionId};
use interlock_store::Store;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::terminal::{Paint, Tone, visible};

/// The timeline's word for an answer.
const ANSWER: &str = "final_analysis";

/// A part of an answer, and what shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Ground {
    /// The part: a number, a state.
    text: String,
    /// What shows it; nothing if nothing does.
    evidence: Vec<Shown>,
}

/// One evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Shown {
    evidence_id: EvidenceId,
    resource: Option<ResourceId>,
}

#[derive(Deserialize)]
struct Span {
    start: usize,
    end: usize,
    evidence: Vec<EvidenceId>,
}

/// What the session's answer rests on, each part once, in the order of the answer.
pub(crate) async fn of(store: &Store, session: &SessionId) -> Result<Vec<Ground>, Failure> {
    let timeline = store.timeline(session).await?;
    let Some(answer) = timeline.iter().rfind(|entry| entry.kind == ANSWER) else {
        return Ok(Vec::new());
    };
    let spans: Vec<Span> = answer
        .metadata
        .get("spans")
        .and_then(|spans| serde_json::from_value(spans.clone()).ok())
        .unwrap_or_default();
    let resources: BTreeMap<EvidenceId, Option<ResourceId>> = store
        .evidence(session)
        .await?
        .into_iter()
        .map(|evidence| (evidence.id, evidence.resource))
        .collect();
    let mut grounds: Vec<Ground> = Vec::new();
    for span in spans {
        let Some(text) = answer.content.get(span.start..span.end).map(str::trim) else {
            continue;
        };
        if grounds.iter().any(|ground| ground.text == text) {
            continue;
        }
        let evidence = span.evidence.into_iter().map(|id| Shown {
            resource: resources.get(&id).cloned().flatten(),
            evidence_id: id,
        });
        grounds.push(Ground {
            text: text.to_owned(),
            evidence: evidence.collect(),
        });
    }
    Ok(grounds)
}

/// The same, for people; nothing for an answer without numbers, states and names.
pub(crate) fn render(grounds: &[Ground], paint: Paint) -> Option<String> {
    if grounds.is_empty() {
        return None;
    }
    // Writing into a String cannot fail.
    let mut text = paint.paint(Tone::Strong, "What it rests on\n");
    for ground in grounds {
        let quoted = visible(&ground.text);
        match ground.evidence.as_slice() {
            [] => {
                let mark = paint.paint(Tone::Careful, "?");
                let _ = writeln!(text, "  {mark} “{quoted}”: no evidence shows this");
            }
            [first, rest @ ..] => {
                // Evidence shows the part, not the sentence around it: no check mark.
                let mark = "=";
                let of = first
                    .resource
                    .as_ref()
                    .map_or_else(String::new, |resource| format!(" of {resource}"));
                let more = match rest.len() {
                    0 => String::new(),
                    count => format!(", and {count} more"),
                };
                let _ = writeln!(text, "  {mark} “{quoted}”: {}{of}{more}", first.evidence_id);
            }
        }
    }
    text.truncate(text.trim_end().len());
    Some(text)
}
