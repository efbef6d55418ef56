//! The hub: who watches what, and handing what happens to them.
//!
//! Each event becomes one frame for each channel that somebody watches, however many do. Whoever begins to watch joins
//! first, reads the past from the store next, and is handed what happens from the moment on at which both meet: nothing
//! is missed in between and nothing comes twice. The hub never waits for a reader and never reads the store itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use interlock_engine::Engine;
use interlock_protocol::{Event, ExecutionId, SessionId};
use interlock_store::Placed;
use metrics::{Counter, Gauge, counter, gauge};
use tokio_util::sync::CancellationToken;

use super::channel::OF_SESSIONS;
use super::mailbox::{Mailbox, Pushed};
use super::rights::Rights;
use super::so_far::SoFar;
use super::source::Source;
use super::subscriber::Subscriber;
use super::{Channel, Frame, tail};

/// What ends a session.
const OVER: &str = "session.completed";

/// Hands what happens to everybody who watches. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Hub {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    source: Source,
    state: Mutex<State>,
    ids: AtomicU64,
    rights: Rights,
    /// Ends those who listen.
    pub(super) ended: CancellationToken,
    counts: Counts,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// What is counted all the time, looked up once.
struct Counts {
    position: Gauge,
    subscriptions: Gauge,
    dropped: Counter,
    slow: Counter,
}

#[derive(Default)]
struct State {
    position: u64,
    watched: HashMap<Channel, Watched>,
    so_far: SoFar,
}

/// A channel that somebody watches.
#[derive(Default)]
struct Watched {
    /// The last place that was handed out since the first watcher joined.
    last: Option<u64>,
    watchers: HashMap<u64, Watcher>,
}

struct Watcher {
    mailbox: Arc<Mailbox>,
    /// The place after which they are handed what happens; nothing while they read the past.
    from: Option<u64>,
}

impl Hub {
    /// Begins to listen to the store and to the engine. Ends with the last handle.
    pub(crate) async fn start(engine: &Engine) -> Result<Self, crate::Error> {
        let store = engine.store().clone();
        let feed = store.feed().await?;
        let hub = Self::over(Source::Store(store.clone()), feed.position());
        tail::spawn(&hub, store, feed, engine.watch());
        Ok(hub)
    }

    /// Over a source, handed what happens by the caller.
    pub(super) fn over(source: Source, position: u64) -> Self {
        let hub = Self {
            inner: Arc::new(Inner {
                source,
                state: Mutex::new(State {
                    position,
                    ..State::default()
                }),
                ids: AtomicU64::new(1),
                rights: Rights::default(),
                ended: CancellationToken::new(),
                counts: Counts {
                    position: gauge!("interlock_hub_position"),
                    subscriptions: gauge!("interlock_subscriptions"),
                    dropped: counter!("interlock_ws_dropped_total"),
                    slow: counter!("interlock_ws_slow_total"),
                },
            }),
        };
        hub.inner.counts.position.set(as_float(position));
        hub
    }

    /// Somebody who will watch.
    pub(crate) fn subscriber(&self) -> Subscriber {
        Subscriber::new(self.clone(), self.inner.ids.fetch_add(1, Ordering::Relaxed))
    }

    /// Who may go on watching.
    pub(crate) fn rights(&self) -> &Rights {
        &self.inner.rights
    }

    pub(super) fn source(&self) -> &Source {
        &self.inner.source
    }

    pub(super) fn join(&self, channel: &Channel, id: u64, mailbox: &Arc<Mailbox>) {
        self.inner.join(channel, id, mailbox);
    }

    pub(super) fn leave(&self, channel: &Channel, id: u64) {
        self.inner.leave(channel, id);
    }

    pub(super) fn handed_out(&self, channel: &Channel) -> Option<u64> {
        self.inner.lock().watched.get(channel)?.last
    }

    /// From here on they are handed what happens, if they have read all that was handed out. What a model has written so
    /// far comes first: in the same step, so that the next piece goes on where it ends.
    pub(super) fn attach(&self, channel: &Channel, id: u64, read: u64) -> bool {
        let mut state = self.inner.lock();
        let State { watched, so_far, .. } = &mut *state;
        let Some(watched) = watched.get_mut(channel) else {
            return false;
        };
        if watched.last.is_some_and(|last| last > read) {
            return false;
        }
        let Some(reader) = watched.watchers.get_mut(&id) else {
            return false;
        };
        reader.from = Some(read);
        if let Channel::Session(session) = channel {
            for frame in &so_far.frames(session) {
                self.inner.note(reader.mailbox.push(frame));
            }
        }
        true
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, channel: &Channel, id: u64, mailbox: &Arc<Mailbox>) {
        let reader = Watcher {
            mailbox: Arc::clone(mailbox),
            from: None,
        };
        let mut state = self.lock();
        let watched = state.watched.entry(channel.clone()).or_default();
        if watched.watchers.insert(id, reader).is_none() {
            self.counts.subscriptions.increment(1);
        }
    }

