//! Reads a file in bounds.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::time::{Duration, Instant};

use interlock_protocol::ContentHash;
use jiff::Timestamp;
use rustix::fs::FileType;

use super::open::{Found, Guard, Missing};
use crate::Failure;

/// How long reading one file may take.
const MOST_TIME: Duration = Duration::from_secs(20);
const CHUNK: usize = 64 * 1024;

/// Which part of a file to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Its beginning, and the hash of all of it if that is not longer than `hashed`.
    Head {
        /// How much is kept.
        bytes: usize,
        /// How much is read for the hash.
        hashed: usize,
    },
    /// Its last lines.
    Tail {
        /// How many.
        lines: usize,
        /// How much of them.
        bytes: usize,
    },
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// What is kept of it.
    pub(crate) bytes: Vec<u8>,
    /// How long it is; as far as it was read, where the system does not say.
    pub(crate) total: u64,
    /// Whether something is missing from `bytes`.
    pub(crate) truncated: bool,
    /// The hash of all of it, where all of it was read.
    pub(crate) hash: Option<ContentHash>,
    /// When it was last changed.
    pub(crate) modified: Option<Timestamp>,
    /// Where it really is.
    pub(crate) real: String,
}

/// Reads a regular file; nothing if there is none.
pub(crate) fn read(guard: Guard<'_>, path: &str, keep: Keep) -> Result<Option<Content>, Failure> {
    let found = match guard.content(path) {
        Ok(found) => found,
        Err(Missing::Nothing) => return Ok(None),
        Err(Missing::Refused(failure)) => return Err(failure),
    };
    match found.file_type() {
        FileType::RegularFile => {}
        FileType::Directory => {
            return Err(
                Failure::invalid(format!("`{path}` is a folder; list it instead")).detail("path", path)
            );
        }
        other => {
            return Err(
                Failure::invalid(format!("`{path}` is no regular file but {}", name_of(other)))
                    .detail("path", path),
            );
        }
    }
    take(&found, keep)
        .map(Some)
        .map_err(|error| Failure::io("read", path, &error))
}

fn take(found: &Found, keep: Keep) -> io::Result<Content> {
    let mut file = found.open()?;
    let size = u64::try_from(found.stat.st_size).unwrap_or(0);
    let part = match keep {
        Keep::Head { bytes, hashed } => {
            let all = up_to(&mut file, hashed.max(bytes))?;
            let total = size.max(all.bytes.len() as u64);
            let hash = all.complete.then(|| ContentHash::of(&all.bytes));
            let mut kept = all.bytes;
            let truncated = !all.complete || kept.len() > bytes;
            kept.truncate(bytes);
            (kept, total, truncated, hash)
        }
        Keep::Tail { lines, bytes } => {
            let skipped = size.saturating_sub(bytes as u64);
            file.seek(SeekFrom::Start(skipped))?;
            // A file that grows meanwhile must not push out the end that was asked for.
            let part = up_to(&mut file, bytes.saturating_add(CHUNK))?;
            let total = size.max(skipped + part.bytes.len() as u64);
            let (kept, cut) = last_lines(&part.bytes, lines);
            (kept, total, cut || skipped > 0 || !part.complete, None)
        }
    };
    let (bytes, total, truncated, hash) = part;
    Ok(Content {
        bytes,
        total,
        truncated,
        hash,
        modified: Timestamp::new(found.stat.st_mtime, 0).ok(),
        real: found.real.to_string_lossy().into_owned(),
    })
}

struct Part {
    bytes: Vec<u8>,
    /// Whether the end was reached.
    complete: bool,
}

fn up_to(file: &mut std::fs::File, most: usize) -> io::Result<Part> {
    let began = Instant::now();
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK];
    while bytes.len() <= most {
        if began.elapsed() > MOST_TIME {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match file.read(&mut chunk) {
            Ok(0) => {
                return Ok(Part {
                    bytes,
                    complete: true,
                });
            }
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Nothing more for now: an entry of the kernel that would wait.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(most);
    Ok(Part {
        bytes,
        complete: false,
    })
}

/// The last lines, and whether there were more.
fn last_lines(bytes: &[u8], lines: usize) -> (Vec<u8>, bool) {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let start = body
        .iter()
        .enumerate()
        .rev()
        .filter(|&(_, byte)| *byte == b'\n')
        .nth(lines.saturating_sub(1))
        .map_or(0, |(at, _)| at + 1);
    (bytes[start..].to_vec(), start > 0)
}

/// What a thing is called that is not a file.
pub(super) fn name_of(file_type: FileType) -> &'static str {
    match file_type {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a symbolic link",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "something unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn the_last_lines_are_whole_ones() {
        let cases: [(&str, usize, &str, bool); 6] = [
            ("", 3, "", false),
            ("a", 1, "a", false),
            ("a\nb\n", 1, "b\n", true),
            ("a\nb\nc", 2, "b\nc", true),
            ("a\nb\n", 2, "a\nb\n", false),
            ("a\n\n", 1, "\n", true),
        ];
        for (text, lines, expected, cut) in cases {
            let got = last_lines(text.as_bytes(), lines);
            assert_eq!(got, (expected.as_bytes().to_vec(), cut), "{text:?} {lines}");
        }
    }
}
