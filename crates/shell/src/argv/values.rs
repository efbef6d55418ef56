//! What an operand or the value of a flag means.

use super::Context;
use super::parse::{NETWORK, Parse};
use super::template;
use crate::extent::{self, Unit};
use crate::inspect;
use crate::report::Report;
use crate::script;
use crate::secret;
use crate::table::{Kind, Node, Operands, Style};
use crate::variable;
use crate::verdict::{Category, Risk};
use crate::word::{Arg, Value};

/// Whether a shell reads this character of a path as something else than a part of its name.
fn is_read_by_shells(character: char) -> bool {
    character.is_control() || "`$;|&<>()\\'\"".contains(character)
}

/// Words that change something where a program takes them for a sub-command.
fn is_verb(word: &str) -> bool {
    matches!(
        word,
        "add"
            | "apply"
            | "attach"
            | "clear"
            | "create"
            | "delete"
            | "destroy"
            | "detach"
            | "disable"
            | "edit"
            | "enable"
            | "flush"
            | "forward"
            | "import"
            | "install"
            | "kill"
            | "move"
            | "prune"
            | "purge"
            | "remove"
            | "rename"
            | "reset"
            | "restart"
            | "restore"
            | "revoke"
            | "rm"
            | "set"
            | "start"
            | "stop"
            | "uninstall"
            | "unset"
            | "update"
            | "upgrade"
            | "visibility"
    )
}

/// Whether an operand could begin with the name of another machine: `NAME:…`.
fn names_a_remote(arg: &Arg<'_>) -> bool {
    arg.text().is_none_or(|text| {
        text.split_once(':')
            .is_some_and(|(remote, _)| remote != "local" && !remote.contains('/'))
    })
}

