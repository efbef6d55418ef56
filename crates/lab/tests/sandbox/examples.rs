//! The commands that the analysis must refuse, from the tables and from the tests of `interlock-shell`.

use std::path::{Path, PathBuf};

/// Every `refuse` example of the tables and every command of the hostile tests, each once.
pub(crate) fn refused() -> Vec<String> {
    let mut all = of_the_tables();
    let hostile = std::fs::read_to_string(shell().join("tests/hostile.rs")).unwrap();
    all.extend(hostile.lines().filter_map(literal));
    let all = tidied(all);
    assert!(all.len() > 3000, "only {} examples were found", all.len());
    all
}

fn shell() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shell")
}

/// Every `refuse` example of the tables. The hostile tests also have commands that must still be allowed; the tables say which.
pub(crate) fn of_the_tables() -> Vec<String> {
    let shell = shell();
    let mut all = Vec::new();
    let mut tables: Vec<_> = std::fs::read_dir(shell.join("programs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    tables.sort();
    for table in tables {
        let text = std::fs::read_to_string(&table).unwrap();
        let table: toml::Table = text.parse().unwrap();
        let programs = table.get("program").and_then(toml::Value::as_array);
        for program in programs.into_iter().flatten() {
            let refused = program.get("refuse").and_then(toml::Value::as_array);
            let refused = refused.into_iter().flatten().filter_map(toml::Value::as_str);
            all.extend(refused.map(str::to_owned));
        }
    }
    tidied(all)
}

fn tidied(mut all: Vec<String>) -> Vec<String> {
    all.sort();
    all.dedup();
    // A bomb would hit the system that the lab runs on: processes are not counted per guest.
    all.retain(|command| !command.contains(":|:"));
    all
}

/// The string of a line that is one, as Rust writes it.
fn literal(line: &str) -> Option<String> {
    let inner = line.trim().strip_prefix('"')?.strip_suffix("\",")?;
    let mut text = String::new();
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                plain @ ('"' | '\\' | '\'') => text.push(plain),
                _ => return None,
            },
            '"' => return None,
            other => text.push(other),
        }
    }
    Some(text)
}
