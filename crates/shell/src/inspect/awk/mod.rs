//! `awk`: a program text without pipes, output files, `system` or loaded code only reads.

mod grammar;
mod lex;

use crate::argv::{self, Context};
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

/// Flags that change how the program is read, not what it does. No awk gives them a value.
const HARMLESS: &[&str] = &[
    "-P",
    "-r",
    "-b",
    "-c",
    "-S",
    "-M",
    "-N",
    "-n",
    "-O",
    "-s",
    "-t",
    "-k",
    "--posix",
    "--re-interval",
    "--csv",
    "--sandbox",
    "--characters-as-bytes",
    "--traditional",
    "--bignum",
    "--use-lc-numeric",
    "--non-decimal-data",
];

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let mut at = 1;
    let mut source: Option<&Arg<'_>> = None;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else { break };
        if text.len() < 2 || !text.starts_with('-') {
            break;
        }
        at += 1;
        match text {
            "--" => break,
            "-F" | "-v" => {
                let Some(value) = args.get(at) else {
                    report.write(Risk::HighWrite, text, "has no value");
                    return;
                };
                if value.may_hide_others() {
                    report.write(Risk::HighWrite, &value.raw, "could turn into a program of awk");
                }
                if text == "-v" {
                    assigns(value, report);
                }
                at += 1;
            }
            // Awks that do not know it take the text as the program all the same.
            "-e" | "--source" if source.is_none() => {
                source = args.get(at);
                at += 1;
            }
            "--help" | "--version" | "-V" | "-h" if args.len() == 2 => {
                report.read("awk", "says what it is");
                return;
            }
            _ if HARMLESS.contains(&text) => {}
            _ if text.starts_with("-F") || text.starts_with("--field-separator=") => {}
            _ if text.starts_with("-v") => assigns(&Arg::known(&text[2..]), report),
            _ if text.starts_with("--assign=") => assigns(&Arg::known(&text["--assign=".len()..]), report),
            _ => {
                report.write(
                    Risk::HighWrite,
                    text,
                    "is a flag of awk that loads code or writes",
                );
                return;
            }
        }
    }
    if source.is_none() {
        source = args.get(at);
        at += 1;
    }
    let Some(text) = source.and_then(Arg::text) else {
        report.write(Risk::HighWrite, "awk", "its program is not known");
        return;
    };
    let program = match grammar::parse(text) {
        Ok(program) => program,
        Err(why) => {
            report.write(Risk::HighWrite, text, why);
            // What is not understood may do any of it.
            grammar::Program {
                reads_input: true,
                may_not_end: ["while", "do", ";;"].iter().any(|loops| text.contains(loops)),
                environment: ["ENVIRON", "PROCINFO", "SYMTAB", "getline"]
                    .iter()
                    .any(|shows| text.contains(shows)),
            }
        }
    };
    if program.environment {
        report.secret(text, "can print the environment or files that it names itself");
    }
    let mut files = 0;
    for arg in args.get(at..).unwrap_or_default() {
        files += usize::from(operand(arg, context, report));
    }
    if !context.fed() && program.reads_input && files == 0 {
        report.endless(Category::UnboundedStream, "awk", "waits for its standard input");
    }
    if program.may_not_end {
        report.endless(Category::UnboundedStream, text, "has a loop that may not end");
    }
    report.condition("awk", "its program only reads");
}

/// `name=value`, which must not name a variable by which awk itself is steered.
fn assigns(arg: &Arg<'_>, report: &mut Report) {
    let written = match &arg.value {
        crate::word::Value::Known(text) => text.as_ref(),
        crate::word::Value::Unknown(unknown) => unknown.prefix.as_str(),
    };
    if !written
        .split_once('=')
        .is_some_and(|(name, _)| grammar::may_be_set(name))
    {
        report.write(
            Risk::HighWrite,
            &arg.raw,
            "sets a variable by which awk is steered, or one that is not known",
        );
    }
}

/// An operand behind the program; says whether it is a file.
fn operand(arg: &Arg<'_>, context: Context<'_>, report: &mut Report) -> bool {
    let Some(text) = arg.text() else {
        argv::file(arg, &arg.raw, context, report, false);
        return true;
    };
    if text == "-" {
        return false;
    }
    if text.starts_with('-') {
        report.write(Risk::HighWrite, text, "is a flag of awk behind its program");
    }
    if text.starts_with("/inet") {
        report.write(Risk::HighWrite, text, "is a connection to gawk");
    }
    // Among the files it sets a variable.
    if let Some((name, _)) = text.split_once('=')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    {
        assigns(arg, report);
        return false;
    }
    argv::file(arg, &arg.raw, context, report, false);
    true
}
