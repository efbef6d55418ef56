//! What people did: a log to which one can only add. Each entry carries the hash of the one before it.

use interlock_protocol::{ContentHash, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::prepare::{json, nanoseconds};
use crate::sqlite::{look, write};
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
        write::entry_hash(self).is_some_and(|hash| hash == self.hash)
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
        let at = nanoseconds(deed.at)?;
        let details = json("the facts of a deed", &deed.details)?;
        self.backend
            .write(true, move |conn| write::audit(conn, &deed, at, &details))
            .await
    }

    /// Entries of the audit log, newest first.
    pub async fn audit_entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, Error> {
        let filter = filter.clone();
        self.look(move |conn| look::audit_entries(conn, &filter)).await
    }

    /// Looks at every entry of the audit log and at how they hang together.
    pub async fn verify_audit(&self) -> Result<AuditVerified, Error> {
        self.look(look::verify_audit).await
    }
}
