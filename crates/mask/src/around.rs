//! What must stand around an anchor before a finder looks at its line.
//!
//! Names such as `token` and `key` stand in most lines of a log, and few of them are followed by anything that a finder could
//! read. One look at the next characters tells which finders to ask. Each check allows at least what the trigger and the
//! pattern of its finders allow; `awake` tries that with generated texts.

use std::ops::Range;

/// What must stand around an anchor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Around {
    Anything,
    /// One of these bytes behind the anchor.
    Next(&'static [u8]),
    /// The rest of a name, and what assigns to it: `key =`, `"key":`.
    Assigned,
    /// The rest of a name, `=`, and a quote.
    Attribute,
    /// The rest of a name, blanks, and a word.
    Spaced,
    /// The same where marks may stand behind the name: `"key" word`.
    SpacedLoosely,
    /// The rest of a name in the plural, and what assigns to it.
    Plural,
    /// The rest of a cell of a table, and what parts cells or ends a row.
    Cell,
    /// The rest of a flag, as in `--key value` or `"--key", "value"`.
    Flag,
    /// The end of a name in quotes, a comma, and another quote.
    Listed,
    /// The beginning of a tag before it: `<db-`.
    Tag,
    /// Quotes, blanks and `:` or `=`.
    Colon,
    /// `:` behind it, or before it: `data:`, `kind: Secret`.
    Manifest,
    /// A colon, and three more with nothing but digits between them.
    Numbers,
    /// Hexadecimal digits, as many as a digest has.
    Digest,
    /// The anchor is the end of a line, with `:` thirteen characters before it.
    OldHash,
    /// The anchor is the end of a line, with `:` thirty-two characters before it; else as [`Around::Digest`].
    DigestOrEnd,
    /// The rest of a name and `(`, also behind `=`: `login(`, `auth=(`.
    Call,
    /// The rest of a word, a blank, and a letter: part of a sentence.
    Sentence,
    /// `AUTH PLAIN`, `LOGIN user`, or `334 `.
    Protocol,
}

/// How far before an anchor the rest of its name is looked for.
const BEFORE: usize = 100;

/// An anchor that was found. The end of a name is kept, so that a long one with many anchors is walked once.
pub(crate) struct Hit<'t> {
    bytes: &'t [u8],
    range: Range<usize>,
    name: Range<usize>,
    cell: Range<usize>,
    word: Range<usize>,
}

impl<'t> Hit<'t> {
    pub(crate) fn new(bytes: &'t [u8]) -> Self {
        Self {
            bytes,
            range: 0..0,
            name: 0..0,
            cell: 0..0,
            word: 0..0,
        }
    }

    pub(crate) fn move_to(&mut self, range: Range<usize>) {
        self.range = range;
    }

    fn at(&self, place: usize) -> u8 {
        self.bytes.get(place).copied().unwrap_or_default()
    }

    /// Whether a word stands here.
    fn is_word(&self, place: usize) -> bool {
        self.bytes.get(place).is_some_and(|byte| !is_space(*byte))
    }

