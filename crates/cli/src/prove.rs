//! `interlock prove`: the gate's promises, checked here and now by the code that ships.

use crate::Ending;
use crate::terminal::{Paint, Tone};
use clap::{Args, Subcommand};
use interlock_gate::Violation;
use interlock_gate::prove::{GateOptions, GateReport, HostileOptions, HostileReport, gate, hostile};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};

/// Check the promises of the gate on this machine.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  interlock prove gate
  interlock prove hostile --steps 1000000 --seed 7 --json

Exit codes: 0 every promise held, 1 one was broken or not everything could be checked, 2 wrong usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Visit every reachable state of a small world, and ask every invariant in each
    ///
    /// Three resources on two hosts, every kind of tool, success, failure and time-out, holds. From every state some
    /// steps that code alone can make must lead to a final answer; one from which none do is a dead end.
    #[command(after_help = "Example:\n  interlock prove gate --json")]
    Gate {
        /// How many agents act at the same time
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=2))]
        executions: u8,

        /// Give up beyond this many states; the proof is then not complete
        #[arg(long, default_value_t = GateOptions::default().max_states)]
        max_states: usize,

        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Let a proposer that tries everything loose on the gate, and ask every invariant after each step
    #[command(after_help = "Example:\n  interlock prove hostile --steps 1000000 --seed 7 --json")]
    Hostile {
        /// How many steps it makes
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
        steps: u64,

        /// Where its random numbers begin: the same seed gives the same run
        #[arg(long, default_value_t = 1)]
        seed: u64,

        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// What `prove gate --json` prints.
#[derive(Serialize)]
struct GateForm<'a> {
    states: u64,
    transitions: u64,
    violations: usize,
    dead_ends: usize,
    complete: bool,
    violated: &'a [Violation],
    stuck: &'a [String],
}

/// What `prove hostile --json` prints.
#[derive(Serialize)]
struct HostileForm<'a> {
    steps: u64,
    seed: u64,
    allowed: u64,
    held: u64,
    refused: &'a BTreeMap<&'static str, u64>,
    answered: u64,
    violations: usize,
    violated: &'a [Violation],
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<Ending> {
    match arguments.what {
        What::Gate {
            executions,
            max_states,
            json,
        } => {
            let mut told = |states| tell(&format!("{states} states"));
            let options = GateOptions {
                executions: usize::from(executions),
                max_states,
                progress: Some(&mut told),
            };
            let report = gate(options);
            told_enough();
            let held = report.complete && report.violations.is_empty() && report.dead_ends.is_empty();
            show(json, &form_of_gate(&report), |paint| {
                gate_text(&report, held, paint)
            })?;
            Ok(ending(held))
        }
        What::Hostile { steps, seed, json } => {
            let mut told = |made| tell(&format!("{made} of {steps} steps"));
            let report = hostile(HostileOptions {
                steps,
                seed,
                progress: Some(&mut told),
            });
            told_enough();
            let held = report.steps == steps && report.violations.is_empty();
            show(json, &form_of_hostile(&report), |paint| {
                hostile_text(&report, steps, paint)
            })?;
            Ok(ending(held))
        }
    }
}

const fn ending(held: bool) -> Ending {
    if held { Ending::Done } else { Ending::Unsuccessful }
}

fn form_of_gate(report: &GateReport) -> GateForm<'_> {
    GateForm {
        states: report.states,
        transitions: report.transitions,
        violations: report.violations.len(),
        dead_ends: report.dead_ends.len(),
        complete: report.complete,
        violated: &report.violations,
        stuck: &report.dead_ends,
    }
}

fn form_of_hostile(report: &HostileReport) -> HostileForm<'_> {
    HostileForm {
        steps: report.steps,
        seed: report.seed,
        allowed: report.allowed,
        held: report.held,
        refused: &report.refused,
        answered: report.answered,
        violations: report.violations.len(),
        violated: &report.violations,
    }
}

fn show(json: bool, form: &impl Serialize, text: impl FnOnce(Paint) -> String) -> io::Result<()> {
    let stdout = io::stdout();
    let mut out = stdout.lock();
    if json {
        serde_json::to_writer_pretty(&mut out, form)?;
        writeln!(out)?;
    } else {
        out.write_all(text(Paint::for_stream(&stdout)).as_bytes())?;
    }
    out.flush()
}

fn gate_text(report: &GateReport, held: bool, paint: Paint) -> String {
    let mut lines = vec![
        if held {
            format!(
                "{}: every invariant, in every reachable state",
                paint.paint(Tone::Good, "held")
            )
        } else if report.violations.is_empty() && report.dead_ends.is_empty() {
            format!(
                "{}: there are more states than were visited",
                paint.paint(Tone::Careful, "not complete")
            )
        } else {
            format!("{}: see below", paint.paint(Tone::Bad, "broken"))
        },
        String::new(),
        row("states", report.states),
        row("transitions", report.transitions),
        row("violations", report.violations.len()),
        row("dead ends", report.dead_ends.len()),
    ];
    lines.extend(violated(&report.violations, paint));
    lines.extend(
        report
            .dead_ends
            .iter()
            .map(|state| format!("\ndead end\n  {state}")),
    );
    lines.push(String::new());
    lines.join("\n")
}

fn hostile_text(report: &HostileReport, asked: u64, paint: Paint) -> String {
    let mut lines = vec![
        if !report.violations.is_empty() {
            format!("{}: see below", paint.paint(Tone::Bad, "broken"))
        } else if report.steps < asked {
            format!(
                "{}: the proposer stopped early",
                paint.paint(Tone::Careful, "not complete")
            )
        } else {
            format!(
                "{}: every invariant, after every step",
                paint.paint(Tone::Good, "held")
            )
        },
        String::new(),
        row("steps", report.steps),
        row("seed", report.seed),
        row("allowed", report.allowed),
        row("held", report.held),
        row("refused", report.refused.values().sum::<u64>()),
    ];
    lines.extend(
        report
            .refused
            .iter()
            .map(|(rule, count)| row(&format!("  by {rule}"), count)),
    );
    lines.push(row("answered", report.answered));
    lines.push(row("violations", report.violations.len()));
    lines.extend(violated(&report.violations, paint));
    lines.push(String::new());
    lines.join("\n")
}

fn row(name: &str, count: impl std::fmt::Display) -> String {
    format!("  {name:<22} {count:>12}")
}

fn violated(violations: &[Violation], paint: Paint) -> impl Iterator<Item = String> {
    violations.iter().map(move |violation| {
        let name = paint.paint(Tone::Bad, violation.invariant);
        format!("\n{name}: {}\n  {}", violation.says, violation.happened)
    })
}

/// Progress is for someone who watches, and for nobody else.
fn tell(progress: &str) {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        // A watcher who is gone misses nothing.
        let _ = write!(stderr, "\r\u{1b}[2K{progress}");
    }
}

fn told_enough() {
    tell("");
}
