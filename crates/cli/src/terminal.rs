//! What a terminal may be shown. Text that came from outside can carry escape sequences; none reaches a screen.

use std::io::IsTerminal;

use interlock_protocol::visible as written_out;

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
    match text.char_indices().nth(MOST_SHOWN) {
        None => written_out::line(text),
        Some((end, _)) => format!(
            "{}… ({} bytes in all)",
            written_out::line(&text[..end]),
            text.len()
        ),
    }
}

/// The whole text as people may see it, its lines as they are: for what must not be cut.
pub(crate) fn visible_lines(text: &str) -> String {
    written_out::lines(text)
}

/// The colours that [`Paint::paint`] uses, and the end of each.
const COLOURS: [&str; 6] = ["32", "31;1", "33", "2", "1", "0"];

/// What goes to a screen, at the last moment: our own colours if there are any, and of everything else only what prints.
/// Texts from outside are written out where they are put together; this is for the one that was forgotten.
pub(crate) fn screen(text: &str, paint: Paint) -> String {
    if paint == Paint::Off {
        return written_out::composed(text);
    }
    keeping(text, |rest| {
        let mut ours = COLOURS.iter().map(|code| format!("\u{1b}[{code}m"));
        ours.find(|code| rest.starts_with(code.as_str()))
            .map(|code| code.len())
    })
}

/// The same for a line of the log, whose colours are its writer's own.
pub(crate) fn log(text: &str) -> String {
    keeping(text, |rest| {
        let code = rest.strip_prefix("\u{1b}[")?;
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        code[end..].starts_with('m').then_some(end + 3)
    })
}

/// Writes out what a terminal acts on, but for the escape sequences whose length `known` says.
fn keeping(text: &str, known: impl Fn(&str) -> Option<usize>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&written_out::composed(&rest[..at]));
        let sequence = &rest[at..];
        let length = known(sequence);
        match length {
            Some(length) => out.push_str(&sequence[..length]),
            None => out.push_str(&written_out::composed("\u{1b}")),
        }
        rest = &sequence[length.unwrap_or(1)..];
    }
    out.push_str(&written_out::composed(rest));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_gets_through() {
        let cases = [
            ("ls 'a' \"b\" \\c", "ls 'a' \"b\" \\c"),
            ("\u{1b}[2Jgone", "⟦U+001B⟧[2Jgone"),
            ("a\r\nb\tc", "a⟦U+000D⟧⟦U+000A⟧b⟦U+0009⟧c"),
            ("a\0b\u{7}", "a⟦U+0000⟧b⟦U+0007⟧"),
            ("\u{9b}31m", "⟦U+009B⟧31m"),
            ("left\u{202e}thgir", "left⟦U+202E⟧thgir"),
            ("zero\u{200b}width", "zero⟦U+200B⟧width"),
            ("no\u{a0}break", "no⟦U+00A0⟧break"),
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
            "touch a\n⟦U+001B⟧[1Arm b⟦U+000D⟧\n"
        );
    }

    #[test]
    fn long_text_is_cut() {
        let shown = visible(&"x".repeat(100_000));
        assert!(shown.ends_with("xxx… (100000 bytes in all)"));
        assert!(shown.len() < 500);
    }

    #[test]
    fn a_screen_gets_our_colours_and_nothing_else_that_acts() {
        let hostile = "a\u{1b}[2Jb\rc\u{1b}]0;t\u{7}\u{9b}1A";
        let painted = format!("{}{hostile}", Paint::On.paint(Tone::Good, "✓"));
        assert_eq!(
            screen(&painted, Paint::On),
            "\u{1b}[32m✓\u{1b}[0ma⟦U+001B⟧[2Jb⟦U+000D⟧c⟦U+001B⟧]0;t⟦U+0007⟧⟦U+009B⟧1A"
        );
        assert!(!screen(&painted, Paint::Off).contains('\u{1b}'));
        // What was written out before is not written out again.
        for paint in [Paint::On, Paint::Off] {
            assert_eq!(screen(&visible("a\u{202e}"), paint), "a⟦U+202E⟧");
        }
        for tone in [Tone::Good, Tone::Bad, Tone::Careful, Tone::Quiet, Tone::Strong] {
            let text = Paint::On.paint(tone, "x");
            assert_eq!(screen(&text, Paint::On), text);
        }
    }
}
