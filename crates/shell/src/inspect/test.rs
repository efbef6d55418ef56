//! `test` and `[`.

use crate::argv::Context;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::Risk;
use crate::word::Arg;

/// Operators with one operand whose operand is only looked at, never evaluated. Not `-v` and `-R`: a subscript in the
/// name behind them is evaluated and can run a command.
const UNARY: &[&str] = &[
    "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-p", "-r", "-s", "-t", "-u", "-w", "-x", "-G",
    "-L", "-N", "-O", "-S", "-n", "-z", "-o",
];

const BINARY: &[&str] = &[
    "=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef",
];

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], _context: Context<'_>, report: &mut Report) {
    let mut operands: Vec<&Arg<'_>> = args[1..].iter().collect();
    if operands.last().and_then(|arg| arg.text()) == Some("]") {
        operands.pop();
    }
    for arg in &operands {
        match arg.text() {
            Some(text @ ("-v" | "-R")) => report.write(
                Risk::MediumWrite,
                text,
                "a subscript behind it is evaluated and can run a command",
            ),
            None if arg.may_be_several() => {
                report.write(Risk::MediumWrite, &arg.raw, "could turn into more of the test");
            }
            _ => {}
        }
    }
    super::evaluates(&args[1..], "test", report);
    // With an unknown operand only shapes in which it cannot become an operator.
    if operands.iter().any(|arg| arg.text().is_none()) {
        let mut rest = operands.as_slice();
        if rest.len() > 1 && rest.first().and_then(|arg| arg.text()) == Some("!") {
            rest = &rest[1..];
        }
        let fine = match rest {
            [_] => true,
            [operator, _] => operator.text().is_some_and(|text| UNARY.contains(&text)),
            [_, operator, _] => {
                operator.text().is_some_and(|text| BINARY.contains(&text)) && rest.len() == operands.len()
            }
            _ => false,
        };
        if !fine {
            report.write(Risk::MediumWrite, "test", "what it tests depends on a variable");
        }
    }
    report.read("test", "compares and looks at files");
}
