//! `interlock trace`: exactly what a run did, and the proof that its decisions are those of the gate.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use interlock_assembly::Folders;
use interlock_engine::{Difference, SignatureState, Trace, Traced};
use interlock_seal::{Keyring, PublicKey};
use interlock_store::{SealState, Store};
use serde::Serialize;
use serde_json::Value;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::settings;
use crate::steps::{moment, summary};
use crate::terminal::{Paint, Tone, visible};

/// Show the trace of a run, export it, or ask the gate everything again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock trace run_1f2e3d
  interlock trace ses_9a8b --check
  interlock trace run_1f2e --export trace.json
  interlock trace --replay trace.json

A replay asks the gate every question of the trace again, reads every reply of the model again, and compares. It runs \
nothing. An exported trace has everything that a replay needs.

With --json: the whole trace; with --check or --replay what the comparison says.

Exit codes: 0 done, and every decision is the same; 1 one is not, or there is no such run; 2 wrong usage.")]
pub(crate) struct Arguments {
    /// The run; or a session, for its last run, with --check for all its runs
    #[arg(
        value_name = "RUN",
        required_unless_present = "replay",
        conflicts_with = "replay"
    )]
    run: Option<String>,

    /// Write the whole trace to this file
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,

    /// Ask the gate everything again, and compare
    #[arg(long)]
    check: bool,

    /// The same, for a trace that was exported
    #[arg(long, value_name = "FILE", conflicts_with_all = ["export", "check"])]
    replay: Option<PathBuf>,

    /// A public key whose signature counts; may be given several times, the newest first. Left out, the configured key
    #[arg(long, value_name = "KEY")]
    key: Vec<PublicKey>,
}

/// What `--check --json` prints.
#[derive(Serialize)]
struct CheckForm<'a> {
    run_id: &'a str,
    same: bool,
    steps: usize,
    decisions: usize,
    proposals: usize,
    #[serde(flatten)]
    signature: &'a SignatureState,
    problems: &'a [String],
    differences: &'a [Difference],
}

/// What `--check --json` prints of a session with several runs.
#[derive(Serialize)]
struct RunsForm<'a> {
    same: bool,
    runs: &'a [CheckForm<'a>],
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if let Some(file) = &arguments.replay {
        let text = std::fs::read(file)
            .map_err(|error| Failure::wrong(format!("{} cannot be read: {error}", file.display())))?;
        let trace: Trace = serde_json::from_slice(&text).map_err(|error| {
            // The error may quote the file, which anybody can have written.
            let error = interlock_protocol::visible::line(&error.to_string());
            Failure::wrong(format!("{} is no trace: {error}", file.display()))
        })?;
        let changed = (!is_as_written(&trace, &text)).then_some(
            "the file is not as `interlock trace --export` writes it: something was added, doubled, moved or spaced differently",
        );
        return check(globals, &[trace], changed, &keys(globals, &arguments.key)?);
    }
    let loaded = settings::load(globals)?;
    // Only read: a store that another key signed can be shown, and its trace then says so.
    let store = Store::open_signed(
        &settings::store(globals, &loaded)?.read_only(),
        interlock_assembly::keyring(&loaded.config, &Folders::of_user())?,
    )?;
    let named = arguments.run.as_deref().unwrap_or_default();
    let trace = trace(&store, named).await?;
    let altered = match store.seal_of(&trace.run.session_id).await? {
        SealState::Altered { what } => Some(what),
        SealState::Intact(_) | SealState::InProgress | SealState::Older | SealState::Unsigned => None,
    };
    // Also where the rest is for a program: what follows proves nothing.
    let warning = altered.map(|what| {
        format!(
            "The record of this session was changed outside Interlock ({}). Nothing in this trace is proven. Run interlock audit verify.",
            visible(&what)
        )
    });
    if let Some(file) = &arguments.export {
        if let Some(warning) = &warning {
            say(warning);
        }
        export(&trace, file)?;
        globals.say(&format!(
            "written to {}; `interlock trace --replay {}` checks it",
            file.display(),
            file.display()
        ));
        if !arguments.check {
            return Ok(if warning.is_none() {
                Ending::Done
            } else {
                Ending::Unsuccessful
            });
        }
    }
    if arguments.check {
        let keys = keys(globals, &arguments.key)?;
        if named.starts_with("ses_") {
            return check_session(globals, &store, named, &keys).await;
        }
        return check(globals, &[trace], None, &keys);
    }
    let Some(warning) = warning else {
        globals.print(&trace, |paint| render(&trace, paint))?;
        return Ok(Ending::Done);
    };
    if globals.json {
        say(&warning);
    }
    globals.print(&trace, |paint| {
        format!(
            "{}\n\n{}",
            paint.paint(Tone::Bad, &format!("✗ {warning}")),
            render(&trace, paint)
        )
    })?;
    Ok(Ending::Unsuccessful)
}

