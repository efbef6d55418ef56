//! The switch that stops all writes, and the log of what people did.

use std::sync::PoisonError;

use interlock_gate::KillSwitch;
use interlock_protocol::UserId;
use interlock_store::{Deed, Switch, SwitchMove};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::{Engine, Inner};
use crate::error::Error;
use crate::refused::Act;

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

/// What this process knows of the switch.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The newest move that it knows of.
    revision: u64,
    /// Whether that stopped all writes.
    stopped: bool,
    /// Whether somebody here wants them stopped and it is not kept yet.
    wanted: bool,
}

impl Seen {
    /// Somebody looked. A look that is older than what is known lets nothing go.
    fn look(&mut self, switch: &Switch) {
        if switch.stopped || switch.revision >= self.revision {
            self.revision = self.revision.max(switch.revision);
            self.stopped = switch.stopped;
        }
    }

    /// It was moved from here, and that is kept.
    const fn moved(&mut self, switch: &Switch) {
        self.revision = switch.revision;
        self.stopped = switch.stopped;
        self.wanted = false;
    }

    const fn stands(&self) -> KillSwitch {
        if self.stopped || self.wanted {
            KillSwitch::Engaged
        } else {
            KillSwitch::Released
        }
    }
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

    /// Stopping is the safe side: where it cannot be written down it is done all the same in this process, until somebody
    /// lets writes go again, and the error is told.
    async fn halt_writes(&self, by: &UserId, reason: Option<&str>) -> Result<WritesState, Error> {
        let inner = &self.inner;
        let store = &inner.store;
        let reason = reason.map(|reason| inner.settings().masker.mask_text(reason).into_owned());
        // What is seen in this process follows what is kept, in the same order.
        let _turn = inner.switching.lock().await;
        inner.seen_switch(|seen| seen.wanted = true);
        let facts = json!({ "reason": reason });
        let deed = deed(by, "writes.stopped", None, facts);
        let at = deed.at;
        let to = SwitchMove::Stop { reason };
        match store.move_switch(to.clone(), by, at, Some(deed)).await {
            Ok(switch) => {
                inner.seen_switch(|seen| seen.moved(&switch));
                Ok(switch.into())
            }
            Err(error) => {
                let switch = store.move_switch(to, by, at, None).await?;
                inner.seen_switch(|seen| seen.moved(&switch));
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
        match inner.store.move_switch(to, by, at, Some(deed)).await {
            Ok(switch) => {
                inner.seen_switch(|seen| seen.moved(&switch));
                Ok(switch.into())
            }
            Err(error) => {
                let facts = json!({ "seen": seen });
                let act = Act::ResumeWrites;
                Err(inner.refuse_person(by, act, "", facts, error.into()).await)
            }
        }
    }

    /// Whether writes are stopped, in every process on this store, and who said so.
    pub async fn writes(&self) -> Result<WritesState, Error> {
        let switch = self.inner.store.switch().await?;
        self.inner.seen_switch(|seen| seen.look(&switch));
        Ok(switch.into())
    }
}

impl Inner {
    fn seen_switch(&self, change: impl FnOnce(&mut Seen)) -> KillSwitch {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut seen);
        let stands = seen.stands();
        self.shared.stop_writes(stands);
        stands
    }

    /// Looks at the switch, which another process may have moved.
    pub(crate) async fn refresh_kill_switch(&self) -> Result<KillSwitch, Error> {
        let switch = self.store.switch().await?;
        Ok(self.seen_switch(|seen| seen.look(&switch)))
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
        self.store.audit(deed).await?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_look_lets_nothing_go_and_a_stop_that_is_not_kept_lasts_until_somebody_resumes() {
        use KillSwitch::{Engaged, Released};
        let at = |revision, stopped| Switch {
            revision,
            stopped,
            ..Switch::default()
        };
        let mut seen = Seen::default();
        for (look, expected) in [
            (at(2, false), Released),
            (at(3, true), Engaged),
            // Of before the stop.
            (at(2, false), Engaged),
            (at(4, false), Released),
            // Set by hand, by somebody who counts nothing.
            (at(0, true), Engaged),
            (at(4, false), Released),
        ] {
            seen.look(&look);
            assert_eq!(seen.stands(), expected, "{look:?}");
        }
        seen.wanted = true;
        seen.look(&at(5, false));
        assert_eq!(seen.stands(), Engaged);
        seen.moved(&at(6, false));
        assert_eq!(seen.stands(), Released);
    }
}
