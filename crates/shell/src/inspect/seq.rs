//! `seq`: it ends if it is told to count over a few numbers that are written out.

use crate::argv::Context;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

/// How many lines it may print.
const MOST: f64 = 1e7;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], _context: Context<'_>, report: &mut Report) {
    let mut numbers = Vec::new();
    let mut at = 1;
    let mut flags = true;
    while let Some(arg) = args.get(at) {
        at += 1;
        match arg.text() {
            Some("--help" | "--version") if args.len() == 2 => return,
            Some("--") if flags => flags = false,
            Some("-w" | "--equal-width") if flags => {}
            Some("-f" | "-s" | "-t" | "--format" | "--separator" | "--terminator") if flags => at += 1,
            Some(text)
                if flags
                    && ["--format=", "--separator=", "--terminator=", "-f", "-s", "-t"]
                        .iter()
                        .any(|flag| text.starts_with(flag)) => {}
            Some(text)
                if flags
                    && text.starts_with('-')
                    && !text[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.') =>
            {
                report.write(
                    Risk::MediumWrite,
                    text,
                    "is a flag of seq that is not known to read only",
                );
            }
            text => numbers.push(text.and_then(number)),
        }
    }
    let numbers: Option<Vec<f64>> = numbers.into_iter().collect();
    let (first, step, last) = match numbers.as_deref() {
        Some([last]) => (1.0, 1.0, *last),
        Some([first, last]) => (*first, if last < first { -1.0 } else { 1.0 }, *last),
        Some([first, step, last]) => (*first, *step, *last),
        _ => (0.0, 0.0, 0.0),
    };
    // Some count down by themselves, some print nothing; without a step some never end.
    if step == 0.0 || ((last - first) / step).abs() > MOST {
        report.endless(
            Category::UnboundedStream,
            "seq",
            "is not known to end with these numbers",
        );
    }
    report.read("seq", "prints numbers");
}

/// A number that every seq reads the same way.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain =
        |text: &str| !text.is_empty() && text.len() < 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    (plain(whole) && plain(part)).then(|| text.parse().ok()).flatten()
}
