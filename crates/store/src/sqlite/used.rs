//! What single sessions used, and how single models have been doing.

use interlock_protocol::SessionId;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::Value;

use super::fault::{Fault, json};
use super::read::time;
use crate::{ModelHealth, SessionUse};

/// What these sessions used, in this order. The index of their calls to models is enough to find the small rows.
pub(crate) fn usage_of(conn: &Connection, sessions: &[SessionId]) -> Result<Vec<SessionUse>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT count(*), coalesce(sum(u.input_tokens), 0), coalesce(sum(u.output_tokens), 0), sum(u.micro_dollars) \
         FROM sessions s CROSS JOIN interactions i ON i.session = s.key CROSS JOIN usage u ON u.interaction = i.key \
         WHERE s.id = ?",
    )?;
    sessions
        .iter()
        .map(|session| {
            let used = statement.query_row([session.as_str()], |row| {
                #[expect(clippy::cast_precision_loss, reason = "a price is for people")]
                let cost = row.get::<_, Option<i64>>(3)?.map(|cost| cost as f64 / 1e6);
                Ok(SessionUse {
                    calls: row.get::<_, i64>(0)?.unsigned_abs(),
                    input_tokens: row.get::<_, i64>(1)?.unsigned_abs(),
                    output_tokens: row.get::<_, i64>(2)?.unsigned_abs(),
                    cost,
                })
            })?;
            Ok(used)
        })
        .collect()
}

/// How these models have been doing, in this order: the newest call that went well, and the newest that did not.
pub(crate) fn model_health(
    conn: &Connection,
    names: &[String],
    since: i64,
) -> Result<Vec<ModelHealth>, Fault> {
    names
        .iter()
        .map(|name| {
            Ok(ModelHealth {
                name: name.clone(),
                last_success_at: last_success(conn, name, since)?,
                last_failure: last_failure(conn, name, since)?,
            })
        })
        .collect()
}

fn last_success(conn: &Connection, name: &str, since: i64) -> Result<Option<Timestamp>, Fault> {
    let at: Option<i64> = conn
        .prepare_cached(
            "SELECT at FROM usage INDEXED BY usage_of_models WHERE at >= ? AND name = ? AND failed = 0 ORDER BY at DESC LIMIT 1",
        )?
        .query_row(params![since, name], |row| row.get(0))
        .optional()?;
    at.map(time).transpose()
}

fn last_failure(conn: &Connection, name: &str, since: i64) -> Result<Option<(Timestamp, Value)>, Fault> {
    let found: Option<(i64, String)> = conn
        .prepare_cached(
            "SELECT u.at, i.facts -> '$.error' FROM usage u INDEXED BY usage_of_models \
             CROSS JOIN interactions i ON i.key = u.interaction \
             WHERE u.at >= ? AND u.name = ? AND u.failed = 1 \
             AND json_extract(i.facts, '$.error.kind') IS NOT 'cancelled' ORDER BY u.at DESC LIMIT 1",
        )?
        .query_row(params![since, name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    found
        .map(|(at, error)| Ok((time(at)?, json(&error)?)))
        .transpose()
}
