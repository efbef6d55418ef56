//! What was learned: notes that outlive the sessions that wrote them.

use jiff::Timestamp;

use crate::backend::on;
use crate::{Error, Store};

/// The longest note, in bytes.
const MOST_BYTES: usize = 64 * 1024;

/// Something remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Its id.
    pub id: String,
    /// The resource that it is about.
    pub about: Option<String>,
    /// What it says. Masked by whoever brings it.
    pub text: String,
    /// When it was written.
    pub written_at: Timestamp,
    /// The session that wrote it.
    pub session: String,
}

impl Store {
    /// Keeps a note. One with an id that is there already is the same note. Beyond ten thousand the oldest are forgotten.
    pub async fn remember(&self, note: Note) -> Result<(), Error> {
        if note.text.len() > MOST_BYTES {
            return Err(Error::Unstorable {
                what: "a note",
                reason: format!("it has {} bytes; {MOST_BYTES} is the most", note.text.len()),
            });
        }
        on!(self, remember(note))
    }

    /// The notes that have some of these words, the best first; all of them, newest first, where there are no words.
    pub async fn recall(&self, query: &str, about: Option<&str>, most: u32) -> Result<Vec<Note>, Error> {
        on!(self, recall(query, about, most))
    }
}
