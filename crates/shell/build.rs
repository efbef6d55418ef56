//! Collects the table of programs, so that a new family is a new file and nothing else.
//!
//! The text is cut into one piece per program and indexed by name; each piece is read when its program is first met.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("programs");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let mut entries = String::new();
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut count = 0;
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let family = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        for piece in pieces(&fs::read_to_string(&file)?) {
            names.extend(names_of(&piece).into_iter().map(|name| (name, count)));
            writeln!(entries, "    ({family:?}, {piece:?}),").map_err(io::Error::other)?;
            count += 1;
        }
    }
    names.sort();
    let mut code = format!(
        "/// How many programs the table has.\nconst COUNT: usize = {count};\n\
         /// One program each: its family, and its text.\nstatic ENTRIES: [(&str, &str); COUNT] = [\n{entries}];\n"
    );
    writeln!(
        code,
        "/// Every name, sorted, with its entry.\nstatic NAMES: [(&str, usize); {}] = [",
        names.len()
    )
    .map_err(io::Error::other)?;
    for (name, entry) in names {
        writeln!(code, "    ({name:?}, {entry}),").map_err(io::Error::other)?;
    }
    code.push_str("];\n");
    fs::write(
        PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("programs.rs"),
        code,
    )
}

/// The text of each `[[program]]`. What stands before the first one is a piece too, so that nothing is overlooked.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "[[program]]" {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push_str(line);
            piece.push('\n');
        }
    }
    let only_comments = |piece: &String| {
        piece
            .lines()
            .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    };
    pieces.retain(|piece| !only_comments(piece));
    pieces
}

/// The value of `names`, on one line or over several.
fn names_of(piece: &str) -> Vec<String> {
    let value = piece
        .split_once("\nnames")
        .and_then(|(_, rest)| rest.trim_start().strip_prefix('='))
        .unwrap_or("")
        .trim_start();
    let quoted = match value.strip_prefix("\"\"\"") {
        Some(long) => long.split("\"\"\"").next(),
        None => value.strip_prefix('"').and_then(|short| short.split('"').next()),
    };
    quoted
        .map(|names| names.split_whitespace().map(str::to_owned).collect())
        .unwrap_or_default()
}
