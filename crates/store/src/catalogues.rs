//! The catalogues of tools that sessions ran on. Each is kept once, under the hash of what it says.

use interlock_protocol::ContentHash;

use crate::backend::on;
use crate::{Error, Store};

impl Store {
    /// Keeps a catalogue under its hash. One that is there already is the same catalogue.
    pub async fn keep_catalogue(&self, hash: ContentHash, body: String) -> Result<(), Error> {
        on!(self, keep_catalogue(hash, body))
    }

    /// What is kept under the hash of a catalogue. The caller compares it with the hash.
    pub async fn catalogue(&self, hash: ContentHash) -> Result<Option<String>, Error> {
        on!(self, catalogue(hash))
    }
}
