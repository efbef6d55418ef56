//! Those who went to the provider and have not come back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use interlock_protocol::ContentHash;

/// How many may be on their way.
const MOST: usize = 10_000;

/// What is remembered of somebody who went to the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pending {
    /// The hash of the cookie of their browser.
    pub(super) bound: ContentHash,
    /// What must stand in the token.
    pub(super) nonce: String,
    /// What proves that the one who exchanges the code is the one who asked for it.
    pub(super) verifier: String,
    /// Where they come back to.
    pub(super) redirect: String,
    /// Where they go then.
    pub(super) return_to: String,
}

/// Everybody who is on their way, by the hash of their state.
#[derive(Default)]
pub(super) struct OnTheirWay {
    people: Mutex<HashMap<ContentHash, (Instant, Pending)>>,
}

impl OnTheirWay {
    /// Somebody went.
    pub(super) fn keep(&self, state: &str, pending: Pending) {
        let now = Instant::now();
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        if people.len() >= MOST {
            people.retain(|_, (at, _)| fresh(*at, now));
        }
        if people.len() >= MOST
            && let Some(oldest) = people.iter().min_by_key(|(_, (at, _))| *at).map(|(key, _)| *key)
        {
            people.remove(&oldest);
        }
        people.insert(ContentHash::of(state), (now, pending));
    }

    /// Somebody is back; a second time nobody knows them.
    pub(super) fn take(&self, state: &str) -> Option<Pending> {
        let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, pending) = people.remove(&ContentHash::of(state))?;
        fresh(at, Instant::now()).then_some(pending)
    }
}

fn fresh(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < Duration::from_secs(super::PATIENCE_SECONDS)
}
