//! `interlock run`: one question, worked on here and now.

use std::io::{self, IsTerminal as _, Read as _};

use clap::{Args, ValueEnum};
use interlock_engine::{Controller, MAX_INPUT, Overrides, Submission};
use interlock_protocol::{ControlLevel, SessionId, Status};

use crate::Ending;
use crate::assemble::{Assembled, assemble};
use crate::decide::how_to_decide;
use crate::drive::{Driver, ending};
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::report::Facts;
use crate::steps::seconds;
use crate::terminal::{Tone, visible};

/// Ask a question and have it answered with live tools.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock run 'what fills the disk?'
  interlock run --model small --controller react 'is nginx up?'
  journalctl -n 50 | interlock run - --json
  interlock run --level controlled 'restart nginx'

What may change something waits for a human at level `controlled`. On a terminal you are shown the exact plan and \
asked; in a pipe the command says how to approve it and ends with 1. Ctrl-C stops the session; a second one leaves at \
once.

Exit codes: 0 the session completed; 1 it is held, unverified, failed, cancelled or timed out; 2 wrong usage or \
configuration.")]
pub(crate) struct Arguments {
    /// The question; `-`, or nothing in a pipe, reads it from standard input
    question: Vec<String>,

    #[command(flatten)]
    how: How,
}

/// How a session is worked on, where that differs from the configuration.
#[derive(Args, Clone, Default)]
pub(crate) struct How {
    /// The model, by its name in the configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// The agent that answers, by its name in the configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,

    /// How the model is to write its proposals
    #[arg(long, value_enum)]
    pub(crate) controller: Option<Writes>,

    /// How much may happen without a human
    #[arg(long, value_enum)]
    pub(crate) level: Option<Level>,

    /// How often the model is asked before it must conclude
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) max_iterations: Option<u32>,
}

/// How a model writes its proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Writes {
    /// The provider's own tool calls
    Native,
    /// One fenced JSON block per reply
    Fenced,
    /// One JSON object per reply
    Envelope,
    /// Thought, Action, Action Input
    React,
}

impl From<Writes> for Controller {
    fn from(writes: Writes) -> Self {
        match writes {
            Writes::Native => Self::Native,
            Writes::Fenced => Self::Fenced,
            Writes::Envelope => Self::Envelope,
            Writes::React => Self::React,
        }
    }
}

/// How much may happen without a human.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Level {
    /// A write is refused
    ReadOnly,
    /// A write waits for a human
    Controlled,
    /// A write may run where risk and policies let it
    Autonomous,
}

impl From<Level> for ControlLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::ReadOnly => Self::ReadOnly,
            Level::Controlled => Self::Controlled,
            Level::Autonomous => Self::Autonomous,
        }
    }
}

impl How {
    /// These wishes, on a submission.
    pub(crate) fn apply(&self, mut submission: Submission, assembled: &Assembled) -> Submission {
        submission.owner = Some(assembled.by.clone());
        submission.level = self.level.map(ControlLevel::from);
        submission.overrides = Overrides {
            model: self.model.clone(),
            controller: self.controller.map(Controller::from),
            max_iterations: self.max_iterations,
            agent: self.agent.clone(),
            configured_level: None,
        };
        submission
    }
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let question = question(&arguments.question)?;
    let assembled = assemble(globals)?;
    let submission = arguments.how.apply(Submission::question(question), &assembled);
    let session = assembled.engine.submit(submission).await?;
    let mut driver = Driver::new(globals, &assembled)?;
    driver.work_to_end(&session).await?;
    tell(&mut driver, &session).await
}

/// The question, from the arguments or from standard input.
fn question(words: &[String]) -> Result<String, Failure> {
    let question = match words {
        [] if io::stdin().is_terminal() => Err(Failure::wrong(
            "there is no question; write `interlock run 'your question'`, or pipe it in",
        )),
        [] => read_input(),
        [dash] if dash == "-" => read_input(),
        words => Ok(words.join(" ")),
    }?;
    if question.trim().is_empty() {
        return Err(Failure::wrong(
            "the question is empty; write `interlock run 'your question'`",
        ));
    }
    Ok(question)
}

/// What stands on standard input, up to the limit.
pub(crate) fn read_input() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_INPUT as u64 + 1)
        .read_to_end(&mut bytes)?;
    text(bytes)
}

/// Input as text, within the limit.
pub(crate) fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.len() > MAX_INPUT {
        return Err(Failure::Wrong(format!(
            "the input has more than {MAX_INPUT} bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|_| Failure::wrong("the input is not valid UTF-8"))
}

/// Says what the session came to: the head and the answer on standard output, the rest on standard error.
pub(crate) async fn tell(driver: &mut Driver<'_>, session: &SessionId) -> Result<Ending, Failure> {
    let globals = driver.globals;
    let facts = Facts::of(driver.assembled.store(), session).await?;
    let status = facts.session.status;
    if globals.json {
        globals.print(&facts.report(), |_| String::new())?;
        return Ok(ending(status));
    }
    if crate::drive::is_end(status) {
        crate::answer::print(globals, &facts.head, facts.session.answer.as_deref())?;
    }
    let paint = globals.paint(&io::stderr());
    if let Some(grounds) = crate::grounds::render(&facts.grounds, paint) {
        say(&grounds);
    }
    if status == Status::Held && !globals.can_ask() {
        for hold in driver.open_holds(session).await? {
            say(&paint.paint(Tone::Careful, "This waits for a human:"));
            say(&crate::plan::render(&hold, jiff::Timestamp::now(), paint));
            say(&how_to_decide(driver.assembled, &hold).await);
        }
    }
    if let Some(error) = &facts.session.error {
        say(&format!(
            "{}: {}",
            paint.paint(Tone::Bad, status.as_str()),
            visible(error)
        ));
    }
    say(&paint.paint(Tone::Quiet, &footer(&facts)));
    Ok(ending(status))
}

/// One line about how it went.
pub(crate) fn footer(facts: &Facts) -> String {
    let session = &facts.session;
    let mut parts = vec![session.submitted.id.to_string(), session.status.to_string()];
    let calls = facts.calls.len();
    if calls > 0 {
        parts.push(format!("{calls} call{}", if calls == 1 { "" } else { "s" }));
    }
    let tokens = facts.usage.input_tokens.saturating_add(facts.usage.output_tokens);
    if tokens > 0 {
        parts.push(format!("{tokens} tokens"));
    }
    if let Some(micro_dollars) = facts.usage.micro_dollars {
        parts.push(interlock_model::Cost { micro_dollars }.to_string());
    }
    if let (Some(began), Some(ended)) = (session.started_at, session.completed_at) {
        parts.push(seconds(ended.duration_since(began)));
    }
    parts.join(" · ")
}