impl Parse<'_, '_> {
    pub(super) fn operand(&mut self, arg: &Arg<'_>, flags_ended: bool) {
        let node = self.node();
        let skipped = usize::from(node.instead.iter().any(|flag| self.seen.flags.contains(flag)));
        let position = self.seen.operands + skipped;
        self.seen.operands += 1;
        self.secret_operand(arg);
        if node.remote_shell
            && arg.raw.contains(':')
            && arg.text().is_none_or(|text| text.contains(is_read_by_shells))
        {
            let why = "is read by a shell on another host, which may run a command in it";
            self.report.write(Risk::HighWrite, &arg.raw, why);
        }
        if self.chain.iter().any(|node| node.remotes) && names_a_remote(arg) {
            self.report.needs(NETWORK);
            self.report.reaches(None, &arg.raw);
        }
        if !node.pure
            && !flags_ended
            && arg.text().is_none()
            && arg.may_be_flag()
            && node.style != Style::Words
        {
            self.report.write(
                Risk::HighWrite,
                &arg.raw,
                format!("could turn into a flag of {}", node.name),
            );
        }
        if !node.pure
            && !node.unlisted_reads
            && !node.dashes
            && node.style != Style::Words
            && arg
                .text()
                .is_some_and(|text| text.len() > 1 && text.starts_with('-'))
        {
            // Behind `--` it is an operand here, but programs hand their operands on, to ssh for example.
            let called = self.called();
            self.report.write(
                node.risk,
                &format!("{called} … {}", arg.raw),
                "is an argument that looks like a flag",
            );
        }
        if self.guessed.iter().any(|level| {
            arg.text().is_none_or(|text| {
                level
                    .sub(text)
                    .is_some_and(|sub| sub.writes || !sub.modes.is_empty() || !sub.subs.is_empty())
            })
        }) {
            self.report.write(
                Risk::HighWrite,
                &arg.raw,
                "could be the sub-command: the flag before may take a value",
            );
        }
        if position == 0 && !node.subs.is_empty() && arg.text().is_none() {
            self.report.write(
                Risk::HighWrite,
                &arg.raw,
                format!("could turn into a sub-command of {}", node.name),
            );
        }
        if position == 0 && node.listed && node.name != "help" && arg.text().is_some_and(is_verb) {
            let called = self.called();
            self.report.write(
                node.risk,
                &format!("{called} {}", arg.raw),
                "could be a sub-command that changes something",
            );
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
                Risk::HighWrite,
                &arg.raw,
                format!("could turn into several arguments of {}", node.name),
            );
        }
        if matches!(kind, Kind::File | Kind::Tree | Kind::Path)
            && arg.text().is_some_and(|text| text.starts_with('@'))
        {
            // The tools of binutils and some archivers take `@file` for a list of further arguments.
            self.report
                .write(node.risk, &arg.raw, "could name a file with more arguments");
        }
        if !node.pure
            && matches!(kind, Kind::File | Kind::Tree | Kind::Path | Kind::FileList)
            && arg.text().is_some_and(|text| text.contains(['\n', '\r']))
        {
            // Scripts around programs put it into a script of sed, among others (CVE-2022-1271).
            self.report.write(
                node.risk,
                &arg.raw,
                "has a line break in its name, which some programs read as more",
            );
        }
        if !self.chain.iter().any(|node| node.names_only) {
            self.opens_device(kind, arg, &arg.raw);
        }
        if !matches!(kind, Kind::Host | Kind::Url | Kind::Manifest) {
            self.address(arg, &arg.raw, false);
        }
        match kind {
            Kind::Interval(_) => {
                self.seen
                    .follow
                    .get_or_insert_with(|| arg.raw.clone().into_owned());
            }
            Kind::Count => self.counts(arg),
            _ => {}
        }
        self.value(kind, arg, &arg.raw);
    }

    /// A word that names secrets for this program.
    fn secret_operand(&mut self, arg: &Arg<'_>) {
        if let Some(text) = arg.text() {
            let pieces = text
                .split(|c: char| !(c.is_ascii_alphanumeric() || "_$-".contains(c)))
                .map(str::to_lowercase);
            let names = |node: &Node, piece: &str| {
                node.secret_operands.iter().any(|word| {
                    word == piece || node.secret_prefixes && !piece.is_empty() && word.starts_with(piece)
                })
            };
            if pieces
                .into_iter()
                .any(|piece| self.chain.iter().any(|node| names(node, &piece)))
            {
                self.seen
                    .named_secrets
                    .push((arg.raw.clone().into_owned(), "names secrets"));
            }
        } else if self.chain.iter().any(|node| !node.secret_operands.is_empty()) {
            self.seen
                .named_secrets
                .push((arg.raw.clone().into_owned(), "could name secrets"));
        }
    }

    /// What a value of this kind means.
    pub(super) fn value(&mut self, kind: &Kind, arg: &Arg<'_>, part: &str) {
        let node = self.node();
        if let Value::Unknown(unknown) = &arg.value
            && unknown.secret
        {
            self.report
                .secret(part, "prints a variable that is named like a secret");
        }
        match kind {
            Kind::Text => {
                // Text is what the table does not know to be opened. A program may open it all the same.
                if !node.pure && self.context.course.names_secret(arg, self.context.depth) {
                    self.report.secret(
                        part,
                        "names a file that holds secrets, which the program could show",
                    );
                }
            }
            Kind::Folder => self.context.course.enters(arg, self.context.depth),
            Kind::FileList => {
                self.seen.files += 1;
                if arg.text() == Some("-") {
                    if !self.context.fed() {
                        self.report
                            .endless(Category::UnboundedStream, part, "waits for its standard input");
                    }
                } else {
                    file(arg, part, self.context, self.report, self.seen.cut);
                }
                if arg.text() != Some("/dev/null") {
                    self.report
                        .secret(part, "names the files to open, which could hold secrets");
                }
            }
            Kind::Path => self.seen.files += 1,
            Kind::Word | Kind::Name | Kind::Database => {
                if matches!(kind, Kind::Database) {
                    self.seen.databases.extend(arg.text().map(ToOwned::to_owned));
                }
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
            Kind::Digits => {
                if !arg
                    .text()
                    .is_some_and(|text| text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit()))
                {
                    // What follows the number would be more flags.
                    self.report.write(node.risk, part, "is more than a number");
                }
            }
            Kind::Filter => {
                if let Some(text) = arg.text() {
                    // `yq eval FILE`: the filter is optional.
                    let path = text.starts_with(['/', '~'])
                        || !text.starts_with('.')
                            && text.contains('.')
                            && text.bytes().all(|byte| {
                                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/')
                            });
                    if path {
                        return self.value(&Kind::File, arg, part);
                    }
                    inspect::filter(text, part, self.report);
                } else {
                    self.report.endless(
                        Category::UnboundedStream,
                        part,
                        "is a filter that depends on a variable or a pattern",
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
                // `Accept: text/event-stream`
                if arg
                    .text()
                    .is_none_or(|text| text.to_ascii_lowercase().contains("event-stream"))
                {
                    self.seen.follow.get_or_insert_with(|| part.to_owned());
                }
            }
            Kind::GitFormat => {
                if arg
                    .text()
                    .is_none_or(|text| text.contains("%G") || text.contains("%(signature"))
                {
                    self.report.write(
                        Risk::HighWrite,
                        part,
                        "verifies signatures with the program that the repository names",
                    );
                }
            }
            Kind::Fields => {
                if arg
                    .text()
                    .is_none_or(|text| !template::asks_for_named_fields(text))
                {
                    self.report
                        .secret(part, "could show the environment, which holds secrets");
                }
            }
            Kind::Properties => {
                if arg.text().is_none_or(|text| {
                    let text = text.to_ascii_lowercase();
                    text.is_empty()
                        || [
                            "environ",
                            "credential",
                            "user-data",
                            "vendor-data",
                            "cloud-init",
                            "*",
                        ]
                        .iter()
                        .any(|word| text.contains(word))
                }) {
                    self.report
                        .secret(part, "could show the environment, which holds secrets");
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
                file(arg, part, self.context, self.report, self.seen.cut);
            }
            Kind::Tree => {
                self.seen.files += 1;
                file(arg, part, self.context, self.report, self.seen.cut);
                if self.context.course.tree_holds_secrets(arg, self.context.depth) {
                    self.report.secret(part, "shows files below it that hold secrets");
                }
                if self.context.course.tree_acts(arg, self.context.depth) {
                    self.report.write(
                        Risk::HighWrite,
                        part,
                        "reads devices and files of the kernel that do something when they are opened",
                    );
                }
            }
            Kind::Host | Kind::Url => self.reach(kind, arg, part),
            Kind::Manifest => {
                if self.chain.iter().any(|node| !node.secret_operands.is_empty()) {
                    self.seen
                        .named_secrets
                        .push((part.to_owned(), "could name secrets"));
                }
                self.reach(&Kind::Url, arg, part);
            }
            Kind::Write => {
                let called = self.called();
                self.report.write(
                    node.risk,
                    &format!("{called} … {part}"),
                    "changes what its argument names",
                );
            }
            Kind::Interval(unit) => {
                // What is not known could be any time.
                let interval = arg.text().and_then(|text| extent::time(text, *unit));
                self.seen.interval = Some(interval.unwrap_or(f64::INFINITY));
            }
            Kind::Sampler => {
                let numeric = arg.text().is_none_or(|text| text.parse::<f64>().is_ok());
                if numeric {
                    self.seen.numbers += 1;
                    match self.seen.numbers {
                        1 => {
                            self.seen.follow.get_or_insert_with(|| part.to_owned());
                            self.value(&Kind::Interval(Unit::Seconds), arg, part);
                        }
                        2 => self.counts(arg),
                        _ => {}
                    }
                }
            }
            // A pattern is never opened. Where a flag has one of the others, that flag says what it ends.
            Kind::Pattern | Kind::Named | Kind::NamedFile | Kind::Until | Kind::Since | Kind::Autostop => {}
            Kind::Count | Kind::Lines | Kind::Bytes | Kind::Limit(_) => {
                // `nvidia-smi -c EXCLUSIVE_PROCESS`: the flag is not the one that counts.
                if !node.pure && arg.text().is_some_and(|text| !extent::is_amount(text)) {
                    self.report.write(
                        node.risk,
                        part,
                        "is no number, so the flag may mean something else",
                    );
                }
            }
            Kind::UpTo(most) => {
                if arg
                    .text()
                    .and_then(|text| text.parse::<u128>().ok())
                    .is_none_or(|number| number > *most)
                {
                    self.report.endless(
                        Category::UnboundedStream,
                        part,
                        format!("could take too long: {most} is the most that is known to end soon"),
                    );
                }
            }
            Kind::Range => {
                let lines = arg
                    .text()
                    .and_then(|text| text.split_once('-'))
                    .and_then(|(first, last)| {
                        let (first, last) = (first.parse::<u128>().ok()?, last.parse::<u128>().ok()?);
                        Some(last.saturating_sub(first))
                    });
                if lines.is_none_or(|lines| !extent::ends_after_lines(&lines.to_string())) {
                    self.seen.follow.get_or_insert_with(|| part.to_owned());
                }
            }
            Kind::Duration(unit) => {
                let wraps = node.operands.as_ref().is_some_and(Operands::runs);
                if wraps {
                    // Nothing means for ever.
                    if let Some(seconds) = arg.text().and_then(|text| extent::time_limit(text, *unit)) {
                        self.seen.duration = Some(part.to_owned());
                        self.seen.seconds = seconds;
                    }
                } else {
                    let seconds = arg.text().and_then(|text| extent::time(text, *unit));
                    let seconds = seconds.unwrap_or(f64::INFINITY);
                    self.context.course.waits(seconds, part, self.report);
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
                self.seen.sql.push(inspect::Given {
                    text: arg.text().map(ToOwned::to_owned),
                    part: part.to_owned(),
                });
            }
            Kind::Condition => {
                self.seen.sql.push(inspect::Given {
                    // As the program puts it together.
                    text: arg.text().map(|text| format!("select 1 from x where {text}")),
                    part: part.to_owned(),
                });
            }
            Kind::PsArgs => {
                if arg.text().is_none_or(inspect::asks_for_environments) {
                    self.report
                        .secret(part, "could print the environments of processes");
                }
            }
            Kind::OneOf(words) => {
                self.secret_operand(arg);
                // `hash:/etc/postfix/sasl_passwd`
                if arg.text().is_some_and(|text| text.contains('/'))
                    && self.context.course.names_secret(arg, self.context.depth)
                {
                    self.report.secret(
                        part,
                        "names a file that holds secrets, which the program could show",
                    );
                }
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

    /// The operand that says how many rounds there are.
    pub(super) fn counts(&mut self, arg: &Arg<'_>) {
        let rounds = arg.text().and_then(extent::rounds);
        self.seen.bound |= rounds.is_some();
        self.seen.far |= rounds.is_none();
        self.seen.rounds = rounds;
    }

    /// A device that acts when it is opened may be named only as an operand of a program that opens nothing.
    pub(super) fn opens_device(&mut self, kind: &Kind, arg: &Arg<'_>, part: &str) {
        if matches!(kind, Kind::Pattern | Kind::Cmd | Kind::Shell | Kind::Sql) {
            return;
        }
        let course = self.context.course;
        let depth = self.context.depth;
        let acts = course.acts(arg, depth)
            || arg.text().is_some_and(|text| {
                // `-f/dev/watchdog`, `if=/dev/watchdog`, `driver=file,filename=/dev/watchdog`
                pieces(text).any(|piece| course.acts(&Arg::known(piece), depth))
            });
        if acts {
            self.report.write(
                Risk::HighWrite,
                part,
                "is a device that does something as soon as it is opened",
            );
        }
    }

    /// A value that is an address is reached, or the file that a flag names is sent, whatever the flag is for.
    pub(super) fn address(&mut self, arg: &Arg<'_>, part: &str, of_flag: bool) {
        let node = self.node();
        let Some(text) = arg.text().filter(|_| !node.pure) else {
            return;
        };
        let connects = self
            .chain
            .iter()
            .any(|node| node.network || !node.sockets.is_none());
        // `az … --query @/path`: the content of the file is the value.
        if connects && ["@/", "@~", "@."].iter().any(|mark| text.starts_with(mark)) {
            file(arg, part, self.context, self.report, self.seen.cut);
            self.report
                .write(node.risk, part, "sends the content of a file to a service");
        }
        for address in addresses(text) {
            match address {
                Address::Host(host) => {
                    self.report.needs(NETWORK);
                    self.report.reaches(Some(host), part);
                }
                Address::File(path) => {
                    let path = Arg::known(path.to_owned());
                    file(&path, part, self.context, self.report, self.seen.cut);
                    if connects && of_flag {
                        self.report
                            .write(node.risk, part, "sends the content of a file to a service");
                    }
                }
            }
        }
    }

    pub(super) fn reach(&mut self, kind: &Kind, arg: &Arg<'_>, part: &str) {
        let node = self.node();
        let text = arg.text();
        let url = matches!(kind, Kind::Url);
        self.report.needs(NETWORK);
        let odd = match &arg.value {
            Value::Known(text) => {
                text.starts_with('-')
                    || url_host(text).starts_with('-')
                    || text.contains("::")
                        && text.contains(|c: char| c.is_ascii_alphabetic() && !c.is_ascii_hexdigit())
                    || url && !plain_address(text)
            }
            Value::Unknown(unknown) => {
                unknown.prefix.starts_with('-') || url && !unknown.prefix.starts_with("http")
            }
        };
        if odd {
            self.report
                .write(node.risk, part, "is not a plain host or web address");
        }
        if text.is_some_and(|text| text.starts_with("file:")) && secret::nature(arg).secret {
            self.report.secret(part, "holds secrets");
        }
        if url && text.is_some_and(many_addresses) {
            self.report.endless(
                Category::UnboundedStream,
                part,
                "stands for too many addresses, one after the other",
            );
        }
        if url && text.is_some_and(names_a_stream) {
            self.seen.follow.get_or_insert_with(|| part.to_owned());
        }
        // Where an address is expected, a path is often taken too.
        if url && text.is_none_or(|text| text.starts_with(['/', '.', '~'])) {
            file(arg, part, self.context, self.report, self.seen.cut);
        }
        let host = text.map(if matches!(kind, Kind::Url) {
            url_host
        } else {
            host_of
        });
        self.report.reaches(host, part);
    }
}

/// What could be a path within an argument: what follows a flag of one letter, and what stands between separators.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let attached = text
        .strip_prefix('-')
        .filter(|rest| !rest.starts_with('-'))
        .and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    text.split(|c: char| "=,:;@ \t\"'()".contains(c))
        .filter(|piece| !piece.is_empty())
        .chain(attached)
}

/// Whether ranges in an address stand for many: `http://host/[1-99999]`, `[001-100:5]`, `[a-z]`.
fn many_addresses(text: &str) -> bool {
    const MOST: u64 = 1000;
    let mut addresses = 1_u64;
    for piece in text.split('[').skip(1) {
        let range = piece.split(']').next().unwrap_or("");
        let Some((first, last)) = range.split(':').next().unwrap_or("").split_once('-') else {
            continue;
        };
        let count = match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) => last.saturating_sub(first).saturating_add(1),
            _ if first.len() == 1 && last.len() == 1 => 26,
            _ => u64::MAX,
        };
        addresses = addresses.saturating_mul(count);
    }
    addresses > MOST
}

/// Whether an address promises an answer that does not end: `/events`, `?watch=true`, `/containers/x/logs?follow=1`.
fn names_a_stream(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let rest = lower.split_once("://").map_or(lower.as_str(), |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or(rest);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let said = |name: &str| {
        query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, "1"));
            (key == name).then_some(value)
        })
    };
    let on =
        |value: Option<&str>| value.is_some_and(|value| !matches!(value, "0" | "false" | "no" | "off" | "f"));
    let names: Vec<&str> = place.split('/').skip(1).filter(|name| !name.is_empty()).collect();
    // The API of Kubernetes lists events, and watches where it is told to.
    let kubernetes = matches!(names.as_slice(), ["api" | "apis", _, ..]);
    // Some services answer once where they are told to, and until a moment where they are told one.
    let ends = said("stream").is_some_and(|value| !on(Some(value)))
        || said("one-shot").is_some_and(|value| on(Some(value)))
        || said("timeoutseconds").is_some()
        || said("until").is_some();
    let streams = ["watch", "follow", "stream", "subscribe", "sse"]
        .iter()
        .any(|name| on(said(name)));
    let promised = names.last().is_some_and(|name| match *name {
        "events" | "event" => !kubernetes,
        "stream" | "streams" | "sse" | "watch" | "subscribe" | "monitor" | "attach" => true,
        "stats" => names.contains(&"containers"),
        _ => kubernetes && names.contains(&"watch"),
    });
    (streams || promised) && !ends
}

