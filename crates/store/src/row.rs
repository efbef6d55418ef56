//! What is written of a record: one row, with everything in it as the database takes it.

use interlock_gate::{Hold, HoldStatus, TokenRecord};
use interlock_protocol::{
    ContentHash, EventBody, ExecutionId, HoldId, PermitId, ResourceId, SessionId, StageId, Status, ToolKind,
    Verification,
};
use jiff::Timestamp;

use crate::derive::{DecisionRow, UsageRow};
use crate::prepare::{integer, json, nanoseconds};
use crate::record::{Interaction, Record, ShownCall};
use crate::{Deed, Error};

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
        call: Option<Box<ShownCall>>,
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

pub(crate) fn row(session: &SessionId, record: Record) -> Result<Row, Error> {
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
            call: entry.call.map(Box::new),
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
        Record::Unwritable { what, reason } => return Err(Error::Unstorable { what, reason }),
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
