//! Reading, on a connection that sees one state of the database throughout.

use interlock_gate::{Hold, TokenRecord, Writer};
use interlock_protocol::{
    ContentHash, Event, EventBody, Evidence, EvidenceId, ExecutionId, HoldId, PermitId, ResourceId, RunId,
    Sequence, SessionId,
};
use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use serde::de::DeserializeOwned;

use super::apply::key_of;
use super::covered;
use super::fault::{Fault, json, text};
use crate::prepare::event_id;
use crate::{
    Call, Error, Execution, Filter, Holds, Message, NewSession, Run, Session, ShownCall, Snapshot, Stage,
    TimelineEntry,
};

/// How many candidates an ambiguous beginning names.
const CANDIDATES: u32 = 6;

pub(super) fn time(nanoseconds: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).map_err(Fault::corrupt)
}

pub(super) fn number<T: TryFrom<i64>>(number: i64) -> Result<T, Fault> {
    T::try_from(number).map_err(|_| Fault::corrupt(format!("{number} is out of range")))
}

pub(super) fn hash(bytes: &[u8]) -> Result<ContentHash, Fault> {
    use std::fmt::Write as _;
    let mut hex = String::with_capacity(64);
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    text(&hex)
}

/// All rows of a query, each made into a value.
pub(super) fn rows<T>(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    make: impl Fn(&Row<'_>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(make(row)?);
    }
    Ok(all)
}

/// The first column, which is JSON.
pub(super) fn body<T: DeserializeOwned>(row: &Row<'_>) -> Result<T, Fault> {
    json(row.get_ref(0)?.as_str().map_err(Fault::corrupt)?)
}

const SESSION: &str = "SELECT s.id, s.kind, t.title, s.channel, s.owner, s.alert_type, s.chain, t.input, s.level, \
     s.priority, s.idempotency_key, t.options, s.created_at, s.status, s.worker, s.epoch, s.cancel_requested, \
     s.started_at, s.completed_at, s.last_interaction_at, t.answer, t.error, s.deleted_at, s.fingerprint \
     FROM sessions s JOIN session_texts t ON t.session = s.key";

pub(super) fn to_session(row: &Row<'_>) -> Result<Session, Fault> {
    let word = |at: usize| -> Result<String, Fault> { Ok(row.get(at)?) };
    let maybe = |at: usize| -> Result<Option<String>, Fault> { Ok(row.get(at)?) };
    let moment = |at: usize| -> Result<Option<Timestamp>, Fault> {
        row.get::<_, Option<i64>>(at)?.map(time).transpose()
    };
    Ok(Session {
        submitted: NewSession {
            id: text(&word(0)?)?,
            kind: text(&word(1)?)?,
            title: word(2)?,
            channel: word(3)?,
            owner: maybe(4)?.as_deref().map(text).transpose()?,
            alert_type: maybe(5)?,
            chain: word(6)?,
            input: word(7)?,
            level: text(&word(8)?)?,
            priority: row.get(9)?,
            idempotency_key: maybe(10)?,
            fingerprint: maybe(23)?,
            options: json(&word(11)?)?,
            at: time(row.get(12)?)?,
        },
        status: text(&word(13)?)?,
        worker: maybe(14)?.as_deref().map(text).transpose()?,
        epoch: number(row.get(15)?)?,
        cancel_requested: row.get(16)?,
        started_at: moment(17)?,
        completed_at: moment(18)?,
        last_interaction_at: time(row.get(19)?)?,
        answer: maybe(20)?,
        error: maybe(21)?,
        deleted_at: moment(22)?,
    })
}

pub(super) fn session_by_key(conn: &Connection, key: i64) -> Result<Session, Fault> {
    rows(conn, &format!("{SESSION} WHERE s.key = ?"), [key], to_session)?
        .pop()
        .ok_or_else(|| Fault::not_found("session", &key))
}

pub(crate) fn session(conn: &Connection, id: &SessionId) -> Result<Session, Fault> {
    session_by_key(conn, key_of(conn, id)?)
}

