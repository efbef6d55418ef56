//! Thinking that a model writes into its text, in front of its reply: `<think>…</think>`.
//!
//! A call that is only thought about is no call, so this is taken away before any dialect looks.

const OPENINGS: &[(&str, &str)] = &[("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// The most white space in front of it.
const MAX_BLANK: usize = 256;

/// Splits text that arrives in pieces into thinking and the rest.
#[derive(Debug, Clone, Default)]
pub(crate) struct Splitter {
    held: String,
    state: State,
}

#[derive(Debug, Clone, Default)]
enum State {
    /// Only white space so far.
    #[default]
    Start,
    /// Inside, until this.
    Inside(&'static str),
    /// Past it, or there was none.
    After,
}

/// One piece, split.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) thinking: String,
    pub(crate) text: String,
}

impl Splitter {
    pub(crate) fn push(&mut self, piece: &str) -> Split {
        let mut split = Split::default();
        if matches!(self.state, State::After) {
            split.text.push_str(piece);
            return split;
        }
        self.held.push_str(piece);
        if matches!(self.state, State::Start) {
            let begun = self.held.trim_start();
            let blank = self.held.len() - begun.len();
            let opening = OPENINGS.iter().find(|(opening, _)| begun.starts_with(opening));
            if blank > MAX_BLANK {
                self.state = State::After;
                split.text.push_str(&std::mem::take(&mut self.held));
            } else if let Some(&(opening, closing)) = opening {
                self.held.drain(..blank + opening.len());
                self.state = State::Inside(closing);
            } else if !OPENINGS.iter().any(|(opening, _)| opening.starts_with(begun)) {
                self.state = State::After;
                split.text.push_str(&std::mem::take(&mut self.held));
            }
        }
        if let State::Inside(closing) = self.state {
            if let Some(at) = self.held.find(closing) {
                split.thinking.extend(self.held.drain(..at));
                self.held.drain(..closing.len());
                self.state = State::After;
                split.text.push_str(&std::mem::take(&mut self.held));
            } else {
                let keep = partial_suffix(&self.held, closing);
                let safe = self.held.len() - keep;
                split.thinking.extend(self.held.drain(..safe));
            }
        }
        split
    }

    /// What was held back at the end, and whether thinking never ended.
    pub(crate) fn end(&mut self) -> (Split, bool) {
        let held = std::mem::take(&mut self.held);
        let unfinished = matches!(self.state, State::Inside(_));
        let split = if unfinished {
            Split {
                thinking: held,
                text: String::new(),
            }
        } else {
            Split {
                thinking: String::new(),
                text: held,
            }
        };
        (split, unfinished)
    }
}

/// How many bytes at the end of the text may be the beginning of the mark, which is ASCII.
fn partial_suffix(text: &str, mark: &str) -> usize {
    (1..mark.len())
        .rev()
        .find(|&length| text.as_bytes().ends_with(&mark.as_bytes()[..length]))
        .unwrap_or(0)
}
