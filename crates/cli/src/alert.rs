//! `interlock alert`: an alert, put into the queue and worked on.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use interlock_engine::Submission;
use serde::Serialize;

use crate::Ending;
use crate::assemble::assemble;
use crate::drive::Driver;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::remote::Client;
use crate::run::{How, read_input, tell, text};

/// Submit alerts.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Example:
  interlock alert submit --type disk_full 'node delly: / is 97 % full'"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Put an alert into the queue, and work on it here unless told otherwise
    Submit(Submit),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock alert submit --type disk_full 'node delly: / is 97 % full'
  interlock alert submit --type pod_crash --file alert.json --key am-4711
  curl -s http://alertmanager/api/v2/alerts | interlock alert submit --type prometheus -
  interlock alert submit --type disk_full --no-wait --json 'later, please'

The chain whose `alert_types` names the type is run. Two alerts with the same key are one incident.

Exit codes: as for `interlock run`; with --no-wait 0 once it is queued.")]
struct Submit {
    /// The type, which picks the chain
    #[arg(long = "type", value_name = "TYPE")]
    alert_type: String,

    /// The alert; `-`, or nothing in a pipe, reads it from standard input
    #[arg(conflicts_with = "file")]
    text: Option<String>,

    /// The alert, from a file
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Two submissions with the same key are one incident
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Higher goes first
    #[arg(long, default_value_t = 0, value_name = "N", allow_negative_numbers = true)]
    priority: i32,

    /// Work on it here, or watch whoever does (the default)
    #[arg(long, conflicts_with = "no_wait")]
    wait: bool,

    /// Only put it into the queue
    #[arg(long)]
    no_wait: bool,

    #[command(flatten)]
    how: How,
}

/// What `--no-wait --json` prints.
#[derive(Serialize)]
struct Queued<'a> {
    session_id: &'a str,
    status: &'a str,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let What::Submit(submit) = &arguments.what;
    let input = input(submit)?;
    if let Some(client) = Client::of(globals)? {
        return elsewhere(globals, &client, submit, input).await;
    }
    let assembled = assemble(globals)?;
    let alert = Submission {
        priority: submit.priority,
        idempotency_key: submit.key.clone(),
        ..Submission::alert(&submit.alert_type, input)
    };
    let session = assembled
        .engine
        .submit(submit.how.apply(alert, &assembled))
        .await?;
    if submit.no_wait {
        let status = assembled.store().session(&session).await?.status;
        let queued = Queued {
            session_id: session.as_str(),
            status: status.as_str(),
        };
        globals.print(&queued, |_| format!("{session}\n"))?;
        return Ok(Ending::Done);
    }
    let mut driver = Driver::new(globals, &assembled)?;
    driver.work_to_end(&session).await?;
    tell(&mut driver, &session).await
}

/// Hands the alert to a server. It works on it; nobody waits here.
async fn elsewhere(
    globals: &Globals,
    client: &Client,
    submit: &Submit,
    input: String,
) -> Result<Ending, Failure> {
    let data = serde_json::from_str(&input).unwrap_or(serde_json::Value::String(input));
    let mut body = serde_json::json!({
        "alert_type": submit.alert_type,
        "data": data,
        "priority": submit.priority,
    });
    if let Some(key) = &submit.key {
        body["idempotency_key"] = serde_json::Value::from(key.as_str());
    }
    let accepted = client.post("/alerts", &body).await?;
    globals.print(&accepted, |_| {
        let word = |name: &str| accepted[name].as_str();
        match (word("session"), word("incident")) {
            (Some(session), _) => format!("{session}\n"),
            (None, Some(incident)) => {
                format!("{incident} is kept; its session starts when the queue has room\n")
            }
            (None, None) => "nothing was done\n".to_owned(),
        }
    })?;
    Ok(Ending::Done)
}

fn input(submit: &Submit) -> Result<String, Failure> {
    match (&submit.file, submit.text.as_deref()) {
        (Some(file), _) => {
            let bytes = std::fs::read(file)
                .map_err(|error| Failure::wrong(format!("{} cannot be read: {error}", file.display())))?;
            text(bytes)
        }
        (None, Some("-")) => read_input(),
        (None, Some(text)) => Ok(text.to_owned()),
        (None, None) if std::io::stdin().is_terminal() => Err(Failure::wrong(
            "there is no alert; write it as an argument, name a --file, or pipe it in",
        )),
        (None, None) => read_input(),
    }
}
