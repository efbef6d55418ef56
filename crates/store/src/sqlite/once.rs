//! What happens once, because a table's key says so and not because callers are careful.

use interlock_gate::TokenRecord;
use interlock_protocol::{HoldId, PermitId, ResourceId};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::covered;
use super::fault::{Fault, is_taken, text};
use crate::Error;
use crate::row::Row;

/// One beginning for each permit and for each hold, by the table's indexes.
pub(super) fn start(conn: &Connection, session: i64, row: &Row) -> Result<(), Fault> {
    let Row::Started {
        permit,
        run,
        hold,
        tool,
        is_write,
        resource,
        at,
        body,
        ..
    } = row
    else {
        return Ok(());
    };
    if let Some(hold) = hold {
        match place_of(conn, hold)? {
            Some((owner, key)) if owner == session => {
                if !covered::hold(conn, owner, key)? {
                    return Err(covered::split(conn, owner)?);
                }
            }
            _ => return Err(Fault::not_found("hold", hold)),
        }
    }
    conn.prepare_cached(
        "INSERT INTO calls (session, permit, run, hold, body, at, tool, writes, resource) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        session,
        permit.as_str(),
        run,
        hold.as_ref().map(HoldId::as_str),
        body,
        at,
        tool,
        is_write,
        resource
    ])
    .map(drop)
    .map_err(|error| match (is_taken(&error), hold) {
        (true, Some(hold)) if error.to_string().contains("calls.hold") => {
            Error::HoldUsed(hold.clone()).into()
        }
        (true, _) => Error::AlreadyStarted(permit.clone()).into(),
        (false, _) => error.into(),
    })
}

/// Only what has no receipt can turn out not to have run.
pub(super) fn abandon(conn: &Connection, session: i64, permit: &PermitId) -> Result<(), Fault> {
    let wrote: Option<bool> = conn
        .prepare_cached(
            "UPDATE calls SET abandoned = 1 WHERE session = ? AND permit = ? AND NOT abandoned \
             AND NOT EXISTS (SELECT 1 FROM receipts WHERE call = key) RETURNING writes",
        )?
        .query_row(params![session, permit.as_str()], |row| row.get(0))
        .optional()?;
    match wrote {
        None if has_receipt(conn, session, permit)? => {
            return Err(Error::AlreadyFinished(permit.clone()).into());
        }
        None => return Err(Error::NotStarted(permit.clone()).into()),
        Some(false) => {}
        Some(true) => {
            conn.prepare_cached("UPDATE sessions SET writes = writes - 1 WHERE key = ?")?
                .execute([session])?;
        }
    }
    stop_writing(conn, session, permit)
}

fn stop_writing(conn: &Connection, session: i64, permit: &PermitId) -> Result<(), Fault> {
    conn.prepare_cached("DELETE FROM writers WHERE session = ? AND permit = ?")?
        .execute(params![session, permit.as_str()])?;
    Ok(())
}

fn has_receipt(conn: &Connection, session: i64, permit: &PermitId) -> Result<bool, Fault> {
    Ok(conn
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM receipts WHERE \
             call = (SELECT key FROM calls WHERE session = ? AND permit = ?))",
        )?
        .query_row(params![session, permit.as_str()], |row| row.get(0))?)
}

/// One writer for each resource, by the table's key.
pub(super) fn take(
    conn: &Connection,
    session: i64,
    resource: &ResourceId,
    execution: &str,
    permit: &PermitId,
    at: i64,
) -> Result<(), Fault> {
    let name = resource.to_string();
    let taken = conn
        .prepare_cached(
            "INSERT INTO writers (resource, session, execution, permit, at) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (resource) DO NOTHING",
        )?
        .execute(params![name, session, execution, permit.as_str(), at])?;
    if taken == 1 {
        return Ok(());
    }
    let writer: String = conn
        .prepare_cached(
            "SELECT id FROM sessions WHERE key = (SELECT session FROM writers WHERE resource = ?)",
        )?
        .query_row([&name], |row| row.get(0))?;
    Err(Error::WriterTaken {
        resource: resource.clone(),
        session: text(&writer)?,
    }
    .into())
}

