//! Shells: `sh -c '…'` is judged by what it runs; a script file or standard input could be anything.

use crate::argv::Context;
use crate::report::Report;
use crate::script;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    // Other shells read the same text differently: a lone `<file` runs a pager in zsh.
    let name = args
        .first()
        .and_then(Arg::text)
        .map_or("", |name| name.rsplit('/').next().unwrap_or(name));
    if !matches!(name, "sh" | "bash" | "dash" | "ash") {
        report.write(Risk::HighWrite, name, "is a shell whose language is not analysed");
    }
    let mut at = 1;
    let mut command = false;
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else {
            report.write(
                Risk::HighWrite,
                &arg.raw,
                "what the shell runs depends on a variable or a pattern",
            );
            return;
        };
        match text {
            "--norc" | "--noprofile" | "--posix" => {}
            "--version" | "--help" if args.len() == 2 => return,
            "-o" => {
                at += 1;
                if !args
                    .get(at)
                    .and_then(Arg::text)
                    .is_some_and(|option| matches!(option, "pipefail" | "errexit" | "nounset"))
                {
                    report.write(Risk::HighWrite, text, "is an option that can change what runs");
                }
            }
            _ if text.len() > 1 && text.starts_with('-') && !text.starts_with("--") => {
                if text.contains('l') {
                    report.write(
                        Risk::HighWrite,
                        text,
                        "runs the profile of the system and of the user first",
                    );
                } else if !text[1..].chars().all(|c| matches!(c, 'c' | 'e' | 'u' | 'f')) {
                    report.write(Risk::HighWrite, text, "is an option that can change what runs");
                }
                command |= text.contains('c');
            }
            _ => break,
        }
        at += 1;
    }
    if !command {
        report.write(
            Risk::HighWrite,
            name,
            "runs a script that is not part of the command",
        );
        if args.get(at).is_none() && !context.fed() {
            report.endless(Category::InteractiveRepl, name, "waits for commands on its input");
        }
        return;
    }
    match args.get(at).map(Arg::text) {
        Some(Some(text)) => {
            let mut inner = Report::new();
            script::judge(text, context.deeper(), &mut inner);
            inner.rewrites.clear();
            inner.condition(name, "was judged by what it runs");
            report.absorb(inner);
        }
        Some(None) | None => report.write(Risk::HighWrite, name, "what the shell runs is not known"),
    }
}
