//! `systemctl`, as it is found in a machine: asks its init, and prints and exits as the real one does.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;

use super::init::bus::{About, Answer, Question, ask};
use super::init::unit_file::UnitFile;
use super::places::{self, Root};
use super::{journal, journalctl};

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    verb: String,
    units: Vec<String>,
    properties: Vec<String>,
    value: bool,
    all: bool,
    failed: bool,
    legend: bool,
    quiet: bool,
    now: bool,
    microseconds: bool,
    states: Vec<String>,
    lines: usize,
    services: bool,
}

/// Runs it.
pub(super) fn main(arguments: &[String]) -> ExitCode {
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}");
            return ExitCode::FAILURE;
        }
    };
    let mut out = Vec::new();
    let code = run(&options, &mut out).unwrap_or_else(|cause| {
        eprintln!("Failed to connect to bus: {cause}");
        1
    });
    // Whoever reads it may have gone.
    let _ = io::stdout().write_all(&out);
    ExitCode::from(code)
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            legend: true,
            lines: 10,
            services: true,
            ..Self::default()
        };
        let mut words = Vec::new();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let (name, mut value) = match argument.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (argument.as_str(), None),
            };
            let mut needed = || {
                value
                    .take()
                    .or_else(|| arguments.next().cloned())
                    .ok_or(format!("systemctl: option '{name}' requires an argument"))
            };
            match name {
                "--" => words.extend(arguments.by_ref().cloned()),
                "-p" | "--property" => options.properties.extend(needed()?.split(',').map(str::to_owned)),
                "-P" => {
                    options.properties.push(needed()?);
                    options.value = true;
                }
                "--timestamp" => options.microseconds = needed()?.starts_with("us"),
                "--state" => options.states.extend(needed()?.split(',').map(str::to_owned)),
                "-t" | "--type" => options.services = needed()?.split(',').any(|kind| kind == "service"),
                "-n" | "--lines" => options.lines = needed()?.parse().map_err(|_| "Failed to parse lines")?,
                "-o" | "--output" => {
                    needed()?;
                }
                "--value" => options.value = true,
                "-a" | "--all" => options.all = true,
                "--failed" => options.failed = true,
                "--no-legend" => options.legend = false,
                "-q" | "--quiet" => options.quiet = true,
                "--now" => options.now = true,
                "--no-pager" | "--plain" | "--full" | "-l" | "--no-ask-password" | "--system" | "-f"
                | "--force" | "--no-block" | "--wait" => {}
                "--version" => options.verb = "--version".to_owned(),
                unknown if unknown.starts_with('-') => {
                    return Err(format!("systemctl: unrecognized option '{unknown}'"));
                }
                word => words.push(word.to_owned()),
            }
        }
        let mut words = words.into_iter();
        if options.verb.is_empty() {
            options.verb = words.next().unwrap_or_else(|| "list-units".to_owned());
        }
        options.units = words.map(full_name).collect();
        Ok(options)
    }
}

fn full_name(name: String) -> String {
    let kinds = [".service", ".socket", ".timer", ".target", ".mount", ".path"];
    if kinds.iter().any(|kind| name.ends_with(kind)) {
        name
    } else {
        format!("{name}.service")
    }
}

fn run(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    let each = |question: fn(String) -> Question| -> io::Result<u8> {
        if options.units.is_empty() {
            eprintln!("Too few arguments.");
            return Ok(1);
        }
        let mut worst = 0;
        for unit in &options.units {
            if let Answer::Units(abouts) = ask(&Question::Show(unit.clone()))? {
                warn_if_stale(abouts.first());
            }
            if let Answer::Failed(code, text) = ask(&question(unit.clone()))? {
                eprintln!("{text}");
                worst = code;
            }
        }
        Ok(worst)
    };
    match options.verb.as_str() {
        "start" => each(Question::Start),
        "stop" => each(Question::Stop),
        "restart" => each(Question::Restart),
        "try-restart" => try_restart(options),
        "reload" => each(Question::Reload),
        "reload-or-restart" => each(Question::Restart),
        "daemon-reload" | "daemon-reexec" => ask(&Question::DaemonReload).map(|_| 0),
        "reset-failed" if options.units.is_empty() => ask(&Question::ResetFailed(None)).map(|_| 0),
        "reset-failed" => each(|unit| Question::ResetFailed(Some(unit))),
        "poweroff" | "halt" => ask(&Question::PowerOff).map(|_| 0),
        "status" => status(options, out),
        "show" => show(options, out),
        "is-active" => is_state(options, out, &["active"], 3),
        "is-failed" => is_state(options, out, &["failed"], 1),
        "is-enabled" => is_enabled(options, out),
        "is-system-running" => is_system_running(out),
        "enable" => enable(options),
        "disable" => disable(options),
        "cat" => cat(options, out),
        "list-units" => list_units(options, out),
        "list-unit-files" => list_unit_files(options, out),
        "--version" => writeln!(out, "systemd 252 (lab)").map(|()| 0),
        verb => {
            eprintln!("Unknown command verb {verb}.");
            Ok(1)
        }
    }
}

