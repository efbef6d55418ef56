//! Takes terminal colours out of a text, so that a secret is found however it is painted.

use std::borrow::Cow;

const ESCAPE: u8 = 0x1b;

/// Whether a sequence can begin with this character.
pub(crate) fn is_start(character: char) -> bool {
    matches!(character, '\u{1b}' | '\u{9b}' | '\u{9d}')
}

/// The text without escape sequences of terminals; the text itself where there are none.
pub(crate) fn strip(text: &str) -> Cow<'_, str> {
    // C1 control characters are two bytes in UTF-8, of which the second is the character's number.
    let has_c1 = text.contains('\u{9b}') || text.contains('\u{9d}');
    if !has_c1 && !text.as_bytes().contains(&ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_start) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[sequence(rest)..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The length of the sequence at the beginning of a text, which is never nothing.
fn sequence(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (kind, start) = if bytes[0] == ESCAPE {
        (bytes.get(1).copied().unwrap_or_default(), 2)
    } else {
        (if text.starts_with('\u{9b}') { b'[' } else { b']' }, 2)
    };
    match kind {
        b'[' => {
            // A C1 character may stand in a string of JSON as it is: what ends or escapes that is no part of a sequence.
            let of_json = |byte: u8| bytes[0] != ESCAPE && matches!(byte, b'"' | b'\\');
            let body = bytes[start.min(bytes.len())..]
                .iter()
                .take(64)
                .take_while(|byte| (0x20..0x40).contains(*byte) && !of_json(**byte))
                .count();
            let end = start + body;
            match bytes.get(end) {
                Some(last @ 0x40..=0x7e) if !of_json(*last) => end + 1,
                _ => end.min(bytes.len()),
            }
        }
        // A string such as the title of a window or a link; it ends with BEL or ESC \. One without an end is cut short.
        b']' | b'P' | b'_' | b'^' => {
            let from = start.min(bytes.len());
            let limit = text.floor_char_boundary((from + 2048).min(bytes.len()));
            let inside = &bytes[from..limit];
            let end = inside
                .iter()
                .position(|byte| matches!(*byte, 0x07 | ESCAPE | b'\n'));
            match end {
                Some(at) if inside[at] == 0x07 => from + at + 1,
                Some(at) if inside[at] == ESCAPE && bytes.get(from + at + 1) == Some(&b'\\') => from + at + 2,
                _ => from,
            }
        }
        b'(' | b')' | b'*' | b'+' | b'#' | b'%' => match bytes.get(2) {
            Some(byte) if byte.is_ascii() && *byte != b'\n' => 3,
            _ => 2,
        },
        0x30..=0x7e => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_string_of_json_stays_one() {
        for (text, expected) in [
            ("{\"a\":\"\u{9b}\",\"b\":1}", "{\"a\":\"\",\"b\":1}"),
            ("[\"\u{9b}\\\"x\"]", "[\"\\\"x\"]"),
            ("[\"\u{9b}31mred\"]", "[\"red\"]"),
        ] {
            assert_eq!(super::strip(text), expected);
        }
    }

    #[test]
    fn sequences_are_removed_and_text_stays() {
        for (text, expected) in [
            ("plain", "plain"),
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("pass\u{1b}[Kword=\u{1b}[01mx", "password=x"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]no end\nnext", "no end\nnext"),
            ("\u{1b}(Btext", "text"),
            ("a\u{1b}", "a"),
            ("a\u{1b}[", "a"),
            ("a\u{1b}[12", "a"),
            ("\u{1b}é", "é"),
            ("\u{1b}[é", "é"),
            ("\u{1b}(\nnext", "\nnext"),
            ("\u{1b}\nnext", "\nnext"),
        ] {
            assert_eq!(super::strip(text), expected, "{text:?}");
        }
    }
}
