//! Reads a reply while it arrives.
//!
//! However the reply is cut into pieces, what comes out is the same: each dialect's machine walks over the text once,
//! from left to right, and stops to wait where what follows could change what it sees.

use crate::native::Accumulator;
use crate::reply::Chunk;
use crate::thinking::Splitter;
use crate::{
    CallDelta, CallIds, Dialect, Fault, Ignored, Limits, Offer, Parsed, envelope, fenced, native, react,
};
use serde_json::Value;

/// Where a piece of text belongs on a user's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// What the model says.
    Text,
    /// What it thinks.
    Thinking,
    /// Its final answer. A call that follows may still overrule it.
    Answer,
}

/// A piece of text that may be shown: no part of it is, or could become, a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Where.
    pub channel: Channel,
    /// What.
    pub text: String,
}

/// How far a reply has come: the furthest thing that was seen in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Nothing that has a name yet.
    #[default]
    Idle,
    /// Thinking.
    Thought,
    /// A call, or the beginning of one.
    Action,
    /// A final answer.
    FinalAnswer,
}

/// Why the rest of a reply is not needed. The caller may end the stream; whatever else it pushes changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The model has begun to make up a result.
    InventedResult,
    /// The reply is longer than is read.
    TooLong,
}

/// What one more piece brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// What may be shown now, in order.
    pub shown: Vec<Shown>,
    /// How far the reply has come.
    pub phase: Phase,
    /// Why no more is needed, if so.
    pub stop: Option<Stop>,
}

/// Collects what may be shown, neighbours on one channel joined.
#[derive(Debug, Default)]
pub(crate) struct Screen(Vec<Shown>);

impl Screen {
    pub(crate) fn show(&mut self, channel: Channel, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.channel == channel => last.text.push_str(text),
            _ => self.0.push(Shown {
                channel,
                text: text.to_owned(),
            }),
        }
    }
}

/// What the machines need when a reply ends.
pub(crate) struct Context<'a> {
    pub(crate) offer: &'a Offer,
    pub(crate) ids: CallIds,
    pub(crate) limits: Limits,
}

#[derive(Debug, Clone)]
enum Machine {
    Native,
    Fenced(fenced::Machine),
    Envelope(envelope::Machine),
    React(Box<react::Machine>),
}

/// Reads one reply, piece by piece.
#[derive(Debug, Clone)]
pub struct Reader {
    dialect: Dialect,
    limits: Limits,
    bytes: usize,
    too_long: bool,
    splitter: Splitter,
    unfinished_thinking: bool,
    thinking: String,
    text: String,
    shown_text: usize,
    calls: Accumulator,
    machine: Machine,
}

impl Reader {
    /// Begins a reply in this dialect.
    pub fn new(dialect: Dialect, limits: Limits) -> Self {
        let machine = match dialect {
            Dialect::Native => Machine::Native,
            Dialect::Fenced => Machine::Fenced(fenced::Machine::new(limits)),
            Dialect::Envelope => Machine::Envelope(envelope::Machine::new(limits)),
            Dialect::React => Machine::React(Box::new(react::Machine::new(limits))),
        };
        Self {
            dialect,
            limits,
            bytes: 0,
            too_long: false,
            splitter: Splitter::default(),
            unfinished_thinking: false,
            thinking: String::new(),
            text: String::new(),
            shown_text: 0,
            calls: Accumulator::new(limits),
            machine,
        }
    }

    /// Takes one more piece.
    pub fn push(&mut self, chunk: Chunk<'_>) -> Progress {
        let mut screen = Screen::default();
        if self.stop().is_none() {
            match chunk {
                Chunk::Text(piece) => {
                    let piece = self.within_limit(piece);
                    let split = self.splitter.push(piece);
                    self.think(&split.thinking, &mut screen);
                    self.text.push_str(&split.text);
                    self.advance(false, &mut screen);
                    // What stands behind the cut is not read, however long it is.
                    self.too_long &= !self.is_cut();
                }
                Chunk::Thinking(piece) => {
                    let piece = self.within_limit(piece);
                    self.think(piece, &mut screen);
                }
                Chunk::CallDelta(delta) => {
                    let CallDelta {
                        index,
                        id,
                        name,
                        arguments,
                    } = delta;
                    let id = id.map(|id| self.within_limit(id));
                    let name = name.map(|name| self.within_limit(name));
                    let arguments = self.within_limit(arguments);
                    self.calls.push(&CallDelta {
                        index,
                        id,
                        name,
                        arguments,
                    });
                }
                Chunk::Call(call) => {
                    let arguments = match &call.arguments {
                        crate::NativeArguments::Text(text) => text.len(),
                        crate::NativeArguments::Value(value) => weight(value, self.limits.depth()),
                    };
                    self.count(call.name.len() + call.id.as_ref().map_or(0, String::len) + arguments);
                    self.calls.push_whole(call);
                }
            }
        }
        self.progress(screen)
    }