fn about(unit: &str) -> io::Result<About> {
    match ask(&Question::Show(unit.to_owned()))? {
        Answer::Units(abouts) => abouts
            .into_iter()
            .next()
            .ok_or_else(|| io::Error::other("no answer")),
        Answer::Done | Answer::Failed(..) => Err(io::Error::other("no answer")),
    }
}

fn abouts() -> io::Result<Vec<About>> {
    match ask(&Question::List)? {
        Answer::Units(abouts) => Ok(abouts),
        Answer::Done | Answer::Failed(..) => Err(io::Error::other("no answer")),
    }
}

fn warn_if_stale(about: Option<&About>) {
    if let Some(about) = about.filter(|about| about.stale) {
        eprintln!(
            "Warning: The unit file, source configuration file or drop-ins of {} changed on disk. \
             Run 'systemctl daemon-reload' to reload units.",
            about.name
        );
    }
}

fn try_restart(options: &Options) -> io::Result<u8> {
    for unit in &options.units {
        if about(unit)?.active == "active" {
            ask(&Question::Restart(unit.clone()))?;
        }
    }
    Ok(0)
}

/// `Sun 2026-11-15 05:28:26 UTC`, or with microseconds.
fn moment(time: Option<i64>, microseconds: bool) -> String {
    let Some(time) = time.and_then(|time| jiff::Timestamp::from_microsecond(time).ok()) else {
        return String::new();
    };
    let format = if microseconds {
        "%a %Y-%m-%d %H:%M:%S%.6f UTC"
    } else {
        "%a %Y-%m-%d %H:%M:%S UTC"
    };
    time.strftime(format).to_string()
}

fn show(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    for (number, unit) in options.units.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let about = about(unit)?;
        let moment = |time| moment(time, options.microseconds);
        let (code, status, pid) = about.ended.clone().unwrap_or_default();
        let code = match code.as_str() {
            "exited" => "1",
            "killed" => "2",
            _ => "0",
        };
        let all = [
            ("Type", "simple".to_owned()),
            ("Restart", restart_word(&about)),
            ("MainPID", about.main_pid.to_string()),
            ("NRestarts", about.restarts.to_string()),
            ("Result", about.result.clone()),
            (
                "ExecMainPID",
                if about.main_pid == 0 { pid } else { about.main_pid }.to_string(),
            ),
            ("ExecMainCode", code.to_owned()),
            ("ExecMainStatus", status.to_string()),
            ("Id", about.name.clone()),
            ("Names", about.name.clone()),
            ("Description", about.description.clone()),
            ("LoadState", about.load.clone()),
            ("ActiveState", about.active.clone()),
            ("SubState", about.sub.clone()),
            ("FragmentPath", about.path.clone()),
            ("UnitFileState", enabled_word(unit)?.to_owned()),
            ("ActiveEnterTimestamp", moment(about.active_enter)),
            ("InactiveEnterTimestamp", moment(about.inactive_enter)),
            (
                "NeedDaemonReload",
                if about.stale { "yes" } else { "no" }.to_owned(),
            ),
        ];
        let asked = |name: &str| {
            options.properties.is_empty() || options.properties.iter().any(|asked| asked == name)
        };
        for (name, value) in all.iter().filter(|(name, _)| asked(name)) {
            if options.value {
                writeln!(out, "{value}")?;
            } else {
                writeln!(out, "{name}={value}")?;
            }
        }
    }
    Ok(0)
}

fn restart_word(about: &About) -> String {
    let text = Root::of_environment()
        .at(&about.path)
        .and_then(fs::read_to_string)
        .unwrap_or_default();
    let word = text.lines().find_map(|line| line.trim().strip_prefix("Restart="));
    word.unwrap_or("no").trim().to_owned()
}

