//! The text as a person sees it: without characters that take no place, and with plain ones for their look-alikes.
//!
//! `pass\u{200b}word`, `ｐａｓｓｗｏｒｄ`, a no-break blank before a value, the zeros of UTF-16 and the overstrikes of a printer all
//! show a name that no pattern would find. Here they are undone, with the way back to the places in the original text.

use std::ops::Range;

use crate::work::looked_at;

/// A text without odd characters.
pub(crate) struct Plain {
    pub(crate) text: String,
    /// Where runs that are the same in both texts begin: here, and in the original.
    runs: Vec<(usize, usize)>,
    original: usize,
    /// Whether something that is in the original is left out here, because it was overwritten.
    pub(crate) erases: bool,
}

impl Plain {
    /// The plain text, or nothing if the text is plain already.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let first = next_odd(text)?;
        looked_at(text.len());
        let mut plain = Self {
            text: String::with_capacity(text.len()),
            runs: vec![(0, 0)],
            original: text.len(),
            erases: false,
        };
        // Every second byte of UTF-16 is a zero. Elsewhere zeros part entries, as in `/proc/self/environ`.
        let wide = text.bytes().filter(|byte| *byte == 0).count() * 3 > text.len();
        plain.text.push_str(&text[..first]);
        let mut next = first;
        while let Some(letter) = text[next..].chars().next() {
            let at = next;
            // What is plain is taken over as it is, to the next odd character.
            let run = next_odd(&text[at..]).unwrap_or(text.len() - at);
            if run > 0 {
                plain.follow(at);
                plain.text.push_str(&text[at..at + run]);
                next = at + run;
                continue;
            }
            // `\u0070` in a string of JSON.
            let written = escaped(&text[at..]);
            // A quote within a value ends it only in one of the two ways to read it.
            plain.erases |= written == Some('"');
            let length = written.map_or(letter.len_utf8(), |_| ESCAPE);
            next += length;
            let replaced = match written.map_or_else(|| odd(letter), |letter| Some(Odd::As(letter))) {
                None => Some(letter),
                Some(Odd::As(other)) => Some(other),
                Some(Odd::Zero) => (!wide).then_some('\n'),
                Some(Odd::Nothing) => None,
                Some(Odd::Backspace) => {
                    plain.erases = true;
                    if plain.text.ends_with(|last| last != '\n') {
                        plain.text.pop();
                        while plain
                            .runs
                            .last()
                            .is_some_and(|(here, _)| *here > plain.text.len())
                        {
                            plain.runs.pop();
                        }
                    }
                    None
                }
            };
            let Some(replaced) = replaced else { continue };
            plain.follow(at);
            plain.text.push(replaced);
            if replaced.len_utf8() != length {
                plain.runs.push((plain.text.len(), at + length));
            }
        }
        Some(plain)
    }

    /// Says that what comes now stands at this place in the original.
    fn follow(&mut self, at: usize) {
        let here = self.text.len();
        let follows = self
            .runs
            .last()
            .is_some_and(|(begin, there)| there + (here - begin) == at);
        if !follows {
            self.runs.push((here, at));
        }
    }

    /// Where a part of this text is in the original.
    pub(crate) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let index = |at: usize| {
            self.runs
                .partition_point(|(here, _)| *here <= at)
                .saturating_sub(1)
        };
        let start = self
            .runs
            .get(index(range.start))
            .map_or(0, |(here, there)| there + (range.start - here));
        // What takes no place behind the part belongs to it.
        let next = index(range.end);
        let end = match self.runs.get(next) {
            Some((here, there)) => there + (range.end - here),
            None => self.original,
        };
        start..end.min(self.original).max(start)
    }
}

enum Odd {
    As(char),
    Nothing,
    Zero,
    Backspace,
}

/// Whether a character looks like another one, or like none.
pub(crate) fn is_odd(letter: char) -> bool {
    odd(letter).is_some()
}

fn odd(letter: char) -> Option<Odd> {
    match letter {
        '\n' | '\t' | '\r' | ' '..='~' => None,
        '\u{8}' => Some(Odd::Backspace),
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            Some(Odd::As(' '))
        }
        '\0' => Some(Odd::Zero),
        '\u{1}'..='\u{1f}'
        | '\u{7f}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => Some(Odd::Nothing),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).map(Odd::As),
        _ => None,
    }
}

/// The length of `\u0070`.
const ESCAPE: usize = 6;

/// The letter, digit or sign of a name that is written as an escape at the beginning of this text.
fn escaped(text: &str) -> Option<char> {
    let digits = text.strip_prefix("\\u00")?.get(..2)?;
    let letter = char::from(u8::from_str_radix(digits, 16).ok()?);
    (letter.is_ascii_alphanumeric() || "_-\":=&<>'".contains(letter)).then_some(letter)
}

/// Where the next odd character or escape is.
fn next_odd(text: &str) -> Option<usize> {
    let suspect = |byte: &u8| {
        matches!(
            byte,
            0..=8 | 11 | 12 | 14..=31 | b'\\' | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef
        )
    };
    let mut at = 0;
    while let Some(found) = text.as_bytes()[at..].iter().position(suspect) {
        at += found;
        let letter = text[at..].chars().next()?;
        if is_odd(letter) || escaped(&text[at..]).is_some() {
            return Some(at);
        }
        at += letter.len_utf8();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_characters_are_undone_and_places_are_found_again() {
        for (text, expected, word, original) in [
            ("pass\u{200b}word=x", "password=x", "x", "x"),
            ("a\u{a0}b", "a b", "b", "b"),
            ("ｐａｓｓ：ｘｙ z", "pass:xy z", "xy", "ｘｙ"),
            ("p\0a\0s\0s\0=\0x\0y\0\n\0", "pass=xy\n", "xy", "x\0y\0"),
            ("p\u{8}pa\u{8}as\u{8}s=x\u{8}xy", "pas=xy", "xy", "xy"),
            ("_\u{8}a b", "a b", "a", "a"),
            ("HOME=/root\0TOKEN=x\0", "HOME=/root\nTOKEN=x\n", "x", "x"),
            ("\u{8}a", "a", "a", "a"),
            ("x\u{feff}", "x", "x", "x\u{feff}"),
            (
                r#"{"\u0070ass\u0077ord":"xy"}"#,
                r#"{"password":"xy"}"#,
                "xy",
                "xy",
            ),
        ] {
            let plain = Plain::of(text).unwrap();
            assert_eq!(plain.text, expected, "{text:?}");
            let at = plain.text.find(word).unwrap();
            let there = plain.original(&(at..at + word.len()));
            // What takes no place at the end may or may not be part of it.
            assert!(
                text[there.clone()].starts_with(original.trim_end_matches(['\0', '\u{feff}'])),
                "{text:?}: {:?}",
                &text[there]
            );
        }
        assert!(Plain::of("plain, with ü and → and \u{1f600}\n\t").is_none());
    }

    #[test]
    fn every_place_is_a_boundary_of_a_character() {
        let text = "ｐ\u{200b}ä\u{8}\u{8}x\u{a0}\0ｚ\u{feff}\n\u{8}q";
        let plain = Plain::of(text).unwrap();
        let places: Vec<usize> = (0..=plain.text.len())
            .filter(|at| plain.text.is_char_boundary(*at))
            .collect();
        for from in &places {
            for to in places.iter().filter(|to| *to >= from) {
                assert!(text.get(plain.original(&(*from..*to))).is_some(), "{from}..{to}");
            }
        }
    }
}
