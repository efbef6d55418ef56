//! Walks over a reply once, from left to right, and sorts it into sections.

use super::scan::{self, Look, Opening, Section};
use super::{arguments, recovery};
use crate::json::Balance;
use crate::reader::{Channel, Context, Phase, Screen};
use crate::{Dialect, Fault, Found, Ignored, Limits, Parsed, Quote};
use interlock_protocol::{Proposal, ToolCall};

#[derive(Debug, Clone, Copy)]
enum State {
    /// At the beginning of a line, past this many bytes of white space.
    LineStart { blank: usize },
    /// After `Observation:`, until it is clear whose words these are.
    Observation,
    /// In a line whose content does not count.
    Skipped,
    /// In a line.
    Line(Line),
    /// After the end of a sentence in a line.
    SentenceEnd(Line),
    /// After white space in the line of an action.
    ActionGap(Line),
}

/// What the beginning of a line says about the rest of it.
#[derive(Debug, Clone, Copy)]
enum Line {
    /// A header may follow a sentence.
    Splits,
    /// The line of an action: its input may follow.
    Action,
    /// No header in here.
    Whole,
}

/// Where an action input stands with the JSON that it may begin with.
#[derive(Debug, Clone)]
enum InputJson {
    /// Only white space so far.
    Ahead,
    Inside(Balance),
    /// It has ended, or there is none.
    Behind,
}

impl InputJson {
    fn take(&mut self, byte: u8) {
        match self {
            Self::Ahead if byte.is_ascii_whitespace() => {}
            Self::Ahead if matches!(byte, b'{' | b'[') => {
                let mut balance = Balance::default();
                balance.closes_with(byte);
                *self = Self::Inside(balance);
            }
            Self::Ahead => *self = Self::Behind,
            Self::Inside(balance) => {
                if balance.closes_with(byte) {
                    *self = Self::Behind;
                }
            }
            Self::Behind => {}
        }
    }
}

/// Whether the machine can go on or waits for more text.
enum Step {
    On,
    Wait,
}

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    state: State,
    position: usize,
    section: Section,
    content: String,
    /// The JSON with which an action input begins: inside it no sentence ends.
    input_json: InputJson,
    preamble: String,
    thought: String,
    action: Option<String>,
    input: Option<String>,
    answer: Option<String>,
    /// Where the latest `Action Input:` stands.
    input_at: usize,
    /// Where the content of the final answer begins.
    answer_at: Option<usize>,
    /// Whether an action came after the final answer.
    action_after_answer: bool,
    /// Whether an `Action Input:` would belong to something.
    input_open: bool,
    action_seen: bool,
    phase: Phase,
    ignored: Vec<Ignored>,
    /// How many more were ignored than are told one by one.
    over_limit: usize,
    limits: Limits,
    cut_at: Option<usize>,
}

