//! The walk over a program's arguments: flags, sub-commands, operands, and the command that a wrapper runs.

use std::borrow::Cow;

use super::flags::{Taken, is_switch};
use super::{Context, Feed, bare, endless_why, judge};
use crate::extent::MOST_SECONDS;
use crate::inspect;
use crate::report::Report;
use crate::script;
use crate::table::{Bare, FlagName, FlagValue, Kind, Loads, Node, Operands, RewriteRule, Style};
use crate::verdict::{Category, Needs, Risk};
use crate::word::Arg;

/// Why a bound that is there does not count.
const FAR: &str = "is told to end, but not soon";

/// What reaching a host needs.
pub(super) const NETWORK: Needs = Needs {
    network: true,
    ..Needs::NONE
};

#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about the arguments"
)]
pub(super) struct Seen {
    pub(super) follow: Option<String>,
    pub(super) bound: bool,
    /// A bound was given that ends nothing, or not soon.
    pub(super) far: bool,
    /// How many rounds it was told to do, and the time between two of them.
    pub(super) rounds: Option<f64>,
    pub(super) interval: Option<f64>,
    /// How long it was told to run or to wait.
    pub(super) seconds: f64,
    /// It reads no more than a number of bytes, so that also a file without an end ends.
    pub(super) cut: bool,
    pub(super) tty: Option<String>,
    pub(super) help: bool,
    pub(super) operands: usize,
    pub(super) numbers: usize,
    /// A wrapper's time limit.
    pub(super) duration: Option<String>,
    pub(super) ran: bool,
    /// Operands that name files.
    pub(super) files: usize,
    /// SQL that it was given, and the databases that it is for.
    pub(super) sql: Vec<inspect::Given>,
    pub(super) databases: Vec<String>,
    /// Flags that were given, for rules about several of them.
    pub(super) flags: Vec<FlagName>,
    /// Flags that came before the first operand, each with the depth of the sub-command at which it came.
    pub(super) early: Vec<(FlagName, usize)>,
    /// The same, of `--help` and `--version`.
    pub(super) early_help: bool,
    /// A flag was followed by a word like `no`, which some programs take as its value.
    pub(super) switched: bool,
    /// Operands that name secrets, and why.
    pub(super) named_secrets: Vec<(String, &'static str)>,
    /// Flags that an abbreviation could have meant.
    pub(super) perhaps: Vec<FlagName>,
}

pub(super) struct Parse<'p, 'a> {
    pub(super) args: &'p [Arg<'a>],
    pub(super) chain: Vec<&'static Node>,
    pub(super) context: Context<'p>,
    pub(super) report: &'p mut Report,
    pub(super) seen: Seen,
    /// The words of a bounded equivalent.
    pub(super) kept: Vec<Cow<'p, str>>,
    /// How many of them are the program and its sub-commands.
    pub(super) path: usize,
    /// Whether the argument before was a flag without a value.
    pub(super) bare_flag: bool,
    /// Levels whose sub-command could have been the value of the flag before it.
    pub(super) guessed: Vec<&'static Node>,
    /// Where the command starts that a wrapper runs.
    pub(super) inner: Option<usize>,
    /// The sub-commands as they were written.
    pub(super) typed: Vec<&'p str>,
}