pub(crate) fn sessions(conn: &Connection, filter: &Filter) -> Result<Vec<Session>, Fault> {
    // As [`covered::session`] asks.
    let mut sql = format!(
        "{SESSION} WHERE s.deleted_at IS NULL AND s.key = (SELECT by_id.key FROM sessions by_id WHERE by_id.id = s.id)"
    );
    let mut values: Vec<Sql> = Vec::new();
    if !filter.statuses.is_empty() {
        sql.push_str(" AND s.status IN (");
        sql.push_str(&vec!["?"; filter.statuses.len()].join(", "));
        sql.push(')');
        values.extend(
            filter
                .statuses
                .iter()
                .map(|status| Sql::from(status.as_str().to_owned())),
        );
    }
    if let Some(kind) = filter.kind {
        sql.push_str(" AND s.kind = ?");
        values.push(kind.as_str().to_owned().into());
    }
    if let Some(alert_type) = &filter.alert_type {
        sql.push_str(" AND s.alert_type = ?");
        values.push(alert_type.clone().into());
    }
    if let Some(search) = &filter.search {
        sql.push_str(
            " AND (t.title LIKE ? ESCAPE '\\' OR t.input LIKE ? ESCAPE '\\' OR t.answer LIKE ? ESCAPE '\\')",
        );
        let escaped = search
            .replace('\\', "\\\\")
            .replace('%', "\\%")
            .replace('_', "\\_");
        let pattern = Sql::from(format!("%{escaped}%"));
        values.extend([pattern.clone(), pattern.clone(), pattern]);
    }
    if let Some(after) = &filter.after {
        sql.push_str(" AND s.key < ?");
        values.push(key_of(conn, after)?.into());
    }
    sql.push_str(" ORDER BY s.key DESC LIMIT ?");
    values.push(i64::from(filter.limit).into());
    rows(conn, &sql, params_from_iter(values), to_session)
}

pub(crate) fn cancel_requested(conn: &Connection, session: &SessionId) -> Result<bool, Fault> {
    conn.prepare_cached("SELECT cancel_requested FROM sessions WHERE id = ?")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Fault::not_found("session", session))
}

/// One id that begins like this. `ses_` and the like need not be written.
fn find(
    conn: &Connection,
    table: &str,
    what: &'static str,
    kind: &str,
    prefix: &str,
) -> Result<String, Fault> {
    let sql =
        format!("SELECT id FROM {table} WHERE id >= ?1 AND id < ?1 || char(1114111) ORDER BY id LIMIT ?2");
    for beginning in [prefix.to_owned(), format!("{kind}_{prefix}")] {
        let mut found: Vec<String> = conn
            .prepare_cached(&sql)?
            .query_map(params![beginning, CANDIDATES], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        match found.as_slice() {
            [] => {}
            [_] => return Ok(found.remove(0)),
            [first, ..] if *first == beginning => return Ok(found.remove(0)),
            _ => {
                return Err(Error::Ambiguous {
                    what,
                    prefix: prefix.to_owned(),
                    candidates: found,
                }
                .into());
            }
        }
    }
    Err(Fault::not_found(what, prefix))
}

pub(crate) fn find_session(conn: &Connection, prefix: &str) -> Result<Session, Fault> {
    session(conn, &text(&find(conn, "sessions", "session", "ses", prefix)?)?)
}

pub(crate) fn find_run(conn: &Connection, prefix: &str) -> Result<(SessionId, Run), Fault> {
    let id = find(conn, "runs", "run", "run", prefix)?;
    let found = rows(
        conn,
        "SELECT r.body, s.id FROM runs r JOIN sessions s ON s.key = r.session WHERE r.id = ?",
        [&id],
        |row| Ok((text(&row.get::<_, String>(1)?)?, body(row)?)),
    )?;
    found
        .into_iter()
        .next()
        .ok_or_else(|| Fault::not_found("run", &id))
}

pub(crate) fn find_hold(conn: &Connection, prefix: &str) -> Result<Hold, Fault> {
    hold(conn, &text(&find(conn, "holds", "hold", "hold", prefix)?)?)
}

pub(crate) fn hold(conn: &Connection, id: &HoldId) -> Result<Hold, Fault> {
    let sql = "SELECT body, session, key FROM holds WHERE id = ?";
    covered::one_hold(conn, sql, [id.as_str()])?.ok_or_else(|| Fault::not_found("hold", id))
}

pub(crate) fn holds(conn: &Connection, which: &Holds) -> Result<Vec<Hold>, Fault> {
    match which {
        Holds::Open => covered::holds(
            conn,
            "SELECT body, session, key FROM holds INDEXED BY holds_pending WHERE status = 'pending' ORDER BY key",
            [],
        ),
        Holds::All => covered::holds(conn, "SELECT body, session, key FROM holds ORDER BY key", []),
        Holds::Of(session) => rows(
            conn,
            "SELECT body FROM holds INDEXED BY holds_session WHERE session = ? ORDER BY key",
            [key_of(conn, session)?],
            body,
        ),
    }
}

pub(crate) fn tokens(conn: &Connection, hold: &HoldId) -> Result<Vec<TokenRecord>, Fault> {
    rows(
        conn,
        "SELECT hash, plan_hash, approver, expires_at, used_at FROM tokens WHERE hold = ? ORDER BY expires_at",
        [hold.as_str()],
        |row| {
            Ok(TokenRecord {
                hold: hold.clone(),
                hash: hash(&row.get::<_, Vec<u8>>(0)?)?,
                plan_hash: hash(&row.get::<_, Vec<u8>>(1)?)?,
                approver: text(&row.get::<_, String>(2)?)?,
                expires_at: time(row.get(3)?)?,
                used_at: row.get::<_, Option<i64>>(4)?.map(time).transpose()?,
            })
        },
    )
}

pub(crate) fn last_sequence(conn: &Connection, session: &SessionId) -> Result<Sequence, Fault> {
    let last: i64 = conn
        .prepare_cached("SELECT last_event FROM sessions WHERE id = ? AND deleted_at IS NOT 0")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Fault::not_found("session", session))?;
    Ok(Sequence::new(number(last)?))
}

