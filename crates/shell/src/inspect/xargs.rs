//! `xargs`: runs a command with arguments from its input, which could be anything.

use crate::argv::{self, Context};
use crate::extent;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::{Arg, Unknown, Value};
use std::borrow::Cow;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let mut at = 1;
    let mut replace: Option<String> = None;
    // Where arguments are counted, some versions forget about replacing and append them.
    let mut counts = false;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else {
            report.write(
                Risk::MediumWrite,
                &arg.raw,
                "which program this is depends on a variable or a pattern",
            );
            return;
        };
        if text.len() < 2 || !text.starts_with('-') {
            break;
        }
        at += 1;
        // `-0n1`: letters without a value may stand in front of one that takes it.
        let plain = text
            .strip_prefix('-')
            .filter(|rest| !rest.starts_with('-'))
            .map_or("", |rest| rest.trim_start_matches(['0', 'r', 't', 'x']));
        let unclustered = if plain.is_empty() {
            text.to_owned()
        } else {
            format!("-{plain}")
        };
        let text = unclustered.as_str();
        let mut value = |attached: &str| -> Option<String> {
            if attached.is_empty() {
                let next = args.get(at).and_then(Arg::text).map(str::to_owned);
                at += 1;
                next
            } else {
                Some(attached.to_owned())
            }
        };
        match text {
            "--" => break,
            _ if text.len() > 1 && text[1..].chars().all(|c| "0rtx".contains(c)) => {}
            "--null" | "--no-run-if-empty" | "--verbose" | "--exit" | "--show-limits" => {}
            "--help" | "--version" => return,
            "-i" | "--replace" => replace = Some("{}".to_owned()),
            "-p" | "--interactive" => report.endless(Category::InteractiveRepl, text, "asks before each run"),
            "-o" | "--open-tty" => report.endless(Category::TtyFlag, text, "asks for a terminal"),
            _ => {
                let short = text.get(..2).unwrap_or(text);
                let rest = text.get(2..).unwrap_or("");
                match short {
                    "-I" => match value(rest) {
                        Some(mark) => replace = Some(mark),
                        None => report.write(Risk::MediumWrite, text, "what it replaces is not known"),
                    },
                    "-n" | "-P" | "-d" | "-L" | "-s" | "-E" => {
                        counts |= matches!(short, "-n" | "-L");
                        if value(rest).is_none() {
                            report.write(Risk::MediumWrite, text, "takes a value that is not known");
                        }
                    }
                    "--" => match text.split_once('=') {
                        Some(("--max-args" | "--max-lines", _)) => counts = true,
                        Some(("--max-procs" | "--delimiter" | "--max-chars" | "--eof", _)) => {}
                        Some(("--replace", mark)) => replace = Some(mark.to_owned()),
                        _ if matches!(text, "--max-args" | "--max-procs" | "--delimiter" | "--max-chars") => {
                            counts |= text == "--max-args";
                            value("");
                        }
                        _ => report.write(
                            Risk::MediumWrite,
                            text,
                            "is a flag of xargs that is not known to read only",
                        ),
                    },
                    _ => report.write(
                        Risk::MediumWrite,
                        text,
                        "is a flag of xargs that is not known to read only",
                    ),
                }
            }
        }
    }
    if !context.fed() {
        report.endless(Category::UnboundedStream, "xargs", "waits for its standard input");
    }
    let Some(rest) = args.get(at..).filter(|rest| !rest.is_empty()) else {
        report.read("xargs", "prints what it reads");
        return;
    };
    let mut command: Vec<Arg<'_>> = rest.to_vec();
    match &replace {
        None if context.feed == argv::Feed::Ids => command.push(Arg::ids("(from its input)")),
        None => command.push(Arg::anything("(from its input)")),
        Some(mark) if mark.is_empty() => {
            report.write(Risk::MediumWrite, "xargs", "what it replaces is not known");
        }
        Some(mark) => {
            if counts {
                command.push(Arg::anything("(from its input)"));
            }
            for arg in &mut command {
                let Some(at) = arg.text().and_then(|text| text.find(mark.as_str())) else {
                    continue;
                };
                let prefix = arg.text().map(|text| text[..at].to_owned()).unwrap_or_default();
                arg.value = Value::Unknown(Unknown {
                    prefix,
                    ..Unknown::default()
                });
                arg.raw = Cow::Owned(arg.raw.clone().into_owned());
            }
        }
    }
    let before = context.course.enters_loop(extent::UNKNOWN_TURNS);
    argv::judge(
        &command,
        Context {
            feed: argv::Feed::Empty,
            ..context.deeper()
        },
        report,
    );
    context.course.leaves_loop(before);
    report.condition("xargs", "was judged by what it runs");
}
