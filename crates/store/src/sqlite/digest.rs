//! The digest of everything that is kept of a session.
//!
//! Every column of every table that holds a part of a session is listed here, or in [`LEFT_OUT`] with the reason. A test
//! compares both lists with the schema, so that no new column is forgotten.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _};
use sha2::{Digest as _, Sha256};

use super::fault::Fault;

/// The bytes of one digest.
pub(super) const LENGTH: usize = 32;

/// One table's part of a session.
pub(super) struct Part {
    /// What a person is told when it was changed.
    pub(super) name: &'static str,
    pub(super) table: &'static str,
    pub(super) columns: &'static [&'static str],
    /// What follows the columns. `?1` is the session's key.
    pub(super) rest: &'static str,
}

/// Every part, in the order of their digests in a seal. New parts are added at the end.
pub(super) const PARTS: &[Part] = &[
    Part {
        name: "session",
        table: "sessions",
        columns: &[
            "id",
            "kind",
            "channel",
            "owner",
            "alert_type",
            "chain",
            "level",
            "priority",
            "idempotency_key",
            "created_at",
            "status",
            "cancel_requested",
            "cancel_by",
            "started_at",
            "completed_at",
            "last_interaction_at",
            "deleted_at",
            "decided",
            "last_event",
            "fingerprint",
            "title_key",
            "writes",
            "writes_verified",
            "refusals",
        ],
        rest: "FROM sessions WHERE key = ?1",
    },
    Part {
        name: "title, input and answer",
        table: "session_texts",
        columns: &["title", "input", "options", "answer", "error"],
        rest: "FROM session_texts WHERE session = ?1",
    },
    Part {
        name: "events",
        table: "events",
        columns: &["number", "at", "kind", "stage", "execution", "body"],
        rest: "FROM events WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "decisions",
        table: "decisions",
        columns: &["answer", "code", "tool"],
        rest: "FROM decisions JOIN events ON events.key = event WHERE session = ?1 ORDER BY event",
    },
    Part {
        name: "runs",
        table: "runs",
        columns: &["id", "body"],
        rest: "FROM runs WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "stages",
        table: "stages",
        columns: &["place", "id", "body"],
        rest: "FROM stages WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "executions",
        table: "executions",
        columns: &["id", "body"],
        rest: "FROM executions WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "messages",
        table: "messages",
        columns: &["execution", "number", "run", "role", "at", "content"],
        rest: "FROM messages WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "timeline",
        table: "timeline",
        columns: &[
            "execution",
            "number",
            "kind",
            "status",
            "at",
            "updated_at",
            "content",
            "metadata",
        ],
        rest: "FROM timeline WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "model calls",
        table: "interactions",
        columns: &[
            "execution",
            "number",
            "run",
            "provider",
            "model",
            "shared",
            "at",
            "body_hash",
            "facts",
            "body",
            "raw",
        ],
        rest: "FROM interactions WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "usage",
        table: "usage",
        columns: &[
            "at",
            "name",
            "failed",
            "input_tokens",
            "output_tokens",
            "micro_dollars",
            "took",
        ],
        rest: "FROM interactions JOIN usage ON usage.interaction = interactions.key WHERE interactions.session = ?1 \
               ORDER BY usage.interaction",
    },
    Part {
        name: "calls",
        table: "calls",
        columns: &[
            "permit",
            "run",
            "hold",
            "abandoned",
            "at",
            "tool",
            "writes",
            "resource",
            "body",
        ],
        rest: "FROM calls WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "receipts",
        table: "receipts",
        columns: &["body", "pending", "verification", "outcome", "took"],
        rest: "FROM calls JOIN receipts ON receipts.call = calls.key WHERE session = ?1 ORDER BY receipts.call",
    },
    Part {
        name: "evidence",
        table: "evidence",
        columns: &["id", "body"],
        rest: "FROM evidence WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "holds",
        table: "holds",
        columns: &["id", "plan_hash", "status", "expires_at", "body"],
        // By the index that [`super::covered`] asks.
        rest: "FROM holds INDEXED BY holds_session WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "approval tokens",
        table: "tokens",
        columns: &["hash", "hold", "plan_hash", "approver", "expires_at", "used_at"],
        rest: "FROM holds INDEXED BY holds_session JOIN tokens ON tokens.hold = holds.id WHERE holds.session = ?1 ORDER BY tokens.hash",
    },
    Part {
        name: "questions to the gate",
        table: "steps",
        columns: &["number", "run", "at", "input", "outcome"],
        rest: "FROM steps WHERE session = ?1 ORDER BY key",
    },
    Part {
        name: "notes",
        table: "notes",
        columns: &["id", "about", "text", "written_at"],
        rest: "FROM sessions JOIN notes ON notes.session = sessions.id WHERE sessions.key = ?1 ORDER BY notes.key",
    },
    // A row that belongs to another row is covered above by what it says; these cover which row it belongs to, in words that
    // do not depend on row numbers.
    Part {
        name: "which event each decision belongs to",
        table: "events",
        columns: &["number"],
        rest: "FROM decisions JOIN events ON events.key = event WHERE session = ?1 ORDER BY event",
    },
    Part {
        name: "which model call each usage belongs to",
        table: "interactions",
        columns: &["execution", "number"],
        rest: "FROM interactions JOIN usage ON usage.interaction = interactions.key WHERE interactions.session = ?1 \
               ORDER BY usage.interaction",
    },
    Part {
        name: "which call each receipt belongs to",
        table: "calls",
        columns: &["permit"],
        rest: "FROM calls JOIN receipts ON receipts.call = calls.key WHERE session = ?1 ORDER BY receipts.call",
    },
    Part {
        name: "which call each entry of the timeline shows",
        table: "timeline",
        columns: &[
            "execution",
            "number",
            "call_id",
            "tool",
            "call_kind",
            "permit",
            "hold",
            "rule",
            "code",
        ],
        rest: "FROM timeline WHERE session = ?1 AND (call_id IS NOT NULL OR tool IS NOT NULL OR call_kind IS NOT NULL \
               OR permit IS NOT NULL OR hold IS NOT NULL OR rule IS NOT NULL OR code IS NOT NULL) ORDER BY key",
    },
];