    fn skip(&self, from: usize, accepts: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| accepts(**byte)).count()
    }

    /// The end of the name that the anchor stands in.
    fn name_end(&mut self) -> usize {
        if !(self.name.start <= self.range.end && self.range.end <= self.name.end) {
            let end = self.skip(self.range.end, is_name);
            self.name = self.range.end..end;
        }
        self.name.end
    }

    /// The end of the cell of a table that the anchor stands in.
    fn cell_end(&mut self) -> usize {
        if !(self.cell.start <= self.range.end && self.range.end <= self.cell.end) {
            let accepts = |byte: u8| is_name(byte) || b" /()".contains(&byte) || byte >= 0x80;
            let end = self.skip(self.range.end, accepts);
            self.cell = self.range.end..end;
        }
        self.cell.end
    }

    /// The end of the word that the anchor ends in, in any alphabet.
    fn word_end(&mut self) -> usize {
        let last = self.range.end.saturating_sub(1);
        if !(self.word.start <= last && last <= self.word.end) {
            let end = self.skip(last, |byte| is_name(byte) || byte >= 0x80);
            self.word = last..end;
        }
        self.word.end
    }

    /// Whether such a byte stands before the anchor, with nothing but these between them.
    fn follows(&self, wanted: u8, between: impl Fn(u8) -> bool) -> bool {
        let mut near = self.bytes[..self.range.start].iter().rev().take(BEFORE);
        match near.find(|byte| **byte == wanted || !between(**byte)) {
            Some(byte) => *byte == wanted,
            None => self.range.start > BEFORE,
        }
    }

    fn is_assigned(&mut self) -> bool {
        let mut at = self.name_end();
        // A letter of another alphabet goes on with the name.
        if self.at(at) >= 0x80 {
            return true;
        }
        // `Secret ID`, `Unseal Key 1`.
        if self.at(at) == b' ' {
            let number = self.skip(at + 1, |byte| byte.is_ascii_digit()) - (at + 1);
            if (1..=2).contains(&number) {
                at += 1 + number;
            } else if self.at(at + 1).eq_ignore_ascii_case(&b'i')
                && self.at(at + 2).eq_ignore_ascii_case(&b'd')
            {
                at += 3;
            }
        }
        at = self.skip(at, |byte| byte == b'\\');
        let rest = self.bytes.get(at..).unwrap_or_default();
        at += match rest {
            [b'"' | b'\'' | b'`', ..] => 1,
            [b'*', b'*', ..] => 2,
            [b'&', b'q' | b'Q', ..] => 6,
            [b'&', b'#', ..] => 5,
            [b'%', b'2', b'2', ..] => 3,
            _ => 0,
        };
        at += usize::from(matches!(self.at(at), b']' | b'}'));
        at = self.skip(at, is_blank);
        matches!(self.at(at), b':' | b'=' | b'?' | b'+') || self.at(at) == b'%' && self.at(at + 1) == b'3'
    }

    fn hex(&self, from: usize, count: usize) -> bool {
        self.bytes.get(from..from + count).is_some_and(|digits| {
            digits
                .iter()
                .all(|byte| byte.is_ascii_hexdigit() || *byte == b'X' || *byte == b'x')
        })
    }

    /// Whether the line that ends here has `:` so many characters before its end.
    fn colon_before_end(&self, count: usize) -> bool {
        let end = self.range.start;
        let end = end - usize::from(end > 0 && self.at(end - 1) == b'\r');
        end.checked_sub(count + 1).is_some_and(|at| self.at(at) == b':')
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// What `\s` of a pattern matches.
fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

impl Around {
    /// Whether this stands around the anchor.
    pub(crate) fn fits(self, hit: &mut Hit<'_>) -> bool {
        let end = hit.range.end;
        match self {
            Self::Anything => true,
            Self::Next(bytes) => hit.bytes.get(end).is_some_and(|byte| bytes.contains(byte)),
            Self::Assigned => hit.is_assigned(),
            Self::Attribute => {
                let at = hit.name_end();
                let at = hit.skip(at, is_blank);
                let value = hit.skip(at + 1, is_blank);
                hit.at(at) == b'=' && matches!(hit.at(value), b'"' | b'\'')
            }
            Self::Spaced => {
                let at = hit.name_end();
                let value = hit.skip(at, is_blank);
                value > at && hit.is_word(value)
            }
            Self::SpacedLoosely => {
                let at = hit.name_end();
                let at = hit.skip(at, |byte| matches!(byte, b'"' | b'\'' | b'*'));
                let value = hit.skip(at, is_blank);
                value > at && hit.is_word(value)
            }
            Self::Plural => {
                let at = hit.name_end();
                if !hit.at(at - 1).eq_ignore_ascii_case(&b's') {
                    return false;
                }
                let at = hit.skip(at, |byte| byte == b'\\');
                let at = at + usize::from(matches!(hit.at(at), b'"' | b'\''));
                let at = hit.skip(at, is_blank);
                matches!(hit.at(at), b':' | b'=')
            }
            Self::Cell => {
                let at = hit.cell_end();
                let at = hit.skip(at, |byte| matches!(byte, b'"' | b'\'' | b'*' | b'`'));
                let at = hit.skip(at, |byte| byte == b' ');
                matches!(hit.at(at), b',' | b';' | b'|' | b'\t' | b'\r' | b'\n')
            }
            Self::Flag => {
                let at = hit.name_end();
                matches!(hit.at(at), b' ' | b'\t' | b'"' | b'\'' | b'\r' | b'\n')
                    && hit.follows(b'-', |byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
            }
            Self::Listed => {
                let at = hit.name_end();
                let comma = hit.skip(at + 1, is_blank);
                let value = hit.skip(comma + 1, is_blank);
                let quote = |place| matches!(hit.at(place), b'"' | b'\'');
                quote(at) && hit.at(comma) == b',' && quote(value)
            }
            Self::Tag => hit.follows(b'<', |byte| is_name(byte) || byte == b':'),
            Self::Colon => {
                let at = hit.skip(end, |byte| byte == b'\\');
                let at = at + usize::from(matches!(hit.at(at), b'"' | b'\''));
                let at = hit.skip(at, is_space);
                matches!(hit.at(at), b':' | b'=')
            }
            Self::Manifest => {
                let data = hit.at(hit.range.start).eq_ignore_ascii_case(&b'd');
                let between = |byte: u8| is_space(byte) || matches!(byte, b'"' | b'\'' | b'\\');
                let at = hit.skip(end, between);
                data && hit.at(at) == b':' || !data && hit.follows(b':', between)
            }
            Self::Numbers => {
                let mut at = hit.range.start;
                for _ in 0..4 {
                    if hit.at(at) != b':' {
                        return false;
                    }
                    at = hit.skip(at + 1, |byte| byte.is_ascii_digit());
                }
                hit.at(at) == b':'
            }
            Self::Digest => match hit.at(hit.range.start) {
                b':' => hit.hex(end - 1, 32),
                b'*' => hit.hex(end - 1, 40),
                b'm' | b'M' => hit.hex(end, 32),
                _ => true,
            },
            Self::OldHash => hit.colon_before_end(13),
            Self::DigestOrEnd => match hit.at(hit.range.start) {
                b'\n' | 0 => hit.colon_before_end(32),
                _ => Self::Digest.fits(hit),
            },
            Self::Call => {
                let at = hit.name_end();
                let at = hit.skip(at, |byte| is_blank(byte) || byte == b'=' || byte == b':');
                hit.at(at) == b'('
            }
            Self::Sentence => {
                let at = hit.word_end();
                let word = hit.skip(at, is_blank);
                let next = hit.at(word);
                let letter = next.is_ascii_alphabetic() || next >= 0x80 || matches!(next, b'(' | b'/');
                word > at && letter || is_blank(hit.at(end.saturating_sub(1)))
            }
            Self::Protocol => hit.at(hit.range.start) == b'3' || Self::Spaced.fits(hit),
        }
    }
}
