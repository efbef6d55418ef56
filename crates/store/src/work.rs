//! Waiting for work: a watch on the queue, for a loop that claims until there is nothing.

use std::time::Duration;

use tokio::sync::watch;

use crate::store::POLL;
use crate::{Error, Store};

impl Store {
    /// A watch on the queue, for a loop that claims until there is nothing and then waits.
    pub fn work(&self) -> Work {
        Work {
            store: self.clone(),
            counter: self.work.subscribe(),
            seen: None,
        }
    }
}

/// Says when to look at the queue again.
#[derive(Debug)]
pub struct Work {
    store: Store,
    counter: watch::Receiver<u64>,
    seen: Option<i64>,
}

impl Work {
    /// Until there may be something to claim: something happened in this process since the last call, or another
    /// process wrote, or the time is over. What happens between two calls is not missed.
    pub async fn wait(&mut self, at_most: Duration) -> Result<(), Error> {
        let until = tokio::time::Instant::now() + at_most;
        loop {
            let now = tokio::time::Instant::now();
            if now >= until {
                return Ok(());
            }
            let changed = tokio::time::timeout_at(until.min(now + POLL), self.counter.changed());
            if changed.await.is_ok() {
                return Ok(());
            }
            let version = self.store.data_version().await?;
            if self.seen.replace(version) != Some(version) {
                return Ok(());
            }
        }
    }
}
