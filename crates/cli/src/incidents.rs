//! `interlock incidents`: what alerts are about, and what people say about them.

use clap::{Args, Subcommand, ValueEnum};
use interlock_protocol::{IncidentStatus, Severity};
use interlock_store::{Incident, IncidentEvent, IncidentMove, IncidentQuery, Store};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::Ending;
use crate::assemble::{bare, open_existing_store};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::remote::{Client, whole};
use crate::sessions::short;
use crate::steps::moment;
use crate::table::Table;
use crate::terminal::{Paint, Tone, visible};

/// List incidents, and say what became of them.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  interlock incidents
  interlock incidents --status resolved --limit 5
  interlock incidents show inc_1f2e
  interlock incidents acknowledge inc_1f2e --reason 'I am looking at it'
  interlock incidents resolve inc_1f2e --reason 'replaced the disk'
  interlock incidents --json | jq -r .id

An incident is what an alert is about. It stays open until the alert is resolved or a person says so, however many sessions \
worked on it.

With --server (or INTERLOCK_SERVER) a server is asked through its API, with the token in INTERLOCK_TOKEN.

With --json the list is JSON Lines, one incident on each line."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,

    /// Which incidents
    #[arg(long, value_enum, default_value_t)]
    status: Which,

    /// At most this many
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Everything that is not resolved
    #[default]
    Unresolved,
    /// Nobody has said anything about it
    Open,
    /// A person has seen it
    Acknowledged,
    /// An action on it was verified
    Mitigated,
    /// It is over
    Resolved,
    /// All of them
    All,
}

#[derive(Subcommand)]
enum What {
    /// Show an incident and what happened to it
    #[command(after_help = "Example:\n  interlock incidents show inc_1f2e --json")]
    Show(One),
    /// Acknowledge an incident: somebody is working on it
    #[command(
        after_help = "Example:\n  interlock incidents acknowledge inc_1f2e --reason 'I am looking at it'"
    )]
    Acknowledge(Move),
    /// Mark an incident as resolved
    #[command(after_help = "Example:\n  interlock incidents resolve inc_1f2e --reason 'replaced the disk'")]
    Resolve(Move),
    /// Reopen an incident and start a new session for it
    #[command(after_help = "Example:\n  interlock incidents reopen inc_1f2e --reason 'it is back'")]
    Reopen(Move),
}

#[derive(Args)]
struct One {
    /// The incident; the beginning of its id is enough
    #[arg(value_name = "ID")]
    incident: String,
}

#[derive(Args)]
struct Move {
    #[command(flatten)]
    one: One,
    /// Why; it is kept and shown
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let client = Client::of(globals)?;
    match (&arguments.what, client) {
        (None, Some(client)) => {
            let path = match arguments.status {
                Which::All => format!("/incidents?limit={}", arguments.limit),
                which => format!("/incidents?limit={}&status={}", arguments.limit, which.word()),
            };
            let page = client.get(&path).await?;
            list(
                globals,
                arguments.status,
                page["incidents"].as_array().map_or(&[], Vec::as_slice),
            )
        }
        (None, None) => {
            let store = open_existing_store(globals)?;
            let query = IncidentQuery {
                statuses: arguments.status.statuses(),
                severity: None,
                resource: None,
                offset: 0,
                limit: arguments.limit,
            };
            let (incidents, _) = store.incidents(&query).await?;
            list(
                globals,
                arguments.status,
                &incidents.iter().map(form).collect::<Vec<_>>(),
            )
        }
        (Some(What::Show(one)), Some(client)) => {
            let id = remote_id(&client, &one.incident).await?;
            show(globals, &client.get(&format!("/incidents/{id}")).await?)
        }
        (Some(What::Show(one)), None) => {
            let store = open_existing_store(globals)?;
            let incident = find(&store, &one.incident).await?;
            show(globals, &detail(&store, &incident).await?)
        }
        (Some(What::Acknowledge(to)), client) => {
            change(globals, client, to, IncidentMove::Acknowledge, "acknowledge").await
        }
        (Some(What::Resolve(to)), client) => {
            change(globals, client, to, IncidentMove::Resolve, "resolve").await
        }
        (Some(What::Reopen(to)), client) => change(globals, client, to, IncidentMove::Reopen, "reopen").await,
    }
}

