//! Where the past of a channel is read from.

use interlock_protocol::{Sequence, SessionId};
use interlock_store::{Error, Placed, Store};

use super::Channel;
use super::channel::OF_SESSIONS;

/// Where the past of a channel is read from.
#[derive(Clone)]
pub(crate) enum Source {
    /// The store.
    Store(Store),
    /// A list in memory, for laws over every order of things.
    #[cfg(test)]
    Log(super::laws::Log),
}

impl Source {
    /// Where a channel stands; nothing if there is no such session, or it was deleted.
    pub(crate) async fn stands(&self, channel: &Channel) -> Result<Option<u64>, Error> {
        match (self, channel) {
            (Self::Store(store), Channel::Sessions) => store.safe_position().await.map(Some),
            (Self::Store(store), Channel::Session(session)) => match last(store, session).await {
                Err(Error::NotFound { .. }) => Ok(None),
                last => last,
            },
            #[cfg(test)]
            (Self::Log(log), channel) => log.stands(channel).await,
        }
    }

    /// What happened in a channel after a place, in order.
    pub(crate) async fn page(&self, channel: &Channel, after: u64, limit: u32) -> Result<Vec<Placed>, Error> {
        let page = match (self, channel) {
            (Self::Store(store), Channel::Sessions) => store
                .feed_page(after, OF_SESSIONS, limit)
                .await
                .map(|page| page.events),
            (Self::Store(store), Channel::Session(session)) => {
                store.session_events(session, Sequence::new(after), limit).await
            }
            #[cfg(test)]
            (Self::Log(log), channel) => log.page(channel, after, limit).await,
        };
        match page {
            // It was there when it was subscribed to: retention took it away, and nothing more comes.
            Err(Error::NotFound { .. }) => Ok(Vec::new()),
            page => page,
        }
    }
}

/// The last place of a session; nothing if it was deleted.
async fn last(store: &Store, session: &SessionId) -> Result<Option<u64>, Error> {
    if store.session(session).await?.deleted_at.is_some() {
        return Ok(None);
    }
    Ok(Some(store.last_sequence(session).await?.get()))
}