/// What is not part of a session's digest, and why.
#[cfg(test)]
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("*", "key", "a row number that only this file knows"),
    ("*", "session", "the same row number, in another table"),
    ("*", "call", "the same, of a call; its permit is covered"),
    ("*", "event", "the same, of an event; its number is covered"),
    (
        "*",
        "interaction",
        "the same, of a model call; its execution and number are covered",
    ),
    (
        "sessions",
        "worker",
        "who is working on it now; empty in a sealed session",
    ),
    (
        "sessions",
        "epoch",
        "how often it was claimed; says nothing about what happened",
    ),
    ("sessions", "took", "computed from two columns that are covered"),
    (
        "incidents",
        "*",
        "what alerts said; what people did to an incident is in the audit log, and what was done about it in its sessions",
    ),
    ("incident_events", "*", "the same"),
    ("incident_sessions", "*", "the same"),
    ("rejected_alerts", "*", "alerts that nothing was done about"),
    (
        "writers",
        "*",
        "which writes are in progress; a sealed session has none",
    ),
    ("workers", "*", "which processes are alive"),
    (
        "catalogues",
        "*",
        "each row is named by its own hash, and the steps that are covered name that hash",
    ),
    (
        "settings",
        "*",
        "belongs to no session; changes of the kill switch are in the audit log",
    ),
    (
        "users",
        "*",
        "belongs to no session; changes are in the audit log",
    ),
    ("logins", "*", "belongs to no session"),
    ("links", "*", "belongs to no session"),
    (
        "api_tokens",
        "*",
        "belongs to no session; changes are in the audit log",
    ),
    ("saved_views", "*", "belongs to no session"),
    ("audit", "*", "signed by checkpoints"),
    ("audit_end", "*", "compared with the audit log"),
    ("seals", "*", "signed itself"),
    ("checkpoints", "*", "signed itself"),
    ("migrations", "*", "the schema's own list"),
];

/// The digests of a session's parts, one after the other.
pub(super) fn parts(conn: &Connection, key: i64) -> Result<Vec<u8>, Fault> {
    let mut digests = Vec::with_capacity(PARTS.len() * LENGTH);
    for part in PARTS {
        digests.extend_from_slice(&part.digest(conn, key)?);
    }
    Ok(digests)
}

/// The names of the parts in which two lists of digests differ.
pub(super) fn differences(recorded: &[u8], now: &[u8]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for (index, part) in PARTS.iter().enumerate() {
        let at = index * LENGTH..(index + 1) * LENGTH;
        match (recorded.get(at.clone()), now.get(at)) {
            // The part did not exist when the seal was made.
            (None, _) => {}
            (recorded, now) if recorded == now => {}
            _ => names.push(part.name),
        }
    }
    names
}

