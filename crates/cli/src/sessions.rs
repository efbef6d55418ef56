//! `interlock sessions`: what was asked, and what came of it.

use clap::Args;
use interlock_protocol::{SessionKind, Status};
use interlock_store::{Filter, Session};
use jiff::Timestamp;
use serde::Serialize;

use crate::Ending;
use crate::assemble::open_existing_store;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::steps::moment;
use crate::table::Table;
use crate::terminal::Tone;

/// List sessions, newest first.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock sessions --status held --status failed
  interlock sessions --search nginx --limit 5
  interlock sessions --json | jq -r .session_id

With --json: JSON Lines, one session on each line.")]
pub(crate) struct Arguments {
    /// Only those with this status; may be given several times
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<Status>,

    /// Only those with this text in their title, input or answer
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,

    /// Only alerts of this type
    #[arg(long = "type", value_name = "TYPE")]
    alert_type: Option<String>,

    /// At most this many
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

/// A status, by its word.
pub(crate) fn status(word: &str) -> Result<Status, String> {
    word.parse().map_err(|_| {
        let known: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
        format!("there are {}", known.join(", "))
    })
}

/// A session, for programs.
#[derive(Serialize)]
pub(crate) struct SessionForm<'a> {
    session_id: &'a str,
    status: Status,
    kind: SessionKind,
    title: &'a str,
    channel: &'a str,
    owner: Option<&'a str>,
    alert_type: Option<&'a str>,
    chain: &'a str,
    level: &'static str,
    priority: i32,
    created_at: Timestamp,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    answer: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> From<&'a Session> for SessionForm<'a> {
    fn from(session: &'a Session) -> Self {
        let submitted = &session.submitted;
        Self {
            session_id: submitted.id.as_str(),
            status: session.status,
            kind: submitted.kind,
            title: &submitted.title,
            channel: &submitted.channel,
            owner: submitted.owner.as_ref().map(interlock_protocol::UserId::as_str),
            alert_type: submitted.alert_type.as_deref(),
            chain: &submitted.chain,
            level: submitted.level.as_str(),
            priority: submitted.priority,
            created_at: submitted.at,
            started_at: session.started_at,
            completed_at: session.completed_at,
            answer: session.answer.as_deref(),
            error: session.error.as_deref(),
        }
    }
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let store = open_existing_store(globals)?;
    let filter = Filter {
        statuses: arguments.status.clone(),
        kind: None,
        alert_type: arguments.alert_type.clone(),
        search: arguments.search.clone(),
        limit: arguments.limit,
        after: None,
    };
    let sessions = store.sessions(&filter).await?;
    let forms: Vec<SessionForm<'_>> = sessions.iter().map(SessionForm::from).collect();
    globals.print_lines(&forms, |paint| {
        if sessions.is_empty() && arguments.narrows() {
            return "no session matches; `interlock sessions` without options lists the newest ones\n"
                .to_owned();
        }
        if sessions.is_empty() {
            return "no sessions; ask something with `interlock run 'your question'`\n".to_owned();
        }
        let mut table = Table::new(&["session", "status", "when", "title"]);
        for session in &sessions {
            table.row(vec![
                (short(session.submitted.id.as_str()).to_owned(), None),
                (session.status.to_string(), Some(tone(session.status))),
                (moment(session.submitted.at), Some(Tone::Quiet)),
                (session.submitted.title.clone(), None),
            ]);
        }
        table.render(paint)
    })?;
    Ok(Ending::Done)
}

impl Arguments {
    /// Whether only some sessions are asked for.
    fn narrows(&self) -> bool {
        !self.status.is_empty() || self.alert_type.is_some() || self.search.is_some()
    }
}

/// The beginning of an id, long enough to be unique among very many.
pub(crate) fn short(id: &str) -> &str {
    let end = id.find('_').map_or(12, |at| at + 1 + 12);
    id.get(..end).unwrap_or(id)
}

/// The colour of a status.
pub(crate) const fn tone(status: Status) -> Tone {
    match status {
        Status::Completed => Tone::Good,
        Status::Failed | Status::TimedOut => Tone::Bad,
        Status::Held | Status::Unverified | Status::Cancelling | Status::Cancelled => Tone::Careful,
        Status::Pending | Status::InProgress => Tone::Strong,
    }
}
