//! Reading what people look at first.

use std::collections::BTreeSet;

use interlock_gate::{Hold, NotRunCall};
use interlock_protocol::{CallId, Evidence, ExecutionId, Sequence, SessionId};
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::apply::key_of;
use super::covered;
use super::fault::{Fault, text};
use super::read::{TIMELINE, body, number, rows, runs, session_by_key, time, to_timeline};
use crate::{Outline, Tally, TimelineEntry};

/// How many edits of one call are followed back.
const MOST_EDITS: usize = 1000;

pub(crate) fn outline(conn: &Connection, id: &SessionId) -> Result<Outline, Fault> {
    let key = key_of(conn, id)?;
    let last_event: i64 = conn
        .prepare_cached("SELECT last_event FROM sessions WHERE key = ?")?
        .query_row([key], |row| row.get(0))?;
    Ok(Outline {
        session: session_by_key(conn, key)?,
        runs: runs(conn, id)?,
        stages: rows(
            conn,
            "SELECT body FROM stages WHERE session = ? ORDER BY place, key",
            [key],
            body,
        )?,
        executions: rows(
            conn,
            "SELECT body FROM executions WHERE session = ? ORDER BY key",
            [key],
            body,
        )?,
        answer: rows(
            conn,
            &format!("{TIMELINE} AND kind = 'final_analysis' ORDER BY key DESC LIMIT 1"),
            [key],
            to_timeline,
        )?
        .pop(),
        last_event: Sequence::new(number(last_event)?),
        tally: tally(conn, key)?,
        not_run: not_run(conn, id)?,
    })
}

/// The writes that were proposed and did not run. That a person did not approve one is also told to its proposer, in
/// the form of a refusal; it is counted once, as what it is.
pub(crate) fn not_run(conn: &Connection, id: &SessionId) -> Result<Vec<NotRunCall>, Fault> {
    let key = key_of(conn, id)?;
    let holds: Vec<Hold> = rows(
        conn,
        "SELECT body FROM holds WHERE session = ? AND status IN ('denied', 'expired', 'withdrawn') ORDER BY key",
        [key],
        body,
    )?;
    let mut calls = Vec::new();
    for hold in &holds {
        if let Some(call) = NotRunCall::of_hold(hold) {
            calls.push(with_edits(conn, key, hold, call)?);
        }
    }
    let decided: BTreeSet<(ExecutionId, CallId)> = holds
        .iter()
        .map(|hold| (hold.plan.execution.clone(), hold.call.clone()))
        .collect();
    let refused: Vec<NotRunCall> = rows(
        conn,
        "SELECT execution, updated_at, call_id, tool, code, hold FROM timeline WHERE session = ? AND status = 'refused' \
         AND call_kind = 'write' AND rule <> 'tool_known' ORDER BY key",
        [key],
        |row| {
            let word = |at: usize| row.get::<_, String>(at);
            let call = (text(&word(0)?)?, text(&word(2)?)?);
            let (code, at) = (text(&word(4)?)?, time(row.get(1)?)?);
            if let Some(hold) = row.get::<_, Option<String>>(5)?
                && let Some(hold) = hold_of(conn, key, &hold)?
                && let Some(approved) = NotRunCall::refused_after_approval(&hold, code, at)
            {
                return with_edits(conn, key, &hold, approved);
            }
            Ok(NotRunCall::refused(call, &text(&word(3)?)?, code, at))
        },
    )?;
    calls.extend(
        refused
            .into_iter()
            .filter(|refused| !decided.contains(&(refused.execution.clone(), refused.call.clone()))),
    );
    Ok(calls)
}

/// A hold of a session.
fn hold_of(conn: &Connection, session: i64, id: &str) -> Result<Option<Hold>, Fault> {
    let found = rows(
        conn,
        "SELECT body FROM holds WHERE session = ?1 AND id = ?2",
        params![session, id],
        body,
    )?;
    Ok(found.into_iter().next())
}

