//! What the lab is, seen from outside: every file and process of every machine, through `/proc`, and the books of the lab.
//!
//! No code of the product and none of the lab takes part. A machine is the process that the lab started as its first one;
//! its files are those under `/proc/PID/root`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::books;
use super::lab::Lab;

/// The guest that the control writes to.
pub(crate) const GUEST: &str = "nginx-proxy";

/// Files that grow by themselves: whose (of any machine where it is empty), which, and why. They may only grow: what was in
/// them must still be in them, at the beginning. Everything else in `/var/log` must stay as it is.
const GROWS: &[(&str, &str, &str)] = &[
    ("", "/var/log/journal/system.journal", "the journal of a machine"),
    (
        "",
        "/run/log/journal/system.journal",
        "the journal, where a disk is full",
    ),
    (
        "influxdb",
        "/var/log/influxdb/influxdb.log",
        "the service logs what it does",
    ),
    (
        "influxdb",
        "/var/log/influxdb/wal.db",
        "the service adds what it measured",
    ),
];

/// The page that a service writes before each record, and takes away after it; the time of its folder changes with it.
const PASSES: (&str, &str, &str) = ("influxdb", "/var/log/influxdb", "/var/log/influxdb/wal.db-wal");

/// Whether a difference is that page, or the time of its folder and nothing else.
fn passes(machine: &str, path: &Path, was: &str, is: &str) -> bool {
    let (of, folder, page) = PASSES;
    let there = |told: &str| told != NOT_THERE;
    machine == of
        && (path == Path::new(page) && (was == NOT_THERE || is == NOT_THERE || owner(was) == owner(is))
            || path == Path::new(folder) && there(was) && there(is) && owner(was) == owner(is))
}

/// What is told of a file that there is not.
const NOT_THERE: &str = "not there";

fn grows(machine: &str, path: &Path) -> bool {
    GROWS
        .iter()
        .any(|(of, grows, _)| path == Path::new(grows) && (of.is_empty() || *of == machine))
}

/// What is not the machine's own: programs of the system, read-only, and what the kernel makes up.
const NOT_OWN: [&str; 10] = [
    "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/dev",
];
/// What is, under those.
const OWN: [&str; 2] = ["/usr/local", "/dev/shm"];
/// The program of the lab itself, read-only: hundreds of megabytes.
const PROGRAM: &str = "/usr/local/lib/lab/guest";

pub(crate) struct Oracle<'a> {
    lab: &'a Lab,
    books: books::Books,
}

/// What there was at one time: a name, and what tells it from another.
pub(crate) struct Seen {
    files: BTreeMap<String, BTreeMap<PathBuf, String>>,
    /// What was in the files that grow.
    grown: BTreeMap<(String, PathBuf), Vec<u8>>,
    processes: BTreeSet<String>,
    books: BTreeMap<String, String>,
}

impl<'a> Oracle<'a> {
    pub(crate) fn new(lab: &'a Lab) -> Self {
        Self {
            lab,
            books: books::Books::of(lab),
        }
    }

    pub(crate) fn look(&self) -> Seen {
        let all = Process::all();
        let below = descendants(&all, self.lab.pid());
        let mut files = BTreeMap::new();
        let mut grown = BTreeMap::new();
        let mut processes = BTreeSet::new();
        for process in &below {
            let Some(machine) = process.machine() else {
                continue;
            };
            let root = PathBuf::from(format!("/proc/{}/root", process.pid));
            let mut found = BTreeMap::new();
            walk(&root, Path::new("/"), &mut found);
            for path in found.keys().filter(|path| grows(&machine, path)) {
                let content = fs::read(root.join(path.strip_prefix("/").unwrap())).unwrap_or_default();
                grown.insert((machine.clone(), path.clone()), content);
            }
            files.insert(machine.clone(), found);
            for inside in descendants(&all, process.pid) {
                // A process that ended or began while we looked is one of the lab's own measurements, or shows itself by what
                // it leaves; one that stays is seen.
                processes.insert(format!(
                    "{machine} process {} started at {}: {}",
                    inside.pid,
                    inside.started,
                    inside.arguments.join(" ")
                ));
            }
        }
        Seen {
            files,
            grown,
            processes,
            books: self.books.read(),
        }
    }
}

struct Process {
    pid: u32,
    parent: u32,
    /// In ticks since the system started: tells a process from a later one with the same number.
    started: u64,
    arguments: Vec<String>,
}

impl Process {
    fn all() -> Vec<Self> {
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| Self::read(entry.ok()?.file_name().to_str()?.parse().ok()?))
            .collect()
    }

    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name of the program stands in brackets and may have anything in it.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
            arguments: arguments
                .split(|byte| *byte == 0)
                .filter(|argument| !argument.is_empty())
                .map(|argument| String::from_utf8_lossy(argument).into_owned())
                .collect(),
        })
    }

    /// The machine whose first process this is.
    fn machine(&self) -> Option<String> {
        match self.arguments.as_slice() {
            [_, word, mode, name] if word == "__lab-guest" && mode == "init" => Some(name.clone()),
            _ => None,
        }
    }
}

fn descendants(all: &[Process], of: u32) -> Vec<&Process> {
    let mut found: Vec<&Process> = all.iter().filter(|process| process.parent == of).collect();
    let mut at = 0;
    while let Some(process) = found.get(at) {
        let pid = process.pid;
        found.extend(all.iter().filter(|process| process.parent == pid));
        at += 1;
    }
    found
}

