//! Placeholders of masked secrets in what a plan would write. A model never sees a secret that was masked; if it writes back
//! what it saw, the placeholder takes the place of the secret.

use interlock_protocol::{Arguments, ErrorCode};
use serde_json::{Value, json};

use crate::refusal::{About, Recovery, Refusal};
use crate::rule::Rule;

/// What every placeholder begins with: `[masked:password]`.
const MARKER: &str = "[masked:";
/// How many places are named in a refusal.
const MOST: usize = 10;

/// Refuses a write that would put placeholders where secrets are.
pub(crate) fn check(arguments: &Arguments, about: &About) -> Result<(), Box<Refusal>> {
    let found = places(arguments);
    if found.is_empty() {
        return Ok(());
    }
    let places: Vec<Value> = found
        .iter()
        .take(MOST)
        .map(|(at, placeholder)| json!({ "at": at, "placeholder": placeholder }))
        .collect();
    Err(Refusal::new(
        Rule::Arguments,
        ErrorCode::InvalidInput,
        about.clone(),
        "The arguments hold the placeholder of a masked secret. Written back, it would replace the secret itself.",
    )
    .detail("masked_placeholders", places)
    .hint(
        "`infra_file_edit` with action=patch changes parts of a file: `edits` name the text to replace, and lines with \
         secrets stay as they are.",
    )
    .recovery(Recovery::Automatic))
}

/// Where placeholders are, and which.
pub(crate) fn places(arguments: &Arguments) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, value) in arguments {
        note(name, &format!("/{name}"), &mut found);
        look(value, &format!("/{name}"), &mut found);
    }
    found
}

fn look(value: &Value, at: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => note(text, at, found),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                look(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                note(name, &format!("{at}/{name}"), found);
                look(value, &format!("{at}/{name}"), found);
            }
        }
    }
}

fn note(text: &str, at: &str, found: &mut Vec<(String, String)>) {
    let Some(begin) = text.to_ascii_lowercase().find(MARKER) else {
        return;
    };
    let rest = &text[begin..];
    let end = rest
        .find(']')
        .map_or(MARKER.len(), |end| end + 1)
        .min(rest.floor_char_boundary(64));
    found.push((at.to_owned(), rest[..end].to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_found_wherever_they_are() {
        let cases = [
            (json!({"content": "a"}), vec![]),
            (
                json!({"content": "user=x\npassword=[masked:password]\n"}),
                vec![("/content", "[masked:password]")],
            ),
            (json!({"content": "[MASKED:x]"}), vec![("/content", "[MASKED:x]")]),
            (
                json!({"edits": [{"find": "a", "replace": "[masked:jwt]"}]}),
                vec![("/edits/0/replace", "[masked:jwt]")],
            ),
            (
                json!({"x": {"[masked:y]": 1}}),
                vec![("/x/[masked:y]", "[masked:y]")],
            ),
            (json!({"content": "[masked:"}), vec![("/content", "[masked:")]),
            (json!({"content": "[masked]"}), vec![]),
        ];
        for (arguments, wanted) in cases {
            let Value::Object(map) = &arguments else {
                panic!("an object")
            };
            let found = places(map);
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|(at, what)| (at.as_str(), what.as_str()))
                .collect();
            assert_eq!(found, wanted, "{arguments}");
        }
    }
}
