//! Who may decide about a hold.
//!
//! One function builds the proof that somebody may approve ([`Engine::approver`]), and one that somebody may deny or
//! change a plan ([`Engine::decider`]). Whatever decides takes such a proof, so that no channel can decide with the name
//! of a user alone. The role comes from the store, not from the channel.

use interlock_gate::{FourEyes, Hold};
use interlock_protocol::{HoldId, Role, UserId};
use interlock_store::{AuditFilter, LOCAL};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::count;
use crate::engine::Engine;
use crate::error::Error;
use crate::refused::Act;
use crate::writes::ASKED;

/// How somebody reaches Interlock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channel {
    /// A shell on the machine that has the store. Whoever can write its file may decide; the system knows their name.
    Shell,
    /// The page, after signing in.
    Page,
    /// The API, with a token: its public id.
    Token(String),
}

impl Channel {
    /// One stable word, for the audit log.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Page => "page",
            Self::Token(_) => "token",
        }
    }
}

/// Somebody who wants to decide, as their channel knows them. This proves nothing yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Their name.
    pub user: UserId,
    /// How they reach Interlock.
    pub channel: Channel,
}

impl Person {
    /// The user of a shell on this machine.
    pub const fn at_shell(user: UserId) -> Self {
        Self {
            user,
            channel: Channel::Shell,
        }
    }
}

/// Why somebody may not decide about a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barred {
    /// Their role does not decide about holds, or nobody of that name may sign in.
    Role,
    /// Four eyes are required, and they are known by the name of a shell only.
    NotSignedIn,
    /// They own the session.
    Owner,
    /// They changed the plan before.
    Editor,
    /// They asked something in the session.
    Asker,
}

impl Barred {
    /// One stable word, for the audit log and for the counter.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::NotSignedIn => "not_signed_in",
            Self::Owner => "owner",
            Self::Editor => "editor",
            Self::Asker => "asker",
        }
    }

    /// The sentence for them.
    pub const fn message(self) -> &'static str {
        match self {
            Self::Role => "Only approvers and admins decide about a hold.",
            Self::NotSignedIn => "Four eyes are required here, so the person who decides must be signed in.",
            Self::Owner => "The owner of a session may not approve it.",
            Self::Editor => "The person who edited a plan may not approve it.",
            Self::Asker => "The person who asked in a session may not approve what comes of it.",
        }
    }

    /// What to do.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Role => "Ask an admin for the role `approver`, or let an approver decide.",
            Self::NotSignedIn => {
                "Decide on the page, or with --server and an API token of your own in INTERLOCK_TOKEN."
            }
            Self::Owner | Self::Editor | Self::Asker => "Somebody else has to decide about it.",
        }
    }
}

/// The result of the four-eyes check of an [`Approver`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EyesChecked {
    /// Nothing asks for four eyes here.
    NotWanted,
    /// They neither own the session, nor asked in it, nor edited the plan.
    Passed,
}

impl EyesChecked {
    const fn as_str(self) -> &'static str {
        match self {
            Self::NotWanted => "not_wanted",
            Self::Passed => "passed",
        }
    }
}

/// The proof that somebody may deny one hold or change its plan. Only [`Engine::decider`] and [`Engine::approver`] build it.
#[derive(Debug)]
pub struct Decider {
    hold: HoldId,
    person: Person,
    role: Role,
}

impl Decider {
    /// The hold that they may decide about, and no other.
    pub const fn hold(&self) -> &HoldId {
        &self.hold
    }

    /// Their name.
    pub const fn user(&self) -> &UserId {
        &self.person.user
    }

    /// The role that the store has for them.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// What the audit log says about them beside their name.
    pub(crate) fn facts(&self, hold: &Hold) -> Value {
        let mut facts = json!({
            "session": hold.plan.session,
            "plan_hash": hold.plan_hash,
            "channel": self.person.channel.as_str(),
            "role": self.role.as_str(),
        });
        if let Channel::Token(id) = &self.person.channel {
            facts["token"] = json!(id);
        }
        facts
    }
}

/// The proof that somebody may approve one hold: who, in which role, over which channel, and how the four-eyes check ended.
/// Only [`Engine::approver`] builds it.
#[derive(Debug)]
pub struct Approver {
    decider: Decider,
    eyes: EyesChecked,
}

impl Approver {
    /// The proof that they may also deny it or change its plan.
    pub const fn decider(&self) -> &Decider {
        &self.decider
    }

    /// How the four-eyes check ended.
    pub const fn four_eyes(&self) -> EyesChecked {
        self.eyes
    }

    pub(crate) fn facts(&self, hold: &Hold) -> Value {
        let mut facts = self.decider.facts(hold);
        facts["four_eyes"] = json!(self.eyes.as_str());
        facts
    }
}

/// The name of somebody without the mark of a shell.
fn bare(name: &UserId) -> &str {
    let name = name.as_str();
    name.strip_prefix(LOCAL).unwrap_or(name)
}

/// The same name at a shell and on the page counts as one person: two eyes are not four.
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

/// What somebody wants to do with a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wants {
    Approve,
    DenyOrEdit,
}