pub(crate) fn events(
    conn: &Connection,
    session: &SessionId,
    after: Sequence,
    limit: u32,
) -> Result<Vec<Event>, Fault> {
    let key = key_of(conn, session)?;
    let after = i64::try_from(after.get()).unwrap_or(i64::MAX);
    rows(
        conn,
        "SELECT body, number, at, stage, execution FROM events WHERE session = ? AND number > ? \
         ORDER BY number LIMIT ?",
        params![key, after, limit],
        |row| {
            let place: u64 = number(row.get(1)?)?;
            let body: EventBody = body(row)?;
            Ok(Event {
                id: event_id(session, place),
                session: session.clone(),
                sequence: Sequence::new(place),
                at: time(row.get(2)?)?,
                stage: row
                    .get::<_, Option<String>>(3)?
                    .as_deref()
                    .map(text)
                    .transpose()?,
                execution: row
                    .get::<_, Option<String>>(4)?
                    .as_deref()
                    .map(text)
                    .transpose()?,
                body,
            })
        },
    )
}

pub(crate) fn runs(conn: &Connection, session: &SessionId) -> Result<Vec<Run>, Fault> {
    let key = key_of(conn, session)?;
    rows(
        conn,
        "SELECT body FROM runs WHERE session = ? ORDER BY key",
        [key],
        body,
    )
}

fn to_message(row: &Row<'_>) -> Result<Message, Fault> {
    Ok(Message {
        content: body(row)?,
        execution: text(&row.get::<_, String>(1)?)?,
        number: row.get(2)?,
        run: text(&row.get::<_, String>(3)?)?,
        role: row.get(4)?,
        at: time(row.get(5)?)?,
    })
}

/// The session of an execution.
pub(super) fn session_of_execution(conn: &Connection, execution: &ExecutionId) -> Result<i64, Fault> {
    conn.prepare_cached("SELECT session FROM executions WHERE id = ?")?
        .query_row([execution.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Fault::not_found("execution", execution))
}

pub(super) fn session_of_run(conn: &Connection, run: &RunId) -> Result<i64, Fault> {
    conn.prepare_cached("SELECT session FROM runs WHERE id = ?")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Fault::not_found("run", run))
}

pub(crate) fn messages(conn: &Connection, execution: &ExecutionId) -> Result<Vec<Message>, Fault> {
    let session = session_of_execution(conn, execution)?;
    rows(
        conn,
        "SELECT content, execution, number, run, role, at FROM messages \
         WHERE session = ? AND execution = ? ORDER BY number",
        params![session, execution.as_str()],
        to_message,
    )
}

pub(crate) fn timeline(conn: &Connection, session: &SessionId) -> Result<Vec<TimelineEntry>, Fault> {
    rows(
        conn,
        &format!("{TIMELINE} ORDER BY key"),
        [key_of(conn, session)?],
        to_timeline,
    )
}

pub(crate) fn entry_of_permit(
    conn: &Connection,
    session: &SessionId,
    permit: &PermitId,
) -> Result<Option<TimelineEntry>, Fault> {
    let sql = format!("{TIMELINE} AND permit = ?2 ORDER BY key DESC LIMIT 1");
    let found = rows(
        conn,
        &sql,
        params![key_of(conn, session)?, permit.as_str()],
        to_timeline,
    );
    Ok(found?.pop())
}

