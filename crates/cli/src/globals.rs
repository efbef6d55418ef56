//! What every command takes, and what follows from it: where the configuration is, how to print, what to log.

use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use clap::{Args, ValueEnum};
use indicatif::ProgressBar;
use interlock_engine::MaskedLog;
use interlock_mask::Masker;
use interlock_protocol::visible;
use serde::Serialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::failure::Failure;
use crate::outside;
use crate::terminal::{Paint, log, screen, stderr_width, stdout_width};

/// The environment variable that says what is logged.
pub(crate) const LOG: &str = "INTERLOCK_LOG";

/// What every command takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Globals {
    /// The configuration; else `./interlock.yaml`, else the one in the user's configuration folder
    #[arg(long, global = true, value_name = "FILE", help_heading = "Everywhere")]
    pub(crate) config: Option<PathBuf>,

    /// Where everything is kept, in place of what the configuration says: `sqlite:PATH`
    #[arg(long, global = true, value_name = "STORE", help_heading = "Everywhere")]
    pub(crate) store: Option<String>,

    /// Ask a server in place of the store, for commands that can: `https://interlock.example.org`. The token comes from
    /// `INTERLOCK_TOKEN`
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "INTERLOCK_SERVER",
        help_heading = "Everywhere"
    )]
    pub(crate) server: Option<String>,

    /// Print JSON on standard output, and nothing else there
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,

    /// Log what happens inside; twice for more. `INTERLOCK_LOG` takes a filter of its own
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Everywhere")]
    pub(crate) verbose: u8,

    /// How the log on standard error is written
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORM",
        help_heading = "Everywhere"
    )]
    pub(crate) log_format: LogFormat,

    /// No colours, as with `NO_COLOR`
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) no_color: bool,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

impl Globals {
    /// Whether a stream is coloured.
    pub(crate) fn paint(&self, stream: &impl IsTerminal) -> Paint {
        if self.no_color {
            Paint::Off
        } else {
            Paint::for_stream(stream)
        }
    }

    /// Whether somebody can be asked: they see what is asked, and type.
    pub(crate) fn can_ask(&self) -> bool {
        !self.json && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Prints a document, or text for people.
    pub(crate) fn print(
        &self,
        document: &impl Serialize,
        people: impl FnOnce(Paint) -> String,
    ) -> Result<(), Failure> {
        let stdout = io::stdout();
        let mut out = stdout.lock();
        if self.json {
            let text = serde_json::to_string_pretty(document).map_err(io::Error::from)?;
            writeln!(out, "{}", visible::json(&text))?;
        } else {
            let paint = self.paint(&stdout);
            out.write_all(screen(&people(paint), paint, stdout_width()).as_bytes())?;
        }
        out.flush()?;
        Ok(())
    }

    /// Prints one JSON document on each line, or text for people.
    pub(crate) fn print_lines(
        &self,
        documents: &[impl Serialize],
        people: impl FnOnce(Paint) -> String,
    ) -> Result<(), Failure> {
        let stdout = io::stdout();
        let mut out = io::BufWriter::new(stdout.lock());
        if self.json {
            for document in documents {
                let text = serde_json::to_string(document).map_err(io::Error::from)?;
                writeln!(out, "{}", visible::json(&text))?;
            }
        } else {
            let paint = self.paint(&stdout);
            out.write_all(screen(&people(paint), paint, stdout_width()).as_bytes())?;
        }
        out.flush()?;
        Ok(())
    }

    /// Says something to people, where that is not what they asked for.
    pub(crate) fn say(&self, text: &str) {
        if !self.json {
            say(text);
        }
    }

    /// Starts the log. On standard error, and never on standard output.
    pub(crate) fn log(&self) -> Result<(), Failure> {
        let filter = match std::env::var(LOG) {
            Ok(filter) if !filter.is_empty() => EnvFilter::try_new(&filter)
                .map_err(|error| Failure::wrong(format!("{LOG} is no filter: {error}")))?,
            _ => EnvFilter::new(match self.verbose {
                // What a model failed with is told where it matters.
                0 => "warn,interlock_engine::ask=error",
                1 => "warn,interlock=info,interlock_engine=info,interlock_model=info,interlock_store=info",
                _ => {
                    "info,interlock=debug,interlock_engine=debug,interlock_model=debug,interlock_store=debug"
                }
            }),
        };
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(AboveTheBar)
            .with_ansi(self.paint(&io::stderr()) == Paint::On);
        // A second log in one process can only be one of a test.
        let _ = match self.log_format {
            LogFormat::Text => builder.try_init(),
            LogFormat::Json => builder.json().try_init(),
        };
        Ok(())
    }
}

/// Whether standard error carries one JSON document per line, and nothing else.
static JSON_LOG: AtomicBool = AtomicBool::new(false);

/// Sets the form of everything on standard error, also of what is said before there is a log.
pub(crate) fn write_log_as(form: LogFormat) {
    JSON_LOG.store(matches!(form, LogFormat::Json), Ordering::Relaxed);
}

/// A text in the form of the log, where that is JSON.
pub(crate) fn json_line(level: &str, text: &str) -> Option<String> {
    JSON_LOG.load(Ordering::Relaxed).then(|| {
        let document = serde_json::json!({
            "timestamp": jiff::Timestamp::now(),
            "level": level,
            "fields": { "message": text.trim_end() },
            "target": "interlock",
        });
        format!("{document}\n")
    })
}

/// Writes a line to standard error. If that is gone too, there is nobody left to tell.
pub(crate) fn say(text: &str) {
    let text = &outside::hide(text);
    let line = json_line("INFO", text).unwrap_or_else(|| {
        let mut line = screen(text, Paint::On, stderr_width());
        if !line.ends_with('\n') {
            line.push('\n');
        }
        line
    });
    above_the_bar(|| {
        let _ = io::stderr().write_all(line.as_bytes());
    });
}

/// The line at the bottom of a terminal that shows what is happening, if there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Puts a line at the bottom of the terminal, or takes it away.
pub(crate) fn set_bar(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

fn above_the_bar(write: impl FnOnce()) {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Standard error, without writing into the line at the bottom.
struct AboveTheBar;

/// One entry of the log.
struct LogEntry(Vec<u8>);

impl<'a> MakeWriter<'a> for AboveTheBar {
    type Writer = MaskedLog<LogEntry>;

    fn make_writer(&'a self) -> Self::Writer {
        MaskedLog::new(masker(), LogEntry(Vec::new()))
    }
}

/// What this process masks with, once its configuration is read.
static MASKER: RwLock<Option<Masker>> = RwLock::new(None);

/// Masks the log and what is typed as the configuration says, and the keys of its models.
pub(crate) fn mask_with(masker: &Masker) {
    *MASKER.write().unwrap_or_else(PoisonError::into_inner) = Some(masker.clone());
}

/// What masks the log and what is typed.
pub(crate) fn masker() -> Masker {
    let masker = MASKER.read().unwrap_or_else(PoisonError::into_inner).clone();
    masker.unwrap_or_default()
}

impl io::Write for LogEntry {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogEntry {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.0);
        let text = outside::hide(&text);
        // JSON lines stay JSON; in text, what acts on a screen is written out.
        let line = if text.starts_with('{') {
            visible::json(&text).into_owned()
        } else {
            log(&text, stderr_width())
        };
        above_the_bar(|| {
            let _ = io::stderr().write_all(line.as_bytes());
        });
    }
}
