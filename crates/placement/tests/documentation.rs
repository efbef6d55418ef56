//! The examples of `docs/placement.md` are what the solver really says.

#![expect(clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::Path;

use interlock_placement::{Change, Charset, Cluster, Options, picture, place};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/placement.md");
    std::fs::read_to_string(path).expect("docs/placement.md is there")
}

/// The text of the code block that is marked with these words.
fn block(page: &str, marked: &str) -> String {
    let start = page
        .find(&format!("```{marked}\n"))
        .unwrap_or_else(|| panic!("no block {marked}"));
    let text = &page[start + marked.len() + 4..];
    text[..text.find("```").expect("the block ends")].to_owned()
}

#[test]
fn the_examples_are_what_the_solver_says() {
    let page = page();
    let cluster = Cluster::from_yaml(&block(&page, "yaml input")).expect("the example is valid");
    let answer = place(&cluster, &Options::default()).expect("the checker accepts the answer");
    let mut text = String::new();
    let _ = writeln!(text, "status: {:?}", answer.status);
    let (moves, migrations, starts) = (answer.moves, answer.migrations, answer.starts);
    let _ = writeln!(
        text,
        "moves: {moves} ({migrations} migrations, {starts} starts), bound {}",
        answer.bound
    );
    let _ = writeln!(text, "fullest host: {} % of its RAM", answer.max_ram_percent);
    for (number, wave) in answer.plan.iter().flat_map(|p| &p.waves).enumerate() {
        let steps: Vec<String> = wave
            .iter()
            .map(|s| format!("{} {} on {}", s.action, s.vmid, s.target))
            .collect();
        let _ = writeln!(text, "wave {}: {}", number + 1, steps.join("; "));
    }
    assert_eq!(text, block(&page, "text answer"));
    assert_eq!(
        picture(&cluster, &answer, 72, Charset::Unicode),
        block(&page, "text picture")
    );

    let drained = cluster
        .what_if(&[Change::Drain("pve2".to_owned())])
        .expect("pve2 is there");
    let answer = place(&drained, &Options::default()).expect("the checker accepts the answer");
    let words = answer.conflict.map(|c| c.words).unwrap_or_default();
    assert_eq!(format!("{words}\n"), block(&page, "text conflict"));
}
