//! The final answer: it waits for every write to be looked at, claims nothing that no receipt shows, and says of
//! each number, state and name whether evidence backs it.

mod foreign;
mod grounding;
mod head;
pub(crate) mod not_run;
mod phantom;
mod provenance;
mod text;
mod words;

use interlock_protocol::{ErrorCode, Evidence, ExecutionId, Head, Status, Withheld};
use jiff::Timestamp;

pub use grounding::{Span, SpanKind};
pub use head::{Checked, Question, head, planned};
pub use not_run::NotRunCall;
pub use phantom::{Category as PhantomCategory, Claim};
pub use provenance::EvidenceRules;

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

/// An answer as it may be given: what the model says and what code says, apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The model's text as it was written, or [`SAFE_FAILURE`] in its place.
    pub text: String,
    /// What the text claimed that did not happen, if it was replaced.
    pub replaced: Option<Claim>,
    /// What in the text is backed by evidence, and what is not.
    pub spans: Vec<Span>,
    /// What code knows about it.
    pub head: Head,
    /// The status with which the session ends, as far as its writes go.
    pub status: Status,
}

impl Gate {
    /// Answers a proposal to end with `text`. `evidence` is what the session read.
    #[expect(
        clippy::too_many_arguments,
        reason = "everything that an answer is decided on comes in as a value"
    )]
    pub fn decide_final_answer(
        &self,
        session: &mut Session,
        execution: &ExecutionId,
        text: &str,
        evidence: &[&Evidence],
        question: &Question,
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
        let weighing = grounding::Weighing {
            evidence,
            writes: &session.writes,
            catalogue: &self.catalogue,
            rules: self.options.evidence_rules,
        };
        let grounded = grounding::ground(&sentences, &claims, &weighing, &names);
        let replaced = if self.broken(Sabotage::PhantomsPass) {
            None
        } else {
            grounded.phantom
        };
        if let (Some(claim), Conclusion::Tentative) = (&replaced, conclusion) {
            let refusal = claimed(claim, session.state(execution));
            return AnswerDecision::Block(self.note_refusal(session, execution, refusal, now));
        }
        let (said, spans, withheld) = match &replaced {
            Some(_) => (SAFE_FAILURE, Vec::new(), Some(Withheld::Claim)),
            None if examined.len() < text.len() => (examined, grounded.spans, Some(Withheld::Rest)),
            None => (text, grounded.spans, None),
        };
        let checked = Checked::of(said, &spans, withheld, grounded.unread);
        let head = head::so_far(session, evidence, Some(checked), question);
        let status = session.standing();
        session.execution_mut(execution).state = State::Concluded;
        AnswerDecision::Release(Box::new(Answer {
            text: said.to_owned(),
            replaced,
            spans,
            head,
            status,
        }))
    }

    /// What a session did since the question, before there is an answer.
    pub fn head_so_far(&self, session: &Session, question: &Question) -> Head {
        head::so_far(session, &[], None, question)
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
            .cloned();
        match (open, conclusion) {
            (None, _) => {}
            (Some(hold), Conclusion::Tentative | Conclusion::Offered) => {
                return Err(refuse(
                    ErrorCode::ApprovalRequired,
                    "A call still waits for a human.".to_owned(),
                )
                .detail("hold", hold.id.as_str())
                .hint("The decision on the open hold makes an answer possible."));
            }
            (Some(hold), Conclusion::Forced) => {
                if let Some(call) = NotRunCall::withdrawn(&hold.plan, now) {
                    session.note_not_run(call);
                }
                session.decided_holds.insert(hold.id);
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