pub(crate) fn entry_of_hold(
    conn: &Connection,
    session: &SessionId,
    hold: &HoldId,
) -> Result<Option<TimelineEntry>, Fault> {
    let sql = format!("{TIMELINE} AND hold = ?2 ORDER BY key DESC LIMIT 1");
    let found = rows(
        conn,
        &sql,
        params![key_of(conn, session)?, hold.as_str()],
        to_timeline,
    );
    Ok(found?.pop())
}

/// The entries of a session's timeline; more conditions may follow.
pub(super) const TIMELINE: &str = "SELECT metadata, execution, number, kind, status, content, at, updated_at, call_id, tool, call_kind, permit, \
     hold, rule, code FROM timeline WHERE session = ?1";

pub(super) fn to_timeline(row: &Row<'_>) -> Result<TimelineEntry, Fault> {
    Ok(TimelineEntry {
        metadata: body(row)?,
        execution: text(&row.get::<_, String>(1)?)?,
        number: row.get(2)?,
        kind: row.get(3)?,
        status: row.get(4)?,
        content: row.get(5)?,
        call: to_shown(row)?,
        at: time(row.get(6)?)?,
        updated_at: time(row.get(7)?)?,
    })
}

fn to_shown(row: &Row<'_>) -> Result<Option<ShownCall>, Fault> {
    let word = |at: usize| row.get::<_, Option<String>>(at);
    let (Some(id), Some(tool)) = (word(8)?, word(9)?) else {
        return Ok(None);
    };
    let refused = match (word(13)?, word(14)?) {
        (Some(rule), Some(code)) => Some((text(&rule)?, text(&code)?)),
        _ => None,
    };
    Ok(Some(ShownCall {
        id: text(&id)?,
        tool: text(&tool)?,
        kind: word(10)?.as_deref().map(text).transpose()?,
        permit: word(11)?.as_deref().map(text).transpose()?,
        hold: word(12)?.as_deref().map(text).transpose()?,
        refused,
    }))
}

pub(super) fn to_call(row: &Row<'_>) -> Result<Call, Fault> {
    let maybe = |at: usize| row.get::<_, Option<String>>(at);
    Ok(Call {
        started: body(row)?,
        receipt: maybe(1)?.as_deref().map(json).transpose()?,
        pending: maybe(2)?.as_deref().map(json).transpose()?,
        verification: maybe(3)?.as_deref().map(text).transpose()?,
    })
}

const CALLS: &str = "SELECT c.body, r.body, r.pending, r.verification FROM calls c \
     LEFT JOIN receipts r ON r.call = c.key WHERE c.session = ?1 AND NOT c.abandoned";

pub(crate) fn calls(conn: &Connection, session: &SessionId) -> Result<Vec<Call>, Fault> {
    let key = key_of(conn, session)?;
    rows(conn, &format!("{CALLS} ORDER BY c.key"), [key], to_call)
}

/// The call that a hold started.
pub(crate) fn call_of(conn: &Connection, hold: &HoldId) -> Result<Option<Call>, Fault> {
    let mut found = rows(
        conn,
        "SELECT c.body, r.body, r.pending, r.verification FROM calls c LEFT JOIN receipts r ON r.call = c.key \
         WHERE c.hold = ? AND NOT c.abandoned",
        [hold.as_str()],
        to_call,
    )?;
    Ok(found.pop())
}

/// The call that a permit started, also where nothing ran after all.
pub(crate) fn call(conn: &Connection, session: &SessionId, permit: &PermitId) -> Result<Option<Call>, Fault> {
    let mut found = rows(
        conn,
        "SELECT c.body, r.body, r.pending, r.verification FROM calls c LEFT JOIN receipts r ON r.call = c.key \
         WHERE c.session = ? AND c.permit = ?",
        params![key_of(conn, session)?, permit.as_str()],
        to_call,
    )?;
    Ok(found.pop())
}

pub(crate) fn calls_of_run(conn: &Connection, run: &RunId) -> Result<Vec<Call>, Fault> {
    let key = session_of_run(conn, run)?;
    let sql = format!("{CALLS} AND c.run = ?2 ORDER BY c.key");
    rows(conn, &sql, params![key, run.as_str()], to_call)
}

