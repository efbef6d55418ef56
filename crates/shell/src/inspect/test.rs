//! `test` and `[`.

use crate::argv::Context;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::Risk;
use crate::word::Arg;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], _context: Context<'_>, report: &mut Report) {
    let operands: Vec<&Arg<'_>> = args[1..].iter().filter(|arg| arg.text() != Some("]")).collect();
    let unknown = operands.iter().filter(|arg| arg.text().is_none()).count();
    for arg in &operands {
        match arg.text() {
            // The name behind it may have a subscript, which is evaluated.
            Some(text @ ("-v" | "-R")) => report.write(Risk::MediumWrite, text, "a subscript in it is evaluated and can run a command"),
            None if arg.may_be_several() => report.write(Risk::MediumWrite, &arg.raw, "could turn into more of the test"),
            _ => {}
        }
    }
    let first_unknown = operands.first().is_some_and(|arg| arg.text().is_none());
    if unknown > 0 && (operands.len() > 4 || (operands.len() == 2 && first_unknown) || (operands.len() == 4 && first_unknown)) {
        report.write(Risk::MediumWrite, "test", "what it tests depends on a variable");
    }
    report.read("test", "compares and looks at files");
}
