//! Whether what was allowed a while ago still is, for streams that live on.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use interlock_protocol::ContentHash;

use super::Auth;
use super::identify::Seen;
use crate::access::{Caller, Via, unauthenticated};
use crate::problem::Problem;

/// How old an answer may be. Many streams of one login ask once.
const FRESH: Duration = Duration::from_secs(2);
/// How many answers are remembered.
const MOST: usize = 10_000;

/// What was found a moment ago.
#[derive(Default)]
pub(super) struct Known {
    callers: Mutex<HashMap<ContentHash, (Instant, Caller)>>,
}

impl Known {
    /// Something about people changed: look again.
    pub(super) fn forget(&self) {
        self.callers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn get(&self, key: &ContentHash, now: Instant) -> Option<Caller> {
        let callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, caller) = callers.get(key)?;
        (now.saturating_duration_since(*at) < FRESH).then(|| caller.clone())
    }

    fn put(&self, key: ContentHash, caller: Caller, now: Instant) {
        let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MOST {
            callers.retain(|_, (at, _)| now.saturating_duration_since(*at) < FRESH);
        }
        if callers.len() < MOST {
            callers.insert(key, (now, caller));
        }
    }
}

impl Auth {
    /// Who the caller is now: with their role of this moment, or a problem if their login or token is gone. Cheap; what
    /// another process changed is seen within seconds, what this one changed at once.
    pub(crate) async fn recheck(&self, caller: &Caller) -> Result<Caller, Problem> {
        let key = match &caller.via {
            Via::Cookie { login, .. } => login,
            Via::Token { hash, .. } => hash,
        };
        let now = Instant::now();
        if let Some(known) = self.known.get(key, now) {
            return Ok(known);
        }
        let found = match &caller.via {
            Via::Cookie { login, .. } => self.by_login(login, Seen::No).await?,
            Via::Token { hash, .. } => self.by_token(hash).await?,
        };
        let found = found
            .filter(|found| found.user == caller.user)
            .ok_or_else(unauthenticated)?;
        self.known.put(*key, found.clone(), now);
        Ok(found)
    }
}