/// Every file of a machine with type, mode, owner, size, times of change and content. Links are not followed.
fn walk(root: &Path, path: &Path, found: &mut BTreeMap<PathBuf, String>) {
    let own = |path: &Path| {
        OWN.iter()
            .any(|own| path.starts_with(own) || Path::new(own).starts_with(path))
    };
    if path == Path::new(PROGRAM) || NOT_OWN.iter().any(|not| path.starts_with(not)) && !own(path) {
        return;
    }
    let outside = root.join(path.strip_prefix("/").unwrap());
    let Ok(about) = fs::symlink_metadata(&outside) else {
        return;
    };
    let kind = about.file_type();
    let content = if kind.is_file() {
        fs::read(&outside).map_or_else(
            |error| error.kind().to_string(),
            |bytes| {
                let mut hasher = DefaultHasher::new();
                hasher.write(&bytes);
                format!("{:016x}", hasher.finish())
            },
        )
    } else if kind.is_symlink() {
        fs::read_link(&outside).map_or_else(|error| error.to_string(), |to| to.display().to_string())
    } else if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
        format!("device {}", about.rdev())
    } else {
        String::new()
    };
    found.insert(
        path.to_owned(),
        format!(
            "mode {:o}, owner {}:{}, {} bytes, changed {}.{}, {content}",
            about.mode(),
            about.uid(),
            about.gid(),
            if kind.is_dir() { 0 } else { about.size() },
            about.ctime(),
            about.ctime_nsec(),
        ),
    );
    if kind.is_dir() {
        for entry in fs::read_dir(&outside).into_iter().flatten().flatten() {
            walk(root, &path.join(entry.file_name()), found);
        }
    }
}

impl Seen {
    pub(crate) fn machines(&self) -> usize {
        self.files.len()
    }

    /// What is not as it was, in words.
    pub(crate) fn difference(&self, after: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let machines: BTreeSet<&String> = self.files.keys().chain(after.files.keys()).collect();
        for machine in machines {
            match (self.files.get(machine), after.files.get(machine)) {
                (Some(files), Some(later)) => {
                    lines.extend(compare(files, later).filter_map(|(path, was, is)| {
                        let shown = path.display();
                        if passes(machine, path, was, is) {
                            return None;
                        }
                        let key = (machine.clone(), path.clone());
                        match (self.grown.get(&key), after.grown.get(&key)) {
                            (Some(before), Some(now)) if owner(was) == owner(is) => (!now
                                .starts_with(before))
                            .then(|| {
                                format!("{machine} {shown}: what was in it is not at its beginning any more")
                            }),
                            // The first line of a log.
                            (None, Some(_)) => None,
                            _ => Some(format!("{machine} {shown}: {was} -> {is}")),
                        }
                    }));
                }
                (before, _) => lines.push(format!(
                    "{machine} {}",
                    if before.is_some() { "is gone" } else { "is new" }
                )),
            }
        }
        for gone in self.processes.difference(&after.processes) {
            lines.push(format!("{gone} is gone"));
        }
        for new in after.processes.difference(&self.processes) {
            lines.push(format!("{new} is new"));
        }
        lines.extend(
            compare(&self.books, &after.books).map(|(entry, was, is)| format!("{entry}: {was} -> {is}")),
        );
        lines
    }
}

/// Mode and owner, as they are told of a file.
fn owner(told: &str) -> &str {
    told.match_indices(", ")
        .nth(1)
        .map_or(told, |(at, _)| &told[..at])
}

#[test]
fn a_log_may_grow_and_nothing_else() {
    let seen = |path: &str, about: &str, content: &[u8]| Seen {
        files: BTreeMap::from([(
            "influxdb".to_owned(),
            BTreeMap::from([(PathBuf::from(path), about.to_owned())]),
        )]),
        grown: if grows("influxdb", Path::new(path)) {
            BTreeMap::from([(("influxdb".to_owned(), PathBuf::from(path)), content.to_vec())])
        } else {
            BTreeMap::new()
        },
        processes: BTreeSet::new(),
        books: BTreeMap::new(),
    };
    let log = "/var/log/influxdb/influxdb.log";
    let was = "mode 100644, owner 0:0, 2 bytes, changed 1.0, aa";
    let is = "mode 100644, owner 0:0, 4 bytes, changed 2.0, bb";
    for (path, now, content, changes) in [
        (log, is, &b"abcd"[..], false),
        (log, is, b"xbcd", true),
        (log, is, b"", true),
        (
            log,
            "mode 100600, owner 0:0, 4 bytes, changed 2.0, bb",
            b"abcd",
            true,
        ),
        (
            log,
            "mode 100644, owner 1:0, 4 bytes, changed 2.0, bb",
            b"abcd",
            true,
        ),
        ("/var/log/nginx/access.log", is, b"abcd", true),
        ("/var/log/auth.log", is, b"abcd", true),
        ("/var/log/influxdb/wal.db-wal", is, b"abcd", false),
        ("/var/log/influxdb", is, b"", false),
        (
            "/var/log/influxdb",
            "mode 40777, owner 0:0, 0 bytes, changed 2.0, ",
            b"",
            true,
        ),
        ("/var/log", is, b"", true),
    ] {
        let difference = seen(path, was, b"ab").difference(&seen(path, now, content));
        assert_eq!(!difference.is_empty(), changes, "{path} {now}: {difference:?}");
    }
}

/// What differs between two tables: the key, and both values.
fn compare<'a, K: Ord>(
    before: &'a BTreeMap<K, String>,
    after: &'a BTreeMap<K, String>,
) -> impl Iterator<Item = (&'a K, &'a str, &'a str)> {
    let keys: BTreeSet<&K> = before.keys().chain(after.keys()).collect();
    keys.into_iter().filter_map(move |key| {
        let was = before.get(key).map_or(NOT_THERE, String::as_str);
        let is = after.get(key).map_or(NOT_THERE, String::as_str);
        (was != is).then_some((key, was, is))
    })
}
