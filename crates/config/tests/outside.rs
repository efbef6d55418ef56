//! No error and no warning repeats a value that came from the environment: planted in every key, with every kind of mistake.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must stop")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use interlock_config::{Loader, schema};
use serde_json::{Map, Value, json};

/// No word of any message contains four letters of it in a row.
const CANARY: &str = "zqxjkvwq";

/// Values that are wrong in different ways, or right in some places. `CANARY` is replaced.
const MISTAKES: &[&str] = &[
    "CANARY",
    "",
    "two words CANARY",
    "CANARY\nsecond line",
    "https://user:CANARY@example.org/v1?key=CANARY",
    "postgres://user:CANARY@db/interlock",
    "sqlite:",
    "sqlite:/var/CANARY\u{0}x",
    "4711CANARY",
    "10CANARY",
    "-1",
    "99999999999999999999",
    "CANARY:99999",
    "ed25519:CANARY",
    "${CANARY",
    "CANARY.CANARY_CANARY",
    "(CANARY[",
    "\u{202e}CANARY\u{1b}[31m",
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Everything that people are shown of a configuration.
fn shown(text: &str, value: &str) -> String {
    let environment = [
        ("OUTSIDE", value),
        ("GATEWAY_TOKEN", "gateway"),
        ("MIRROR_HOST", "mirror.example.org"),
        ("DB_PASSWORD", "db"),
        ("ANTHROPIC_API_KEY", "anthropic"),
        ("HOME", "/home/bob"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let file = folder("examples").join("interlock.yaml");
    match Loader::new(None, "/", environment).parse(&file, text.as_bytes()) {
        Ok(loaded) => {
            let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
            format!(
                "{}\n{loaded:?}\n{}",
                warnings.join("\n"),
                loaded.config.sanitised()
            )
        }
        Err(error) => format!("{error}\n{error:?}"),
    }
}

fn repeats(shown: &str) -> bool {
    let shown = shown.to_ascii_lowercase();
    (0..=CANARY.len() - 4).any(|at| shown.contains(&CANARY[at..at + 4]))
}

/// Tries every mistake in a place. Says which were repeated.
fn leaks(place: &str, text: &str, found: &mut Vec<String>) {
    for mistake in MISTAKES {
        let value = mistake.replace("CANARY", CANARY);
        let shown = shown(text, &value);
        if repeats(&shown) {
            found.push(format!("{place} = {mistake:?}:\n{shown}"));
        }
    }
}

/// Every single value of a document, one after the other, as one that comes from outside.
fn planted(document: &Value) -> Vec<(String, Value)> {
    fn walk(here: &Value, path: &str, put: &dyn Fn(Value) -> Value, all: &mut Vec<(String, Value)>) {
        match here {
            Value::Object(entries) => {
                for (name, value) in entries {
                    let put_below = |below: Value| {
                        let mut entries = entries.clone();
                        entries.insert(name.clone(), below);
                        put(Value::Object(entries))
                    };
                    walk(value, &format!("{path}.{name}"), &put_below, all);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    let put_below = |below: Value| {
                        let mut items = items.clone();
                        items[index] = below;
                        put(Value::Array(items))
                    };
                    walk(value, &format!("{path}[{index}]"), &put_below, all);
                }
            }
            _ => {
                all.push((path.to_owned(), put(json!("${OUTSIDE}"))));
                all.push((path.to_owned(), put(json!("a-${OUTSIDE}-b"))));
            }
        }
    }
    let mut all = Vec::new();
    walk(document, "", &|value| value, &mut all);
    all
}

#[test]
fn no_mistake_in_an_example_repeats_a_value() {
    let mut found = Vec::new();
    let mut tried = 0;
    for name in ["connections", "homelab", "scripted", "team"] {
        let text = std::fs::read_to_string(folder("examples").join(format!("{name}.yaml"))).unwrap();
        let document: Value = serde_saphyr::from_str(&text).unwrap();
        for (place, planted) in planted(&document) {
            tried += 1;
            // JSON is YAML.
            leaks(&format!("{name}{place}"), &planted.to_string(), &mut found);
        }
    }
    assert!(tried > 150, "{tried}");
    assert!(found.is_empty(), "{} of them:\n{}", found.len(), found.join("\n"));
}

/// Every key that the schema knows: as a document with nothing but that key, and its value from outside.
fn keys() -> Vec<(String, Value)> {
    fn walk(
        schema: &Value,
        here: &Value,
        (path, depth): (&str, usize),
        put: &dyn Fn(Value) -> Value,
        all: &mut Vec<(String, Value)>,
    ) {
        if depth > 9 {
            return;
        }
        if let Some(name) = here["$ref"].as_str() {
            let target = schema.pointer(name.trim_start_matches('#')).unwrap();
            return walk(schema, target, (path, depth + 1), put, all);
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for one in here[key].as_array().into_iter().flatten() {
                walk(schema, one, (path, depth + 1), put, all);
            }
        }
        for (name, below) in here["properties"].as_object().into_iter().flatten() {
            let put_below = |value: Value| put(Value::Object(Map::from_iter([(name.clone(), value)])));
            walk(
                schema,
                below,
                (&format!("{path}.{name}"), depth + 1),
                &put_below,
                all,
            );
        }
        if here["additionalProperties"].is_object() {
            let put_below = |value: Value| put(json!({ "main": value }));
            let below = &here["additionalProperties"];
            walk(
                schema,
                below,
                (&format!("{path}.main"), depth + 1),
                &put_below,
                all,
            );
        }
        if here["items"].is_object() {
            let put_below = |value: Value| put(json!([value]));
            walk(
                schema,
                &here["items"],
                (&format!("{path}[0]"), depth + 1),
                &put_below,
                all,
            );
        }
        // In place of every value, also of one that is a map or a list.
        all.push((path.to_owned(), put(json!("${OUTSIDE}"))));
    }
    let schema = schema();
    let mut all = Vec::new();
    walk(&schema, &schema, ("", 0), &|value| value, &mut all);
    let mut seen = BTreeSet::new();
    all.retain(|(path, _)| !path.is_empty() && seen.insert(path.clone()));
    all
}

#[test]
fn no_mistake_in_any_key_repeats_a_value() {
    let mut found = Vec::new();
    let keys = keys();
    assert!(keys.len() > 150, "{}", keys.len());
    for (place, document) in keys {
        leaks(&place, &document.to_string(), &mut found);
    }
    assert!(found.is_empty(), "{} of them:\n{}", found.len(), found.join("\n"));
}

/// What is said instead still says what is wrong, where, and what to do.
#[test]
fn what_is_said_instead_is_of_use() {
    let cases = [
        ("control: { hold_for: \"${OUTSIDE}\" }", "soon"),
        ("defaults: { model: \"${OUTSIDE}\" }", "gpt"),
        ("store: \"${OUTSIDE}\"", "postgres://u:p@h/db"),
        (
            "record: { key: { env: \"${OUTSIDE}\" } }",
            "interlock-record-key:AAAA",
        ),
        ("agents: { main: { tools: [\"${OUTSIDE}\"] } }", "infra_reed"),
        ("queue: { heartbeat: \"${OUTSIDE}\", orphan_after: 1m }", "2m"),
        ("server: { listen: \"${OUTSIDE}\" }", "somewhere"),
        (
            "models: { a: { provider: openai, base_url: \"${OUTSIDE}\" } }",
            "ftp://x",
        ),
    ];
    let mut text = String::new();
    for (config, value) in cases {
        let environment = [("OUTSIDE".to_owned(), value.to_owned())];
        let loader = Loader::new(None, "/", environment);
        let error = loader.parse(Path::new("interlock.yaml"), config.as_bytes());
        let said = error.map_or_else(|error| error.to_string(), |_| "taken".to_owned());
        text = format!("{text}{config}  # {value}\n  {}\n", said.replace('\n', "\n  "));
    }
    insta::assert_snapshot!(text);
}
