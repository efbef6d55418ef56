//! The switch that stops all writes, and the log of what people did.

use interlock_gate::KillSwitch;
use interlock_protocol::UserId;
use interlock_store::Deed;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::{Engine, Inner};
use crate::error::Error;

/// The setting that stops all writes.
pub(crate) const KILL_SWITCH: &str = "kill_switch";
/// What a question in a session that is there already is called in the log of what people did.
pub(crate) const ASKED: &str = "session.asked";
/// Which question that was, among its facts: the hash of the input.
pub(crate) const QUESTION_HASH: &str = "question";
/// The setting that says who moved it last.
const KILL_SWITCH_BY: &str = "kill_switch_by";

/// Whether writes are stopped, and who said so last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WritesState {
    /// Whether no write begins.
    pub stopped: bool,
    /// Who moved the switch last; nothing if nobody did, or it is not known.
    pub by: Option<UserId>,
    /// When.
    pub at: Option<Timestamp>,
    /// Why, if they said.
    pub reason: Option<String>,
}

/// Who moved the switch, as it is kept.
#[derive(Serialize, Deserialize)]
struct Moved {
    stopped: bool,
    by: UserId,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Engine {
    /// Stops or lets go all writes, of every process on this store.
    pub async fn stop_writes(
        &self,
        switch: KillSwitch,
        by: &UserId,
        reason: Option<&str>,
    ) -> Result<(), Error> {
        let inner = &self.inner;
        let reason = reason.map(|reason| inner.setup.masker.mask_text(reason).into_owned());
        // One after the other: whoever comes later has the last word, in what holds as in what is written down.
        let _turn = inner.switching.lock().await;
        let facts = json!({ "reason": reason });
        match switch {
            // Stopping is the safe side: it is done before it is written down.
            KillSwitch::Engaged => {
                inner.setup.store.set_setting(KILL_SWITCH, "engaged").await?;
                inner.shared.stop_writes(switch);
                self.moved(true, by, reason).await?;
                inner.audit(by, "writes.stopped", None, facts).await
            }
            KillSwitch::Released => {
                inner.audit(by, "writes.resumed", None, facts).await?;
                self.moved(false, by, reason).await?;
                inner.setup.store.set_setting(KILL_SWITCH, "released").await?;
                inner.shared.stop_writes(switch);
                Ok(())
            }
        }
    }

    async fn moved(&self, stopped: bool, by: &UserId, reason: Option<String>) -> Result<(), Error> {
        let moved = Moved {
            stopped,
            by: by.clone(),
            at: Timestamp::now(),
            reason,
        };
        // Strings and a time: it always serialises.
        let text = serde_json::to_string(&moved).unwrap_or_default();
        self.inner.setup.store.set_setting(KILL_SWITCH_BY, text).await?;
        Ok(())
    }

    /// Whether writes are stopped, in every process on this store, and who said so.
    pub async fn writes(&self) -> Result<WritesState, Error> {
        let stopped = self.inner.refresh_kill_switch().await? == KillSwitch::Engaged;
        let kept = self.inner.setup.store.setting(KILL_SWITCH_BY).await?;
        let moved: Option<Moved> = kept.and_then(|kept| serde_json::from_str(&kept).ok());
        // Two who move it at once: what does not fit says nothing.
        let moved = moved.filter(|moved| moved.stopped == stopped);
        Ok(match moved {
            Some(Moved { by, at, reason, .. }) => WritesState {
                stopped,
                by: Some(by),
                at: Some(at),
                reason,
            },
            None => WritesState {
                stopped,
                by: None,
                at: None,
                reason: None,
            },
        })
    }
}

impl Inner {
    /// Writes down what somebody did, where no batch keeps it together with what it did.
    pub(crate) async fn audit(
        &self,
        by: &UserId,
        action: &str,
        subject: Option<&str>,
        details: Value,
    ) -> Result<(), Error> {
        let deed = deed(by, action, subject, details);
        self.setup.store.audit(deed).await?;
        Ok(())
    }
}

/// What somebody did.
pub(crate) fn deed(by: &UserId, action: &str, subject: Option<&str>, details: Value) -> Deed {
    Deed {
        at: Timestamp::now(),
        actor: Some(by.clone()),
        action: action.to_owned(),
        subject: subject.map(str::to_owned),
        details,
    }
}
