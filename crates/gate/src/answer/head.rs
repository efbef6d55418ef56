//! What code knows about an answer: writes from their records, readings by their number. No word of the model counts.

use interlock_protocol::{Evidence, Head, HeadAction, PermitId, Support, Withheld, visible};
use jiff::Timestamp;

use super::grounding::Span;
use super::not_run::{self, NotRunCall};
use crate::plan::Plan;
use crate::session::{Session, WriteRecord};

/// The question that is being answered, as far as a head depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// When it was asked. What was done or read before belongs to earlier questions.
    pub asked_at: Timestamp,
    /// Writes of the session that the gate does not remember: an earlier process made them.
    pub forgotten: Vec<HeadAction>,
    /// Writes of the session that did not run, as far as the record says: the gate may not remember them.
    pub not_run: Vec<NotRunCall>,
}

impl Default for Question {
    /// The first question: everything in the session came after it.
    fn default() -> Self {
        Self {
            asked_at: Timestamp::MIN,
            forgotten: Vec::new(),
            not_run: Vec::new(),
        }
    }
}

/// What was made of the model's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// How many parts a reading shows.
    pub backed: u32,
    /// How many parts nothing shows.
    pub unbacked: u32,
    /// What was withheld.
    pub withheld: Option<Withheld>,
    /// How many characters of it are hidden.
    pub hidden: u32,
    /// Whether no reading is about anything that it names.
    pub unread: bool,
}

impl Checked {
    pub(super) fn of(text: &str, spans: &[Span], withheld: Option<Withheld>, unread: bool) -> Self {
        let (backed, unbacked): (Vec<_>, Vec<_>) = spans.iter().partition(|span| !span.evidence.is_empty());
        Self {
            backed: count(backed.len()),
            unbacked: count(unbacked.len()),
            withheld,
            hidden: count(visible::hidden(text)),
            unread,
        }
    }

    /// What an earlier head says about its text.
    pub const fn from_head(head: &Head) -> Self {
        Self {
            backed: head.backed,
            unbacked: head.unbacked,
            withheld: head.withheld,
            hidden: head.hidden,
            unread: matches!(head.support, Some(Support::Unsupported)),
        }
    }
}

/// Makes a head. `actions` are the writes of the session in order, `not_run` those that did not run, `readings` when each
/// of its readings was taken; `checked` is nothing while there is no answer.
pub fn head(
    actions: impl IntoIterator<Item = HeadAction>,
    not_run: impl IntoIterator<Item = NotRunCall>,
    readings: impl IntoIterator<Item = Timestamp>,
    checked: Option<Checked>,
    asked_at: Timestamp,
) -> Head {
    let (actions, earlier): (Vec<_>, Vec<_>) = actions
        .into_iter()
        .partition(|action| action.started_at >= asked_at);
    let (new, old): (Vec<_>, Vec<_>) = readings.into_iter().partition(|taken| *taken >= asked_at);
    let taken = !new.is_empty() || !old.is_empty();
    let support = checked
        .filter(|checked| checked.withheld != Some(Withheld::Claim))
        .map(
            |checked| match (taken && !checked.unread, checked.backed, checked.unbacked) {
                (false, _, _) => Support::Unsupported,
                (true, 0, 0) => Support::Unchecked,
                (true, _, 0) => Support::Matched,
                (true, _, _) => Support::Partial,
            },
        );
    Head {
        record: None,
        actions,
        earlier_actions: count(earlier.len()),
        not_run: not_run::since(not_run, asked_at),
        earlier_not_run: 0,
        readings: count(new.len()),
        earlier_readings: count(old.len()),
        support,
        backed: checked.map_or(0, |checked| checked.backed),
        unbacked: checked.map_or(0, |checked| checked.unbacked),
        withheld: checked.and_then(|checked| checked.withheld),
        hidden: checked.map_or(0, |checked| checked.hidden),
    }
}

/// The head of a session as the gate remembers it.
pub(super) fn so_far(
    session: &Session,
    evidence: &[&Evidence],
    checked: Option<Checked>,
    question: &Question,
) -> Head {
    let writes = &session.writes;
    let known = |permit: &PermitId| writes.iter().any(|write| write.receipt.permit == *permit);
    let forgotten = question
        .forgotten
        .iter()
        .filter(|action| !known(&action.permit))
        .cloned();
    let mut actions: Vec<HeadAction> = forgotten.chain(writes.iter().map(action_of)).collect();
    actions.sort_by_key(|action| action.started_at);
    let readings = evidence.iter().map(|evidence| evidence.taken_at);
    let unknown = question.not_run.iter().filter(|call| !session.remembers(call));
    let not_run: Vec<NotRunCall> = session.not_run.values().chain(unknown).cloned().collect();
    head(actions, not_run, readings, checked, question.asked_at)
}

fn action_of(write: &WriteRecord) -> HeadAction {
    HeadAction {
        outcome: Some(write.receipt.outcome),
        verification: write.verification,
        approved_by: write.approved_by.clone(),
        ..planned(
            &write.plan,
            write.receipt.permit.clone(),
            write.receipt.started_at,
        )
    }
}

/// A write that began, before anything is known about its end.
pub fn planned(plan: &Plan, permit: PermitId, started_at: Timestamp) -> HeadAction {
    HeadAction {
        permit,
        what: what(plan),
        resource: plan.resource().cloned(),
        name: plan.target.as_ref().map(|target| target.name.clone()),
        outcome: None,
        verification: None,
        approved_by: None,
        started_at,
    }
}

/// What a plan does, in a word or as its command.
pub(super) fn what(plan: &Plan) -> String {
    match (&plan.command, &plan.action) {
        (Some(command), _) => format!("`{command}`"),
        (None, Some(action)) => action.clone(),
        (None, None) => plan.tool.to_string(),
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
