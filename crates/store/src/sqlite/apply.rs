//! One batch, statement by statement, inside a transaction that someone else commits.

use interlock_protocol::{HoldId, PermitId, SessionId, Status, ToolKind};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::fault::{Fault, is_taken, text};
use super::once;
use crate::Error;
use crate::derive::{DecisionRow, UsageRow};
use crate::prepare::{Prepared, is_terminal};
use crate::row::{EventRow, Row};
use crate::store::Applied;

/// Among how many events before an answer its proposal is looked for.
const LOOK_BACK: i64 = 256;

/// Where a session's numbers stood after the batch's first statement.
struct Numbers {
    key: i64,
    last_event: i64,
}

pub(crate) fn apply(conn: &Connection, batch: &Prepared) -> Result<Applied, Fault> {
    let Numbers { key, last_event } = fence(conn, batch)?;
    let mut event = last_event - batch.events;
    let mut applied = Applied {
        last_event,
        went_on: None,
        wakes: false,
    };
    // What the store itself has to tell comes after the events of the batch, in place as in number.
    let mut was_decided = false;
    let mut to_tell = None;
    for row in &batch.rows {
        match row {
            Row::Event(row) => {
                event += 1;
                insert_event(conn, key, event, batch.at, row)?;
                if let Some(decision) = &row.decision {
                    insert_decision(conn, key, event, decision)?;
                }
            }
            Row::Hold { status, .. } => {
                once::hold(conn, key, row)?;
                was_decided |= batch.claim.is_none() && *status != "pending";
            }
            Row::Status {
                status,
                answer,
                error,
            } => {
                let stands = set_status(conn, key, batch.at, *status, answer.as_deref(), error.as_deref())?;
                super::incidents::session_ended(conn, key, batch.at, stands)?;
                if stands == Status::Pending && *status == Status::Held {
                    to_tell = Some(stands);
                }
                applied.wakes |= !matches!(status, Status::InProgress | Status::Cancelling);
            }
            other => record(conn, key, other)?,
        }
    }
    if let Some(status) = to_tell {
        applied.went_on = Some(super::queue::tell_status(conn, key, batch.at, status)?);
    }
    if was_decided && let Some(place) = decided(conn, key, batch.at)? {
        applied.went_on = Some(place);
        applied.wakes = true;
    }
    Ok(applied)
}

/// The first statement of every batch: only the newest claim may write, and the session's numbers move on.
fn fence(conn: &Connection, batch: &Prepared) -> Result<Numbers, Fault> {
    let numbers = |row: &rusqlite::Row<'_>| {
        Ok(Numbers {
            key: row.get(0)?,
            last_event: row.get(1)?,
        })
    };
    let found = match &batch.claim {
        Some((worker, epoch)) => conn
            .prepare_cached(
                "UPDATE sessions SET last_interaction_at = max(last_interaction_at, ?1), \
                 last_event = last_event + ?2, writes = writes + ?6, refusals = refusals + ?7, \
                 writes_verified = writes_verified + ?8 \
                 WHERE id = ?3 AND epoch = ?4 AND worker = ?5 RETURNING key, last_event",
            )?
            .query_row(
                params![
                    batch.at,
                    batch.events,
                    batch.session.as_str(),
                    epoch,
                    worker.as_str(),
                    batch.writes,
                    batch.refusals,
                    batch.verified
                ],
                numbers,
            )
            .optional()?,
        None => conn
            .prepare_cached(
                "UPDATE sessions SET last_interaction_at = max(last_interaction_at, ?1), \
                 last_event = last_event + ?2, refusals = refusals + ?4 \
                 WHERE id = ?3 AND deleted_at IS NOT 0 RETURNING key, last_event",
            )?
            .query_row(
                params![batch.at, batch.events, batch.session.as_str(), batch.refusals],
                numbers,
            )
            .optional()?,
    };
    found.ok_or_else(|| match batch.claim {
        Some(_) => Fault::from(Error::ClaimLost {
            session: batch.session.clone(),
        }),
        None => Fault::not_found("session", &batch.session),
    })
}

pub(super) fn insert_event(
    conn: &Connection,
    session: i64,
    number: i64,
    at: i64,
    event: &EventRow,
) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT INTO events (session, number, at, kind, stage, execution, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        session,
        number,
        at,
        event.kind,
        event.stage,
        event.execution,
        event.body
    ])?;
    Ok(())
}

