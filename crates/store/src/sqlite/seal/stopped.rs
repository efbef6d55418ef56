//! Stopping all writes without the signing key.
//!
//! Stopping always works: also where the key cannot be read, and where the schema of the store was changed. But a person who can
//! write to the file could write such an entry, too. So the next process with the key signs at most one of them, only if it can be
//! true, and only together with an entry of its own that says that it was written without the key. The entry names nobody but a
//! user of this machine, or nobody at all.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::{Value, json};

use super::WITHOUT_KEY;
use super::checkpoint::last_checkpoint;
use crate::Deed;
use crate::seal::Checkpoint;
use crate::sqlite::audit::{RawEntry, audit};
use crate::sqlite::fault::Fault;
use crate::sqlite::read::time;
use crate::sqlite::switch::switch;

/// The entry of the audit log about such an entry.
const NOTED: &str = "record.unsigned_stop";
/// What the names of users of this machine begin with.
const LOCAL: &str = "local:";
/// How far the clocks of two processes may be apart, in nanoseconds.
const CLOCKS: i64 = 60_000_000_000;
/// How long a reason may be, in bytes.
const LONGEST_REASON: usize = 4096;

/// An entry that may be signed although it was written without the key.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::sqlite) struct StoppedWithoutKey {
    number: i64,
    at: i64,
    channel: &'static str,
}

/// Whether what was added after an entry is one stop of all writes that can be true; or why not.
pub(super) fn judge(
    conn: &Connection,
    signed: Option<&Checkpoint>,
    added: &[RawEntry],
) -> Result<Result<StoppedWithoutKey, String>, Fault> {
    let [entry] = added else {
        let number = added.last().map_or(0, |entry| entry.number);
        return Ok(Err(format!(
            "audit entry {number} was written without the signing key; at most one entry may be, which stops all writes"
        )));
    };
    let wrong = |why: &str| {
        Ok(Err(format!(
            "audit entry {} (`{}`) was written without the signing key, and {why}",
            entry.number, entry.action
        )))
    };
    if entry.action != WITHOUT_KEY {
        return wrong("it is not one that stops all writes");
    }
    let channel = match &entry.actor {
        None => "server",
        Some(actor) if actor.starts_with(LOCAL) => "local",
        Some(_) => return wrong("it names a person who is not a user of this machine"),
    };
    if entry.subject.is_some() || !says_only_why(&entry.details) {
        return wrong("it says more than that all writes are stopped, and why");
    }
    let last = signed.map_or(0, |signed| signed.audit_number);
    let before: Option<i64> = conn
        .prepare_cached("SELECT at FROM main.audit NOT INDEXED WHERE number = ?")?
        .query_row([i64::try_from(last).unwrap_or(i64::MAX)], |row| row.get(0))
        .optional()?;
    if before.is_some_and(|before| entry.at < before) {
        return wrong("its time is before that of the entry before it");
    }
    // A clock that was set back does not make what was signed before a thing of the future.
    let newest = signed.map_or(0, |signed| nanoseconds(signed.at));
    if entry.at > now().max(newest).saturating_add(CLOCKS) {
        return wrong("its time is in the future");
    }
    if !switch(conn)?.stopped {
        return wrong("writes are not stopped");
    }
    Ok(Ok(StoppedWithoutKey {
        number: entry.number,
        at: entry.at,
        channel,
    }))
}

fn says_only_why(details: &str) -> bool {
    match serde_json::from_str(details) {
        Ok(Value::Object(facts)) => facts.iter().all(|(name, value)| match value {
            Value::Null => name == "reason",
            Value::String(reason) => name == "reason" && reason.len() <= LONGEST_REASON,
            _ => false,
        }),
        _ => false,
    }
}

impl StoppedWithoutKey {
    /// Says behind it that it was written without the key, so that nobody takes it for proven.
    pub(super) fn note(&self, conn: &Connection) -> Result<(), Fault> {
        let at = now().max(self.at);
        let deed = Deed {
            at: time(at)?,
            actor: None,
            action: NOTED.to_owned(),
            subject: None,
            details: json!({
                "entry": self.number,
                "channel": self.channel,
                "what": "this entry was written without the signing key; it is not proven who wrote it",
            }),
        };
        audit(conn, &deed, at, &deed.details.to_string()).map(drop)
    }
}

/// Adds the entry that all writes are stopped, where it cannot be signed. One is enough: while there is one that is not signed,
/// nothing is added. `actor` is left out unless it is a user of this machine.
pub(in crate::sqlite) fn stop_without_key(conn: &Connection, deed: &Deed, at: i64) -> Result<(), Fault> {
    let (end, last): (i64, i64) = conn.query_row(
        "SELECT number, coalesce((SELECT at FROM audit WHERE number = audit_end.number), 0) FROM audit_end",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let signed = last_checkpoint(conn)?.map_or(0, |checkpoint| checkpoint.audit_number);
    if u64::try_from(end).is_ok_and(|end| end > signed) {
        tracing::warn!(
            "writes are stopped; the audit log says already that this was done without the signing key"
        );
        return Ok(());
    }
    let at = at.max(last);
    let reason = deed.details.get("reason").cloned().unwrap_or(Value::Null);
    let deed = Deed {
        at: time(at)?,
        actor: deed
            .actor
            .clone()
            .filter(|actor| actor.as_str().starts_with(LOCAL)),
        action: WITHOUT_KEY.to_owned(),
        subject: None,
        details: json!({ "reason": reason }),
    };
    audit(conn, &deed, at, &deed.details.to_string()).map(drop)
}

fn now() -> i64 {
    nanoseconds(Timestamp::now())
}

fn nanoseconds(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX)
}
