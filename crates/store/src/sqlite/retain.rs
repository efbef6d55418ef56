//! Forgetting, in steps so small that nobody waits for the write lock; and settings.

use interlock_protocol::SessionId;
use rusqlite::{Connection, params};

use super::apply::key_of;
use super::fault::Fault;
use crate::Error;

/// How many rows one step removes.
const ROWS: i64 = 500;
/// How many sessions one step deletes for people.
const SESSIONS: i64 = 200;

/// What belongs to a session, in an order in which nothing is left pointing at what is gone.
const BELONGINGS: &[&str] = &[
    "DELETE FROM receipts WHERE call IN (SELECT key FROM calls JOIN receipts ON call = key WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM calls WHERE key IN (SELECT key FROM calls WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE \
     hold IN (SELECT id FROM holds WHERE session = ?1) LIMIT ?2)",
    "DELETE FROM holds WHERE key IN (SELECT key FROM holds WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM writers WHERE session = ?1 AND ?2",
    "DELETE FROM decisions WHERE event IN (SELECT e.key FROM events e JOIN decisions ON event = e.key \
     WHERE e.session = ?1 LIMIT ?2)",
    "DELETE FROM events WHERE key IN (SELECT key FROM events WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM steps WHERE key IN (SELECT key FROM steps WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM messages WHERE key IN (SELECT key FROM messages WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM timeline WHERE key IN (SELECT key FROM timeline WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM usage WHERE interaction IN (SELECT i.key FROM interactions i JOIN usage ON interaction = i.key \
     WHERE i.session = ?1 LIMIT ?2)",
    "DELETE FROM interactions WHERE key IN (SELECT key FROM interactions WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM evidence WHERE key IN (SELECT key FROM evidence WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM executions WHERE key IN (SELECT key FROM executions WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM stages WHERE key IN (SELECT key FROM stages WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM runs WHERE key IN (SELECT key FROM runs WHERE session = ?1 LIMIT ?2)",
    "DELETE FROM incident_sessions WHERE session = (SELECT id FROM sessions WHERE key = ?1) AND ?2",
    "DELETE FROM session_texts WHERE session = ?1 AND ?2",
];

pub(crate) fn soft_delete(conn: &Connection, session: &SessionId, now: i64) -> Result<(), Fault> {
    let key = key_of(conn, session)?;
    let changed = conn
        .prepare_cached(
            "UPDATE sessions SET deleted_at = coalesce(deleted_at, ?) \
             WHERE key = ? AND completed_at IS NOT NULL",
        )?
        .execute(params![now, key])?;
    match changed {
        0 => Err(Error::WrongStatus {
            session: session.clone(),
            status: super::read::session_by_key(conn, key)?.status,
            wanted: "deleted before it has ended",
        }
        .into()),
        _ => Ok(()),
    }
}

pub(crate) fn restore(conn: &Connection, session: &SessionId) -> Result<(), Fault> {
    let key = key_of(conn, session)?;
    conn.prepare_cached("UPDATE sessions SET deleted_at = NULL WHERE key = ?")?
        .execute([key])?;
    Ok(())
}

/// Deletes some of what ended before a time, for people. Says how many.
pub(crate) fn soft_delete_some(conn: &Connection, ended_before: i64, now: i64) -> Result<u64, Fault> {
    let changed = conn
        .prepare_cached(
            "UPDATE sessions SET deleted_at = ?1 WHERE key IN (SELECT key FROM sessions \
             WHERE completed_at < ?2 AND deleted_at IS NULL LIMIT ?3)",
        )?
        .execute(params![now, ended_before, SESSIONS])?;
    Ok(changed as u64)
}

/// Some session that was deleted before a time.
pub(crate) fn purgeable(conn: &Connection, deleted_before: i64) -> Result<Option<i64>, Fault> {
    use rusqlite::OptionalExtension as _;
    Ok(conn
        .prepare_cached("SELECT key FROM sessions WHERE completed_at IS NOT NULL AND deleted_at < ? LIMIT 1")?
        .query_row([deleted_before], |row| row.get(0))
        .optional()?)
}

/// Removes a little of a session for good. Says whether nothing is left.
///
/// A session that was restored or went on in between stays.
pub(crate) fn purge_some(conn: &Connection, key: i64, deleted_before: i64) -> Result<bool, Fault> {
    if !overdue(conn, key, deleted_before)? {
        return Ok(true);
    }
    // From here on it is gone for everyone: half of a session is none.
    conn.prepare_cached("UPDATE sessions SET deleted_at = 0, idempotency_key = NULL WHERE key = ?")?
        .execute([key])?;
    for sql in BELONGINGS {
        let removed = conn.prepare_cached(sql)?.execute(params![key, ROWS])?;
        if i64::try_from(removed).unwrap_or(i64::MAX) >= ROWS {
            return Ok(false);
        }
    }
    conn.prepare_cached("DELETE FROM sessions WHERE key = ?")?
        .execute([key])?;
    Ok(true)
}

fn overdue(conn: &Connection, key: i64, deleted_before: i64) -> Result<bool, Fault> {
    Ok(conn
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM sessions WHERE key = ? AND completed_at IS NOT NULL AND deleted_at < ?)",
        )?
        .query_row(params![key, deleted_before], |row| row.get(0))?)
}

pub(crate) fn set_setting(conn: &Connection, name: &str, value: &str) -> Result<(), Fault> {
    conn.prepare_cached(
        "INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    )?
    .execute([name, value])?;
    Ok(())
}