/// The trace of the run, or of the last run of the session, that begins like this.
pub(crate) async fn trace(store: &Store, named: &str) -> Result<Trace, Failure> {
    let (session, run) = if named.starts_with("ses_") {
        let session = store.find_session(named).await?.submitted.id;
        let run = store.runs(&session).await?.pop().ok_or_else(|| {
            Failure::unsuccessful(format!("`{session}` has no run yet: no worker has started it"))
        })?;
        (session, run)
    } else {
        store.find_run(named).await?
    };
    Ok(Trace::of(store, &session, run).await?)
}

/// Writes the trace for its owner alone: it holds whatever the model was shown.
fn export(trace: &Trace, file: &Path) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::wrong(format!("{} cannot be written: {error}", file.display()));
    let mut text = serde_json::to_vec(trace).map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    write_private(file, &text).map_err(failed)
}

/// Writes a file for its owner alone. A link is not followed, and a file that is there is replaced as a whole.
pub(crate) fn write_private(file: &Path, content: &[u8]) -> std::io::Result<()> {
    if file.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        let why = "it is a symbolic link or not a regular file; name another file";
        return Err(std::io::Error::other(why));
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut draft = tempfile::Builder::new()
        .prefix(".interlock-")
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder.unwrap_or_else(|| Path::new(".")))?;
    draft.write_all(content)?;
    draft.as_file().sync_all()?;
    // Replaces the name itself, also where it is a link to somewhere else.
    draft.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// The keys whose signatures count: those that were named, else the configured one. Creates no key.
pub(crate) fn keys(globals: &Globals, named: &[PublicKey]) -> Result<Keyring, Failure> {
    // Named keys need no configuration: a check must work on a machine that has none.
    if !named.is_empty() {
        return Ok(Keyring::checking(named.iter().copied()));
    }
    let loaded = settings::load(globals)?;
    Ok(interlock_assembly::checking(
        &loaded.config,
        &Folders::of_user(),
        &[],
    )?)
}

/// Whether a file holds what was read from it and nothing else. What a reader skips, such as an unknown or doubled key, is
/// under no signature.
fn is_as_written(trace: &Trace, text: &[u8]) -> bool {
    serde_json::to_vec(trace).is_ok_and(|written| written == text.trim_ascii_end())
}

/// Checks every run of a session.
async fn check_session(
    globals: &Globals,
    store: &Store,
    named: &str,
    keyring: &Keyring,
) -> Result<Ending, Failure> {
    let session = store.find_session(named).await?.submitted.id;
    let mut traces = Vec::new();
    for run in store.runs(&session).await? {
        traces.push(Trace::of(store, &session, run).await?);
    }
    check(globals, &traces, None, keyring)
}

