//! The `interlock` binary: commands for people and for programs.
//!
//! This room reads arguments and input, calls the rooms that decide, and writes what they say. It must never
//! decide anything itself: a verdict or a proof printed here is the one that the gate would use, a plan that is approved
//! here is the one that was shown, and every call runs in the engine, through the gate.
//!
//! Data walks: arguments and configuration (`settings`) → `assemble` puts an engine together → a command asks it for
//! something → `drive` works on the session and shows what happens (`steps`, `progress`) → `report` reads from the
//! record what it came to.
//!
//! Exit codes: 0 done, 1 the thing asked for did not succeed, 2 wrong usage, configuration or input.

mod address;
mod alert;
mod answer;
mod approvals;
mod assemble;
mod audit;
mod bench;
mod bundle;
mod cancel;
mod chat;
mod checkpoints;
mod classify;
mod config;
mod decide;
mod demo;
mod doctor;
mod drive;
mod failure;
mod globals;
mod grounds;
mod incidents;
mod keyboard;
mod kill_switch;
mod lab;
mod logic;
mod mask;
mod model;
mod outside;
mod person;
mod plan;
mod progress;
mod prove;
mod record;
mod reload;
mod remote;
mod report;
mod resume;
mod run;
mod serve;
mod sessions;
mod settings;
mod ship;
mod show;
mod steps;
mod table;
mod terminal;
mod tools;
mod trace;
mod user;
mod work;

use std::future::Future;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::globals::{Globals, LogFormat};

/// Sessions are many small texts. The system's own allocator takes a fifth of the processor time for them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long what runs in the background may take to end.
const WIND_UP: Duration = Duration::from_secs(2);
/// The exit code of a program that was interrupted at the keyboard.
const INTERRUPTED: u8 = 130;

/// Interlock: the model proposes; code decides.
#[derive(Parser)]
#[command(
    name = "interlock",
    version,
    arg_required_else_help = true,
    after_help = "\
Examples:
  interlock demo
  interlock run 'what fills the disk?'
  interlock approvals
  interlock classify 'ls / & zfs destroy tank'
  interlock doctor"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    globals: Globals,
}

#[derive(Subcommand)]
enum Command {
    /// Play an incident in a simulated cluster, from the alert to the verified fix.
    Demo(demo::Arguments),
    /// Serve the API and the page, and work on what waits in the queue.
    Serve(serve::Arguments),
    /// Ask a question and have it answered with live tools.
    Run(run::Arguments),
    /// Talk, with live tools.
    Chat(chat::Arguments),
    /// List sessions, newest first.
    Sessions(sessions::Arguments),
    /// Show what happened in a session.
    Show(show::Arguments),
    /// Show the trace of a run, export it, or ask the gate everything again.
    Trace(trace::Arguments),
    /// Submit alerts.
    Alert(alert::Arguments),
    /// List incidents, and say what became of them.
    Incidents(incidents::Arguments),
    /// List what waits for a human, and decide.
    Approvals(approvals::Arguments),
    /// Carry on with a session that waits, or whose process is gone.
    Resume(resume::Arguments),
    /// Work on what waits in the queue.
    Work(work::Arguments),
    /// Make a running server read its configuration again.
    Reload(reload::Arguments),
    /// Stop a session.
    Cancel(cancel::Arguments),
    /// Stop all writes at once, or let them go again.
    KillSwitch(kill_switch::Arguments),
    /// Say who may sign in, and give them links to do so.
    User(user::Arguments),
    /// Show who did what, and check that nobody changed the log.
    Audit(audit::Arguments),
    /// Show the key that signs the record, or create one.
    Record(record::Arguments),
    /// Write everything about a session into one signed file.
    Bundle(bundle::Arguments),
    /// Check a signed bundle offline.
    Verify(bundle::VerifyArguments),
    /// List models, or ask one what it can do.
    Model(model::Arguments),
    /// List the tools that can run here, or show one.
    Tools(tools::Arguments),
    /// Check and explain the configuration.
    Config(config::Arguments),
    /// Look at everything that Interlock depends on.
    Doctor(doctor::Arguments),
    /// Say what a shell command can do, and which part of it decided.
    Classify(classify::Arguments),
    /// Show what masking leaves of a text.
    Mask(mask::Arguments),
    /// Ask a question about the live state in Prolog, or explain an answer.
    Logic(logic::Arguments),
    /// Check the promises of the gate on this machine.
    Prove(prove::Arguments),
    /// Run the simulated cluster, and break and mend things in it.
    Lab(lab::Arguments),
    /// Measure what the engine itself costs.
    Bench(bench::Arguments),
}

impl Command {
    /// Whether it works on a store and nowhere else: then it must not seem to work on a server.
    const fn needs_store(&self) -> bool {
        matches!(
            self,
            Self::Serve(_)
                | Self::Run(_)
                | Self::Chat(_)
                | Self::Sessions(_)
                | Self::Show(_)
                | Self::Trace(_)
                | Self::Resume(_)
                | Self::Work(_)
                | Self::User(_)
                | Self::Audit(_)
                | Self::Record(_)
                | Self::Bundle(_)
                | Self::Tools(_)
                | Self::Model(_)
                | Self::Doctor(_)
                | Self::Logic(_)
        )
    }
}

/// How a command ended, other than by an error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Done.
    Done,
    /// The thing asked for did not succeed.
    Unsuccessful,
    /// Wrong usage or input.
    Wrong,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        match ending {
            Ending::Done => Self::SUCCESS,
            Ending::Unsuccessful => Self::from(1),
            Ending::Wrong => Self::from(2),
        }
    }
}