impl Which {
    const fn word(self) -> &'static str {
        match self {
            Self::Unresolved => "unresolved",
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Mitigated => "mitigated",
            Self::Resolved => "resolved",
            Self::All => "all",
        }
    }

    fn statuses(self) -> Vec<IncidentStatus> {
        match self {
            Self::Unresolved => vec![
                IncidentStatus::Open,
                IncidentStatus::Acknowledged,
                IncidentStatus::Mitigated,
            ],
            Self::Open => vec![IncidentStatus::Open],
            Self::Acknowledged => vec![IncidentStatus::Acknowledged],
            Self::Mitigated => vec![IncidentStatus::Mitigated],
            Self::Resolved => vec![IncidentStatus::Resolved],
            Self::All => Vec::new(),
        }
    }
}

async fn change(
    globals: &Globals,
    client: Option<Client>,
    to: &Move,
    what: IncidentMove,
    word: &str,
) -> Result<Ending, Failure> {
    let reason = to.reason.as_deref();
    let detail = if let Some(client) = client {
        let id = remote_id(&client, &to.one.incident).await?;
        client
            .post(&format!("/incidents/{id}/{word}"), &json!({ "reason": reason }))
            .await?
    } else {
        let assembled = bare(globals)?;
        let incident = find(assembled.store(), &to.one.incident).await?;
        let incident = assembled
            .engine
            .move_incident(&incident.id, what, &assembled.by, reason)
            .await?;
        detail(assembled.store(), &incident).await?
    };
    show(globals, &detail)
}

/// The incident whose id begins like this.
async fn find(store: &Store, text: &str) -> Result<Incident, Failure> {
    if let Ok(id) = text.parse()
        && let Ok(incident) = store.incident(&id).await
    {
        return Ok(incident);
    }
    let query = IncidentQuery {
        statuses: Vec::new(),
        severity: None,
        resource: None,
        offset: 0,
        limit: 200,
    };
    let (incidents, _) = store.incidents(&query).await?;
    let id = whole(text, incidents.iter().map(|incident| incident.id.as_str()))?;
    let id = id
        .parse()
        .map_err(|_| Failure::wrong(format!("`{}` is no id of an incident", visible(text))))?;
    Ok(store.incident(&id).await?)
}

async fn remote_id(client: &Client, text: &str) -> Result<String, Failure> {
    let page = client.get("/incidents?limit=200").await?;
    let known = page["incidents"].as_array().map_or(&[][..], Vec::as_slice);
    whole(text, known.iter().filter_map(|incident| incident["id"].as_str()))
}

/// The same form as the API has.
fn form(incident: &Incident) -> Value {
    let session = incident.session.as_ref().map(
        |session| json!({ "id": session.id, "status": session.status, "open_holds": session.open_holds }),
    );
    json!({
        "id": incident.id,
        "status": incident.status,
        "severity": incident.severity,
        "firing": incident.firing,
        "title": incident.title,
        "summary": incident.summary,
        "source": incident.source,
        "alert_type": incident.alert_type,
        "rule": incident.rule,
        "about": incident.about,
        "resource": incident.resource,
        "starts_at": incident.starts_at,
        "opened_at": incident.opened_at,
        "changed_at": incident.changed_at,
        "resolved_at": incident.resolved_at,
        "repeats": incident.repeats,
        "waiting": incident.waiting,
        "session": session,
    })
}

async fn detail(store: &Store, incident: &Incident) -> Result<Value, Failure> {
    let mut detail = form(incident);
    let event = |event: IncidentEvent| {
        json!({
            "number": event.number,
            "kind": event.kind,
            "at": event.at,
            "last_at": event.last_at,
            "count": event.count,
            "by": event.by,
            "session": event.session,
            "text": event.text,
        })
    };
    let events = store.incident_events(&incident.id, 200).await?;
    detail["events"] = events.into_iter().map(event).collect();
    detail["sessions"] = json!(
        store
            .incident_sessions(&incident.id)
            .await?
            .into_iter()
            .map(|id| json!({ "id": id }))
            .collect::<Vec<_>>()
    );
    detail["alert"] = json!(incident.alert);
    Ok(detail)
}

fn word<'a>(of: &'a Value, name: &str) -> &'a str {
    of[name].as_str().unwrap_or("")
}

fn at(of: &Value, name: &str) -> String {
    word(of, name)
        .parse::<Timestamp>()
        .map_or_else(|_| String::new(), moment)
}

