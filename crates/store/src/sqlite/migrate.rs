//! The schema, forward only. One process brings a file up to date; the others wait for it.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use interlock_protocol::ContentHash;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::fault::Fault;
use crate::Error;

/// "ILCK": how a file says that it is ours.
pub(super) const APPLICATION_ID: i32 = 0x494c_434b;

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Migration {
    pub(super) name: &'static str,
    pub(super) sql: &'static str,
}

/// Number one is the first.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        name: "begin",
        sql: include_str!("../../migrations/sqlite/0001_begin.sql"),
    },
    Migration {
        name: "notes",
        sql: include_str!("../../migrations/sqlite/0002_notes.sql"),
    },
    Migration {
        name: "people",
        sql: include_str!("../../migrations/sqlite/0003_people.sql"),
    },
    Migration {
        name: "lists",
        sql: include_str!("../../migrations/sqlite/0004_lists.sql"),
    },
    Migration {
        name: "seals",
        sql: include_str!("../../migrations/sqlite/0005_seals.sql"),
    },
    Migration {
        name: "catalogues",
        sql: include_str!("../../migrations/sqlite/0006_catalogues.sql"),
    },
    Migration {
        name: "timeline_calls",
        sql: include_str!("../../migrations/sqlite/0007_timeline_calls.sql"),
    },
    Migration {
        name: "incidents",
        sql: include_str!("../../migrations/sqlite/0008_incidents.sql"),
    },
];

/// The newest schema of a list of migrations.
pub(super) fn newest(migrations: &[Migration]) -> u32 {
    u32::try_from(migrations.len()).unwrap_or(u32::MAX)
}

/// The schema of a file.
pub(super) fn version(conn: &Connection) -> Result<u32, Fault> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Brings the file up to date. `path` is where backups go next to; a database in memory has none.
pub(super) fn migrate(
    conn: &mut Connection,
    path: Option<&Path>,
    migrations: &[Migration],
) -> Result<(), Fault> {
    if version(conn)? == newest(migrations) {
        return check(conn, migrations);
    }
    // The write lock first: another process may be doing the same, and then there is nothing left to do.
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = version(&tx)?;
    if found > newest(migrations) {
        return Err(Error::NewerSchema {
            found,
            known: newest(migrations),
        }
        .into());
    }
    check(&tx, migrations)?;
    if found > 0
        && found < newest(migrations)
        && let Some(path) = path
    {
        back_up(path, found + 1)?;
    }
    if found == 0 {
        tx.execute_batch(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, \
             applied_at INTEGER NOT NULL) STRICT;",
        )?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    for (number, migration) in (1_u32..).zip(migrations) {
        if number <= found {
            continue;
        }
        tx.execute_batch(migration.sql)?;
        tx.execute(
            "INSERT INTO migrations (number, name, hash, applied_at) VALUES (?, ?, ?, ?)",
            params![
                number,
                migration.name,
                ContentHash::of(migration.sql).as_bytes(),
                Timestamp::now().as_microsecond()
            ],
        )?;
        tx.pragma_update(None, "user_version", number)?;
        // A database in memory is always a new one.
        if path.is_some() {
            tracing::info!(number, name = migration.name, "schema migrated");
        }
    }
    tx.commit()?;
    Ok(())
}

/// What was applied must be what this version has: a schema that only looks right is not.
pub(super) fn check(conn: &Connection, migrations: &[Migration]) -> Result<(), Fault> {
    let found = version(conn)?;
    for (number, migration) in (1..=found).zip(migrations) {
        let hash: Option<Vec<u8>> = conn
            .query_row("SELECT hash FROM migrations WHERE number = ?", [number], |row| {
                row.get(0)
            })
            .optional()?;
        if hash.as_deref() != Some(ContentHash::of(migration.sql).as_bytes().as_slice()) {
            return Err(Error::ChangedMigration {
                number,
                name: migration.name.to_owned(),
            }
            .into());
        }
    }
    Ok(())
}

/// A copy of the file as it was, next to it, under a name that nothing has.
///
/// Called while this process holds the write lock: nobody changes anything in between.
fn back_up(path: &Path, number: u32) -> Result<PathBuf, Fault> {
    let io = |at: &Path, error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::StorageFull => Fault::Full,
        _ => Fault::Io(format!("{}: {error}", at.display())),
    };
    let named = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".before-{number:04}{suffix}.bak"));
        PathBuf::from(name)
    };
    let mut copy = named("");
    let mut again = 1;
    let file = loop {
        // Only ever a new file, which only its owner reads. An empty one is what `VACUUM INTO` takes.
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&copy)
        {
            Ok(file) => break file,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                copy = named(&format!(".{again}"));
                again += 1;
            }
            Err(error) => return Err(io(&copy, &error)),
        }
    };
    let target = copy.to_str().ok_or_else(|| Error::Unstorable {
        what: "a backup",
        reason: "the path of the database is not UTF-8".to_owned(),
    })?;
    let kept = super::open::reader(path, std::time::Duration::from_secs(5))
        .and_then(|reader| Ok(reader.execute("VACUUM INTO ?", [target])?))
        .and_then(|_| file.sync_all().map_err(|error| io(&copy, &error)));
    if let Err(error) = kept {
        // Half a backup is none.
        let _ = fs::remove_file(&copy);
        return Err(error);
    }
    tracing::info!(path = %copy.display(), "backed up before a migration");
    Ok(copy)
}
