//! `interlock reload`: makes a running server read its configuration again. And how `serve` and `work` do that.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use interlock_assembly::{Commit, Next, Part, Reloaded, Reloader, Sources, Trigger};
use interlock_config::{Loader, Ship};
use interlock_engine::QueueControl;
use interlock_server::Serving;
use interlock_store::Store;
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::Ending;
use crate::address;
use crate::assemble::{Assembled, open_store_to_read};
use crate::failure::Failure;
use crate::globals::{Globals, mask_with};
use crate::outside;
use crate::remote::Client;
use crate::terminal::Tone;

/// Make a running server read its configuration again.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock reload
  interlock reload --server https://interlock.example --json

The server reads and checks the whole file first. If something in it cannot be used, the error names the file, the line and \
the key, and the configuration before it stays in use. It prints the keys that changed, never their values. Keys such as \
server.listen and store need a restart. Needs the role admin and a token with the scope admin in INTERLOCK_TOKEN. Without a \
token, send the signal HUP to the server: `systemctl reload interlock`, or `kill -HUP PID`.

Exit codes: 0 the file is in use, 1 it is not, 2 the file cannot be read here and no --server is named.")]
pub(crate) struct Arguments {}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, _: &Arguments) -> Result<Ending, Failure> {
    let found = if let Some(server) = &globals.server {
        server.clone()
    } else {
        let (store, _) = open_store_to_read(globals)?;
        address::find(&store).await?.ok_or_else(|| {
            Failure::unsuccessful(
                "no server runs on this store; start one with `interlock serve`, or name one with --server",
            )
        })?
    };
    let globals = &Globals {
        server: Some(found),
        ..globals.clone()
    };
    let Some(client) = Client::of(globals)? else {
        return Err(Failure::wrong("no server is named"));
    };
    let reloaded = client.post("/reload", &json!({})).await?;
    globals.print(&reloaded, |paint| {
        let mut text = String::new();
        for warning in texts(&reloaded["warnings"]) {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "{}: {warning}", paint.paint(Tone::Careful, "warning"));
        }
        let changed = texts(&reloaded["changed"]);
        let count = |key: &str| reloaded["connections"][key].as_u64().unwrap_or_default();
        let connections = [count("kept"), count("made"), count("closed")];
        let said = summary(&changed, connections);
        let _ = writeln!(text, "{}: {said}", paint.paint(Tone::Good, "reloaded"));
        text
    })?;
    Ok(Ending::Done)
}

fn texts(list: &Value) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What a reload did, for people.
fn summary(changed: &[String], [kept, made, closed]: [u64; 3]) -> String {
    let mut said = match changed {
        [] => "no key changed".to_owned(),
        keys => format!("changed {}", keys.join(", ")),
    };
    if made + closed > 0 {
        let _ = write!(said, "; connections: {kept} kept, {made} made, {closed} closed");
    }
    said
}

/// What reloads the configuration of a process that keeps running.
pub(crate) fn reloader(
    globals: &Globals,
    assembled: &Assembled,
    listen: Option<SocketAddr>,
) -> Result<Option<Reloader>, Failure> {
    let Some(loaded) = &assembled.loaded else {
        return Ok(None);
    };
    let store = globals
        .store
        .as_ref()
        .map(|text| text.parse::<interlock_store::Options>())
        .transpose()?;
    let sources = Sources {
        loader: Loader::from_process(globals.config.as_deref()),
        folders: assembled.folders.clone(),
        // What the command line says holds whatever the file says.
        adjust: Box::new(move |config| {
            if let Some(listen) = listen {
                config.server.listen = listen;
            }
            if let Some(store) = &store {
                config.store = Some(store.clone());
            }
        }),
        masked: Box::new(|loaded| {
            outside::note(&loaded.outside);
            outside::addresses()
        }),
    };
    Ok(Some(Reloader::new(
        sources,
        assembled.engine.clone(),
        loaded,
        assembled.infra.clone(),
    )))
}

