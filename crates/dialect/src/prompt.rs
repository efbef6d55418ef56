//! What the prompts of the text dialects have in common.

use crate::Offer;
use interlock_protocol::{ToolName, ToolResponse};
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a ToolName,
    description: &'a str,
    parameters: &'a Value,
}

/// The tools, each as one JSON object on one line: a description that comes from elsewhere stays inside its string.
pub(crate) fn tools(offer: &Offer) -> String {
    let mut lines = String::from("Tools:");
    if offer.is_empty() {
        lines.push_str(" none.");
    }
    for tool in offer.tools() {
        let listed = Listed {
            name: &tool.name,
            description: &tool.description,
            parameters: &tool.parameters,
        };
        lines.push('\n');
        lines.push_str(&one_line(&listed));
    }
    lines
}

/// A response on one line.
pub(crate) fn response(response: &ToolResponse) -> String {
    one_line(response)
}

/// JSON on one line, also for readers that break lines at Unicode's separators.
pub(crate) fn one_line(value: &impl Serialize) -> String {
    // Our own types are written with string keys and cannot fail; should one ever, an empty object says nothing false.
    let text = serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned());
    if text.contains(['\u{85}', '\u{2028}', '\u{2029}']) {
        text.replace('\u{85}', "\\u0085")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029")
    } else {
        text
    }
}
