//! Every event of every session, in the order of their positions, for code that sends them to subscribers.
//!
//! A position is a promise to readers: a reader that has seen *n* never has to look below *n* again. Keys that are given out
//! inside transactions do not keep it by themselves, because a transaction with a smaller key can commit later. So a backend
//! says with every page up to where positions are *settled*: each one is visible, or will never be. Nothing behind that is
//! handed out.

use interlock_protocol::{Sequence, SessionId};

use tokio::sync::watch;

use crate::backend::on;
use crate::store::POLL;
use crate::{Error, Store};

#[cfg(test)]
mod tests;

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

/// Events after a position, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// The events, in order. None is behind `safe`.
    pub events: Vec<Placed>,
    /// The position to ask for next. Everything up to it was in this page or one before, or was not asked for; no event with
    /// such a position appears later.
    pub safe: u64,
}

impl FeedPage {
    /// The page for a reader that has everything up to `after`, out of what is `visible` behind that: the first `limit` in
    /// order, or fewer where there are no more. `settled` is the position up to which nothing more can appear.
    ///
    /// A backend takes both out of one snapshot, or `settled` first. With `settled` out of a later one, what committed in
    /// between would be missed.
    pub(crate) fn of(mut visible: Vec<Placed>, after: u64, settled: u64, limit: u32) -> Self {
        let is_full = u32::try_from(visible.len()).is_ok_and(|count| count >= limit);
        let last = visible.last().map(|event| event.position);
        visible.retain(|event| event.position <= settled);
        let safe = match last {
            Some(last) if is_full && last <= settled => last,
            _ => settled.max(after),
        };
        Self {
            events: visible,
            safe,
        }
    }
}

/// How far a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cursor(u64);

impl Cursor {
    fn take(&mut self, page: FeedPage) -> Vec<Placed> {
        self.0 = page.safe;
        page.events
    }
}

/// Hands out what is kept from now on, by this process or another, each event once and in order.
#[derive(Debug)]
pub struct Feed {
    store: Store,
    cursor: Cursor,
    /// Counts what this process has told.
    told: watch::Receiver<u64>,
    /// What was seen of the writes of others.
    version: Option<i64>,
}

impl Feed {
    /// The position up to which it has handed out everything.
    pub const fn position(&self) -> u64 {
        self.cursor.0
    }

    /// What was kept since the last call, at least one and at most `limit` events. Waits until there is something.
    /// Whoever stops waiting misses nothing.
    pub async fn next(&mut self, limit: u32) -> Result<Vec<Placed>, Error> {
        loop {
            // Before looking: what happens while it looks is looked at again.
            self.told.borrow_and_update();
            let page = self.store.feed_page(self.cursor.0, &[], limit).await?;
            let events = self.cursor.take(page);
            if !events.is_empty() {
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
        Ok(self.feed_after(self.safe_position().await?))
    }

    /// A feed of what was kept after a position, and of everything that is kept from now on.
    pub fn feed_after(&self, position: u64) -> Feed {
        Feed {
            store: self.clone(),
            cursor: Cursor(position),
            told: self.told(),
            version: None,
        }
    }

    /// The position up to which no further event can appear: a reader that begins here misses nothing from here on.
    pub async fn safe_position(&self) -> Result<u64, Error> {
        on!(self, safe_position())
    }

    /// Events after a position, in order: those of all sessions that are not deleted, whose type is one of `kinds` (none
    /// named, any). At most `limit`, and at least one where there is one.
    pub async fn feed_page(&self, after: u64, kinds: &[&str], limit: u32) -> Result<FeedPage, Error> {
        on!(self, feed_page(after, kinds, limit.max(1)))
    }

    /// Events of one session after a place in it, in order, as JSON. A deleted one has none.
    pub async fn session_events(
        &self,
        session: &SessionId,
        after: Sequence,
        limit: u32,
    ) -> Result<Vec<Placed>, Error> {
        on!(self, session_events(session, after, limit))
    }
}
