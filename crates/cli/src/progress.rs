//! Shows what happens while it happens: on a terminal a line that moves, in a pipe plain lines, for a program nothing.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use interlock_dialect::Channel;
use interlock_engine::Live;
use std::io::{self, IsTerminal as _};

use crate::answer::{EDGE, framed};
use crate::demo::Story;
use crate::globals::{Globals, say, set_bar};
use crate::steps::Steps;
use crate::terminal::{Paint, Tone, visible};

/// How many lines of what a model writes are shown while it writes.
const PREVIEW: usize = 6;
/// How many characters of a line: one that a terminal breaks would be counted wrongly.
const WIDTH: usize = 76;
/// How many bytes of it are kept for that: more than its lines can hold.
const TAIL: usize = 4096;
const TICK: Duration = Duration::from_millis(100);

/// Shows what happens.
pub(crate) struct Progress {
    steps: Steps,
    paint: Paint,
    how: How,
}

enum How {
    /// A line at the bottom that moves.
    Terminal {
        bar: ProgressBar,
        /// What the model is writing. Not yet an answer: the gate releases that.
        written: Written,
    },
    /// Lines.
    Plain,
    /// The whole story.
    Story(Box<Story>),
    /// Nothing.
    Silent,
}

impl Progress {
    /// As standard error can show it.
    pub(crate) fn new(globals: &Globals) -> Self {
        let stderr = io::stderr();
        let paint = globals.paint(&stderr);
        let how = if globals.json {
            How::Silent
        } else if stderr.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb") {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            How::Terminal {
                bar,
                written: Written::default(),
            }
        } else {
            How::Plain
        };
        Self {
            steps: Steps::default(),
            paint,
            how,
        }
    }

    /// The same, as a story; for a program nothing.
    pub(crate) fn telling(globals: &Globals, story: Story) -> Self {
        let how = if globals.json {
            How::Silent
        } else {
            How::Story(Box::new(story))
        };
        Self {
            steps: Steps::default(),
            paint: globals.paint(&io::stderr()),
            how,
        }
    }

    /// Takes note of what happened before, without showing it.
    pub(crate) fn recall(&mut self, events: &[interlock_protocol::Event]) {
        self.steps.recall(events);
    }

    /// Begins to move.
    pub(crate) fn begin(&mut self) {
        if let How::Terminal { bar, .. } = &self.how {
            bar.reset();
            bar.set_message("begins");
            bar.enable_steady_tick(TICK);
            set_bar(Some(bar.clone()));
        }
    }

    /// Leaves the terminal as it was, with the lines that were written.
    pub(crate) fn end(&mut self) {
        if let How::Terminal { bar, written } = &mut self.how {
            written.clear();
            bar.disable_steady_tick();
            bar.finish_and_clear();
            set_bar(None);
        }
    }

    /// Says something on a line of its own.
    pub(crate) fn say(&self, text: &str) {
        match self.how {
            How::Silent => {}
            How::Terminal { .. } | How::Plain | How::Story(_) => say(text),
        }
    }

    /// Shows something that happened.
    pub(crate) fn show(&mut self, live: &Live) {
        if let How::Story(story) = &mut self.how {
            story.tell(live).iter().for_each(|line| say(line));
            return;
        }
        match live {
            Live::Event(event) => self.event(event),
            Live::Asking { model, iteration, .. } => {
                if let How::Terminal { bar, written } = &mut self.how {
                    written.clear();
                    bar.set_message(cut(&format!("asks {model} ({iteration})")));
                }
            }
            Live::Chunk { channel, text, .. } => {
                if let How::Terminal { bar, written } = &mut self.how {
                    written.push(text);
                    let what = match channel {
                        Channel::Thinking => "thinks",
                        Channel::Text | Channel::Answer => "writes",
                    };
                    // A model that writes letter by letter is not shown letter by letter.
                    if written.shown.is_none_or(|shown| shown.elapsed() >= TICK) {
                        written.shown = Some(Instant::now());
                        bar.set_message(writing(what, &written.tail, self.paint, width()));
                    }
                }
            }
        }
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, event: &interlock_protocol::Event) {
        if let How::Story(story) = &mut self.how {
            story.event(event).iter().for_each(|line| say(line));
            return;
        }
        let line = self.steps.line(event, self.paint);
        if let Some(line) = line {
            self.say(&line);
        }
        if let How::Terminal { bar, written } = &mut self.how
            && let Some(doing) = self.steps.doing()
        {
            written.clear();
            bar.set_message(cut(&format!("runs {doing}")));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// The end of what a model is writing.
#[derive(Debug, Default)]
struct Written {
    tail: String,
    /// When it was last shown.
    shown: Option<Instant>,
}

impl Written {
    /// Takes more, and forgets what is too far back to be shown.
    fn push(&mut self, text: &str) {
        self.tail.push_str(text);
        if self.tail.len() > 2 * TAIL {
            let from = self.tail.ceil_char_boundary(self.tail.len() - TAIL);
            self.tail.drain(..from);
        }
    }

    fn clear(&mut self) {
        self.tail.clear();
        self.shown = None;
    }
}

/// What the model does, and the last lines of what it writes, in the frame that an answer has: no line of it can look like one
/// of ours.
fn writing(what: &str, written: &str, paint: Paint, width: usize) -> String {
    let framed = framed(written, width);
    let lines: Vec<&str> = framed
        .lines()
        .filter(|line| line.trim_end() != EDGE.trim_end())
        .collect();
    let mut shown = what.to_owned();
    for line in &lines[lines.len().saturating_sub(PREVIEW)..] {
        shown.push('\n');
        shown.push_str(&paint.paint(Tone::Quiet, line));
    }
    shown
}

/// How wide a line may be: one that a terminal breaks would be counted wrongly.
fn width() -> usize {
    let size = console::Term::stderr().size_checked();
    size.map_or(WIDTH, |(_, columns)| usize::from(columns).min(WIDTH))
}

fn cut(line: &str) -> String {
    let shown = visible(line);
    if shown.chars().count() <= WIDTH {
        return shown;
    }
    let head: String = shown.chars().take(WIDTH - 1).collect();
    format!("{head}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Forged {
        what: String,
        text: String,
    }

    fn forged() -> Vec<Forged> {
        serde_json::from_str(include_str!("../../protocol/tests/forged.json")).unwrap()
    }

    #[test]
    fn a_forged_text_stays_in_its_frame_while_it_is_written() {
        for Forged { what, text } in forged() {
            for paint in [Paint::Off, Paint::On] {
                // At every moment, not only at the end.
                let mut written = Written::default();
                for piece in text.split_inclusive(' ') {
                    written.push(piece);
                    let shown = writing("writes", &written.tail, paint, WIDTH);
                    let bare = console::strip_ansi_codes(&shown).into_owned();
                    let mut lines = bare.split('\n');
                    assert_eq!(lines.next(), Some("writes"), "{what}");
                    assert!(lines.clone().count() <= PREVIEW, "{what}: {bare}");
                    assert!(lines.all(|line| line.starts_with('│')), "{what}: {bare}");
                    let hidden =
                        |c: char| (c.is_control() && c != '\n') || ('\u{2066}'..='\u{2069}').contains(&c);
                    assert!(!bare.contains(hidden), "{what}: {bare:?}");
                    assert!(!bare.contains(['\u{202e}', '\u{200b}', '\r']), "{what}: {bare:?}");
                }
            }
        }
    }

    #[test]
    fn only_the_end_of_a_long_text_is_kept() {
        let mut written = Written::default();
        for _ in 0..10_000 {
            written.push("größer\n");
            assert!(written.tail.len() <= 2 * TAIL + 16);
        }
        assert!(written.tail.len() >= TAIL && written.tail.ends_with("größer\n"));
    }

    #[test]
    fn what_runs_is_one_line() {
        assert_eq!(cut("a\nWhat was done: x").lines().count(), 1);
        assert!(cut(&"w".repeat(500)).chars().count() <= WIDTH);
    }
}
