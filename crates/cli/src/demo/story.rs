//! Tells what happens as it happens: what the model proposes, what the gate answers and by which rule, what was read, done
//! and verified.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlock_dialect::Channel;
use interlock_engine::Live;
use interlock_protocol::{
    CallId, Decision, Event, EventBody, EvidenceId, Outcome, Proposal, Receipt, SessionId, ToolCall,
    ToolKind, Verification,
};
use interlock_store::Store;
use serde_json::Value;

use crate::steps::described;
use crate::terminal::{Paint, Tone, visible};

/// How wide the first column is.
const COLUMN: usize = 11;
/// How many characters of a model's words, or of a line of evidence, are shown.
const WIDTH: usize = 150;
/// How many lines of evidence are shown.
const LINES: usize = 4;

/// Turns what happens into lines.
pub(crate) struct Story {
    paint: Paint,
    store: Store,
    calls: BTreeMap<CallId, ToolCall>,
    /// What the model thinks, until it is known what it wants.
    thoughts: String,
    /// What it says besides.
    words: String,
    step: u32,
}

impl Story {
    pub(crate) fn new(paint: Paint, store: Store) -> Self {
        Self {
            paint,
            store,
            calls: BTreeMap::new(),
            thoughts: String::new(),
            words: String::new(),
            step: 0,
        }
    }

    /// The lines of something that happened; none for what is of no interest.
    pub(crate) fn tell(&mut self, live: &Live) -> Vec<String> {
        match live {
            Live::Asking { .. } => {
                self.thoughts.clear();
                self.words.clear();
                Vec::new()
            }
            Live::Chunk { channel, text, .. } => {
                match channel {
                    Channel::Thinking => self.thoughts.push_str(text),
                    Channel::Text => self.words.push_str(text),
                    Channel::Answer => {}
                }
                Vec::new()
            }
            Live::Event(event) => self.event(event),
        }
    }

    /// The lines of an event.
    pub(crate) fn event(&mut self, event: &Event) -> Vec<String> {
        match &event.body {
            EventBody::ProposalReceived { proposal } => self.proposal(proposal),
            EventBody::DecisionMade { call, decision } => self.decision(call.as_ref(), decision),
            EventBody::EvidenceRecorded { evidence, .. } => self.evidence(&event.session, evidence),
            EventBody::ReceiptRecorded { receipt } => self.receipt(receipt),
            EventBody::HoldApproved { by, .. } => {
                vec![self.line(
                    "human",
                    Tone::Good,
                    &format!("approved by {}", visible(by.as_str())),
                )]
            }
            EventBody::HoldDenied { by, reason, .. } => vec![self.line(
                "human",
                Tone::Bad,
                &format!("denied by {}: {}", visible(by.as_str()), visible(reason)),
            )],
            EventBody::HoldExpired { .. } => {
                vec![self.line("human", Tone::Bad, "the approval expired: no decision in time")]
            }
            EventBody::VerificationRequired { resource, .. } => vec![self.line(
                "gate",
                Tone::Careful,
                &format!("{resource} must be looked at before anything else is written or answered"),
            )],
            EventBody::VerificationCompleted {
                resource, outcome, ..
            } => {
                let (tone, text) = match outcome {
                    Verification::Verified => (Tone::Good, "VERIFIED: it is as expected"),
                    Verification::Observed => (Tone::Good, "it was looked at afterwards"),
                    Verification::Failed => (Tone::Bad, "it is not as expected"),
                    Verification::Inconclusive => (Tone::Bad, "the effect cannot be told"),
                };
                vec![self.line("code", tone, &format!("{resource}: {text}"))]
            }
            EventBody::AnswerReplaced { category, .. } => vec![self.line(
                "gate",
                Tone::Bad,
                &format!("the answer claims what no receipt shows ({category}); it is withheld"),
            )],
            EventBody::SessionCreated { .. }
            | EventBody::SessionStatus { .. }
            | EventBody::SessionCompleted { .. }
            | EventBody::StageStarted { .. }
            | EventBody::StageCompleted { .. }
            | EventBody::ExecutionStarted { .. }
            | EventBody::ExecutionCompleted { .. }
            | EventBody::HoldOpened { .. }
            | EventBody::HoldEdited { .. }
            | EventBody::CallStarted { .. }
            | EventBody::AnswerGiven { .. }
            | EventBody::ContextReset { .. }
            | EventBody::ControlChanged { .. }
            | EventBody::ModeChanged { .. } => Vec::new(),
        }
    }

    fn proposal(&mut self, proposal: &Proposal) -> Vec<String> {
        self.step += 1;
        let mut lines = vec![String::new()];
        let (mut thought, words) = (
            std::mem::take(&mut self.thoughts),
            std::mem::take(&mut self.words),
        );
        let head = format!("{:>3}. model", self.step);
        let what = match proposal {
            Proposal::ToolCall(call) => {
                self.calls.insert(call.id.clone(), call.clone());
                if thought.is_empty() {
                    thought = words;
                }
                format!("proposes {}", full(call))
            }
            Proposal::FinalAnswer { text } => format!("wants to answer: {}", cut(text)),
        };
        let thought = cut(&thought);
        if thought.is_empty() {
            lines.push(self.line(&head, Tone::Strong, &what));
        } else {
            let quoted = self.paint.paint(Tone::Quiet, &format!("“{thought}”"));
            lines.push(self.line(&head, Tone::Strong, &quoted));
            lines.push(self.line("", Tone::Strong, &what));
        }
        lines
    }

