//! Whether the schema of a file is the one that the migrations make: every table, index, trigger and view, with the same text.
//!
//! An added trigger changes what is written. A missing one no longer refuses what must not be written. A changed index hides
//! rows from every query that uses it. So nothing is written to a store whose schema differs in anything.

use std::cell::RefCell;
use std::sync::OnceLock;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::fault::Fault;
use super::migrate::{self, MIGRATIONS, Migration, newest};
use super::open;
use crate::{Error, SchemaChange, SchemaFault};

/// One row of `sqlite_schema`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    kind: String,
    name: String,
    table: String,
    /// Empty for an index that a constraint made.
    sql: String,
}

impl Object {
    /// Objects with the same type and name are compared with each other.
    fn key(&self) -> (&str, &str) {
        (&self.kind, &self.name)
    }

    fn changed(&self, fault: SchemaFault) -> SchemaChange {
        SchemaChange {
            kind: self.kind.clone(),
            name: self.name.clone(),
            fault,
        }
    }
}

/// Refuses a schema that is not the one that this version makes.
pub(super) fn check(conn: &Connection) -> Result<(), Fault> {
    match changes(conn)?.into_iter().next() {
        Some(change) => Err(Error::SchemaChanged(change).into()),
        None => Ok(()),
    }
}

/// A schema that was found to be the one that this version makes, as the file has it: what is compared before every transaction.
#[derive(Debug, Default)]
pub(super) struct Known(RefCell<Vec<[Box<[u8]>; 4]>>);

impl Known {
    /// As [`check`]. Where the rows are the same as last time, byte for byte and in the same order, nothing is copied or sorted.
    pub(super) fn check(&self, conn: &Connection) -> Result<(), Fault> {
        if self.is_as_last_time(conn)? {
            return Ok(());
        }
        // Until it is checked, nothing is known.
        self.0.borrow_mut().clear();
        check(conn)?;
        *self.0.borrow_mut() = rows(conn)?;
        Ok(())
    }

    fn is_as_last_time(&self, conn: &Connection) -> Result<bool, Fault> {
        let known = self.0.borrow();
        if known.is_empty() {
            return Ok(false);
        }
        let mut statement = conn.prepare_cached(ROWS)?;
        let mut found = statement.query([])?;
        let mut known = known.iter();
        while let Some(row) = found.next()? {
            let Some(expected) = known.next() else {
                return Ok(false);
            };
            for (column, expected) in expected.iter().enumerate() {
                if !matches!(row.get_ref(column)?, ValueRef::Text(text) if *text == **expected) {
                    return Ok(false);
                }
            }
        }
        Ok(known.next().is_none())
    }
}

/// Every row of the schema, in the order of the file.
const ROWS: &str = "SELECT coalesce(type, ''), coalesce(name, ''), coalesce(tbl_name, ''), coalesce(sql, '') \
                    FROM main.sqlite_schema NOT INDEXED";

/// Every row of the schema as it is. Nothing where one of them is no text: it is then compared as a whole each time.
fn rows(conn: &Connection) -> Result<Vec<[Box<[u8]>; 4]>, Fault> {
    let mut statement = conn.prepare_cached(ROWS)?;
    let mut found = statement.query([])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let mut columns: [Box<[u8]>; 4] = Default::default();
        for (index, column) in columns.iter_mut().enumerate() {
            let ValueRef::Text(text) = row.get_ref(index)? else {
                return Ok(Vec::new());
            };
            *column = text.into();
        }
        rows.push(columns);
    }
    Ok(rows)
}

