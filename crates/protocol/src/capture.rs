//! What came out of a stream: its head, its tail, its length and its hash.

use std::collections::VecDeque;

use sha2::{Digest as _, Sha256};

use crate::ContentHash;

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
    /// Of bytes that are all there.
    pub fn of(bytes: &[u8], room: usize) -> Self {
        let mut capture = Capture::new(room);
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
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    head_room: usize,
    tail: VecDeque<u8>,
    tail_room: usize,
    total: u64,
    hasher: Sha256,
}

impl Capture {
    /// Room for this many bytes.
    pub fn new(room: usize) -> Self {
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

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.total += chunk.len() as u64;
        let (first, rest) = chunk.split_at(chunk.len().min(self.head_room - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_room)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_room);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// How much came so far.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// What is kept of it.
    pub fn finish(self) -> Captured {
        let omitted = self.total - (self.head.len() + self.tail.len()) as u64;
        let mut bytes = self.head;
        if omitted > 0 {
            bytes.extend_from_slice(format!("\n[… {omitted} bytes left out …]\n").as_bytes());
        }
        bytes.extend(self.tail);
        Captured {
            bytes,
            total: self.total,
            omitted,
            hash: ContentHash::from_digest(self.hasher.finalize().into()),
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
        let captured = capture.finish();
        assert_eq!((captured.total, captured.omitted), (10_000, 9_900));
        assert!(captured.bytes.starts_with(&all[..50]) && captured.bytes.ends_with(&all[9_950..]));
        assert_eq!(captured.hash, ContentHash::of(&all));
        let small = Captured::of(b"abc", 100);
        assert_eq!((small.bytes.as_slice(), small.omitted), (b"abc".as_slice(), 0));
    }

    #[test]
    fn a_capture_keeps_the_same_whatever_the_pieces() {
        let all: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for room in [0, 1, 2, 3, 10, 999, 1000, 1001, 5000] {
            let captures: Vec<_> = [1, 3, 7, 100, 1000]
                .into_iter()
                .map(|size| {
                    let mut capture = Capture::new(room);
                    all.chunks(size).for_each(|chunk| capture.push(chunk));
                    capture.finish()
                })
                .collect();
            assert!(captures.windows(2).all(|pair| pair[0] == pair[1]), "{room}");
            let first = &captures[0];
            assert_eq!(first.hash, ContentHash::of(&all));
            assert_eq!(first.omitted, 1000_u64.saturating_sub(room as u64));
            assert!(room < 1000 || first.bytes == all);
        }
    }
}