fn is_state(options: &Options, out: &mut Vec<u8>, states: &[&str], otherwise: u8) -> io::Result<u8> {
    let mut any = false;
    for unit in &options.units {
        let about = about(unit)?;
        any |= states.contains(&about.active.as_str());
        if !options.quiet {
            writeln!(out, "{}", about.active)?;
        }
    }
    Ok(if any { 0 } else { otherwise })
}

/// `enabled`, `disabled`, `static`, or nothing for a unit that is not there.
fn enabled_word(unit: &str) -> io::Result<&'static str> {
    let root = Root::of_environment();
    let Ok(text) = fs::read_to_string(root.at(Path::new(places::UNITS).join(unit))?) else {
        return Ok("");
    };
    Ok(
        if fs::symlink_metadata(root.at(Path::new(places::WANTED).join(unit))?).is_ok() {
            "enabled"
        } else if UnitFile::parse(unit, &text).wanted_by.is_empty() {
            "static"
        } else {
            "disabled"
        },
    )
}

fn is_enabled(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    let mut code = 1;
    for unit in &options.units {
        match enabled_word(unit)? {
            "" => {
                eprintln!("Failed to get unit file state for {unit}: No such file or directory");
                continue;
            }
            word => {
                if matches!(word, "enabled" | "static") {
                    code = 0;
                }
                if !options.quiet {
                    writeln!(out, "{word}")?;
                }
            }
        }
    }
    Ok(code)
}

fn is_system_running(out: &mut Vec<u8>) -> io::Result<u8> {
    let failed = abouts()?.iter().any(|about| about.active == "failed");
    writeln!(out, "{}", if failed { "degraded" } else { "running" })?;
    Ok(u8::from(failed))
}

fn enable(options: &Options) -> io::Result<u8> {
    let root = Root::of_environment();
    for unit in &options.units {
        let file = Path::new(places::UNITS).join(unit);
        let link = Path::new(places::WANTED).join(unit);
        match enabled_word(unit)? {
            "" => {
                eprintln!("Failed to enable unit: Unit file {unit} does not exist.");
                return Ok(1);
            }
            "disabled" => {
                fs::create_dir_all(root.at(places::WANTED)?)?;
                symlink(Path::new("..").join(unit), root.at(&link)?)?;
                eprintln!("Created symlink {} → {}.", link.display(), file.display());
            }
            "static" => eprintln!("The unit files have no installation config (WantedBy=)."),
            _ => {}
        }
    }
    finish(options, Question::Start)
}

fn disable(options: &Options) -> io::Result<u8> {
    let root = Root::of_environment();
    for unit in &options.units {
        let link = Path::new(places::WANTED).join(unit);
        match enabled_word(unit)? {
            "" => {
                eprintln!("Failed to disable unit: Unit file {unit} does not exist.");
                return Ok(1);
            }
            "enabled" => {
                fs::remove_file(root.at(&link)?)?;
                eprintln!("Removed \"{}\".", link.display());
            }
            _ => {}
        }
    }
    finish(options, Question::Stop)
}

/// Reads the units again and, with `--now`, starts or stops them.
fn finish(options: &Options, now: fn(String) -> Question) -> io::Result<u8> {
    ask(&Question::DaemonReload)?;
    for unit in options.units.iter().filter(|_| options.now) {
        if let Answer::Failed(code, text) = ask(&now(unit.clone()))? {
            eprintln!("{text}");
            return Ok(code);
        }
    }
    Ok(0)
}

fn cat(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    for unit in &options.units {
        let path = Path::new(places::UNITS).join(unit);
        match Root::of_environment().at(&path).and_then(fs::read_to_string) {
            Ok(text) => writeln!(out, "# {}\n{}", path.display(), text.trim_end())?,
            Err(_) => {
                eprintln!("No files found for {unit}.");
                return Ok(1);
            }
        }
    }
    Ok(0)
}

fn status(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    if options.units.is_empty() {
        return list_units(options, out);
    }
    let mut code = 0;
    for (number, unit) in options.units.iter().enumerate() {
        let about = about(unit)?;
        if about.load == "not-found" {
            eprintln!("Unit {unit} could not be found.");
            code = 4;
            continue;
        }
        if number > 0 {
            writeln!(out)?;
        }
        warn_if_stale(Some(&about));
        status_of(&about, options, out)?;
        if about.active != "active" {
            code = 3;
        }
    }
    Ok(code)
}