fn main() -> ExitCode {
    let Arguments { command, globals } = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return wrong_usage(&error),
    };
    globals::write_log_as(globals.log_format);
    match dispatch(&command, &globals) {
        Ok(ending) => ending.into(),
        // Whoever read the output has what they wanted (`interlock … | head -1`).
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(Failure::Interrupted) => ExitCode::from(INTERRUPTED),
        Err(failure) => {
            // If standard error is gone too, there is nobody left to tell.
            // A failure may repeat what a server or a file said.
            let message = outside::hide(&failure.to_string()).into_owned();
            let said = terminal::visible_lines(&message);
            let line = globals::json_line("ERROR", &said).unwrap_or_else(|| {
                terminal::screen(
                    &format!("error: {said}\n"),
                    terminal::Paint::Off,
                    terminal::stderr_width(),
                )
            });
            let _ = io::stderr().write_all(line.as_bytes());
            if globals.json {
                print_error(failure.word(), &message);
            }
            match failure {
                Failure::Unsuccessful(_) => Ending::Unsuccessful.into(),
                Failure::Io(_) | Failure::Wrong(_) | Failure::Interrupted => Ending::Wrong.into(),
            }
        }
    }
}

/// The document that stands for an error.
fn print_error(code: &str, message: &str) {
    let document = serde_json::json!({ "error": { "code": code, "message": message } });
    let document = format!("{document:#}");
    let _ = writeln!(io::stdout(), "{}", interlock_protocol::visible::json(&document));
}

/// Says what is wrong with the arguments, in the form that they ask for as far as they can be read. Help is no error.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // If standard output is closed, the help cannot be shown anywhere else.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .take_while(|word| word != "--")
        .collect();
    let form = words.windows(2).any(|pair| pair == ["--log-format", "json"])
        || words.iter().any(|word| word == "--log-format=json");
    let said = error.to_string();
    let said = said.strip_prefix("error: ").unwrap_or(&said).trim_end();
    globals::write_log_as(if form { LogFormat::Json } else { LogFormat::Text });
    match globals::json_line("ERROR", said) {
        Some(line) => {
            let _ = io::stderr().write_all(line.as_bytes());
        }
        None => {
            let _ = error.print();
        }
    }
    if words.iter().any(|word| word == "--json") {
        print_error(Failure::wrong("").word(), said);
    }
    Ending::Wrong.into()
}

fn dispatch(command: &Command, globals: &Globals) -> Result<Ending, Failure> {
    if globals.server.is_some() && command.needs_store() {
        return Err(Failure::wrong(
            "this command works on the store of this machine, not on a server; leave out --server, or unset \
             INTERLOCK_SERVER",
        ));
    }
    match command {
        Command::Classify(arguments) => Ok(classify::run(arguments)?),
        Command::Mask(arguments) => mask::run(globals, arguments),
        Command::Logic(arguments) => wait(globals, logic::run(globals, arguments)),
        Command::Prove(arguments) => Ok(prove::run(arguments)?),
        Command::Config(arguments) => config::run(globals, arguments),
        Command::Tools(arguments) => tools::run(globals, arguments),
        Command::Serve(arguments) => wait(globals, serve::run(globals, arguments)),
        Command::User(arguments) => wait(globals, user::run(globals, arguments)),
        Command::Audit(arguments) => wait(globals, audit::run(globals, arguments)),
        Command::Record(arguments) => wait(globals, record::run(globals, arguments)),
        Command::Bundle(arguments) => wait(globals, bundle::run(globals, arguments)),
        Command::Verify(arguments) => bundle::verify(globals, arguments),
        Command::Run(arguments) => wait(globals, run::run(globals, arguments)),
        Command::Chat(arguments) => wait(globals, chat::run(globals, arguments)),
        Command::Sessions(arguments) => wait(globals, sessions::run(globals, arguments)),
        Command::Show(arguments) => wait(globals, show::run(globals, arguments)),
        Command::Trace(arguments) => wait(globals, trace::run(globals, arguments)),
        Command::Alert(arguments) => wait(globals, alert::run(globals, arguments)),
        Command::Incidents(arguments) => wait(globals, incidents::run(globals, arguments)),
        Command::Approvals(arguments) => wait(globals, approvals::run(globals, arguments)),
        Command::Resume(arguments) => wait(globals, resume::run(globals, arguments)),
        Command::Work(arguments) => wait(globals, work::run(globals, arguments)),
        Command::Reload(arguments) => wait(globals, reload::run(globals, arguments)),
        Command::Cancel(arguments) => wait(globals, cancel::run(globals, arguments)),
        Command::KillSwitch(arguments) => wait(globals, kill_switch::run(globals, arguments)),
        Command::Model(arguments) => wait(globals, model::run(globals, arguments)),
        Command::Doctor(arguments) => wait(globals, doctor::run(globals, arguments)),
        Command::Demo(arguments) => wait(globals, demo::run(globals, arguments)),
        Command::Lab(arguments) => Err(lab::run(globals, arguments)),
        Command::Bench(arguments) => wait(globals, bench::run(globals, arguments)),
    }
}

/// Runs a command that waits for things, with a log.
fn wait(
    globals: &Globals,
    command: impl Future<Output = Result<Ending, Failure>>,
) -> Result<Ending, Failure> {
    globals.log()?;
    if let Err(error) = interlock_exec::hide_this_process() {
        tracing::warn!(%error, "other processes of this user can look into this one");
    }
    if let Err(error) = interlock_exec::open_many_files() {
        tracing::warn!(%error, "the number of open files stays as it is");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let ended = runtime.block_on(command);
    runtime.shutdown_timeout(WIND_UP);
    ended
}
