//! `interlock trace`: exactly what a run did, and the proof that its decisions are those of the gate.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use interlock_engine::{Difference, Trace, Traced};
use interlock_protocol::{CallId, EvidenceId, PermitId};
use interlock_store::Store;
use serde::Serialize;
use serde_json::Value;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;
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
    /// The run; or a session, for its last run
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
}

/// What `--check --json` prints.
#[derive(Serialize)]
struct CheckForm<'a> {
    run_id: &'a str,
    same: bool,
    steps: usize,
    decisions: usize,
    proposals: usize,
    unproposed: &'a [CallId],
    altered_requests: &'a [u32],
    altered_evidence: &'a [EvidenceId],
    unpermitted: &'a [PermitId],
    altered_input: bool,
    altered_document: bool,
    gaps: &'a [u64],
    differences: &'a [Difference],
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if let Some(file) = &arguments.replay {
        let text = std::fs::read(file)
            .map_err(|error| Failure::wrong(format!("{} cannot be read: {error}", file.display())))?;
        let trace: Trace = serde_json::from_slice(&text)
            .map_err(|error| Failure::wrong(format!("{} is no trace: {error}", file.display())))?;
        return check(globals, &trace);
    }
    let loaded = settings::load(globals)?;
    let store = Store::open(&settings::store(globals, &loaded)?)?;
    let named = arguments.run.as_deref().unwrap_or_default();
    let trace = trace(&store, named).await?;
    if let Some(file) = &arguments.export {
        export(&trace, file)?;
        globals.say(&format!(
            "written to {}; `interlock trace --replay {}` checks it",
            file.display(),
            file.display()
        ));
        if !arguments.check {
            return Ok(Ending::Done);
        }
    }
    if arguments.check {
        return check(globals, &trace);
    }
    globals.print(&trace, |paint| render(&trace, paint))?;
    Ok(Ending::Done)
}

/// The trace of the run, or of the last run of the session, that begins like this.
pub(crate) async fn trace(store: &Store, named: &str) -> Result<Trace, Failure> {
    let (session, run) = if named.starts_with("ses_") {
        let session = store.find_session(named).await?.submitted.id;
        let run = store.runs(&session).await?.pop().ok_or_else(|| {
            Failure::unsuccessful(format!("nobody has worked on `{session}` yet: it has no run"))
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
    // A link is not followed: whoever can write in the folder could have put it there to have another file overwritten.
    let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or_default();
    let mut out = OpenOptions::new()
        .write(true)
        .create(true)
        // Emptied below, once it is known to be a file.
        .truncate(false)
        .mode(0o600)
        .custom_flags(no_follow)
        .open(file)
        .map_err(|error| match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => Failure::wrong(format!(
                "{} is a symbolic link; name the file itself, or remove the link",
                file.display()
            )),
            _ => failed(error),
        })?;
    if !out.metadata().map_err(failed)?.is_file() {
        return Err(Failure::wrong(format!(
            "{} is not a regular file",
            file.display()
        )));
    }
    // Also where the file was there before, for others to read.
    out.set_permissions(Permissions::from_mode(0o600))
        .map_err(failed)?;
    out.set_len(0).map_err(failed)?;
    serde_json::to_writer(&mut out, trace).map_err(|error| failed(error.into()))?;
    writeln!(out).map_err(failed)?;
    Ok(())
}

fn check(globals: &Globals, trace: &Trace) -> Result<Ending, Failure> {
    let traced = trace.check()?;
    let same = traced.holds();
    let form = CheckForm {
        run_id: trace.run.run_id.as_str(),
        same,
        steps: traced.replayed.steps,
        decisions: traced.replayed.decisions,
        proposals: traced.proposals,
        unproposed: &traced.unproposed,
        altered_requests: &traced.altered,
        altered_evidence: &traced.altered_evidence,
        unpermitted: &traced.unpermitted,
        altered_input: traced.altered_input,
        altered_document: traced.altered_document,
        gaps: &traced.gaps,
        differences: &traced.replayed.differences,
    };
    globals.print(&form, |paint| checked(trace, &traced, paint))?;
    Ok(if same { Ending::Done } else { Ending::Unsuccessful })
}

fn checked(trace: &Trace, traced: &Traced, paint: Paint) -> String {
    let mut text = String::new();
    let (tone, word) = if traced.holds() {
        (Tone::Good, "every decision is the same")
    } else {
        (Tone::Bad, "this is not what happened, or not what the gate says")
    };
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{}", paint.paint(tone, word));
    let _ = writeln!(
        text,
        "  {}: {} questions to the gate, {} of them decisions; {} calls proposed by the recorded replies",
        trace.run.run_id, traced.replayed.steps, traced.replayed.decisions, traced.proposals
    );
    for difference in &traced.replayed.differences {
        let _ = writeln!(
            text,
            "  step {}: recorded {}\n  {:>8}now {}",
            difference.number,
            visible(&difference.recorded.to_string()),
            "",
            visible(&difference.now.to_string())
        );
    }
    for call in &traced.unproposed {
        let _ = writeln!(
            text,
            "  {call} was put to the gate, and no recorded reply proposes it"
        );
    }
    for number in &traced.altered {
        let _ = writeln!(text, "  request {number} is not the one that was sent");
    }
    for evidence in &traced.altered_evidence {
        let _ = writeln!(text, "  {evidence} is not what was read");
    }
    for permit in &traced.unpermitted {
        let _ = writeln!(
            text,
            "  {permit}: what ran, or its receipt, is not what the gate knows"
        );
    }
    for number in &traced.gaps {
        let _ = writeln!(text, "  steps are missing before step {number}");
    }
    if traced.altered_input {
        text.push_str("  the input is not the one that was given\n");
    }
    if traced.altered_document {
        text.push_str("  the document is not as it was exported\n");
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