    fn decision(&mut self, call: Option<&CallId>, decision: &Decision) -> Vec<String> {
        match decision {
            Decision::Allowed { kind, .. } => {
                let what = match kind {
                    ToolKind::Resolve => "allowed: it finds out what exists",
                    ToolKind::Read => "allowed: it only reads",
                    ToolKind::Write => "allowed, once",
                };
                vec![self.line("gate", Tone::Good, what)]
            }
            Decision::AnswerAllowed => vec![self.line("gate", Tone::Good, "the answer may be given")],
            Decision::Held { .. } => vec![self.line("gate", Tone::Careful, "HELD: a human decides")],
            Decision::Refused(refusal) => {
                if let (Some(better), Some(call)) = (
                    refusal.details.get("suggested_rewrite").and_then(Value::as_str),
                    call.and_then(|id| self.calls.get_mut(id)),
                ) {
                    call.arguments.insert("command".to_owned(), better.into());
                }
                let text = format!("REFUSED by {}: {}", refusal.rule, visible(&refusal.message));
                let mut lines = vec![self.line("gate", Tone::Bad, &text)];
                if let Some(hint) = &refusal.recovery_hint {
                    let hint = self.paint.paint(Tone::Quiet, &format!("hint: {}", cut(hint)));
                    lines.push(self.line("", Tone::Quiet, &hint));
                }
                lines
            }
        }
    }

    fn receipt(&self, receipt: &Receipt) -> Vec<String> {
        let (tone, outcome) = match receipt.outcome {
            Outcome::Succeeded => (Tone::Good, "done"),
            Outcome::Failed => (Tone::Bad, "failed"),
            Outcome::TimedOut => (Tone::Bad, "ran out of time"),
            Outcome::InterruptedUnknown => (Tone::Bad, "was interrupted"),
            Outcome::Cancelled => (Tone::Bad, "was cancelled"),
        };
        // A read is told by its evidence.
        if receipt.kind != ToolKind::Write && receipt.outcome == Outcome::Succeeded {
            return Vec::new();
        }
        let on = receipt
            .resource
            .as_ref()
            .map_or_else(String::new, |resource| format!(" on {resource}"));
        let text = format!(
            "{outcome}{on}: {} ({})",
            visible(&receipt.summary),
            short(receipt.id.as_str())
        );
        vec![self.line("receipt", tone, &text)]
    }

    /// What was read, by its first telling lines.
    fn evidence(&self, session: &SessionId, id: &EvidenceId) -> Vec<String> {
        let read = || {
            let read = self.store.evidence_of(session, std::slice::from_ref(id));
            let handle = tokio::runtime::Handle::try_current().ok()?;
            handle.block_on(read).ok()?.pop()
        };
        let Some(evidence) = tokio::task::block_in_place(read) else {
            return Vec::new();
        };
        let of = evidence
            .resource
            .as_ref()
            .map_or_else(|| "the whole fleet".to_owned(), ToString::to_string);
        let mut lines = vec![self.line("evidence", Tone::Good, &format!("{} of {of}", short(id.as_str())))];
        for line in excerpt(&evidence.data) {
            lines.push(self.line(
                "",
                Tone::Quiet,
                &self.paint.paint(Tone::Quiet, &format!("│ {line}")),
            ));
        }
        lines
    }

    fn line(&self, who: &str, tone: Tone, text: &str) -> String {
        let mut line = String::new();
        let who = format!("{who:>COLUMN$}");
        let _ = write!(line, "{}  {text}", self.paint.paint(tone, &who));
        line
    }
}

/// A call with where it would run.
fn full(call: &ToolCall) -> String {
    let place = ["target_resource_id", "target_host"]
        .iter()
        .find_map(|name| call.arguments.get(*name)?.as_str());
    match place {
        Some(place) => format!("{} on {}", described(call), visible(place)),
        None => described(call),
    }
}

/// The last lines of what a program printed, else the first facts of what was read.
fn excerpt(data: &Value) -> Vec<String> {
    for key in ["stdout", "lines", "content", "log", "logs"] {
        let text = match data.get(key) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(lines)) => lines
                .iter()
                .map(|line| line.as_str().map_or_else(|| line.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join("\n"),
            _ => continue,
        };
        let lines: Vec<String> = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .map(cut)
            .collect();
        if !lines.is_empty() {
            let from = lines.len().saturating_sub(LINES);
            return lines[from..].to_vec();
        }
    }
    vec![cut(&data.to_string())]
}

fn cut(text: &str) -> String {
    let one_line = visible(text.trim()).replace("\\n", " ");
    let head: String = one_line.chars().take(WIDTH).collect();
    if head.len() == one_line.len() {
        head
    } else {
        format!("{head}…")
    }
}

/// The first digits of an id: enough to tell it from the others of a story.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(12).collect()
}