impl Part {
    fn digest(&self, conn: &Connection, key: i64) -> Result<[u8; LENGTH], Fault> {
        let mut hash = Sha256::new();
        let columns: Vec<String> = self
            .columns
            .iter()
            .map(|column| format!("{}.{column}", self.table))
            .collect();
        let sql = format!("SELECT {} {}", columns.join(", "), self.rest);
        let mut statement = conn.prepare_cached(&sql)?;
        let mut rows = statement.query([key])?;
        while let Some(row) = rows.next()? {
            hash.update([b'r']);
            for index in 0..self.columns.len() {
                hash_value(&mut hash, row.get_ref(index)?);
            }
        }
        Ok(hash.finalize().into())
    }
}

/// Adds a value with its type, and with its length where that is not fixed: no two rows have the same bytes.
pub(super) fn hash_value(hash: &mut Sha256, value: ValueRef<'_>) {
    let (kind, bytes): (u8, &[u8]) = match value {
        ValueRef::Null => (b'n', &[]),
        ValueRef::Integer(number) => {
            hash.update([b'i']);
            hash.update(number.to_be_bytes());
            return;
        }
        ValueRef::Real(number) => {
            hash.update([b'f']);
            hash.update(number.to_bits().to_be_bytes());
            return;
        }
        ValueRef::Text(text) => (b't', text),
        ValueRef::Blob(blob) => (b'b', blob),
    };
    hash.update([kind]);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(bytes);
}

/// The key and the id of a session, if it is there.
pub(super) fn key_and_status(conn: &Connection, id: &str) -> Result<Option<(i64, String)>, Fault> {
    Ok(conn
        .prepare_cached("SELECT key, status FROM sessions WHERE id = ? AND deleted_at IS NOT 0")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_signed_or_left_out_for_a_reason() {
        let conn = super::super::open::memory().unwrap();
        let tables: Vec<String> = conn
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND sql NOT LIKE 'CREATE VIRTUAL%'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let mut missing = Vec::new();
        for table in tables {
            // The shadow tables of the two search indexes are derived from rows that are signed.
            if table.starts_with("session_words") || table.starts_with("note_words") {
                continue;
            }
            let columns: Vec<String> = conn
                .prepare(&format!("SELECT name FROM pragma_table_xinfo('{table}')"))
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            for column in columns {
                let signed = PARTS
                    .iter()
                    .any(|part| part.table == table && part.columns.contains(&column.as_str()));
                let left_out = LEFT_OUT
                    .iter()
                    .any(|(of, name, _)| (*of == "*" || *of == table) && (*name == "*" || *name == column));
                if !signed && !left_out {
                    missing.push(format!("{table}.{column}"));
                }
            }
        }
        assert!(
            missing.is_empty(),
            "not signed, and not left out for a reason: {missing:?}"
        );
    }

    #[test]
    fn the_manual_lists_what_is_not_covered() {
        let manual = include_str!("../../../../docs/proof.md");
        let (_, listed) = manual.split_once("**Not covered by any signature.**").unwrap();
        // Signed in another way, or compared with what is signed.
        let covered = ["audit", "audit_end", "seals", "checkpoints", "catalogues"];
        let whole = LEFT_OUT
            .iter()
            .filter(|(table, column, _)| *column == "*" && !covered.contains(table))
            .map(|(table, _, _)| (*table).to_owned());
        let columns = LEFT_OUT
            .iter()
            .filter(|(table, column, why)| *table != "*" && *column != "*" && !why.starts_with("computed"))
            .map(|(table, column, _)| format!("{table}.{column}"));
        let others = ["session_words", "note_words", "sqlite_sequence", "key"].map(str::to_owned);
        let missing: Vec<String> = whole
            .chain(columns)
            .chain(others)
            .filter(|name| !listed.contains(&format!("`{name}`")))
            .collect();
        assert!(missing.is_empty(), "docs/proof.md does not list {missing:?}");
    }

    #[test]
    fn the_parts_of_an_older_seal_are_still_compared() {
        let (one, two) = ([1_u8; LENGTH], [2_u8; LENGTH]);
        let recorded = [one, one].concat();
        let now: Vec<u8> = [one, two].concat().into_iter().chain([3; LENGTH]).collect();
        assert_eq!(differences(&recorded, &now), [PARTS[1].name]);
        assert!(differences(&recorded, &[one, one].concat()).is_empty());
        assert_eq!(differences(&recorded, &one).len(), 1, "a part that is gone");
    }
}