/// The answer that the event just kept tells, where lists find it.
fn insert_decision(
    conn: &Connection,
    session: i64,
    number: i64,
    decision: &DecisionRow,
) -> Result<(), Fault> {
    let event = conn.last_insert_rowid();
    let found = match (&decision.tool, &decision.call) {
        (None, Some(call)) => conn
            .prepare_cached(
                "SELECT json_extract(body, '$.data.proposal.tool') FROM events WHERE session = ?1 \
                 AND number BETWEEN ?2 - ?4 AND ?2 AND kind = 'proposal.received' \
                 AND json_extract(body, '$.data.proposal.id') = ?3 ORDER BY number DESC LIMIT 1",
            )?
            .query_row(params![session, number, call, LOOK_BACK], |row| row.get(0))
            .optional()?,
        _ => None,
    };
    let tool: Option<String> = decision.tool.clone().or(found);
    conn.prepare_cached("INSERT INTO decisions (event, answer, code, tool) VALUES (?, ?, ?, ?)")?
        .execute(params![event, decision.answer, decision.code, tool])?;
    Ok(())
}

fn record(conn: &Connection, key: i64, row: &Row) -> Result<(), Fault> {
    match row {
        Row::Run { id, body } => upsert(
            conn,
            "INSERT INTO runs (session, id, body) VALUES (?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET body = excluded.body WHERE session = excluded.session",
            key,
            ("run", id),
            body,
        ),
        Row::Stage { id, place, body } => {
            conn.prepare_cached(
                "INSERT INTO stages (session, place, id, body) VALUES (?, ?, ?, ?) \
                 ON CONFLICT (session, id) DO UPDATE SET place = excluded.place, body = excluded.body",
            )?
            .execute(params![key, place, id, body])?;
            Ok(())
        }
        Row::Execution { id, body } => upsert(
            conn,
            "INSERT INTO executions (session, id, body) VALUES (?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET body = excluded.body WHERE session = excluded.session",
            key,
            ("execution", id),
            body,
        ),
        Row::Message {
            execution,
            number,
            run,
            role,
            at,
            content,
        } => conn
            .prepare_cached(
                "INSERT INTO messages (session, execution, number, run, role, at, content) \
                 VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![key, execution, number, run, role, at, content])
            .map(drop)
            .or_else(|error| duplicate(error, "message", || format!("{execution}/{number}"))),
        Row::Timeline {
            execution,
            number,
            kind,
            status,
            at,
            updated_at,
            content,
            call,
            metadata,
        } => {
            let call = call.as_deref();
            let refused = call.and_then(|call| call.refused.as_ref());
            conn.prepare_cached(
                "INSERT INTO timeline (session, execution, number, kind, status, at, updated_at, content, metadata, \
                 call_id, tool, call_kind, permit, hold, rule, code) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \
                 ON CONFLICT (session, execution, number) DO UPDATE SET \
                 kind = excluded.kind, status = excluded.status, at = excluded.at, \
                 updated_at = excluded.updated_at, content = excluded.content, metadata = excluded.metadata, \
                 call_id = excluded.call_id, tool = excluded.tool, call_kind = excluded.call_kind, \
                 permit = excluded.permit, hold = excluded.hold, rule = excluded.rule, code = excluded.code",
            )?
            .execute(params![
                key,
                execution,
                number,
                kind,
                status,
                at,
                updated_at,
                content,
                metadata,
                call.map(|call| call.id.as_str()),
                call.map(|call| call.tool.as_str()),
                call.and_then(|call| call.kind).map(ToolKind::as_str),
                call.and_then(|call| call.permit.as_ref()).map(PermitId::as_str),
                call.and_then(|call| call.hold.as_ref()).map(HoldId::as_str),
                refused.map(|(rule, _)| rule.as_str()),
                refused.map(|(_, code)| code.as_str()),
            ])?;
            Ok(())
        }
        Row::Interaction {
            row,
            shared,
            at,
            facts,
            usage,
        } => conn
            .prepare_cached(
                "INSERT INTO interactions (session, execution, number, run, provider, model, shared, at, \
                 body_hash, facts, body, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![
                key,
                row.execution.as_str(),
                row.number,
                row.run.as_str(),
                row.provider,
                row.model,
                shared,
                at,
                row.body_hash.as_bytes(),
                facts,
                row.body,
                row.raw
            ])
            .map(drop)
            .or_else(|error| {
                duplicate(error, "interaction", || {
                    format!("{}/{}", row.execution, row.number)
                })
            })
            .and_then(|()| insert_usage(conn, key, *at, usage)),
        Row::Step {
            number,
            run,
            at,
            input,
            outcome,
        } => conn
            .prepare_cached(
                "INSERT INTO steps (session, number, run, at, input, outcome) VALUES (?, ?, ?, ?, ?, ?)",
            )?
            .execute(params![key, number, run, at, input, outcome])
            .map(drop)
            .or_else(|error| duplicate(error, "step", || number.to_string())),
        Row::Started {
            permit, writes, at, ..
        } => {
            once::start(conn, key, row)?;
            match writes {
                Some((resource, execution)) => {
                    once::take(conn, key, resource, execution.as_str(), permit, *at)
                }
                None => Ok(()),
            }
        }
        Row::Abandoned { permit } => once::abandon(conn, key, permit),
        Row::Finished { .. } => once::finish(conn, key, row),
        Row::Verified { permit, outcome } => once::verified(conn, key, permit, outcome.as_str()),
        Row::Evidence { id, body } => conn
            .prepare_cached("INSERT INTO evidence (session, id, body) VALUES (?, ?, ?)")?
            .execute(params![key, id, body])
            .map(drop)
            .or_else(|error| duplicate(error, "evidence", || id.clone())),
        Row::Token {
            row,
            expires_at,
            used_at,
        } => once::token(conn, key, row, *expires_at, *used_at),
        Row::Deed { deed, at, details } => super::audit::audit(conn, deed, *at, details).map(drop),
        // Handled where the session's numbers are known.
        Row::Event(_) | Row::Hold { .. } | Row::Status { .. } => Ok(()),
    }
}

