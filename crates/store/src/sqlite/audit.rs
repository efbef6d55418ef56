//! The audit log. Triggers refuse whatever is not an entry after the last one; hashes show what went around them.

use interlock_protocol::{ContentHash, UserId};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::fault::{Fault, json, text};
use super::read::{hash, number, rows, time};
use crate::audit::HashedEntry;
use crate::{AuditEntry, AuditFilter, AuditVerified, Deed};

const ENTRY: &str = "SELECT number, at, actor, action, subject, details, previous, hash FROM audit";

fn end(conn: &Connection) -> Result<(i64, Vec<u8>), Fault> {
    Ok(conn
        .prepare_cached("SELECT number, hash FROM audit_end")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

pub(crate) fn audit(conn: &Connection, deed: &Deed, at: i64, details: &str) -> Result<AuditEntry, Fault> {
    let (last, previous) = end(conn)?;
    let kept = HashedEntry {
        number: last + 1,
        at,
        actor: deed.actor.as_ref().map(UserId::as_str),
        action: &deed.action,
        subject: deed.subject.as_deref(),
        details,
    };
    let hashed = kept.hash(&previous);
    conn.prepare_cached(
        "INSERT INTO audit (number, at, actor, action, subject, details, previous, hash) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        kept.number,
        kept.at,
        kept.actor,
        kept.action,
        kept.subject,
        kept.details,
        previous,
        hashed.as_bytes()
    ])?;
    Ok(AuditEntry {
        number: number(kept.number)?,
        deed: deed.clone(),
        previous: hash(&previous)?,
        hash: hashed,
    })
}

/// An entry as it is kept, before anything in it is understood.
pub(super) struct RawEntry {
    pub(super) number: i64,
    pub(super) at: i64,
    pub(super) actor: Option<String>,
    pub(super) action: String,
    pub(super) subject: Option<String>,
    pub(super) details: String,
}

/// The first two entries after an entry; or why what follows it is no log: an entry does not fit, or the log ends before it.
pub(super) fn added_after(
    conn: &Connection,
    last: u64,
    hash: &ContentHash,
) -> Result<Result<Vec<RawEntry>, String>, Fault> {
    let (end, _) = end(conn)?;
    let last = i64::try_from(last).unwrap_or(i64::MAX);
    if end < last {
        return Ok(Err(format!(
            "the audit log ends at entry {end}, and {last} are signed"
        )));
    }
    let mut expected = (last, hash.as_bytes().to_vec());
    let mut statement = conn.prepare_cached(&format!("{ENTRY} WHERE number > ? ORDER BY number"))?;
    let mut rows = statement.query([last])?;
    let mut added = Vec::new();
    while let Some(row) = rows.next()? {
        let next = expected.0 + 1;
        if let Some((number, why)) = misfit(row, next, &expected.1)? {
            return Ok(Err(format!("audit entry {number}: {why}")));
        }
        if added.len() < 2 {
            added.push(RawEntry {
                number: next,
                at: row.get(1)?,
                actor: row.get(2)?,
                action: row.get(3)?,
                subject: row.get(4)?,
                details: row.get(5)?,
            });
        }
        expected = (next, row.get(7)?);
    }
    Ok(if end == expected.0 {
        Ok(added)
    } else {
        Err(format!(
            "the audit log ends at entry {}, and not at {end}",
            expected.0
        ))
    })
}

fn to_entry(row: &Row<'_>) -> Result<AuditEntry, Fault> {
    Ok(AuditEntry {
        number: number(row.get(0)?)?,
        deed: Deed {
            at: time(row.get(1)?)?,
            actor: row
                .get::<_, Option<String>>(2)?
                .as_deref()
                .map(text)
                .transpose()?,
            action: row.get(3)?,
            subject: row.get(4)?,
            details: json(&row.get::<_, String>(5)?)?,
        },
        previous: hash(&row.get::<_, Vec<u8>>(6)?)?,
        hash: hash(&row.get::<_, Vec<u8>>(7)?)?,
    })
}

pub(crate) fn audit_entries(conn: &Connection, filter: &AuditFilter) -> Result<Vec<AuditEntry>, Fault> {
    let mut sql = format!("{ENTRY} WHERE number < ?");
    let before = filter.before.and_then(|before| i64::try_from(before).ok());
    let mut values: Vec<Sql> = vec![before.unwrap_or(i64::MAX).into()];
    if let Some(actor) = &filter.actor {
        sql.push_str(" AND actor = ?");
        values.push(actor.to_string().into());
    }
    if let Some(subject) = &filter.subject {
        sql.push_str(" AND subject = ?");
        values.push(subject.clone().into());
    }
    if let Some(action) = &filter.action {
        sql.push_str(" AND action >= ? AND action < ? || char(1114111)");
        values.extend([Sql::from(action.clone()), Sql::from(action.clone())]);
    }
    sql.push_str(" ORDER BY number DESC LIMIT ?");
    values.push(i64::from(filter.limit).into());
    rows(conn, &sql, params_from_iter(values), to_entry)
}

/// Reads every row as it is kept, without trusting that any of it can be understood.
pub(crate) fn verify_audit(conn: &Connection) -> Result<AuditVerified, Fault> {
    let mut head = ContentHash::of("");
    let (mut entries, mut broken) = (0_u64, None);
    let mut statement = conn.prepare_cached(&format!("{ENTRY} NOT INDEXED ORDER BY number"))?;
    let mut all = statement.query([])?;
    let mut expected = 1_i64;
    while let Some(row) = all.next()? {
        entries += 1;
        let kept_hash: Vec<u8> = row.get(7)?;
        if broken.is_none() {
            broken = misfit(row, expected, head.as_bytes())?;
        }
        head = hash(&kept_hash).unwrap_or(head);
        expected += 1;
    }
    if broken.is_none() {
        let (last, last_hash) = end(conn)?;
        if last != expected - 1 {
            let why =
                format!("the log was {last} entries long; entries at the end are missing or were added");
            broken = Some((number(last.min(expected - 1) + 1)?, why));
        } else if last_hash != head.as_bytes() {
            broken = Some((
                number(last)?,
                "it is not the last entry that was added".to_owned(),
            ));
        }
    }
    Ok(AuditVerified {
        entries,
        head,
        broken,
    })
}

/// Why a row is not the one that follows.
fn misfit(row: &Row<'_>, expected: i64, last: &[u8]) -> Result<Option<(u64, String)>, Fault> {
    let (place, at): (i64, i64) = (row.get(0)?, row.get(1)?);
    let (actor, action): (Option<String>, String) = (row.get(2)?, row.get(3)?);
    let (subject, details): (Option<String>, String) = (row.get(4)?, row.get(5)?);
    let (previous, kept): (Vec<u8>, Vec<u8>) = (row.get(6)?, row.get(7)?);
    let entry = HashedEntry {
        number: place,
        at,
        actor: actor.as_deref(),
        action: &action,
        subject: subject.as_deref(),
        details: &details,
    };
    let why = if place != expected {
        format!("entry {expected} is missing; {place} follows")
    } else if previous != last {
        "it does not follow the entry before it".to_owned()
    } else if entry.hash(&previous).as_bytes() != kept.as_slice() {
        "it is not what was written".to_owned()
    } else {
        return Ok(None);
    };
    Ok(Some((number(expected)?, why)))
}