impl Engine {
    /// The proof that this person may approve a hold, or why not. A refusal is counted and in the audit log.
    pub async fn approver(&self, hold: &HoldId, person: &Person) -> Result<Approver, Error> {
        let (hold, role) = self.check(hold, person, Wants::Approve).await?;
        Ok(Approver {
            eyes: match self.eyes_for(&hold) {
                FourEyes::Off => EyesChecked::NotWanted,
                FourEyes::On => EyesChecked::Passed,
            },
            decider: Decider {
                hold: hold.id,
                person: person.clone(),
                role,
            },
        })
    }

    /// The proof that this person may deny a hold or change its plan, or why not. A refusal is counted and in the audit log.
    pub async fn decider(&self, hold: &HoldId, person: &Person) -> Result<Decider, Error> {
        let (hold, role) = self.check(hold, person, Wants::DenyOrEdit).await?;
        Ok(Decider {
            hold: hold.id,
            person: person.clone(),
            role,
        })
    }

    /// Why this person may not approve a hold; nothing if they may. For those who show a hold before anybody tries.
    ///
    /// Where four eyes are wanted, neither the owner of the session, nor anybody who asked in it, nor anybody who edited the
    /// plan before approves it. The gate knows the owner and the last editor by itself and refuses them, too.
    pub async fn barred(&self, hold: &Hold, person: &Person) -> Result<Option<Barred>, Error> {
        match self.role_for(hold, person).await? {
            Ok(_) => self.barred_by_four_eyes(hold, &person.user).await,
            Err(barred) => Ok(Some(barred)),
        }
    }

    /// Whether four eyes are required for a hold: by the configuration when it was opened, or by the one of now.
    pub(crate) fn eyes_for(&self, hold: &Hold) -> FourEyes {
        hold.four_eyes.or(self.settings().four_eyes)
    }

    /// The role in which this person decides about a hold, or why they do not.
    async fn role_for(&self, hold: &Hold, person: &Person) -> Result<Result<Role, Barred>, Error> {
        let store = &self.inner.store;
        let role = match person.channel {
            Channel::Shell if self.eyes_for(hold) == FourEyes::On && !store.users().await?.is_empty() => {
                return Ok(Err(Barred::NotSignedIn));
            }
            Channel::Shell => Role::Admin,
            Channel::Page | Channel::Token(_) => {
                let known = store.user(&person.user).await?;
                match known.filter(|user| user.enabled) {
                    Some(user) => user.role,
                    None => return Ok(Err(Barred::Role)),
                }
            }
        };
        Ok(if role < Role::Approver {
            Err(Barred::Role)
        } else {
            Ok(role)
        })
    }

    async fn barred_by_four_eyes(&self, hold: &Hold, by: &UserId) -> Result<Option<Barred>, Error> {
        if self.eyes_for(hold) == FourEyes::Off {
            return Ok(None);
        }
        if hold.owner.as_ref().is_some_and(|owner| same_person(owner, by)) {
            return Ok(Some(Barred::Owner));
        }
        let store = &self.inner.store;
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

    async fn check(&self, hold: &HoldId, person: &Person, wants: Wants) -> Result<(Hold, Role), Error> {
        let act = match wants {
            Wants::Approve => Act::Approve,
            Wants::DenyOrEdit => Act::Decide,
        };
        let refuse = |subject: HoldId, facts, error| async move {
            let inner = &self.inner;
            Err(inner
                .refuse_person(&person.user, act, subject.as_str(), facts, error)
                .await)
        };
        let hold = match self.inner.store.hold(hold).await {
            Ok(found) => found,
            Err(error) => {
                let facts = json!({ "channel": person.channel.as_str() });
                return refuse(hold.clone(), facts, error.into()).await;
            }
        };
        // Whoever is shown a plan is shown the one that was signed.
        let session = &hold.plan.session;
        if let Err(error) = self.inner.store.check_session(session, Timestamp::now()).await {
            let facts = json!({ "channel": person.channel.as_str() });
            return refuse(hold.id, facts, error.into()).await;
        }
        // A hold that is decided or over is refused as that, to everybody alike. On a copy: nothing is decided here.
        let mut copy = hold.clone();
        let now = Timestamp::now();
        let gate = self.inner.tools();
        if let Err(refusal) = gate.gate().reject(&mut copy, &person.user, "", now) {
            let error = Error::refused(&refusal, &copy);
            let facts = json!({
                "session": hold.plan.session,
                "plan_hash": hold.plan_hash,
                "channel": person.channel.as_str(),
            });
            return refuse(hold.id, facts, error).await;
        }
        let barred = match (self.role_for(&hold, person).await?, wants) {
            (Ok(role), Wants::DenyOrEdit) => return Ok((hold, role)),
            (Ok(role), Wants::Approve) => match self.barred_by_four_eyes(&hold, &person.user).await? {
                None => return Ok((hold, role)),
                Some(barred) => barred,
            },
            (Err(barred), _) => barred,
        };
        count::barred(barred.as_str());
        let action = match wants {
            Wants::Approve => "hold.approval_refused",
            Wants::DenyOrEdit => "hold.decision_refused",
        };
        let facts = json!({
            "session": hold.plan.session,
            "plan_hash": hold.plan_hash,
            "channel": person.channel.as_str(),
            "barred_as": barred.as_str(),
            "reason": barred.message(),
        });
        self.inner
            .audit(&person.user, action, Some(hold.id.as_str()), facts)
            .await?;
        Err(Error::barred(&hold, barred))
    }
}
