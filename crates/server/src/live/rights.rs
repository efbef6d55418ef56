//! Whether those who watch may go on: looked at again and again, once for each login or token however many streams it
//! has.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use interlock_protocol::ContentHash;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::access::{Access, Caller, Via};
use crate::app::App;
use crate::problem::Code;

/// How often it is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// How long a store that does not answer counts as no change.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where somebody stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// They may watch.
    Good,
    /// They signed out, may not sign in any more, or the token was revoked or expired.
    Gone,
    /// They are who they were, and may not watch any more.
    Forbidden,
    /// It could not be found out for too long.
    Unsure,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Login(ContentHash),
    Token(String),
}

impl From<&Caller> for Key {
    fn from(caller: &Caller) -> Self {
        match &caller.via {
            Via::Cookie { login, .. } => Self::Login(*login),
            Via::Token { id, .. } => Self::Token(id.clone()),
        }
    }
}

/// Everybody who watches.
#[derive(Default, Clone)]
pub(crate) struct Rights {
    watched: Arc<Mutex<HashMap<Key, watch::Sender<Standing>>>>,
}

impl Rights {
    /// Where a caller stands, from now on.
    pub(crate) fn watch(&self, app: &App, caller: &Caller) -> watch::Receiver<Standing> {
        let key = Key::from(caller);
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = watched.get(&key) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(Standing::Good);
        watched.insert(key.clone(), sender.clone());
        tokio::spawn(self.clone().look(key, sender, app.clone(), caller.clone()));
        receiver
    }

    async fn look(self, key: Key, sender: watch::Sender<Standing>, app: App, caller: Caller) {
        let mut sure = Instant::now();
        loop {
            tokio::select! {
                () = sender.closed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            if self.nobody_left(&key, &sender) {
                return;
            }
            let standing = match app.auth().recheck(&caller).await {
                Ok(now) => {
                    sure = Instant::now();
                    if now.may(Access::Read).is_ok() {
                        Standing::Good
                    } else {
                        Standing::Forbidden
                    }
                }
                Err(problem) if problem.code() == Code::Unauthenticated => Standing::Gone,
                Err(problem) => {
                    tracing::warn!(?problem, "who may go on watching cannot be looked up");
                    if sure.elapsed() < PATIENCE {
                        continue;
                    }
                    Standing::Unsure
                }
            };
            if standing != Standing::Good {
                // The next subscriber is checked again.
                self.forget(&key);
                sender.send_replace(standing);
                return;
            }
        }
    }

    fn nobody_left(&self, key: &Key, sender: &watch::Sender<Standing>) -> bool {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let nobody = sender.receiver_count() == 0;
        if nobody {
            watched.remove(key);
        }
        nobody
    }

    fn forget(&self, key: &Key) {
        self.watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }
}

/// Until somebody may not go on watching, and why.
pub(crate) async fn lost(standing: &mut watch::Receiver<Standing>) -> Standing {
    loop {
        let now = *standing.borrow_and_update();
        if now != Standing::Good {
            return now;
        }
        if standing.changed().await.is_err() {
            return match *standing.borrow() {
                Standing::Good => Standing::Unsure,
                other => other,
            };
        }
    }
}