    /// The stream is over: what was held back in case it became something.
    pub fn end(&mut self) -> Progress {
        let mut screen = Screen::default();
        if self.stop().is_none() {
            let (split, unfinished) = self.splitter.end();
            self.unfinished_thinking = unfinished;
            self.think(&split.thinking, &mut screen);
            self.text.push_str(&split.text);
            self.advance(true, &mut screen);
        }
        self.progress(screen)
    }

    /// What the reply came to. `ids` names the calls that came without a name of their own.
    pub fn finish(mut self, offer: &Offer, ids: CallIds) -> Parsed {
        self.end();
        if self.too_long {
            let mut parsed = Parsed::new(self.dialect);
            parsed.fault(Fault::ReplyTooLong {
                limit: self.limits.reply_bytes,
            });
            return parsed;
        }
        let context = Context {
            offer,
            ids,
            limits: self.limits,
        };
        let native_calls = self.calls.count();
        let mut parsed = match self.machine {
            Machine::Native => native::finish(self.calls, &self.text, context),
            Machine::Fenced(machine) => machine.finish(&self.text, context),
            Machine::Envelope(machine) => machine.finish(&self.text, context),
            Machine::React(machine) => machine.finish(&self.text, context),
        };
        if native_calls > 0 && self.dialect != Dialect::Native {
            parsed.ignored.push(Ignored::NativeCalls { count: native_calls });
        }
        if self.unfinished_thinking {
            for problem in &mut parsed.problems {
                if problem.fault == Fault::EmptyReply {
                    problem.fault = Fault::UnfinishedThinking;
                }
            }
        }
        let mut thinking = self.thinking.trim().to_owned();
        if !thinking.is_empty() && !parsed.thought.is_empty() {
            thinking.push_str("\n\n");
        }
        thinking.push_str(&parsed.thought);
        parsed.thinking = thinking;
        parsed
    }

    fn progress(&self, screen: Screen) -> Progress {
        Progress {
            shown: screen.0,
            phase: self.phase(),
            stop: self.stop(),
        }
    }

    fn think(&mut self, piece: &str, screen: &mut Screen) {
        screen.show(Channel::Thinking, piece);
        self.thinking.push_str(piece);
    }

    fn advance(&mut self, ended: bool, screen: &mut Screen) {
        match &mut self.machine {
            Machine::Native => {
                screen.show(Channel::Text, &self.text[self.shown_text..]);
                self.shown_text = self.text.len();
            }
            Machine::Fenced(machine) => machine.advance(&self.text, ended, screen),
            Machine::Envelope(machine) => machine.advance(&self.text, ended, screen),
            Machine::React(machine) => machine.advance(&self.text, ended, screen),
        }
    }

    fn phase(&self) -> Phase {
        let machine = match &self.machine {
            Machine::Native if self.calls.count() > 0 => Phase::Action,
            Machine::Native => Phase::Idle,
            Machine::Fenced(machine) => machine.phase(),
            Machine::Envelope(machine) => machine.phase(),
            Machine::React(machine) => machine.phase(),
        };
        machine.max(if self.thinking.is_empty() {
            Phase::Idle
        } else {
            Phase::Thought
        })
    }

    fn stop(&self) -> Option<Stop> {
        if self.too_long {
            return Some(Stop::TooLong);
        }
        self.is_cut().then_some(Stop::InventedResult)
    }

    fn is_cut(&self) -> bool {
        match &self.machine {
            Machine::Native => false,
            Machine::Fenced(machine) => machine.is_cut(),
            Machine::Envelope(machine) => machine.is_cut(),
            Machine::React(machine) => machine.is_cut(),
        }
    }

    /// The part of the piece that still fits.
    fn within_limit<'a>(&mut self, piece: &'a str) -> &'a str {
        let room = self.limits.reply_bytes.saturating_sub(self.bytes);
        self.count(piece.len());
        &piece[..piece.floor_char_boundary(room)]
    }

    fn count(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.too_long |= self.bytes > self.limits.reply_bytes;
    }
}

/// About how many bytes a value takes, without writing it. What nests too deeply is refused later; it is not walked here.
fn weight(value: &Value, depth: usize) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(_) | Value::Object(_) if depth == 0 => 0,
        Value::Array(items) => {
            items
                .iter()
                .map(|item| weight(item, depth - 1) + 1)
                .sum::<usize>()
                + 2
        }
        Value::Object(members) => {
            members
                .iter()
                .map(|(key, member)| key.len() + 4 + weight(member, depth - 1))
                .sum::<usize>()
                + 2
        }
    }
}
