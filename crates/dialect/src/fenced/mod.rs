//! `fenced`: one fenced block, labelled `tool` or `json`, with `{"tool_name": …, "arguments": {…}}`.
//!
//! Only such a block is a call. Shell snippets, prose that mentions a tool, blocks without a label, blocks inside other
//! blocks or quotations and indented code are text. A reply without a call is the final answer.

mod block;
pub(crate) mod prompt;

use crate::reader::{Channel, Context, Phase, Screen};
use crate::{Dialect, Fault, Ignored, Limits, Parsed, Quote};
use block::{Fence, Label, Reading};
use interlock_protocol::{Proposal, ToolCall};

/// The inside of a text that is one fenced block and nothing else; otherwise the text itself.
pub(crate) fn unwrap(text: &str) -> &str {
    let trimmed = text.trim();
    let Some((first, rest)) = trimmed.split_once('\n') else {
        return text;
    };
    let (body, last) = rest.rsplit_once('\n').unwrap_or(("", rest));
    match Fence::open(first) {
        Some((fence, _))
            if fence.is_closed_by(last) && !body.lines().any(|line| fence.is_closed_by(line)) =>
        {
            body.trim()
        }
        _ => text,
    }
}

#[derive(Debug, Clone)]
enum State {
    Prose,
    Block {
        fence: Fence,
        label: Label,
        body_at: usize,
        held: bool,
    },
}

/// Something that is, or was meant as, a call.
#[derive(Debug, Clone)]
struct Candidate {
    at: usize,
    end: usize,
    reading: Reading,
}

/// Walks over the lines of a reply.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    limits: Limits,
    state: State,
    /// Where the current line begins.
    line_at: usize,
    /// How far line breaks were looked for.
    scanned: usize,
    /// Where the current block, or what is held back, begins.
    block_at: usize,
    /// Up to where the text was shown.
    shown_to: usize,
    candidates: Vec<Candidate>,
    over_limit: usize,
    cut_at: Option<usize>,
}

