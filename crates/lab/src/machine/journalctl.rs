//! `journalctl`, as it is found in a machine: reads its journal.

use std::io::{self, Write};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::journal::{self, Entry, moment};
use super::places::Root;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Format {
    #[default]
    Short,
    ShortIso,
    ShortPrecise,
    Cat,
    Json,
}

/// What is asked for.
#[derive(Debug, Default)]
struct Options {
    units: Vec<String>,
    identifiers: Vec<String>,
    pid: Option<i32>,
    lines: Option<usize>,
    since: Option<i64>,
    until: Option<i64>,
    /// From the most severe one to the least.
    priority: Option<(u8, u8)>,
    grep: Option<String>,
    format: Format,
    newest_first: bool,
    boot: bool,
    kernel: bool,
    follow: bool,
    quiet: bool,
    disk_usage: bool,
    list_boots: bool,
    hostname: bool,
}

/// Runs it.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let now = jiff::Timestamp::now().as_microsecond();
    match Options::parse(arguments, now) {
        Ok(options) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            // Whoever read it has gone.
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

impl Options {
    fn parse(arguments: &[String], now: i64) -> Result<Self, String> {
        let mut options = Self {
            hostname: true,
            ..Self::default()
        };
        let mut arguments = split(arguments).into_iter().peekable();
        while let Some((name, value)) = arguments.next() {
            let optional = |next: Option<&(String, Option<String>)>| {
                value.clone().or_else(|| {
                    next.filter(|(word, _)| !word.starts_with('-'))
                        .map(|(word, _)| word.clone())
                })
            };
            match name.as_str() {
                "-n" | "--lines" => {
                    let next = arguments.peek();
                    let told = optional(next).filter(|told| told == "all" || told.parse::<usize>().is_ok());
                    if told.is_some() && value.is_none() {
                        arguments.next();
                    }
                    options.lines = match told.as_deref() {
                        Some("all") => None,
                        told => Some(told.and_then(|told| told.parse().ok()).unwrap_or(10)),
                    };
                }
                "-b" | "--boot" => {
                    options.boot = true;
                    if value.is_none() && arguments.peek().is_some_and(|(word, _)| word == "0") {
                        arguments.next();
                    }
                }
                "-r" | "--reverse" => options.newest_first = true,
                "-k" | "--dmesg" => options.kernel = true,
                "-f" | "--follow" => {
                    options.follow = true;
                    options.lines = options.lines.or(Some(10));
                }
                "-e" | "--pager-end" => options.lines = options.lines.or(Some(1000)),
                "-q" | "--quiet" => options.quiet = true,
                "--no-hostname" => options.hostname = false,
                "--disk-usage" => options.disk_usage = true,
                "--list-boots" => options.list_boots = true,
                "--no-pager" | "-x" | "--catalog" | "-a" | "--all" | "-l" | "--full" | "--no-full"
                | "--utc" | "--system" | "-m" | "--merge" | "--no-tail" => {}
                "-u" | "--unit" | "-t" | "--identifier" | "-S" | "--since" | "-U" | "--until" | "-p"
                | "--priority" | "-o" | "--output" | "-g" | "--grep" => {
                    let value = value
                        .or_else(|| arguments.next().map(|(word, _)| word))
                        .ok_or(format!("journalctl: option '{name}' requires an argument"))?;
                    options.set(&name, &value, now)?;
                }
                word => options.matches(word)?,
            }
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &str, now: i64) -> Result<(), String> {
        let time = |text: &str| moment::parse(text, now).ok_or(format!("Failed to parse timestamp: {text}"));
        match name {
            "-u" | "--unit" => self.units.push(unit_name(value)),
            "-t" | "--identifier" => self.identifiers.push(value.to_owned()),
            "-S" | "--since" => self.since = Some(time(value)?),
            "-U" | "--until" => self.until = Some(time(value)?),
            "-p" | "--priority" => self.priority = Some(priorities(value)?),
            "-g" | "--grep" => self.grep = Some(value.to_owned()),
            _ => {
                self.format = match value {
                    "short" | "short-full" | "with-unit" => Format::Short,
                    "short-iso" | "short-iso-precise" => Format::ShortIso,
                    "short-precise" => Format::ShortPrecise,
                    "cat" => Format::Cat,
                    "json" | "json-pretty" | "json-sse" | "json-seq" => Format::Json,
                    other => return Err(format!("Unknown output format '{other}'.")),
                }
            }
        }
        Ok(())
    }

    /// `FIELD=value`.
    fn matches(&mut self, word: &str) -> Result<(), String> {
        match word.split_once('=') {
            Some(("_SYSTEMD_UNIT" | "UNIT", unit)) => self.units.push(unit.to_owned()),
            Some(("SYSLOG_IDENTIFIER" | "_COMM", name)) => self.identifiers.push(name.to_owned()),
            Some(("_PID", pid)) => self.pid = pid.parse().ok(),
            Some(("PRIORITY", level)) => self.priority = Some(priorities(&format!("{level}..{level}"))?),
            _ if word.starts_with('-') => return Err(format!("journalctl: unrecognized option '{word}'")),
            _ => return Err(format!("Failed to add match '{word}': Invalid argument")),
        }
        Ok(())
    }

    fn shows(&self, entry: &Entry, boot: Option<&str>) -> bool {
        let among =
            |wanted: &[String], is: &str| wanted.is_empty() || wanted.iter().any(|name| glob(name, is));
        among(&self.units, &entry.unit)
            && among(&self.identifiers, &entry.identifier)
            && self.pid.is_none_or(|pid| pid == entry.pid)
            && self.since.is_none_or(|since| entry.time >= since)
            && self.until.is_none_or(|until| entry.time <= until)
            && self.priority.is_none_or(|(from, to)| (from..=to).contains(&entry.priority))
            && self.grep.as_ref().is_none_or(|pattern| matches(pattern, &entry.message))
            && (!self.boot || boot == Some(entry.boot.as_str()))
            // Machines share the kernel of the system, which is not theirs to read.
            && !self.kernel
    }
}

/// What takes the next word as its value, whatever that looks like.
const TAKE_VALUES: [&str; 7] = [
    "--unit",
    "--identifier",
    "--since",
    "--until",
    "--priority",
    "--output",
    "--grep",
];

/// `-xeu NAME` is `-x -e -u NAME`; `-n20` is `-n 20`; `--name=value` has its value with it.
fn split(arguments: &[String]) -> Vec<(String, Option<String>)> {
    let mut all = Vec::new();
    let mut value_next = false;
    for argument in arguments {
        let short = argument
            .strip_prefix('-')
            .filter(|rest| !rest.is_empty() && !rest.starts_with('-'));
        match (std::mem::take(&mut value_next), short, argument.split_once('=')) {
            (true, _, _) => all.push((argument.clone(), None)),
            (false, Some(letters), _) => {
                let mut letters = letters.char_indices();
                while let Some((at, letter)) = letters.next() {
                    let rest = argument.get(1 + at + letter.len_utf8()..).unwrap_or("");
                    let takes = "utSUpogn".contains(letter);
                    if takes && !rest.is_empty() {
                        all.push((format!("-{letter}"), Some(rest.to_owned())));
                        break;
                    }
                    value_next = takes && letter != 'n';
                    all.push((format!("-{letter}"), None));
                }
            }
            (false, None, Some((name, value))) if name.starts_with("--") => {
                all.push((name.to_owned(), Some(value.to_owned())));
            }
            (false, None, _) => {
                value_next = TAKE_VALUES.contains(&argument.as_str());
                all.push((argument.clone(), None));
            }
        }
    }
    all
}

fn unit_name(name: &str) -> String {
    if name.contains('.') || name.contains('*') {
        name.to_owned()
    } else {
        format!("{name}.service")
    }
}

fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => text.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| glob(after, rest)))
        }),
    }
}

