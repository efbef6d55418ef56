//! What only this room can provoke: a schema that moves on, a disk that fills up.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::fault::Fault;
use super::migrate::{MIGRATIONS, Migration, migrate};
use super::{Sqlite, look, write};
use crate::backend::Opening;
use crate::{Error, Location, Options};

const NEXT: Migration = Migration {
    name: "next",
    sql: "ALTER TABLE settings ADD COLUMN note TEXT; CREATE TABLE more (a INTEGER) STRICT;",
};
const BROKEN: Migration = Migration {
    name: "broken",
    sql: "CREATE TABLE half (a INTEGER) STRICT; CREATE TABLE sessions (a INTEGER) STRICT;",
};

fn with(next: Migration) -> Vec<Migration> {
    MIGRATIONS.iter().copied().chain([next]).collect()
}

fn open(options: &Options) -> Result<Sqlite, Error> {
    Sqlite::open(options, &Opening::With(None))
}

async fn with_a_setting(path: &Path) {
    let backend = open(&Options::sqlite(path)).unwrap();
    let keep = |conn: &Connection| write::set_setting(conn, "a", "b");
    backend.write(true, keep).await.unwrap();
    backend.close().await;
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_migration_keeps_what_is_there_and_backs_it_up_first() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    with_a_setting(&path).await;
    fs::write(folder.path().join("a.db.before-0009.bak"), "someone's own").unwrap();

    let mut conn = Connection::open(&path).unwrap();
    migrate(&mut conn, Some(&path), &with(NEXT)).unwrap();
    assert_eq!(look::setting(&conn, "a").unwrap().as_deref(), Some("b"));
    let applied: Vec<String> = conn
        .prepare("SELECT name FROM migrations ORDER BY number")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        applied,
        [
            "begin",
            "notes",
            "people",
            "lists",
            "seals",
            "catalogues",
            "timeline_calls",
            "incidents",
            "next"
        ]
    );
    assert_eq!(
        names(folder.path()),
        ["a.db", "a.db.before-0009.1.bak", "a.db.before-0009.bak"],
        "nothing is overwritten"
    );
    let backup = folder.path().join("a.db.before-0009.1.bak");
    assert_eq!(fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    let old = Connection::open(&backup).unwrap();
    assert_eq!(look::setting(&old, "a").unwrap().as_deref(), Some("b"));
    assert_eq!(super::migrate::version(&old), Ok(8));

    migrate(&mut conn, Some(&path), &with(NEXT)).unwrap();
    assert_eq!(names(folder.path()).len(), 3, "nothing to do, nothing to back up");
    drop(conn);
    let refused = open(&Options::sqlite(&path)).err();
    assert_eq!(refused, Some(Error::NewerSchema { found: 9, known: 8 }));
}

#[tokio::test]
async fn a_migration_that_fails_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    with_a_setting(&path).await;
    let mut conn = Connection::open(&path).unwrap();
    assert!(migrate(&mut conn, Some(&path), &with(BROKEN)).is_err());
    assert_eq!(super::migrate::version(&conn), Ok(8));
    assert!(conn.prepare("SELECT * FROM half").is_err());
    drop(conn);
    let backend = open(&Options::sqlite(&path)).unwrap();
    let kept = backend.read(|conn| look::setting(conn, "a")).await.unwrap();
    assert_eq!(kept.as_deref(), Some("b"));
}

#[tokio::test]
async fn a_migration_that_is_not_the_one_that_was_applied_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    with_a_setting(&path).await;
    let mut conn = Connection::open(&path).unwrap();
    let begin = Migration {
        name: "begin",
        sql: "CREATE TABLE other (a INTEGER) STRICT;",
    };
    let other: Vec<Migration> = [begin]
        .into_iter()
        .chain(MIGRATIONS[1..].iter().copied())
        .collect();
    let changed = Err(Fault::Other(Error::ChangedMigration {
        number: 1,
        name: "begin".to_owned(),
    }));
    assert_eq!(migrate(&mut conn, Some(&path), &other), changed);
}

#[test]
fn of_many_that_open_a_new_file_at_once_one_makes_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/er/a.db");
    let opened: Vec<_> = (0..8)
        .map(|_| {
            let options = Options::sqlite(&path);
            std::thread::spawn(move || open(&options).map(drop))
        })
        .collect();
    for thread in opened {
        assert_eq!(thread.join().unwrap(), Ok(()));
    }
    assert_eq!(names(path.parent().unwrap()), ["a.db"]);
}

#[tokio::test]
async fn a_full_disk_loses_nothing_and_work_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let backend = open(&Options::sqlite(&path)).unwrap();
    let limit = |pages: Option<u32>| {
        move |conn: &Connection| {
            let here: u32 = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
            let most = pages.map_or(u32::MAX - 1, |more| here + more);
            conn.query_row(&format!("PRAGMA max_page_count = {most}"), [], |_| Ok(()))?;
            Ok(())
        }
    };
    let keep = |number: u32, size: usize| {
        let value = "x".repeat(size);
        backend.write(true, move |conn| {
            write::set_setting(conn, &number.to_string(), &value)
        })
    };
    keep(0, 100_000).await.unwrap();
    backend.write(false, limit(Some(10))).await.unwrap();
    let full = Err(Error::Full {
        store: Location::sqlite(&path),
    });
    assert_eq!(keep(1, 100_000).await, full);
    // What is small enough still fits, also next to what is not.
    let (a, b, c) = tokio::join!(keep(2, 10), keep(3, 100_000), keep(4, 10));
    assert_eq!((a, b, c), (Ok(()), full, Ok(())));
    backend.write(false, limit(None)).await.unwrap();
    keep(5, 100_000).await.unwrap();
    backend.close().await;

    let backend = open(&Options::sqlite(&path)).unwrap();
    for (number, size) in [(0, 100_000), (2, 10), (4, 10), (5, 100_000)] {
        let name = i32::to_string(&number);
        let value = backend
            .read(move |conn| look::setting(conn, &name))
            .await
            .unwrap();
        assert_eq!(value.map(|value| value.len()), Some(size), "{number}");
    }
    for number in ["1", "3"] {
        assert_eq!(
            backend.read(move |conn| look::setting(conn, number)).await,
            Ok(None)
        );
    }
    backend
        .read(|conn| look::integrity(conn, "PRAGMA integrity_check"))
        .await
        .unwrap();
}
