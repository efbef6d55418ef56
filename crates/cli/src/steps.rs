//! What happens in a session, as lines for people. One event gives one line or none.

use std::collections::{BTreeMap, BTreeSet};

use interlock_protocol::{
    CallId, Decision, Event, EventBody, ExecutionId, Outcome, Proposal, Receipt, ResourceId, Status,
    ToolCall, Verification,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::terminal::{Paint, Tone, visible};

/// Arguments that say where, not what.
const WHERE: [&str; 2] = ["target_resource_id", "target_host"];

/// Turns events into lines. Remembers what was proposed, so that a later event can be told in full.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    calls: BTreeMap<CallId, ToolCall>,
    agents: BTreeMap<ExecutionId, String>,
    /// Reads begin and end in the same breath: they are told once they ended.
    running: BTreeSet<CallId>,
}

impl Steps {
    /// Takes note of what happened before.
    pub(crate) fn recall(&mut self, events: &[Event]) {
        for event in events {
            self.told(event, Paint::Off);
        }
        self.running.clear();
    }

    /// What is being done now, if a tool is running.
    pub(crate) fn doing(&self) -> Option<String> {
        let call = self.calls.get(self.running.iter().next()?)?;
        Some(described(call))
    }

    /// The line of an event.
    pub(crate) fn line(&mut self, event: &Event, paint: Paint) -> Option<String> {
        let line = self.told(event, paint)?;
        match event.execution.as_ref().and_then(|id| self.agents.get(id)) {
            // With one agent there is no question who it was.
            Some(agent) if self.agents.len() > 1 => Some(format!("[{}] {line}", visible(agent))),
            _ => Some(line),
        }
    }

    fn told(&mut self, event: &Event, paint: Paint) -> Option<String> {
        let good = |text: String| Some(format!("{} {text}", paint.paint(Tone::Good, "✓")));
        let bad = |text: String| Some(format!("{} {text}", paint.paint(Tone::Bad, "✗")));
        match &event.body {
            EventBody::ExecutionStarted { agent } => {
                if let Some(execution) = &event.execution {
                    self.agents.insert(execution.clone(), agent.to_string());
                }
                None
            }
            EventBody::StageStarted { name } if name.as_str() != "answer" => {
                Some(paint.paint(Tone::Strong, &format!("stage {}", visible(name.as_str()))))
            }
            EventBody::ProposalReceived {
                proposal: Proposal::ToolCall(call),
            } => {
                self.calls.insert(call.id.clone(), call.clone());
                None
            }
            EventBody::CallStarted { call, resource, .. } => {
                self.running.insert(call.clone());
                let what = self.calls.get(call).map_or_else(String::new, described);
                let line = format!("{what}{}", on(resource.as_ref()));
                Some(format!("{} {line}", paint.paint(Tone::Strong, "→")))
            }
            EventBody::ReceiptRecorded { receipt } => {
                self.running.remove(&receipt.call);
                let line = format!("{}{}", visible(&receipt.summary), took(receipt));
                match receipt.outcome {
                    Outcome::Succeeded => good(line),
                    Outcome::Failed
                    | Outcome::TimedOut
                    | Outcome::InterruptedUnknown
                    | Outcome::Cancelled => bad(format!("{}: {line}", receipt.outcome)),
                }
            }
            EventBody::DecisionMade {
                call,
                decision: Decision::Refused(refusal),
            } => {
                let what = match call {
                    None => "the answer".to_owned(),
                    Some(id) => self.calls.get(id).map_or_else(|| "a call".to_owned(), described),
                };
                // What runs next under this id is the equivalent that ends.
                if let (Some(better), Some(call)) = (
                    refusal.details.get("suggested_rewrite"),
                    call.as_ref().and_then(|id| self.calls.get_mut(id)),
                ) {
                    call.arguments.insert("command".to_owned(), better.clone());
                }
                bad(format!(
                    "{what} refused by {}: {}",
                    refusal.rule,
                    visible(&refusal.message)
                ))
            }
            EventBody::HoldOpened {
                hold, call, resource, ..
            } => {
                let what = self.calls.get(call).map_or_else(String::new, described);
                Some(format!(
                    "{} {what}{} waits for a human ({hold})",
                    paint.paint(Tone::Careful, "⏸"),
                    on(resource.as_ref()),
                ))
            }
            EventBody::HoldApproved { by, .. } => good(format!("approved by {}", visible(by.as_str()))),
            EventBody::HoldDenied { by, reason, .. } => {
                let why = if reason.is_empty() {
                    String::new()
                } else {
                    format!(": {}", visible(reason))
                };
                bad(format!("denied by {}{why}", visible(by.as_str())))
            }
            EventBody::HoldEdited { by, .. } => good(format!("changed by {}", visible(by.as_str()))),
            EventBody::HoldExpired { .. } => bad("the approval expired: no decision in time".to_owned()),
            EventBody::VerificationCompleted {
                resource, outcome, ..
            } => {
                let resource = visible(&resource.to_string());
                match outcome {
                    Verification::Verified => good(format!("{resource} is as expected: verified")),
                    Verification::Observed => good(format!("{resource} was looked at afterwards")),
                    Verification::Failed => bad(format!("{resource} is not as expected")),
                    Verification::Inconclusive => bad(format!("{resource}: the effect cannot be told")),
                }
            }
            EventBody::AnswerReplaced { .. } => {
                bad("the answer claimed what did not happen, and was withheld".to_owned())
            }
            EventBody::SessionCompleted { status } => match status {
                Status::Completed | Status::Unverified => None,
                _ => bad(format!("{status}")),
            },
            EventBody::StageStarted { .. }
            | EventBody::SessionCreated { .. }
            | EventBody::SessionStatus { .. }
            | EventBody::StageCompleted { .. }
            | EventBody::ExecutionCompleted { .. }
            | EventBody::ProposalReceived { .. }
            | EventBody::DecisionMade { .. }
            | EventBody::EvidenceRecorded { .. }
            | EventBody::VerificationRequired { .. }
            | EventBody::AnswerGiven { .. }
            | EventBody::ContextReset { .. }
            | EventBody::ControlChanged { .. }
            | EventBody::ModeChanged { .. } => None,
        }
    }
}

