//! Signatures over what is kept: what they say, and how they are checked.

use interlock_protocol::{ContentHash, SessionId};
use interlock_seal::{Keyring, PublicKey, Signature};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::on;
use crate::{AuditVerified, Error, Store};

/// The signature over everything that is kept of a session, made when the session last changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seal {
    /// Its place among all seals of the store: 1 for the first.
    pub number: u64,
    /// The session.
    pub session: String,
    /// Where the session stood.
    pub status: String,
    /// When the session last changed.
    pub at: Timestamp,
    /// The digest of the session's rows.
    pub digest: ContentHash,
    /// The hash of the seal before it.
    pub previous: ContentHash,
    /// What checks the signature.
    pub public_key: PublicKey,
    /// The signature over all of the above.
    pub signature: Signature,
}

/// Where the audit log and the seals ended, signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Its place: 1 for the first.
    pub number: u64,
    /// When the last of the two was written.
    pub at: Timestamp,
    /// The number of the last entry of the audit log.
    pub audit_number: u64,
    /// Its hash.
    pub audit_hash: ContentHash,
    /// The number of the last seal.
    pub seal_number: u64,
    /// Its hash.
    pub seal_hash: ContentHash,
    /// What checks the signature.
    pub public_key: PublicKey,
    /// The signature over all of the above.
    pub signature: Signature,
}

/// What the seal of a session says about its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "seal", rename_all = "snake_case")]
pub enum SealState {
    /// The rows are as they were when the session last changed.
    Intact(Box<Seal>),
    /// Somebody is working on the session. It is signed when the work pauses or ends.
    InProgress,
    /// The session is older than the signing of this store, and its rows are as they were when signing began or when Interlock
    /// changed them last. What was written before that is not proven.
    Older,
    /// This store is not signed.
    Unsigned,
    /// The rows are not what was signed.
    Altered {
        /// Which parts of the record, or why.
        what: String,
    },
}

impl SealState {
    /// Whether the rows are proven to be as they were written.
    pub const fn is_intact(&self) -> bool {
        matches!(self, Self::Intact(_))
    }

    /// One sentence for people.
    pub fn sentence(&self) -> String {
        match self {
            Self::Intact(seal) => format!(
                "the record is as it was signed ({:.0}, key {})",
                seal.at, seal.public_key
            ),
            Self::InProgress => {
                "the session is in progress; its record is signed when it pauses or ends".to_owned()
            }
            Self::Older => {
                "the session is older than the signing of this store; what was written before that is not proven".to_owned()
            },
            Self::Unsigned => "this store is not signed".to_owned(),
            Self::Altered { what } => format!("the record was changed outside Interlock: {what}"),
        }
    }
}

/// Something in the store that is not what was signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: `audit`, `checkpoint 3`, `seal 12`, or a session's id.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// The last signed end of the store that is kept outside of it, beside the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MarkState {
    /// This machine keeps none for this store.
    None,
    /// It is kept in this file.
    Kept {
        /// The name of the file.
        file: String,
        /// The newest checkpoint in it.
        checkpoint: Box<Checkpoint>,
    },
}

/// What a hash that was kept elsewhere is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "is", content = "number", rename_all = "snake_case")]
pub enum HeadFound {
    /// Of this entry of the audit log.
    Entry(u64),
    /// Of this seal.
    Seal(u64),
}

/// What comparing the store with a checkpoint that was kept elsewhere came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Why the store is not the one that the checkpoint signs, or does not reach so far; nothing where it is and does.
    pub fault: Option<String>,
}

/// What checking the whole record came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordVerified {
    /// The audit log's own chain.
    pub audit: AuditVerified,
    /// How many checkpoints there are.
    pub checkpoints: u64,
    /// The last one.
    pub last_checkpoint: Option<Checkpoint>,
    /// How many seals there are.
    pub seals: u64,
    /// How many sessions are intact.
    pub sessions_intact: u64,
    /// How many sessions are in progress, and so not signed.
    pub sessions_in_progress: u64,
    /// How many sessions are older than signing.
    pub sessions_older: u64,
    /// The last signed end that is kept outside the store.
    pub mark: MarkState,
    /// What is not as it was signed. At most [`RecordVerified::MOST`] are listed.
    pub problems: Vec<Problem>,
    /// How many problems there are in all.
    pub problems_found: u64,
}

/// What checking the rows of some sessions came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SessionsVerified {
    /// How many were checked.
    pub checked: u64,
    /// How many of them are intact.
    pub intact: u64,
    /// How many are in progress; what was signed before is as it was.
    pub in_progress: u64,
    /// How many are older than signing.
    pub older: u64,
    /// Those that were changed.
    pub altered: Vec<Problem>,
    /// The last one that was checked, where there are more.
    pub next: Option<String>,
}

impl RecordVerified {
    /// How many problems are listed.
    pub const MOST: usize = 100;

    /// Whether everything that is signed is as it was signed.
    pub const fn holds(&self) -> bool {
        self.audit.broken.is_none() && self.problems_found == 0
    }
}

impl Store {
    /// The keys that this store signs and checks with.
    pub fn keyring(&self) -> Option<&Keyring> {
        self.backend.keyring()
    }

    /// Whether a session's rows are what was signed.
    pub async fn seal_of(&self, session: &SessionId) -> Result<SealState, Error> {
        on!(self, seal_of(session))
    }

    /// The last checkpoint of the audit log.
    pub async fn last_checkpoint(&self) -> Result<Option<Checkpoint>, Error> {
        on!(self, last_checkpoint())
    }

    /// What has this hash: an entry of the audit log, a seal, or nothing.
    pub async fn find_head(&self, hash: &ContentHash) -> Result<Option<HeadFound>, Error> {
        on!(self, find_head(hash))
    }

    /// Compares the store with checkpoints that were kept elsewhere: signature, audit entry and seal.
    pub async fn compare(
        &self,
        keyring: &Keyring,
        checkpoints: Vec<Checkpoint>,
    ) -> Result<Vec<Compared>, Error> {
        on!(self, compare(keyring, checkpoints))
    }

    /// Checks the rows of at most this many sessions: those after one, in the order of their ids.
    pub async fn verify_sessions(
        &self,
        keyring: &Keyring,
        after: Option<&str>,
        limit: usize,
    ) -> Result<SessionsVerified, Error> {
        on!(self, verify_sessions(keyring, after, limit))
    }

    /// Checks the audit log, its checkpoints, the seals, the mark if the keyring keeps one and, if wanted, the rows of every
    /// session.
    pub async fn verify_record(&self, keyring: &Keyring, sessions: bool) -> Result<RecordVerified, Error> {
        on!(self, verify_record(keyring, sessions))
    }
}
