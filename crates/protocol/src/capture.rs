//! What came out of a stream: its beginning, its length and its hash; and how a text that is too long to keep is cut.

use sha2::{Digest as _, Sha256};

use crate::ContentHash;

/// How many bytes of one output are taken over at most, before it is masked and cut.
pub const MOST_TAKEN: usize = 4 * 1024 * 1024;

/// What came out of one stream.
///
/// Where more came than there is room for, the beginning is kept and a last line says how much was left out. The end is not
/// kept then: without what stands before it nobody can say whether it is a part of a key.
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
    kept: Vec<u8>,
    room: usize,
    total: u64,
    hasher: Sha256,
}

impl Capture {
    /// Room for this many bytes.
    pub fn new(room: usize) -> Self {
        Self {
            kept: Vec::new(),
            room,
            total: 0,
            hasher: Sha256::new(),
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.total += chunk.len() as u64;
        let fits = chunk.len().min(self.room - self.kept.len());
        self.kept.extend_from_slice(&chunk[..fits]);
    }

    /// How much came so far.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// What is kept of it.
    pub fn finish(self) -> Captured {
        let omitted = self.total - self.kept.len() as u64;
        let mut bytes = self.kept;
        if omitted > 0 {
            let most = self.room;
            bytes.extend_from_slice(
                format!("\n[… the last {omitted} bytes are left out: at most {most} are taken; narrow it down …]\n")
                    .as_bytes(),
            );
        }
        Captured {
            bytes,
            total: self.total,
            omitted,
            hash: ContentHash::from_digest(self.hasher.finalize().into()),
        }
    }
}

/// The beginning and the end of a text that is longer than `room` bytes, with a line between them that says how much was left
/// out: an error usually stands at one of the two. Nothing if the text fits.
///
/// Cut only what is masked: what shows that something is a secret may stand in the part that is left out.
pub fn head_and_tail(text: &str, room: usize) -> Option<String> {
    if text.len() <= room {
        return None;
    }
    let tail_room = room / 2;
    let head = &text[..text.floor_char_boundary(room - tail_room)];
    let tail = &text[text.ceil_char_boundary(text.len() - tail_room)..];
    let omitted = text.len() - head.len() - tail.len();
    Some(format!("{head}\n[… {omitted} bytes left out …]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_is_kept_and_all_is_hashed() {
        let all: Vec<u8> = (0..=255_u8).cycle().take(10_000).collect();
        let mut capture = Capture::new(100);
        for chunk in all.chunks(33) {
            capture.push(chunk);
        }
        let captured = capture.finish();
        assert_eq!((captured.total, captured.omitted), (10_000, 9_900));
        assert!(captured.bytes.starts_with(&all[..100]));
        assert!(
            captured.text().ends_with(
                "\n[… the last 9900 bytes are left out: at most 100 are taken; narrow it down …]\n"
            )
        );
        assert_eq!(captured.hash, ContentHash::of(&all));
        let small = Captured::of(b"abc", 100);
        assert_eq!((small.bytes.as_slice(), small.omitted), (b"abc".as_slice(), 0));
    }

    #[test]
    fn head_and_tail_of_what_does_not_fit() {
        for (text, room, expected) in [
            ("", 0, None),
            ("abcdef", 6, None),
            ("abcdef", 5, Some("abc\n[… 1 bytes left out …]\nef")),
            ("abcdef", 1, Some("a\n[… 5 bytes left out …]\n")),
            ("abcdef", 0, Some("\n[… 6 bytes left out …]\n")),
            // No character is cut in two.
            ("äöü", 4, Some("ä\n[… 2 bytes left out …]\nü")),
            ("äöü", 3, Some("ä\n[… 4 bytes left out …]\n")),
            ("ä", 1, Some("\n[… 2 bytes left out …]\n")),
        ] {
            assert_eq!(head_and_tail(text, room).as_deref(), expected, "{text} {room}");
        }
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