/// Whether a client can only fetch from it: a plain scheme, or none and a host whose name asks for no other protocol.
fn plain_address(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or("");
    let rest = text.get(scheme.len() + 1..).unwrap_or("");
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
        && rest.starts_with('/');
    if is_scheme {
        return rest.starts_with("//") && plain_scheme(scheme);
    }
    let lower = text.to_ascii_lowercase();
    !["dict.", "ftp.", "ldap.", "imap.", "pop3.", "smtp."]
        .iter()
        .any(|guess| lower.starts_with(guess))
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

/// What a value names.
enum Address<'t> {
    Host(&'t str),
    File(&'t str),
}

/// The addresses in a value: `https://host/…`, `qemu+ssh://host/…`, `name=tcp://host`, `file:///path`.
fn addresses(text: &str) -> Vec<Address<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let scheme = before
            .rsplit(|c: char| !(c.is_ascii_alphanumeric() || "+.-".contains(c)))
            .next()
            .unwrap_or("")
            .to_ascii_lowercase();
        let host = url_host(after);
        match scheme.as_str() {
            "file" | "fileb" => found.push(Address::File(after)),
            // A socket or a store of this machine.
            "unix" | "npipe" | "fd" | "" => {}
            _ if host.is_empty() && !scheme.contains("ssh") => {}
            _ => found.push(Address::Host(host)),
        }
        rest = after;
    }
    found
}

/// What reading this file means.
pub(crate) fn file(arg: &Arg<'_>, part: &str, context: Context<'_>, report: &mut Report, bound: bool) {
    if let Some(address) = arg.text().filter(|text| text.contains("://")) {
        report.reaches(Some(url_host(address)), part);
    }
    let nature = context.course.nature(arg, context.depth);
    if nature.harmful || nature.acts {
        report.write(Risk::HighWrite, part, "does something when it is opened or read");
    }
    if nature.secret {
        let why = if secret::nature(arg).secret && arg.text().is_some() {
            "holds secrets"
        } else {
            "could be a file that holds secrets"
        };
        report.secret(part, why);
    } else if context.course.folder_holds_secrets(arg, context.depth) {
        report.secret(part, "could be a folder with files that hold secrets");
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

/// The host in `user@host:port` or `user@host`.
pub(super) fn host_of(text: &str) -> &str {
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
fn url_host(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if let Some(six) = host.strip_prefix('[') {
        return six.split(']').next().unwrap_or(six);
    }
    host.split(':').next().unwrap_or(host)
}
