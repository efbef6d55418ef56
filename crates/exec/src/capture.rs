//! What came out of a stream: its head, its tail, its length and its hash.

use std::collections::VecDeque;
use std::fmt::Write as _;

use interlock_protocol::ContentHash;
use sha2::{Digest as _, Sha256};

/// What came out of one stream.
///
/// Where more came than is kept, the first half of the room holds the beginning and the second the end, and a line
/// between them says how much was left out: an error usually stands at one of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// What is kept.
    pub bytes: Vec<u8>,
    /// How much came.
    pub total: u64,
    /// How much of it is not in `bytes`.
    pub omitted: u64,
    /// The hash of everything that came.
    pub hash: ContentHash,
}

impl Captured {
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

    pub(crate) fn finish(self) -> Captured {
        let omitted = self.total - (self.head.len() + self.tail.len()) as u64;
        let mut bytes = self.head;
        if omitted > 0 {
            bytes.extend_from_slice(format!("\n[… {omitted} bytes left out …]\n").as_bytes());
        }
        bytes.extend(self.tail);
        let digest = self.hasher.finalize();
        let mut digits = String::with_capacity(64);
        for byte in digest {
            // Writing into a String cannot fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Captured {
            bytes,
            total: self.total,
            omitted,
            // Sixty-four digits are always a hash; the other branch is for the type.
            hash: digits.parse().unwrap_or_else(|_| ContentHash::of(digest)),
        }
    }
}
