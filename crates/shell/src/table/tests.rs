//! The table holds what it says: it can be read, and every example comes out as written.

use super::{Expected, table};
use crate::{Intent, classify};

#[test]
fn table_can_be_read_without_errors() {
    let errors = &table().errors;
    assert!(errors.is_empty(), "{} errors:\n{}", errors.len(), errors.join("\n"));
}

#[test]
fn table_knows_at_least_two_hundred_programs() {
    let count = table().names().count();
    assert!(count >= 200, "only {count} programs");
}

#[test]
fn table_examples_come_out_as_written() {
    let mut wrong = Vec::new();
    for example in &table().examples {
        let verdict = classify(&example.command);
        let read = verdict.intent != Intent::WriteOrUnknown;
        let right = match example.expected {
            Expected::Allowed => verdict.is_bounded_read(),
            Expected::Refused => !verdict.is_bounded_read(),
            Expected::Unbounded => read && !verdict.bounded,
        };
        if !right {
            let reasons: Vec<String> = verdict.reasons.iter().take(2).map(ToString::to_string).collect();
            wrong.push(format!("{:?} {}: {}\n      {}", example.expected, example.program, example.command, reasons.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {} examples:\n{}", wrong.len(), table().examples.len(), wrong.join("\n"));
}

#[test]
fn every_program_has_examples_that_must_be_allowed_and_refused() {
    let lacking: Vec<&str> = table().lacking_examples.iter().map(String::as_str).collect();
    assert!(lacking.is_empty(), "without examples: {}", lacking.join(", "));
}
