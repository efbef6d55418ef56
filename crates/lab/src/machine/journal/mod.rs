//! The journal of a machine: JSON lines in a file that really grows, is rotated, and moves to memory where the disk is full.

pub(super) mod moment;

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::places::{self, Root};

/// The file that is written to, in its folder.
const CURRENT: &str = "system.journal";
/// What it becomes when it is full.
const OLDER: &str = "system@1.journal";
/// When it is full.
const MOST_BYTES: u64 = 4 << 20;
/// When it is full in memory.
const MOST_VOLATILE_BYTES: u64 = 1 << 20;

/// The most severe priority that is not a problem.
pub(super) const INFO: u8 = 6;
/// Something is worth noticing.
pub(super) const NOTICE: u8 = 5;
/// Something is wrong.
pub(super) const WARNING: u8 = 4;
/// Something failed.
pub(super) const ERROR: u8 = 3;

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Microseconds since 1970.
    pub(super) time: i64,
    /// The start of the machine that it belongs to.
    pub(super) boot: String,
    /// The unit that it is about.
    pub(super) unit: String,
    /// Who says it.
    pub(super) identifier: String,
    pub(super) pid: i32,
    pub(super) priority: u8,
    pub(super) message: String,
}

/// Writes the journal.
#[derive(Debug)]
pub(super) struct Journal {
    folders: [PathBuf; 2],
    boot: String,
    /// Whether the last line may be incomplete.
    torn: Mutex<bool>,
}

impl Journal {
    /// A journal for this start of the machine.
    pub(super) fn new(root: &Root) -> io::Result<Self> {
        let mut boot = [0; 16];
        getrandom::fill(&mut boot).map_err(io::Error::other)?;
        Ok(Self {
            folders: [root.at(places::JOURNAL)?, root.at(places::VOLATILE_JOURNAL)?],
            boot: places::hex(&boot),
            torn: Mutex::new(false),
        })
    }

    /// Writes a line about a unit.
    pub(super) fn append(&self, unit: &str, identifier: &str, pid: i32, priority: u8, message: &str) {
        let entry = Entry {
            time: jiff::Timestamp::now().as_microsecond(),
            boot: self.boot.clone(),
            unit: unit.to_owned(),
            identifier: identifier.to_owned(),
            pid,
            priority,
            message: message.to_owned(),
        };
        let Ok(mut line) = serde_json::to_vec(&entry) else {
            return;
        };
        line.push(b'\n');
        let mut torn = self.torn.lock().unwrap_or_else(PoisonError::into_inner);
        if *torn {
            line.insert(0, b'\n');
        }
        let [disk, memory] = &self.folders;
        *torn = add(disk, &line, MOST_BYTES).is_err();
        if *torn {
            // A full disk shall not hide why it is full. If there is no room in memory either, the line is lost.
            let _ = add(memory, &line, MOST_VOLATILE_BYTES);
        }
    }

    /// What init itself says about a unit.
    pub(super) fn say(&self, unit: &str, priority: u8, message: &str) {
        self.append(unit, "systemd", 1, priority, message);
    }
}

fn add(folder: &Path, line: &[u8], most: u64) -> io::Result<()> {
    let path = folder.join(CURRENT);
    if fs::metadata(&path).is_ok_and(|found| found.len() > most) {
        fs::rename(&path, folder.join(OLDER))?;
    }
    let open = || OpenOptions::new().append(true).create(true).open(&path);
    let mut file = match open() {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            open()?
        }
        other => other?,
    };
    file.write_all(line)
}

/// The files of the journal, and their sizes.
pub(super) fn files(root: &Root) -> Vec<(PathBuf, u64)> {
    [places::JOURNAL, places::VOLATILE_JOURNAL]
        .into_iter()
        .filter_map(|folder| root.at(folder).ok())
        .flat_map(|folder| [folder.join(OLDER), folder.join(CURRENT)])
        .filter_map(|path| fs::metadata(&path).ok().map(|found| (path, found.len())))
        .collect()
}

/// All lines of the journal, by their time.
pub(super) fn read(root: &Root) -> Vec<Entry> {
    let mut entries: Vec<Entry> = files(root)
        .into_iter()
        .filter_map(|(path, _)| fs::read(path).ok())
        .flat_map(|bytes| {
            bytes
                .split(|byte| *byte == b'\n')
                // What was being written when the disk became full is half a line.
                .filter_map(|line| serde_json::from_slice(line).ok())
                .collect::<Vec<Entry>>()
        })
        .collect();
    entries.sort_by_key(|entry| entry.time);
    entries
}