    fn leave(&self, channel: &Channel, id: u64) {
        let mut state = self.lock();
        let Some(watched) = state.watched.get_mut(channel) else {
            return;
        };
        if watched.watchers.remove(&id).is_some() {
            self.counts.subscriptions.decrement(1);
        }
        if watched.watchers.is_empty() {
            state.watched.remove(channel);
        }
    }

    /// Whether anybody watches a channel.
    #[cfg(test)]
    pub(super) fn is_watched(&self, channel: &Channel) -> bool {
        self.lock().watched.contains_key(channel)
    }

    /// The sessions that somebody watches.
    pub(super) fn watched_sessions(&self) -> Vec<SessionId> {
        let session = |channel: &Channel| match channel {
            Channel::Session(session) => Some(session.clone()),
            Channel::Sessions => None,
        };
        self.lock().watched.keys().filter_map(session).collect()
    }

    /// A channel is there no more: everybody who watches it is told, and leaves it.
    pub(super) fn end(&self, channel: &Channel) {
        if let Some(watched) = self.lock().watched.get(channel) {
            for watcher in watched.watchers.values() {
                watcher.mailbox.end(channel);
            }
        }
    }

    /// Hands out events, in the order of the store.
    pub(super) fn hand_out(&self, events: &[Placed]) {
        let mut state = self.lock();
        for event in events {
            let own = Channel::Session(event.session.clone());
            self.hand_to(&mut state, &own, event);
            if OF_SESSIONS.contains(&event.kind.as_str()) {
                self.hand_to(&mut state, &Channel::Sessions, event);
            }
            // Also where another process ended it.
            if event.kind == OVER {
                state.so_far.over(&event.session);
            }
            state.position = event.position;
        }
        self.counts.position.set(as_float(state.position));
    }

    fn hand_to(&self, state: &mut State, channel: &Channel, event: &Placed) {
        let Some(watched) = state.watched.get_mut(channel) else {
            return;
        };
        let position = channel.position(event);
        watched.last = Some(position);
        let mut frame = None;
        for watcher in watched.watchers.values_mut() {
            if watcher.from.is_some_and(|from| from < position) {
                let frame = frame.get_or_insert_with(|| Arc::new(Frame::event(channel, event)));
                watcher.from = Some(position);
                self.note(watcher.mailbox.push(frame));
            }
        }
    }

    /// Hands out what is kept nowhere. Those who still read the past go without.
    pub(super) fn hand_out_transient(&self, frame: &Arc<Frame>) {
        self.hand_to_all(&self.lock(), frame);
    }

    /// Hands out a piece of what a model writes. Those who still read the past get it when they are through.
    pub(super) fn hand_out_text(
        &self,
        (session, execution): (&SessionId, &ExecutionId),
        kind: &'static str,
        text: &str,
    ) {
        let mut state = self.lock();
        state.so_far.wrote(session, execution, kind, text);
        if state.watched.contains_key(&Channel::Session(session.clone())) {
            let frame = Frame::chunk(session, execution, kind, text);
            self.hand_to_all(&state, &Arc::new(frame));
        }
    }

    /// Tells that a model is asked.
    pub(super) fn hand_out_asked(
        &self,
        (session, execution): (&SessionId, &ExecutionId),
        model: &str,
        iteration: u32,
    ) {
        let frame = Arc::new(Frame::asked(session, execution, model, iteration));
        let mut state = self.lock();
        state.so_far.asked(session, execution, Arc::clone(&frame));
        self.hand_to_all(&state, &frame);
    }

    /// Something was kept here: what a model wrote of it need not be remembered any more.
    pub(super) fn note_kept(&self, event: &Event) {
        self.lock().so_far.kept(event);
    }

    fn hand_to_all(&self, state: &State, frame: &Arc<Frame>) {
        let Some(watched) = state.watched.get(frame.channel()) else {
            return;
        };
        for watcher in watched.watchers.values() {
            if watcher.from.is_some() {
                self.note(watcher.mailbox.push(frame));
            }
        }
    }

    fn note(&self, pushed: Pushed) {
        match pushed {
            Pushed::Kept | Pushed::Slow => {}
            Pushed::Dropped(count) => self.counts.dropped.increment(count),
        }
    }

    /// A reader was too slow and is let go.
    pub(super) fn note_slow(&self) {
        self.counts.slow.increment(1);
    }
}

/// A gauge is a float; places stay exact up to 2^53.
#[expect(clippy::cast_precision_loss, reason = "a gauge has no other type")]
fn as_float(number: u64) -> f64 {
    number as f64
}
