//! What a program does with these arguments, by its entry in the table.
//!
//! `parse` walks the arguments, `flags` and `values` say what each one means.

mod course;
mod flags;
mod parse;
mod template;
mod values;

use crate::inspect;
use crate::limits::{MAX_COMMANDS, MAX_DEPTH};
use crate::report::Report;
use crate::table::{self, AnyText, Bare, Node};
use crate::verdict::{Category, Risk};
use crate::word::{Arg, Value};

pub(crate) use course::Course;
use parse::Parse;
pub(crate) use values::file;

/// What surrounds a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'c> {
    /// How many commands contain this one.
    pub(crate) depth: usize,
    /// What its standard input is.
    pub(crate) feed: Feed,
    /// What the whole analysis knows so far.
    pub(crate) course: &'c Course,
}

/// What a command's standard input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Feed {
    /// Whatever the caller has; it may never end.
    Inherited,
    /// Nothing: `/dev/null`.
    Empty,
    /// A text that is written out in the command.
    Said,
    /// The output of a command that prints ids and nothing else: words that cannot be flags.
    Ids,
    /// The output of a command or the content of a file.
    Data,
}

impl Context<'_> {
    pub(crate) const fn fed(self) -> bool {
        !matches!(self.feed, Feed::Inherited)
    }

    pub(crate) const fn deeper(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }
}

/// Directories whose programs are what their names say.
const SYSTEM: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/snap/bin/",
];

/// Judges an argument vector. Returns a bounded way to write it, if it is endless and there is one.
pub(crate) fn judge(args: &[Arg<'_>], context: Context<'_>, report: &mut Report) -> Option<String> {
    let first = args.first()?;
    let course = context.course;
    if context.depth > MAX_DEPTH || course.count() > MAX_COMMANDS {
        report.write(
            Risk::HighWrite,
            &first.raw,
            "commands within commands, too many to follow",
        );
        return None;
    }
    let Some(name) = first.text() else {
        report.write(
            Risk::MediumWrite,
            &first.raw,
            "which program this is depends on a variable or a pattern",
        );
        return None;
    };
    let program = match name.rfind('/') {
        None => name,
        Some(slash) => {
            let (folder, program) = name.split_at(slash + 1);
            if !SYSTEM.contains(&folder) {
                report.write(
                    Risk::MediumWrite,
                    name,
                    "a program outside the system's folders could be anything",
                );
                return None;
            }
            program
        }
    };
    if matches!(program, "cd" | "chdir" | "pushd") {
        course.changes_folder(&args[1..], context.depth);
    }
    let Some(node) = table::program(program) else {
        report.write(
            Risk::MediumWrite,
            name,
            "is not a program that is known to read only",
        );
        return None;
    };
    if node.writes
        && args.len() == 2
        && args[1]
            .text()
            .is_some_and(|flag| matches!(flag, "--version" | "--help"))
        && node.inspect.is_none()
        && node.loads.is_none()
    {
        report.read(name, "says what it is");
        return None;
    }
    if node.writes && node.modes.is_empty() {
        report.write(node.risk, name, "changes things or runs other code");
        if let Some(category) = node.always {
            report.endless(category, name, endless_why(category));
        } else if args.len() == 1 {
            bare(node, context, report);
        }
    }
    report.needs(node.sockets);
    plain_arguments(node, program, &args[1..], report);
    if let Some(inspector) = node.inspect.as_deref() {
        inspect::run(inspector, node, args, context, report);
        return None;
    }
    // What it runs can be worse than itself.
    let runs = node.operands.as_ref().is_some_and(table::Operands::runs);
    if node.writes && node.modes.is_empty() && !runs {
        return None;
    }
    let mut parse = Parse::new(args, context, report);
    parse.enter(node, 1);
    if parse.node().writes && !runs {
        let risk = parse.node().risk;
        parse.report.write(risk, name, "changes things, called like this");
        return None;
    }
    parse.run();
    parse.conclude()
}

/// A script can hand its arguments to a shell once more: what is not known to be compiled, or was not read, gets plain words only.
/// And a word that separates commands of a program begins another one, which is not judged.
fn plain_arguments(node: &Node, program: &str, args: &[Arg<'_>], report: &mut Report) {
    let odd = |arg: &&Arg<'_>| match &arg.value {
        Value::Known(text) => !node.any_text.allows(text),
        Value::Unknown(unknown) => {
            !unknown.ids && !matches!(node.any_text, AnyText::Compiled | AnyText::Script)
        }
    };
    if let Some(odd) = args.iter().find(odd) {
        report.write(
            node.risk,
            &odd.raw,
            format!(
                "is more than a plain word, and {program} may be a script that lets a shell read it again"
            ),
        );
    }
    let separates = |arg: &&Arg<'_>| {
        let text = arg.text();
        !node.separates.is_empty() && text.is_none_or(|text| node.separates.iter().any(|word| text == word))
    };
    if let Some(separator) = args.iter().find(separates) {
        report.write(
            node.risk,
            &separator.raw,
            format!("separates commands of {program}, and only one is judged"),
        );
    }
}

const fn endless_why(category: Category) -> &'static str {
    match category {
        Category::TtyFlag => "asks for a terminal",
        Category::Pager => "waits for keys, and can run commands from its prompt",
        Category::UnboundedStream => "does not end by itself",
        Category::InteractiveRepl => "waits for commands on its input",
    }
}

fn bare(node: &Node, context: Context<'_>, report: &mut Report) {
    match node.bare {
        // The folder is judged where the operands are known.
        Bare::Read | Bare::Tree | Bare::TreeOrStdin => {}
        Bare::Write => report.write(node.risk, &node.name, "without more it is not known to read only"),
        Bare::Stdin => {
            if !context.fed() {
                report.endless(
                    Category::UnboundedStream,
                    &node.name,
                    "waits for its standard input",
                );
            }
        }
        Bare::Repl => {
            report.write(
                node.risk,
                &node.name,
                "runs the commands that come in on its input",
            );
            if !context.fed() {
                report.endless(
                    Category::InteractiveRepl,
                    &node.name,
                    endless_why(Category::InteractiveRepl),
                );
            }
        }
        Bare::Pager => {
            report.write(node.risk, &node.name, "is interactive");
            report.endless(Category::Pager, &node.name, endless_why(Category::Pager));
        }
        Bare::Stream => report.endless(
            Category::UnboundedStream,
            &node.name,
            endless_why(Category::UnboundedStream),
        ),
    }
}
