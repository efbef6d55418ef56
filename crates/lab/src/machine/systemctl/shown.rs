//! What `systemctl` prints about units.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::options::Options;
use super::{about, abouts, enabled_word, warn_if_stale};
use crate::machine::init::bus::About;
use crate::machine::init::{process, service};
use crate::machine::places::{self, Root};
use crate::machine::{journal, journalctl};

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

pub(super) fn show(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
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
            // As long as a real one, and another one for each activation.
            ("InvocationID", invocation_id(&about)),
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

fn invocation_id(about: &About) -> String {
    about
        .active_enter
        .map_or_else(String::new, |time| format!("{:016x}{time:016x}", about.main_pid))
}

fn restart_word(about: &About) -> String {
    let text = Root::of_environment()
        .at(&about.path)
        .and_then(fs::read_to_string)
        .unwrap_or_default();
    let word = text.lines().find_map(|line| line.trim().strip_prefix("Restart="));
    word.unwrap_or("no").trim().to_owned()
}

pub(super) fn cat(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
    for unit in &options.units {
        let path = Path::new(places::UNITS).join(unit);
        let Ok(text) = Root::of_environment().at(&path).and_then(fs::read_to_string) else {
            eprintln!("No files found for {unit}.");
            return Ok(1);
        };
        writeln!(out, "# {}\n{}", path.display(), text.trim_end())?;
    }
    Ok(0)
}

pub(super) fn status(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
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
            "exited" => service::exit_name(*number).to_owned(),
            _ => process::signal_name(*number),
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

pub(super) fn list_units(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
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

pub(super) fn list_unit_files(options: &Options, out: &mut Vec<u8>) -> io::Result<u8> {
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
