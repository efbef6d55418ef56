//! Four eyes: who may not approve a hold because of what they had to do with it. One function says so, to whoever shows a
//! hold and to whoever approves it.

use interlock_gate::{FourEyes, Hold};
use interlock_protocol::UserId;
use interlock_store::{AuditFilter, LOCAL};
use jiff::Timestamp;
use serde_json::json;

use crate::count;
use crate::engine::Engine;
use crate::error::Error;
use crate::writes::ASKED;

/// Why somebody may not approve a hold that waits for somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// They own the session.
    Owner,
    /// They changed the plan on its way.
    Editor,
    /// They asked something in the session.
    Asker,
}

impl Barred {
    /// One stable word, for the log of what people did and for the counter.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Editor => "editor",
            Self::Asker => "asker",
        }
    }

    /// The sentence for them.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Owner => "The owner of a session may not approve it.",
            Self::Editor => "Whoever edited a plan may not approve it.",
            Self::Asker => "Whoever asked in a session may not approve what comes of it.",
        }
    }
}

/// What somebody is called, at a shell and elsewhere.
fn bare(name: &UserId) -> &str {
    let name = name.as_str();
    name.strip_prefix(LOCAL).unwrap_or(name)
}

/// Whoever has the same name at a shell and on the page counts as one person: two eyes are not four.
fn same_person(one: &UserId, other: &UserId) -> bool {
    bare(one).eq_ignore_ascii_case(bare(other))
}

/// The names under which somebody may be in the log.
fn names_of(by: &UserId) -> Vec<UserId> {
    let bare = bare(by);
    let other = if bare.len() == by.as_str().len() {
        UserId::new(format!("{LOCAL}{bare}"))
    } else {
        UserId::new(bare)
    };
    std::iter::once(by.clone()).chain(other).collect()
}

/// What somebody tried who may not approve.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Attempt {
    /// To get a token.
    Open,
    /// To use one.
    Approve,
}

impl Attempt {
    const fn as_action(self) -> &'static str {
        match self {
            Self::Open => "hold.opening_refused",
            Self::Approve => "hold.approval_refused",
        }
    }
}

impl Engine {
    /// Why this person may not approve a hold, whatever their role is; nothing if they may.
    ///
    /// Where four eyes are wanted, neither the owner of the session, nor anybody who asked in it, nor anybody who edited the
    /// plan on its way approves it. The gate knows the owner and the last editor by itself and bars them, too.
    pub async fn barred(&self, hold: &Hold, by: &UserId) -> Result<Option<Barred>, Error> {
        if hold.four_eyes == FourEyes::Off {
            return Ok(None);
        }
        if hold.owner.as_ref().is_some_and(|owner| same_person(owner, by)) {
            return Ok(Some(Barred::Owner));
        }
        let store = &self.inner.setup.store;
        let mut edited = hold.edited_from.clone();
        while let Some(from) = edited {
            if same_person(&from.by, by) {
                return Ok(Some(Barred::Editor));
            }
            edited = store.hold(&from.hold).await?.edited_from;
        }
        for actor in names_of(by) {
            let asked = AuditFilter {
                actor: Some(actor),
                action: Some(ASKED.to_owned()),
                subject: Some(hold.plan.session.to_string()),
                before: None,
                limit: 1,
            };
            if !store.audit_entries(&asked).await?.is_empty() {
                return Ok(Some(Barred::Asker));
            }
        }
        Ok(None)
    }

    /// Refuses somebody who may not approve a hold that is open: counted, and written down.
    pub(crate) async fn check_four_eyes(
        &self,
        hold: &Hold,
        by: &UserId,
        attempt: Attempt,
        now: Timestamp,
    ) -> Result<(), Error> {
        // What is decided or over is refused as that, to everybody alike.
        if !hold.is_open(now) {
            return Ok(());
        }
        let Some(barred) = self.barred(hold, by).await? else {
            return Ok(());
        };
        count::barred(barred.as_str());
        let facts = json!({
            "session": hold.plan.session,
            "plan_hash": hold.plan_hash,
            "barred_as": barred.as_str(),
            "reason": barred.message(),
        });
        self.inner
            .audit(by, attempt.as_action(), Some(hold.id.as_str()), facts)
            .await?;
        Err(Error::barred(hold, barred.message()))
    }
}
