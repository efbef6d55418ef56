//! The examples of `docs/logic.md` are what the engine really says.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may panic, and the functions that tests share are test code too"
)]

mod support;

use std::path::Path;

use interlock_logic::{Limits, PREDICATES, Topic};
use support::{ask, cluster, lines};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/logic.md");
    std::fs::read_to_string(path).unwrap()
}

/// The text of the code block that is marked with these words.
fn block(page: &str, marked: &str) -> String {
    let start = page
        .find(&format!("```{marked}\n"))
        .unwrap_or_else(|| panic!("no block {marked}"));
    let text = &page[start + marked.len() + 4..];
    text[..text.find("```").unwrap()].to_owned()
}

/// The goals of a block, with the text that follows each one.
fn examples(block: &str) -> Vec<(String, String)> {
    block
        .split("?- ")
        .skip(1)
        .map(|example| {
            let (goal, text) = example.split_once('\n').unwrap();
            (goal.to_owned(), text.trim_end().to_owned())
        })
        .collect()
}

#[test]
fn facts_and_rules_are_those_of_the_tests() {
    assert_eq!(block(&page(), "yaml facts"), support::CLUSTER);
    assert_eq!(block(&page(), "prolog rules"), support::RULES);
}

#[test]
fn answers_are_what_the_engine_says() {
    let knowledge = cluster();
    let examples = examples(&block(&page(), "prolog goals"));
    assert!(examples.len() >= 10);
    for (goal, text) in examples {
        assert_eq!(lines(&knowledge, &goal).join("\n"), text, "{goal}");
    }
}

#[test]
fn refusals_are_what_the_checker_says() {
    let knowledge = cluster();
    for (goal, text) in examples(&block(&page(), "text refused")) {
        assert_eq!(ask(&knowledge, &goal).unwrap_err().to_string(), text, "{goal}");
    }
}

#[test]
fn explanations_are_what_the_engine_says() {
    let knowledge = cluster();
    for (goal, text) in examples(&block(&page(), "text explanation")) {
        let checked = knowledge.check(&goal).unwrap();
        let explanation = knowledge.explain(&checked, support::now(), Limits::default());
        assert_eq!(explanation.text().trim_end(), text, "{goal}");
    }
}

#[test]
fn every_predicate_of_the_live_state_is_in_the_table() {
    let page = page();
    for entry in PREDICATES.iter().filter(|entry| entry.topic == Topic::State) {
        assert!(page.contains(&format!("| `{}` |", entry.form)), "{}", entry.form);
    }
}