/// Checks traces, and prints what that came to: of one as it is, of several as a list.
fn check(
    globals: &Globals,
    of: &[Trace],
    changed: Option<&str>,
    keyring: &Keyring,
) -> Result<Ending, Failure> {
    let mut all = Vec::new();
    for trace in of {
        let mut traced = trace.check(Some(keyring))?;
        traced.problems.extend(changed.map(str::to_owned));
        all.push(traced);
    }
    let same = all.iter().all(Traced::holds);
    let forms: Vec<CheckForm<'_>> = of
        .iter()
        .zip(&all)
        .map(|(trace, traced)| CheckForm {
            run_id: trace.run.run_id.as_str(),
            same: traced.holds(),
            steps: traced.replayed.steps,
            decisions: traced.replayed.decisions,
            proposals: traced.proposals,
            signature: &traced.signature,
            problems: &traced.problems,
            differences: &traced.replayed.differences,
        })
        .collect();
    let told = |paint| {
        let each = of.iter().zip(&all);
        each.map(|(trace, traced)| checked(trace, traced, paint))
            .collect::<String>()
    };
    match forms.as_slice() {
        [form] => globals.print(form, told)?,
        forms => globals.print(&RunsForm { same, runs: forms }, told)?,
    }
    Ok(if same { Ending::Done } else { Ending::Unsuccessful })
}

fn checked(trace: &Trace, traced: &Traced, paint: Paint) -> String {
    let mut text = String::new();
    let (tone, word) = if traced.holds() {
        (
            Tone::Good,
            "the trace is as it was signed, and every decision is the same",
        )
    } else {
        (Tone::Bad, "this trace does not prove what it says")
    };
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{}", paint.paint(tone, word));
    let _ = writeln!(
        text,
        "  {}: {} questions to the gate, {} of them decisions; {} calls proposed by the recorded replies",
        trace.run.run_id, traced.replayed.steps, traced.replayed.decisions, traced.proposals
    );
    for sentence in traced.sentences() {
        let _ = writeln!(text, "  {}", visible(&sentence));
    }
    text
}

/// A summary for people.
pub(crate) fn render(trace: &Trace, paint: Paint) -> String {
    let run = &trace.run;
    let mut text = String::new();
    let rows = [
        ("run", run.run_id.to_string()),
        ("session", run.session_id.to_string()),
        ("input", visible(&run.input)),
        ("status", run.status.to_string()),
        ("began", moment(run.started_at)),
    ];
    for (name, value) in rows {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{name:<8}  {value}");
    }
    let _ = write!(text, "\n{}\n", paint.paint(Tone::Strong, "asked"));
    for asked in &trace.asked {
        let number = |pointer: &str| asked.facts.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
        let _ = writeln!(
            text,
            "  {:>3}  {} {}: {} bytes sent, {} received, {} tokens in, {} out",
            asked.number,
            asked.provider,
            visible(&asked.model),
            asked.request.len(),
            asked.raw_reply.len(),
            number("/usage/input_tokens"),
            number("/usage/output_tokens"),
        );
    }
    let mut questions: BTreeMap<&str, usize> = BTreeMap::new();
    for step in &trace.steps {
        let name = step.input.get("ask").and_then(Value::as_str).unwrap_or("?");
        *questions.entry(name).or_default() += 1;
    }
    let counted: Vec<String> = questions
        .iter()
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    let _ = write!(
        text,
        "\n{}\n  {}\n",
        paint.paint(Tone::Strong, "the gate was asked"),
        counted.join(", ")
    );
    let _ = write!(text, "\n{}\n", paint.paint(Tone::Strong, "ran"));
    for call in &trace.calls {
        let plan = &call.started.plan;
        let what = summary(plan.tool.as_str(), &plan.arguments);
        let came = call
            .receipt
            .as_ref()
            .map_or("left no receipt", |receipt| receipt.outcome.as_str());
        let looked = call
            .verification
            .map_or_else(String::new, |outcome| format!(", {outcome}"));
        let by = call.started.approved_by.as_ref().map_or_else(String::new, |by| {
            format!(", approved by {}", visible(by.as_str()))
        });
        let _ = writeln!(text, "  {what}: {came}{looked}{by}");
    }
    if trace.calls.is_empty() {
        text.push_str("  nothing\n");
    }
    text
}
