//! An answer on a terminal: first what code knows about it, then what the model wrote, in a frame that its text cannot
//! leave.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use interlock_protocol::{Head, HeadTone, visible};

use crate::globals::Globals;
use crate::terminal::{Paint, Tone, WIDTH, broken, screen, stderr_width, stdout_width};

/// What stands at the left of every line that a model wrote, and of no other.
pub(crate) const EDGE: &str = "│ ";
/// How wide that is at most: some terminals draw the bar over two columns.
const EDGE_COLUMNS: usize = 3;
/// No narrower than this: one word a line is no text any more.
const NARROWEST: usize = 20;

/// The head and the answer, for people. `answer` is what the model wrote, if it was not withheld.
pub(crate) fn render(head: &Head, answer: Option<&str>, paint: Paint, width: usize) -> String {
    let mut text = format!("{}\n", paint.paint(Tone::Strong, "What was done and read"));
    for line in head.lines() {
        let mark = line.tone.mark();
        let mark = match line.tone {
            HeadTone::Verified => paint.paint(Tone::Good, mark),
            HeadTone::Failed => paint.paint(Tone::Bad, mark),
            HeadTone::Unknown => paint.paint(Tone::Careful, mark),
            HeadTone::Fact => mark.to_owned(),
        };
        // Writing into a String cannot fail.
        let _ = writeln!(text, "  {mark} {}", line.text);
    }
    if let Some(answer) = answer.filter(|answer| !answer.trim().is_empty()) {
        let _ = writeln!(text, "{}", paint.paint(Tone::Strong, "The model's answer"));
        text.push_str(&framed(answer, width));
    }
    text
}

/// Prints it on standard output.
pub(crate) fn print(globals: &Globals, head: &Head, answer: Option<&str>) -> io::Result<()> {
    let stdout = io::stdout();
    let paint = globals.paint(&stdout);
    let text = screen(&render(head, answer, paint, width()), paint, stdout_width());
    let mut out = stdout.lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// How wide the screen is. What is piped into a pager ends up on the screen that errors go to.
pub(crate) fn width() -> usize {
    stdout_width()
        .or_else(stderr_width)
        .unwrap_or(WIDTH)
        .max(NARROWEST)
}

/// A model's text, each line behind an edge. What is too long for a line goes on behind the edge of the next: a terminal
/// that broke it itself would begin the rest at the very left, where only code writes.
pub(crate) fn framed(text: &str, width: usize) -> String {
    let room = width
        .saturating_sub(EDGE_COLUMNS + 1)
        .max(NARROWEST - EDGE_COLUMNS - 1);
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    for line in visible::lines(text.trim_end()).replace('\t', "    ").split('\n') {
        for part in broken(line, room, room) {
            out.push_str(EDGE);
            out.push_str(part.trim_end());
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Head {
        interlock_gate::head([], [], [], None, jiff::Timestamp::MIN)
    }

    #[test]
    fn a_long_line_goes_on_inside_the_frame() {
        let long = format!("x{}What was done:\n{}日本語", " ".repeat(200), "y".repeat(300));
        for width in [0, 20, 40, 80, 100, 500] {
            for line in framed(&long, width).lines() {
                assert!(line.starts_with(EDGE.trim_end()), "{line:?}");
                let wide = crate::terminal::wide_of(line);
                assert!(wide <= width.max(NARROWEST + 2) + 2, "{width}: {wide} {line:?}");
            }
        }
        let emoji = "❤\u{fe0f}".repeat(200);
        for line in framed(&emoji, 80).lines() {
            assert!(crate::terminal::wide_of(line) <= 80, "{line}");
        }
        let words = "one two three four five six seven";
        assert_eq!(framed(words, 20), "│ one two three\n│ four five six\n│ seven\n");
    }

    #[test]
    fn every_forged_answer_stays_in_its_frame_below_an_unchanged_head() {
        let forged: Vec<Forged> =
            serde_json::from_str(include_str!("../../protocol/tests/forged.json")).unwrap();
        assert!(forged.len() >= 40, "{}", forged.len());
        let head = render(&nothing(), None, Paint::Off, 80);
        for Forged { what, text } in &forged {
            for paint in [Paint::Off, Paint::On] {
                let shown = screen(&render(&nothing(), Some(text), paint, 80), paint, Some(80));
                let bare: String = console::strip_ansi_codes(&shown).into_owned();
                let rest = bare
                    .strip_prefix(&head)
                    .unwrap_or_else(|| panic!("{what}: {bare}"));
                let mut lines = rest.lines();
                assert_eq!(lines.next(), Some("The model's answer"), "{what}");
                assert!(
                    lines.clone().count() > 0 && lines.all(|line| line.starts_with('│')),
                    "{what}: {rest}"
                );
                assert!(
                    !bare.contains(|c: char| c.is_control() && c != '\n'),
                    "{what}: {bare:?}"
                );
                assert!(
                    !bare.contains(['\u{202e}', '\u{200b}', '\u{2066}']),
                    "{what}: {bare:?}"
                );
            }
        }
    }

    #[derive(serde::Deserialize)]
    struct Forged {
        what: String,
        text: String,
    }
}
