//! The rows of a call are the truth, and the timeline is what people see of them: nothing reads it to decide something.

use std::fs;
use std::path::Path;

use crate::sources::sources;

/// Where the text of an entry's metadata is read, how often, and why that decides nothing.
const SHOWN: &[(&str, usize, &str)] = &[
    ("cli/src/grounds.rs", 1, "prints what an answer rests on"),
    (
        "engine/src/head.rs",
        1,
        "repeats what the gate counted in an answer",
    ),
    (
        "server/src/api/forms.rs",
        3,
        "shows the author, the head and the grounds of an answer",
    ),
    (
        "server/src/api/markdown.rs",
        2,
        "writes the arguments of a call and the rule of an error into an export",
    ),
];

/// The rooms that know the timeline.
const ROOMS: &[&str] = &["assembly", "cli", "engine", "server", "store", "tools"];

/// How often a source reads metadata by a name.
fn reads(source: &str) -> usize {
    // Code that runs, without its line breaks: `entry\n.metadata\n.get(..)` is one expression.
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let dense: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect();
    [
        "metadata.get(",
        "metadata.pointer(",
        "metadata[\"",
        "json_extract(metadata",
        "metadata->",
    ]
    .iter()
    .map(|form| dense.matches(form).count())
    .sum()
}

#[test]
fn nothing_reads_the_timeline_by_a_name_to_decide_something() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found: Vec<(String, usize)> = Vec::new();
    for room in ROOMS {
        let mut paths = Vec::new();
        sources(&crates.join(room).join("src"), &mut paths);
        assert!(!paths.is_empty(), "{room}");
        for path in paths {
            let count = reads(&fs::read_to_string(&path).unwrap());
            if count > 0 {
                found.push((path.strip_prefix(crates).unwrap().display().to_string(), count));
            }
        }
    }
    found.sort();
    let known: Vec<(String, usize)> = SHOWN
        .iter()
        .map(|(file, count, _)| ((*file).to_owned(), *count))
        .collect();
    assert_eq!(
        found, known,
        "read the typed rows instead (Store::entry_of_permit, entry_of_hold, calls, holds, TimelineEntry::call); \
         a place that only shows something is added here with its reason"
    );
}

#[test]
fn every_way_to_read_metadata_by_a_name_is_found() {
    let cases = [
        ("entry.metadata.get(\"hold\")", 1),
        ("entry\n    .metadata\n    .get(\"hold\")", 1),
        ("let hold = &entry.metadata[\"hold\"];", 1),
        ("\"SELECT json_extract(metadata, '$.hold') FROM timeline\"", 1),
        ("entry.metadata.pointer(\"/hold\")", 1),
        ("// entry.metadata.get(\"hold\")", 0),
        ("std::fs::metadata(path)", 0),
        ("fn a() {}\n#[cfg(test)]\nmod tests { x.metadata[\"a\"] }", 0),
    ];
    for (source, expected) in cases {
        assert_eq!(reads(source), expected, "{source}");
    }
}
