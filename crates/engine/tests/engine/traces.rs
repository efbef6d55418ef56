//! A trace proves itself, and notices when it was touched.

use interlock_engine::{Trace, Traced};
use serde_json::Value;

use crate::fixture::{Lab, RESTART, Wish};

async fn trace() -> Value {
    let lab = Lab::new(Wish::script(RESTART));
    let (session, _) = lab.ask("put the flag there").await;
    let text = lab.traces(&session).await;
    serde_json::from_str(&text).unwrap()
}

/// Whether a document still proves itself. What cannot be read or replayed does not.
fn holds(document: &Value, whole: Whole) -> bool {
    let Ok(trace) = serde_json::from_value::<Trace>(document.clone()) else {
        return false;
    };
    trace.check().is_ok_and(|traced: Traced| {
        let traced = match whole {
            Whole::Hashed => traced,
            Whole::Rehashed => Traced {
                altered_document: false,
                ..traced
            },
        };
        traced.holds()
    })
}

/// Whether whoever touched a document made its last hash anew.
#[derive(Clone, Copy)]
enum Whole {
    Hashed,
    Rehashed,
}

/// Changes one character of every text below a value, one at a time, and says which changes went unnoticed.
fn tamper(document: &mut Value, path: &str, whole: Whole, ignore: &[&str]) -> Vec<String> {
    let pointers = texts(document.pointer(path).unwrap(), path);
    let mut unnoticed = Vec::new();
    for at in pointers {
        if ignore.iter().any(|ignored| at.ends_with(ignored)) {
            continue;
        }
        let was = document.pointer(&at).unwrap().clone();
        let text = was.as_str().unwrap();
        let Some(first) = text.chars().next_back() else {
            continue;
        };
        let other = if first == 'a' { 'b' } else { 'a' };
        let touched = format!("{}{other}", &text[..text.len() - first.len_utf8()]);
        *document.pointer_mut(&at).unwrap() = Value::String(touched);
        if holds(document, whole) {
            unnoticed.push(at.clone());
        }
        *document.pointer_mut(&at).unwrap() = was;
    }
    unnoticed
}

/// Where the texts below a value are.
fn texts(value: &Value, path: &str) -> Vec<String> {
    match value {
        Value::String(_) => vec![path.to_owned()],
        Value::Array(values) => values
            .iter()
            .enumerate()
            .flat_map(|(at, value)| texts(value, &format!("{path}/{at}")))
            .collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| {
                texts(
                    value,
                    &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
                )
            })
            .collect(),
        _ => Vec::new(),
    }
}

#[tokio::test]
async fn one_changed_character_is_noticed() {
    let mut document = trace().await;
    assert!(
        holds(&document, Whole::Hashed),
        "it does not prove itself to begin with"
    );
    let none = Vec::<String>::new();
    assert_eq!(tamper(&mut document, "", Whole::Hashed, &[]), none);
}

/// Even with the hash of the document made anew, what matters does not fit together any more.
#[tokio::test]
async fn one_changed_character_contradicts_the_rest() {
    let mut document = trace().await;
    let none = Vec::<String>::new();
    for at in 0..document["asked"].as_array().unwrap().len() {
        let request = format!("/asked/{at}/request");
        assert_eq!(tamper(&mut document, &request, Whole::Rehashed, &[]), none);
    }
    assert_eq!(tamper(&mut document, "/input", Whole::Rehashed, &[]), none);
    for at in 0..document["evidence"].as_array().unwrap().len() {
        let evidence = format!("/evidence/{at}/data");
        assert_eq!(tamper(&mut document, &evidence, Whole::Rehashed, &[]), none);
    }
    // When something was asked, and in which state a resource was found, is not part of what was answered.
    let steps = tamper(
        &mut document,
        "/steps",
        Whole::Rehashed,
        &["/at", "/run", "/state"],
    );
    assert_eq!(steps, none);
    for at in 0..document["calls"].as_array().unwrap().len() {
        for part in ["permit", "plan_hash", "receipt", "plan/arguments", "plan/kind"] {
            let part = format!("/calls/{at}/{part}");
            assert_eq!(tamper(&mut document, &part, Whole::Rehashed, &[]), none);
        }
    }
}

#[tokio::test]
async fn a_step_that_is_left_out_added_or_moved_is_noticed() {
    let document = trace().await;
    let steps = document["steps"].as_array().unwrap().clone();
    for at in 0..steps.len() {
        let name = steps[at]["input"]["ask"].clone();
        let mut less = document.clone();
        less["steps"].as_array_mut().unwrap().remove(at);
        let end = at == 0 || at + 1 == steps.len();
        assert!(
            end || !holds(&less, Whole::Rehashed),
            "step {at} ({name}) was left out"
        );
        if name == "decide" || name == "begin" {
            let mut more = document.clone();
            more["steps"]
                .as_array_mut()
                .unwrap()
                .insert(at, steps[at].clone());
            assert!(
                !holds(&more, Whole::Rehashed),
                "step {at} ({name}) was there twice"
            );
        }
    }
}
