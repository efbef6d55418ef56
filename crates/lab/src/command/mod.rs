//! The command line of the lab.

mod connect;
mod running;
mod serve;

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use console::Style;
use interlock_lab::{Described, Incident};
use interlock_protocol::visible;
use serde::Serialize;
use tracing_subscriber::EnvFilter;

/// The environment variable that says what is logged, as for `interlock`.
const LOG: &str = "INTERLOCK_LOG";

/// Run the simulated cluster, and break and mend things in it.
#[derive(Parser)]
#[command(
    name = "interlock lab",
    bin_name = "interlock lab",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  interlock lab serve
  interlock lab incidents
  interlock lab inject disk-full
  interlock lab clear disk-full"
)]
struct Arguments {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    globals: Globals,
}

/// What every command takes.
#[derive(Args)]
struct Globals {
    /// Print JSON on standard output, and nothing else there
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,

    /// Log what happens inside; twice for more. `INTERLOCK_LOG` takes a filter of its own
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Everywhere")]
    verbose: u8,

    /// How standard error is written
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORM",
        help_heading = "Everywhere"
    )]
    log_format: LogFormat,

    /// No colours, as with `NO_COLOR`
    #[arg(long, global = true, help_heading = "Everywhere")]
    no_color: bool,
}

/// How standard error is written.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Subcommand)]
enum What {
    /// Run the lab until it is interrupted, and print its addresses and credentials
    Serve(serve::Serve),
    /// List the incidents
    #[command(after_help = "Example:\n  interlock lab incidents --json")]
    Incidents,
    /// Break something in the running lab
    #[command(after_help = "Example:\n  interlock lab inject service-crash")]
    Inject(Which),
    /// Mend something in the running lab, whatever was done to it
    #[command(after_help = "Example:\n  interlock lab clear service-crash")]
    Clear(Which),
    /// Ask the oracle whether an incident is over
    #[command(after_help = "\
Example:
  interlock lab verdict service-crash --json

Exit codes: 0 it is over, 1 it is not.")]
    Verdict(Which),
}

/// Which incident.
#[derive(Args)]
struct Which {
    /// The incident; `interlock lab incidents` lists them
    #[arg(value_name = "NAME", value_parser = incident)]
    incident: Incident,
}

/// An incident by its name, or what the names are.
fn incident(name: &str) -> Result<Incident, String> {
    Incident::named(name).ok_or_else(|| {
        let names: Vec<&str> = Incident::ALL.iter().map(|incident| incident.name()).collect();
        format!("the incidents are {}", names.join(", "))
    })
}

/// Why a command did not do what it was asked to.
#[derive(Debug)]
enum Failure {
    /// Wrong usage, or nothing to use it on.
    Wrong(String),
    /// The thing asked for did not succeed.
    Unsuccessful(String),
}

impl Failure {
    fn unsuccessful(why: impl std::fmt::Display) -> Self {
        Self::Unsuccessful(why.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::unsuccessful(error)
    }
}

/// Reads the arguments and does what they say.
pub(crate) fn main() -> ExitCode {
    let Arguments { what, globals } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = if error.use_stderr() { 2 } else { 0 };
            // If the stream is gone, nothing is left to write to.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match run(&globals, &what) {
        Ok(code) => code,
        Err(failure) => {
            let (code, word, message) = match &failure {
                Failure::Wrong(message) => (2, "wrong_usage_or_configuration", message),
                Failure::Unsuccessful(message) => (1, "unsuccessful", message),
            };
            globals.say("ERROR", "error: ", message);
            if globals.json {
                let document = serde_json::json!({ "error": { "code": word, "message": message } });
                let _ = writeln!(io::stdout(), "{}", visible::json(&format!("{document:#}")));
            }
            ExitCode::from(code)
        }
    }
}

fn run(globals: &Globals, what: &What) -> Result<ExitCode, Failure> {
    if let What::Incidents = what {
        return incidents(globals);
    }
    globals.log()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        match what {
            What::Serve(serve) => serve::run(globals, serve).await,
            What::Incidents => incidents(globals),
            What::Inject(which) => running::inject(globals, which.incident).await,
            What::Clear(which) => running::clear(globals, which.incident).await,
            What::Verdict(which) => running::verdict(globals, which.incident).await,
        }
    });
    runtime.shutdown_background();
    ended
}

fn incidents(globals: &Globals) -> Result<ExitCode, Failure> {
    let all: Vec<Described> = Incident::ALL.iter().copied().map(Described::from).collect();
    let width = Incident::ALL
        .iter()
        .map(|incident| incident.name().len())
        .max()
        .unwrap_or_default();
    globals.print(&all, |globals| {
        let mut text = format!("{:<width$}  WHAT HAPPENS\n", "INCIDENT");
        for incident in Incident::ALL {
            let name = format!("{:<width$}", incident.name());
            text.push_str(&globals.style(Style::new().bold(), &name));
            text.push_str("  ");
            text.push_str(incident.summary());
            text.push('\n');
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

impl Globals {
    /// Text for a terminal, in a style if standard output is one.
    fn style(&self, style: Style, text: &str) -> String {
        let plain = self.no_color
            || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || !io::stdout().is_terminal();
        style.force_styling(!plain).apply_to(text).to_string()
    }

    /// Prints a document, or text for people.
    fn print(&self, document: &impl Serialize, people: impl FnOnce(&Self) -> String) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        if self.json {
            let text = serde_json::to_string_pretty(document).map_err(Failure::unsuccessful)?;
            writeln!(out, "{}", visible::json(&text))?;
        } else {
            out.write_all(people(self).as_bytes())?;
        }
        out.flush()?;
        Ok(())
    }

    /// Says what is being done. With `--json` nothing is said.
    fn tell(&self, text: &str) {
        if !self.json {
            self.say("INFO", "", text);
        }
    }

    /// Writes a line to standard error, in the form that was asked for. If that is gone, nothing is left to write to.
    fn say(&self, level: &str, prefix: &str, text: &str) {
        let line = match self.log_format {
            LogFormat::Text => format!("{prefix}{}", visible::lines(text)),
            LogFormat::Json => serde_json::json!({
                "timestamp": jiff::Timestamp::now(),
                "level": level,
                "fields": { "message": text },
                "target": "interlock_lab",
            })
            .to_string(),
        };
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Starts the log, on standard error.
    fn log(&self) -> Result<(), Failure> {
        let filter = match std::env::var(LOG) {
            Ok(filter) if !filter.is_empty() => EnvFilter::try_new(&filter)
                .map_err(|error| Failure::Wrong(format!("{LOG} is no filter: {error}")))?,
            _ => EnvFilter::new(match self.verbose {
                0 => "warn",
                1 => "warn,interlock_lab=info",
                _ => "info,interlock_lab=debug",
            }),
        };
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(io::stderr)
            .with_ansi(false);
        let started = match self.log_format {
            LogFormat::Text => builder.try_init(),
            LogFormat::Json => builder.json().try_init(),
        };
        started.map_err(Failure::unsuccessful)
    }
}

/// The folder of the lab that this user runs.
fn folder_of_user() -> PathBuf {
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
    std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        // A relative one is to be ignored, by the specification.
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| home.join(".local/share"))
        .join("interlock")
        .join("lab")
}

/// Where a running lab is written down, in its folder.
const ACCESS_FILE: &str = "access.json";
