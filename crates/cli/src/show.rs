//! `interlock show`: one session, from its question to its answer.

use std::fmt::Write as _;

use clap::Args;
use interlock_protocol::{
    Event, EventBody, Evidence, EvidenceId, ResourceId, RunId, SessionId, Status, Walls,
};
use interlock_store::{Message, Run, Store, TimelineEntry};
use jiff::Timestamp;
use serde::Serialize;

use crate::Ending;
use crate::assemble::open_existing_store;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::report::{Facts, Report};
use crate::run::footer;
use crate::sessions::{SessionForm, tone};
use crate::steps::{Steps, moment};
use crate::terminal::{Paint, Tone, visible};

/// Show what happened in a session.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock show ses_1f2e3d
  interlock show 1f2e --messages
  interlock show 1f2e --json | jq .receipts

The id may be shortened as long as it is the only one that begins like that.")]
pub(crate) struct Arguments {
    /// The session
    #[arg(value_name = "ID")]
    session: String,

    /// Show every event of the record
    #[arg(long)]
    events: bool,

    /// Show what was said to the models and what they said
    #[arg(long)]
    messages: bool,
}

/// What `show --json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    report: Report<'a>,
    session: SessionForm<'a>,
    runs: Vec<RunForm<'a>>,
    timeline: &'a [TimelineEntry],
    readings: Vec<ReadingForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<&'a [Event]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<&'a [Message]>,
}

/// A reading for which a command ran, and the checks that it passed.
#[derive(Serialize)]
struct ReadingForm<'a> {
    evidence_id: &'a EvidenceId,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<&'a ResourceId>,
    walls: &'a Walls,
    sentence: String,
}

fn readings(evidence: &[Evidence]) -> Vec<ReadingForm<'_>> {
    evidence
        .iter()
        .filter_map(|evidence| {
            let walls = evidence.walls.as_ref()?;
            Some(ReadingForm {
                evidence_id: &evidence.id,
                resource: evidence.resource.as_ref(),
                walls,
                sentence: walls.sentence(),
            })
        })
        .collect()
}

#[derive(Serialize)]
struct RunForm<'a> {
    run_id: &'a RunId,
    channel: &'a str,
    input: &'a str,
    status: Status,
    started_at: Timestamp,
    completed_at: Option<Timestamp>,
}

impl<'a> From<&'a Run> for RunForm<'a> {
    fn from(run: &'a Run) -> Self {
        Self {
            run_id: &run.id,
            channel: &run.channel,
            input: &run.input,
            status: run.status,
            started_at: run.started_at,
            completed_at: run.completed_at,
        }
    }
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let store = open_existing_store(globals)?;
    let session = store.find_session(&arguments.session).await?.submitted.id;
    let facts = Facts::of(&store, &session).await?;
    let timeline = store.timeline(&session).await?;
    let evidence = store.evidence(&session).await?;
    let messages = if arguments.messages {
        Some(messages(&store, &session).await?)
    } else {
        None
    };
    let shown = Shown {
        report: facts.report(),
        session: SessionForm::from(&facts.session),
        runs: facts.runs.iter().map(RunForm::from).collect(),
        timeline: &timeline,
        readings: readings(&evidence),
        events: arguments.events.then_some(facts.events.as_slice()),
        messages: messages.as_deref(),
    };
    globals.print(&shown, |paint| {
        let mut text = render(&facts, &timeline, &evidence, paint);
        if arguments.events {
            text.push_str(&every_event(&facts.events, paint));
        }
        if let Some(messages) = &messages {
            text.push_str(&every_message(messages, paint));
        }
        text
    })?;
    Ok(Ending::Done)
}

async fn messages(store: &Store, session: &SessionId) -> Result<Vec<Message>, Failure> {
    Ok(store.snapshot(session).await?.messages)
}

