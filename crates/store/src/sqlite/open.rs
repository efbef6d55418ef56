//! Opens a file: what is there, may it be written to, is it ours, is it whole.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::fault::Fault;
use super::migrate::{self, APPLICATION_ID, MIGRATIONS, newest};
use super::schema;
use super::seal::SIGNED_TABLES;
use crate::Error;

/// Files up to this size are checked whenever they are opened.
const CHECK_ALWAYS: u64 = 4 << 20;
/// Files up to this size are checked when the last process that wrote to them did not close them.
const CHECK_UNCLEAN: u64 = 64 << 20;
/// After how many pages what was logged goes into the file itself.
const CHECKPOINT_PAGES: u32 = 4_000;
const STATEMENTS: usize = 128;
/// How much of the file the writer has at hand; negative, because `SQLite` counts in pages otherwise.
const CACHE_KIB: i32 = -16_384;
/// How much of the file each reader has at hand: about the index of one order of a long list.
const READER_CACHE_KIB: i32 = -8_192;

/// What becomes of a file that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    IsMade,
    IsAnError,
}

/// Whether a schema that is not Interlock's own is refused when a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaCheck {
    /// It is.
    Made,
    /// It is not: for stopping all writes, and for checking the record.
    Skipped,
}

impl SchemaCheck {
    fn of(self, conn: &Connection) -> Result<(), Fault> {
        match self {
            Self::Made => schema::check_version(conn),
            Self::Skipped => Ok(()),
        }
    }
}

/// The connection that writes. Makes the file where it is not there and `missing` says so.
pub(super) fn writer(
    path: &Path,
    busy: Duration,
    missing: Missing,
    schema: SchemaCheck,
) -> Result<Connection, Fault> {
    prepare_place(path, missing)?;
    let unclean = fs::metadata(beside(path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(busy)?;
    if conn.is_readonly("main")? {
        return Err(Fault::ReadOnly);
    }
    check_ours(&conn)?;
    // Before anything relies on a table.
    schema.of(&conn)?;
    check_whole(&conn, path, unclean)?;
    let found = migrate::version(&conn)?;
    if found > newest(MIGRATIONS) {
        return Err(Error::NewerSchema {
            found,
            known: newest(MIGRATIONS),
        }
        .into());
    }
    use_wal(&conn, busy)?;
    configure(&conn)?;
    migrate::migrate(&mut conn, Some(path), MIGRATIONS)?;
    Ok(conn)
}

/// A database that is gone with its connection.
pub(super) fn memory() -> Result<Connection, Fault> {
    let mut conn = unmigrated_memory()?;
    migrate::migrate(&mut conn, None, MIGRATIONS)?;
    Ok(conn)
}

/// The same, with nothing in it.
pub(super) fn unmigrated_memory() -> Result<Connection, Fault> {
    let conn = Connection::open_in_memory()?;
    configure(&conn)?;
    Ok(conn)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path, busy: Duration) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(busy)?;
    let conn = match migrate::version(&conn) {
        // A reader keeps a little shared memory next to the file. Where nothing can be written, nobody else writes.
        Err(Fault::Denied(_) | Fault::ReadOnly) if !beside(path, "-wal").exists() => {
            Connection::open_with_flags(unchanging(path)?, flags | OpenFlags::SQLITE_OPEN_URI)?
        }
        Err(error) => return Err(error),
        Ok(_) => conn,
    };
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.pragma_update(None, "cache_size", READER_CACHE_KIB)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(conn)
}

/// The address of a file that does not change while it is read.
fn unchanging(path: &Path) -> Result<String, Fault> {
    use std::fmt::Write as _;
    let path = std::path::absolute(path).map_err(|error| Fault::Denied(error.to_string()))?;
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                address.push(char::from(*byte));
            }
            // Writing into a String cannot fail.
            _ => drop(write!(address, "%{byte:02X}")),
        }
    }
    address.push_str("?immutable=1");
    Ok(address)
}

