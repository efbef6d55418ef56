//! Pages over all sessions. Each order has an index that also has what filters ask for, so that even a page that few
//! sessions are on is found without reading a session that is not.

use interlock_protocol::{Decision, EventBody, ResourceId, Sequence, SessionId, Status};
use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};
use serde_json::Map;

use super::covered;
use super::fault::{Fault, text};
use super::read::{body, number, rows, time, to_call, to_session};
use crate::{
    Call, Counts, DecisionFilter, DecisionRow, FilterOptions, ListedSession, SessionPage, SessionQuery,
    SortBy, Tally,
};

/// How many sessions that have a text are looked at, the newest first.
const MOST_HITS: i64 = 5_000;
/// Titles that begin like a shorter text are found, and nothing else.
const SEARCHABLE: usize = 3;

/// As `read::SESSION`, with the beginning of what may be long, and what is counted.
const LISTED: &str = "SELECT s.id, s.kind, t.title, s.channel, s.owner, s.alert_type, s.chain, \
     substr(t.input, 1, 400), s.level, s.priority, s.idempotency_key, t.options, s.created_at, s.status, s.worker, \
     s.epoch, s.cancel_requested, s.started_at, s.completed_at, s.last_interaction_at, substr(t.answer, 1, 400), \
     t.error, s.deleted_at, s.fingerprint, \
     (SELECT count(*) FROM holds h INDEXED BY holds_open WHERE h.session = s.key AND h.status = 'pending'), \
     s.writes, s.writes_verified, s.refusals FROM sessions s JOIN session_texts t ON t.session = s.key WHERE s.key = ?";

/// Those that nobody works on: the ones that the indexes have.
const AT_REST: &str = "worker IS NULL AND deleted_at IS NULL";
/// The few others.
const IN_HAND: &str = "worker IS NOT NULL AND deleted_at IS NULL";

/// The column of an order, and its index.
const fn order(sort: SortBy) -> (&'static str, &'static str) {
    match sort {
        SortBy::CreatedAt => ("created_at", "sessions_by_created"),
        SortBy::LastInteraction => ("last_interaction_at", "sessions_by_touched"),
        SortBy::Status => ("status", "sessions_by_status"),
        SortBy::Title => ("title_key", "sessions_by_title"),
        SortBy::Duration => ("took", "sessions_by_took"),
    }
}

/// Nanoseconds since 1970; what cannot be kept is before or after everything that is.
fn nearest(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(if at < Timestamp::UNIX_EPOCH {
        i64::MIN
    } else {
        i64::MAX
    })
}

/// What must hold of a session, each condition with an `AND` before it.
fn conditions(query: &SessionQuery) -> (String, Vec<Sql>) {
    let (mut sql, mut values) = (String::new(), Vec::new());
    if !query.statuses.is_empty() {
        sql.push_str(" AND status IN (");
        sql.push_str(&vec!["?"; query.statuses.len()].join(", "));
        sql.push(')');
        let words = query.statuses.iter().map(|status| status.as_str());
        values.extend(words.map(|word| Sql::from(word.to_owned())));
    }
    let kind = query.kind.map(|kind| kind.as_str().to_owned());
    let owner = query.owner.as_ref().map(ToString::to_string);
    let equal = [
        (" AND kind = ?", kind),
        (" AND alert_type = ?", query.alert_type.clone()),
        (" AND chain = ?", query.chain.clone()),
        (" AND owner = ?", owner),
    ];
    for (condition, value) in equal {
        if let Some(value) = value {
            sql.push_str(condition);
            values.push(value.into());
        }
    }
    if let Some(from) = query.from {
        sql.push_str(" AND created_at >= ?");
        values.push(nearest(from).into());
    }
    if let Some(to) = query.to {
        sql.push_str(" AND created_at < ?");
        values.push(nearest(to).into());
    }
    (sql, values)
}