impl<'p, 'a> Parse<'p, 'a> {
    pub(super) fn new(args: &'p [Arg<'a>], context: Context<'p>, report: &'p mut Report) -> Self {
        let kept = args
            .first()
            .map(|program| Cow::Borrowed(program.raw.as_ref()))
            .into_iter()
            .collect();
        Self {
            args,
            chain: Vec::new(),
            context,
            report,
            seen: Seen::default(),
            kept,
            path: 1,
            bare_flag: false,
            guessed: Vec::new(),
            inner: None,
            typed: Vec::new(),
        }
    }

    pub(super) fn node(&self) -> &'static Node {
        // The chain starts with the program and only grows.
        self.chain[self.chain.len() - 1]
    }

    /// Enters a program or sub-command, in the mode that its flags select.
    pub(super) fn enter(&mut self, node: &'static Node, from: usize) {
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
        self.report.needs(node.sockets);
        self.chain.push(node);
    }

    /// Where a program has several implementations, the value of a flag that is not listed could be a file to write or a
    /// command to run.
    pub(super) fn lenient(&self, has_value: bool) -> bool {
        let node = self.node();
        node.unlisted_reads && !(has_value && node.several)
    }

    /// The program as it was called, and the sub-commands.
    pub(super) fn called(&self) -> String {
        let program = self
            .args
            .first()
            .and_then(Arg::text)
            .map_or("", |name| name.rsplit('/').next().unwrap_or(name));
        let subs = self.chain.iter().skip(1).map(|node| node.name.as_str());
        std::iter::once(program).chain(subs).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn run(&mut self) {
        let mut at = 1;
        let mut flags_ended = false;
        while at < self.args.len() {
            let args = self.args;
            let arg = &args[at];
            let style = self.node().style;
            if !flags_ended && style != Style::Words {
                let behind_flag = std::mem::take(&mut self.bare_flag);
                match self.flag(at) {
                    Taken::Args(count) => {
                        at += count;
                        self.seen.switched |=
                            count == 1 && args.get(at).and_then(Arg::text).is_some_and(is_switch);
                        continue;
                    }
                    Taken::EndOfFlags => {
                        self.kept.push(Cow::Borrowed("--"));
                        flags_ended = true;
                        at += 1;
                        continue;
                    }
                    Taken::Nothing => {
                        // Some programs look for the sub-command before they know its flags, and take the word behind
                        // a flag for its value: `tool -R get replace` may replace.
                        let node = self.node();
                        if behind_flag
                            && node.style == Style::Exact
                            && !node.subs.is_empty()
                            && self.seen.operands == 0
                        {
                            self.guessed.push(node);
                        }
                    }
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
    pub(super) fn descend(&mut self, arg: &'p Arg<'a>, at: usize) -> bool {
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
            candidates.max_by_key(|sub| (sub.writes, sub.sensitive, !sub.pure, sub.subs.is_empty()))
        });
        // Programs that share an entry can differ.
        let called = self.args.first().and_then(Arg::text).unwrap_or("");
        let called = called.rsplit('/').next().unwrap_or(called);
        match found.filter(|sub| sub.only.is_empty() || sub.only.iter().any(|name| name == called)) {
            Some(sub) => {
                self.enter(sub, at + 1);
                self.typed.push(name);
                // `parted /dev/sda print`: the sub-command `*` is a device.
                if name.contains('/') {
                    self.opens_device(&Kind::Text, arg, &arg.raw);
                }
                self.kept.push(Cow::Borrowed(&arg.raw));
                self.path = self.kept.len();
                true
            }
            None => false,
        }
    }

    pub(super) fn next_is_command(&self) -> bool {
        matches!(
            self.node()
                .operands
                .as_ref()
                .and_then(|o| o.at(self.seen.operands)),
            Some(Kind::Cmd | Kind::Shell)
        )
    }

    /// What stands from here on is a command of its own.
    pub(super) fn command(&mut self, at: usize, flags_ended: bool) {
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
        let waited = self.context.course.waited();
        match node.operands.as_ref().and_then(|o| o.at(self.seen.operands)) {
            Some(Kind::Shell) => {
                // What is not known stands as some word: the rest of it still counts.
                let words: Vec<&str> = rest.iter().map(|arg| arg.text().unwrap_or("x")).collect();
                script::judge(&words.join(" "), self.context.deeper(), &mut inner);
                if rest.iter().any(|arg| arg.text().is_none()) {
                    let why = "the command it runs depends on a variable or a pattern";
                    inner.write(Risk::MediumWrite, &self.called(), why);
                }
            }
            _ => {
                judge(rest, self.context.deeper(), &mut inner);
            }
        }
        inner.rewrites.clear();
        if inner.network && self.chain.iter().any(|node| node.network) {
            // What runs elsewhere reaches hosts from there.
            inner.needs(NETWORK);
        }
        if let Some(duration) = &self.seen.duration {
            let part = format!("{} {duration}", self.called());
            if inner.bounded_by(&part) {
                self.context.course.forgets_waiting(waited);
                self.context.course.waits(self.seen.seconds, &part, &mut inner);
            }
        }
        let called = self.called();
        if node.hands_over == Some(true) && inner.needs_sandbox {
            inner.write(
                Risk::MediumWrite,
                &called,
                "runs, where no sandbox holds it, what is a read only inside a sandbox",
            );
        }
        inner.condition(&called, "was judged by what it runs");
        self.report.absorb(inner);
    }

    /// Whether what was given ends it soon: every bound, and the rounds together with the time between them.
    fn ends_soon(&mut self) -> bool {
        let every = self.chain.iter().rev().find_map(|node| node.every).unwrap_or(1.0);
        if let Some(rounds) = self.seen.rounds {
            let takes = rounds * self.seen.interval.unwrap_or(every);
            self.seen.far |= takes > MOST_SECONDS;
            self.seen.seconds = self.seen.seconds.max(takes);
        }
        self.seen.bound && !self.seen.far
    }

    /// Whether a flag was given without which it changes things. Some programs look for flags only before their first operand or
    /// sub-command, and some take `no` behind a flag as its value: such a flag does not count.
    fn has_needed(&self, node: &Node, level: usize) -> bool {
        if self.seen.switched {
            return false;
        }
        if node.permutes {
            return node.needs.iter().any(|flag| self.seen.flags.contains(flag));
        }
        self.seen
            .early
            .iter()
            .any(|(flag, deep)| *deep <= level && node.needs.contains(flag))
    }

    pub(super) fn conclude(mut self) -> Option<String> {
        let node = self.node();
        let called = self.called();
        let ends_soon = self.ends_soon();
        let waits_for_command = self.seen.operands > 0 && self.next_is_command();
        let no_file = node.bare == Bare::Stdin
            && self.seen.files == 0
            && node.operands.as_ref().is_none_or(Operands::names_files);
        if !self.seen.help
            && !self.seen.ran
            && !(self.seen.bound && !(node.numeric && node.bare == Bare::Stdin))
            && (self.seen.operands == 0 || waits_for_command || no_file)
        {
            bare(node, self.context, self.report);
        }
        let reads_folder = match node.bare {
            Bare::Tree => true,
            Bare::TreeOrStdin => !self.context.fed(),
            Bare::Read | Bare::Write | Bare::Stdin | Bare::Repl | Bare::Pager | Bare::Stream => false,
        };
        if reads_folder && self.seen.files == 0 && !self.seen.help {
            self.value(&Kind::Tree, &Arg::known("."), &called);
        }
        if node.filters && !self.context.fed() && !self.seen.help {
            self.report
                .endless(Category::UnboundedStream, &called, "waits for its standard input");
        }
        if self.chain.iter().any(|node| node.sends)
            && matches!(self.context.feed, Feed::Data | Feed::Ids | Feed::Inherited)
            && self.context.fed()
        {
            self.report
                .write(node.risk, &called, "sends its input to another host");
        }
        if !self.seen.sql.is_empty() {
            inspect::sql(
                &self.seen.sql,
                &self.chain[0].name,
                &self.seen.databases,
                self.report,
            );
        }
        self.loads_code(&called);
        for (level, node) in self.chain.iter().enumerate() {
            if !node.needs.is_empty() && !self.seen.early_help && !self.has_needed(node, level + 1) {
                let flags: Vec<String> = node.needs.iter().take(3).map(ToString::to_string).collect();
                let why = format!("changes things, unless it is given {}", flags.join(" or "));
                self.report.write(node.risk, &called, why);
            }
            if node.clashes.iter().any(|flags| {
                flags
                    .iter()
                    .all(|flag| self.seen.flags.contains(flag) || self.seen.perhaps.contains(flag))
            }) {
                self.report
                    .write(node.risk, &called, "changes something with these flags together");
            }
        }
        self.named_secrets();
        let hands_over = self.chain.iter().any(|node| {
            let runs = node.operands.as_ref().is_some_and(Operands::runs);
            node.hands_over == Some(true) && (self.seen.ran || !runs)
        });
        if hands_over {
            self.report.hands_over(
                &called,
                "hands a command to another machine, container or namespace, where the sandbox around it does not hold",
            );
        }
        for node in &self.chain {
            if node.network {
                self.report.needs(NETWORK);
                if !self.report.network {
                    self.report.reaches(None, &called);
                }
            }
            let selected = node.selects.iter().any(|flag| self.seen.flags.contains(flag));
            if node.sensitive && !selected && !self.seen.help {
                let why = match node.selects.first() {
                    None => "prints secrets".to_owned(),
                    Some(flag) => format!("prints secrets among the rest; {flag} can ask for less"),
                };
                self.report.secret(&called, why);
            }
            if node.conditional {
                self.report
                    .condition(&called, "reads with these arguments; it could also write");
            }
        }
        let typed = self.typed.join(" ");
        let names_secrets = self.chain[0].shows.iter().any(|call| {
            typed
                .strip_suffix(call.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with(' '))
        }) || self
            .chain
            .iter()
            .zip(std::iter::once(&"").chain(&self.typed))
            .any(|(node, word)| node.name.ends_with('*') && fetches_a_secret(word));
        if names_secrets && !self.seen.help {
            self.report.secret(&called, "prints secrets");
        }
        if let Some(tty) = self.seen.tty.take() {
            self.report
                .endless(Category::TtyFlag, &tty, endless_why(Category::TtyFlag));
        }
        let always = self.chain.iter().rev().find_map(|node| node.always);
        if let Some(category) = always.filter(|category| {
            let interactive = *category == Category::InteractiveRepl;
            !(self.seen.help || ends_soon || self.seen.ran && interactive)
        }) {
            let why = if self.seen.bound && self.seen.far {
                FAR
            } else {
                endless_why(category)
            };
            self.report.endless(category, &called, why);
            if category != Category::UnboundedStream {
                self.report.write(node.risk, &called, "is interactive");
            }
        } else if let Some(follow) = self.seen.follow.take() {
            if !ends_soon {
                let why = if self.seen.bound {
                    FAR
                } else {
                    endless_why(Category::UnboundedStream)
                };
                self.report.endless(Category::UnboundedStream, &follow, why);
            } else if !self.seen.help {
                self.context.course.waits(self.seen.seconds, &called, self.report);
            }
        } else if always.is_some() && !self.seen.help {
            self.context.course.waits(self.seen.seconds, &called, self.report);
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

    /// What operands named as secrets is shown, unless only a flag would show it that is not there.
    fn named_secrets(&mut self) {
        let asked = |flag: &FlagName| self.seen.flags.contains(flag) || self.seen.perhaps.contains(flag);
        let shown = self
            .chain
            .iter()
            .filter(|node| !node.secret_operands.is_empty())
            .any(|node| node.secret_with.is_empty() || node.secret_with.iter().any(asked));
        if shown {
            for (part, why) in std::mem::take(&mut self.seen.named_secrets) {
                self.report.secret(&part, why);
            }
        }
    }

    /// Whether it runs code that lies in a folder which the command chose, or in any folder.
    fn loads_code(&mut self, called: &str) {
        let loads = self.chain.iter().rev().find_map(|node| node.loads);
        let (refused, sandboxed) = match loads {
            None | Some(Loads::Nowhere) => (false, false),
            Some(Loads::Sandbox) => (false, true),
            Some(Loads::Elsewhere) => (!self.context.course.stays(), true),
            Some(Loads::Anywhere) => (true, false),
        };
        if refused {
            self.report
                .write(self.node().risk, called, "loads code from the folder it runs in");
        }
        if sandboxed {
            self.report.only_in_sandbox(
                called,
                "runs code that its folder or the data that it reads can name: a read only inside a sandbox",
            );
            // A sandbox keeps the code from writing and from connecting, not from reading. Whose code it is depends on the folder.
            if self.context.course.could_be_anywhere() {
                self.report.secret(
                    called,
                    "runs code that a folder which is not known can name, and that code can show secrets",
                );
            }
            // The sandbox opens the sockets that the program needs, and the code decides what it does with them.
            let needed = self.report.needed();
            if needed.unix {
                let why = "runs code that its folder or the data that it reads can name, and reaches services of its machine";
                self.report.write(self.node().risk, called, why);
            }
            if !needed.is_none() || self.chain.iter().any(|node| node.network) {
                self.report.reaches(None, called);
            }
        }
    }

    pub(super) fn rewrite(&self) -> Option<String> {
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
        let operand = text.len() < 2 || !text.starts_with('-');
        if text == "--" || operand && node.style == Style::Posix {
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

/// Whether a sub-command that the table knows only by a pattern fetches a secret, by its name: `get-session-token`.
fn fetches_a_secret(name: &str) -> bool {
    let mut words = name.split(['-', '_']);
    let lists = words
        .next()
        .is_some_and(|verb| matches!(verb, "list" | "describe" | "wait"));
    !lists
        && words.any(|word| {
            matches!(
                word,
                "secret"
                    | "secrets"
                    | "password"
                    | "passwords"
                    | "token"
                    | "tokens"
                    | "credential"
                    | "credentials"
            )
        })
}
