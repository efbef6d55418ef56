//! The builtin `read`, which sets variables.

use crate::argv::Context;
use crate::extent::{self, Unit};
use crate::report::Report;
use crate::table::Node;
use crate::variable;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    context.course.forget_variables();
    let Some(words) = super::texts(args, report) else {
        return;
    };
    let mut words = words.into_iter();
    let mut bounded = context.fed();
    while let Some(word) = words.next() {
        match word {
            "-r" | "-s" | "-rs" | "-sr" => {}
            "-t" => {
                let limit = words.next().and_then(|text| extent::time(text, Unit::Seconds));
                let seconds = limit.unwrap_or(f64::INFINITY);
                context.course.waits(seconds, "read -t", report);
                bounded = true;
            }
            "-n" | "-N" | "-d" | "-p" | "-rn" | "-rd" => {
                words.next();
            }
            _ if variable::harmless_for_shell(word) => {}
            _ => report.write(Risk::MediumWrite, word, "setting it can change how programs run"),
        }
    }
    if !bounded {
        report.endless(Category::InteractiveRepl, "read", "waits for its standard input");
    }
}
