//! `systemctl`, as it is found in a machine: asks its init, and prints and exits as the real one does.

mod options;
mod shown;

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::ExitCode;

use self::options::Options;
use self::shown::{cat, list_unit_files, list_units, show, status};
use super::init::bus::{About, Answer, Question, ask};
use super::init::unit_file::UnitFile;
use super::places::{self, Root};

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
        "restart" | "reload-or-restart" => each(Question::Restart),
        "try-restart" => try_restart(options),
        "reload" => each(Question::Reload),
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
