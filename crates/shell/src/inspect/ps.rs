//! `ps`: its arguments cannot write, but some of them print the environments of processes.

use crate::argv::Context;
use crate::report::Report;
use crate::table::Node;
use crate::word::Arg;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], _context: Context<'_>, report: &mut Report) {
    for (at, arg) in args.iter().enumerate().skip(1) {
        let after_format = at > 1 && args[at - 1].text().is_some_and(|flag| flag.starts_with('-'));
        match arg.text() {
            None => report.secret(&arg.raw, "could print the environments of processes"),
            // BSD options come without a dash: the letter `e` among them asks for environments.
            Some(text)
                if !after_format
                    && !text.is_empty()
                    && text.bytes().all(|b| b.is_ascii_alphabetic())
                    && text.contains('e') =>
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