/// The same for a schema of any version. The version and the schema are read from one state of the file: another process
/// may be bringing it up to date.
pub(super) fn check_version(conn: &Connection) -> Result<(), Fault> {
    let tx = conn.unchecked_transaction()?;
    let found = migrate::version(&tx)?;
    let applied = usize::try_from(found)
        .ok()
        .and_then(|found| MIGRATIONS.get(..found));
    match applied {
        // A file without anything in it yet, and one that a later version made.
        None | Some([]) => Ok(()),
        Some(_) if found == newest(MIGRATIONS) => check(&tx),
        Some(applied) => match compare(&made_by(applied)?, &objects(&tx)?).into_iter().next() {
            Some(change) => Err(Error::SchemaChanged(change).into()),
            None => Ok(()),
        },
    }
}

/// Everything that differs from the schema that this version makes, by type and name.
pub(crate) fn changes(conn: &Connection) -> Result<Vec<SchemaChange>, Fault> {
    Ok(compare(expected()?, &objects(conn)?))
}

/// The schema that this version makes.
fn expected() -> Result<&'static [Object], Fault> {
    static EXPECTED: OnceLock<Vec<Object>> = OnceLock::new();
    if let Some(expected) = EXPECTED.get() {
        return Ok(expected);
    }
    let made = made_by(MIGRATIONS)?;
    Ok(EXPECTED.get_or_init(|| made))
}

/// What to say about a fault of a store whose schema may be another one: a table that is missing cannot be read.
pub(super) fn explain(conn: &Connection, fault: Fault) -> Fault {
    match check(conn) {
        Err(changed @ Fault::Other(Error::SchemaChanged(_))) => changed,
        _ => fault,
    }
}

/// What is wrong with the indexes of a table. A row that is missing from an index, or in it twice, would be hidden from whatever
/// reads by it, or shown as what it is not.
pub(super) fn index_faults(conn: &Connection, table: &str) -> Result<Vec<String>, Fault> {
    let quoted = table.replace('\'', "''");
    let mut faults = open::faults(conn, &format!("PRAGMA integrity_check('{quoted}')"))?;
    // That check finds each row in each index, and counts the entries of an index; but not those of a partial one.
    for index in expected()?.iter().filter(|object| object.table == table) {
        let Some(condition) = condition(index) else {
            continue;
        };
        let name = &index.name;
        // An index that is not there is another fault.
        let Some(entries) = conn
            .prepare_cached("SELECT sum(ncell) FROM dbstat('main') WHERE name = ?")?
            .query_row([name], |row| row.get::<_, Option<i64>>(0))?
        else {
            continue;
        };
        let rows: i64 = conn.query_row(
            &format!("SELECT count(*) FROM main.\"{table}\" NOT INDEXED WHERE {condition}"),
            [],
            |row| row.get(0),
        )?;
        if entries != rows {
            faults.push(format!(
                "the index {name} has {entries} entries, and {rows} rows belong in it"
            ));
        }
    }
    Ok(faults)
}

