//! The two that listen: to the store for what is kept, by any process, and to the engine for what is not.

use std::sync::{Arc, Weak};
use std::time::Duration;

use interlock_dialect::Channel as Text;
use interlock_engine::Live;
use interlock_protocol::{ExecutionId, SessionId};
use interlock_store::{Error, Feed, Placed, Store};
use metrics::counter;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, sleep_until};

use super::hub::{Hub, Inner};
use super::{Channel, Frame};

/// How many events are taken out of the store at once.
const BATCH: u32 = 500;
/// How long pieces of text are gathered before they go out.
const GATHER: Duration = Duration::from_millis(20);
/// How much text is gathered at most.
const GATHERED: usize = 16 * 1024;
/// How long to wait after the store did not answer, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How often the kill switch is looked at, which another process may have moved.
const LOOK: Duration = Duration::from_millis(500);
/// How often it is looked whether what is watched was deleted.
const LOOK_GONE: Duration = Duration::from_secs(1);

/// Begins to listen. Ends with the hub.
pub(super) fn spawn(hub: &Hub, store: Store, feed: Feed, live: broadcast::Receiver<Live>) {
    let (sender, kept) = mpsc::channel(1);
    let (inner, ended) = (Arc::downgrade(&hub.inner), &hub.inner.ended);
    tokio::spawn(ended.clone().run_until_cancelled_owned(tail(feed, sender)));
    tokio::spawn(
        ended
            .clone()
            .run_until_cancelled_owned(hand_out(inner.clone(), kept, live)),
    );
    tokio::spawn(
        ended
            .clone()
            .run_until_cancelled_owned(watch_writes(inner.clone(), store.clone())),
    );
    tokio::spawn(ended.clone().run_until_cancelled_owned(watch_gone(inner, store)));
}

/// Reads what is kept, however often that fails. The feed remembers where it is.
async fn tail(mut feed: Feed, sender: mpsc::Sender<Vec<Placed>>) {
    let mut wait = RETRY.0;
    loop {
        match feed.next(BATCH).await {
            Ok(events) => {
                wait = RETRY.0;
                if sender.send(events).await.is_err() {
                    return;
                }
            }
            Err(Error::Closed) => return,
            Err(error) => {
                counter!("interlock_hub_errors_total").increment(1);
                tracing::warn!(%error, "what happened cannot be read from the store; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(RETRY.1);
            }
        }
    }
}

/// Hands everything to the hub. What a model wrote before an event goes out before it.
async fn hand_out(
    hub: Weak<Inner>,
    mut kept: mpsc::Receiver<Vec<Placed>>,
    mut live: broadcast::Receiver<Live>,
) {
    let mut gathered = Gathered::default();
    let mut engine = true;
    loop {
        let due = gathered.due();
        let turn = tokio::select! {
            events = kept.recv() => match events {
                Some(events) => Turn::Kept(events),
                None => return,
            },
            happened = live.recv(), if engine => Turn::Live(happened),
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Turn::Due,
        };
        let Some(hub) = hub.upgrade() else {
            return;
        };
        match turn {
            Turn::Kept(events) => {
                // The engine tells of a piece of text before it keeps what follows from it.
                loop {
                    match live.try_recv() {
                        Ok(happened) => gathered.take(&hub, happened),
                        Err(TryRecvError::Lagged(missed)) => lagged(missed),
                        Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                    }
                }
                gathered.flush(&hub);
                hub.hand_out(&events);
            }
            Turn::Live(Ok(happened)) => gathered.take(&hub, happened),
            Turn::Live(Err(RecvError::Lagged(missed))) => lagged(missed),
            Turn::Live(Err(RecvError::Closed)) => engine = false,
            Turn::Due => gathered.flush(&hub),
        }
    }
}

enum Turn {
    Kept(Vec<Placed>),
    Live(Result<Live, RecvError>),
    Due,
}

/// Only pieces of text are lost: what is kept comes from the store.
fn lagged(missed: u64) {
    counter!("interlock_hub_missed_total").increment(missed);
}

/// Pieces of text that wait for more.
#[derive(Default)]
struct Gathered {
    pieces: Vec<Piece>,
    since: Option<Instant>,
}

struct Piece {
    session: SessionId,
    execution: ExecutionId,
    kind: &'static str,
    text: String,
}

impl Gathered {
    fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + GATHER)
    }

    fn take(&mut self, hub: &Inner, happened: Live) {
        match happened {
            Live::Event(event) => {
                // In the engine's own order: what it wrote before this is handed out before this is.
                self.flush(hub);
                hub.note_kept(&event);
            }
            Live::Chunk {
                session,
                execution,
                channel,
                text,
            } => {
                let kind = match channel {
                    Text::Text | Text::Answer => "text",
                    Text::Thinking => "thinking",
                };
                self.since.get_or_insert_with(Instant::now);
                // Behind the last piece of the same execution, so that its own order stays.
                let last = self.pieces.iter_mut().rfind(|piece| piece.execution == execution);
                match last {
                    Some(piece) if piece.kind == kind => {
                        piece.text.push_str(&text);
                        if piece.text.len() >= GATHERED {
                            self.flush(hub);
                        }
                    }
                    _ => self.pieces.push(Piece {
                        session,
                        execution,
                        kind,
                        text,
                    }),
                }
            }
            Live::Asking {
                session,
                execution,
                model,
                iteration,
            } => {
                self.flush(hub);
                hub.hand_out_asked((&session, &execution), &model, iteration);
            }
        }
    }

    fn flush(&mut self, hub: &Inner) {
        self.since = None;
        for piece in self.pieces.drain(..) {
            hub.hand_out_text((&piece.session, &piece.execution), piece.kind, &piece.text);
        }
    }
}

/// Tells those who watch the sessions when writes are stopped, also once more, or let go, by any process.
async fn watch_writes(hub: Weak<Inner>, store: Store) {
    let mut known = None;
    loop {
        match store.switch().await {
            Ok(switch) => {
                let (stopped, seen) = (switch.stopped, (switch.stopped, switch.revision));
                if known.replace(seen).is_some_and(|known| known != seen)
                    && let Some(hub) = hub.upgrade()
                {
                    hub.hand_out_transient(&Arc::new(Frame::writes(stopped)));
                }
            }
            Err(Error::Closed) => return,
            Err(error) => tracing::debug!(%error, "the kill switch cannot be looked at"),
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Ends what is watched of sessions that were deleted, by any process: whoever begins to watch is told the same.
async fn watch_gone(hub: Weak<Inner>, store: Store) {
    loop {
        tokio::time::sleep(LOOK_GONE).await;
        let Some(watched) = hub.upgrade().map(|hub| hub.watched_sessions()) else {
            return;
        };
        if watched.is_empty() {
            continue;
        }
        match store.gone(watched).await {
            Ok(gone) => {
                if let Some(hub) = hub.upgrade() {
                    gone.into_iter()
                        .map(Channel::Session)
                        .for_each(|channel| hub.end(&channel));
                }
            }
            Err(Error::Closed) => return,
            Err(error) => tracing::debug!(%error, "it cannot be looked whether sessions were deleted"),
        }
    }
}
