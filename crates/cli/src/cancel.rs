//! `interlock cancel`: stops a session, wherever it stands.

use clap::Args;
use interlock_protocol::Status;
use interlock_store::Cancelled;
use jiff::Timestamp;
use serde::Serialize;

use crate::Ending;
use crate::assemble::{assemble, bare};
use crate::drive::{Driver, is_end};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::remote::{Client, id};

/// How long to wait for the process that works on the session.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);
const POLL: std::time::Duration = std::time::Duration::from_millis(200);

/// Stop a session.
#[derive(Args)]
#[command(after_help = "\
Example:
  interlock cancel ses_1f2e3d

A call that is running is stopped, and a write that had begun is looked at before the session ends. A process that works on \
the session notices within a second.

Exit codes: 0 it is over, or being stopped; 1 it had ended before, or there is no such session.")]
pub(crate) struct Arguments {
    /// The session; its id may be shortened
    #[arg(value_name = "ID")]
    session: String,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Form<'a> {
    session_id: &'a str,
    status: Status,
    cancelled: bool,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if let Some(client) = Client::of(globals)? {
        let session = id(&arguments.session)?;
        let answer = client
            .post(&format!("/sessions/{session}/cancel"), &serde_json::json!({}))
            .await?;
        let result = answer["result"].as_str().unwrap_or("").to_owned();
        globals.print(&answer, |_| format!("{session}: {result}\n"))?;
        return Ok(if result == "ended" {
            Ending::Unsuccessful
        } else {
            Ending::Done
        });
    }
    // Asking for it needs nothing but the store: stopping must work when the configuration does not. Winding up a session
    // that nobody has needs the rest.
    let (assembled, whole) = match assemble(globals) {
        Ok(assembled) => (assembled, true),
        Err(_) => (bare(globals)?, false),
    };
    let store = assembled.store();
    let session = store.find_session(&arguments.session).await?.submitted.id;
    let cancelled = assembled.engine.cancel(&session, &assembled.by).await?;
    if cancelled == Cancelled::Requested {
        let until = Timestamp::now() + PATIENCE;
        loop {
            let now = store.session(&session).await?;
            if is_end(now.status) || Timestamp::now() >= until {
                break;
            }
            if now.worker.is_none() && whole {
                // Nobody has it: it is wound up here.
                Driver::new(globals, &assembled)?.work(&session).await?;
                break;
            }
            tokio::time::sleep(POLL).await;
        }
    }
    let status = store.session(&session).await?.status;
    let form = Form {
        session_id: session.as_str(),
        status,
        cancelled: cancelled != Cancelled::Ended,
    };
    globals.print(&form, |_| match cancelled {
        Cancelled::Ended => format!("{session} had ended before: it is {status}\n"),
        Cancelled::Now | Cancelled::Requested if is_end(status) => format!("{session} is {status}\n"),
        Cancelled::Now | Cancelled::Requested => {
            format!("{session} is being stopped: the process that works on it ends it\n")
        }
    })?;
    Ok(match cancelled {
        Cancelled::Ended => Ending::Unsuccessful,
        Cancelled::Now | Cancelled::Requested => Ending::Done,
    })
}
