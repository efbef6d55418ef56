//! `interlock work`: takes what waits in the queue, until it is told to stop.

use std::time::Duration;

use clap::Args;
use interlock_protocol::Status;
use interlock_store::Filter;
use serde::Serialize;

use crate::Ending;
use crate::assemble::assemble;
use crate::drive::Interrupt;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::reload::{self, OnSignal, Process};

/// How often to look whether anything is left, with `--until-idle`.
const LOOK: Duration = Duration::from_millis(200);

/// Work on what waits in the queue.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock work
  interlock work --until-idle

Takes sessions that `interlock alert submit --no-wait` and others put into the queue, sessions whose hold was decided, and \
sessions whose process is gone; ends holds that nobody decided in time; and removes what `retention` says. Ctrl-C or a \
termination signal stops it in order: what runs comes to a point where another process can go on. The signal HUP reads the \
configuration again.

Exit codes: 0 it stopped in order, 1 it could not go on.")]
pub(crate) struct Arguments {
    /// Stop when nothing waits and nothing runs
    #[arg(long)]
    until_idle: bool,
}

#[derive(Serialize)]
struct Form {
    pending: usize,
    held: usize,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let assembled = assemble(globals)?;
    let store = assembled.store().clone();
    let mut interrupt = Interrupt::of_service()?;
    let mut on_signal = OnSignal::new()?;
    let workers = assembled.engine.start(&assembled.queue);
    on_signal.follow(
        reload::reloader(globals, &assembled, None)?,
        Process {
            queue: Some(workers.control()),
            ..Process::default()
        },
    );
    globals.say("working; Ctrl-C stops in order");
    let count = async |statuses: &[Status]| {
        let filter = Filter {
            statuses: statuses.to_vec(),
            limit: u32::MAX,
            ..Filter::default()
        };
        store.sessions(&filter).await.map(|sessions| sessions.len())
    };
    let idle = async {
        loop {
            let busy = [Status::Pending, Status::InProgress, Status::Cancelling];
            if arguments.until_idle && count(&busy).await? == 0 {
                return Ok::<(), Failure>(());
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    let ended = tokio::select! {
        ended = idle => ended,
        () = interrupt.recv() => Ok(()),
        () = on_signal.run(globals) => Ok(()),
    };
    globals.say("stopping in order");
    workers.drain().await;
    ended?;
    let form = Form {
        pending: count(&[Status::Pending]).await?,
        held: count(&[Status::Held]).await?,
    };
    globals.print(&form, |_| {
        format!(
            "{} left in the queue, {} wait for a human\n",
            form.pending, form.held
        )
    })?;
    Ok(Ending::Done)
}
