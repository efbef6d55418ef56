//! `interlock resume`: carries on with a session that another process left.

use clap::Args;

use crate::Ending;
use crate::assemble::assemble;
use crate::drive::{Driver, is_end};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::run::tell;

/// Carry on with a session that waits, or whose process is gone.
#[derive(Args)]
#[command(after_help = "\
Example:
  interlock resume ses_1f2e3d

Nothing that was recorded is lost, and no write is run twice: one that had begun and left no receipt is looked at first. If \
another process still seems to work on the session, it is watched, and taken over once it has been silent for a minute \
(`queue.orphan_after`).

Exit codes: as for `interlock run`; 1 also if the session had ended before.")]
pub(crate) struct Arguments {
    /// The session; its id may be shortened
    #[arg(value_name = "ID")]
    session: String,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let assembled = assemble(globals)?;
    let session = assembled.store().find_session(&arguments.session).await?;
    let id = session.submitted.id;
    if is_end(session.status) {
        return Err(Failure::Unsuccessful(format!(
            "{id} had ended before: it is {}; ask more with `interlock chat --resume {id}`",
            session.status
        )));
    }
    let mut driver = Driver::new(globals, &assembled)?;
    driver.work_to_end(&id).await?;
    tell(&mut driver, &id).await
}
