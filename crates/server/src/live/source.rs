//! Where the past of a channel is read from.

use interlock_protocol::Sequence;
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
    /// Where a channel stands; nothing if there is no such session.
    pub(crate) async fn stands(&self, channel: &Channel) -> Result<Option<u64>, Error> {
        match (self, channel) {
            (Self::Store(store), Channel::Sessions) => store.last_position().await.map(Some),
            (Self::Store(store), Channel::Session(session)) => match store.last_sequence(session).await {
                Ok(sequence) => Ok(Some(sequence.get())),
                Err(Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            },
            #[cfg(test)]
            (Self::Log(log), channel) => log.stands(channel).await,
        }
    }

    /// What happened in a channel after a place, in order.
    pub(crate) async fn page(&self, channel: &Channel, after: u64, limit: u32) -> Result<Vec<Placed>, Error> {
        let page = match (self, channel) {
            (Self::Store(store), Channel::Sessions) => store.all_events(after, OF_SESSIONS, limit).await,
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
