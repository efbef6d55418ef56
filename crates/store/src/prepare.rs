//! From records to rows, in the caller's own time: the one thread that writes only binds and steps.

use interlock_protocol::{
    CallId, ContentHash, Event, EventBody, EventId, ExecutionId, Proposal, Sequence, SessionId, StageId,
    Status, ToolKind, ToolName, Verification, WorkerId,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::Error;
use crate::record::{Batch, Record};
use crate::row::{Row, event_row, row};

/// A batch, ready to be written again and again until it is kept.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) session: SessionId,
    pub(crate) claim: Option<(WorkerId, i64)>,
    pub(crate) at: i64,
    pub(crate) events: i64,
    /// How many writes begin, how many are confirmed, and how many proposals are refused.
    pub(crate) writes: i64,
    pub(crate) verified: i64,
    pub(crate) refusals: i64,
    /// Whether it must be on the disk, and not only with the system, before anyone acts on it.
    pub(crate) durable: bool,
    pub(crate) rows: Vec<Row>,
}

/// The events of a batch, waiting for their places.
pub(crate) struct Unplaced {
    session: SessionId,
    at: Timestamp,
    events: Vec<(Option<StageId>, Option<ExecutionId>, EventBody)>,
}

impl Unplaced {
    pub(crate) const fn session(&self) -> &SessionId {
        &self.session
    }

    pub(crate) const fn at(&self) -> Timestamp {
        self.at
    }

    /// The events, the last of which has this place.
    pub(crate) fn place(self, last: u64) -> Vec<Event> {
        let first = (last + 1).saturating_sub(self.events.len() as u64);
        (first..)
            .zip(self.events)
            .map(|(number, (stage, execution, body))| Event {
                id: event_id(&self.session, number),
                session: self.session.clone(),
                sequence: Sequence::new(number),
                at: self.at,
                stage,
                execution,
                body,
            })
            .collect()
    }
}

/// An event's id follows from its place, so it need not be stored.
pub(crate) fn event_id(session: &SessionId, number: u64) -> EventId {
    let mut bytes = session.as_str().as_bytes().to_vec();
    bytes.push(0);
    bytes.extend_from_slice(&number.to_be_bytes());
    let digest = ContentHash::of(bytes);
    let mut id = [0; 16];
    id.copy_from_slice(&digest.as_bytes()[..16]);
    EventId::from_bytes(id)
}

/// Nanoseconds since 1970, exactly.
pub(crate) fn nanoseconds(at: Timestamp) -> Result<i64, Error> {
    i64::try_from(at.as_nanosecond()).map_err(|_| Error::Unstorable {
        what: "a time",
        reason: format!("{at} is not between 1677 and 2262"),
    })
}

pub(crate) fn json(what: &'static str, value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Unstorable {
        what,
        reason: error.to_string(),
    })
}

pub(crate) fn integer(what: &'static str, number: u64) -> Result<i64, Error> {
    i64::try_from(number).map_err(|_| Error::Unstorable {
        what,
        reason: format!("{number} is too large"),
    })
}

/// Whether nothing more happens to a session or run with this status by itself.
pub fn is_terminal(status: Status) -> bool {
    match status {
        Status::Pending | Status::InProgress | Status::Held | Status::Cancelling => false,
        Status::Completed | Status::Unverified | Status::Failed | Status::Cancelled | Status::TimedOut => {
            true
        }
    }
}

pub(crate) fn prepare(batch: Batch) -> Result<(Prepared, Unplaced), Error> {
    let Batch {
        session,
        claim,
        at,
        records,
    } = batch;
    let claim = match claim {
        Some(claim) if claim.session != session => return Err(Error::ClaimLost { session }),
        Some(claim) => Some((claim.worker, integer("an epoch", claim.epoch)?)),
        None => None,
    };
    let mut prepared = Prepared {
        session: session.clone(),
        claim,
        at: nanoseconds(at)?,
        events: 0,
        writes: 0,
        verified: 0,
        refusals: 0,
        durable: false,
        rows: Vec::with_capacity(records.len()),
    };
    let mut unplaced = Unplaced {
        session,
        at,
        events: Vec::new(),
    };
    // Which tools the calls that this batch proposes are for.
    let mut proposed: Vec<(CallId, ToolName)> = Vec::new();
    for record in records {
        if prepared.claim.is_none() {
            check_unclaimed(&record)?;
        }
        let row = match record {
            Record::Event {
                stage,
                execution,
                body,
            } => {
                prepared.events += 1;
                let mut row = event_row(stage.as_ref(), execution.as_ref(), &body)?;
                if let EventBody::ProposalReceived {
                    proposal: Proposal::ToolCall(call),
                } = &body
                {
                    proposed.push((call.id.clone(), call.tool.clone()));
                }
                if let Some(decision) = &mut row.decision {
                    prepared.refusals += i64::from(decision.answer == "refused");
                    let tool = proposed.iter().rev().find(|(call, _)| decision.is_about(call));
                    decision.tool = tool.map(|(_, tool)| tool.to_string());
                }
                unplaced.events.push((stage, execution, body));
                Row::Event(row)
            }
            other => {
                prepared.durable |= is_durable(&other);
                match &other {
                    Record::Started(call) => prepared.writes += i64::from(call.plan.kind == ToolKind::Write),
                    Record::Verified { outcome, .. } => {
                        prepared.verified += i64::from(*outcome == Verification::Verified);
                    }
                    _ => {}
                }
                row(&prepared.session, other)?
            }
        };
        prepared.rows.push(row);
    }
    Ok((prepared, unplaced))
}

/// What people do to a session needs no claim: deciding a hold, using a token, and saying so.
fn check_unclaimed(record: &Record) -> Result<(), Error> {
    let what = match record {
        Record::Event { .. }
        | Record::Hold(_)
        | Record::Token(_)
        | Record::Deed(_)
        | Record::Unwritable { .. } => return Ok(()),
        Record::Run(_) => "a run",
        Record::Stage(_) => "a stage",
        Record::Execution(_) => "an execution",
        Record::Message(_) => "a message",
        Record::Timeline(_) => "a timeline entry",
        Record::Interaction(_) => "an interaction",
        Record::Started(_) => "the beginning of a call",
        Record::Abandoned { .. } => "the abandoning of a call",
        Record::Finished { .. } => "a receipt",
        Record::Verified { .. } => "a verification",
        Record::Evidence(_) => "evidence",
        Record::Step(_) => "a step",
        Record::Status { .. } => "a status",
    };
    Err(Error::ClaimRequired { what })
}

fn is_durable(record: &Record) -> bool {
    match record {
        Record::Started(call) => call.plan.kind == ToolKind::Write,
        Record::Finished { .. } | Record::Hold(_) | Record::Token(_) | Record::Deed(_) => true,
        Record::Status { status, .. } => is_terminal(*status),
        Record::Event { .. }
        | Record::Run(_)
        | Record::Stage(_)
        | Record::Execution(_)
        | Record::Message(_)
        | Record::Timeline(_)
        | Record::Interaction(_)
        | Record::Abandoned { .. }
        | Record::Verified { .. }
        | Record::Evidence(_)
        | Record::Step(_)
        | Record::Unwritable { .. } => false,
    }
}
