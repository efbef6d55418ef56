//! Every event of every session, in the order in which they were kept, for whoever hands them on.

use interlock_protocol::{Sequence, SessionId};

use tokio::sync::watch;

use crate::sqlite::look;
use crate::store::POLL;
use crate::{Error, Store};

/// An event with its place among all events. The event itself stays as it is kept, so that handing it on costs nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Its place among all events of the store. Grows, with gaps.
    pub position: u64,
    /// The session.
    pub session: SessionId,
    /// Its place in the session.
    pub sequence: Sequence,
    /// The `type`: `session.status`, `hold.opened`.
    pub kind: String,
    /// The whole event as JSON: what [`interlock_protocol::Event`] serialises to.
    pub json: String,
}

/// Hands out what is kept from now on, by this process or another, each event once and in order.
#[derive(Debug)]
pub struct Feed {
    store: Store,
    position: u64,
    /// Counts what this process has told.
    told: watch::Receiver<u64>,
    /// What was seen of the writes of others.
    version: Option<i64>,
}

impl Feed {
    /// The place up to which it has handed out.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// What was kept since the last call, at least one and at most `limit` events. Waits until there is something.
    /// Whoever stops waiting misses nothing.
    pub async fn next(&mut self, limit: u32) -> Result<Vec<Placed>, Error> {
        loop {
            // Before looking: what happens while it looks is looked at again.
            self.told.borrow_and_update();
            let events = self.store.all_events(self.position, &[], limit.max(1)).await?;
            if let Some(last) = events.last() {
                self.position = last.position;
                return Ok(events);
            }
            self.wait().await?;
        }
    }

    /// Until this process told something, or anyone wrote.
    async fn wait(&mut self) -> Result<(), Error> {
        loop {
            if let Ok(changed) = tokio::time::timeout(POLL, self.told.changed()).await {
                return changed.map_err(|_| Error::Closed);
            }
            let version = self.store.data_version().await?;
            if self.version.replace(version) != Some(version) {
                return Ok(());
            }
        }
    }
}

impl Store {
    /// A feed of what is kept from now on.
    pub async fn feed(&self) -> Result<Feed, Error> {
        Ok(self.feed_after(self.last_position().await?))
    }

    /// A feed of what was kept after a place, and of everything that is kept from now on.
    pub fn feed_after(&self, position: u64) -> Feed {
        Feed {
            store: self.clone(),
            position,
            told: self.told(),
            version: None,
        }
    }

    /// The place of the last event of all.
    pub async fn last_position(&self) -> Result<u64, Error> {
        self.look(look::last_position).await
    }

    /// Events after a place, in order: those of all sessions that are not deleted, whose type is one of `kinds` (none
    /// named, any).
    pub async fn all_events(&self, after: u64, kinds: &[&str], limit: u32) -> Result<Vec<Placed>, Error> {
        let kinds: Vec<String> = kinds.iter().map(|&kind| kind.to_owned()).collect();
        self.look(move |conn| look::all_events(conn, after, &kinds, limit))
            .await
    }

    /// Events of one session after a place in it, in order, as JSON. A deleted one has none.
    pub async fn session_events(
        &self,
        session: &SessionId,
        after: Sequence,
        limit: u32,
    ) -> Result<Vec<Placed>, Error> {
        let session = session.clone();
        self.look(move |conn| look::session_events(conn, &session, after, limit))
            .await
    }
}
