//! Where a text may be read as two texts.
//!
//! A text is masked in parts, each as if nothing stood before or behind it. A new part begins with a sentence or a heading
//! behind an empty line: no known form of a secret goes on over that. The rule reads only the empty line and the first
//! words behind it, so text that arrives in pieces is cut at the same places ([`crate::StreamMasker`]).

use std::ops::Range;

/// So much of a line is looked at to tell whether a sentence begins.
const HEAD: usize = 256;
/// A sentence shows by this many words.
const WORDS: usize = 4;

/// The parts of a text, in order and without gaps.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let mut done = false;
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let end = next(text, start).unwrap_or_else(|| {
            done = true;
            text.len()
        });
        let part = start..end;
        start = end;
        Some(part)
    })
}

/// Where the next part begins behind the one that begins at `start`.
fn next(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = start;
    let mut blank = false;
    loop {
        if blank && begins(&text[at..], true) == Some(true) {
            return Some(at);
        }
        // A line with anything but blanks ends the search for an empty one before it: go to the next line feed.
        let length = bytes[at..].iter().position(|byte| *byte == b'\n')?;
        blank = is_blank(&text[at..at + length]);
        at += length + 1;
    }
}

/// These places and so much before and behind each of them, as whole lines, in order and apart.
pub(crate) fn around(text: &str, places: &[Range<usize>], margin: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for place in places {
        let covered = found.last().map_or(0, |last| last.end);
        let wanted = (place.end + margin).min(bytes.len());
        if wanted <= covered {
            continue;
        }
        let ends = bytes[wanted..].iter().position(|byte| *byte == b'\n');
        let end = ends.map_or(bytes.len(), |newline| wanted + newline + 1);
        let from = place.start.saturating_sub(margin);
        match found.last_mut() {
            Some(last) if from <= last.end => last.end = end,
            _ => {
                let begins = bytes[covered..from].iter().rposition(|byte| *byte == b'\n');
                found.push(begins.map_or(covered, |newline| covered + newline + 1)..end);
            }
        }
    }
    found
}

/// The parts of a text between the markers in it, in order.
pub(crate) fn between_markers(text: &str) -> impl Iterator<Item = Range<usize>> {
    const MARKER: &[u8] = b"[masked:";
    let bytes = text.as_bytes();
    let word = |byte: &&u8| byte.is_ascii_lowercase() || **byte == b'_';
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let begin = start?;
        let mut from = begin;
        while let Some(at) = text[from..].find("[masked:").map(|at| from + at) {
            let name = at + MARKER.len();
            let length = bytes[name..].iter().take(40).take_while(word).count();
            if length > 0 && bytes.get(name + length) == Some(&b']') {
                start = Some(name + length);
                return Some(begin..name);
            }
            from = name;
        }
        start = None;
        Some(begin..text.len())
    })
}

/// Whether a line is empty to the eye.
pub(crate) fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// Whether a line that follows an empty one begins a new part. Nothing, if more of it must be known.
///
/// The answer depends only on what is known already: it stays the same when more of the text arrives.
pub(crate) fn begins(text: &str, complete: bool) -> Option<bool> {
    let line_end = text.find('\n');
    let whole = complete || line_end.is_some() || text.len() >= HEAD;
    let line = &text[..line_end.unwrap_or(text.len())];
    let line = &line[..line.floor_char_boundary(HEAD)];
    let Some(first) = line.chars().next() else {
        return whole.then_some(false);
    };
    if first == '#' {
        let marks = line.bytes().take_while(|byte| *byte == b'#').count();
        let Some(rest) = line[marks..].strip_prefix(' ') else {
            return (whole || line.len() > marks).then_some(false);
        };
        let Some(letter) = rest.chars().next() else {
            return whole.then_some(false);
        };
        return Some((2..=6).contains(&marks) && letter.is_uppercase());
    }
    // A script without blanks between its words: four of its characters tell.
    if first >= '\u{2e80}' {
        let known = line.chars().take(4).count();
        return (whole || known == 4)
            .then(|| known == 4 && line.chars().take(4).all(|letter| letter >= '\u{2e80}'));
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line,
        1 | 2 => match line[digits..].strip_prefix(". ") {
            Some(rest) => rest,
            None => return (whole || line.len() >= digits + 2).then_some(false),
        },
        _ => return Some(false),
    };
    sentence(rest, whole)
}

fn sentence(rest: &str, whole: bool) -> Option<bool> {
    let mut words = rest.split(' ').peekable();
    for index in 0..WORDS {
        let Some(word) = words.next() else {
            return whole.then_some(false);
        };
        // The last word may not be complete, which only the end of the line or a blank tells.
        if words.peek().is_none() && !whole {
            return None;
        }
        let word = word.trim_start_matches(['*', '_', '`', '(']);
        let word = word.trim_end_matches(['*', '_', '`', ')', ',', '.', ';', '!', '?', '\r']);
        let letters = word
            .chars()
            .all(|letter| letter.is_alphabetic() || matches!(letter, '\'' | '’' | '-'));
        let capital = index > 0 || word.starts_with(char::is_uppercase);
        if word.is_empty() || !letters || !capital {
            return Some(false);
        }
    }
    Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_or_a_heading_behind_an_empty_line_begins_a_part() {
        for (text, expected) in [
            ("a\n\nThe disk is full.\n", 2),
            ("a\n \t\r\nThe disk is full.\n", 2),
            ("a\nThe disk is full.\n", 1),
            ("a\n\n## Cause\n", 2),
            ("a\n\n# Cause\n", 1),
            ("a\n\n1. **Stop** the service now\n", 2),
            ("a\n\ncorrect horse battery staple\n", 1),
            ("a\n\nPassword: it is here now\n", 1),
            ("a\n\n  The disk is full.\n", 1),
            ("a\n\nThe disk is", 1),
            ("a\n\nThe disk is full", 2),
            ("a\n\n磁盘已满了\n", 2),
            ("a\n\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n", 1),
            ("\n\nThe disk is full.\n\nIt was not before.", 3),
            ("", 1),
        ] {
            let found: Vec<Range<usize>> = parts(text).collect();
            assert_eq!(found.len(), expected, "{text:?}: {found:?}");
            let joined: String = found.into_iter().map(|part| &text[part]).collect();
            assert_eq!(joined, text);
        }
    }

    #[test]
    fn what_is_known_of_a_line_never_changes_its_answer() {
        let long = format!("The {} is full now", "a".repeat(300));
        for line in [
            "The disk is full.",
            "## Cause",
            "#a",
            "###",
            "1. Stop the service now",
            "12",
            "1.",
            "100 things are not well",
            "The (disk) *is* full",
            "Über die Platte ist",
            "磁盘已满了",
            "磁盘a",
            "The a: is full",
            "",
            &long,
        ] {
            let whole = begins(line, true).unwrap();
            for at in 0..=line.len() {
                let Some(head) = line.get(..at) else { continue };
                assert!(
                    begins(head, false).is_none_or(|known| known == whole),
                    "{head:?} of {line:?}"
                );
            }
            assert_eq!(begins(&format!("{line}\nnext"), false), Some(whole), "{line:?}");
        }
    }
}
