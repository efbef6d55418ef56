//! The final answer: it waits for every write to be looked at, claims nothing that no receipt shows, and says of
//! each number, state and name whether evidence backs it.

mod grounding;
mod phantom;
mod text;
mod words;

use std::fmt::Write as _;

use interlock_protocol::{ErrorCode, Evidence, ExecutionId, Outcome, ResourceId, Status, Verification};
use jiff::Timestamp;

pub use grounding::{Span, SpanKind};
pub use phantom::{Category as PhantomCategory, Claim};

pub(crate) use text::visible;

use crate::gate::Gate;
use crate::refusal::{About, Recovery, Refusal};
use crate::rule::Rule;
use crate::sabotage::Sabotage;
use crate::session::Session;
use crate::state::State;

/// What is shown instead of an answer that claims what did not happen.
pub const SAFE_FAILURE: &str =
    "The answer was withheld: it claimed a result that no tool call of this session shows.";

/// How many bytes of an answer are examined. What goes beyond is withheld.
const MOST_EXAMINED: usize = 64 * 1024;

/// What stands in place of the rest of an answer that is too long to be examined.
const REST_WITHHELD: &str = "\n\n(The rest was withheld: the answer is too long to be checked.)";

/// As much of an answer as is examined, cut where a line or a word ends if there is such a place.
fn examined(text: &str) -> &str {
    if text.len() <= MOST_EXAMINED {
        return text;
    }
    let head = &text[..text.floor_char_boundary(MOST_EXAMINED)];
    let end = head.rfind('\n').or_else(|| head.rfind(' ')).unwrap_or(head.len());
    &head[..end]
}

/// Whether the model offers an answer or code ends the execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conclusion {
    /// The model offers it, and can still do better: a claim that nothing shows is handed back.
    Tentative,
    /// The model offers it. A claim that nothing shows is withheld.
    Offered,
    /// Code ends the execution with it. A call that still waits for a human is given up.
    Forced,
}

/// The answer to a proposal to end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum AnswerDecision {
    /// It may be given, in this form.
    Release(Box<Answer>),
    /// It must wait.
    Block(Box<Refusal>),
}

/// An answer as it may be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The model's text, or what replaces it.
    pub text: String,
    /// What the text claimed that did not happen, if it was replaced.
    pub replaced: Option<Claim>,
    /// What in the text is backed by evidence, and what is not.
    pub spans: Vec<Span>,
    /// What was done, from receipts.
    pub actions: Vec<ActionLine>,
    /// The status with which the session ends, as far as its writes go.
    pub status: Status,
}

/// One thing that was done, from its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionLine {
    /// What: the action, or the command.
    pub what: String,
    /// The resource.
    pub resource: Option<ResourceId>,
    /// Its name.
    pub name: String,
    /// How running ended.
    pub outcome: Outcome,
    /// What looking afterwards showed.
    pub verification: Option<Verification>,
}

impl std::fmt::Display for ActionLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {}", visible(&self.what), visible(&self.name))?;
        if let Some(resource) = &self.resource {
            write!(f, " ({})", visible(&resource.to_string()))?;
        }
        write!(f, ": {}", self.outcome)?;
        match self.verification {
            Some(Verification::Verified) => f.write_str(", verified"),
            Some(Verification::Observed) => f.write_str(", looked at afterwards"),
            Some(Verification::Failed) => f.write_str(", but the effect did not come about: failed"),
            Some(Verification::Inconclusive) | None => f.write_str(", effect not known: unverified"),
        }
    }
}

impl Answer {
    /// The answer for people: the text, then what was done. What a screen would act on is written out.
    pub fn render(&self) -> String {
        let mut out = text::visible_lines(&self.text);
        if !self.actions.is_empty() {
            out.push_str("\n\nWhat was done:\n");
            for action in &self.actions {
                // Writing into a String cannot fail.
                let _ = writeln!(out, "- {action}");
            }
        }
        if self.status == Status::Unverified {
            out.push_str("\nThe effect of a change could not be observed: this session ends unverified.\n");
        }
        out
    }
}

