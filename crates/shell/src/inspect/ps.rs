//! `ps`: its arguments cannot write, but some of them print the environments of processes.

use crate::argv::Context;
use crate::report::Report;
use crate::table::Node;
use crate::word::Arg;

/// Whether an option without a dash asks for environments: BSD options, as `docker top` hands them on.
pub(crate) fn asks_for_environments(text: &str) -> bool {
    text.contains("environ")
        || text
            .bytes()
            .take_while(u8::is_ascii_alphabetic)
            .any(|letter| letter == b'e')
}

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], _context: Context<'_>, report: &mut Report) {
    for (at, arg) in args.iter().enumerate().skip(1) {
        let value = at > 1 && args[at - 1].text().is_some_and(takes_value);
        match arg.text() {
            None => report.secret(&arg.raw, "could print the environments of processes"),
            // BSD options come without a dash: the letter `e` among them asks for environments.
            Some(text)
                if !value
                    && text
                        .bytes()
                        .take_while(u8::is_ascii_alphabetic)
                        .any(|letter| letter == b'e') =>
            {
                report.secret(text, "prints the environments of processes");
            }
            // On macOS the letter is a capital one, behind a dash.
            Some(text)
                if !value
                    && text.strip_prefix('-').is_some_and(|letters| {
                        letters
                            .bytes()
                            .take_while(|letter| {
                                letter.is_ascii_alphabetic() && !b"oOCpuUgGtqsnk".contains(letter)
                            })
                            .any(|letter| letter == b'E')
                    }) =>
            {
                report.secret(text, "prints the environments of processes");
            }
            Some(text) if text.contains("environ") => {
                report.secret(text, "prints the environments of processes");
            }
            Some(_) => {}
        }
    }
    report.read("ps", "reads, whatever its arguments");
}

/// Flags that take the next argument.
fn takes_value(flag: &str) -> bool {
    let long = matches!(
        flag,
        "--sort"
            | "--format"
            | "--pid"
            | "--ppid"
            | "--user"
            | "--User"
            | "--group"
            | "--Group"
            | "--tty"
            | "--sid"
            | "--cols"
            | "--columns"
            | "--rows"
            | "--lines"
            | "--width"
    );
    long || flag.starts_with('-')
        && !flag.starts_with("--")
        && flag.ends_with(['o', 'O', 'C', 'p', 'u', 'U', 'g', 'G', 't', 'q', 's', 'n', 'k'])
}