pub(crate) fn session_page(conn: &Connection, query: &SessionQuery) -> Result<SessionPage, Fault> {
    let search = query.search.as_deref().map(str::trim).unwrap_or_default();
    let (keys, total) = if search.is_empty() {
        (page(conn, query)?, total(conn, query)?)
    } else {
        found(conn, query, search)?
    };
    let mut statement = conn.prepare_cached(LISTED)?;
    let mut sessions = Vec::with_capacity(keys.len());
    for key in keys {
        if !covered::session(conn, key)? {
            tracing::error!(
                "a session was added outside Interlock under the id of another one; it is not shown. Run `interlock audit verify`"
            );
            continue;
        }
        let mut rows = statement.query([key])?;
        if let Some(row) = rows.next()? {
            sessions.push(to_listed(row)?);
        }
    }
    Ok(SessionPage { sessions, total })
}

fn to_listed(row: &Row<'_>) -> Result<ListedSession, Fault> {
    Ok(ListedSession {
        session: to_session(row)?,
        tally: Tally {
            open_holds: number(row.get(24)?)?,
            writes: number(row.get(25)?)?,
            writes_verified: number(row.get(26)?)?,
            refusals: number(row.get(27)?)?,
        },
    })
}

const fn direction(query: &SessionQuery) -> &'static str {
    if query.ascending { "ASC" } else { "DESC" }
}

/// The sessions of a page: of the ended ones, in order, those that could be on it, and all active ones.
///
/// Active sessions shift a page by at most as many rows as there are of them, so the rows before that are skipped in the index
/// and not sorted.
fn page(conn: &Connection, query: &SessionQuery) -> Result<Vec<i64>, Fault> {
    let (column, index) = order(query.sort);
    let way = direction(query);
    let (conditions, filter) = conditions(query);
    let in_hand = count_in_hand(conn, &conditions, &filter)?;
    let (offset, limit) = (
        i64::try_from(query.offset).unwrap_or(i64::MAX),
        i64::from(query.limit),
    );
    let skipped = offset.saturating_sub(in_hand).max(0);
    let sql = format!(
        "SELECT key FROM (SELECT * FROM (SELECT {column} AS place, key FROM sessions INDEXED BY {index} \
         WHERE {AT_REST}{conditions} ORDER BY {column} {way}, key {way} LIMIT ? OFFSET ?) \
         UNION ALL SELECT {column}, key FROM sessions INDEXED BY sessions_in_hand WHERE {IN_HAND}{conditions}) \
         ORDER BY place {way}, key {way} LIMIT ? OFFSET ?"
    );
    let mut values = filter.clone();
    values.extend([Sql::from(limit.saturating_add(in_hand)), Sql::from(skipped)]);
    values.extend(filter);
    values.extend([Sql::from(limit), Sql::from(offset - skipped)]);
    rows(conn, &sql, params_from_iter(values), |row| Ok(row.get(0)?))
}

fn count_in_hand(conn: &Connection, conditions: &str, filter: &[Sql]) -> Result<i64, Fault> {
    let sql =
        format!("SELECT count(*) FROM sessions INDEXED BY sessions_in_hand WHERE {IN_HAND}{conditions}");
    Ok(conn
        .prepare_cached(&sql)?
        .query_row(params_from_iter(filter), |row| row.get(0))?)
}

fn total(conn: &Connection, query: &SessionQuery) -> Result<u64, Fault> {
    let (conditions, values) = conditions(query);
    let index = if query.statuses.is_empty() {
        "sessions_by_created"
    } else {
        "sessions_by_status"
    };
    let sql = format!("SELECT count(*) FROM sessions INDEXED BY {index} WHERE {AT_REST}{conditions}");
    let at_rest: i64 = conn
        .prepare_cached(&sql)?
        .query_row(params_from_iter(&values), |row| row.get(0))?;
    number(at_rest + count_in_hand(conn, &conditions, &values)?)
}