impl Machine {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            state: State::LineStart { blank: 0 },
            position: 0,
            section: Section::Preamble,
            content: String::new(),
            input_json: InputJson::Ahead,
            preamble: String::new(),
            thought: String::new(),
            action: None,
            input: None,
            answer: None,
            input_at: 0,
            answer_at: None,
            action_after_answer: false,
            input_open: true,
            action_seen: false,
            phase: Phase::Idle,
            ignored: Vec::new(),
            over_limit: 0,
            limits,
            cut_at: None,
        }
    }

    pub(crate) const fn is_cut(&self) -> bool {
        self.cut_at.is_some()
    }

    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    pub(crate) fn advance(&mut self, text: &str, ended: bool, screen: &mut Screen) {
        while self.position < text.len() && self.cut_at.is_none() {
            match self.step(text, ended, screen) {
                Step::On => {}
                Step::Wait => return,
            }
        }
    }

    fn step(&mut self, text: &str, ended: bool, screen: &mut Screen) -> Step {
        match self.state {
            State::LineStart { blank } => return self.line_start(text, blank, ended, screen),
            State::Observation => match scan::invented(&text[self.position..], ended) {
                None => return Step::Wait,
                Some(true) => self.cut_at = Some(self.position),
                Some(false) => self.state = State::Skipped,
            },
            State::Skipped => {
                self.position = match text[self.position..].find('\n') {
                    Some(length) => {
                        self.state = State::LineStart { blank: 0 };
                        self.position + length + 1
                    }
                    None => text.len(),
                };
            }
            State::Line(line) => self.line(text, line, screen),
            State::SentenceEnd(line) => {
                match self
                    .may_split()
                    .then(|| scan::after_sentence(&text[self.position..], ended))
                {
                    Some(Look::Unclear) => return Step::Wait,
                    Some(Look::Found(section, length)) if self.opens_within(section, line) => {
                        self.open(section, self.position, length);
                        self.state = State::Line(Self::rest_of_line(section));
                    }
                    Some(Look::Found(..) | Look::Absent) | None => self.state = State::Line(line),
                }
            }
            State::ActionGap(line) => match scan::input_within(&text[self.position..], ended) {
                Look::Unclear => return Step::Wait,
                Look::Found(section, length) if self.input_open => {
                    self.open(section, self.position, length);
                    self.state = State::Line(Line::Whole);
                }
                Look::Found(..) | Look::Absent => self.state = State::Line(line),
            },
        }
        Step::On
    }

    fn line_start(&mut self, text: &str, blank: usize, ended: bool, screen: &mut Screen) -> Step {
        let line = &text[self.position..];
        let rest = line[blank..].trim_start_matches([' ', '\t', '\r']);
        let blank = line.len() - rest.len();
        self.state = State::LineStart { blank };
        if rest.is_empty() {
            if !ended {
                return Step::Wait;
            }
            self.append(line, screen);
            self.position = text.len();
            return Step::On;
        }
        match scan::opening(rest, ended) {
            Look::Unclear => return Step::Wait,
            Look::Found(Opening::Observation, _) => self.state = State::Observation,
            Look::Found(Opening::BasedOn, _) => self.cut_at = Some(self.position),
            Look::Found(Opening::Header(section), length) => {
                let at = self.position + blank;
                if let Some(section) = self.opens(section) {
                    self.open(section, at, length);
                    self.state = State::Line(Self::rest_of_line(section));
                } else {
                    self.append(&text[self.position..at + length], screen);
                    self.position = at + length;
                    self.state = State::Line(Line::Whole);
                }
            }
            Look::Absent => {
                self.append(&line[..blank], screen);
                self.position += blank;
                // A line of a story that begins with the word is one piece, whatever it mentions.
                let line = if rest.starts_with("Thought ") {
                    Line::Whole
                } else {
                    Line::Splits
                };
                self.state = State::Line(line);
            }
        }
        Step::On
    }

    /// Takes content up to the next place that needs a closer look.
    fn line(&mut self, text: &str, line: Line, screen: &mut Screen) {
        let rest = &text[self.position..];
        let stop = |byte: u8| match line {
            Line::Splits => matches!(byte, b'\n' | b'.' | b'!' | b'?'),
            Line::Action => matches!(byte, b'\n' | b' ' | b'\t'),
            Line::Whole => byte == b'\n',
        };
        let (taken, state) = match rest.bytes().position(stop) {
            None => (rest, State::Line(line)),
            Some(at) => {
                let state = match (rest.as_bytes()[at], line) {
                    (b'\n', _) => State::LineStart { blank: 0 },
                    (_, Line::Action) => State::ActionGap(line),
                    (_, Line::Splits | Line::Whole) => State::SentenceEnd(line),
                };
                (&rest[..=at], state)
            }
        };
        self.append(taken, screen);
        self.position += taken.len();
        self.state = state;
    }

    /// Inside the JSON of an action input, the end of a sentence is part of a string.
    const fn may_split(&self) -> bool {
        !matches!(
            (self.section, &self.input_json),
            (Section::ActionInput, InputJson::Inside(_))
        )
    }

    /// Which section a header at the beginning of a line opens; none if it is content.
    fn opens(&self, section: Section) -> Option<Section> {
        match section {
            Section::FinalAnswer if self.section == Section::FinalAnswer => None,
            Section::FinalAnswer if self.answer.is_some() => Some(Section::Surplus),
            Section::ActionInput if !self.input_open => None,
            _ => Some(section),
        }
    }

    fn opens_within(&self, section: Section, line: Line) -> bool {
        let Line::Splits = line else { return false };
        match section {
            Section::FinalAnswer => !matches!(self.section, Section::FinalAnswer) && self.answer.is_none(),
            Section::ActionInput => self.action_seen && self.input_open,
            Section::Action | Section::Thought | Section::Preamble | Section::Surplus => true,
        }
    }

    const fn rest_of_line(section: Section) -> Line {
        match section {
            Section::Thought | Section::Preamble | Section::Surplus | Section::FinalAnswer => Line::Splits,
            Section::Action => Line::Action,
            Section::ActionInput => Line::Whole,
        }
    }

    /// Ends the current section and begins this one, whose header stands at `at`.
    fn open(&mut self, section: Section, at: usize, length: usize) {
        self.close();
        self.position = at + length;
        self.section = section;
        self.phase = self.phase.max(match section {
            Section::Preamble => Phase::Idle,
            Section::Thought => Phase::Thought,
            Section::Action | Section::ActionInput => Phase::Action,
            Section::FinalAnswer | Section::Surplus => Phase::FinalAnswer,
        });
        match section {
            Section::Action => {
                self.input_open = true;
                self.action_seen = true;
                self.action_after_answer = self.answer.is_some();
            }
            Section::ActionInput => {
                self.input_open = false;
                self.input_at = at;
                self.input_json = InputJson::Ahead;
            }
            Section::FinalAnswer => {
                self.answer_at = Some(self.position);
            }
            Section::Thought | Section::Preamble | Section::Surplus => {}
        }
    }

    fn append(&mut self, text: &str, screen: &mut Screen) {
        match self.section {
            Section::Preamble => screen.show(Channel::Text, text),
            Section::Thought => screen.show(Channel::Thinking, text),
            Section::FinalAnswer => screen.show(Channel::Answer, text),
            Section::ActionInput => text.bytes().for_each(|byte| self.input_json.take(byte)),
            Section::Action | Section::Surplus => {}
        }
        self.content.push_str(text);
    }

    /// Keeps what the current section has. An empty one does not replace what was there.
    fn close(&mut self) {
        let content = std::mem::take(&mut self.content);
        let content = content.trim();
        match self.section {
            Section::ActionInput => {
                if self.input.is_none() || !content.is_empty() {
                    self.input = Some(content.to_owned());
                }
            }
            _ if content.is_empty() => {}
            Section::Preamble => content.clone_into(&mut self.preamble),
            Section::Thought => content.clone_into(&mut self.thought),
            Section::FinalAnswer => self.answer = Some(content.to_owned()),
            Section::Surplus => self.ignore(Ignored::FinalAnswer {
                text: content.to_owned(),
            }),
            Section::Action => {
                // Another action has its own input: pairing it with the input of the one before would be a call that
                // nobody wrote.
                self.input = None;
                if let Some(earlier) = self.action.replace(content.to_owned()) {
                    self.ignore(Ignored::Call {
                        tool: Quote::of(&earlier),
                    });
                }
            }
        }
    }

    fn ignore(&mut self, ignored: Ignored) {
        if self.ignored.len() < self.limits.calls() {
            self.ignored.push(ignored);
        } else {
            self.over_limit += 1;
        }
    }

    pub(crate) fn finish(mut self, text: &str, mut context: Context<'_>) -> Parsed {
        self.close();
        let mut parsed = Parsed::new(Dialect::React);
        let text = &text[..self.cut_at.unwrap_or(text.len())];
        parsed.thought = std::mem::take(&mut self.thought);
        parsed.prose = std::mem::take(&mut self.preamble);
        parsed.ignored = std::mem::take(&mut self.ignored);
        if self.over_limit > 0 {
            parsed.ignored.push(Ignored::CallsOverLimit {
                limit: self.limits.calls(),
                count: self.over_limit,
            });
        }
        let recovered = match (&self.action, &self.input) {
            (None, Some(_)) => recovery::action_before(&text[..self.input_at], context.offer),
            _ => None,
        };
        match (self.action.or(recovered), self.input, self.answer) {
            (Some(action), Some(input), answer) => {
                parsed
                    .ignored
                    .extend(answer.map(|text| Ignored::FinalAnswer { text }));
                propose(&action, &input, &mut parsed, &mut context);
            }
            (action, _, Some(answer)) => {
                if self.action_after_answer
                    && let Some(at) = self.answer_at
                {
                    // `Action:` without an input after the answer is a heading in the answer.
                    parsed.answer(text[at..].trim());
                } else {
                    parsed.ignored.extend(action.map(|tool| Ignored::Action {
                        tool: Quote::of(&tool),
                    }));
                    parsed.answer(answer);
                }
            }
            (action, input, None) => {
                let found = Found {
                    thought: !parsed.thought.is_empty(),
                    action: action.is_some(),
                    action_input: input.is_some(),
                    final_answer: self.answer_at.is_some(),
                };
                let nothing = text.trim().is_empty() && self.cut_at.is_none();
                parsed.fault(if nothing {
                    Fault::EmptyReply
                } else {
                    Fault::Format { found }
                });
            }
        }
        if self.cut_at.is_some() {
            parsed.ignored.push(Ignored::InventedResult);
        }
        parsed
    }
}

fn propose(action: &str, input: &str, parsed: &mut Parsed, context: &mut Context<'_>) {
    let name = action.trim_matches(['`', '*', '"', '\'']);
    let tool = match context.offer.find(name) {
        Ok(tool) => tool.clone(),
        Err(fault) => return parsed.fault(fault),
    };
    match arguments::read(input, &context.limits) {
        Ok(arguments::Taken { arguments, rest }) => {
            parsed
                .ignored
                .extend(rest.map(|quote| Ignored::AfterArguments { quote }));
            parsed.proposals.push(Proposal::ToolCall(ToolCall {
                id: context.ids.draw(),
                tool,
                arguments,
            }));
        }
        Err(fault) => parsed.fault(fault),
    }
}
