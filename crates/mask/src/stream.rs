//! Text that arrives in pieces.

use crate::part::{begins, is_blank};
use crate::work::looked_at;
use crate::yaml::indent_of;
use crate::{Masker, ansi, pem, view};

/// So much may be held back. A part of the text in which more would have to be held back is withheld.
const MAX_HELD: usize = 32 * 1024;
/// The longest part that is masked while it arrives. A longer one is withheld from there on.
const MAX_PART: usize = 256 * 1024;
/// How far before new words the text is looked at again, for what began there.
const NEAR: usize = 512;
/// So many new bytes are looked at together, so that a byte at a time costs little more.
const STEP: usize = 24;
/// Stands in the place of what is held back too long.
const NOTICE: &str = "[withheld until the text is complete]\n";

/// Masks text that arrives in pieces, as the reply of a model does.
///
/// [`StreamMasker::push`] returns what is safe to show now, and [`StreamMasker::finish`] the rest. Together they are what
/// [`Masker::mask_text`] makes of the whole, for every way to cut it, because both mask the same parts of the text
/// (`part`): a part ends where a sentence or a heading begins behind an empty line. Words are shown at once while nothing
/// in their part could belong to a secret; else the rest of the part is held back until the part is complete. If that
/// would be more than 32 KiB, a notice stands in the place of the rest of the part: less is shown than of the whole,
/// never more.
#[derive(Debug)]
pub struct StreamMasker {
    masker: Masker,
    /// The part that is arriving. Its complete lines are without colours.
    held: String,
    /// How much of `held` was shown, as it is.
    shown: usize,
    /// How much of `held` was looked at and is calm.
    looked: usize,
    /// Where the line that is arriving begins.
    line: usize,
    /// How much of that line was looked through for a blank.
    walked: usize,
    /// Where the lines begin, at the end of what is held, that could be the body of a key whose end is still to come.
    body: Option<usize>,
    /// Whether the line before the one that is arriving is empty, and it is not known yet what begins behind it.
    undecided: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing in this part could belong to a secret so far, and no line is complete that has anything on it.
    Fresh,
    /// Nothing in this part could belong to a secret so far.
    Calm,
    /// Something could: what was not shown is held back.
    Armed,
    /// Too much would have to be held back: nothing is shown until the next part.
    Withheld,
}

impl StreamMasker {
    /// Starts with no text.
    pub fn new(masker: Masker) -> Self {
        let state = first(&masker);
        Self {
            masker,
            held: String::new(),
            shown: 0,
            looked: 0,
            line: 0,
            walked: 0,
            body: None,
            undecided: false,
            state,
        }
    }

