//! The mark: the last signed end of a store, kept in a folder outside of it, beside the signing key.
//!
//! A store is one file. A person who can write to that file can put an older copy in its place, or cut off the newest
//! sessions together with their seals, audit entries and checkpoints: what is left is signed and fits together. The mark
//! says how far the store had come.
//!
//! A mark follows the store and never runs ahead of it: it is written after a transaction is on the disk, so a loss of
//! power leaves a mark that is older than the store, and never one that is newer. It is a file of checkpoints, one JSON
//! document a line, as `record.ship` writes it. The newest line counts.

use std::cell::Cell;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use interlock_protocol::ContentHash;
use interlock_seal::Keyring;

use crate::{Checkpoint, Error};

/// A file that is longer is replaced by one with its newest line.
const LONG: u64 = 64 << 10;
/// No mark is longer.
const LONGEST: u64 = 16 << 20;
/// How much of the hash of a path is in the name of the file.
const NAME: usize = 16;

/// Where the mark of one store is.
#[derive(Debug)]
pub(crate) struct Mark {
    file: PathBuf,
    /// The number of the last checkpoint that this process wrote.
    written: Cell<u64>,
    /// Whether a failure was reported already.
    warned: Cell<bool>,
}

impl Mark {
    /// The mark of the store in this file; nothing where none is kept.
    pub(crate) fn of(keyring: Option<&Keyring>, store: &Path) -> Option<Self> {
        let folder = keyring?.marks()?;
        // Two names of one file are one store.
        let store = store.canonicalize().ok()?;
        let name = store.file_name()?.to_string_lossy();
        let hash = ContentHash::of(store.as_os_str().as_encoded_bytes()).to_string();
        let file = folder.join(format!("{name}-{}.jsonl", hash.get(..NAME)?));
        Some(Self {
            file,
            written: Cell::new(0),
            warned: Cell::new(false),
        })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The newest checkpoint that a trusted key signed; nothing where none was written yet.
    pub(crate) fn read(&self, keyring: &Keyring) -> Result<Option<Checkpoint>, Error> {
        let failed = |why: String| Error::Mark {
            file: self.file.clone(),
            why,
        };
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&self.file);
        let file = match opened {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(failed(format!("it cannot be read: {error}"))),
        };
        let mut bytes = Vec::new();
        file.take(LONGEST)
            .read_to_end(&mut bytes)
            .map_err(|error| failed(format!("it cannot be read: {error}")))?;
        let text = String::from_utf8_lossy(&bytes);
        // A line that a loss of power cut short is not one.
        let lines: Vec<Checkpoint> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let newest = lines
            .iter()
            .filter(|checkpoint| checkpoint.verifies(keyring))
            .max_by_key(|checkpoint| (checkpoint.audit_number, checkpoint.seal_number, checkpoint.number));
        match newest {
            Some(newest) => Ok(Some(newest.clone())),
            None if text.trim().is_empty() => Ok(None),
            None => Err(failed(match lines.last() {
                Some(line) => format!("its signature by the key {} does not count", line.public_key),
                None => "it is damaged".to_owned(),
            })),
        }
    }

    /// Adds the newest checkpoint. A failure is reported once and stops nothing: the store itself is kept.
    pub(crate) fn follow(&self, checkpoint: &Checkpoint) {
        if checkpoint.number <= self.written.get() {
            return;
        }
        match self.append(checkpoint) {
            Ok(()) => self.written.set(checkpoint.number),
            Err(error) => {
                if !self.warned.replace(true) {
                    tracing::warn!(
                        file = %self.file.display(),
                        %error,
                        "the mark of the store cannot be written; a store that is cut off is found only by a checkpoint that was sent elsewhere (record.ship)"
                    );
                }
            }
        }
    }

    fn append(&self, checkpoint: &Checkpoint) -> std::io::Result<()> {
        let line = line(checkpoint)?;
        let mut file = OpenOptions::new()
            .append(true)
            .mode(0o600)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(&self.file);
        if let Ok(file) = &mut file
            && file.metadata()?.len() < LONG
        {
            // One call: the line of another process is before or after it.
            return file.write_all(&line);
        }
        match file {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => self.replace(checkpoint),
        }
    }

    /// Forgets how far the store had come.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        match std::fs::remove_file(&self.file) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::Mark {
                file: self.file.clone(),
                why: format!("it cannot be removed: {error}"),
            }),
            _ => Ok(()),
        }
    }

    /// Writes a new file with this one checkpoint, for its owner alone.
    fn replace(&self, checkpoint: &Checkpoint) -> std::io::Result<()> {
        let folder = self.file.parent().unwrap_or_else(|| Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut draft = self.file.clone().into_os_string();
        draft.push(format!(".new-{}", std::process::id()));
        let draft = PathBuf::from(draft);
        // What a process left that was killed here.
        match std::fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file: File = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        file.write_all(&line(checkpoint)?)?;
        file.sync_all()?;
        std::fs::rename(&draft, &self.file)
    }
}

fn line(checkpoint: &Checkpoint) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(checkpoint)?;
    line.push(b'\n');
    Ok(line)
}
