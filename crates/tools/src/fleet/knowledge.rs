//! What was learned before.

use interlock_gate::Started;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use crate::failure::Failure;
use crate::{BoxFuture, Done};

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Its id, as in `note:<id>`.
    pub id: String,
    /// The resource that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What it says.
    pub text: String,
    /// When it was written.
    pub written_at: Timestamp,
    /// The session that wrote it.
    pub session: String,
}

/// Where notes are kept.
pub trait Notes: Send + Sync {
    /// Keeps a note, and gives back its id.
    fn remember<'a>(&'a self, note: Note) -> BoxFuture<'a, Result<(), String>>;

    /// The notes that have these words, the best first; all of them, newest first, for an empty query.
    fn recall<'a>(
        &'a self,
        query: &'a str,
        about: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Note>, String>>;
}

impl Fleet {
    pub(super) async fn knowledge(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }
}