/// Which rows belong in a partial index; nothing for what is none.
fn condition(object: &Object) -> Option<&str> {
    if object.kind != "index" {
        return None;
    }
    // Behind the columns: an expression among them can hold anything.
    let mut depth = 0_usize;
    let behind = object.sql.char_indices().find_map(|(at, sign)| {
        match sign {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (sign == ')' && depth == 0).then_some(at + 1)
    })?;
    let rest = object.sql.get(behind..)?.trim_start();
    rest.strip_prefix("WHERE").map(str::trim)
}

/// A number that changes with the schema.
pub(super) fn version(conn: &Connection) -> Result<i64, Fault> {
    Ok(conn
        .prepare_cached("PRAGMA main.schema_version")?
        .query_row([], |row| row.get(0))?)
}

/// The tables that are there.
pub(super) fn tables(conn: &Connection) -> Result<Vec<String>, Fault> {
    let found = objects(conn)?.into_iter();
    Ok(found
        .filter(|object| object.kind == "table")
        .map(|object| object.name)
        .collect())
}

/// The objects that migrations make.
fn made_by(migrations: &[Migration]) -> Result<Vec<Object>, Fault> {
    let mut conn = open::unmigrated_memory()?;
    migrate::migrate(&mut conn, None, migrations)?;
    objects(&conn)
}

/// What `ANALYZE` leaves.
fn is_statistics(object: &Object) -> bool {
    object.kind == "table" && matches!(object.name.as_str(), "sqlite_stat1" | "sqlite_stat4")
}

/// Every object of the schema, sorted.
fn objects(conn: &Connection) -> Result<Vec<Object>, Fault> {
    let mut found: Vec<Object> = conn
        .prepare_cached(ROWS)?
        .query_map([], |row| {
            Ok(Object {
                kind: row.get(0)?,
                name: row.get(1)?,
                table: row.get(2)?,
                sql: row.get(3)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    found.retain(|object| !is_statistics(object));
    found.sort_unstable();
    Ok(found)
}

/// Both sorted. What is there twice is there once too often.
fn compare(expected: &[Object], found: &[Object]) -> Vec<SchemaChange> {
    if found == expected {
        return Vec::new();
    }
    let mut changes = Vec::new();
    let (mut expected, mut found) = (expected.iter().peekable(), found.iter().peekable());
    loop {
        let order = match (expected.peek(), found.peek()) {
            (None, None) => return changes,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(expected), Some(found)) => expected.key().cmp(&found.key()),
        };
        match order {
            std::cmp::Ordering::Less => {
                changes.extend(expected.next().map(|object| object.changed(SchemaFault::Missing)));
            }
            std::cmp::Ordering::Greater => {
                changes.extend(found.next().map(|object| object.changed(SchemaFault::Added)));
            }
            std::cmp::Ordering::Equal => {
                let (expected, found) = (expected.next(), found.next());
                if expected != found {
                    changes.extend(found.map(|object| object.changed(SchemaFault::Changed)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str, sql: &str) -> Object {
        Object {
            kind: kind.to_owned(),
            name: name.to_owned(),
            table: "t".to_owned(),
            sql: sql.to_owned(),
        }
    }

    /// Every partial index of this version is counted.
    #[test]
    fn the_condition_of_each_partial_index_is_known() {
        let conn = open::memory().unwrap();
        let partial: Vec<String> = conn
            .prepare(
                "SELECT list.name FROM sqlite_schema AS schema, pragma_index_list(schema.name) AS list \
                 WHERE schema.type = 'table' AND list.partial ORDER BY list.name",
            )
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let known: Vec<&str> = expected()
            .unwrap()
            .iter()
            .filter(|object| condition(object).is_some())
            .map(|object| object.name.as_str())
            .collect();
        assert!(partial.len() > 10, "{partial:?}");
        assert_eq!(known, partial);
    }

    #[test]
    fn every_difference_is_named() {
        let (a, b) = (object("index", "a", "1"), object("trigger", "b", "1"));
        let other_b = object("trigger", "b", "2");
        let other_kind = object("view", "b", "1");
        let cases: &[(&[&Object], &[&str])] = &[
            (&[&a, &b], &[]),
            (&[&a], &["Missing trigger b"]),
            (&[&b], &["Missing index a"]),
            (&[], &["Missing index a", "Missing trigger b"]),
            (&[&a, &other_b], &["Changed trigger b"]),
            (&[&a, &b, &b], &["Added trigger b"]),
            (&[&a, &b, &other_b], &["Added trigger b"]),
            (&[&a, &other_kind], &["Missing trigger b", "Added view b"]),
            (&[&a, &b, &other_kind], &["Added view b"]),
            // Not one too many and one too few, which add up to the right number.
            (&[&a, &a], &["Added index a", "Missing trigger b"]),
        ];
        for (found, expected) in cases {
            let found: Vec<Object> = found.iter().copied().cloned().collect();
            let said: Vec<String> = compare(&[a.clone(), b.clone()], &found)
                .iter()
                .map(|change| format!("{:?} {} {}", change.fault, change.kind, change.name))
                .collect();
            assert_eq!(said, *expected);
        }
    }
}
