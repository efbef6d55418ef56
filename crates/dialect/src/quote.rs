//! What a message may repeat of a model's own words.

use serde::Serialize;
use std::fmt;

/// The most characters of a quotation, escapes and the mark of a cut included.
pub const MAX_CHARS: usize = 200;

/// A model's words as a message may repeat them: on one line, at most [`MAX_CHARS`] characters, with control and
/// invisible characters made visible. It can neither open a fence nor begin a line of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Quote(String);

impl Quote {
    /// Quotes the beginning of this text.
    pub fn of(text: &str) -> Self {
        let mut quoted = String::new();
        let mut room = MAX_CHARS;
        // The length of the quotation without its last character, which gives way to `…` if more follows.
        let mut cut_at = 0;
        for c in text.trim().chars() {
            let escaped = escape(c);
            let needed = escaped.len();
            if needed > room {
                quoted.truncate(cut_at);
                quoted.push('…');
                return Self(quoted);
            }
            if room > needed {
                cut_at = quoted.len() + escaped.bytes();
            }
            escaped.push_to(&mut quoted);
            room -= needed;
        }
        Self(quoted)
    }

    /// Quotes the beginning of a text that was not masked yet. Where it is cut, the word in which the cut falls is left out: half
    /// a secret is none that a masker finds.
    pub fn of_whole_words(text: &str) -> Self {
        let Self(mut quoted) = Self::of(text);
        if text.trim().chars().map(|c| escape(c).len()).sum::<usize>() <= MAX_CHARS {
            return Self(quoted);
        }
        let is_end = |c: char| c.is_whitespace() || "\"'`,;{}[]()<>\\".contains(c);
        let end = quoted
            .rfind(is_end)
            .map_or(0, |at| match quoted[at..].chars().next() {
                // Of an escape nothing is left.
                Some('\\') | None => at,
                Some(end) => at + end.len_utf8(),
            });
        quoted.truncate(end);
        quoted.push('…');
        Self(quoted)
    }

    /// The quotation.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

enum Escaped {
    Plain(char),
    Named(&'static str),
    Code(String),
}

impl Escaped {
    fn len(&self) -> usize {
        match self {
            Self::Plain(_) => 1,
            Self::Named(text) => text.len(),
            Self::Code(text) => text.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Plain(c) => c.len_utf8(),
            Self::Named(_) | Self::Code(_) => self.len(),
        }
    }

    fn push_to(&self, out: &mut String) {
        match self {
            Self::Plain(c) => out.push(*c),
            Self::Named(text) => out.push_str(text),
            Self::Code(text) => out.push_str(text),
        }
    }
}

fn escape(c: char) -> Escaped {
    match c {
        '\n' => Escaped::Named("\\n"),
        '\r' => Escaped::Named("\\r"),
        '\t' => Escaped::Named("\\t"),
        _ if c.is_control() || is_invisible(c) => Escaped::Code(c.escape_unicode().to_string()),
        _ => Escaped::Plain(c),
    }
}

/// Characters that show nothing, break a line or turn the direction of what follows.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cut_leaves_no_half_of_a_word() {
        let lead = "the key that was sent is not valid: ".repeat(5);
        let cases = [
            (
                format!("{lead}sk-ABCDEFGHIJKLMNOPQRSTUVWXYZ and more"),
                format!("{lead}…"),
            ),
            (
                format!("{}\"k\":\"{}\"", " ".repeat(9), "x".repeat(300)),
                "\"k\":\"…".to_owned(),
            ),
            ("y".repeat(300), "…".to_owned()),
            (format!("a\n{}", "z".repeat(300)), "a…".to_owned()),
            ("short".to_owned(), "short".to_owned()),
            ("w".repeat(MAX_CHARS), "w".repeat(MAX_CHARS)),
        ];
        for (text, expected) in cases {
            assert_eq!(Quote::of_whole_words(&text).as_str(), expected);
        }
    }

    #[test]
    fn control_and_invisible_characters_are_made_visible() {
        let cases = [
            ("plain", "plain"),
            ("  padded \n", "padded"),
            ("two\nlines\r\n\tdeep", "two\\nlines\\r\\n\\tdeep"),
            ("bell\u{7}", "bell\\u{7}"),
            (
                "zero\u{200b}width \u{202e}turned",
                "zero\\u{200b}width \\u{202e}turned",
            ),
            ("ångström 日本", "ångström 日本"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(Quote::of(text).as_str(), expected, "{text:?}");
        }
    }

    #[test]
    fn two_hundred_characters_stay_and_one_more_is_cut() {
        let full = "é".repeat(MAX_CHARS);
        assert_eq!(Quote::of(&full).as_str(), full);
        let cut = Quote::of(&"é".repeat(MAX_CHARS + 1));
        assert_eq!(cut.as_str(), format!("{}…", "é".repeat(MAX_CHARS - 1)));
    }

    proptest! {
        #[test]
        fn a_quote_is_one_short_visible_line(text in any::<String>()) {
            let quote = Quote::of(&text);
            prop_assert!(quote.as_str().chars().count() <= MAX_CHARS);
            prop_assert!(!quote.as_str().chars().any(|c| c.is_control() || is_invisible(c)));
        }

        #[test]
        fn escapes_do_not_make_it_longer(text in "[\\n\\u{7}\\u{200b}a]{150,250}") {
            prop_assert!(Quote::of(&text).as_str().chars().count() <= MAX_CHARS);
        }
    }
}
