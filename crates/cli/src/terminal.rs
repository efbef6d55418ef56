//! What a terminal may be shown. Text that came from outside can carry escape sequences; none reaches a screen. And it can be
//! so long that the terminal breaks it: then it is broken here, and what goes on is marked.

use std::io::IsTerminal;

use interlock_protocol::visible as written_out;
use unicode_width::UnicodeWidthChar as _;

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

/// What begins a line that goes on from the one before, because the screen is too narrow. A terminal that broke the line itself
/// would begin the rest at the very left, where only code writes: a long argument could look like a line of ours.
pub(crate) const CONTINUED: &str = "  ⤷ ";
/// How wide a screen is that does not say it: as narrow as screens usually are at least.
pub(crate) const WIDTH: usize = 80;
/// Lines are not made shorter than this: one letter a line is no text any more.
const NARROWEST: usize = 12;

/// How wide the screen is that this goes to; nothing if it goes to a file or to another program, where lines stay whole.
pub(crate) fn width_of(stream: &impl IsTerminal, screen: &console::Term) -> Option<usize> {
    let columns = || screen.size_checked().map(|(_, columns)| usize::from(columns));
    stream
        .is_terminal()
        .then(|| columns().filter(|&columns| columns > 0).unwrap_or(WIDTH))
}

/// The same of standard output.
pub(crate) fn stdout_width() -> Option<usize> {
    width_of(&std::io::stdout(), &console::Term::stdout())
}

/// The same of standard error.
pub(crate) fn stderr_width() -> Option<usize> {
    width_of(&std::io::stderr(), &console::Term::stderr())
}

/// What goes to a screen of this width, at the last moment: our own colours if there are any, of everything else only what prints,
/// and no line that the screen would break. Texts from outside are written out where they are put together; this is for the one
/// that was forgotten.
pub(crate) fn screen(text: &str, paint: Paint, width: Option<usize>) -> String {
    let text = match paint {
        Paint::Off => written_out::composed(text),
        Paint::On => keeping(text, |rest| {
            let mut ours = COLOURS.iter().map(|code| format!("\u{1b}[{code}m"));
            ours.find(|code| rest.starts_with(code.as_str()))
                .map(|code| code.len())
        }),
    };
    fitted(text, width)
}

/// The same for a line of the log, whose colours are its writer's own.
pub(crate) fn log(text: &str, width: Option<usize>) -> String {
    let text = keeping(text, |rest| {
        let code = rest.strip_prefix("\u{1b}[")?;
        let end = code.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        code[end..].starts_with('m').then_some(end + 3)
    });
    fitted(text, width)
}

/// The text without a line that is wider than the screen: the rest of it begins with a mark on the next line.
fn fitted(text: String, width: Option<usize>) -> String {
    let Some(width) = width else {
        return text;
    };
    // One column stays free: some terminals go to the next line when the last one is filled.
    let room = width.saturating_sub(1).max(NARROWEST);
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut parts = broken(line, room, room - CONTINUED.chars().count()).into_iter();
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            out.push('\n');
            out.push_str(CONTINUED);
            out.push_str(part);
        }
    }
    out
}

/// A line in parts, the first no wider than `first` and each further one no wider than `rest`, broken behind a space where there
/// is one.
pub(crate) fn broken(line: &str, first: usize, rest: usize) -> Vec<&str> {
    // No character is wider than it has bytes, but for a tab.
    if line.len() <= first && !line.contains('\t') {
        return vec![line];
    }
    let mut parts = Vec::new();
    let (mut start, mut wide, mut room) = (0, 0, first);
    // Behind the last space, and how wide the line is up to there.
    let mut space: Option<(usize, usize)> = None;
    for (at, c, columns) in shown(line) {
        wide += columns;
        if wide > room && at > start {
            let (end, used) = space
                .filter(|(end, _)| *end > start)
                .unwrap_or((at, wide - columns));
            parts.push(&line[start..end]);
            (start, wide, room, space) = (end, wide - used, rest, None);
        }
        if c == ' ' {
            space = Some((at + 1, wide));
        }
    }
    parts.push(&line[start..]);
    parts
}

