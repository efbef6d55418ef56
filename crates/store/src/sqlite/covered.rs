//! What is acted on is what the seal covers.
//!
//! An index can disagree with its table: two rows can have one id, and one index leads to the first and another to the second.
//! The digest of a session finds the session by its id, and its holds by [`HOLDS`]. So a row that was found in any other way counts
//! only if these lead to it, too. Asking that reads one entry of an index.

use interlock_gate::Hold;
use interlock_protocol::SessionId;
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::fault::{Fault, json, text};
use super::read::rows;
use crate::Error;

/// The index by which the digest of a session finds its holds.
pub(super) const HOLDS: &str = "holds_session";

/// Whether the id of a session leads to this row.
pub(super) fn session(conn: &Connection, key: i64) -> Result<bool, Fault> {
    // By two statements: a join could find the row by its key again.
    let id: Option<String> = conn
        .prepare_cached("SELECT id FROM main.sessions NOT INDEXED WHERE key = ?")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let Some(id) = id else { return Ok(false) };
    let led_to: Option<i64> = conn
        .prepare_cached("SELECT key FROM main.sessions WHERE id = ?")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(led_to == Some(key))
}

/// Whether the digest of its session covers this row of `holds`.
pub(super) fn hold(conn: &Connection, owner: i64, key: i64) -> Result<bool, Fault> {
    let sql =
        format!("SELECT EXISTS (SELECT 1 FROM main.holds INDEXED BY {HOLDS} WHERE session = ? AND key = ?)");
    let is_there: bool = conn
        .prepare_cached(&sql)?
        .query_row([owner, key], |row| row.get(0))?;
    Ok(is_there && session(conn, owner)?)
}

/// What is said of a session of which a hold was found that its digest does not cover.
pub(super) fn split(conn: &Connection, owner: i64) -> Result<Fault, Fault> {
    let id: Option<String> = conn
        .prepare_cached("SELECT id FROM main.sessions NOT INDEXED WHERE key = ?")?
        .query_row([owner], |row| row.get(0))
        .optional()?;
    let what = "the indexes of the table `holds` lead to different rows".to_owned();
    Ok(match id {
        Some(id) => {
            let session: SessionId = text(&id)?;
            Error::Altered { session, what }.into()
        }
        None => Fault::corrupt(what),
    })
}

/// A hold with its place: `SELECT body, session, key`.
type Placed = (Hold, i64, i64);

fn placed(row: &Row<'_>) -> Result<Placed, Fault> {
    let hold = json(row.get_ref(0)?.as_str().map_err(Fault::corrupt)?)?;
    Ok((hold, row.get(1)?, row.get(2)?))
}

/// The one hold of a query, which the digest of its session covers. The query selects `body, session, key`.
pub(super) fn one_hold(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Option<Hold>, Fault> {
    match rows(conn, sql, params, placed)?.pop() {
        None => Ok(None),
        Some((found, owner, key)) if hold(conn, owner, key)? => Ok(Some(found)),
        Some((_, owner, _)) => Err(split(conn, owner)?),
    }
}

/// Those holds of a query that the digest of their session covers. The others are left out, and the log says so.
pub(super) fn holds(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Vec<Hold>, Fault> {
    let mut covered = Vec::new();
    for (found, owner, key) in rows(conn, sql, params, placed)? {
        if hold(conn, owner, key)? {
            covered.push(found);
        } else {
            tracing::error!(
                hold = %found.id,
                "a hold was added outside Interlock; it is not shown. Run `interlock audit verify`"
            );
        }
    }
    Ok(covered)
}
