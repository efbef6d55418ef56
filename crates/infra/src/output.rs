//! What came of a command that ran elsewhere, and the bounds it ran in.

use std::collections::VecDeque;
use std::time::Duration;

use interlock_protocol::ContentHash;
use sha2::{Digest as _, Sha256};

/// The bounds of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run.
    pub wall: Duration,
    /// How many bytes of each stream are kept.
    pub output_bytes: usize,
    /// How many bytes of each stream are taken at all before it is ended.
    pub drain_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            output_bytes: 64 * 1024,
            drain_bytes: 64 * 1024 * 1024,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal.
    Signal,
    /// Its time ran out and it was ended.
    TimedOut,
    /// It was cancelled and ended.
    Cancelled,
    /// It printed without end and was ended.
    OutputLimit,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What it printed.
    pub stdout: Stream,
    /// What it complained about.
    pub stderr: Stream,
    /// How it ended.
    pub exit: Exit,
    /// How long it took.
    pub duration: Duration,
}

impl Output {
    /// Whether it ended by itself and well.
    pub const fn is_success(&self) -> bool {
        matches!(self.exit, Exit::Code(0))
    }

    /// One hash for both streams: of the first alone if the second is empty, else of the two hashes.
    pub fn hash(&self) -> ContentHash {
        if self.stderr.total == 0 {
            return self.stdout.hash;
        }
        let both = [
            self.stdout.hash.as_bytes().as_slice(),
            self.stderr.hash.as_bytes(),
        ];
        ContentHash::of(both.concat())
    }
}

/// `timeout` ends with 124, or with 137 where it had to kill.
pub(crate) fn exit_of(code: Option<i32>, wall: Duration, took: Duration) -> Exit {
    match code {
        Some(124 | 137) if took >= wall => Exit::TimedOut,
        Some(code) => Exit::Code(code),
        None => Exit::Signal,
    }
}

/// What came out of one stream. Where more came than is kept, its beginning and its end are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// What is kept.
    pub bytes: Vec<u8>,
    /// How much came.
    pub total: u64,
    /// How much of it is not in `bytes`.
    pub omitted: u64,
    /// The hash of everything that came.
    pub hash: ContentHash,
}

impl Stream {
    /// A stream of which everything is known.
    pub fn of(bytes: &[u8], most: usize) -> Self {
        let mut capture = Capture::new(most);
        capture.push(bytes);
        capture.finish()
    }

    /// Whether something was left out.
    pub const fn is_truncated(&self) -> bool {
        self.omitted > 0
    }

    /// What is kept, as text. What is no UTF-8 becomes a replacement character.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Takes what comes, in bounded room.
pub(crate) struct Capture {
    head: Vec<u8>,
    head_room: usize,
    tail: VecDeque<u8>,
    tail_room: usize,
    total: u64,
    hasher: Sha256,
}

impl Capture {
    pub(crate) fn new(room: usize) -> Self {
        let tail_room = room / 2;
        Self {
            head: Vec::new(),
            head_room: room - tail_room,
            tail: VecDeque::new(),
            tail_room,
            total: 0,
            hasher: Sha256::new(),
        }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.total += chunk.len() as u64;
        let (first, rest) = chunk.split_at(chunk.len().min(self.head_room - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_room)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn finish(self) -> Stream {
        let omitted = self.total - (self.head.len() + self.tail.len()) as u64;
        let mut bytes = self.head;
        if omitted > 0 {
            bytes.extend_from_slice(format!("\n[… {omitted} bytes left out …]\n").as_bytes());
        }
        bytes.extend(self.tail);
        let digest = self.hasher.finalize();
        let digits: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Stream {
            bytes,
            total: self.total,
            omitted,
            // Sixty-four digits are always a hash; the other branch is for the type.
            hash: digits
                .concat()
                .parse()
                .unwrap_or_else(|_| ContentHash::of(digest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_and_all_is_hashed() {
        let all: Vec<u8> = (0..=255_u8).cycle().take(10_000).collect();
        let mut capture = Capture::new(100);
        for chunk in all.chunks(33) {
            capture.push(chunk);
        }
        let stream = capture.finish();
        assert_eq!((stream.total, stream.omitted), (10_000, 9_900));
        assert!(stream.bytes.starts_with(&all[..50]) && stream.bytes.ends_with(&all[9_950..]));
        assert_eq!(stream.hash, ContentHash::of(&all));
        let small = Stream::of(b"abc", 100);
        assert_eq!((small.bytes.as_slice(), small.omitted), (b"abc".as_slice(), 0));
    }
}