/// Each character that is shown, with its place and the columns that it takes at most. Colours take none.
fn shown(text: &str) -> impl Iterator<Item = (usize, char, usize)> {
    let (mut before, mut colour) = (0, false);
    text.char_indices().filter_map(move |(at, c)| {
        if colour || c == '\u{1b}' {
            colour = c != 'm';
            return None;
        }
        let columns = columns(c, before);
        before = if c == EMOJI { 2 } else { columns };
        Some((at, c, columns))
    })
}

/// How many columns a text takes, at most.
#[cfg(test)]
pub(crate) fn wide_of(text: &str) -> usize {
    shown(text).map(|(_, _, columns)| columns).sum()
}

/// Makes an emoji of the character before it, which then takes two columns.
const EMOJI: char = '\u{fe0f}';

/// How many columns a character adds behind one that took `before`, at most: some terminals draw an ambiguous character over two.
fn columns(c: char, before: usize) -> usize {
    match c {
        EMOJI => 2_usize.saturating_sub(before),
        '\t' => 8,
        _ => c.width_cjk().unwrap_or(0),
    }
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

    /// Whatever a foreign text is padded with, no screen begins a part of it at the left: each further line has the mark.
    #[test]
    fn no_line_is_left_for_the_screen_to_break() {
        let head = "What was done and read";
        let pads = [" ", "─", "日", "❤\u{fe0f}", "x", "a ", "\t", "e\u{301}"];
        for width in [1, 12, 20, 40, 80, 81, 120, 200] {
            for pad in pads {
                for count in [1, 7, 38, 39, 40, 77, 78, 79, 80, 81, 150, 400] {
                    for paint in [Paint::On, Paint::Off] {
                        let tool = paint.paint(Tone::Quiet, "infra_query");
                        let said = format!("12:00:00  → {tool} {}{head}\n  next\n", pad.repeat(count));
                        let shown = screen(&said, paint, Some(width));
                        let mut lines = shown.lines();
                        assert!(
                            lines.next().is_some_and(|line| line.starts_with("12:00:00")),
                            "{shown}"
                        );
                        assert_eq!(lines.next_back(), Some("  next"), "{shown}");
                        for line in lines {
                            assert!(line.starts_with(CONTINUED), "{width} {pad:?} {count}: {shown}");
                        }
                        for line in shown.lines() {
                            assert!(
                                wide_of(line) < width.max(NARROWEST + 2) + 2,
                                "{width} {pad:?}: {shown}"
                            );
                        }
                        // Nothing is lost.
                        let whole = shown.replace(&format!("\n{CONTINUED}"), "");
                        assert_eq!(whole, screen(&said, paint, None));
                    }
                }
            }
        }
        for (text, wide) in [
            ("❤", 1..=2),
            ("❤\u{fe0f}", 2..=2),
            ("1\u{fe0f}\u{20e3}", 2..=2),
            ("日", 2..=2),
            ("a\u{fe0f}\u{fe0f}", 2..=2),
        ] {
            assert!(wide.contains(&wide_of(text)), "{text:?}");
        }
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
            screen(&painted, Paint::On, None),
            "\u{1b}[32m✓\u{1b}[0ma⟦U+001B⟧[2Jb⟦U+000D⟧c⟦U+001B⟧]0;t⟦U+0007⟧⟦U+009B⟧1A"
        );
        assert!(!screen(&painted, Paint::Off, None).contains('\u{1b}'));
        // What was written out before is not written out again.
        for paint in [Paint::On, Paint::Off] {
            assert_eq!(screen(&visible("a\u{202e}"), paint, None), "a⟦U+202E⟧");
        }
        for tone in [Tone::Good, Tone::Bad, Tone::Careful, Tone::Quiet, Tone::Strong] {
            let text = Paint::On.paint(tone, "x");
            assert_eq!(screen(&text, Paint::On, None), text);
        }
    }
}