/// Looks at a file that nobody here writes to.
pub(super) fn check_readable(path: &Path, busy: Duration, schema: SchemaCheck) -> Result<(), Fault> {
    let there = fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Fault::Missing,
        _ => Fault::Denied(error.to_string()),
    })?;
    if there.is_dir() {
        return Err(Fault::IsDirectory);
    }
    let conn = reader(path, busy)?;
    check_ours(&conn)?;
    schema.of(&conn)?;
    let (found, known) = (migrate::version(&conn)?, newest(MIGRATIONS));
    match found.cmp(&known) {
        std::cmp::Ordering::Less => Err(Error::OlderSchema { found, known }.into()),
        std::cmp::Ordering::Greater => Err(Error::NewerSchema { found, known }.into()),
        std::cmp::Ordering::Equal => {
            migrate::check(&conn, MIGRATIONS).map_err(|fault| schema::explain(&conn, fault))
        }
    }
}

/// The folder exists and is its owner's; so is the file.
fn prepare_place(path: &Path, missing: Missing) -> Result<(), Fault> {
    let denied = |error: &std::io::Error| match error.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => Fault::ReadOnly,
        ErrorKind::StorageFull => Fault::Full,
        _ => Fault::Denied(error.to_string()),
    };
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(Fault::IsDirectory),
        // A pipe would wait for a reader for ever.
        Ok(there) if !there.is_file() => return Err(Fault::NotADatabase),
        Ok(_) => {
            let open = OpenOptions::new().append(true).open(path);
            return open.map(drop).map_err(|error| denied(&error));
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            if missing == Missing::IsAnError {
                return Err(Fault::Missing);
            }
        }
        Err(error) => return Err(denied(&error)),
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| Fault::Folder(format!("{}: {error}", folder.display())))?;
    }
    // Not truncated: another process may have made it in between.
    let made = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path);
    made.map(drop).map_err(|error| denied(&error))
}

fn check_ours(conn: &Connection) -> Result<(), Fault> {
    let id: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if id == APPLICATION_ID {
        return Ok(());
    }
    let objects: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    // A file without anything in it: new, or being made by another process.
    if id == 0 && objects == 0 {
        return Ok(());
    }
    // What another process made in between is ours.
    let id: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if id == APPLICATION_ID {
        return Ok(());
    }
    Err(Fault::Foreign)
}

fn check_whole(conn: &Connection, path: &Path, unclean: bool) -> Result<(), Fault> {
    let size = fs::metadata(path).map_or(0, |file| file.len());
    if size <= CHECK_ALWAYS || (unclean && size <= CHECK_UNCLEAN) {
        integrity(conn, "PRAGMA quick_check(1)")?;
    }
    if size <= CHECK_ALWAYS && migrate::version(conn)? == newest(MIGRATIONS) {
        // The quick check does not compare an index with its table.
        let there = schema::tables(conn)?;
        for table in SIGNED_TABLES
            .into_iter()
            .filter(|name| there.iter().any(|table| table == name))
        {
            if let Some(fault) = schema::index_faults(conn, table)?.into_iter().next() {
                return Err(Fault::corrupt(fault));
            }
        }
    }
    Ok(())
}

/// What `SQLite`'s own check says.
pub(crate) fn integrity(conn: &Connection, check: &str) -> Result<(), Fault> {
    match faults(conn, check)?.into_iter().next() {
        Some(fault) => Err(Fault::corrupt(fault)),
        None => Ok(()),
    }
}

/// Everything that `SQLite`'s own check finds wrong.
pub(super) fn faults(conn: &Connection, check: &str) -> Result<Vec<String>, Fault> {
    let mut said: Vec<String> = conn
        .prepare(check)?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    said.retain(|said| said != "ok");
    Ok(said)
}

/// Nothing points at what is not there.
pub(crate) fn no_orphans(conn: &Connection) -> Result<(), Fault> {
    let mut statement = conn.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        Some(row) => Err(Fault::corrupt(format!(
            "a row of `{}` belongs to nothing",
            row.get::<_, String>(0)?
        ))),
        None => Ok(()),
    }
}

/// Changing to the log needs the file alone for a moment, and `SQLite` does not wait for that by itself.
fn use_wal(conn: &Connection, busy: Duration) -> Result<(), Fault> {
    let until = Instant::now() + busy;
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match mode {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(mode) => {
                return Err(Error::Database(format!(
                    "the file system cannot keep a write-ahead log (the journal stays `{mode}`)"
                ))
                .into());
            }
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && Instant::now() < until =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn configure(conn: &Connection) -> Result<(), Fault> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "synchronous", "NORMAL")?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cache_size", CACHE_KIB)?;
    conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    conn.pragma_update(None, "journal_size_limit", 64 << 20)?;
    Ok(())
}

/// `PATH-wal` and the like.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
