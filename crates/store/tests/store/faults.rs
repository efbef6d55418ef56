//! What can be wrong with a file, and what people are told. Whatever it is, the file stays as it is.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use interlock_protocol::Status;
use interlock_store::{Error, Location, Options, Record, Store};
use rusqlite::Connection;

use crate::support::*;

/// A store with a session in it, closed.
async fn made(path: &Path) {
    let store = Store::open(&Options::sqlite(path)).unwrap();
    let claim = claimed(&store, 1).await;
    let records = (1..200).map(|number| Record::Message(message(1, number, &"x".repeat(500))));
    store.append(batch(&claim, records.collect())).await.unwrap();
    store.close().await;
}

/// What a case's error must be, given its path.
type Expected = fn(Location, Error) -> bool;

fn change(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn a_file_that_cannot_be_used_says_why_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(
        at("notes.txt"),
        "not a database at all, but long enough to have a header ".repeat(20),
    )
    .unwrap();
    change(
        &at("foreign.db"),
        "CREATE TABLE theirs (a); PRAGMA application_id = 7;",
    );
    change(&at("nameless.db"), "CREATE TABLE theirs (a);");
    made(&at("newer.db")).await;
    change(&at("newer.db"), "PRAGMA user_version = 99;");
    made(&at("changed.db")).await;
    change(&at("changed.db"), "UPDATE migrations SET hash = x'00';");
    made(&at("damaged.db")).await;
    let mut bytes = fs::read(at("damaged.db")).unwrap();
    bytes[4_096 * 5..4_096 * 9].fill(0xa5);
    fs::write(at("damaged.db"), bytes).unwrap();
    made(&at("cut.db")).await;
    let bytes = fs::read(at("cut.db")).unwrap();
    fs::write(at("cut.db"), &bytes[..bytes.len() / 2]).unwrap();

    let cases: [(&str, Expected); 8] = [
        ("notes.txt", |store, error| error == Error::NotADatabase { store }),
        ("foreign.db", |store, error| error == Error::Foreign { store }),
        ("nameless.db", |store, error| error == Error::Foreign { store }),
        ("newer.db", |_, error| {
            error == Error::NewerSchema { found: 99, known: 8 }
        }),
        ("changed.db", |_, error| {
            matches!(error, Error::ChangedMigration { number: 1, .. })
        }),
        (
            "damaged.db",
            |here, error| matches!(error, Error::Corrupt { store, .. } if store == here),
        ),
        (
            "cut.db",
            |here, error| matches!(error, Error::Corrupt { store, .. } if store == here),
        ),
        ("notes.txt/a.db", |_, error| matches!(error, Error::Folder { .. })),
    ];
    for (name, expected) in cases {
        let path = at(name);
        let before = fs::read(&path).ok();
        let error = Store::open(&Options::sqlite(&path)).unwrap_err();
        assert!(
            expected(Location::sqlite(&path), error.clone()),
            "{name}: {error:?}"
        );
        assert_eq!(fs::read(&path).ok(), before, "{name} was changed");
    }
    let error = Store::open(&Options::sqlite(folder.path())).unwrap_err();
    assert_eq!(
        error,
        Error::IsDirectory {
            store: Location::sqlite(folder.path())
        }
    );
    let missing = Options::sqlite(at("missing.db")).read_only();
    let error = Store::open(&missing).unwrap_err();
    assert_eq!(
        error,
        Error::Missing {
            store: Location::sqlite(at("missing.db"))
        }
    );
    let error = Store::open(&Options::sqlite(at("missing.db")).existing()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "there is no database at `sqlite:{}`; nothing was stored yet, or the path is another one",
            at("missing.db").display()
        )
    );
    assert!(!at("missing.db").exists(), "looking makes nothing");
    // Nothing can be made there, whoever asks.
    let error = Store::open(&Options::sqlite("/sys/interlock.db")).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_new_store_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/interlock/a.db");
    let store = Store::open(&Options::sqlite(&path)).unwrap();
    store.submit(new_session(1), &ROOM).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(&folder.path().join("state/interlock/a.db-wal")), 0o600);
    drop(store);
    assert!(
        !folder.path().join("state/interlock/a.db-wal").exists(),
        "all of it is in the file"
    );
}

#[tokio::test]
async fn a_locked_database_says_so_and_work_goes_on_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let options = Options::sqlite(&path).with_busy_timeout(Duration::from_millis(50));
    let store = Store::open(&options).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(
        store.submit(new_session(1), &ROOM).await,
        Err(Error::Locked {
            store: Location::sqlite(&path)
        })
    );
    assert!(store.session(&session_id(1)).await.is_err(), "others still read");
    other.execute_batch("COMMIT").unwrap();
    store.submit(new_session(1), &ROOM).await.unwrap();
}

#[tokio::test]
async fn a_body_that_is_not_the_one_that_was_sent_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = Store::open(&Options::sqlite(&path)).unwrap();
    let claim = claimed(&store, 1).await;
    let records = vec![
        Record::Run(run(1)),
        Record::Interaction(interaction(1, 1, b"", b"abcdef")),
        Record::Interaction(interaction(1, 2, b"abcdef", b"abcdxy")),
    ];
    store.append(batch(&claim, records)).await.unwrap();
    assert_eq!(store.interactions(&run_id(1)).await.unwrap()[1].body, b"abcdxy");
    change(&path, "UPDATE interactions SET body = x'00' WHERE number = 2");
    let error = store.interactions(&run_id(1)).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn a_closed_store_says_so_and_what_waited_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let store = Store::open(&options).unwrap();
    let waiting: Vec<_> = (0..200)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.submit(new_session(number), &ROOM).await })
        })
        .collect();
    tokio::task::yield_now().await;
    store.close().await;
    let mut kept = 0;
    for submitted in waiting {
        match submitted.await.unwrap() {
            Ok(_) => kept += 1,
            Err(error) => assert_eq!(error, Error::Closed),
        }
    }
    assert_eq!(store.session(&session_id(1)).await, Err(Error::Closed));
    store.close().await;
    let store = Store::open(&options).unwrap();
    let all = interlock_store::Filter {
        statuses: vec![Status::Pending],
        limit: 1_000,
        ..interlock_store::Filter::default()
    };
    assert_eq!(
        store.sessions(&all).await.unwrap().len(),
        kept,
        "all that was answered, no more"
    );
}

#[test]
fn an_address_is_read_as_people_write_it() {
    let file = |path: &str| Ok(Options::sqlite(path));
    let cases: [(&str, Result<Options, Error>); 8] = [
        ("sqlite:/var/lib/a.db", file("/var/lib/a.db")),
        ("sqlite:a.db", file("a.db")),
        ("sqlite:///var/a.db", file("/var/a.db")),
        ("sqlite::memory:", Ok(Options::memory())),
        ("postgres://u:p@host/db", Err(Error::NotAvailable)),
        (
            "sqlite:",
            Err(Error::Address {
                text: "sqlite:".to_owned(),
            }),
        ),
        (
            "/var/lib/a.db",
            Err(Error::Address {
                text: "/var/lib/a.db".to_owned(),
            }),
        ),
        (
            "mysql://u:secret@host/db",
            Err(Error::Address {
                text: "…@host/db".to_owned(),
            }),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Options>(), expected, "{text}");
        let read = serde_json::from_value::<Options>(serde_json::json!(text));
        assert_eq!(read.is_ok(), expected.is_ok(), "{text}");
    }
    assert_eq!(Options::memory().location, Location::memory());
    assert_eq!(String::from(Options::sqlite("/a.db")), "sqlite:/a.db");
}
