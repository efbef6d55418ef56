//! Every event of every session, in the order in which they were kept, for whoever hands them on.

use interlock_protocol::{Sequence, SessionId};

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
}

impl Feed {
    /// The place up to which it has handed out.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// What was kept since the last call, at least one and at most `limit` events. Waits until there is something.
    pub async fn next(&mut self, limit: u32) -> Result<Vec<Placed>, Error> {
        let _ = (&self.store, limit);
        Err(Error::Closed)
    }
}

impl Store {
    /// A feed of what is kept from now on.
    pub async fn feed(&self) -> Result<Feed, Error> {
        Ok(Feed {
            store: self.clone(),
            position: self.last_position().await?,
        })
    }

    /// The place of the last event of all.
    pub async fn last_position(&self) -> Result<u64, Error> {
        Err(Error::Closed)
    }

    /// Events after a place, in order: those of all sessions whose type is one of `kinds` (none named, any).
    pub async fn all_events(&self, after: u64, kinds: &[&str], limit: u32) -> Result<Vec<Placed>, Error> {
        let _ = (after, kinds, limit);
        Err(Error::Closed)
    }

    /// Events of one session after a place in it, in order, as JSON.
    pub async fn session_events(
        &self,
        session: &SessionId,
        after: Sequence,
        limit: u32,
    ) -> Result<Vec<Placed>, Error> {
        let _ = (session, after, limit);
        Err(Error::Closed)
    }
}
