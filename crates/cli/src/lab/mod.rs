//! `interlock lab`: the simulated cluster by itself, for people who point their own model or tool at it.

pub(crate) mod connect;
mod remote;
pub(crate) mod serve;

use clap::{Args, Subcommand};
use interlock_lab::{Described, Incident};

pub(crate) use remote::incident;
pub(crate) use serve::warning;

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::table::Table;
use crate::terminal::Tone;

/// Run the simulated cluster, and break and mend things in it.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
Examples:
  interlock lab serve
  interlock lab incidents
  interlock lab inject disk-full
  interlock lab clear disk-full"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run the lab until it is interrupted, and print its addresses and credentials
    Serve(serve::Serve),
    /// List the incidents
    #[command(after_help = "Example:\n  interlock lab incidents --json")]
    Incidents,
    /// Break something in the running lab
    #[command(after_help = "Example:\n  interlock lab inject service-crash")]
    Inject(remote::Which),
    /// Mend something in the running lab, whatever was done to it
    #[command(after_help = "Example:\n  interlock lab clear service-crash")]
    Clear(remote::Which),
    /// Ask the oracle whether an incident is over
    #[command(after_help = "\
Example:
  interlock lab verdict service-crash --json

Exit codes: 0 it is over, 1 it is not.")]
    Verdict(remote::Which),
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    match &arguments.what {
        What::Serve(serve) => serve::run(globals, serve).await,
        What::Incidents => incidents(globals),
        What::Inject(which) => remote::inject(globals, which).await,
        What::Clear(which) => remote::clear(globals, which).await,
        What::Verdict(which) => remote::verdict(globals, which).await,
    }
}

fn incidents(globals: &Globals) -> Result<Ending, Failure> {
    let all: Vec<Described> = Incident::ALL.iter().copied().map(Described::from).collect();
    globals.print(&all, |paint| {
        let mut table = Table::new(&["INCIDENT", "WHAT HAPPENS"]);
        for incident in Incident::ALL {
            let name = (incident.name().to_owned(), Some(Tone::Strong));
            table.row(vec![name, (incident.summary().to_owned(), None)]);
        }
        table.render(paint)
    })?;
    Ok(Ending::Done)
}
