//! `tar`: only listing and comparing read; many of its flags run programs.

use crate::argv::{self, Context};
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

const LETTERS: &str = "tdvzjJaZhpPOikRsSlnBmo";
// Not `T`: a list of files may hold flags, which tar obeys.
// Not `X` either: it takes a value, but not in the tar of OpenBSD, where `-X -x` extracts.
const WITH_VALUE: &str = "fCbNV";
const LONG: &[&str] = &[
    "--list",
    "--diff",
    "--compare",
    "--verbose",
    "--gzip",
    "--gunzip",
    "--ungzip",
    "--bzip2",
    "--xz",
    "--zstd",
    "--lzma",
    "--lzip",
    "--lzop",
    "--compress",
    "--auto-compress",
    "--wildcards",
    "--no-wildcards",
    "--anchored",
    "--full-time",
    "--numeric-owner",
    "--utc",
    "--totals",
    "--block-number",
    "--ignore-zeros",
    "--force-local",
    "--show-transformed-names",
    "--quoting-style",
    "--strip-components",
    "--exclude",
    "--help",
    "--version",
    "--usage",
    "--no-recursion",
    "--recursion",
    "--absolute-names",
    "--occurrence",
    "--show-stored-names",
];

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let Some(words) = super::texts(args, report) else {
        // What is known still says which files it opens.
        for arg in &args[1..] {
            argv::file(arg, &arg.raw, context, report, false);
        }
        return;
    };
    let mut reads = false;
    let mut archive = None;
    let mut local = false;
    let mut queue = words.iter().copied().enumerate().peekable();
    while let Some((at, word)) = queue.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = word
                .split_once('=')
                .map_or((word, None), |(name, value)| (name, Some(value)));
            match name {
                "--" => break,
                "--list" | "--diff" | "--compare" => reads = true,
                "--help" | "--version" | "--usage" => return,
                "--file" => archive = value.or_else(|| queue.next().map(|(_, next)| next)),
                "--directory" if value.is_none() => drop(queue.next()),
                "--directory" => {}
                "--force-local" => local = true,
                _ if LONG.contains(&name) => {}
                _ => report.write(
                    Risk::MediumWrite,
                    &format!("--{long}"),
                    "is a flag of tar that writes or runs something",
                ),
            }
        } else if word.starts_with('-') && word.len() > 1 || at == 0 {
            // In the old form the first word is letters, and their values follow in order.
            let letters = word.strip_prefix('-');
            let old = letters.is_none();
            let letters = letters.unwrap_or(word);
            for (index, letter) in letters.char_indices() {
                if LETTERS.contains(letter) {
                    reads |= matches!(letter, 't' | 'd');
                } else if WITH_VALUE.contains(letter) {
                    let rest = &letters[index + 1..];
                    let value = if old || rest.is_empty() {
                        queue.next().map(|(_, next)| next)
                    } else {
                        Some(rest)
                    };
                    if letter == 'f' {
                        archive = value;
                    }
                    if !old && !rest.is_empty() {
                        break;
                    }
                } else {
                    report.write(
                        Risk::MediumWrite,
                        &format!("tar -{letter}"),
                        "is a flag of tar that writes or runs something",
                    );
                }
            }
        }
    }
    if !reads {
        report.write(Risk::MediumWrite, "tar", "only lists or compares with -t or -d");
    }
    match archive {
        Some("-") | None if !context.fed() => {
            report.endless(Category::UnboundedStream, "tar", "waits for its standard input");
        }
        Some("-") | None => {}
        Some(path) if path.contains(':') && !local => report.write(
            Risk::MediumWrite,
            path,
            "is an archive on another host, reached by running a program",
        ),
        Some(path) => argv::file(&Arg::known(path.to_owned()), path, context, report, false),
    }
    report.condition("tar", "lists an archive; it could also write");
}
