//! Programs whose arguments are a language of their own, which a table cannot express.

mod applet;
mod awk;
mod dd;
mod env;
mod filter;
mod find;
mod printf;
mod ps;
mod read;
mod sed;
mod seq;
mod sh;
mod sql;
mod tar;
mod test;
mod xargs;

use crate::argv::Context;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::Risk;
use crate::word::Arg;

pub(crate) use filter::judge as filter;
pub(crate) use ps::asks_for_environments;
pub(crate) use sql::{Given, judge as sql};

type Inspector = fn(&Node, &[Arg<'_>], Context<'_>, &mut Report);

const INSPECTORS: &[(&str, Inspector)] = &[
    ("applet", applet::judge),
    ("awk", awk::judge),
    ("dd", dd::judge),
    ("env", env::judge),
    ("find", find::judge),
    ("printf", printf::judge),
    ("ps", ps::judge),
    ("read", read::judge),
    ("sed", sed::judge),
    ("seq", seq::judge),
    ("sh", sh::judge),
    ("tar", tar::judge),
    ("test", test::judge),
    ("xargs", xargs::judge),
];

/// Whether there is code of this name.
pub(crate) fn knows(name: &str) -> bool {
    INSPECTORS.iter().any(|(known, _)| *known == name)
}

/// Judges an argument vector, program first.
pub(crate) fn run(name: &str, node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    match INSPECTORS.iter().find(|(known, _)| *known == name) {
        Some((_, judge)) => judge(node, args, context, report),
        None => report.write(
            Risk::MediumWrite,
            name,
            "is not a program that is known to read only",
        ),
    }
}

/// The arguments behind the program, as text; a write where one of them is not known.
fn texts<'a>(args: &'a [Arg<'_>], report: &mut Report) -> Option<Vec<&'a str>> {
    let texts: Option<Vec<&str>> = args.iter().skip(1).map(Arg::text).collect();
    if texts.is_none()
        && let Some(unknown) = args.iter().skip(1).find(|arg| arg.text().is_none())
    {
        report.write(
            Risk::MediumWrite,
            &unknown.raw,
            "what it becomes is not known here",
        );
    }
    texts
}

/// Some shells (ksh, zsh) take a word for arithmetic where a number is expected, and run what a subscript in it holds:
/// `[ 'a[$(id)]' -eq 1 ]`, `printf %d 'a[$(id)]'`.
fn evaluates(args: &[Arg<'_>], part: &str, report: &mut Report) {
    for arg in args {
        if arg
            .text()
            .is_some_and(|text| text.contains('[') && (text.contains("$(") || text.contains('`')))
        {
            report.write(
                Risk::MediumWrite,
                part,
                "holds a subscript with a command, which some shells run",
            );
        }
    }
}
