//! Rows that belong to something that is not there.
//!
//! The key of the next session, event or call can be predicted. If a person adds rows for that key to the file, the next session
//! would contain them, and Interlock would sign them. So no session is signed as intact while such rows exist, and `audit verify`
//! lists every row whose owner is missing.

use std::fmt::Write as _;
use std::sync::LazyLock;

use rusqlite::Connection;

use crate::seal::RecordVerified;
use crate::sqlite::fault::Fault;

/// Which column of a table says to which row of another table it belongs, by a key that is counted up.
const LINKS: &[(&str, &str, &str)] = &[
    ("session_texts", "session", "sessions"),
    ("runs", "session", "sessions"),
    ("stages", "session", "sessions"),
    ("executions", "session", "sessions"),
    ("messages", "session", "sessions"),
    ("timeline", "session", "sessions"),
    ("interactions", "session", "sessions"),
    ("calls", "session", "sessions"),
    ("evidence", "session", "sessions"),
    ("holds", "session", "sessions"),
    ("steps", "session", "sessions"),
    ("events", "session", "sessions"),
    ("writers", "session", "sessions"),
    ("receipts", "call", "calls"),
    ("decisions", "event", "events"),
    ("usage", "interaction", "interactions"),
];

/// The tables with rows for keys that do not exist yet, one after the other.
static AHEAD: LazyLock<String> = LazyLock::new(|| {
    let mut sql = String::new();
    for (table, column, owner) in LINKS {
        let union = if sql.is_empty() { "" } else { " UNION ALL " };
        // Writing to a string cannot fail.
        let _ = write!(
            sql,
            "{union}SELECT '{table}' WHERE EXISTS (SELECT 1 FROM main.{table} \
             WHERE {column} > (SELECT coalesce(max(key), 0) FROM main.{owner}))"
        );
    }
    sql
});

/// What was put into the store for a session, event, call or model call that does not exist yet.
pub(super) fn planted(conn: &Connection) -> Result<Option<String>, Fault> {
    let tables: Vec<String> = conn
        .prepare_cached(&AHEAD)?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    Ok((!tables.is_empty()).then(|| {
        format!(
            "rows were added for a session that did not exist yet: {}",
            tables.join(", ")
        )
    }))
}

/// Every row belongs to something that is there, and to one thing only.
pub(super) fn walk_links(conn: &Connection, found: &mut RecordVerified) -> Result<(), Fault> {
    let mut statement = conn.prepare(
        "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY \"table\", parent ORDER BY 1, 2",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (table, owner, count): (String, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let what = format!(
            "{count} of its rows belong to nothing in the table {owner}: they were added, or what they belong to was removed"
        );
        found.problem(format!("table {table}"), what);
    }
    let strays: i64 = conn.query_row(
        "SELECT count(*) FROM main.usage u NOT INDEXED JOIN main.interactions i ON i.key = u.interaction \
         WHERE u.session IS NOT i.session",
        [],
        |row| row.get(0),
    )?;
    if strays > 0 {
        let what =
            format!("{strays} of its rows name another session than the model call that they belong to");
        found.problem("table usage", what);
    }
    let strays: i64 = conn.query_row(
        "SELECT count(*) FROM main.tokens t NOT INDEXED JOIN main.holds h ON h.id = t.hold WHERE t.session IS NOT h.session",
        [],
        |row| row.get(0),
    )?;
    if strays > 0 {
        let what = format!("{strays} of its rows name another session than the hold that they belong to");
        found.problem("table tokens", what);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_link_by_a_counted_key_is_known() {
        let conn = crate::sqlite::open::memory().unwrap();
        let declared: BTreeSet<(String, String, String)> = conn
            .prepare(
                "SELECT s.name, f.\"from\", f.\"table\" FROM sqlite_schema s, pragma_foreign_key_list(s.name) f \
                 WHERE s.type = 'table' AND f.\"to\" = 'key'",
            )
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let known = LINKS
            .iter()
            .map(|(table, column, owner)| ((*table).to_owned(), (*column).to_owned(), (*owner).to_owned()));
        assert_eq!(declared, known.collect());
    }

    /// Each is asked at the beginning and the end of every session: none may read all of its table.
    #[test]
    fn looking_for_planted_rows_reads_no_whole_table() {
        let conn = crate::sqlite::open::memory().unwrap();
        let plan: Vec<String> = conn
            .prepare(&format!("EXPLAIN QUERY PLAN {}", *AHEAD))
            .unwrap()
            .query_map([], |row| row.get(3))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let scans: Vec<&String> = plan
            .iter()
            .filter(|step| step.starts_with("SCAN ") && !step.contains("CONSTANT"))
            // One row for each resource that is being changed at this moment.
            .filter(|step| !step.contains("writers"))
            .collect();
        assert!(scans.is_empty(), "{scans:?}");
    }
}