/// What the interaction just kept used, where lists find it.
fn insert_usage(conn: &Connection, session: i64, at: i64, usage: &UsageRow) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT INTO usage (interaction, session, at, name, failed, input_tokens, output_tokens, micro_dollars, took) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        conn.last_insert_rowid(),
        session,
        at,
        usage.name,
        usage.failed,
        usage.input_tokens,
        usage.output_tokens,
        usage.micro_dollars,
        usage.took
    ])?;
    Ok(())
}

fn upsert(
    conn: &Connection,
    sql: &str,
    session: i64,
    (what, id): (&'static str, &str),
    body: &str,
) -> Result<(), Fault> {
    match conn.prepare_cached(sql)?.execute(params![session, id, body])? {
        // Another session has one of that id.
        0 => Err(Error::Duplicate {
            what,
            id: id.to_owned(),
        }
        .into()),
        _ => Ok(()),
    }
}

fn duplicate(error: rusqlite::Error, what: &'static str, id: impl FnOnce() -> String) -> Result<(), Fault> {
    Err(if is_taken(&error) {
        Error::Duplicate { what, id: id() }.into()
    } else {
        error.into()
    })
}

/// A person decided a hold: a session that waits goes on, in the same step, and one that is worked on will not wait
/// for what was decided. Says the place of the event that says so.
fn decided(conn: &Connection, key: i64, at: i64) -> Result<Option<i64>, Fault> {
    let held: bool = conn
        .prepare_cached("UPDATE sessions SET decided = 1 WHERE key = ? RETURNING status = 'held'")?
        .query_row([key], |row| row.get(0))?;
    if !held {
        return Ok(None);
    }
    super::queue::put_back(conn, key, at).map(Some)
}

/// Where the session stands now. Any status but the two of work in hand ends the claim. A session that someone
/// wants stopped neither goes on nor waits for a human, and one whose hold was decided meanwhile does not wait for
/// that: they go back to the queue.
pub(super) fn set_status(
    conn: &Connection,
    key: i64,
    at: i64,
    status: Status,
    answer: Option<&str>,
    error: Option<&str>,
) -> Result<Status, Fault> {
    let ends = is_terminal(status);
    let works = matches!(status, Status::InProgress | Status::Cancelling);
    let stands: String = conn
        .prepare_cached(
            "UPDATE sessions SET \
             status = CASE WHEN cancel_requested AND ?1 = 'in_progress' THEN 'cancelling' \
                           WHEN (cancel_requested OR decided) AND ?1 = 'held' THEN 'pending' ELSE ?1 END, \
             worker = CASE WHEN ?2 THEN worker END, \
             completed_at = CASE WHEN ?3 THEN ?4 END WHERE key = ?5 RETURNING status",
        )?
        .query_row(params![status.as_str(), works, ends, at, key], |row| row.get(0))?;
    if answer.is_some() || error.is_some() {
        conn.prepare_cached(
            "UPDATE session_texts SET answer = coalesce(?1, answer), error = coalesce(?2, error) \
             WHERE session = ?3",
        )?
        .execute(params![answer, error, key])?;
    }
    text(&stands)
}

/// The number by which rows know a session. One that is being removed for good has none any more.
pub(super) fn key_of(conn: &Connection, session: &SessionId) -> Result<i64, Fault> {
    conn.prepare_cached("SELECT key FROM sessions WHERE id = ? AND deleted_at IS NOT 0")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Fault::not_found("session", session))
}