/// The page of those that have a text, and how many do. Of very many, the newest count.
fn found(conn: &Connection, query: &SessionQuery, search: &str) -> Result<(Vec<i64>, u64), Fault> {
    let long = search.chars().take(SEARCHABLE).count() == SEARCHABLE;
    let (hits, wanted) = if long {
        // One quoted text: nothing in it is grammar.
        let quoted = format!("\"{}\"", search.replace('\0', "").replace('"', "\"\""));
        let sql = "SELECT rowid AS hit FROM session_words WHERE session_words MATCH ?1 ORDER BY rowid DESC LIMIT ?2";
        (sql.to_owned(), quoted)
    } else {
        let begins = "title_key >= lower(?1) AND title_key < lower(?1) || char(1114111)";
        let sql = format!(
            "SELECT * FROM (SELECT key AS hit FROM sessions INDEXED BY sessions_by_title WHERE {AT_REST} AND {begins} \
             UNION ALL SELECT key FROM sessions INDEXED BY sessions_in_hand WHERE {IN_HAND} AND {begins}) LIMIT ?2"
        );
        (sql, search.to_owned())
    };
    let (column, _) = order(query.sort);
    let way = direction(query);
    let (conditions, filter) = conditions(query);
    let sql = format!(
        "WITH hits AS MATERIALIZED ({hits}) SELECT key FROM hits CROSS JOIN sessions ON key = hit \
         WHERE deleted_at IS NULL{conditions} ORDER BY {column} {way}, key {way}"
    );
    let mut values = vec![Sql::from(wanted), Sql::from(MOST_HITS)];
    values.extend(filter);
    let keys: Vec<i64> = rows(conn, &sql, params_from_iter(values), |row| Ok(row.get(0)?))?;
    let total = keys.len() as u64;
    let skip = usize::try_from(query.offset).unwrap_or(usize::MAX);
    let page = keys.into_iter().skip(skip).take(query.limit as usize);
    Ok((page.collect(), total))
}