fn tone(severity: &str) -> Tone {
    match severity.parse() {
        Ok(Severity::Critical) => Tone::Bad,
        Ok(Severity::Warning) | Err(_) => Tone::Careful,
        Ok(Severity::Info) => Tone::Quiet,
    }
}

/// What is being done about it, in a few words.
fn doing(incident: &Value) -> String {
    if incident["waiting"].as_bool() == Some(true) {
        return "no session started yet".to_owned();
    }
    let session = &incident["session"];
    let id = short(word(session, "id"));
    match (
        session["open_holds"].as_u64().unwrap_or(0),
        word(session, "status"),
    ) {
        (_, "") => "nothing".to_owned(),
        (1.., _) => format!("approval required in {id}"),
        (0, status) => format!("{id} {status}"),
    }
}

fn list(globals: &Globals, which: Which, incidents: &[Value]) -> Result<Ending, Failure> {
    globals.print_lines(incidents, |paint| {
        if incidents.is_empty() {
            return match which {
                Which::All => "no incidents\n",
                Which::Unresolved => {
                    "no open incidents; `interlock incidents --status all` also lists resolved ones\n"
                }
                Which::Open | Which::Acknowledged | Which::Mitigated | Which::Resolved => {
                    "no incident has this status; `interlock incidents --status all` lists all of them\n"
                }
            }
            .to_owned();
        }
        let mut table = Table::new(&["incident", "severity", "status", "since", "what is done", "title"]);
        for incident in incidents {
            let mut status = word(incident, "status").to_owned();
            if status == "resolved" && incident["firing"].as_bool() == Some(true) {
                status.push_str(", still firing");
            }
            table.row(vec![
                (short(word(incident, "id")).to_owned(), None),
                (
                    word(incident, "severity").to_owned(),
                    Some(tone(word(incident, "severity"))),
                ),
                (status, None),
                (at(incident, "opened_at"), Some(Tone::Quiet)),
                (doing(incident), None),
                (word(incident, "title").to_owned(), None),
            ]);
        }
        table.render(paint)
    })?;
    Ok(Ending::Done)
}

fn show(globals: &Globals, detail: &Value) -> Result<Ending, Failure> {
    globals.print(detail, |paint| page(detail, paint))?;
    Ok(Ending::Done)
}

fn page(detail: &Value, paint: Paint) -> String {
    use std::fmt::Write as _;
    let mut text = format!("{}\n", paint.paint(Tone::Strong, &visible(word(detail, "title"))));
    let firing = if detail["firing"].as_bool() == Some(true) {
        "the alert fires"
    } else {
        "the alert does not fire"
    };
    let _ = writeln!(
        text,
        "  {}  {}, {firing}",
        paint.paint(tone(word(detail, "severity")), word(detail, "severity")),
        word(detail, "status")
    );
    for (name, value) in [
        ("id", word(detail, "id").to_owned()),
        ("summary", word(detail, "summary").to_owned()),
        ("resource", word(detail, "resource").to_owned()),
        ("source", word(detail, "source").to_owned()),
        ("opened", at(detail, "opened_at")),
        ("resolved", at(detail, "resolved_at")),
        (
            "repeated",
            detail["repeats"]
                .as_u64()
                .filter(|count| *count > 0)
                .map_or_else(String::new, times),
        ),
        ("what is done", doing(detail)),
    ] {
        if !value.is_empty() {
            let _ = writeln!(text, "  {name:<12}  {}", visible(&value));
        }
    }
    let _ = writeln!(text, "\n{}", paint.paint(Tone::Strong, "What happened"));
    let mut table = Table::new(&["when", "what", "by", "more"]);
    for event in detail["events"].as_array().map_or(&[][..], Vec::as_slice) {
        let mut what = word(event, "kind").replace('_', " ");
        if let Some(count @ 2..) = event["count"].as_u64() {
            let _ = write!(what, " {}", times(count));
        }
        let more = match (word(event, "text"), word(event, "session")) {
            ("", session) => short(session).to_owned(),
            (said, _) => said.to_owned(),
        };
        table.row(vec![
            (at(event, "last_at"), Some(Tone::Quiet)),
            (what, None),
            (word(event, "by").to_owned(), None),
            (more, None),
        ]);
    }
    text.push_str(&table.render(paint));
    text
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        several => format!("{several} times"),
    }
}
