//! Programs that contain other programs: `busybox ls`, `k3s kubectl get pods`.

use crate::argv::{self, Context};
use crate::report::Report;
use crate::table::Node;
use crate::verdict::Risk;
use crate::word::Arg;

const MULTIPLEXERS: &[&str] = &["busybox", "toybox"];

pub(super) fn judge(node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    // `busybox ls`: the applet follows the program. `k3s kubectl`: the sub-command is the applet.
    let program = args
        .first()
        .and_then(Arg::text)
        .map(|name| name.rsplit('/').next().unwrap_or(name));
    let rest = if program.is_some_and(|name| MULTIPLEXERS.contains(&name)) {
        &args[1..]
    } else {
        args
    };
    if rest.is_empty() {
        return;
    }
    if rest[0].text().is_none_or(|name| {
        name.starts_with('-')
            || name.contains('/')
            || name == node.name && rest.len() == args.len() && MULTIPLEXERS.contains(&name)
    }) {
        if rest[0].text() == Some("--list") && rest.len() == 1 {
            return;
        }
        report.write(
            Risk::MediumWrite,
            &rest[0].raw,
            "is not the name of a program inside it",
        );
        return;
    }
    argv::judge(rest, context.deeper(), report);
    report.condition(&node.name, "was judged by what it runs");
}
