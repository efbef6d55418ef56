//! What is happening now, for whoever watches. Nothing here is the record: that is in the store.

use interlock_dialect::Channel;
use interlock_protocol::{Event, ExecutionId, SessionId};
use tokio::sync::broadcast;

/// How many things a slow watcher may fall behind before it misses some.
const BEHIND: usize = 4096;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Live {
    /// An event, after it was kept.
    Event(Box<Event>),
    /// A model writes. Not kept.
    Chunk {
        /// The session.
        session: SessionId,
        /// The agent at work.
        execution: ExecutionId,
        /// What kind of text.
        channel: Channel,
        /// The text.
        text: String,
    },
    /// A model is asked. Not kept.
    Asking {
        /// The session.
        session: SessionId,
        /// The agent at work.
        execution: ExecutionId,
        /// The model, by its name in the configuration.
        model: String,
        /// How many times it was asked before.
        iteration: u32,
    },
}

impl Live {
    /// The session that it is about.
    pub fn session(&self) -> &SessionId {
        match self {
            Self::Event(event) => &event.session,
            Self::Chunk { session, .. } | Self::Asking { session, .. } => session,
        }
    }
}

/// Tells everyone who watches.
#[derive(Debug, Clone)]
pub(crate) struct Broadcast(broadcast::Sender<Live>);

impl Default for Broadcast {
    fn default() -> Self {
        Self(broadcast::channel(BEHIND).0)
    }
}

impl Broadcast {
    pub(crate) fn watch(&self) -> broadcast::Receiver<Live> {
        self.0.subscribe()
    }

    /// Makes the message only if somebody watches.
    pub(crate) fn tell(&self, live: impl FnOnce() -> Live) {
        if self.0.receiver_count() > 0 {
            // Nobody left in between is nobody to tell.
            let _ = self.0.send(live());
        }
    }
}
