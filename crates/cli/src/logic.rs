//! `interlock logic`: questions about the live state in Prolog.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use interlock_assembly::{connected, rules, rules_folder};
use interlock_logic::{Answer, Explanation, Facts, Goal, Knowledge, Limits, PREDICATES, Rules, Topic};
use jiff::Timestamp;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::settings;
use crate::table::Table;
use crate::terminal::{Paint, Tone};

/// The longest file of facts, in bytes.
const MAX_FACTS_BYTES: u64 = 64 << 20;
/// How old live facts may be.
const NOT_OLDER: Duration = Duration::from_secs(10);

/// Ask a question about the live state in Prolog.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  interlock logic 'node_health(Node, critical)'
  interlock logic 'blast_radius(pve2, Affected)' --facts cluster.yaml
  interlock logic 'at_risk(Guest)' --facts cluster.yaml --rules rules
  interlock logic explain 'can_reach(pve1, pve3)' --facts cluster.yaml
  interlock logic 'active_alerts(Node, Alerts)' --facts cluster.yaml --at 2026-03-01T03:00:40Z
  interlock logic --predicates

A goal can only ask: there is no predicate that changes, opens or starts anything. docs/logic.md has the predicates, the form
of a file of facts, and how to write rules.

Exit codes: 0 the goal holds, 1 it does not hold or the search was stopped, 2 wrong usage, goal, facts or rules."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    question: Question,

    /// List the predicates that a goal may call
    #[arg(long, conflicts_with = "goal")]
    predicates: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Show the facts and rules that the first answer rests on.
    Explain(Question),
}

#[derive(Args)]
struct Question {
    /// The goal, for example `node_health(pve1, Health)`
    goal: Option<String>,

    /// Take facts from this file (YAML or JSON) in place of the connected infrastructure
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,

    /// Load rules from this file, or from the .pl files of this folder; else from `rules` beside the configuration
    #[arg(long, value_name = "PATH")]
    rules: Option<PathBuf>,

    /// The time of the question, which decides how old facts and alerts are; else now
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,

    /// The most answers
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    answers: u16,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if arguments.predicates {
        globals.print_lines(PREDICATES, listed)?;
        return Ok(Ending::Done);
    }
    let (question, explain) = match &arguments.command {
        Some(Command::Explain(question)) => (question, true),
        None => (&arguments.question, false),
    };
    let Some(goal) = &question.goal else {
        return Err(Failure::wrong(
            "a goal is missing, for example: interlock logic 'node_health(Node, Health)'",
        ));
    };
    let (knowledge, now) = knowledge(globals, question).await?;
    let goal = knowledge.check(goal).map_err(Failure::wrong)?;
    let limits = Limits {
        answers: usize::from(question.answers),
        ..Limits::default()
    };
    // A search takes up to some seconds of processor time.
    let searched = tokio::task::spawn_blocking(move || search(&knowledge, &goal, now, limits, explain));
    let found = searched.await.map_err(Failure::unsuccessful)?;
    let answer = match &found {
        Found::Answer(answer) => {
            globals.print(answer, |paint| told(answer, paint))?;
            answer
        }
        Found::Explanation(explanation) => {
            globals.print(explanation, |paint| explained(explanation, paint))?;
            &explanation.answer
        }
    };
    Ok(match &answer.stopped {
        Some(stopped) if stopped.code == "answers" => Ending::Done,
        None if answer.holds => Ending::Done,
        _ => Ending::Unsuccessful,
    })
}

enum Found {
    Answer(Answer),
    Explanation(Explanation),
}

fn search(knowledge: &Knowledge, goal: &Goal, now: Timestamp, limits: Limits, explain: bool) -> Found {
    if explain {
        Found::Explanation(knowledge.explain(goal, now, limits))
    } else {
        Found::Answer(knowledge.ask(goal, now, limits))
    }
}

/// Facts and rules, and the time of the question.
async fn knowledge(globals: &Globals, question: &Question) -> Result<(Knowledge, Timestamp), Failure> {
    let (facts, rules_folder) = if let Some(path) = &question.facts {
        let text = read(path, MAX_FACTS_BYTES)?;
        let facts = Facts::from_yaml(&text)
            .map_err(|error| Failure::wrong(format!("{}: {error}", path.display())))?;
        (facts, None)
    } else {
        let loaded = settings::load(globals)?;
        let (facts, problems) = connected(&loaded.config)?.facts(NOT_OLDER).await;
        for problem in problems {
            globals.say(&format!("warning: {problem}"));
        }
        (facts, rules_folder(loaded.file.as_deref()))
    };
    // After the facts were taken, so that live facts are not from the future.
    let now = question.at.unwrap_or_else(Timestamp::now);
    let rules = match question.rules.as_deref().or(rules_folder.as_deref()) {
        Some(path) => rules(path)?,
        None => Rules::default(),
    };
    let knowledge = Knowledge::new(&facts, Arc::new(rules), 1, now).map_err(Failure::wrong)?;
    Ok((knowledge, now))
}

fn read(path: &Path, most: u64) -> Result<String, Failure> {
    let problem = |error: std::io::Error| Failure::wrong(format!("{}: {error}", path.display()));
    let size = std::fs::metadata(path).map_err(problem)?.len();
    if size > most {
        return Err(Failure::wrong(format!(
            "{}: the file has {size} bytes; at most {most} are allowed",
            path.display()
        )));
    }
    std::fs::read_to_string(path).map_err(problem)
}

/// An answer for people: each answer on its line, then the sentence where it says more.
fn told(answer: &Answer, paint: Paint) -> String {
    let mut text = String::new();
    for line in &answer.lines {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{}", paint.paint(Tone::Strong, line));
    }
    if answer.lines.is_empty() {
        let _ = writeln!(text, "{}", answer.sentence);
        return text;
    }
    if let Some(stopped) = &answer.stopped {
        let _ = writeln!(text, "Not complete: {}.", stopped.message);
    }
    for note in &answer.notes {
        let _ = writeln!(text, "{note}");
    }
    let count = match answer.lines.len() {
        1 => "1 answer".to_owned(),
        count => format!("{count} answers"),
    };
    let _ = writeln!(
        text,
        "{}",
        paint.paint(
            Tone::Quiet,
            &format!(
                "{count}; {} facts from {}",
                answer.snapshot.facts, answer.snapshot.taken_at
            )
        )
    );
    text
}

fn explained(explanation: &Explanation, paint: Paint) -> String {
    let mut text = told(&explanation.answer, paint);
    if !explanation.because.is_empty() {
        let which = if explanation.answer.lines.len() > 1 {
            "The first answer rests on:"
        } else {
            "It rests on:"
        };
        let _ = write!(text, "\n{which}\n{}", explanation.text());
    }
    text
}

fn listed(paint: Paint) -> String {
    let mut text = String::new();
    for (topic, heading) in [
        (Topic::State, "The live state"),
        (Topic::Control, "Combining goals"),
        (Topic::Comparison, "Comparing and calculating"),
        (Topic::Kinds, "Kinds of terms"),
        (Topic::Lists, "Lists"),
    ] {
        let _ = writeln!(text, "{}", paint.paint(Tone::Strong, heading));
        let mut table = Table::new(&["form", "what it says"]);
        for entry in PREDICATES.iter().filter(|entry| entry.topic == topic) {
            table.row(vec![
                (entry.form.to_owned(), None),
                (entry.summary.to_owned(), None),
            ]);
        }
        let _ = writeln!(text, "{}", table.render(paint));
    }
    text
}