pub(crate) fn readings(conn: &Connection, session: &SessionId) -> Result<Vec<Timestamp>, Fault> {
    let key = key_of(conn, session)?;
    let sql = "SELECT json_extract(body, '$.taken_at') FROM evidence WHERE session = ? ORDER BY key";
    rows(conn, sql, [key], |row| {
        text(row.get_ref(0)?.as_str().map_err(Fault::corrupt)?)
    })
}

pub(crate) fn evidence(conn: &Connection, session: &SessionId) -> Result<Vec<Evidence>, Fault> {
    let key = key_of(conn, session)?;
    rows(
        conn,
        "SELECT body FROM evidence WHERE session = ? ORDER BY key",
        [key],
        body,
    )
}

pub(crate) fn evidence_of(
    conn: &Connection,
    session: &SessionId,
    ids: &[EvidenceId],
) -> Result<Vec<Evidence>, Fault> {
    let key = key_of(conn, session)?;
    ids.iter()
        .map(|id| {
            rows(
                conn,
                "SELECT body FROM evidence WHERE session = ? AND id = ?",
                params![key, id.as_str()],
                body,
            )?
            .pop()
            .ok_or_else(|| Fault::not_found("evidence", id))
        })
        .collect()
}

pub(crate) fn writers(conn: &Connection) -> Result<Vec<(ResourceId, Writer)>, Fault> {
    rows(
        conn,
        "SELECT w.resource, s.id, w.execution, w.permit FROM writers w JOIN sessions s ON s.key = w.session \
         ORDER BY w.resource",
        [],
        |row| {
            let writer = Writer {
                session: text(&row.get::<_, String>(1)?)?,
                execution: text(&row.get::<_, String>(2)?)?,
                permit: text(&row.get::<_, String>(3)?)?,
            };
            Ok((text(&row.get::<_, String>(0)?)?, writer))
        },
    )
}

pub(crate) fn setting(conn: &Connection, name: &str) -> Result<Option<String>, Fault> {
    Ok(conn
        .prepare_cached("SELECT value FROM settings WHERE name = ?")?
        .query_row([name], |row| row.get(0))
        .optional()?)
}

/// A number that changes when another connection, of this process or of another, has written.
pub(super) fn data_version(conn: &Connection) -> Result<i64, Fault> {
    Ok(conn.query_row("PRAGMA data_version", [], |row| row.get(0))?)
}

pub(crate) fn snapshot(conn: &Connection, id: &SessionId) -> Result<Snapshot, Fault> {
    let key = key_of(conn, id)?;
    let executions: Vec<Execution> = rows(
        conn,
        "SELECT body FROM executions WHERE session = ? ORDER BY key",
        [key],
        body,
    )?;
    let stages: Vec<Stage> = rows(
        conn,
        "SELECT body FROM stages WHERE session = ? ORDER BY place, key",
        [key],
        body,
    )?;
    let messages = rows(
        conn,
        "SELECT m.content, m.execution, m.number, m.run, m.role, m.at FROM messages m \
         LEFT JOIN executions e ON e.id = m.execution WHERE m.session = ? ORDER BY e.key, m.execution, m.number",
        [key],
        to_message,
    )?;
    let last = |table: &str, execution: &ExecutionId| -> Result<u32, Fault> {
        let sql = format!("SELECT coalesce(max(number), 0) FROM {table} WHERE session = ? AND execution = ?");
        Ok(conn
            .prepare_cached(&sql)?
            .query_row(params![key, execution.as_str()], |row| row.get(0))?)
    };
    let numbers = executions
        .iter()
        .map(|execution| {
            let id = &execution.id;
            Ok((id.clone(), last("interactions", id)?, last("timeline", id)?))
        })
        .collect::<Result<_, Fault>>()?;
    let last_event: i64 = conn
        .prepare_cached("SELECT last_event FROM sessions WHERE key = ?")?
        .query_row([key], |row| row.get(0))?;
    let last_step: i64 = conn
        .prepare_cached("SELECT coalesce(max(number), 0) FROM steps WHERE session = ?")?
        .query_row([key], |row| row.get(0))?;
    Ok(Snapshot {
        session: session_by_key(conn, key)?,
        runs: runs(conn, id)?,
        stages,
        executions,
        messages,
        calls: calls(conn, id)?,
        holds: holds(conn, &Holds::Of(id.clone()))?,
        evidence: evidence(conn, id)?,
        last_event: Sequence::new(number(last_event)?),
        last_step: number(last_step)?,
        numbers,
    })
}
