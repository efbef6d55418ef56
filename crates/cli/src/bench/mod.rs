//! `interlock bench`: how much of this machine the engine itself needs.

mod sessions;

use clap::{Args, Subcommand};

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;

/// Measure what the engine itself costs.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock bench sessions --model-url http://127.0.0.1:8080/v1 --json")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Run many sessions against a server that speaks as `OpenAI`'s does, and say what each cost.
    Sessions(sessions::Arguments),
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    match &arguments.what {
        What::Sessions(arguments) => sessions::run(globals, arguments).await,
    }
}
