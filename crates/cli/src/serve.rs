//! `interlock serve`: the API and the page, and workers that take what waits in the queue.

use std::net::SocketAddr;

use clap::Args;
use interlock_assembly::Reloader;
use interlock_engine::Workers;
use interlock_server::{App, Parts, Recorded, Serving, install_metrics, sign_in_link};
use interlock_store::Store;
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::Ending;
use crate::address;
use crate::assemble::{Assembled, assemble};
use crate::drive::Interrupt;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::reload::{self, Address, OnSignal, Process};
use crate::terminal::Tone;

/// Serve the API and the page, and work on what waits in the queue.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock serve
  interlock serve --config /etc/interlock/interlock.yaml
  interlock serve --listen 127.0.0.1:8080

The first start makes an admin and prints a link with which one signs in once. Somebody who has lost theirs gets another \
from `interlock user link NAME`. Listens on loopback unless the configuration says otherwise; anything else needs TLS or a \
trusted proxy. Ctrl-C or a termination signal stops it in order: nothing that runs is lost.

The signal HUP, `interlock reload` and POST /api/v1/reload read the configuration again without a restart. If the file \
cannot be used, the configuration before it stays in use, and the log, /ready and the page say so.

With --json the address and the link are one JSON document on standard output.

Exit codes: 0 it stopped in order, 1 it could not go on, 2 wrong configuration.")]
pub(crate) struct Arguments {
    /// Where to listen, in place of what the configuration says
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,

    /// Serve only: leave the queue to `interlock work` in other processes
    #[arg(long)]
    no_workers: bool,
}

#[derive(Serialize)]
struct Form<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in_link: Option<&'a str>,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let metrics = install_metrics();
    let mut assembled = assemble(globals)?;
    if let Some(listen) = arguments.listen {
        assembled.config.server.listen = listen;
    }
    let mut interrupt = Interrupt::of_service()?;
    let mut on_signal = OnSignal::new()?;
    let reloader = reload::reloader(globals, &assembled, arguments.listen)?;
    let serving = start(&assembled, metrics, reloader.clone(), false).await?;
    let workers = (!arguments.no_workers).then(|| assembled.engine.start(&assembled.queue));
    let (ship, shipped) = watch::channel(assembled.config.record.ship.clone());
    on_signal.follow(
        reloader,
        Process {
            queue: workers.as_ref().map(Workers::control),
            ship: Some(ship),
            address: Some(Address::new(assembled.store(), &serving)),
        },
    );
    let link = first_link(assembled.store(), &serving.url()).await?;
    tell(globals, &serving, link.as_deref())?;
    let last = CancellationToken::new();
    let store = assembled.store().clone();
    let shipping = tokio::spawn(crate::ship::run(store, shipped, last.clone()));
    tokio::select! {
        () = interrupt.recv() => {}
        () = on_signal.run(globals) => {}
    }
    globals.say("stopping in order; once more stops at once");
    let down = async {
        serving.stop().await;
        if let Some(workers) = workers {
            workers.drain().await;
        }
        if let Err(error) = address::forget(assembled.store()).await {
            tracing::warn!(%error, "where the server was is still written down");
        }
        // After everything else: what was signed until here is sent, too.
        last.cancel();
        // A task that panicked has said so already.
        let _ = shipping.await;
        assembled.store().close().await;
    };
    tokio::select! {
        () = down => Ok(Ending::Done),
        () = interrupt.recv() => Err(Failure::Interrupted),
    }
}

/// Begins to serve what was put together.
pub(crate) async fn start(
    assembled: &Assembled,
    metrics: Recorded,
    reloader: Option<Reloader>,
    demo: bool,
) -> Result<Serving, Failure> {
    let app = App::new(Parts {
        engine: assembled.engine.clone(),
        infra: assembled.infra.clone(),
        config: assembled.config.clone(),
        file: assembled.file.clone(),
        reloader,
        metrics,
        demo,
    })
    .await
    .map_err(Failure::wrong)?;
    let serving = interlock_server::serve(app).await.map_err(Failure::wrong)?;
    address::keep(assembled.store(), serving.url(), serving.address).await?;
    Ok(serving)
}

/// A link for whoever starts the server first; nothing if somebody has been here already.
async fn first_link(store: &Store, url: &str) -> Result<Option<String>, Failure> {
    let users = store.users().await?;
    if users
        .iter()
        .any(|user| user.seen_at.is_some() || user.password.is_some())
    {
        return Ok(None);
    }
    match sign_in_link(store, None).await {
        Ok((_, secret)) => Ok(Some(link(url, &secret))),
        Err(error) => {
            tracing::warn!(%error, "there is no first link; make one with `interlock user link NAME`");
            Ok(None)
        }
    }
}

/// The whole link. What is secret stands behind the `#`: browsers send that to nobody.
pub(crate) fn link(url: &str, secret: &str) -> String {
    format!("{}/sign-in#link={secret}", url.trim_end_matches('/'))
}

fn tell(globals: &Globals, serving: &Serving, link: Option<&str>) -> Result<(), Failure> {
    let url = serving.url();
    let form = Form {
        url: &url,
        sign_in_link: link,
    };
    if globals.json {
        return globals.print(&form, |_| String::new());
    }
    let paint = globals.paint(&std::io::stderr());
    globals.say(&format!("serving on {}", paint.paint(Tone::Strong, &url)));
    if let Some(link) = link {
        globals.say(&format!(
            "sign in as the admin, once, within 15 minutes:\n\n  {link}\n"
        ));
    }
    globals.say("Ctrl-C stops in order");
    Ok(())
}
