//! Documented examples, run as a reader would run them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use support::Home;

/// The fenced blocks of a page in this language, in order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(info)) if info.split_whitespace().next() == Some(language) => {
                open = Some(String::new());
            }
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    found
}

#[test]
fn the_example_of_the_scripted_model_is_taken_by_the_product() {
    let page = include_str!("../../model/scripts/README.md");
    let blocks = blocks(page, "yaml");
    let [config, script] = blocks.as_slice() else {
        panic!("the page has a configuration and a script: {blocks:?}")
    };
    let home = Home::empty();
    home.write("config/interlock/interlock.yaml", config);
    home.write("config/interlock/disk-full.yaml", script);
    let checked = home.run(&["config", "check"]);
    assert_eq!(checked.exit, Some(0), "{checked}");
    let ran = home.run(&["run", "Is the disk of web-1 full?", "--json"]);
    // No such machine is connected here; what the product must not do is to refuse a call for its form.
    let text = ran.to_string();
    for code in ["INVALID_INPUT", "script_mismatch", "there is no tool"] {
        assert!(!text.contains(code), "{text}");
    }
    assert!(text.contains("infra_query"), "{text}");
}