fn render(facts: &Facts, timeline: &[TimelineEntry], evidence: &[Evidence], paint: Paint) -> String {
    let session = &facts.session;
    let submitted = &session.submitted;
    let mut text = String::new();
    let owner = submitted.owner.as_ref().map_or("nobody", |owner| owner.as_str());
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{}", paint.paint(Tone::Strong, &visible(&submitted.title)));
    let rows = [
        ("session", submitted.id.to_string()),
        (
            "status",
            paint.paint(tone(session.status), session.status.as_str()),
        ),
        (
            "asked",
            format!(
                "by {} via {}, {}",
                visible(owner),
                visible(&submitted.channel),
                moment(submitted.at)
            ),
        ),
        ("level", submitted.level.to_string()),
    ];
    for (name, value) in rows {
        let _ = writeln!(text, "  {name:<8}  {value}");
    }
    for run in &facts.runs {
        let _ = writeln!(text, "  run       {} ({})", run.id, run.status);
    }
    text.push('\n');
    for (at, line) in lines(&facts.events, timeline, evidence, paint) {
        let clock = moment(at);
        let clock = clock.split_once(' ').map_or(clock.as_str(), |(_, clock)| clock);
        let _ = writeln!(text, "{}  {line}", paint.paint(Tone::Quiet, clock));
    }
    text.push('\n');
    let width = crate::answer::width();
    text.push_str(&crate::answer::render(
        &facts.head,
        session.answer.as_deref(),
        paint,
        width,
    ));
    if let Some(error) = &session.error {
        let _ = write!(
            text,
            "\n{}\n  {}\n",
            paint.paint(Tone::Bad, "error"),
            visible(error)
        );
    }
    let _ = write!(text, "\n{}\n", paint.paint(Tone::Quiet, &footer(facts)));
    text
}

/// What happened and what was said, in the order of time.
fn lines(
    events: &[Event],
    timeline: &[TimelineEntry],
    evidence: &[Evidence],
    paint: Paint,
) -> Vec<(Timestamp, String)> {
    let mut steps = Steps::default();
    let mut lines: Vec<(Timestamp, String)> = Vec::new();
    for event in events {
        lines.extend(steps.line(event, paint).map(|line| (event.at, line)));
        if let EventBody::EvidenceRecorded { evidence: id, .. } = &event.body {
            let known = evidence.iter().find(|evidence| evidence.id == *id);
            let walls = known.and_then(|evidence| evidence.walls.as_ref());
            lines.extend(walls.map(|walls| {
                let sentence = format!("  {}", visible(&walls.sentence()));
                (event.at, paint.paint(Tone::Quiet, &sentence))
            }));
        }
    }
    for entry in timeline {
        let content = visible(&entry.content);
        let line = match entry.kind.as_str() {
            "user_question" => paint.paint(Tone::Strong, &format!("? {content}")),
            "llm_thinking" => paint.paint(Tone::Quiet, &format!("(thinks) {content}")),
            "llm_response" => format!("“{content}”"),
            "error" => format!("{} {content}", paint.paint(Tone::Bad, "✗")),
            "mention" | "provider_fallback" => content,
            _ => continue,
        };
        lines.push((entry.at, line));
    }
    // Stable: what has the same time stays in its order.
    lines.sort_by_key(|(at, _)| *at);
    lines
}

fn every_event(events: &[Event], paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.paint(Tone::Strong, "events"));
    for event in events {
        let data = serde_json::to_value(&event.body).unwrap_or_default();
        let data = data.get("data").map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:>5}  {:<24} {}",
            event.sequence,
            event.body.name(),
            visible(&data)
        );
    }
    text
}

fn every_message(messages: &[Message], paint: Paint) -> String {
    let mut text = format!("\n{}\n", paint.paint(Tone::Strong, "messages"));
    for message in messages {
        let said = message
            .content
            .get("text")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default();
        let head = format!("{} {}", message.number, message.role);
        let _ = writeln!(text, "{}", paint.paint(Tone::Strong, &head));
        for line in said.lines() {
            let _ = writeln!(text, "  {}", visible(line));
        }
        if let Some(calls) = message.content.get("calls").and_then(serde_json::Value::as_array) {
            for call in calls {
                let _ = writeln!(text, "  → {}", visible(&call.to_string()));
            }
        }
    }
    text
}
