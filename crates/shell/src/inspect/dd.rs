//! `dd if=… of=…`.

use crate::argv::{self, Context};
use crate::extent;
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::{Arg, Value};

const HARMLESS: &[&str] = &["cbs", "skip", "iseek", "status", "iflag", "conv"];

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let mut input = None;
    let mut count = None;
    let mut block = "512";
    for arg in &args[1..] {
        let (text, known) = match &arg.value {
            Value::Known(text) => (text.as_ref(), true),
            Value::Unknown(unknown) if !unknown.splits => (unknown.prefix.as_str(), false),
            Value::Unknown(_) => {
                report.write(Risk::HighWrite, &arg.raw, "could turn into an output of dd");
                continue;
            }
        };
        match text.split_once('=') {
            Some(("if", path)) if known => input = Some(path.to_owned()),
            Some(("of", "/dev/null")) if known => {}
            Some(("count", blocks)) if known => count = Some(blocks),
            Some(("bs" | "ibs", size)) => block = if known { size } else { "" },
            Some((key, _)) if HARMLESS.contains(&key) => {}
            _ if matches!(text, "--help" | "--version") => return,
            _ => report.write(Risk::HighWrite, &arg.raw, "dd writes with this argument"),
        }
    }
    let counted = count.is_some_and(|count| extent::few_bytes(block, count));
    match input {
        Some(path) => argv::file(&Arg::known(path.clone()), &path, context, report, counted),
        None if !context.fed() => {
            report.endless(Category::UnboundedStream, "dd", "waits for its standard input");
        }
        None => {}
    }
    report.condition("dd", "only reads: it has no output file");
}
