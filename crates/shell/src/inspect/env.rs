//! `env [-i] [-u NAME] [NAME=value …] [command …]`.

use crate::argv::{self, Context};
use crate::report::Report;
use crate::table::Node;
use crate::variable;
use crate::verdict::Risk;
use crate::word::{Arg, Value};

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let mut at = 1;
    let mut flags = true;
    while let Some(arg) = args.get(at) {
        let text = match &arg.value {
            Value::Known(text) => text.as_ref(),
            Value::Unknown(unknown)
                if !unknown.splits && unknown.prefix.contains('=') && !unknown.prefix.starts_with('-') =>
            {
                &unknown.prefix
            }
            Value::Unknown(_) => {
                report.write(
                    Risk::MediumWrite,
                    &arg.raw,
                    "which program this is depends on a variable or a pattern",
                );
                return;
            }
        };
        if flags && text.len() > 1 && text.starts_with('-') {
            match text {
                "--" => flags = false,
                "-i" | "-0" | "--ignore-environment" | "--null" | "-v" | "--debug" => {}
                "-u" | "--unset" => {
                    at += 1;
                    if args.get(at).is_some_and(|name| name.text().is_none()) {
                        report.write(Risk::MediumWrite, text, "its value could turn into a command");
                    }
                }
                "--help" | "--version" => return,
                _ if text.starts_with("-u") || text.starts_with("--unset=") => {}
                _ => report.write(
                    Risk::MediumWrite,
                    text,
                    "is a flag of env that can run or change something",
                ),
            }
        } else if flags && text == "-" {
            // The same as `-i`.
        } else if let Some((name, value)) = text.split_once('=') {
            let plain = arg.text().is_some() && variable::plain_value(value);
            if !variable::harmless_for_programs(name) || !plain {
                report.write(Risk::MediumWrite, name, "setting it can change how programs run");
            }
        } else {
            argv::judge(&args[at..], context.deeper(), report);
            report.condition("env", "was judged by what it runs");
            return;
        }
        at += 1;
    }
    report.secret("env", "prints the environment");
}