/// Names what the model had proposed, where a person edited it: once or several times.
fn with_edits(conn: &Connection, session: i64, hold: &Hold, call: NotRunCall) -> Result<NotRunCall, Fault> {
    let Some(edited) = &hold.edited_from else {
        return Ok(call);
    };
    let mut first = hold_of(conn, session, edited.hold.as_str())?;
    // Each is older than the one that names it; the number of steps is bounded all the same.
    for _ in 0..MOST_EDITS {
        let Some(before) = first.as_ref().and_then(|hold| hold.edited_from.as_ref()) else {
            break;
        };
        first = hold_of(conn, session, before.hold.as_str())?;
    }
    Ok(match first {
        Some(first) => call.edited(&edited.by, &first.plan),
        None => call,
    })
}

fn tally(conn: &Connection, key: i64) -> Result<Tally, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT (SELECT count(*) FROM holds WHERE holds.session = sessions.key AND holds.status = 'pending'), \
         writes, writes_verified, refusals FROM sessions WHERE key = ?",
    )?;
    let counted: [i64; 4] = statement.query_row([key], |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
    })?;
    let [open_holds, writes, writes_verified, refusals] = counted;
    Ok(Tally {
        open_holds: number(open_holds)?,
        writes: number(writes)?,
        writes_verified: number(writes_verified)?,
        refusals: number(refusals)?,
    })
}

pub(crate) fn decided_holds(
    conn: &Connection,
    session: Option<&SessionId>,
    limit: u32,
) -> Result<Vec<Hold>, Fault> {
    match session {
        None => covered::holds(
            conn,
            "SELECT h.body, h.session, h.key FROM holds h CROSS JOIN sessions s ON s.key = h.session \
             WHERE h.status <> 'pending' AND s.deleted_at IS NULL ORDER BY h.key DESC LIMIT ?",
            [limit],
        ),
        Some(session) => covered::holds(
            conn,
            "SELECT h.body, h.session, h.key FROM holds h CROSS JOIN sessions s ON s.key = h.session \
             WHERE h.session = ?1 AND h.status <> 'pending' AND s.deleted_at IS NULL ORDER BY h.key DESC LIMIT ?2",
            params![key_of(conn, session)?, limit],
        ),
    }
}

/// Those of these sessions that people do not see: deleted, or not there.
pub(crate) fn gone(conn: &Connection, sessions: &[SessionId]) -> Result<Vec<SessionId>, Fault> {
    let mut there = conn.prepare_cached("SELECT 1 FROM sessions WHERE id = ? AND deleted_at IS NULL")?;
    let mut gone = Vec::new();
    for session in sessions {
        if !there.exists([session.as_str()])? {
            gone.push(session.clone());
        }
    }
    Ok(gone)
}

pub(crate) fn said_before(
    conn: &Connection,
    session: &SessionId,
    execution: &ExecutionId,
    at: i64,
    limit: u32,
) -> Result<Vec<TimelineEntry>, Fault> {
    rows(
        conn,
        &format!(
            "{TIMELINE} AND execution = ?2 AND at <= ?3 AND kind IN ('llm_thinking', 'llm_response') \
             ORDER BY number DESC LIMIT ?4"
        ),
        params![key_of(conn, session)?, execution.as_str(), at, limit],
        to_timeline,
    )
}

pub(crate) fn evidence_about(
    conn: &Connection,
    session: &SessionId,
    resource: &str,
    limit: u32,
) -> Result<Vec<Evidence>, Fault> {
    rows(
        conn,
        "SELECT body FROM evidence WHERE session = ?1 AND json_extract(body, '$.resource') = ?2 \
         ORDER BY key DESC LIMIT ?3",
        params![key_of(conn, session)?, resource, limit],
        body,
    )
}

pub(crate) fn last_heartbeat(conn: &Connection) -> Result<Option<Timestamp>, Fault> {
    let at: Option<i64> = conn
        .prepare_cached("SELECT max(heartbeat_at) FROM workers")?
        .query_row([], |row| row.get(0))?;
    at.map(time).transpose()
}
