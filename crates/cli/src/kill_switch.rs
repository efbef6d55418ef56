//! `interlock kill-switch`: stops all writes, of every process on the store.

use clap::{Args, ValueEnum};
use interlock_gate::KillSwitch;
use serde::Serialize;

use crate::Ending;
use crate::assemble::{bare, bare_to_stop};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::remote::Client;
use crate::terminal::Tone;

/// Stop all writes at once, or let them go again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock kill-switch on
  interlock kill-switch status --json

While it is on no write begins, in any process on this store, whatever was approved. Reads go on. With --store it needs no \
configuration at all.

Exit codes: 0 done, 1 not done.")]
pub(crate) struct Arguments {
    /// What to do
    #[arg(value_enum, default_value_t)]
    what: What,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum What {
    /// Stop all writes
    On,
    /// Let writes go again
    Off,
    /// Say which it is
    #[default]
    Status,
}

#[derive(Serialize)]
struct Form {
    engaged: bool,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if let Some(client) = Client::of(globals)? {
        let writes = match arguments.what {
            What::On => client.post("/writes/stop", &serde_json::json!({})).await?,
            What::Off => client.post("/writes/resume", &serde_json::json!({})).await?,
            What::Status => client.get("/overview").await?["writes"].take(),
        };
        return say(globals, writes["stopped"].as_bool().unwrap_or(true));
    }
    let assembled = match arguments.what {
        What::On => bare_to_stop(globals)?,
        What::Off | What::Status => bare(globals)?,
    };
    match arguments.what {
        What::On => {
            assembled
                .engine
                .stop_writes(KillSwitch::Engaged, &assembled.by, None)
                .await?;
        }
        What::Off => {
            assembled
                .engine
                .stop_writes(KillSwitch::Released, &assembled.by, None)
                .await?;
        }
        What::Status => {}
    }
    say(globals, engaged(assembled.store()).await?)
}

fn say(globals: &Globals, engaged: bool) -> Result<Ending, Failure> {
    globals.print(&Form { engaged }, |paint| {
        if engaged {
            format!("{}: no write begins\n", paint.paint(Tone::Bad, "on"))
        } else {
            format!(
                "{}: writes are decided as usual\n",
                paint.paint(Tone::Good, "off")
            )
        }
    })?;
    Ok(Ending::Done)
}

/// Whether writes are stopped.
pub(crate) async fn engaged(store: &interlock_store::Store) -> Result<bool, Failure> {
    Ok(store.switch().await?.stopped)
}