    /// Takes the next piece and returns what is safe to show now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for part in piece.split_inclusive('\n') {
            self.held.push_str(part);
            if part.ends_with('\n') {
                self.end_line(&mut out);
            } else {
                self.decide(false, &mut out);
            }
            self.show(&mut out);
            self.bound(&mut out);
        }
        out
    }

    /// Ends the text and returns what was held back, masked.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if self.line < self.held.len() {
            self.strip_line();
            self.decide(true, &mut out);
        }
        self.end_part(self.held.len(), &mut out);
        out
    }

    /// Takes the colours from the line that is arriving. No sequence of colours goes over the end of a line.
    fn strip_line(&mut self) {
        if let std::borrow::Cow::Owned(plain) = ansi::strip(&self.held[self.line..]) {
            self.held.truncate(self.line);
            self.held.push_str(&plain);
        }
    }

    fn end_line(&mut self, out: &mut String) {
        self.strip_line();
        self.decide(true, out);
        let line = &self.held[self.line..];
        let blank = is_blank(line.trim_end_matches('\n'));
        if self.state == State::Fresh && !blank {
            // Indented lines at the beginning may stand below a key that was cut off.
            let front = view::prefix(line);
            let deep = line.starts_with([' ', '\t', '+', '-']) || indent_of(&line[front..]) > 0;
            // The head of a part of a diff is no line of the file.
            self.state = match deep {
                true => State::Armed,
                false if line[front..].starts_with("@@") => State::Fresh,
                false => State::Calm,
            };
        }
        if could_be_body(line) {
            self.body.get_or_insert(self.line);
        } else {
            self.body = None;
        }
        self.line = self.held.len();
        self.walked = self.line;
        // Between two parts the empty lines belong to the first: the second is decided by the line behind them.
        self.undecided = blank && self.masker.has_parts();
    }

    /// Ends the part if the line that is arriving begins a new one.
    fn decide(&mut self, complete: bool, out: &mut String) {
        if !self.undecided {
            return;
        }
        let line = &self.held[self.line..];
        if !complete && line.contains(ansi::is_start) {
            return;
        }
        let Some(begins) = begins(line, complete) else {
            return;
        };
        self.undecided = false;
        if begins {
            self.end_part(self.line, out);
        }
    }

    /// Shows the part to this place, masked, and begins another with what is behind it.
    fn end_part(&mut self, end: usize, out: &mut String) {
        let rest = self.held.split_off(end);
        let part = std::mem::replace(&mut self.held, rest);
        if self.state != State::Withheld && self.shown < part.len() {
            let masked = self.masker.mask_text(&part);
            match masked.strip_prefix(&part[..self.shown]) {
                Some(rest) => out.push_str(rest),
                None => out.push_str(NOTICE),
            }
        }
        self.state = first(&self.masker);
        self.shown = 0;
        self.looked = 0;
        self.line = 0;
        self.walked = 0;
        self.body = None;
    }

    /// Shows what is complete of a part in which nothing could belong to a secret.
    fn show(&mut self, out: &mut String) {
        if self.state == State::Withheld {
            // Only the beginning of the line that is arriving is needed, to tell whether a part begins.
            if !self.undecided {
                self.held.clear();
                self.line = 0;
                self.walked = 0;
            }
            return;
        }
        if matches!(self.state, State::Armed) || self.undecided {
            return;
        }
        let limit = self.complete();
        if limit >= self.looked + STEP {
            let near = self.held.floor_char_boundary(self.looked.saturating_sub(NEAR));
            let from = self.held[..near]
                .rfind([' ', '\t', '\n'])
                .map_or(0, |blank| blank + 1);
            looked_at(limit - from);
            let words = &self.held[from..limit];
            if !is_calm(&self.held[self.looked..limit]) || self.masker.triggered(words) {
                self.state = State::Armed;
                return;
            }
            self.looked = limit;
        }
        let margin = self.masker.margin();
        let safe = self.looked.min(self.body.unwrap_or(usize::MAX));
        let safe = self.held.floor_char_boundary(safe.saturating_sub(margin));
        if safe > self.shown {
            out.push_str(&self.held[self.shown..safe]);
            self.shown = safe;
        }
    }

    /// How far words are complete that can be looked at: to the last blank of a line of several words, else to the line.
    fn complete(&mut self) -> usize {
        let line = &self.held[self.line..];
        let plain = line
            .as_bytes()
            .first()
            .is_some_and(|first| first.is_ascii_alphabetic() || *first >= 0x80);
        if !plain || self.masker.by_line() {
            return self.line;
        }
        // What a tool put in front of the line, or a body with a header, shows when the line is complete.
        let mut words = line.split(' ');
        let first = words.next().unwrap_or_default();
        let second = words.next().unwrap_or_default();
        let third = words.next();
        if third.is_none() || second.is_empty() || !is_word(first) || !is_word(second) {
            return self.line;
        }
        let walked = std::mem::replace(&mut self.walked, self.held.len()).max(self.line);
        looked_at(self.held.len() - walked);
        match self.held[walked..].rfind([' ', '\t']) {
            Some(blank) => walked + blank + 1,
            None => self.looked.max(self.line),
        }
    }

    /// Withholds the part if too much of it would have to be held back.
    fn bound(&mut self, out: &mut String) {
        let held = self.held.len() - self.shown;
        if self.state != State::Withheld && (held > MAX_HELD || self.held.len() > MAX_PART) {
            out.push_str(NOTICE);
            self.state = State::Withheld;
            self.held.drain(..self.line);
            self.shown = 0;
            self.looked = 0;
            self.line = 0;
            self.walked = 0;
            self.body = None;
            self.show(out);
        }
    }
}

/// How a part begins.
fn first(masker: &Masker) -> State {
    if masker.has_parts() {
        State::Fresh
    } else {
        State::Armed
    }
}

/// Whether a word at the beginning of a line is one of a sentence: letters, and what stands around them.
fn is_word(word: &str) -> bool {
    word.contains(char::is_alphabetic)
        && word
            .chars()
            .all(|letter| letter.is_alphabetic() || "'’-,.;!?()*_`".contains(letter))
}

/// Whether no character here could belong to a secret whose name comes behind it, or hide one.
fn is_calm(text: &str) -> bool {
    !text.contains("                ")
        && text.chars().all(|letter| match letter {
            '"' | '\\' => false,
            '\n' | '\t' | '\r' | '\u{20}'..='\u{7e}' => true,
            other => !crate::plain::is_odd(other),
        })
}

/// Whether a line could be one of the body of a key, as it is or without what a tool put in front of it.
fn could_be_body(line: &str) -> bool {
    let front = view::prefix(line);
    pem::is_body(line)
        || pem::is_body(&line[front..])
        || line.strip_prefix(['+', '-', ' ']).is_some_and(pem::is_body)
}
