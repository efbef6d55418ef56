//! What can go wrong, for the person who reads it: what happened, and what to do next.

use interlock_protocol::{
    HoldId, IncidentId, IncidentStatus, PermitId, ResourceId, SessionId, Status, UserId,
};
use jiff::Timestamp;

use crate::{Location, SchemaChange, Switch};

/// Why something was not kept or not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address of the store is none.
    #[error(
        "`{text}` is no store: write `sqlite:PATH`, for example `sqlite:/var/lib/interlock/interlock.db`"
    )]
    Address {
        /// What was written.
        text: String,
    },
    /// One of that name is there.
    #[error("there is a {what} `{name}` already; choose another name, or change that one")]
    Exists {
        /// What.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Nobody could administer it any more.
    #[error("`{user}` is the last admin who may sign in; make somebody else an admin first")]
    LastAdmin {
        /// Who.
        user: UserId,
    },
    /// The rows of a session are not what was signed.
    #[error(
        "the record of `{session}` was changed outside Interlock ({what}); nothing more is done with this session. \
         Run `interlock audit verify`, and restore a backup"
    )]
    Altered {
        /// The session.
        session: SessionId,
        /// Which parts.
        what: String,
    },
    /// The store is signed, and there is no key to sign with.
    #[error(
        "this store is signed, and the signing key is not available; set `record.key` to the key that signed it"
    )]
    NoSigningKey,
    /// The seals of the store do not fit the key.
    #[error(
        "the signatures of this store cannot be checked ({why}); if the signing key was replaced, list the earlier \
         public key under `record.previous_keys`"
    )]
    Seals {
        /// Why.
        why: String,
    },
    /// A key that was replaced has signed after its successor.
    #[error(
        "a signing key was used after it was replaced ({why}): either the store was changed with the earlier key, or \
         `record.previous_keys` is not in order; list the newest earlier key first. Run `interlock audit verify`, and restore a \
         backup. If you know why, `interlock record adopt` goes on with the store as it is"
    )]
    KeyOrder {
        /// Which key signed what.
        why: String,
    },
    /// A store with sessions that no seal says anything about.
    #[error(
        "the store holds {sessions} sessions without a seal: their seals were removed, or they are older than the signing of records. If you \
         know that they are older, `interlock record adopt` signs it as it is"
    )]
    Unsealed {
        /// How many sessions.
        sessions: u64,
    },
    /// The store does not reach as far as its mark.
    #[error(
        "the store is not the one that was signed last ({why}; signed {at:.0}, says {mark}): its end was cut off, or an older copy or \
         another store was put in its place. Put the newest copy back. If you know why, for example because you restored a \
         backup, `interlock record adopt` goes on with the store as it is"
    )]
    Behind {
        /// Where the mark is.
        mark: String,
        /// When the mark was signed.
        at: Timestamp,
        /// What is missing or different.
        why: String,
    },
    /// The mark of the store cannot be used.
    #[error(
        "the mark of this store, {mark}, does not count: {why}. If you know why, `interlock record adopt` makes a new one"
    )]
    Mark {
        /// Where the mark is.
        mark: String,
        /// Why.
        why: String,
    },
    /// Somebody wrote to the audit log without the key.
    #[error(
        "the audit log was changed outside Interlock ({why}); it is not signed. Run `interlock audit verify`, and restore a backup. \
         If you know why, `interlock record adopt` signs it as it is"
    )]
    Unsigned {
        /// What.
        why: String,
    },
    /// The schema of the database is not the one that this version makes.
    #[error("{0}")]
    SchemaChanged(SchemaChange),
    /// A backend that does not exist yet.
    #[error("PostgreSQL is not available yet; use `sqlite:PATH`")]
    NotAvailable,
    /// A directory is there.
    #[error("`{store}` is a directory; name a file in it")]
    IsDirectory {
        /// The store.
        store: Location,
    },
    /// The folder of the file does not exist and cannot be made.
    #[error("the folder of `{store}` cannot be made ({reason}); make it, or choose another path")]
    Folder {
        /// The store.
        store: Location,
        /// What the system said.
        reason: String,
    },
    /// Nothing is there, and it was only to be read.
    #[error("there is no database at `{store}`; nothing was stored yet, or the path is another one")]
    Missing {
        /// The store.
        store: Location,
    },
    /// The file is something else.
    #[error("`{store}` is not a database; it was left as it is. Choose another path")]
    NotADatabase {
        /// The store.
        store: Location,
    },
    /// The file is the database of another program.
    #[error("`{store}` is the database of another program; it was left as it is. Choose another path")]
    Foreign {
        /// The store.
        store: Location,
    },
    /// The file is damaged.
    #[error(
        "the database `{store}` is damaged ({what}); stop Interlock, keep a copy of the file, and restore a backup \
         or recover it with `sqlite3 FILE .recover`"
    )]
    Corrupt {
        /// The store.
        store: Location,
        /// Where, or what the check says.
        what: String,
    },
    /// Nothing can be written there.
    #[error("`{store}` cannot be written to; give its owner the right to write to it and to its folder")]
    ReadOnly {
        /// The store.
        store: Location,
    },
    /// The file cannot be opened at all.
    #[error("`{store}` cannot be opened ({reason}); check the path and the rights")]
    Denied {
        /// The store.
        store: Location,
        /// What the system said.
        reason: String,
    },
    /// There is no room left.
    #[error("the disk of `{store}` is full; nothing that was stored is lost. Make room, and go on")]
    Full {
        /// The store.
        store: Location,
    },
    /// Someone else holds the database.
    #[error("the database `{store}` is locked by another program; end that program, or try again")]
    Locked {
        /// The store.
        store: Location,
    },
    /// Reading or writing failed.
    #[error("reading or writing `{store}` failed ({reason}); check the disk")]
    Io {
        /// The store.
        store: Location,
        /// What the system said.
        reason: String,
    },
    /// A newer Interlock wrote it.
    #[error("the database has schema {found}, and this version knows {known}; use the newer Interlock again")]
    NewerSchema {
        /// The schema of the file.
        found: u32,
        /// The newest that this version knows.
        known: u32,
    },
    /// An older Interlock wrote it, and it was only to be read.
    #[error(
        "the database has schema {found}, and this version reads {known}; open it once for writing to bring it up to date"
    )]
    OlderSchema {
        /// The schema of the file.
        found: u32,
        /// What this version reads.
        known: u32,
    },
    /// A migration that was applied is not the one that this version has.
    #[error(
        "migration {number} ({name}) is not the one that made this database; use the Interlock that made it"
    )]
    ChangedMigration {
        /// Its number.
        number: u32,
        /// Its name.
        name: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// Anything else that the database said.
    #[error("the database answered: {0}")]
    Database(String),
    /// What was to be kept has no stored form.
    #[error("{what} cannot be stored: {reason}")]
    Unstorable {
        /// What.
        what: &'static str,
        /// Why.
        reason: String,
    },

    /// What was to be kept points at what is not there, or breaks another rule of the tables.
    #[error("what was to be kept does not fit what is there: {0}")]
    Inconsistent(String),

    /// Another worker has the session now.
    #[error("the claim on `{session}` is over: another worker has it, or it ended")]
    ClaimLost {
        /// The session.
        session: SessionId,
    },
    /// Only the worker that has the session may write this.
    #[error("{what} can only be written with a claim")]
    ClaimRequired {
        /// What.
        what: &'static str,
    },
    /// Someone else is writing to the resource.
    #[error("`{session}` is writing to `{resource}`")]
    WriterTaken {
        /// The resource.
        resource: ResourceId,
        /// Who.
        session: SessionId,
    },
    /// The permit was begun before.
    #[error("permit `{0}` was begun already")]
    AlreadyStarted(PermitId),
    /// The permit was never begun.
    #[error("permit `{0}` was never begun")]
    NotStarted(PermitId),
    /// The permit has its receipt.
    #[error("permit `{0}` has its receipt already")]
    AlreadyFinished(PermitId),
    /// The permit has no receipt yet.
    #[error("permit `{0}` has no receipt yet")]
    NotFinished(PermitId),
    /// The verification of the permit ended before.
    #[error("the write of permit `{0}` was looked at already")]
    AlreadyVerified(PermitId),
    /// The hold was decided before.
    #[error("`{0}` was decided already")]
    HoldDecided(HoldId),
    /// The hold stands for another plan or session.
    #[error("`{0}` stands for another plan")]
    HoldChanged(HoldId),
    /// The hold has started its call before.
    #[error("`{0}` has started its call already")]
    HoldUsed(HoldId),
    /// Writes were stopped again since somebody looked.
    #[error("writes were stopped again{}; look at why, then let them go", .0.by.as_ref().map(|by| format!(" by {by}")).unwrap_or_default())]
    StoppedAgain(Box<Switch>),
    /// The token was used before.
    #[error("the token for `{0}` was used already")]
    TokenUsed(HoldId),
    /// It is there already.
    #[error("{what} `{id}` is there already")]
    Duplicate {
        /// What.
        what: &'static str,
        /// Which.
        id: String,
    },
    /// It is not there.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// What.
        what: &'static str,
        /// Which.
        id: String,
    },
    /// Several begin like that.
    #[error("several {what}s begin with `{prefix}`: {}", candidates.join(", "))]
    Ambiguous {
        /// What.
        what: &'static str,
        /// The beginning.
        prefix: String,
        /// Some of them.
        candidates: Vec<String>,
    },
    /// Too many sessions wait.
    #[error("{max} sessions wait already; try again later")]
    QueueFull {
        /// How many may wait.
        max: u32,
    },
    /// The session does not stand where that can be done.
    #[error("`{session}` is {status}: it cannot be {wanted}")]
    WrongStatus {
        /// The session.
        session: SessionId,
        /// Where it stands.
        status: Status,
        /// What was to be done.
        wanted: &'static str,
    },
    /// An incident does not stand where that can be done.
    #[error("the incident `{incident}` is {status} already; reload it to see what happened")]
    IncidentStands {
        /// The incident.
        incident: IncidentId,
        /// Where it stands.
        status: IncidentStatus,
    },
}

impl Error {
    /// Whether the storage failed, and not what was asked of it.
    pub const fn is_storage(&self) -> bool {
        matches!(
            self,
            Self::Corrupt { .. }
                | Self::ReadOnly { .. }
                | Self::Denied { .. }
                | Self::Full { .. }
                | Self::Locked { .. }
                | Self::Io { .. }
                | Self::NotADatabase { .. }
                | Self::Closed
                | Self::Database(_)
        )
    }

    pub(crate) fn not_found(what: &'static str, id: &(impl std::fmt::Display + ?Sized)) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }
}