impl Gate {
    /// Answers a proposal to end with `text`. `evidence` is what the session read.
    pub fn decide_final_answer(
        &self,
        session: &mut Session,
        execution: &ExecutionId,
        text: &str,
        evidence: &[&Evidence],
        conclusion: Conclusion,
        now: Timestamp,
    ) -> AnswerDecision {
        if let Err(refusal) = self.may_conclude(session, execution, conclusion, now) {
            return AnswerDecision::Block(self.note_refusal(session, execution, refusal, now));
        }
        let tools = self.catalogue.tools().map(|tool| tool.definition().name.as_str());
        let known: Vec<_> = session.context.resources(now).collect();
        let names = grounding::Names::of(&known);
        let examined = examined(text);
        let sentences = text::sentences(examined);
        let claims = phantom::claims(examined, &sentences, tools, &|word| names.names(word));
        let grounded = grounding::ground(&sentences, &claims, evidence, &session.writes, &names);
        let actions = session
            .writes
            .iter()
            .filter(|write| write.receipt.execution == *execution)
            .map(action_line)
            .collect();
        let replaced = if self.broken(Sabotage::PhantomsPass) {
            None
        } else {
            grounded.phantom
        };
        if let (Some(claim), Conclusion::Tentative) = (&replaced, conclusion) {
            let refusal = claimed(claim, session.state(execution));
            return AnswerDecision::Block(self.note_refusal(session, execution, refusal, now));
        }
        let (text, spans) = match &replaced {
            Some(_) => (SAFE_FAILURE.to_owned(), Vec::new()),
            None if examined.len() < text.len() => (format!("{examined}{REST_WITHHELD}"), grounded.spans),
            None => (text.to_owned(), grounded.spans),
        };
        let status = session.standing();
        session.execution_mut(execution).state = State::Concluded;
        AnswerDecision::Release(Box::new(Answer {
            text,
            replaced,
            spans,
            actions,
            status,
        }))
    }

    fn may_conclude(
        &self,
        session: &mut Session,
        execution: &ExecutionId,
        conclusion: Conclusion,
        now: Timestamp,
    ) -> Result<(), Box<Refusal>> {
        let state = session.state(execution);
        let about = About {
            tool: None,
            action: None,
            kind: None,
            state,
        };
        let refuse = |code, message: String| Refusal::new(Rule::FinalAnswer, code, about.clone(), message);
        if !state.admits_answer() && self.intact(Rule::FinalAnswer) {
            let blocked =
                |message: String| refuse(ErrorCode::FsmBlocked, message).detail("state", state.as_str());
            return Err(match state {
                State::Verifying => {
                    let resources: Vec<String> = session
                        .pending(execution)
                        .iter()
                        .map(|pending| pending.resource.to_string())
                        .collect();
                    blocked(format!(
                        "The last write on {} was not verified yet.",
                        resources.join(", ")
                    ))
                    .detail("unverified_resources", resources)
                    .hint("A read of the written resource, taken after the write, verifies it.")
                }
                State::Writing => blocked("A write is under way.".to_owned())
                    .hint("The receipt of the running write makes an answer possible."),
                State::Resolving | State::Reading | State::Concluded => {
                    blocked("The final answer was given.".to_owned()).recovery(Recovery::Outside)
                }
            });
        }
        let open = session
            .executions
            .get(execution)
            .and_then(|execution| execution.hold.as_ref())
            .filter(|hold| now < hold.expires_at)
            .map(|hold| hold.id.clone());
        match (open, conclusion) {
            (None, _) => {}
            (Some(hold), Conclusion::Tentative | Conclusion::Offered) => {
                return Err(refuse(
                    ErrorCode::ApprovalRequired,
                    "A call still waits for a human.".to_owned(),
                )
                .detail("hold", hold.as_str())
                .hint("The decision on the open hold makes an answer possible."));
            }
            (Some(hold), Conclusion::Forced) => {
                session.decided_holds.insert(hold);
                session.execution_mut(execution).hold = None;
            }
        }
        Ok(())
    }
}

/// The refusal of an answer that claims what did not happen.
fn claimed(claim: &Claim, state: State) -> Box<Refusal> {
    let about = About {
        tool: None,
        action: None,
        kind: None,
        state,
    };
    Refusal::new(
        Rule::FinalAnswer,
        ErrorCode::UnsupportedClaim,
        about,
        "The answer claims a result that no tool call of this session shows.",
    )
    .detail("category", claim.category.as_str())
    .hint("A receipt of the action, or an answer that says what was only found, makes an answer possible.")
    .recovery(Recovery::Automatic)
}

fn action_line(write: &crate::session::WriteRecord) -> ActionLine {
    let plan = &write.plan;
    let what = match (&plan.command, &plan.action) {
        (Some(command), _) => format!("`{command}`"),
        (None, Some(action)) => action.clone(),
        (None, None) => plan.tool.to_string(),
    };
    ActionLine {
        what,
        resource: plan.resource().cloned(),
        name: plan
            .target
            .as_ref()
            .map_or_else(|| "no resource".to_owned(), |target| target.name.clone()),
        outcome: write.receipt.outcome,
        verification: write.verification,
    }
}
