//! What a run did, to be printed, exported and replayed: exact bodies and the gate's steps.

use std::collections::BTreeMap;

use interlock_protocol::{ContentHash, RunId, SessionId};
use rusqlite::{Connection, params};
use serde_json::Value;

use super::apply::key_of;
use super::fault::{Fault, json, text};
use super::read::{hash, number, rows, session_of_run, time};
use crate::{Interaction, Step};

/// The calls to models of a run, each with its whole body again. A body builds on the one before it, so those of
/// earlier runs of the same executions are read too.
pub(crate) fn interactions(conn: &Connection, run: &RunId) -> Result<Vec<Interaction>, Fault> {
    let session = session_of_run(conn, run)?;
    let stored = rows(
        conn,
        "SELECT facts, execution, number, run, provider, model, shared, at, body_hash, body, raw \
         FROM interactions i WHERE session = ?1 AND execution IN \
         (SELECT execution FROM interactions WHERE session = ?1 AND run = ?2) \
         AND key <= (SELECT max(key) FROM interactions WHERE session = ?1 AND run = ?2) ORDER BY key",
        params![session, run.as_str()],
        |row| {
            Ok(Interaction {
                facts: json(row.get_ref(0)?.as_str().map_err(Fault::corrupt)?)?,
                execution: text(&row.get::<_, String>(1)?)?,
                number: row.get(2)?,
                run: text(&row.get::<_, String>(3)?)?,
                provider: row.get(4)?,
                model: row.get(5)?,
                shared: number(row.get(6)?)?,
                at: time(row.get(7)?)?,
                body_hash: hash(&row.get::<_, Vec<u8>>(8)?)?,
                body: row.get(9)?,
                raw: row.get(10)?,
            })
        },
    )?;
    let mut before: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut whole = Vec::new();
    for mut interaction in stored {
        let last = before.entry(interaction.execution.to_string()).or_default();
        let damaged = || {
            Fault::corrupt(format!(
                "the body of interaction {} of {} is not the one that was sent",
                interaction.number, interaction.execution
            ))
        };
        let shared = usize::try_from(interaction.shared).map_err(|_| damaged())?;
        if shared > last.len() {
            return Err(damaged());
        }
        last.truncate(shared);
        last.extend_from_slice(&interaction.body);
        if interaction.run != *run {
            continue;
        }
        if ContentHash::of(&*last) != interaction.body_hash {
            return Err(damaged());
        }
        interaction.body.clone_from(last);
        interaction.shared = 0;
        whole.push(interaction);
    }
    Ok(whole)
}

/// The facts of every call to a model of a session, in order: usage, cost, timings.
pub(crate) fn facts(conn: &Connection, session: &SessionId) -> Result<Vec<Value>, Fault> {
    rows(
        conn,
        "SELECT facts FROM interactions WHERE session = ? ORDER BY key",
        [key_of(conn, session)?],
        |row| json(row.get_ref(0)?.as_str().map_err(Fault::corrupt)?),
    )
}

/// What the gate was asked, in order; to the end of a run, or all.
pub(crate) fn steps(
    conn: &Connection,
    session: &SessionId,
    up_to: Option<&RunId>,
) -> Result<Vec<Step>, Fault> {
    let key = key_of(conn, session)?;
    let last: i64 = match up_to {
        None => i64::MAX,
        Some(run) => {
            if session_of_run(conn, run)? != key {
                return Err(Fault::not_found("run", run));
            }
            conn.prepare_cached("SELECT coalesce(max(number), 0) FROM steps WHERE session = ? AND run = ?")?
                .query_row(params![key, run.as_str()], |row| row.get(0))?
        }
    };
    rows(
        conn,
        "SELECT number, run, at, input, outcome FROM steps WHERE session = ? AND number <= ? ORDER BY number",
        params![key, last],
        |row| {
            Ok(Step {
                number: number(row.get(0)?)?,
                run: text(&row.get::<_, String>(1)?)?,
                at: time(row.get(2)?)?,
                input: json(&row.get::<_, String>(3)?)?,
                outcome: json(&row.get::<_, String>(4)?)?,
            })
        },
    )
}
