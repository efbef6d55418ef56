//! Every error code has a page, every page has a code, and each page says what a reader needs.

#![expect(clippy::panic, reason = "the functions that tests share are test code too")]

use interlock_protocol::{ErrorCode, ToolResponse};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const HEADINGS: [&str; 4] = [
    "## Cause",
    "## What the model may do",
    "## What the operator may do",
    "## Example",
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(code: ErrorCode) -> String {
    let path = repository().join(code.docs_path());
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn no_page_is_missing_and_none_is_orphaned() {
    let wanted: BTreeSet<String> = ErrorCode::ALL
        .iter()
        .map(|code| format!("{code}.md"))
        .chain(["README.md".to_owned()])
        .collect();
    let found: BTreeSet<String> = std::fs::read_dir(repository().join("docs/errors"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn every_page_has_its_headings_in_order_and_text_under_each() {
    for &code in ErrorCode::ALL {
        let page = page(code);
        assert!(
            page.starts_with(&format!("# {code}\n")),
            "{code}: the title is the code"
        );
        let mut rest = page.as_str();
        for heading in HEADINGS {
            let (_, after) = rest
                .split_once(&format!("\n{heading}\n"))
                .unwrap_or_else(|| panic!("{code}: no `{heading}`"));
            let text = after.split("\n## ").next().unwrap_or_default();
            assert!(text.trim().len() > 20, "{code}: nothing under `{heading}`");
            rest = after;
        }
    }
}

#[test]
fn every_example_is_an_envelope_with_that_code() {
    for &code in ErrorCode::ALL {
        let page = page(code);
        let example = page
            .split_once("```json\n")
            .and_then(|(_, rest)| rest.split_once("\n```"))
            .map_or_else(|| panic!("{code}: no JSON example"), |(json, _)| json);
        let response: ToolResponse =
            serde_json::from_str(example).unwrap_or_else(|error| panic!("{code}: {error}"));
        assert_eq!(response.error().map(|error| error.code), Some(code));
    }
}

#[test]
fn the_index_links_every_page_and_says_whether_a_model_recovers_by_itself() {
    let index = std::fs::read_to_string(repository().join("docs/errors/README.md")).unwrap();
    for &code in ErrorCode::ALL {
        let row = index
            .lines()
            .find(|line| line.starts_with(&format!("| [{code}]({code}.md) |")))
            .unwrap_or_else(|| panic!("{code} is not in the index"));
        let says_yes = row.ends_with("| yes |");
        assert!(says_yes || row.ends_with("| no |"), "{row}");
        assert_eq!(says_yes, code.auto_recoverable(), "{code}");
    }
}