fn status_of(about: &About, options: &Options, out: &mut Vec<u8>) -> io::Result<()> {
    let dot = match about.active.as_str() {
        "failed" => '×',
        "active" | "activating" => '●',
        _ => '○',
    };
    writeln!(out, "{dot} {} - {}", about.name, about.description)?;
    let enabled = enabled_word(&about.name)?;
    writeln!(out, "     Loaded: {} ({}; {enabled})", about.load, about.path)?;
    let result = if about.result == "success" {
        String::new()
    } else {
        format!(" (Result: {})", about.result)
    };
    let since = if about.active == "active" {
        about.active_enter
    } else {
        about.inactive_enter
    };
    let since = match since {
        Some(time) => format!(" since {}; {}", moment(Some(time), false), ago(time)),
        None => String::new(),
    };
    let sub = if about.sub == about.active {
        String::new()
    } else {
        format!(" ({})", about.sub)
    };
    writeln!(out, "     Active: {}{sub}{result}{since}", about.active)?;
    if let Some((how, number, pid)) = &about.ended {
        let name = match how.as_str() {
            "exited" => super::init::service::exit_name(*number).to_owned(),
            _ => super::init::process::signal_name(*number),
        };
        let status = if how == "exited" {
            format!("{number}/{name}")
        } else {
            name
        };
        let command = about.command.join(" ");
        writeln!(
            out,
            "    Process: {pid} ExecStart={command} (code={how}, status={status})"
        )?;
    }
    if about.main_pid != 0 {
        let program = about
            .command
            .first()
            .and_then(|program| program.rsplit('/').next())
            .unwrap_or("");
        writeln!(out, "   Main PID: {} ({program})", about.main_pid)?;
    }
    let entries = journal::read(&Root::of_environment());
    let own: Vec<_> = entries
        .into_iter()
        .filter(|entry| entry.unit == about.name)
        .collect();
    if !own.is_empty() && options.lines > 0 {
        writeln!(out)?;
    }
    for entry in own.iter().skip(own.len().saturating_sub(options.lines)) {
        writeln!(out, "{}", journalctl::short(entry))?;
    }
    Ok(())
}

fn ago(time: i64) -> String {
    let seconds = (jiff::Timestamp::now().as_microsecond() - time).max(0) / 1_000_000;
    match (seconds / 86_400, seconds / 3600, seconds / 60) {
        (0, 0, 0) => format!("{seconds}s ago"),
        (0, 0, minutes) => format!("{minutes}min {}s ago", seconds % 60),
        (0, hours, minutes) => format!("{hours}h {}min ago", minutes % 60),
        (days, hours, _) => format!("{days} days {}h ago", hours % 24),
    }
}

fn list_units(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    let shown: Vec<About> = abouts()?
        .into_iter()
        .filter(|about| options.services && (!options.failed || about.active == "failed"))
        .filter(|about| {
            options.all || options.failed || !options.states.is_empty() || about.active != "inactive"
        })
        .filter(|about| {
            options.states.is_empty()
                || [&about.active, &about.sub, &about.load]
                    .iter()
                    .any(|state| options.states.contains(state))
        })
        .filter(|about| options.units.is_empty() || options.units.contains(&about.name))
        .collect();
    let width = shown
        .iter()
        .map(|about| about.name.len())
        .max()
        .unwrap_or(0)
        .max(4);
    if options.legend && !shown.is_empty() {
        writeln!(
            out,
            "  {:<width$} LOAD   ACTIVE     SUB          DESCRIPTION",
            "UNIT"
        )?;
    }
    for about in &shown {
        let lead = match (options.legend, about.active == "failed") {
            (false, _) => "",
            (true, true) => "● ",
            (true, false) => "  ",
        };
        writeln!(
            out,
            "{lead}{:<width$} {:<6} {:<10} {:<12} {}",
            about.name, about.load, about.active, about.sub, about.description
        )?;
    }
    if options.legend {
        writeln!(out, "\n{} loaded units listed.", shown.len())?;
    }
    Ok(0)
}

fn list_unit_files(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    let abouts = abouts()?;
    if options.legend {
        writeln!(out, "{:<32} STATE    PRESET", "UNIT FILE")?;
    }
    for about in &abouts {
        writeln!(
            out,
            "{:<32} {:<8} enabled",
            about.name,
            enabled_word(&about.name)?
        )?;
    }
    if options.legend {
        writeln!(out, "\n{} unit files listed.", abouts.len())?;
    }
    Ok(0)
}