fn priorities(text: &str) -> Result<(u8, u8), String> {
    let level = |word: &str| {
        let names = [
            "emerg", "alert", "crit", "err", "warning", "notice", "info", "debug",
        ];
        let by_name = names
            .iter()
            .position(|name| *name == word)
            .and_then(|at| u8::try_from(at).ok());
        let by_number = word.parse().ok().filter(|number| *number < 8);
        let by_alias = match word {
            "error" => Some(3),
            "warn" => Some(4),
            _ => None,
        };
        by_name
            .or(by_number)
            .or(by_alias)
            .ok_or(format!("Unknown log level {text}"))
    };
    match text.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (level(from)?, level(to)?);
            Ok((from.min(to), from.max(to)))
        }
        None => Ok((0, level(text)?)),
    }
}

/// As `journalctl` does it: letters of both kinds match where the pattern has small ones only.
fn matches(pattern: &str, text: &str) -> bool {
    let small = !pattern.chars().any(char::is_uppercase);
    let text = if small {
        text.to_lowercase()
    } else {
        text.to_owned()
    };
    pattern.split('|').any(|alternative| {
        let parts: Vec<&str> = alternative.split(".*").collect();
        let mut rest = text.as_str();
        parts.iter().all(|part| match rest.find(part) {
            Some(at) => {
                rest = rest.get(at + part.len()..).unwrap_or("");
                true
            }
            None => false,
        })
    })
}

