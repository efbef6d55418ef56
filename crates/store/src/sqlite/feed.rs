//! Events of all sessions in the order of their keys, put together as text: what is stored is not parsed again.

use interlock_protocol::{Sequence, SessionId};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::apply::key_of;
use super::fault::{Fault, text};
use super::read::{number, rows, time};
use crate::prepare::{event_id, json};
use crate::{FeedPage, Placed};

/// The kinds that `events_of_lists` has, word for word as in the index.
const OF_LISTS: &str = "'session.created', 'session.status', 'session.completed', \
     'hold.opened', 'hold.approved', 'hold.denied', 'hold.edited', 'hold.expired'";

const EVENT: &str = "SELECT e.key, s.id, e.number, e.at, e.kind, e.stage, e.execution, e.body FROM";

/// The position of the last event of all, also where that is gone already.
///
/// Everything up to it is settled: only one connection of all processes writes at a time, and a position is given out while it
/// does. So no transaction is open that has a smaller one.
pub(crate) fn last_position(conn: &Connection) -> Result<u64, Fault> {
    let last: Option<i64> = conn
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'events'")?
        .query_row([], |row| row.get(0))
        .optional()?;
    number(last.unwrap_or(0))
}

/// Called on a connection that sees one state of the database throughout: the events and the position are of one moment.
pub(crate) fn feed_page(
    conn: &Connection,
    after: u64,
    kinds: &[String],
    limit: u32,
) -> Result<FeedPage, Fault> {
    let of_lists = |kind: &String| OF_LISTS.contains(&format!("'{kind}'"));
    let mut sql = if kinds.is_empty() || !kinds.iter().all(of_lists) {
        format!(
            "{EVENT} events e JOIN sessions s ON s.key = e.session WHERE e.key > ? AND s.deleted_at IS NULL"
        )
    } else {
        format!(
            "{EVENT} events e INDEXED BY events_of_lists CROSS JOIN sessions s ON s.key = e.session \
             WHERE e.kind IN ({OF_LISTS}) AND e.key > ? AND s.deleted_at IS NULL"
        )
    };
    let mut values = vec![Sql::from(i64::try_from(after).unwrap_or(i64::MAX))];
    if !kinds.is_empty() {
        sql.push_str(" AND +e.kind IN (");
        sql.push_str(&vec!["?"; kinds.len()].join(", "));
        sql.push(')');
        values.extend(kinds.iter().map(|kind| Sql::from(kind.clone())));
    }
    sql.push_str(" ORDER BY e.key LIMIT ?");
    values.push(i64::from(limit).into());
    let visible = rows(conn, &sql, params_from_iter(values), to_placed)?;
    Ok(FeedPage::of(visible, after, last_position(conn)?, limit))
}

pub(crate) fn session_events(
    conn: &Connection,
    session: &SessionId,
    after: Sequence,
    limit: u32,
) -> Result<Vec<Placed>, Fault> {
    let key = key_of(conn, session)?;
    let after = i64::try_from(after.get()).unwrap_or(i64::MAX);
    let sql = format!(
        "{EVENT} events e CROSS JOIN sessions s ON s.key = e.session \
         WHERE e.session = ? AND e.number > ? AND s.deleted_at IS NULL ORDER BY e.number LIMIT ?"
    );
    rows(conn, &sql, params![key, after, limit], to_placed)
}

fn to_placed(row: &Row<'_>) -> Result<Placed, Fault> {
    let session: SessionId = text(row.get_ref(1)?.as_str().map_err(Fault::corrupt)?)?;
    let place: u64 = number(row.get(2)?)?;
    let (stage, execution) = (row.get_ref(5)?, row.get_ref(6)?);
    let body = row.get_ref(7)?.as_str().map_err(Fault::corrupt)?;
    let mut json = String::with_capacity(body.len() + 256);
    json.push_str("{\"id\":");
    quote(event_id(&session, place).as_str(), &mut json)?;
    json.push_str(",\"session\":");
    quote(session.as_str(), &mut json)?;
    json.push_str(",\"sequence\":");
    json.push_str(&place.to_string());
    json.push_str(",\"at\":");
    quote(&time(row.get(3)?)?.to_string(), &mut json)?;
    for (name, maybe) in [(",\"stage\":", stage), (",\"execution\":", execution)] {
        if let Some(id) = maybe.as_str_or_null().map_err(Fault::corrupt)? {
            json.push_str(name);
            quote(id, &mut json)?;
        }
    }
    json.push(',');
    // The body is an object: what follows its brace goes on with ours.
    json.push_str(
        body.strip_prefix('{')
            .ok_or_else(|| Fault::corrupt("an event is no object"))?,
    );
    Ok(Placed {
        position: number(row.get(0)?)?,
        session,
        sequence: Sequence::new(place),
        kind: row.get(4)?,
        json,
    })
}

/// Ids are visible ASCII; hardly any needs more than its quotes.
fn quote(text: &str, out: &mut String) -> Result<(), Fault> {
    if text.bytes().any(|byte| matches!(byte, b'"' | b'\\')) {
        out.push_str(&json("an id", &text)?);
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
    Ok(())
}
