//! What a reply came to, the same for every dialect.

use crate::{CallRef, Dialect, Fault, Ignored, Problem};
use interlock_protocol::{Proposal, ToolCall, ToolResponse};
use serde::Serialize;

/// How sure a model says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Very.
    High,
    /// Somewhat.
    Medium,
    /// Hardly.
    Low,
}

impl Confidence {
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        match word {
            "high" => Some(Self::High),
            "medium" => Some(Self::Medium),
            "low" => Some(Self::Low),
            _ => None,
        }
    }
}

/// What a reply came to. All of it is a model's word and untrusted.
///
/// Either there are tool calls (several in `native`, else one), or there is one final answer, or there are only
/// problems; a final answer never stands next to a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Parsed {
    /// The dialect that it was read in.
    pub dialect: Dialect,
    /// What the model asks for, in its order.
    pub proposals: Vec<Proposal>,
    /// What was meant as a proposal and is none.
    pub problems: Vec<Problem>,
    /// What was left out.
    pub ignored: Vec<Ignored>,
    /// What the model thought: the provider's thinking, a leading `<think>` block, the last `Thought:`.
    pub thinking: String,
    /// What it said besides: before a call, or the whole text where nothing was recognised.
    pub prose: String,
    /// How sure it says it is of its final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// The last `Thought:` alone.
    #[serde(skip)]
    pub(crate) thought: String,
}

impl Parsed {
    pub(crate) const fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            proposals: Vec::new(),
            problems: Vec::new(),
            ignored: Vec::new(),
            thinking: String::new(),
            prose: String::new(),
            confidence: None,
            thought: String::new(),
        }
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.problems.push(fault.into());
    }

    pub(crate) fn answer(&mut self, text: impl Into<String>) {
        self.proposals.push(Proposal::FinalAnswer { text: text.into() });
    }

    /// The tool calls, in their order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.proposals.iter().filter_map(|proposal| match proposal {
            Proposal::ToolCall(call) => Some(call),
            Proposal::FinalAnswer { .. } => None,
        })
    }

    /// The final answer, if that is what it is.
    pub fn final_answer(&self) -> Option<&str> {
        self.proposals.iter().find_map(|proposal| match proposal {
            Proposal::FinalAnswer { text } => Some(text.as_str()),
            Proposal::ToolCall(_) => None,
        })
    }

    /// The calls that cannot be proposed and that the provider knows by id, each with the answer that it gets. The
    /// history carries them with these ids and names, and with no arguments.
    pub fn refused_calls(&self) -> impl Iterator<Item = (&CallRef, ToolResponse)> {
        self.problems
            .iter()
            .filter_map(|problem| Some((problem.call.as_ref()?, problem.to_response())))
    }

    /// What the model is told about the rest: facts, one to a line. Nothing where there is nothing to tell.
    pub fn feedback(&self) -> Option<String> {
        let unanswered = || self.problems.iter().filter(|problem| problem.call.is_none());
        let mut lines: Vec<String> = unanswered().map(|problem| problem.fault.to_string()).collect();
        lines.extend(
            self.ignored
                .iter()
                .filter(|ignored| ignored.concerns_the_model())
                .map(ToString::to_string),
        );
        if unanswered().any(|problem| problem.fault.is_about_form()) {
            lines.push(self.dialect.form().to_owned());
        }
        if lines.is_empty() {
            None
        } else {
            Some(lines.join("\n"))
        }
    }

    /// What a reply to "conclude now, without tools" comes to: the final answer, else what the model thought, else what it
    /// said. Nothing where it said nothing.
    pub fn forced_conclusion(&self) -> Option<&str> {
        let overruled = || {
            self.ignored.iter().find_map(|ignored| match ignored {
                Ignored::FinalAnswer { text } => Some(text.as_str()),
                _ => None,
            })
        };
        self.final_answer()
            .or_else(overruled)
            .or_else(|| Some(self.thought.as_str()).filter(|text| !text.is_empty()))
            .or_else(|| Some(self.prose.as_str()).filter(|text| !text.is_empty()))
    }
}
