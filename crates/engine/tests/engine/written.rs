//! What cannot be written to the record is an error. It never becomes an empty value that is kept as if it were the real one.

use std::fs;
use std::path::Path;

use crate::sources::sources;

/// The crates of which something is kept.
const CRATES: [&str; 8] = [
    "engine", "gate", "store", "protocol", "model", "logic", "executor", "infra",
];

/// Each place at which a value is serialised and a failure becomes nothing.
fn swallowed(text: &str) -> Vec<&str> {
    let closes = |rest: &str| {
        let mut depth = 0_usize;
        rest.char_indices().find_map(|(at, character)| {
            match character {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            (character == ')' && depth == 0).then_some(at + 1)
        })
    };
    let calls = [
        "serde_json::to_value(",
        "serde_json::to_string(",
        "serde_json::to_vec(",
    ];
    let mut found = Vec::new();
    for call in calls {
        for (at, _) in text.match_indices(call) {
            let open = at + call.len() - 1;
            let Some(end) = closes(&text[open..]).map(|length| open + length) else {
                continue;
            };
            let then = text[end..].trim_start();
            if then.starts_with(".unwrap_or_default()") || then.starts_with(".unwrap_or(") {
                found.push(&text[at..end]);
            }
        }
    }
    found
}

#[test]
fn no_failure_to_write_becomes_an_empty_value() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in CRATES {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.len() > 200, "{}", files.len());
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(swallowed(&text), Vec::<&str>::new(), "{}", path.display());
    }
}

#[test]
fn a_swallowed_failure_is_found() {
    let cases = [
        ("serde_json::to_value(ask).unwrap_or_default()", 1),
        (
            "serde_json::to_value(&f(x, (1)))\n            .unwrap_or_default()",
            1,
        ),
        ("serde_json::to_string(&call).unwrap_or(String::new())", 1),
        ("serde_json::to_vec(&reply).unwrap_or_default()", 1),
        ("serde_json::to_value(ask)?", 0),
        ("serde_json::from_str(text).unwrap_or_default()", 0),
    ];
    for (text, count) in cases {
        assert_eq!(swallowed(text).len(), count, "{text}");
    }
}