/// What a process keeps running besides the engine and the server, as a part of a reload: the log's masks, the workers, the task
/// that sends checkpoints, the address that is written down.
#[derive(Default)]
pub(crate) struct Process {
    /// The workers, where there are some.
    pub(crate) queue: Option<QueueControl>,
    /// Where checkpoints are sent.
    pub(crate) ship: Option<watch::Sender<Option<Ship>>>,
    /// Where the server is reached.
    pub(crate) address: Option<Address>,
}

/// Where the server is reached, and the store that knows it.
pub(crate) struct Address {
    store: Store,
    socket: SocketAddr,
    url: Arc<dyn Fn() -> String + Send + Sync>,
    /// What was written down last.
    kept: Arc<Mutex<String>>,
}

impl Address {
    pub(crate) fn new(store: &Store, serving: &Serving) -> Self {
        Self {
            store: store.clone(),
            socket: serving.address,
            url: Arc::new(serving.current_url()),
            kept: Arc::new(Mutex::new(serving.url())),
        }
    }

    /// Writes the address down again, if it changed.
    fn update(&self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let url = (self.url)();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if *kept == url {
            return None;
        }
        kept.clone_from(&url);
        let (store, socket) = (self.store.clone(), self.socket);
        Some(async move {
            if let Err(error) = address::keep(&store, url, socket).await {
                tracing::warn!(%error, "the new address of the server could not be written down");
            }
        })
    }
}

/// A process that takes part in reloads.
struct Following(Arc<Process>);

impl Part for Following {
    fn prepare(&self, next: &Next<'_>) -> Result<Commit, String> {
        let config = &next.loaded.config;
        let (masker, queue, ship) = (
            next.settings.masker.clone(),
            config.engine_queue(),
            config.record.ship.clone(),
        );
        let process = Arc::clone(&self.0);
        Ok(Box::new(move || {
            mask_with(&masker);
            if let Some(control) = &process.queue {
                control.set(queue);
            }
            if let Some(sender) = &process.ship {
                sender.send_if_modified(|current| {
                    let changed = *current != ship;
                    *current = ship;
                    changed
                });
            }
            if let Some(update) = process.address.as_ref().and_then(Address::update) {
                tokio::spawn(update);
            }
        }))
    }
}

/// Reloads the configuration when the process gets the signal HUP.
pub(crate) struct OnSignal {
    reloader: Option<Reloader>,
    hang_up: Signal,
    /// Whether it was started at a terminal: closing that sends the same signal.
    at_terminal: bool,
}

impl OnSignal {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            reloader: None,
            hang_up: signal(SignalKind::hangup())?,
            at_terminal: std::io::stdin().is_terminal(),
        })
    }

    /// From now on signals reload with this one, and what the process keeps running follows.
    pub(crate) fn follow(&mut self, reloader: Option<Reloader>, process: Process) {
        if let Some(reloader) = &reloader {
            reloader.join(Arc::new(Following(Arc::new(process))));
        }
        self.reloader = reloader;
    }

    /// Reloads at each signal. Returns when the terminal is gone: then the process is to end.
    pub(crate) async fn run(&mut self, globals: &Globals) {
        while self.hang_up.recv().await.is_some() {
            if self.at_terminal && !std::io::stdin().is_terminal() {
                return;
            }
            let Some(reloader) = &self.reloader else {
                globals.say("there is no configuration file that could be reloaded");
                continue;
            };
            // A refusal is in the log.
            if let Ok(reloaded) = reloader.reload(Trigger::Signal).await {
                globals.say(&told(&reloaded));
            }
        }
        std::future::pending::<()>().await;
    }
}

fn told(reloaded: &Reloaded) -> String {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let connections = reloaded.connections;
    let numbers = [connections.kept, connections.made, connections.closed].map(number);
    format!("reloaded: {}", summary(&reloaded.changed, numbers))
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn a_reload_is_told_in_one_line() {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        for (changed, connections, said) in [
            (keys(&[]), [3, 0, 0], "no key changed"),
            (keys(&["control.level"]), [3, 0, 0], "changed control.level"),
            (
                keys(&["control.level", "infrastructure.hosts[nas]"]),
                [3, 0, 1],
                "changed control.level, infrastructure.hosts[nas]; connections: 3 kept, 0 made, 1 closed",
            ),
        ] {
            assert_eq!(summary(&changed, connections), said);
        }
    }
}
