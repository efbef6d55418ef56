//! Shows what happens while it happens: on a terminal a line that moves, in a pipe plain lines, for a program nothing.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use interlock_dialect::Channel;
use interlock_engine::Live;
use std::io::{self, IsTerminal as _};

use crate::demo::Story;
use crate::globals::{Globals, say, set_bar};
use crate::steps::Steps;
use crate::terminal::{Paint, Tone, visible};

/// How many lines of what a model writes are shown while it writes.
const PREVIEW: usize = 6;
/// How many characters of a line: one that a terminal breaks would be counted wrongly.
const WIDTH: usize = 76;
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
        written: String,
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
                written: String::new(),
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
                    written.push_str(text);
                    let what = match channel {
                        Channel::Thinking => "thinks",
                        Channel::Text | Channel::Answer => "writes",
                    };
                    bar.set_message(format!("{what}\n{}", preview(written, self.paint)));
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

/// The last lines of what is being written, as a terminal may show them.
fn preview(written: &str, paint: Paint) -> String {
    let lines: Vec<String> = written
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(cut)
        .collect();
    let from = lines.len().saturating_sub(PREVIEW);
    lines[from..]
        .iter()
        .map(|line| paint.paint(Tone::Quiet, &format!("  {line}")))
        .collect::<Vec<_>>()
        .join("\n")
}

fn cut(line: &str) -> String {
    let shown = visible(line);
    if shown.chars().count() <= WIDTH {
        return shown;
    }
    let head: String = shown.chars().take(WIDTH - 1).collect();
    format!("{head}…")
}
