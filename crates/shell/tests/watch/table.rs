//! The `allow` examples of the table, and which of them a set of programs can run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Every example of the table that must be a bounded read.
pub(crate) fn allowed() -> Vec<String> {
    let mut examples = BTreeSet::new();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let family: toml::Table = fs::read_to_string(&file)
            .unwrap()
            .parse()
            .expect("the table is TOML");
        for program in family["program"].as_array().expect("programs") {
            let allow = program.get("allow").and_then(toml::Value::as_array);
            examples.extend(
                allow
                    .into_iter()
                    .flatten()
                    .map(|text| text.as_str().expect("text").to_owned()),
            );
        }
    }
    examples.into_iter().collect()
}

/// What the shell runs without starting a program.
const BUILTIN: &[&str] = &[
    ":", "[", "[[", "alias", "bind", "builtin", "caller", "cd", "command", "compgen", "complete", "declare",
    "dirs", "echo", "enable", "exit", "export", "false", "fc", "for", "hash", "help", "history", "if",
    "jobs", "popd", "printf", "pushd", "pwd", "read", "readonly", "set", "shopt", "test", "time", "times",
    "trap", "true", "type", "typeset", "ulimit", "umask", "wait", "while",
];

/// The program that a command starts first; `None` where the shell does it by itself.
pub(crate) fn program(command: &str) -> Option<&str> {
    let first = command
        .split_whitespace()
        .find(|word| !word.contains('='))
        .unwrap_or_default();
    (!BUILTIN.contains(&first)).then_some(first)
}
