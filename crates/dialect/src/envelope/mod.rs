//! `envelope`: one JSON object, `{"tool_call": {"name", "parameters"}}` or `{"final_answer": {"summary", "confidence"}}`.
//!
//! Text in front is tolerated. What stands inside another object is not an envelope, and an object that never ends takes
//! everything after it with it: nothing is dug out of something broken. A reply with both is refused as a whole.

mod object;
pub(crate) mod prompt;

use crate::json::Balance;
use crate::reader::{Channel, Context, Phase, Screen};
use crate::{Dialect, Fault, Ignored, Limits, Parsed, Quote};
use interlock_protocol::{Proposal, ToolCall};
use object::{Kinds, Meant, Reading};

#[derive(Debug, Clone)]
enum State {
    /// Looking for `{`.
    Prose,
    /// After a `{`: what follows says whether it begins an object.
    Brace,
    /// In an object.
    Object(Balance),
}

/// Walks over the bytes of a reply.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    limits: Limits,
    state: State,
    position: usize,
    /// Where the last `{` at the top stands.
    brace_at: usize,
    shown_to: usize,
    /// Where the first object stands that is more than text.
    first_at: Option<usize>,
    last_end: usize,
    readings: Vec<Reading>,
    over_limit: usize,
    cut_at: Option<usize>,
}

impl Machine {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Prose,
            position: 0,
            brace_at: 0,
            shown_to: 0,
            first_at: None,
            last_end: 0,
            readings: Vec::new(),
            over_limit: 0,
            cut_at: None,
        }
    }

    pub(crate) const fn is_cut(&self) -> bool {
        self.cut_at.is_some()
    }

    pub(crate) fn phase(&self) -> Phase {
        let kinds = self
            .readings
            .iter()
            .fold(Kinds::default(), |kinds, reading| kinds | reading.kinds);
        match (kinds, &self.state) {
            (Kinds { answer: true, .. }, _) => Phase::FinalAnswer,
            (Kinds { call: true, .. }, _) | (_, State::Object(_)) => Phase::Action,
            _ => Phase::Idle,
        }
    }

    pub(crate) fn advance(&mut self, text: &str, ended: bool, screen: &mut Screen) {
        while let Some(&byte) = text.as_bytes().get(self.position) {
            if self.cut_at.is_some() {
                break;
            }
            self.position += 1;
            match &mut self.state {
                State::Prose => {
                    if byte == b'{' {
                        self.brace_at = self.position - 1;
                        self.state = State::Brace;
                    }
                }
                State::Brace => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' => {}
                    b'"' => {
                        let mut balance = Balance::default();
                        balance.closes_with(b'{');
                        balance.closes_with(byte);
                        self.state = State::Object(balance);
                    }
                    b'{' => self.brace_at = self.position - 1,
                    _ => self.state = State::Prose,
                },
                State::Object(balance) => {
                    if balance.closes_with(byte) {
                        self.state = State::Prose;
                        self.close_object(text, self.position);
                    }
                }
            }
        }
        if ended && self.cut_at.is_none() {
            if let State::Object(_) = self.state {
                self.close_object(text, text.len());
            }
            self.state = State::Prose;
        }
        let held = match self.state {
            State::Prose => self.position,
            State::Brace | State::Object(_) => self.brace_at,
        };
        let to = held
            .min(self.first_at.unwrap_or(held))
            .min(self.cut_at.unwrap_or(held));
        if to > self.shown_to {
            screen.show(Channel::Text, &text[self.shown_to..to]);
            self.shown_to = to;
        }
    }

    fn close_object(&mut self, text: &str, end: usize) {
        if self.readings.len() >= self.limits.calls() {
            self.over_limit += 1;
            return;
        }
        match object::read(&text[self.brace_at..end], &self.limits) {
            Meant::Text => {}
            Meant::Result => self.cut_at = Some(self.brace_at),
            Meant::Envelope(reading) => {
                self.first_at.get_or_insert(self.brace_at);
                self.last_end = end;
                self.readings.push(reading);
            }
        }
    }

    pub(crate) fn finish(self, text: &str, mut context: Context<'_>) -> Parsed {
        let mut parsed = Parsed::new(Dialect::Envelope);
        let text = &text[..self.cut_at.unwrap_or(text.len())];
        text[..self.first_at.unwrap_or(text.len())]
            .trim()
            .clone_into(&mut parsed.prose);
        let kinds = self
            .readings
            .iter()
            .fold(Kinds::default(), |kinds, reading| kinds | reading.kinds);
        if kinds
            == (Kinds {
                call: true,
                answer: true,
            })
        {
            for reading in self.readings {
                if let Ok(object::Content::Answer { summary, .. }) = reading.content {
                    parsed.ignored.push(Ignored::FinalAnswer { text: summary });
                }
            }
            parsed.fault(Fault::CallAndAnswer);
            return parsed;
        }
        let nothing_meant = self.readings.is_empty();
        for reading in self.readings {
            take(reading, &mut parsed, &mut context);
        }
        if self.over_limit > 0 {
            parsed.ignored.push(Ignored::CallsOverLimit {
                limit: self.limits.calls(),
                count: self.over_limit,
            });
        }
        if parsed.calls().next().is_some() {
            // A closing fence around the object says nothing.
            let after = text[self.last_end..].trim().trim_matches('`');
            if !after.is_empty() {
                parsed.ignored.push(Ignored::TextAfterCall);
            }
        }
        match (self.cut_at.is_some(), parsed.proposals.is_empty()) {
            (true, true) => parsed.fault(Fault::InventedResult),
            (true, false) => parsed.ignored.push(Ignored::InventedResult),
            (false, _) if !nothing_meant => {}
            (false, _) if text.trim().is_empty() => parsed.fault(Fault::EmptyReply),
            (false, _) => parsed.fault(Fault::NoEnvelope {
                quote: Quote::of(text),
            }),
        }
        parsed
    }
}

/// The first envelope that holds is taken; the others are told about.
fn take(reading: Reading, parsed: &mut Parsed, context: &mut Context<'_>) {
    let Reading {
        content, quote, keys, ..
    } = reading;
    let first = parsed.proposals.is_empty();
    let taken = match content {
        Ok(object::Content::Call { name, .. }) if !first => {
            parsed.ignored.push(Ignored::Call {
                tool: Quote::of(&name),
            });
            Ok(())
        }
        Ok(object::Content::Call { name, parameters }) => context.offer.find(&name).map(|tool| {
            let (id, tool) = (context.ids.draw(), tool.clone());
            parsed.proposals.push(Proposal::ToolCall(ToolCall {
                id,
                tool,
                arguments: parameters,
            }));
        }),
        Ok(object::Content::Answer { summary, confidence }) => {
            if first {
                match confidence {
                    Ok(confidence) => parsed.confidence = confidence,
                    Err(quote) => parsed.ignored.push(Ignored::Confidence { quote }),
                }
                parsed.answer(summary);
            } else {
                parsed.ignored.push(Ignored::FinalAnswer { text: summary });
            }
            Ok(())
        }
        Err(fault) => Err(fault),
    };
    match taken {
        Ok(()) if first => parsed.ignored.extend(keys.map(|keys| Ignored::Keys { keys })),
        Ok(()) => {}
        Err(fault) if first => parsed.fault(fault),
        Err(_) => parsed.ignored.push(Ignored::BrokenCall { quote }),
    }
}
