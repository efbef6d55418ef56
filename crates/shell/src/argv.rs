//! What a program does with these arguments, by its entry in the table.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use crate::inspect;
use crate::limits::{MAX_COMMANDS, MAX_DEPTH};
use crate::report::Report;
use crate::script;
use crate::secret;
use crate::table;
use crate::table::{Bare, Flag, FlagEffect, FlagName, FlagValue, Kind, Node, Operands, RewriteRule, Style};
use crate::variable;
use crate::verdict::{Category, Risk};
use crate::word::{Arg, Value};

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

/// What a command line has come to, while it is walked.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// How many commands were judged already.
    judged: Cell<usize>,
    /// Where `cd` led, so that a relative path is not mistaken for another file.
    folder: RefCell<String>,
    /// Loop variables that only ever name ordinary files.
    ordinary: RefCell<Vec<String>>,
}

impl Course {
    /// A loop sets this variable to files that are no secrets.
    pub(crate) fn loops_over_ordinary_files(&self, variable: &str) {
        self.ordinary.borrow_mut().push(variable.to_owned());
    }

    /// Something sets variables: none of them is known any more.
    pub(crate) fn forget_variables(&self) {
        self.ordinary.borrow_mut().clear();
    }

    fn is_ordinary(&self, raw: &str) -> bool {
        let name = raw
            .trim_matches('"')
            .trim_start_matches('$')
            .trim_start_matches('{')
            .trim_end_matches('}');
        self.ordinary
            .borrow()
            .iter()
            .any(|known| known == name && raw.contains('$'))
    }
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
    let Some(first) = args.first() else { return None };
    let course = context.course;
    course.judged.set(course.judged.get() + 1);
    if context.depth > MAX_DEPTH || course.judged.get() > MAX_COMMANDS {
        report.write(
            Risk::MediumWrite,
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
    if matches!(program, "cd" | "pushd") {
        let operand = args[1..]
            .iter()
            .find(|arg| !arg.may_be_flag() || arg.text().is_none());
        let folder = operand.map_or("~", |arg| arg.text().unwrap_or("/etc"));
        let mut here = course.folder.borrow_mut();
        *here = if folder.starts_with(['/', '~']) {
            folder.to_owned()
        } else {
            format!("{here}/{folder}")
        };
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
    {
        report.read(name, "says what it is");
        return None;
    }
    if node.writes && node.modes.is_empty() {
        report.write(
            node.risk,
            name,
            format!("{} changes things or runs other code", node.name),
        );
        if let Some(category) = node.always {
            report.endless(category, name, endless_why(category));
        } else if args.len() == 1 {
            bare(node, context, report);
        }
    }
    if let Some(inspector) = node.inspect.as_deref() {
        inspect::run(inspector, node, args, context, report);
        return None;
    }
    if node.writes && node.modes.is_empty() {
        return None;
    }
    let mut parse = Parse {
        args,
        chain: Vec::new(),
        context,
        report,
        seen: Seen::default(),
        kept: vec![Cow::Borrowed(&args[0].raw)],
        path: 1,
        inner: None,
    };
    parse.enter(node, 1);
    if parse.node().writes {
        let risk = parse.node().risk;
        parse.report.write(
            risk,
            name,
            format!("{} changes things, called like this", node.name),
        );
        return None;
    }
    parse.run();
    parse.conclude()
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
        Bare::Read => {}
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

#[derive(Default)]
struct Seen {
    follow: Option<String>,
    bound: bool,
    tty: Option<String>,
    help: bool,
    operands: usize,
    numbers: usize,
    /// A wrapper's time limit.
    duration: Option<String>,
    ran: bool,
    /// Operands that name files.
    files: usize,
    /// Flags that were given, for rules about several of them.
    flags: Vec<FlagName>,
}

struct Parse<'p, 'a> {
    args: &'p [Arg<'a>],
    chain: Vec<&'static Node>,
    context: Context<'p>,
    report: &'p mut Report,
    seen: Seen,
    /// The words of a bounded equivalent.
    kept: Vec<Cow<'p, str>>,
    /// How many of them are the program and its sub-commands.
    path: usize,
    /// Where the command starts that a wrapper runs.
    inner: Option<usize>,
}

impl<'p, 'a> Parse<'p, 'a> {
    fn node(&self) -> &'static Node {
        // The chain starts with the program and only grows.
        self.chain[self.chain.len() - 1]
    }

    /// Enters a program or sub-command, in the mode that its flags select.
    fn enter(&mut self, node: &'static Node, from: usize) {
        let mut node = node;
        while !node.modes.is_empty() {
            let given = given_flags(node, &self.args[from.min(self.args.len())..]);
            let matching = node
                .modes
                .iter()
                .filter(|(flags, _)| flags.iter().any(|flag| given.contains(flag)))
                .map(|(_, mode)| mode);
            // Where several modes are asked for, the one that writes counts.
            let chosen = matching
                .clone()
                .find(|mode| mode.writes && mode.modes.is_empty())
                .or_else(|| matching.clone().next());
            match chosen {
                Some(mode) => node = mode,
                None => break,
            }
        }
        self.chain.push(node);
    }

    fn lenient(&self) -> bool {
        let node = self.node();
        node.pure || node.unlisted_reads
    }

    fn called(&self) -> String {
        self.chain
            .iter()
            .map(|node| node.name.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn run(&mut self) {
        let mut at = 1;
        let mut flags_ended = false;
        while at < self.args.len() {
            let args = self.args;
            let arg = &args[at];
            let style = self.node().style;
            if !flags_ended && style != Style::Words {
                match self.flag(at) {
                    Taken::Args(count) => {
                        at += count;
                        continue;
                    }
                    Taken::EndOfFlags => {
                        self.kept.push(Cow::Borrowed("--"));
                        flags_ended = true;
                        at += 1;
                        continue;
                    }
                    Taken::Nothing => {}
                }
            } else if style != Style::Words
                && self.seen.operands > 0
                && arg.text() == Some("--")
                && self.next_is_command()
            {
                // `pct exec 101 -- ls`: behind the first operand flags have ended, the separator still separates.
                at += 1;
                continue;
            }
            if self.descend(arg, at) {
                at += 1;
                if let Some(inspector) = self.node().inspect.as_deref() {
                    self.seen.ran = true;
                    inspect::run(inspector, self.node(), &args[at - 1..], self.context, self.report);
                    return;
                }
                if self.node().writes {
                    let node = self.node();
                    let called = self.called();
                    self.report.write(node.risk, &called, "changes things");
                    return;
                }
                continue;
            }
            if self.next_is_command() {
                self.command(at, flags_ended);
                return;
            }
            self.kept.push(Cow::Borrowed(&arg.raw));
            self.operand(arg, flags_ended);
            if self.node().style == Style::Posix {
                flags_ended = true;
            } else if self.node().ordered {
                if let Some(late) = args[at + 1..].iter().find(|arg| arg.may_be_flag()) {
                    let node = self.node();
                    self.report.write(
                        node.risk,
                        &late.raw,
                        format!("is no flag behind an operand of {}", node.name),
                    );
                }
                flags_ended = true;
            }
            at += 1;
        }
    }

    /// Enters a sub-command.
    fn descend(&mut self, arg: &'p Arg<'a>, at: usize) -> bool {
        let node = self.node();
        if node.subs.is_empty() || self.seen.operands > 0 {
            return false;
        }
        let Some(name) = arg.text() else { return false };
        let found = node.sub(name).or_else(|| {
            if !node.abbreviates || name.is_empty() {
                return None;
            }
            let candidates = node
                .subs
                .range(name.to_owned()..)
                .take_while(|(full, _)| full.starts_with(name))
                .map(|(_, sub)| sub);
            // Which one the program picks is its own affair: the worst one counts.
            candidates.max_by_key(|sub| (sub.writes, !sub.pure, sub.subs.is_empty()))
        });
        match found {
            Some(sub) => {
                self.enter(sub, at + 1);
                self.kept.push(Cow::Borrowed(&arg.raw));
                self.path = self.kept.len();
                true
            }
            None => false,
        }
    }

    fn next_is_command(&self) -> bool {
        matches!(
            self.node()
                .operands
                .as_ref()
                .and_then(|o| o.at(self.seen.operands)),
            Some(Kind::Cmd | Kind::Shell)
        )
    }

    /// What stands from here on is a command of its own.
    fn command(&mut self, at: usize, flags_ended: bool) {
        self.seen.ran = true;
        let node = self.node();
        let args = self.args;
        let mut rest = &args[at..];
        if !flags_ended && node.style != Style::Posix && node.style != Style::Words {
            let called = self.called();
            self.report.write(
                Risk::MediumWrite,
                &called,
                "which arguments are its own is unclear without `--`",
            );
        }
        if rest.first().and_then(Arg::text) == Some("--") {
            rest = &rest[1..];
        }
        self.inner = Some(self.kept.len());
        self.kept
            .extend(rest.iter().map(|arg| Cow::Borrowed(arg.raw.as_ref())));
        let mut inner = Report::new();
        match node.operands.as_ref().and_then(|o| o.at(self.seen.operands)) {
            Some(Kind::Shell) => {
                let words: Option<Vec<&str>> = rest.iter().map(Arg::text).collect();
                match words {
                    Some(words) => script::judge(&words.join(" "), self.context.deeper(), &mut inner),
                    None => inner.write(
                        Risk::MediumWrite,
                        &self.called(),
                        "the command it runs depends on a variable or a pattern",
                    ),
                }
            }
            _ => {
                judge(rest, self.context.deeper(), &mut inner);
            }
        }
        inner.rewrites.clear();
        if let Some(duration) = &self.seen.duration {
            inner.bounded_by(&format!("{} {duration}", self.called()));
        }
        let called = self.called();
        inner.condition(&called, "was judged by what it runs");
        self.report.absorb(inner);
    }

    fn operand(&mut self, arg: &Arg<'_>, flags_ended: bool) {
        let node = self.node();
        let skipped = usize::from(node.instead.iter().any(|flag| self.seen.flags.contains(flag)));
        let position = self.seen.operands + skipped;
        self.seen.operands += 1;
        if let Some(text) = arg.text() {
            let pieces = text.split(['/', ',', '.', ':']).map(str::to_lowercase);
            if pieces.into_iter().any(|piece| {
                self.chain
                    .iter()
                    .any(|node| node.secret_operands.contains(&piece))
            }) {
                self.report.secret(&arg.raw, "names secrets");
            }
        } else if self.chain.iter().any(|node| !node.secret_operands.is_empty()) {
            self.report.secret(&arg.raw, "could name secrets");
        }
        if !node.pure
            && !flags_ended
            && arg.text().is_none()
            && arg.may_be_flag()
            && node.style != Style::Words
        {
            self.report.write(
                node.risk,
                &arg.raw,
                format!("could turn into a flag of {}", node.name),
            );
            return;
        }
        let any = Operands::any_text();
        let operands = match &node.operands {
            Some(operands) => operands,
            None if node.pure => &any,
            None => {
                let called = self.called();
                let why = if node.subs.is_empty() {
                    "is not known to take this argument for reading"
                } else {
                    "is not known to have this sub-command for reading"
                };
                self.report
                    .write(node.risk, &format!("{called} {}", arg.raw), why);
                return;
            }
        };
        let Some(kind) = operands.at(position) else {
            let called = self.called();
            self.report.write(
                node.risk,
                &format!("{called} … {}", arg.raw),
                "is not known to take so many arguments for reading",
            );
            return;
        };
        if arg.may_be_several() && !operands.repeats_from(position) && !node.pure {
            self.report.write(
                node.risk,
                &arg.raw,
                format!("could turn into several arguments of {}", node.name),
            );
            return;
        }
        self.value(kind, arg, &arg.raw);
    }

    /// What a value of this kind means.
    fn value(&mut self, kind: &Kind, arg: &Arg<'_>, part: &str) {
        let node = self.node();
        if let Value::Unknown(unknown) = &arg.value
            && unknown.secret
        {
            self.report
                .secret(part, "prints a variable that is named like a secret");
        }
        match kind {
            Kind::Text => {}
            Kind::Path => self.seen.files += 1,
            Kind::Word | Kind::Name => {
                let slash = matches!(kind, Kind::Word);
                let fine = |c: char| {
                    c.is_ascii_alphanumeric() || "_.,:@%-".contains(c) || (slash && "+/=".contains(c))
                };
                if !arg
                    .text()
                    .is_some_and(|text| !text.starts_with('-') && text.chars().all(fine))
                {
                    let called = self.called();
                    self.report.write(
                        node.risk,
                        &format!("{called} … {part}"),
                        "is more than a plain name",
                    );
                }
            }
            Kind::Var => {
                if !arg.text().is_some_and(variable::harmless_for_shell) {
                    self.report
                        .write(Risk::MediumWrite, part, "setting it can change how programs run");
                }
            }
            Kind::CurlFormat => {
                if arg
                    .text()
                    .is_none_or(|text| text.contains("%output") || text.starts_with('@'))
                {
                    self.report
                        .write(node.risk, part, "can name a file to write or read");
                }
            }
            Kind::NoneOf(words) => {
                if arg.text().is_none_or(|text| Kind::allows(words, text)) {
                    let called = self.called();
                    self.report.write(
                        node.risk,
                        &format!("{called} … {part}"),
                        "is not known to read only with this value",
                    );
                }
            }
            Kind::Pem | Kind::File => {
                self.seen.files += 1;
                if matches!(kind, Kind::Pem) && arg.text().is_none_or(|text| text.contains(':')) {
                    self.report.write(node.risk, part, "could name code to load");
                }
                if arg.text() == Some("-") {
                    if !self.context.fed() {
                        self.report
                            .endless(Category::UnboundedStream, part, "waits for its standard input");
                    }
                    return;
                }
                file(arg, part, self.context, self.report, self.seen.bound);
            }
            Kind::Tree => {
                self.seen.files += 1;
                file(arg, part, self.context, self.report, self.seen.bound);
                if secret::tree_holds_secrets(arg)
                    || !self.context.course.folder.borrow().is_empty()
                        && arg.text().is_some_and(|text| !text.starts_with('/'))
                {
                    self.report.secret(part, "shows files below it that hold secrets");
                }
            }
            Kind::Host | Kind::Url => self.reach(kind, arg, part),
            Kind::Write => {
                let called = self.called();
                self.report.write(
                    node.risk,
                    &format!("{called} … {part}"),
                    "changes what its argument names",
                );
            }
            Kind::Interval => {
                self.seen.follow.get_or_insert_with(|| part.to_owned());
            }
            Kind::Count => match arg.text().and_then(|text| text.parse::<u64>().ok()) {
                Some(count) if count > 0 => self.seen.bound = true,
                _ => {}
            },
            Kind::Sampler => {
                let numeric = arg.text().is_none_or(|text| text.parse::<f64>().is_ok());
                if numeric {
                    self.seen.numbers += 1;
                    match self.seen.numbers {
                        1 => {
                            self.seen.follow.get_or_insert_with(|| part.to_owned());
                        }
                        2 if arg
                            .text()
                            .is_some_and(|text| text.parse::<u64>().is_ok_and(|n| n > 0)) =>
                        {
                            self.seen.bound = true
                        }
                        _ => {}
                    }
                }
            }
            Kind::Duration => {
                if arg.text().is_some_and(ends) {
                    self.seen.duration = Some(part.to_owned());
                } else if !node.operands.as_ref().is_some_and(Operands::runs) && arg.text() != Some("0") {
                    self.report
                        .endless(Category::UnboundedStream, part, "is not known to end");
                }
            }
            Kind::Cmd => self
                .report
                .write(Risk::MediumWrite, part, "is a command in an unexpected place"),
            Kind::Shell => match arg.text() {
                Some(text) => {
                    let mut inner = Report::new();
                    script::judge(text, self.context.deeper(), &mut inner);
                    inner.rewrites.clear();
                    inner.condition(part, "was judged as a command");
                    self.seen.ran = true;
                    self.report.absorb(inner);
                }
                None => self.report.write(
                    Risk::MediumWrite,
                    part,
                    "the command it runs depends on a variable or a pattern",
                ),
            },
            Kind::Sql => {
                self.seen.ran = true;
                inspect::sql(arg, node, part, self.report);
            }
            Kind::OneOf(words) => {
                if !arg.text().is_some_and(|text| Kind::allows(words, text)) {
                    let called = self.called();
                    self.report.write(
                        node.risk,
                        &format!("{called} … {part}"),
                        "is not known to read only with this value",
                    );
                }
            }
        }
    }

    fn reach(&mut self, kind: &Kind, arg: &Arg<'_>, part: &str) {
        let node = self.node();
        let text = arg.text();
        let odd = match &arg.value {
            Value::Known(text) => {
                text.starts_with('-')
                    || url_host(text).starts_with('-')
                    || text.contains("::")
                        && text.contains(|c: char| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit())
                    || matches!(kind, Kind::Url)
                        && text
                            .split_once("://")
                            .is_some_and(|(scheme, _)| !plain_scheme(scheme))
            }
            Value::Unknown(unknown) => {
                unknown.prefix.starts_with('-')
                    || matches!(kind, Kind::Url) && !unknown.prefix.starts_with("http")
            }
        };
        if odd {
            self.report
                .write(node.risk, part, "is not a plain host or web address");
        }
        let host = text.map(if matches!(kind, Kind::Url) {
            url_host
        } else {
            host_of
        });
        self.report.reaches(host, part);
    }

    /// Takes the flag at a position, with its value.
    fn flag(&mut self, at: usize) -> Taken {
        let args = self.args;
        let arg = &args[at];
        let node = self.node();
        let known = match &arg.value {
            Value::Known(text) => text.as_ref(),
            Value::Unknown(unknown) => {
                // `--since="$x"`: the flag is known, its value is not.
                let Some((name, _)) = unknown
                    .prefix
                    .strip_prefix("--")
                    .and_then(|rest| rest.split_once('='))
                else {
                    return Taken::Nothing;
                };
                if unknown.splits {
                    return Taken::Nothing;
                }
                let value = Arg {
                    raw: Cow::Borrowed(""),
                    value: Value::Unknown(crate::word::Unknown {
                        prefix: String::new(),
                        ..unknown.clone()
                    }),
                };
                self.kept.push(Cow::Borrowed(&arg.raw));
                self.long(&format!("--{name}"), name, Some(value), None, at);
                return Taken::Args(1);
            }
        };
        if known == "--" {
            return Taken::EndOfFlags;
        }
        if known.len() < 2 || !known.starts_with('-') {
            return Taken::Nothing;
        }
        if self.chain.iter().any(|n| n.numeric) && known[1..].bytes().all(|b| b.is_ascii_digit()) {
            self.seen.bound = true;
            self.kept.push(Cow::Borrowed(&arg.raw));
            return Taken::Args(1);
        }
        let double = known.strip_prefix("--");
        let word = double.or_else(|| {
            if node.style == Style::Long {
                known.strip_prefix('-')
            } else {
                None
            }
        });
        if let Some(word) = word {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (word, None),
            };
            let dashed = &known[..known.len() - word.len() + name.len()];
            self.kept.push(Cow::Borrowed(&arg.raw));
            let attached = attached.map(|value| Arg {
                raw: Cow::Owned(value.to_owned()),
                value: Value::Known(Cow::Owned(value.to_owned())),
            });
            return Taken::Args(self.long(dashed, name, attached, args.get(at + 1), at));
        }
        let (name, attached) = match known[1..].split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&known[1..], None),
        };
        if let Some(flag) = self.chain.iter().rev().find_map(|n| n.words.get(name)) {
            self.kept.push(Cow::Borrowed(&arg.raw));
            let attached = attached.map(|value| Arg {
                raw: Cow::Owned(value.to_owned()),
                value: Value::Known(Cow::Owned(value.to_owned())),
            });
            return Taken::Args(self.apply(
                FlagName::Word(name.to_owned()),
                flag,
                &known[..=name.len()],
                attached,
                args.get(at + 1),
            ));
        }
        self.cluster(known, at)
    }

    /// `-rnk2`: letters, of which the first one that takes a value takes the rest.
    fn cluster(&mut self, token: &str, at: usize) -> Taken {
        let args = self.args;
        let mut kept = String::from("-");
        let letters: Vec<(usize, char)> = token.char_indices().skip(1).collect();
        for (index, letter) in letters {
            let flag = self.chain.iter().rev().find_map(|n| n.short.get(&letter));
            let Some(flag) = flag else {
                if !self.lenient() {
                    let node = self.node();
                    let called = self.called();
                    self.report.write(
                        node.risk,
                        &format!("{called} -{letter}"),
                        "is a flag that is not known to read only",
                    );
                }
                kept.push(letter);
                continue;
            };
            let flag: &'static Flag = flag;
            if matches!(flag.effect, FlagEffect::Follow | FlagEffect::Tty) && flag.value == FlagValue::None {
                self.apply(FlagName::Short(letter), flag, &format!("-{letter}"), None, None);
                continue;
            }
            kept.push(letter);
            let rest = &token[index + letter.len_utf8()..];
            match flag.value {
                FlagValue::None => {
                    // `-o=json` where `-o` takes nothing: the value belongs to nobody, and says nothing.
                    self.apply(FlagName::Short(letter), flag, &format!("-{letter}"), None, None);
                }
                FlagValue::Required(_) | FlagValue::Optional(_) => {
                    kept.push_str(rest);
                    self.keep_cluster(kept);
                    let attached = (!rest.is_empty()).then(|| {
                        let value = rest.strip_prefix('=').unwrap_or(rest).to_owned();
                        Arg {
                            raw: Cow::Owned(value.clone()),
                            value: Value::Known(Cow::Owned(value)),
                        }
                    });
                    let count = self.apply(
                        FlagName::Short(letter),
                        flag,
                        &format!("-{letter}"),
                        attached,
                        args.get(at + 1),
                    );
                    return Taken::Args(count);
                }
            }
        }
        self.keep_cluster(kept);
        Taken::Args(1)
    }

    fn keep_cluster(&mut self, kept: String) {
        if kept.len() > 1 {
            self.kept.push(Cow::Owned(kept));
        }
    }

    fn long(
        &mut self,
        dashed: &str,
        name: &str,
        attached: Option<Arg<'_>>,
        next: Option<&'p Arg<'a>>,
        at: usize,
    ) -> usize {
        let _ = at;
        if let Some(flag) = self.chain.iter().rev().find_map(|n| n.long.get(name)) {
            return self.apply(FlagName::Long(name.to_owned()), flag, dashed, attached, next);
        }
        if matches!(name, "help" | "version") {
            self.seen.help = true;
            return 1;
        }
        let node = self.node();
        if matches!(node.style, Style::Gnu | Style::Posix) && !name.is_empty() {
            let mut worst: Option<&'static Flag> = None;
            let mut same_shape = true;
            for candidate in self.chain.iter().flat_map(|n| {
                n.long
                    .range(name.to_owned()..)
                    .take_while(|(full, _)| full.starts_with(name))
                    .map(|(_, flag)| flag)
            }) {
                match worst {
                    None => worst = Some(candidate),
                    Some(known) => {
                        same_shape &=
                            std::mem::discriminant(&known.value) == std::mem::discriminant(&candidate.value);
                        if candidate.effect > known.effect {
                            worst = Some(candidate);
                        }
                    }
                }
            }
            if let Some(flag) = worst {
                if !same_shape && attached.is_none() && !node.pure {
                    self.report.write(
                        node.risk,
                        dashed,
                        "is an abbreviation that could mean several flags",
                    );
                    return 1;
                }
                // Only a flag that is written out selects a mode.
                return self.apply(FlagName::Long(format!("{name}…")), flag, dashed, attached, next);
            }
        }
        if !self.lenient() {
            let called = self.called();
            self.report.write(
                node.risk,
                &format!("{called} {dashed}"),
                "is a flag that is not known to read only",
            );
        }
        1
    }

    /// What giving this flag means; returns how many arguments it took.
    fn apply(
        &mut self,
        name: FlagName,
        flag: &'static Flag,
        dashed: &str,
        attached: Option<Arg<'_>>,
        next: Option<&'p Arg<'a>>,
    ) -> usize {
        let called = self.called();
        let node = self.node();
        let part = || format!("{called} {dashed}");
        if matches!(flag.value, FlagValue::None) && attached.is_some() && !node.pure {
            self.report
                .write(node.risk, &part(), "is not known to take a value for reading");
        }
        let (kind, value, count) = match (&flag.value, attached) {
            (FlagValue::None, _) | (FlagValue::Optional(_), None) => (None, None, 1),
            (FlagValue::Required(kind) | FlagValue::Optional(kind), Some(value)) => {
                (Some(kind), Some(Cow::Owned(value)), 1)
            }
            (FlagValue::Required(kind), None) => match next {
                Some(next) => {
                    self.kept.push(Cow::Borrowed(&next.raw));
                    if next.splits() && !node.pure {
                        self.report.write(
                            node.risk,
                            &next.raw,
                            format!("could turn into a flag of {}", node.name),
                        );
                    }
                    (Some(kind), Some(Cow::Borrowed(next)), 2)
                }
                None => (Some(kind), None, 1),
            },
        };
        let text: Option<&str> = value.as_deref().and_then(Arg::text);
        let off = text
            .is_some_and(|text| matches!(text, "false" | "False" | "FALSE" | "0" | "f" | "F" | "no" | "off"));
        if !off {
            self.seen.flags.push(name);
        }
        match flag.effect {
            FlagEffect::Harmless => {}
            FlagEffect::Bound => {
                let endless = text.is_some_and(|text| matches!(text, "all" | "-1" | "inf" | "infinity"));
                self.seen.bound |= !endless && !off;
            }
            FlagEffect::Net => {
                if !matches!(kind, Some(Kind::Url | Kind::Host)) {
                    self.report.reaches(text.map(host_of), &part());
                }
            }
            FlagEffect::Secret => self.report.secret(&part(), "prints secrets"),
            FlagEffect::Follow => {
                // `--watch=false` does not follow.
                if !off {
                    self.seen.follow.get_or_insert_with(part);
                    if matches!(flag.value, FlagValue::None | FlagValue::Optional(_)) {
                        self.kept
                            .pop_if(|kept| kept.starts_with(dashed) && dashed.starts_with("--"));
                    }
                }
            }
            FlagEffect::Tty => {
                if !off {
                    self.seen.tty.get_or_insert_with(part);
                    self.kept
                        .pop_if(|kept| kept.starts_with(dashed) && dashed.starts_with("--"));
                }
            }
            FlagEffect::Write => self
                .report
                .write(node.risk, &part(), "changes or writes something"),
            FlagEffect::High => self.report.write(
                Risk::HighWrite,
                &part(),
                "changes something that is hard to restore",
            ),
            FlagEffect::Exec => self
                .report
                .write(Risk::HighWrite, &part(), "runs a program or loads code"),
        }
        if let (Some(kind), Some(value)) = (kind, value) {
            let part = format!("{dashed} {}", value.raw);
            self.value(kind, &value, &part);
        }
        count
    }

    fn conclude(mut self) -> Option<String> {
        let node = self.node();
        let called = self.called();
        let waits_for_command = self.seen.operands > 0 && self.next_is_command();
        let no_file = node.bare == Bare::Stdin
            && self.seen.files == 0
            && node.operands.as_ref().is_none_or(Operands::names_files);
        if !self.seen.help
            && !self.seen.ran
            && !self.seen.bound
            && (self.seen.operands == 0 || waits_for_command || no_file)
        {
            bare(node, self.context, self.report);
        }
        if node.filters && !self.context.fed() && !self.seen.help {
            self.report
                .endless(Category::UnboundedStream, &called, "waits for its standard input");
        }
        if self.chain.iter().any(|node| node.sends)
            && matches!(self.context.feed, Feed::Data | Feed::Inherited)
            && self.context.fed()
        {
            self.report
                .write(node.risk, &called, "sends its input to another host");
        }
        for node in &self.chain {
            if !node.needs.is_empty()
                && !self.seen.help
                && !node.needs.iter().any(|flag| self.seen.flags.contains(flag))
            {
                self.report
                    .write(node.risk, &called, "reads only with another flag");
            }
            if node
                .clashes
                .iter()
                .any(|flags| flags.iter().all(|flag| self.seen.flags.contains(flag)))
            {
                self.report
                    .write(node.risk, &called, "changes something with these flags together");
            }
        }
        for node in &self.chain {
            if node.network && !self.report.network {
                self.report.reaches(None, &called);
            }
            if node.sensitive && !self.seen.help {
                self.report.secret(&called, "prints secrets");
            }
            if node.conditional {
                self.report
                    .condition(&called, "reads with these arguments; it could also write");
            }
        }
        if let Some(tty) = self.seen.tty.take() {
            self.report
                .endless(Category::TtyFlag, &tty, endless_why(Category::TtyFlag));
        }
        let always = self.chain.iter().rev().find_map(|node| node.always);
        if let Some(category) = always.filter(|category| {
            !self.seen.help && !self.seen.bound && !(self.seen.ran && *category == Category::InteractiveRepl)
        }) {
            self.report.endless(category, &called, endless_why(category));
            if category != Category::UnboundedStream {
                self.report.write(node.risk, &called, "is interactive");
            }
        } else if let Some(follow) = self.seen.follow.take().filter(|_| !self.seen.bound) {
            self.report.endless(
                Category::UnboundedStream,
                &follow,
                endless_why(Category::UnboundedStream),
            );
        }
        if !self.report.is_write() {
            let why = if node.pure {
                "reads, whatever its arguments"
            } else {
                "reads with these arguments"
            };
            self.report.read(&called, why);
        }
        self.rewrite()
    }

    fn rewrite(&self) -> Option<String> {
        let category = self.report.endless?;
        let rule = self.chain.iter().rev().find_map(|node| node.rewrite.as_ref());
        // Dropping the flags that ask for a terminal is enough.
        let dropped = RewriteRule::default();
        let rule = rule.or((category == Category::TtyFlag).then_some(&dropped))?;
        let mut words: Vec<&str> = self.kept.iter().map(AsRef::as_ref).collect();
        if rule.inner {
            return self.inner.map(|start| words[start..].join(" "));
        }
        if let Some(program) = &rule.program {
            words[0] = program;
        }
        if !rule.add.is_empty() {
            words.insert(self.path, &rule.add);
        }
        if !rule.append.is_empty() {
            words.push(&rule.append);
        }
        Some(words.join(" "))
    }
}

/// Which flags seem to be given: only to choose a mode, which then reads them strictly.
fn given_flags(node: &Node, args: &[Arg<'_>]) -> Vec<FlagName> {
    let mut given = Vec::new();
    for text in args.iter().filter_map(Arg::text) {
        if text == "--" {
            break;
        }
        if let Some(long) = text.strip_prefix("--") {
            given.push(FlagName::Long(long.split('=').next().unwrap_or(long).to_owned()));
        } else if let Some(rest) = text.strip_prefix('-') {
            let word = rest.split('=').next().unwrap_or(rest);
            if node.style == Style::Long {
                given.push(FlagName::Long(word.to_owned()));
            } else {
                given.push(FlagName::Word(word.to_owned()));
                for letter in rest.chars() {
                    given.push(FlagName::Short(letter));
                    if node
                        .short
                        .get(&letter)
                        .is_some_and(|flag| flag.value != FlagValue::None)
                    {
                        break;
                    }
                }
            }
        }
    }
    given
}

/// Schemes that fetch and nothing else.
fn plain_scheme(scheme: &str) -> bool {
    matches!(
        scheme.to_ascii_lowercase().as_str(),
        "http"
            | "https"
            | "ftp"
            | "ftps"
            | "ws"
            | "wss"
            | "git"
            | "ssh"
            | "postgres"
            | "postgresql"
            | "mysql"
            | "redis"
            | "rediss"
            | "tcp"
            | "oci"
            | "docker"
    )
}

enum Taken {
    Args(usize),
    EndOfFlags,
    Nothing,
}

/// What reading this file means.
pub(crate) fn file(arg: &Arg<'_>, part: &str, context: Context<'_>, report: &mut Report, bound: bool) {
    let mut nature = secret::nature(arg);
    if arg.text().is_none() && context.course.is_ordinary(&arg.raw) {
        nature = secret::Nature::default();
    }
    let folder = context.course.folder.borrow();
    if let Some(text) = arg
        .text()
        .filter(|text| !folder.is_empty() && !text.starts_with(['/', '~']))
    {
        let there = secret::nature(&Arg::known(format!("{folder}/{text}")));
        nature = secret::Nature {
            secret: nature.secret || there.secret,
            endless: nature.endless || there.endless,
        };
    }
    if nature.secret {
        let why = if arg.text().is_some() {
            "holds secrets"
        } else {
            "could be a file that holds secrets"
        };
        report.secret(part, why);
    }
    if nature.endless && !bound {
        report.endless(Category::UnboundedStream, part, "can be read for ever");
    }
    if arg
        .text()
        .is_some_and(|text| text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/"))
    {
        report.write(
            Risk::MediumWrite,
            part,
            "opens a connection when a shell reads it",
        );
    }
}

/// Whether a duration of `timeout` is one: `0` and `infinity` end nothing.
fn ends(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or(text);
    number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && number.parse::<f64>().is_ok_and(|n| n > 0.0 && n.is_finite())
}

/// The host in `user@host:port` or `user@host`.
pub(crate) fn host_of(text: &str) -> &str {
    if text.contains("://") {
        return url_host(text);
    }
    let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
    if host.matches(':').count() == 1 {
        host.split_once(':').map_or(host, |(host, _)| host)
    } else {
        host
    }
}

/// The host of a URL.
pub(crate) fn url_host(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(six) = host.strip_prefix('[') {
        return six.split(']').next().unwrap_or(six);
    }
    host.split(':').next().unwrap_or(host)
}
