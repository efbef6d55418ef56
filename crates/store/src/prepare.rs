//! From records to rows, in the caller's own time: the one thread that writes only binds and steps.

use interlock_gate::{Hold, HoldStatus, TokenRecord};
use interlock_protocol::{
    CallId, ContentHash, Event, EventBody, EventId, ExecutionId, HoldId, PermitId, Proposal, ResourceId,
    Sequence, SessionId, StageId, Status, ToolKind, ToolName, Verification, WorkerId,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::derive::{DecisionRow, UsageRow};
use crate::record::{Batch, Interaction, Record};
use crate::{Deed, Error};

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

/// One row, in the order of its batch.
#[derive(Debug)]
pub(crate) enum Row {
    Event(EventRow),
    Run {
        id: String,
        body: String,
    },
    Stage {
        id: String,
        place: i64,
        body: String,
    },
    Execution {
        id: String,
        body: String,
    },
    Message {
        execution: String,
        number: i64,
        run: String,
        role: String,
        at: i64,
        content: String,
    },
    Timeline {
        execution: String,
        number: i64,
        kind: String,
        status: String,
        at: i64,
        updated_at: i64,
        content: String,
        metadata: String,
    },
    Interaction {
        row: Box<Interaction>,
        shared: i64,
        at: i64,
        facts: String,
        usage: UsageRow,
    },
    Started {
        permit: PermitId,
        run: String,
        hold: Option<HoldId>,
        tool: String,
        is_write: bool,
        resource: Option<String>,
        /// The resource that a write is about, and the agent at work.
        writes: Option<(ResourceId, ExecutionId)>,
        at: i64,
        body: String,
    },
    Abandoned {
        permit: PermitId,
    },
    Finished {
        permit: PermitId,
        body: String,
        pending: Option<String>,
        outcome: &'static str,
        /// In nanoseconds.
        took: Option<i64>,
    },
    Verified {
        permit: PermitId,
        outcome: Verification,
    },
    Evidence {
        id: String,
        body: String,
    },
    Hold {
        id: HoldId,
        plan_hash: ContentHash,
        status: &'static str,
        expires_at: i64,
        body: String,
    },
    Token {
        row: Box<TokenRecord>,
        expires_at: i64,
        used_at: Option<i64>,
    },
    Deed {
        deed: Box<Deed>,
        at: i64,
        details: String,
    },
    Step {
        number: i64,
        run: String,
        at: i64,
        input: String,
        outcome: String,
    },
    Status {
        status: Status,
        answer: Option<String>,
        error: Option<String>,
    },
}

#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) kind: &'static str,
    pub(crate) decision: Option<DecisionRow>,
    pub(crate) stage: Option<String>,
    pub(crate) execution: Option<String>,
    pub(crate) body: String,
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

pub(crate) fn is_terminal(status: Status) -> bool {
    match status {
        Status::Pending | Status::InProgress | Status::Held | Status::Cancelling => false,
        Status::Completed | Status::Unverified | Status::Failed | Status::Cancelled | Status::TimedOut => {
            true
        }
    }
}

pub(crate) fn hold_status(status: &HoldStatus) -> &'static str {
    match status {
        HoldStatus::Pending => "pending",
        HoldStatus::Approved { .. } => "approved",
        HoldStatus::Denied { .. } => "denied",
        HoldStatus::Edited { .. } => "edited",
        HoldStatus::Expired { .. } => "expired",
        HoldStatus::Withdrawn { .. } => "withdrawn",
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

pub(crate) fn event_row(
    stage: Option<&StageId>,
    execution: Option<&ExecutionId>,
    body: &EventBody,
) -> Result<EventRow, Error> {
    Ok(EventRow {
        kind: body.name(),
        decision: DecisionRow::of(body),
        stage: stage.map(ToString::to_string),
        execution: execution.map(ToString::to_string),
        body: json("an event", body)?,
    })
}

/// What people do to a session needs no claim: deciding a hold, using a token, and saying so.
fn check_unclaimed(record: &Record) -> Result<(), Error> {
    let what = match record {
        Record::Event { .. } | Record::Hold(_) | Record::Token(_) | Record::Deed(_) => return Ok(()),
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
        | Record::Step(_) => false,
    }
}

fn row(session: &SessionId, record: Record) -> Result<Row, Error> {
    Ok(match record {
        Record::Event {
            stage,
            execution,
            body,
        } => Row::Event(event_row(stage.as_ref(), execution.as_ref(), &body)?),
        Record::Run(run) => Row::Run {
            body: json("a run", &run)?,
            id: run.id.into(),
        },
        Record::Stage(stage) => Row::Stage {
            body: json("a stage", &stage)?,
            place: i64::from(stage.index),
            id: stage.id.into(),
        },
        Record::Execution(execution) => Row::Execution {
            body: json("an execution", &execution)?,
            id: execution.id.into(),
        },
        Record::Message(message) => Row::Message {
            number: i64::from(message.number),
            at: nanoseconds(message.at)?,
            content: json("a message", &message.content)?,
            execution: message.execution.into(),
            run: message.run.into(),
            role: message.role,
        },
        Record::Timeline(entry) => Row::Timeline {
            number: i64::from(entry.number),
            at: nanoseconds(entry.at)?,
            updated_at: nanoseconds(entry.updated_at)?,
            metadata: json("a timeline entry", &entry.metadata)?,
            execution: entry.execution.into(),
            kind: entry.kind,
            status: entry.status,
            content: entry.content,
        },
        Record::Interaction(interaction) => Row::Interaction {
            shared: integer("an interaction", interaction.shared)?,
            at: nanoseconds(interaction.at)?,
            facts: json("an interaction", &interaction.facts)?,
            usage: UsageRow::of(&interaction),
            row: Box::new(interaction),
        },
        Record::Started(call) => {
            if call.plan.session != *session {
                return Err(other_session("a call"));
            }
            let writes = match (call.plan.kind, call.plan.resource()) {
                (ToolKind::Write, Some(resource)) => Some((resource.clone(), call.plan.execution.clone())),
                _ => None,
            };
            Row::Started {
                at: nanoseconds(call.started_at)?,
                tool: call.plan.tool.to_string(),
                is_write: call.plan.kind == ToolKind::Write,
                resource: call.plan.resource().map(ToString::to_string),
                writes,
                body: json("a call", &call)?,
                run: call.run.into(),
                hold: call.hold,
                permit: call.permit,
            }
        }
        Record::Abandoned { permit } => Row::Abandoned { permit },
        Record::Finished { receipt, pending } => {
            if receipt.session != *session {
                return Err(other_session("a receipt"));
            }
            let took = |end: Timestamp| end.as_nanosecond() - receipt.started_at.as_nanosecond();
            Row::Finished {
                outcome: receipt.outcome.as_str(),
                took: receipt.finished_at.and_then(|end| i64::try_from(took(end)).ok()),
                body: json("a receipt", &receipt)?,
                pending: pending
                    .as_ref()
                    .map(|pending| json("a verification", pending))
                    .transpose()?,
                permit: receipt.permit,
            }
        }
        Record::Verified { permit, outcome } => Row::Verified { permit, outcome },
        Record::Evidence(evidence) => {
            if evidence.session != *session {
                return Err(other_session("evidence"));
            }
            Row::Evidence {
                body: json("evidence", &evidence)?,
                id: evidence.id.into(),
            }
        }
        Record::Hold(hold) => hold_row(session, hold)?,
        Record::Token(token) => Row::Token {
            expires_at: nanoseconds(token.expires_at)?,
            used_at: token.used_at.map(nanoseconds).transpose()?,
            row: Box::new(token),
        },
        Record::Deed(deed) => Row::Deed {
            at: nanoseconds(deed.at)?,
            details: json("the facts of a deed", &deed.details)?,
            deed: Box::new(deed),
        },
        Record::Step(step) => Row::Step {
            number: integer("a step", step.number)?,
            at: nanoseconds(step.at)?,
            input: json("a step", &step.input)?,
            outcome: json("a step", &step.outcome)?,
            run: step.run.into(),
        },
        Record::Status {
            status,
            answer,
            error,
        } => Row::Status {
            status,
            answer,
            error,
        },
    })
}

fn hold_row(session: &SessionId, hold: Hold) -> Result<Row, Error> {
    if hold.plan.session != *session {
        return Err(other_session("a hold"));
    }
    Ok(Row::Hold {
        plan_hash: hold.plan_hash,
        status: hold_status(&hold.status),
        expires_at: nanoseconds(hold.expires_at)?,
        body: json("a hold", &hold)?,
        id: hold.id,
    })
}

fn other_session(what: &'static str) -> Error {
    Error::Unstorable {
        what,
        reason: "it belongs to another session".to_owned(),
    }
}