/// What a call asks for, on one line.
pub(crate) fn described(call: &ToolCall) -> String {
    summary(call.tool.as_str(), &call.arguments)
}

/// A tool with what it is asked for, on one line.
pub(crate) fn summary(tool: &str, arguments: &interlock_protocol::Arguments) -> String {
    let mut words = vec![visible(tool)];
    if let Some(action) = arguments.get("action").and_then(Value::as_str) {
        words.push(visible(action));
    }
    for (name, value) in arguments {
        if name == "action" || WHERE.contains(&name.as_str()) {
            continue;
        }
        match value {
            Value::String(text) if name == "command" => words.push(format!("`{}`", visible(text))),
            Value::String(text) if matches!(name.as_str(), "path" | "query" | "unit") => {
                words.push(visible(text));
            }
            Value::String(text) => words.push(format!("{}={}", visible(name), shortened(text))),
            other => words.push(format!("{}={}", visible(name), shortened(&other.to_string()))),
        }
    }
    words.join(" ")
}

/// The first part of a text that may be long.
fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let head: String = text.chars().take(MOST).collect();
    if head.len() == text.len() {
        visible(text)
    } else {
        format!("{}…", visible(&head))
    }
}

fn on(resource: Option<&ResourceId>) -> String {
    resource.map_or_else(String::new, |resource| {
        format!(" on {}", visible(&resource.to_string()))
    })
}

fn took(receipt: &Receipt) -> String {
    receipt.finished_at.map_or_else(String::new, |end| {
        format!(" ({})", seconds(end.duration_since(receipt.started_at)))
    })
}

/// A length of time for people.
pub(crate) fn seconds(length: SignedDuration) -> String {
    let length = length.max(SignedDuration::ZERO);
    let whole = length.as_secs();
    match whole {
        0..60 => format!("{whole}.{} s", length.subsec_millis() / 100),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole / 60 % 60),
        _ => format!("{} d {} h", whole / 86_400, whole / 3600 % 24),
    }
}

/// A moment for people, where they are.
pub(crate) fn moment(at: Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S")
        .to_string()
}