/// One receipt for each call, by the table's key.
pub(super) fn finish(conn: &Connection, session: i64, row: &Row) -> Result<(), Fault> {
    let Row::Finished {
        permit,
        body,
        pending,
        outcome,
        took,
    } = row
    else {
        return Ok(());
    };
    let kept = conn
        .prepare_cached(
            "INSERT INTO receipts (call, body, pending, outcome, took) \
             SELECT key, ?1, ?2, ?5, ?6 FROM calls WHERE session = ?3 AND permit = ?4 AND NOT abandoned",
        )?
        .execute(params![body, pending, session, permit.as_str(), outcome, took])
        .map_err(|error| {
            if is_taken(&error) {
                Fault::from(Error::AlreadyFinished(permit.clone()))
            } else {
                error.into()
            }
        })?;
    if kept == 0 {
        return Err(Error::NotStarted(permit.clone()).into());
    }
    stop_writing(conn, session, permit)
}

pub(super) fn verified(
    conn: &Connection,
    session: i64,
    permit: &PermitId,
    outcome: &str,
) -> Result<(), Fault> {
    let changed = conn
        .prepare_cached(
            "UPDATE receipts SET verification = ?1 WHERE verification IS NULL AND \
             call = (SELECT key FROM calls WHERE session = ?2 AND permit = ?3)",
        )?
        .execute(params![outcome, session, permit.as_str()])?;
    if changed == 1 {
        return Ok(());
    }
    let why = if has_receipt(conn, session, permit)? {
        Error::AlreadyVerified(permit.clone())
    } else {
        Error::NotFinished(permit.clone())
    };
    Err(why.into())
}

/// A pending hold may be written again or decided. A decided one never changes, whoever asks.
pub(super) fn hold(conn: &Connection, session: i64, row: &Row) -> Result<(), Fault> {
    let Row::Hold {
        id,
        plan_hash,
        status,
        expires_at,
        body,
    } = row
    else {
        return Ok(());
    };
    if let Some((owner, key)) = place_of(conn, id)?
        && !covered::hold(conn, owner, key)?
    {
        return Err(covered::split(conn, owner)?);
    }
    let changed = conn
        .prepare_cached(
            "INSERT INTO holds (session, id, plan_hash, status, expires_at, body) VALUES (?, ?, ?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET status = excluded.status, body = excluded.body \
             WHERE status = 'pending' AND session = excluded.session AND plan_hash = excluded.plan_hash",
        )?
        .execute(params![
            session,
            id.as_str(),
            plan_hash.as_bytes(),
            status,
            expires_at,
            body
        ])?;
    match changed {
        0 => Err(why_not(conn, id)?.into()),
        _ => Ok(()),
    }
}

/// The session and the key of the hold to which an id leads.
fn place_of(conn: &Connection, id: &HoldId) -> Result<Option<(i64, i64)>, Fault> {
    Ok(conn
        .prepare_cached("SELECT session, key FROM holds WHERE id = ?")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

fn why_not(conn: &Connection, id: &HoldId) -> Result<Error, Fault> {
    let pending: bool = conn
        .prepare_cached("SELECT status = 'pending' FROM holds WHERE id = ?")?
        .query_row([id.as_str()], |row| row.get(0))?;
    Ok(if pending {
        Error::HoldChanged(id.clone())
    } else {
        Error::HoldDecided(id.clone())
    })
}

/// An unused token may be written again or used. A used one never changes.
pub(super) fn token(
    conn: &Connection,
    session: i64,
    token: &TokenRecord,
    expires_at: i64,
    used_at: Option<i64>,
) -> Result<(), Fault> {
    let changed = conn
        .prepare_cached(
            "INSERT INTO tokens (hash, session, hold, plan_hash, approver, expires_at, used_at) \
             VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO UPDATE SET used_at = excluded.used_at \
             WHERE used_at IS NULL AND session = excluded.session AND hold = excluded.hold \
             AND plan_hash = excluded.plan_hash AND approver = excluded.approver",
        )?
        .execute(params![
            token.hash.as_bytes(),
            session,
            token.hold.as_str(),
            token.plan_hash.as_bytes(),
            token.approver.as_str(),
            expires_at,
            used_at
        ])?;
    match changed {
        0 => Err(Error::TokenUsed(token.hold.clone()).into()),
        _ => Ok(()),
    }
}
