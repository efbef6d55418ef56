//! What a terminal may be shown. Text that came from outside can carry escape sequences; none reaches a screen.

use std::fmt::Write as _;
use std::io::IsTerminal;

/// The most characters of one foreign text that people are shown.
const MOST_SHOWN: usize = 400;

/// Whether to colour what people read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    On,
    Off,
}

/// What a piece of text is, for choosing its colour.
#[derive(Clone, Copy)]
pub(crate) enum Tone {
    Good,
    Bad,
    Careful,
    Quiet,
    Strong,
}

impl Paint {
    /// Colour only on a terminal that can show it, and never against the user's wish.
    pub(crate) fn for_stream(stream: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|value| value == "dumb");
        if stream.is_terminal() && !unwanted && !dumb {
            Self::On
        } else {
            Self::Off
        }
    }

    /// The text in the colour of its tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31;1",
            Tone::Careful => "33",
            Tone::Quiet => "2",
            Tone::Strong => "1",
        };
        match self {
            Self::On => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Off => text.to_owned(),
        }
    }
}

/// The text as people may see it: on one line, with everything that a terminal would act on or hide written out,
/// and cut where it goes on too long.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(MOST_SHOWN * 2));
    for (count, c) in text.chars().enumerate() {
        if count == MOST_SHOWN {
            // Writing into a String cannot fail.
            let _ = write!(shown, "… ({} bytes in all)", text.len());
            break;
        }
        // Debug escapes exactly what does not print, and also quotes and backslashes, which do.
        if matches!(c, '\'' | '"' | '\\') {
            shown.push(c);
        } else if c != ' ' && c.is_whitespace() {
            shown.extend(c.escape_default());
        } else {
            shown.extend(c.escape_debug());
        }
    }
    shown
}

/// The whole text as people may see it, its lines as they are: for what must not be cut.
pub(crate) fn visible_lines(text: &str) -> String {
    let line = |line: &str| {
        let characters: Vec<char> = line.chars().collect();
        let parts = characters.chunks(MOST_SHOWN);
        parts
            .map(|part| visible(&part.iter().collect::<String>()))
            .collect::<String>()
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_gets_through() {
        let cases = [
            ("ls 'a' \"b\" \\c", "ls 'a' \"b\" \\c"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("a\0b\u{7}", "a\\0b\\u{7}"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("left\u{202e}thgir", "left\\u{202e}thgir"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("no\u{a0}break", "no\\u{a0}break"),
            ("Zoë 日本", "Zoë 日本"),
        ];
        for (text, expected) in cases {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn what_someone_decides_about_is_shown_whole_and_harmless() {
        let long = "x".repeat(10_000);
        assert_eq!(visible_lines(&long), long);
        assert_eq!(
            visible_lines("touch a\n\u{1b}[1Arm b\r\n"),
            "touch a\n\\u{1b}[1Arm b\\r\n"
        );
    }

    #[test]
    fn long_text_is_cut() {
        let shown = visible(&"x".repeat(100_000));
        assert!(shown.ends_with("xxx… (100000 bytes in all)"));
        assert!(shown.len() < 500);
    }
}
