//! `find`: tests are harmless, some actions write, `-exec` is judged by what it runs.

use crate::argv::{self, Context};
use crate::extent;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::{Arg, Unknown, Value};
use std::borrow::Cow;

const ALONE: &[&str] = &[
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-quit",
    "-depth",
    "-d",
    "-mount",
    "-xdev",
    "-noleaf",
    "-daystart",
    "-follow",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-empty",
    "-executable",
    "-readable",
    "-writable",
    "-nouser",
    "-nogroup",
    "-true",
    "-false",
    "-warn",
    "-nowarn",
    "-not",
    "-a",
    "-o",
    "-and",
    "-or",
    "!",
    "(",
    ")",
    ",",
    "-help",
    "--help",
    "-version",
    "--version",
    "-H",
    "-L",
    "-P",
    "-X",
    "-x",
    "-E",
];

const WITH_VALUE: &[&str] = &[
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-regex",
    "-iregex",
    "-regextype",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-atime",
    "-ctime",
    "-mmin",
    "-amin",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-links",
    "-inum",
    "-samefile",
    "-fstype",
    "-maxdepth",
    "-mindepth",
    "-lname",
    "-ilname",
    "-used",
    "-context",
    "-printf",
    "-D",
    "-Btime",
    "-Bmin",
    "-flags",
];

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let mut starts: Vec<&Arg<'_>> = Vec::new();
    let mut expression = false;
    let mut at = 1;
    while let Some(arg) = args.get(at) {
        at += 1;
        let Some(text) = arg.text() else {
            if arg.may_be_flag() {
                report.write(Risk::HighWrite, &arg.raw, "could turn into an action of find");
            }
            starts.push(arg);
            continue;
        };
        let operator = matches!(text, "!" | "(" | ")" | ",");
        if !text.starts_with('-') && !operator {
            if expression {
                report.write(Risk::MediumWrite, text, "is not an expression of find");
            }
            starts.push(arg);
            continue;
        }
        expression |= !matches!(text, "-H" | "-L" | "-P" | "-D");
        if ALONE.contains(&text) || text.starts_with("-O") {
            continue;
        }
        if WITH_VALUE.contains(&text) || (text.starts_with("-newer") && text.len() == 8) {
            if args.get(at).is_some_and(Arg::may_hide_others) {
                report.write(
                    Risk::HighWrite,
                    &args[at].raw,
                    "could turn into an action of find",
                );
            }
            at += 1;
            continue;
        }
        match text {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                if text.starts_with("-ok") {
                    report.endless(Category::InteractiveRepl, text, "asks before each run");
                }
                if text.ends_with("dir") {
                    // It runs where it found the file.
                    context.course.enters_any();
                }
                at = run(args, at, &starts, text.ends_with("dir"), context, report);
            }
            "-files0-from" => {
                report.write(Risk::MediumWrite, text, "takes its starting points from a file");
                if let Some(list) = args.get(at) {
                    argv::file(list, &list.raw, context, report, false);
                }
                at += 1;
            }
            "-delete" => report.write(Risk::HighWrite, text, "deletes what it finds"),
            "-fprint" | "-fprint0" | "-fprintf" | "-fls" => {
                report.write(Risk::HighWrite, text, "writes into a file");
            }
            _ => report.write(Risk::MediumWrite, text, "is not known to find's reading"),
        }
    }
    report.condition("find", "reads with these arguments; it could also write");
}

/// Judges the command from `at` up to its `;` or `+`; returns where the expression goes on. In the folder of a file the finds of
/// the BSDs hand over its bare name, which can look like a flag.
fn run(
    args: &[Arg<'_>],
    at: usize,
    starts: &[&Arg<'_>],
    bare: bool,
    context: Context<'_>,
    report: &mut Report,
) -> usize {
    let end = (at..args.len()).find(|index| match args[*index].text() {
        // A lone `+` ends the command in some finds and not in others.
        Some(";" | "+") => true,
        _ => false,
    });
    let Some(end) = end else {
        report.write(Risk::MediumWrite, "-exec", "has no end");
        return args.len();
    };
    if args[end].text() == Some("+") && (end == at || args[end - 1].text() != Some("{}")) {
        report.write(
            Risk::MediumWrite,
            "+",
            "ends a command in some finds and not in others",
        );
    }
    let below = starts
        .first()
        .and_then(|start| start.text())
        .filter(|_| starts.len() == 1)
        .unwrap_or(".");
    let below = if starts.iter().all(|start| start.text().is_some()) {
        below
    } else {
        ""
    };
    let mut command = Vec::with_capacity(end - at);
    for arg in &args[at..end] {
        match arg.text() {
            Some("{}") => {
                let mut path = Arg::path_below("{}", below);
                if let Value::Unknown(unknown) = &mut path.value
                    && bare
                {
                    unknown.splits = true;
                }
                command.push(path);
            }
            Some(text) if text.contains("{}") => {
                let prefix = text.split("{}").next().unwrap_or("").to_owned();
                command.push(Arg {
                    raw: Cow::Borrowed(text),
                    value: Value::Unknown(Unknown {
                        prefix,
                        ..Unknown::default()
                    }),
                });
            }
            _ => command.push(arg.clone()),
        }
    }
    let before = context.course.enters_loop(extent::UNKNOWN_TURNS);
    argv::judge(&command, context.deeper(), report);
    context.course.leaves_loop(before);
    end + 1
}
