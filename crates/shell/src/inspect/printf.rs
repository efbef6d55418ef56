//! The builtin `printf`: a format can assign (`%n`), and a subscript in what it assigns to can run a command.

use crate::argv::Context;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::{Arg, Value};

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], _context: Context<'_>, report: &mut Report) {
    let format = match args.get(1).and_then(Arg::text) {
        Some("--") => args.get(2),
        _ => args.get(1),
    };
    match format.map(Arg::text) {
        Some(None) => report.write(
            Risk::MediumWrite,
            "printf",
            "its format depends on a variable or a pattern, and could assign",
        ),
        Some(Some(text))
            if text.len() > 1
                && text.starts_with('-')
                && format.is_some_and(|f| std::ptr::eq(f, &raw const args[1]))
                && !matches!(text, "--help" | "--version") =>
        {
            report.write(Risk::MediumWrite, text, "is a flag of printf, which can assign");
        }
        Some(Some(text)) if assigns(text) => report.write(Risk::MediumWrite, text, "assigns with `%n`"),
        None | Some(Some(_)) => {}
    }
    let text = format.and_then(Arg::text).unwrap_or("");
    let starred = text.contains('*');
    if has_wide_field(text) || starred && args.iter().skip(2).any(|arg| arg.text().is_none_or(wide)) {
        report.endless(
            Category::UnboundedStream,
            "printf",
            "could fill its output with a very wide field",
        );
    }
    super::evaluates(&args[1..], "printf", report);
    for arg in args.iter().skip(2) {
        if matches!(&arg.value, Value::Unknown(unknown) if unknown.secret) {
            report.secret(&arg.raw, "prints a variable that is named like a secret");
        }
    }
    report.read("printf", "prints its arguments");
}

/// Whether a conversion of the format is `%n`, with any flags, width or length before it.
fn assigns(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, after)) = rest.split_once('%') {
        let conversion =
            after.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #0'.*hlLqjzt".contains(c));
        if conversion.starts_with('n') {
            return true;
        }
        rest = after.strip_prefix('%').unwrap_or(after);
    }
    false
}

/// Whether a number in it has more than six digits.
fn wide(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit())
        .any(|digits| digits.len() > 6)
}

/// Whether a conversion of the format has a width or a precision of more than six digits.
fn has_wide_field(format: &str) -> bool {
    format.split('%').skip(1).any(|after| {
        let end = after
            .find(|c: char| !(c.is_ascii_digit() || "-+ #'.*".contains(c)))
            .unwrap_or(after.len());
        wide(&after[..end])
    })
}
