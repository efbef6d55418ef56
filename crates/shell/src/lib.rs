//! What a shell command can do.
//!
//! [`classify`] answers for any text whether it is provably read-only, how risky it is, whether it ends, whether it prints
//! secrets or reaches other hosts, why, and how to write it so that it ends. The gate, the outposts and the command line
//! all ask this one function.
//!
//! The path of a command: caps before anything is parsed (`limits`) → the shell grammar, construct by construct
//! (`script`) → each word as far as its value can be known (`word`) → each program by its entry in the table
//! (`table`, `argv`), or by code that knows its language (`inspect`) → findings that only ever get worse (`report`) →
//! [`Verdict`].
//!
//! [`printed`] answers another question about the same text: what of the output was observed, and what could the author of the command
//! have written.
//!
//! This crate never runs anything, reads no file and knows no host. What it does not understand it calls a write.

mod argv;
mod extent;
mod inspect;
mod limits;
mod pattern;
mod printed;
mod report;
mod script;
mod secret;
mod table;
#[cfg(test)]
mod told;
mod variable;
mod verdict;
mod word;

pub use limits::{MAX_COMPOUNDS, MAX_LENGTH, MAX_NESTING};
pub use printed::{Printed, printed};
pub use verdict::{Category, Intent, Needs, Reason, Risk, Verdict};

#[cfg(all(feature = "everything-is-a-read", not(debug_assertions)))]
compile_error!(
    "`everything-is-a-read` takes the analysis away. It is for `make prove-wall`, and never for a release."
);

/// Whether this build has no analysis: the feature `everything-is-a-read` is set. A test of the binary checks that it is not.
pub const EVERYTHING_IS_A_READ: bool = cfg!(feature = "everything-is-a-read");

/// Judges a command line.
pub fn classify(command: &str) -> Verdict {
    if EVERYTHING_IS_A_READ {
        return report::Report::new().into_verdict();
    }
    let report = analyse(command);
    let rewrite = bounded_equivalent(command, &report);
    let mut verdict = report.into_verdict();
    verdict.rewrite = rewrite;
    verdict
}

/// Whether reading this file, or everything below this folder, shows secrets. For tools that take a path instead of a
/// command; the same knowledge as [`classify`] uses.
pub fn path_holds_secrets(path: &str) -> bool {
    secret::path_shows_secrets(path)
}

fn analyse(command: &str) -> report::Report {
    let course = argv::Course::default();
    let report = walk(command, &course);
    // A command is judged in every folder that another part of the line could have entered, a later one too.
    match course.again() {
        Some(course) => walk(command, &course),
        None => report,
    }
}

fn walk(command: &str, course: &argv::Course) -> report::Report {
    let mut report = report::Report::new();
    script::judge(
        command,
        argv::Context {
            depth: 0,
            feed: argv::Feed::Inherited,
            course,
        },
        &mut report,
    );
    report
}

/// The command with every endless part replaced, if that makes it a bounded read.
fn bounded_equivalent(command: &str, report: &report::Report) -> Option<String> {
    report.endless?;
    if report.rewrites.is_empty() || !command.is_ascii() {
        return None;
    }
    let mut text = command.to_owned();
    let mut rewrites = report.rewrites.clone();
    rewrites.sort_by_key(|rewrite| std::cmp::Reverse(rewrite.start));
    for rewrite in rewrites {
        if rewrite.start > rewrite.end || rewrite.end > text.len() {
            return None;
        }
        text.replace_range(rewrite.start..rewrite.end, &rewrite.text);
    }
    let again = analyse(&text);
    (!again.is_write() && again.endless.is_none()).then_some(text)
}