impl Machine {
    pub(crate) const fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Prose,
            line_at: 0,
            scanned: 0,
            block_at: 0,
            shown_to: 0,
            candidates: Vec::new(),
            over_limit: 0,
            cut_at: None,
        }
    }

    pub(crate) const fn is_cut(&self) -> bool {
        self.cut_at.is_some()
    }

    pub(crate) fn phase(&self) -> Phase {
        let in_call = matches!(&self.state, State::Block { held: true, .. });
        if in_call || !self.candidates.is_empty() {
            Phase::Action
        } else {
            Phase::Idle
        }
    }

    pub(crate) fn advance(&mut self, text: &str, ended: bool, screen: &mut Screen) {
        while self.cut_at.is_none() {
            let Some(length) = text[self.scanned..].find('\n') else {
                self.scanned = text.len();
                break;
            };
            let next = self.scanned + length + 1;
            self.line(text, next);
            self.line_at = next;
            self.scanned = next;
            self.show(text, next, screen);
        }
        if self.cut_at.is_some() {
            return;
        }
        if ended {
            if self.line_at < text.len() {
                self.line(text, text.len());
                self.line_at = text.len();
            }
            if self.cut_at.is_none() {
                self.close_block(text, text.len(), text.len());
            }
            self.show(text, text.len(), screen);
        } else if !self.line_may_matter(&text[self.line_at..]) {
            self.show(text, text.len(), screen);
        }
    }

    /// Shows what is neither held back nor behind a call.
    fn show(&mut self, text: &str, to: usize, screen: &mut Screen) {
        let mut to = self.cut_at.unwrap_or(to);
        if let State::Block { held: true, .. } = self.state {
            to = to.min(self.block_at);
        }
        if let Some(first) = self.candidates.first() {
            to = to.min(first.at);
        }
        if to > self.shown_to {
            screen.show(Channel::Text, &text[self.shown_to..to]);
            self.shown_to = to;
        }
    }

    /// Whether the unfinished line could still open or close something.
    fn line_may_matter(&self, line: &str) -> bool {
        match &self.state {
            State::Prose => Fence::may_open(line),
            State::Block { .. } => false,
        }
    }

    /// Takes the line that ends at `next`.
    fn line(&mut self, text: &str, next: usize) {
        let line = &text[self.line_at..next];
        match &mut self.state {
            State::Prose => {
                let Some((fence, label)) = Fence::open(line) else {
                    return;
                };
                if label == Label::Result {
                    self.cut_at = Some(self.line_at);
                    return;
                }
                self.block_at = self.line_at;
                self.state = State::Block {
                    fence,
                    label,
                    body_at: next,
                    held: label != Label::Other,
                };
            }
            State::Block {
                fence,
                label,
                body_at,
                held,
            } => {
                if fence.is_closed_by(line) {
                    self.close_block(text, self.line_at, next);
                } else if *held && *label != Label::Tool && text[*body_at..self.line_at].trim().is_empty() {
                    // Only an object can be a call; other content need not wait for the end of its block.
                    let begun = line.trim_start();
                    *held = begun.is_empty() || begun.starts_with('{');
                    if begun.is_empty() {
                        *body_at = next;
                    }
                }
            }
        }
    }

    fn close_block(&mut self, text: &str, body_end: usize, end: usize) {
        let State::Block {
            label, body_at, held, ..
        } = std::mem::replace(&mut self.state, State::Prose)
        else {
            return;
        };
        if !held {
            return;
        }
        if self.candidates.len() >= self.limits.calls() {
            self.over_limit += 1;
            return;
        }
        let reading = block::read(label, &text[body_at.min(body_end)..body_end], &self.limits);
        if !matches!(reading, Reading::Text) {
            self.candidates.push(Candidate {
                at: self.block_at,
                end,
                reading,
            });
        }
    }

    pub(crate) fn finish(self, text: &str, mut context: Context<'_>) -> Parsed {
        let mut parsed = Parsed::new(Dialect::Fenced);
        let text = &text[..self.cut_at.unwrap_or(text.len())];
        let mut taken = false;
        let mut first_meant = None;
        let mut last_end = 0;
        for Candidate { at, end, reading } in self.candidates {
            let (quote, found) = match reading {
                Reading::Text => continue,
                Reading::Fault(fault, quote) => (quote, Err(fault)),
                Reading::Unlabelled(name) => match context.offer.find(&name) {
                    // A block that names no tool of ours is an example or data.
                    Err(_) => continue,
                    Ok(tool) => (Quote::of(&name), Err(Fault::Unlabelled { tool: tool.clone() })),
                },
                Reading::Call { name, arguments } => (
                    Quote::of(&name),
                    context.offer.find(&name).map(|tool| (tool.clone(), arguments)),
                ),
            };
            first_meant.get_or_insert(at);
            match (found, taken) {
                (Ok((tool, arguments)), false) => {
                    let id = context.ids.draw();
                    parsed
                        .proposals
                        .push(Proposal::ToolCall(ToolCall { id, tool, arguments }));
                    taken = true;
                    last_end = end;
                }
                (Err(fault), false) => parsed.fault(fault),
                (found, true) => {
                    parsed.ignored.push(match found {
                        Ok((tool, _)) => Ignored::Call {
                            tool: Quote::of(tool.as_str()),
                        },
                        Err(Fault::UnknownTool { name, .. }) => Ignored::Call { tool: name },
                        Err(_) => Ignored::BrokenCall { quote },
                    });
                    if text[last_end..at].trim().is_empty() {
                        last_end = end;
                    }
                }
            }
        }
        if self.over_limit > 0 {
            parsed.ignored.push(Ignored::CallsOverLimit {
                limit: self.limits.calls(),
                count: self.over_limit,
            });
        }
        if taken && !text[last_end..].trim().is_empty() {
            parsed.ignored.push(Ignored::TextAfterCall);
        }
        text[..first_meant.unwrap_or(text.len())]
            .trim()
            .clone_into(&mut parsed.prose);
        if self.cut_at.is_some() {
            if parsed.proposals.is_empty() {
                parsed.fault(Fault::InventedResult);
            } else {
                parsed.ignored.push(Ignored::InventedResult);
            }
        }
        if parsed.proposals.is_empty() && parsed.problems.is_empty() {
            let answer = std::mem::take(&mut parsed.prose);
            if answer.is_empty() {
                parsed.fault(Fault::EmptyReply);
            } else {
                parsed.answer(answer);
            }
        }
        parsed
    }
}
