//! The mark: the last signed end of a store, kept in a folder outside of it, beside the signing key.
//!
//! A store is one file. A person who can write to that file can put an older copy in its place, or cut off the newest
//! sessions together with their seals, audit entries and checkpoints: what is left is signed and fits together. The mark
//! says how far the store had come.
//!
//! A mark follows the store and never runs ahead of it: it is written after a transaction is on the disk, so a loss of
//! power leaves a mark that is older than the store, and never one that is newer. It is a file of checkpoints, one JSON
//! document a line, as `record.ship` writes it. The newest line counts.
//!
//! A store has up to three of them, each in a file of its own: by the path that was configured, by the path to which that leads,
//! and by the first seal of the store, which no two stores share. A link in place of the store or of its folder changes the
//! second name and not the first, and a copy under another name has the same first seal.

use std::cell::{Cell, OnceCell};
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
    folder: PathBuf,
    /// By the configured path.
    file: PathBuf,
    /// By the path to which that leads, where that is another one.
    led_to: Option<PathBuf>,
    /// By the first seal of the store.
    begun: OnceCell<PathBuf>,
    /// The number of the last checkpoint that this process wrote.
    written: Cell<u64>,
    /// Whether a failure was reported already.
    warned: Cell<bool>,
}

impl Mark {
    /// The mark of the store in this file; nothing where none is kept.
    pub(crate) fn of(keyring: Option<&Keyring>, store: &Path) -> Option<Self> {
        let folder = keyring?.marks()?;
        let named = |path: &Path| {
            let name = path.file_name()?.to_string_lossy();
            let hash = ContentHash::of(path.as_os_str().as_encoded_bytes()).to_string();
            Some(folder.join(format!("{name}-{}.jsonl", hash.get(..NAME)?)))
        };
        let configured = std::path::absolute(store).ok()?;
        let led_to = store.canonicalize().ok().filter(|path| *path != configured);
        let file = named(&configured)?;
        let led_to = led_to.and_then(|path| named(&path));
        Some(Self {
            folder: folder.to_owned(),
            file,
            led_to,
            begun: OnceCell::new(),
            written: Cell::new(0),
            warned: Cell::new(false),
        })
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The first seal of the store, where no other store has the same.
    pub(crate) fn begun_with(&self, first: &ContentHash) {
        let hash = first.to_string();
        if let Some(hash) = hash.get(..NAME) {
            // A store has one first seal: what was said before is the same.
            let _ = self.begun.set(self.folder.join(format!("begun-{hash}.jsonl")));
        }
    }

    /// Every file that is this store's mark; the one by the configured path last, so that it is not there without the others.
    fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.begun
            .get()
            .into_iter()
            .chain(&self.led_to)
            .chain([&self.file])
    }

    /// Whether a mark can be written.
    pub(crate) fn is_usable(&self) -> bool {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.is_ok() && rustix::fs::access(&self.folder, rustix::fs::Access::WRITE_OK).is_ok()
    }

    /// The newest checkpoint of each file that a trusted key signed, the one by the configured path first.
    pub(crate) fn read(&self, keyring: &Keyring) -> Result<Vec<(PathBuf, Checkpoint)>, Error> {
        let mut found = Vec::new();
        for path in self.files() {
            if let Some(checkpoint) = Self::read_one(path, keyring)? {
                found.push((path.clone(), checkpoint));
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Why the path of the store does not lead to where it led when the mark was made.
    pub(crate) fn led_elsewhere(&self) -> Result<(), Error> {
        match &self.led_to {
            Some(led_to)
                if self.file.symlink_metadata().is_ok() && led_to.symlink_metadata().is_err() =>
            {
                Err(Error::Mark {
                    mark: self.file.display().to_string(),
                    why: "the path of the store, or a folder of it, is a symbolic link, and led to another place when the mark was \
                          made"
                        .to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    fn read_one(path: &Path, keyring: &Keyring) -> Result<Option<Checkpoint>, Error> {
        let failed = |why: String| Error::Mark {
            mark: path.display().to_string(),
            why,
        };
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path);
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
            .max_by_key(|checkpoint| {
                // What a newer key signed comes after everything by an earlier one.
                let age = keyring.age(&checkpoint.public_key);
                let place = (checkpoint.audit_number, checkpoint.seal_number, checkpoint.number);
                (std::cmp::Reverse(age), place)
            });
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
        let failed = self
            .files()
            .find_map(|file| Some((file, append(file, checkpoint).err()?)));
        match failed {
            None => self.written.set(checkpoint.number),
            Some((file, error)) => {
                if !self.warned.replace(true) {
                    tracing::warn!(
                        file = %file.display(),
                        %error,
                        "the mark of the store cannot be written; a store that is cut off is found only by a checkpoint that was sent elsewhere (record.ship)"
                    );
                }
            }
        }
    }

    /// Forgets how far the store had come. The one by the configured path first: it is not there without the others.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let mut files: Vec<&PathBuf> = self.files().collect();
        files.reverse();
        for file in files {
            match std::fs::remove_file(file) {
                Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                    return Err(Error::Mark {
                        mark: file.display().to_string(),
                        why: format!("it cannot be removed: {error}"),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn append(path: &Path, checkpoint: &Checkpoint) -> std::io::Result<()> {
    let line = line(checkpoint)?;
    let mut file = OpenOptions::new()
        .append(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path);
    if let Ok(file) = &mut file
        && file.metadata()?.len() < LONG
    {
        // One call: the line of another process is before or after it.
        return file.write_all(&line);
    }
    match file {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => replace(path, checkpoint),
    }
}

/// Writes a new file with this one checkpoint, for its owner alone.
fn replace(path: &Path, checkpoint: &Checkpoint) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut draft = path.as_os_str().to_owned();
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
    std::fs::rename(&draft, path)
}

fn line(checkpoint: &Checkpoint) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(checkpoint)?;
    line.push(b'\n');
    Ok(line)
}