fn run(options: &Options) -> io::Result<()> {
    let root = Root::of_environment();
    let mut out = io::stdout().lock();
    if options.disk_usage {
        let bytes: u64 = journal::files(&root).iter().map(|(_, bytes)| bytes).sum();
        return writeln!(
            out,
            "Archived and active journals take up {}.{}M in the file system.",
            bytes >> 20,
            ((bytes & 0xf_ffff) * 10) >> 20
        );
    }
    let entries = journal::read(&root);
    if options.list_boots {
        return list_boots(&entries, &mut out);
    }
    let boot = entries.last().map(|entry| entry.boot.clone());
    let mut shown: Vec<&Entry> = entries
        .iter()
        .filter(|entry| options.shows(entry, boot.as_deref()))
        .collect();
    if let Some(lines) = options.lines {
        shown.drain(..shown.len().saturating_sub(lines));
    }
    if options.newest_first {
        shown.reverse();
    }
    if shown.is_empty() && !options.quiet && !options.follow {
        writeln!(out, "-- No entries --")?;
    }
    for entry in &shown {
        writeln!(out, "{}", line(entry, options))?;
    }
    if !options.follow {
        return Ok(());
    }
    let mut last = entries.last().map_or(0, |entry| entry.time);
    loop {
        out.flush()?;
        thread::sleep(Duration::from_millis(200));
        let entries = journal::read(&root);
        let known = last;
        for entry in entries.iter().filter(|entry| entry.time > known) {
            last = entry.time;
            if options.shows(entry, Some(&entry.boot)) {
                writeln!(out, "{}", line(entry, options))?;
            }
        }
    }
}

fn list_boots(entries: &[Entry], out: &mut impl Write) -> io::Result<()> {
    let mut boots: Vec<(&str, i64, i64)> = Vec::new();
    for entry in entries {
        match boots.iter_mut().find(|(boot, _, _)| *boot == entry.boot) {
            Some((_, _, last)) => *last = entry.time,
            None => boots.push((&entry.boot, entry.time, entry.time)),
        }
    }
    let count = boots.len();
    for (number, (boot, first, last)) in boots.into_iter().enumerate() {
        let back = count - 1 - number;
        let back = if back == 0 {
            "0".to_owned()
        } else {
            format!("-{back}")
        };
        let format = "%a %Y-%m-%d %H:%M:%S UTC";
        writeln!(out, "{back:>3} {boot} {}—{}", at(first, format), at(last, format))?;
    }
    Ok(())
}

fn at(time: i64, format: &str) -> String {
    jiff::Timestamp::from_microsecond(time)
        .map(|time| time.strftime(format).to_string())
        .unwrap_or_default()
}

fn host_name() -> String {
    let root = Root::of_environment();
    let name = root.at("/etc/hostname").and_then(std::fs::read_to_string);
    name.map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

/// A line in the usual format.
pub(super) fn short(entry: &Entry) -> String {
    with_time(entry, "%b %d %H:%M:%S", true)
}

fn with_time(entry: &Entry, format: &str, hostname: bool) -> String {
    let host = if hostname {
        format!("{} ", host_name())
    } else {
        String::new()
    };
    format!(
        "{} {host}{}[{}]: {}",
        at(entry.time, format),
        entry.identifier,
        entry.pid,
        entry.message
    )
}

fn line(entry: &Entry, options: &Options) -> String {
    match options.format {
        Format::Short => with_time(entry, "%b %d %H:%M:%S", options.hostname),
        Format::ShortIso => with_time(entry, "%Y-%m-%dT%H:%M:%S+0000", options.hostname),
        Format::ShortPrecise => with_time(entry, "%b %d %H:%M:%S%.6f", options.hostname),
        Format::Cat => entry.message.clone(),
        Format::Json => json!({
            "__REALTIME_TIMESTAMP": entry.time.to_string(),
            "_BOOT_ID": entry.boot,
            "_SYSTEMD_UNIT": entry.unit,
            "SYSLOG_IDENTIFIER": entry.identifier,
            "_PID": entry.pid.to_string(),
            "PRIORITY": entry.priority.to_string(),
            "_HOSTNAME": host_name(),
            "MESSAGE": entry.message,
        })
        .to_string(),
    }
}
