//! What people did: a log to which one can only add. Each entry carries the hash of the one before it.

use interlock_protocol::{ContentHash, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backend::on;
use crate::{Error, Store};

/// Something that somebody did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// When.
    pub at: Timestamp,
    /// Who; nobody for a failed sign-in and for code itself.
    pub actor: Option<UserId>,
    /// What, as a stable dotted word: `hold.approved`, `user.created`, `sign_in.failed`, `writes.stopped`.
    pub action: String,
    /// What it was done to: an id.
    pub subject: Option<String>,
    /// Facts. Never a secret.
    pub details: Value,
}

/// A deed in the audit log: each carries the hash of the one before it, so that none can be taken out or changed unseen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its place: 1 for the first.
    pub number: u64,
    /// What was done.
    #[serde(flatten)]
    pub deed: Deed,
    /// The hash of the entry before it; of nothing for the first.
    pub previous: ContentHash,
    /// The hash of this entry: of `previous` and everything above, as it is kept.
    pub hash: ContentHash,
}

impl AuditEntry {
    /// Whether the entry is the one that its hash was made of.
    pub fn fits(&self) -> bool {
        entry_hash(self).is_some_and(|hash| hash == self.hash)
    }
}

/// Which entries of the audit log to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Only this actor's.
    pub actor: Option<UserId>,
    /// Only actions that begin like this.
    pub action: Option<String>,
    /// Only about this.
    pub subject: Option<String>,
    /// Only entries before this number.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: u32,
}

/// What came of looking at the whole audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditVerified {
    /// How many entries there are.
    pub entries: u64,
    /// The hash of the last one.
    pub head: ContentHash,
    /// The first entry that does not fit, and why; nothing if all do.
    pub broken: Option<(u64, String)>,
}

impl Store {
    /// Adds to the audit log. On the disk when it returns.
    pub async fn audit(&self, deed: Deed) -> Result<AuditEntry, Error> {
        on!(self, audit(deed))
    }

    /// Entries of the audit log, newest first.
    pub async fn audit_entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, Error> {
        on!(self, audit_entries(filter))
    }

    /// Looks at every entry of the audit log and at how they hang together.
    pub async fn verify_audit(&self) -> Result<AuditVerified, Error> {
        on!(self, verify_audit())
    }
}

/// An entry as it is kept, for its hash.
pub(crate) struct HashedEntry<'a> {
    pub(crate) number: i64,
    pub(crate) at: i64,
    pub(crate) actor: Option<&'a str>,
    pub(crate) action: &'a str,
    pub(crate) subject: Option<&'a str>,
    pub(crate) details: &'a str,
}

impl HashedEntry<'_> {
    /// Each text with its length before it: no two entries have the same bytes.
    pub(crate) fn hash(&self, previous: &[u8]) -> ContentHash {
        let mut bytes = Vec::with_capacity(128 + self.details.len());
        let mut field = |text: &[u8]| {
            bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
            bytes.extend_from_slice(text);
        };
        field(previous);
        field(&self.number.to_be_bytes());
        field(&self.at.to_be_bytes());
        field(self.action.as_bytes());
        field(self.details.as_bytes());
        for maybe in [self.actor, self.subject] {
            match maybe {
                None => field(&[0]),
                Some(text) => {
                    field(&[1]);
                    field(text.as_bytes());
                }
            }
        }
        ContentHash::of(bytes)
    }
}

/// The hash that an entry must have, from what it says.
fn entry_hash(entry: &AuditEntry) -> Option<ContentHash> {
    let details = serde_json::to_string(&entry.deed.details).ok()?;
    let kept = HashedEntry {
        number: i64::try_from(entry.number).ok()?,
        at: i64::try_from(entry.deed.at.as_nanosecond()).ok()?,
        actor: entry.deed.actor.as_ref().map(UserId::as_str),
        action: &entry.deed.action,
        subject: entry.deed.subject.as_deref(),
        details: &details,
    };
    Some(kept.hash(entry.previous.as_bytes()))
}
