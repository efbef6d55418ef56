//! The switch that stops all writes, and the log of what people did.

use interlock_gate::KillSwitch;
use interlock_protocol::UserId;
use interlock_store::{Deed, Switch, SwitchMove};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::{Engine, Inner};
use crate::error::Error;

/// What a question in a session that is there already is called in the log of what people did.
pub(crate) const ASKED: &str = "session.asked";
/// What calling a tool by hand is called. Begins like a question: whoever does it asked, too.
pub(crate) const ASKED_DIRECTLY: &str = "session.asked_directly";
/// Which question that was, among its facts: the hash of the input.
pub(crate) const QUESTION_HASH: &str = "question";

/// Whether writes are stopped, and who said so last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WritesState {
    /// Whether no write begins.
    pub stopped: bool,
    /// How often the switch was moved: what [`Engine::resume_writes`] takes as what was seen.
    pub revision: u64,
    /// Who moved the switch last; nothing if nobody did, or it is not known.
    pub by: Option<UserId>,
    /// When.
    pub at: Option<Timestamp>,
    /// Why, if they said.
    pub reason: Option<String>,
}

impl From<Switch> for WritesState {
    fn from(switch: Switch) -> Self {
        Self {
            stopped: switch.stopped,
            revision: switch.revision,
            by: switch.by,
            at: switch.at,
            reason: switch.reason,
        }
    }
}

impl Engine {
    /// Stops or lets go all writes, of every process on this store, whatever was so before. Says how it stands by this.
    pub async fn stop_writes(
        &self,
        switch: KillSwitch,
        by: &UserId,
        reason: Option<&str>,
    ) -> Result<WritesState, Error> {
        match switch {
            KillSwitch::Engaged => self.halt_writes(by, reason).await,
            KillSwitch::Released => self.resume_writes(by, None).await,
        }
    }

    /// Stopping is the safe side: where it cannot be written down it is done all the same, and the error is told.
    async fn halt_writes(&self, by: &UserId, reason: Option<&str>) -> Result<WritesState, Error> {
        let inner = &self.inner;
        let store = &inner.setup.store;
        let reason = reason.map(|reason| inner.setup.masker.mask_text(reason).into_owned());
        // What is seen in this process follows what is kept, in the same order.
        let _turn = inner.switching.lock().await;
        inner.shared.stop_writes(KillSwitch::Engaged);
        let facts = json!({ "reason": reason });
        let deed = deed(by, "writes.stopped", None, facts);
        let at = deed.at;
        let to = SwitchMove::Stop { reason };
        match store.move_switch(to.clone(), by, at, Some(deed)).await {
            Ok(switch) => Ok(switch.into()),
            Err(error) => {
                store.move_switch(to, by, at, None).await?;
                Err(error.into())
            }
        }
    }

    /// Lets all writes go, of every process on this store, for somebody who looked at a state of the switch. Where writes
    /// were stopped again since, [`interlock_store::Error::StoppedAgain`] says by whom. Says how it stands by this.
    pub async fn resume_writes(&self, by: &UserId, seen: Option<u64>) -> Result<WritesState, Error> {
        let inner = &self.inner;
        let _turn = inner.switching.lock().await;
        let deed = deed(by, "writes.resumed", None, json!({ "reason": null }));
        let (at, to) = (deed.at, SwitchMove::Resume { seen });
        let switch = inner.setup.store.move_switch(to, by, at, Some(deed)).await?;
        inner.shared.stop_writes(KillSwitch::Released);
        Ok(switch.into())
    }

    /// Whether writes are stopped, in every process on this store, and who said so.
    pub async fn writes(&self) -> Result<WritesState, Error> {
        let switch = self.inner.setup.store.switch().await?;
        self.inner.follow(&switch);
        Ok(switch.into())
    }
}

impl Inner {
    /// What is so in the store is so here.
    fn follow(&self, switch: &Switch) -> KillSwitch {
        let switch = if switch.stopped {
            KillSwitch::Engaged
        } else {
            KillSwitch::Released
        };
        self.shared.stop_writes(switch);
        switch
    }

    /// Looks at the switch, which another process may have moved.
    pub(crate) async fn refresh_kill_switch(&self) -> Result<KillSwitch, Error> {
        let switch = self.setup.store.switch().await?;
        Ok(self.follow(&switch))
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