pub(crate) fn counts(conn: &Connection) -> Result<Counts, Fault> {
    let sql = format!(
        "SELECT (SELECT count(*) FROM sessions INDEXED BY sessions_by_status WHERE {AT_REST} AND status = ?1) \
         + (SELECT count(*) FROM sessions INDEXED BY sessions_in_hand WHERE {IN_HAND} AND status = ?1)"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut by_status = Vec::new();
    for &status in Status::ALL {
        let some: i64 = statement.query_row([status.as_str()], |row| row.get(0))?;
        if some > 0 {
            by_status.push((status, number(some)?));
        }
    }
    let open: i64 = conn
        .prepare_cached(
            "SELECT count(*) FROM holds h INDEXED BY holds_pending CROSS JOIN sessions s ON s.key = h.session \
             WHERE h.status = 'pending' AND s.deleted_at IS NULL",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(Counts {
        by_status,
        open_holds: number(open)?,
        altered: super::seal::altered_sessions(conn)?,
    })
}

pub(crate) fn filter_options(conn: &Connection) -> Result<FilterOptions, Fault> {
    Ok(FilterOptions {
        alert_types: values(conn, "alert_type", "sessions_alert_types")?,
        chains: values(conn, "chain", "sessions_chains")?,
        owners: values(conn, "owner", "sessions_owners")?
            .iter()
            .map(|owner| text(owner))
            .collect::<Result<_, _>>()?,
    })
}

/// The values of a column, each found by one step from the one before it.
fn values(conn: &Connection, column: &str, index: &str) -> Result<Vec<String>, Fault> {
    let from = format!("FROM sessions INDEXED BY {index} WHERE deleted_at IS NULL AND {column}");
    let sql = format!(
        "WITH RECURSIVE known (value) AS (SELECT min({column}) {from} >= '' UNION ALL \
         SELECT (SELECT min({column}) {from} > value) FROM known WHERE value IS NOT NULL) \
         SELECT value FROM known WHERE value IS NOT NULL"
    );
    rows(conn, &sql, [], |row| Ok(row.get(0)?))
}

pub(crate) fn open_with_fingerprint(
    conn: &Connection,
    fingerprint: &str,
) -> Result<Option<SessionId>, Fault> {
    let open: Option<String> = conn
        .prepare_cached(
            "SELECT id FROM sessions s INDEXED BY sessions_fingerprint WHERE fingerprint = ? AND completed_at IS NULL \
             AND key = (SELECT by_id.key FROM sessions by_id WHERE by_id.id = s.id) ORDER BY key LIMIT 1",
        )?
        .query_row([fingerprint], |row| row.get(0))
        .optional()?;
    open.as_deref().map(text).transpose()
}

pub(crate) fn calls_on(
    conn: &Connection,
    resource: &ResourceId,
    limit: u32,
) -> Result<Vec<(SessionId, Call)>, Fault> {
    rows(
        conn,
        "SELECT c.body, r.body, r.pending, r.verification, s.id FROM calls c INDEXED BY calls_resource \
         CROSS JOIN sessions s ON s.key = c.session LEFT JOIN receipts r ON r.call = c.key \
         WHERE c.resource = ? AND NOT c.abandoned AND s.deleted_at IS NULL ORDER BY c.key DESC LIMIT ?",
        params![resource.to_string(), limit],
        |row| Ok((text(&row.get::<_, String>(4)?)?, to_call(row)?)),
    )
}

pub(crate) fn decisions(conn: &Connection, filter: &DecisionFilter) -> Result<Vec<DecisionRow>, Fault> {
    let before = filter.before.and_then(|before| i64::try_from(before).ok());
    let mut values = vec![Sql::from(before.unwrap_or(i64::MAX))];
    let mut conditions = String::new();
    // A session has few; else the index of what is named is walked from its end.
    let tables = if let Some(session) = &filter.session {
        conditions.push_str(" AND e.session = ?");
        values.push(super::apply::key_of(conn, session)?.into());
        "events e CROSS JOIN decisions d ON d.event = e.key"
    } else if filter.code.is_some() {
        "decisions d INDEXED BY decisions_code CROSS JOIN events e ON e.key = d.event"
    } else if filter.answer.is_some() {
        "decisions d INDEXED BY decisions_answer CROSS JOIN events e ON e.key = d.event"
    } else {
        "decisions d CROSS JOIN events e ON e.key = d.event"
    };
    let call = filter.call.as_ref().map(ToString::to_string);
    for (condition, value) in [
        (" AND d.code = ?", &filter.code),
        (" AND d.answer = ?", &filter.answer),
        (" AND json_extract(e.body, '$.data.call') = ?", &call),
    ] {
        if let Some(value) = value {
            conditions.push_str(condition);
            values.push(value.clone().into());
        }
    }
    let place = if filter.session.is_some() {
        "e.number"
    } else {
        "d.event"
    };
    values.push(i64::from(filter.limit).into());
    let sql = format!(
        "SELECT e.body, d.event, s.id, e.number, e.at, d.tool, d.answer FROM {tables} \
         CROSS JOIN sessions s ON s.key = e.session \
         WHERE d.event < ?{conditions} AND s.deleted_at IS NULL ORDER BY {place} DESC LIMIT ?"
    );
    rows(conn, &sql, params_from_iter(values), to_decision)
}

fn to_decision(row: &Row<'_>) -> Result<DecisionRow, Fault> {
    let EventBody::DecisionMade { call, decision } = body(row)? else {
        return Err(Fault::corrupt("a decision is another event"));
    };
    let (hold, refusal) = match decision {
        Decision::Held { hold, .. } => (Some(hold), None),
        Decision::Refused(refusal) => (None, Some(refusal)),
        Decision::Allowed { .. } | Decision::AnswerAllowed => (None, None),
    };
    let (rule, code, message, details) = match refusal {
        Some(refusal) => (
            Some(refusal.rule),
            Some(refusal.code),
            Some(refusal.message),
            refusal.details,
        ),
        None => (None, None, None, Map::new()),
    };
    Ok(DecisionRow {
        position: number(row.get(1)?)?,
        session: text(&row.get::<_, String>(2)?)?,
        sequence: Sequence::new(number(row.get(3)?)?),
        at: time(row.get(4)?)?,
        call,
        tool: row
            .get::<_, Option<String>>(5)?
            .as_deref()
            .map(text)
            .transpose()?,
        answer: row.get(6)?,
        rule,
        code,
        message,
        details,
        hold,
    })
}
