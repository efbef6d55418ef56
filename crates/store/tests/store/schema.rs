//! A store whose schema is not the one that Interlock makes is refused, whatever differs, and an index that does not say what its
//! table says is found.

use interlock_seal::Keyring;
use interlock_store::{Error, SchemaFault, Store, SwitchMove};
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::marks::{Place, deed, ended, forger, signer, verify};
use crate::support::*;

/// One object of a schema.
struct Object {
    kind: String,
    name: String,
    table: String,
    sql: Option<String>,
}

fn objects(conn: &Connection) -> Vec<Object> {
    conn.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")
        .unwrap()
        .query_map([], |row| {
            Ok(Object {
                kind: row.get(0)?,
                name: row.get(1)?,
                table: row.get(2)?,
                sql: row.get(3)?,
            })
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

/// A connection that may write to the schema itself.
fn schema_writer(place: &Place) -> Connection {
    let conn = forger(&place.file());
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)
        .unwrap();
    conn.execute_batch("PRAGMA writable_schema = ON").unwrap();
    conn
}

/// What is done to a schema: a name for it, the statements, and what is found; nothing where only something must be found.
struct Change {
    what: String,
    sql: String,
    finds: Option<(String, String, SchemaFault)>,
}

/// Every object dropped, every object changed, and something added to every table.
fn changes(objects: &[Object]) -> Vec<Change> {
    let mut all = Vec::new();
    for Object {
        kind,
        name,
        table,
        sql,
    } in objects
    {
        let found = |fault| Some((kind.clone(), name.clone(), fault));
        // The indexes of constraints, and the tables that a virtual table is made of, are not dropped by name.
        let dropped = format!("DELETE FROM sqlite_schema WHERE type = '{kind}' AND name = '{name}'");
        all.push(Change {
            what: format!("{kind} {name} is taken out"),
            sql: dropped,
            // Without one of these the schema cannot even be read.
            finds: sql.as_ref().and_then(|_| found(SchemaFault::Missing)),
        });
        if let Some(sql) = sql {
            let other = sql.replacen(' ', "  ", 1).replace('\'', "''");
            all.push(Change {
                what: format!("{kind} {name} is another one"),
                sql: format!(
                    "UPDATE sqlite_schema SET sql = '{other}' WHERE type = '{kind}' AND name = '{name}'"
                ),
                finds: found(SchemaFault::Changed),
            });
            if kind == "table" && !name.contains("_words_") && !name.starts_with("sqlite_") {
                all.push(Change {
                    what: format!("{kind} {name} is dropped"),
                    sql: format!("DROP TABLE {name}"),
                    finds: None,
                });
            }
            if kind == "trigger" || kind == "index" {
                all.push(Change {
                    what: format!("{kind} {name} is dropped"),
                    sql: format!("DROP {kind} {name}"),
                    finds: found(SchemaFault::Missing),
                });
            }
            if kind == "trigger" {
                all.push(Change {
                    what: format!("{kind} {name} does nothing"),
                    sql: format!(
                        "DROP TRIGGER {name}; CREATE TRIGGER {name} AFTER INSERT ON {table} BEGIN SELECT 1; END"
                    ),
                    finds: found(SchemaFault::Changed),
                });
            }
        }
        let is_plain = sql.as_ref().is_some_and(|sql| sql.starts_with("CREATE TABLE"));
        if kind == "table" && is_plain && !name.contains("_words") && !name.starts_with("sqlite_") {
            let evil = |kind: &str| Some((kind.to_owned(), "evil".to_owned(), SchemaFault::Added));
            for event in ["INSERT", "UPDATE", "DELETE"] {
                all.push(Change {
                    what: format!("a trigger is added to {name}"),
                    sql: format!("CREATE TRIGGER evil AFTER {event} ON {name} BEGIN SELECT 1; END"),
                    finds: evil("trigger"),
                });
            }
            all.push(Change {
                what: format!("an index is added to {name}"),
                sql: format!("CREATE INDEX evil ON {name} (abs(1))"),
                finds: evil("index"),
            });
            all.push(Change {
                what: format!("a view of {name} is added"),
                sql: format!("CREATE VIEW evil AS SELECT * FROM {name}"),
                finds: evil("view"),
            });
            all.push(Change {
                what: format!("a column is added to {name}"),
                sql: format!("ALTER TABLE {name} ADD COLUMN evil TEXT"),
                finds: found(SchemaFault::Changed),
            });
            all.push(Change {
                what: format!("{name} is a view of a copy"),
                sql: format!("ALTER TABLE {name} RENAME TO evil; CREATE VIEW {name} AS SELECT * FROM evil"),
                finds: None,
            });
        }
    }
    all.push(Change {
        what: "a table is added".to_owned(),
        sql: "CREATE TABLE evil (a)".to_owned(),
        finds: Some(("table".to_owned(), "evil".to_owned(), SchemaFault::Added)),
    });
    all
}

/// Each change is noticed when the store is opened for whatever purpose, by the check of the record, and by the next transaction
/// of a process that has the store open.
#[tokio::test]
async fn every_change_of_the_schema_is_noticed() {
    let original = Place::new();
    let store = original.open().unwrap();
    ended(&store, 1).await;
    store.audit(deed("user.created", 1)).await.unwrap();
    store.close().await;
    let all = changes(&objects(&Connection::open(original.file()).unwrap()));
    assert!(all.len() > 300, "only {} changes are tried", all.len());
    let place = Place::new();
    // Without marks: the same store is put back each time.
    let keyring = || Keyring::signing(signer());
    let open = || Store::open_signed(&place.options(), keyring());
    for Change { what, sql, finds } in all {
        place.put(&original.file());
        for leftover in ["-wal", "-shm"] {
            let mut name = place.file().into_os_string();
            name.push(leftover);
            let _ = std::fs::remove_file(name);
        }
        let running = open().unwrap();
        let conn = schema_writer(&place);
        conn.execute_batch(&sql)
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let version: i64 = conn
            .query_row("PRAGMA schema_version", [], |row| row.get(0))
            .unwrap_or(0);
        let _ = conn.execute_batch(&format!("PRAGMA schema_version = {}", version + 1));
        drop(conn);
        let expect = |refused: Option<Error>, way: &str| {
            let refused = refused.unwrap_or_else(|| panic!("unnoticed: {what}, {way}"));
            match (&refused, &finds) {
                (Error::SchemaChanged(change), Some((kind, name, fault))) => {
                    assert_eq!(
                        (&change.kind, &change.name, &change.fault),
                        (kind, name, fault),
                        "{what}, {way}"
                    );
                }
                (_, None) => {}
                // What belonged to a table that is gone makes the whole schema unreadable.
                (Error::Corrupt { what, .. }, Some(_)) if what.contains("malformed database schema") => {}
                _ => panic!("{what}, {way}: {refused}"),
            }
        };
        expect(
            running.audit(deed("user.removed", 2)).await.err(),
            "while it is open",
        );
        running.close().await;
        expect(open().err(), "opened");
        expect(Store::open(&place.options()).err(), "opened without a key");
        expect(
            Store::open(&place.options().read_only()).err(),
            "opened to be read",
        );
        expect(Store::adopt(&place.options(), keyring()).err(), "adopted");
        let verified = match Store::open(&place.options().to_verify()) {
            Ok(look) => look.verify_record(&keyring(), true).await,
            Err(error) => Err(error),
        };
        match verified {
            Err(error) => expect(Some(error), "verified"),
            Ok(verified) => {
                assert!(!verified.holds(), "unnoticed: {what}, verified");
                if let Some((kind, name, _)) = &finds {
                    let place = format!("{kind} {name}");
                    let named = verified.problems.iter().any(|problem| problem.place == place);
                    assert!(named, "{what}: {verified:?}");
                }
            }
        }
    }
}

/// What people read about each way in which an object can differ.
#[tokio::test]
async fn a_changed_schema_says_what_to_do() {
    let mut said = Vec::new();
    for sql in [
        "CREATE TRIGGER evil AFTER INSERT ON audit BEGIN SELECT 1; END",
        "DROP TRIGGER audit_stays",
        "DROP INDEX sessions_open; CREATE INDEX sessions_open ON sessions (status) WHERE status = 'pending'",
    ] {
        let place = Place::new();
        place.open().unwrap().close().await;
        schema_writer(&place).execute_batch(sql).unwrap();
        said.push(place.open().unwrap_err().to_string());
    }
    insta::assert_snapshot!(said.join("\n\n"));
}

/// Writes are stopped also where a trigger is missing or another one.
#[tokio::test]
async fn writes_are_stopped_whatever_trigger_is_changed() {
    let names: Vec<String> = {
        let place = Place::new();
        place.open().unwrap().close().await;
        let conn = Connection::open(place.file()).unwrap();
        objects(&conn)
            .into_iter()
            .filter(|object| object.kind == "trigger")
            .map(|object| object.name)
            .collect()
    };
    let ada = "ada".parse().unwrap();
    for name in names {
        let place = Place::new();
        let store = place.open().unwrap();
        schema_writer(&place)
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .unwrap();
        let stop = || SwitchMove::Stop { reason: None };
        store
            .move_switch(stop(), &ada, at(4), Some(deed("writes.stopped", 4)))
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        store.close().await;
        let store = Store::open_without_key(&place.options()).unwrap();
        assert!(store.switch().await.unwrap().stopped, "{name}");
        store.close().await;
    }
}

/// Every index, partial ones above all: entries are left out of it or added to it, while the schema is as it should be again
/// afterwards.
#[tokio::test]
async fn an_index_that_was_made_with_another_condition_is_found() {
    let original = Place::new();
    let store = original.open().unwrap();
    ended(&store, 1).await;
    ended(&store, 2).await;
    store.submit(new_session(3), &ROOM).await.unwrap();
    for second in 1..4 {
        store.audit(deed("user.created", second)).await.unwrap();
    }
    store.close().await;
    let mut tried = 0;
    for Object {
        kind,
        name,
        table,
        sql,
    } in objects(&Connection::open(original.file()).unwrap())
    {
        let Some(sql) = sql.filter(|_| kind == "index") else {
            continue;
        };
        let (all, condition) = match sql.split_once(" WHERE ") {
            Some((all, condition)) => (all.to_owned(), Some(condition.to_owned())),
            None => (sql.clone(), None),
        };
        let others = [
            ("entries left out", Some("0".to_owned())),
            (
                "entries added",
                condition.map(|condition| format!("1 OR ({condition})")),
            ),
        ];
        for (what, other) in others {
            let Some(other) = other else { continue };
            let place = Place::new();
            place.put(&original.file());
            let conn = schema_writer(&place);
            let count = |conn: &Connection, condition: &str| -> i64 {
                let sql = format!("SELECT count(*) FROM {table} NOT INDEXED WHERE {condition}");
                conn.query_row(&sql, [], |row| row.get(0)).unwrap()
            };
            let own = sql.split_once(" WHERE ").map_or("1", |(_, own)| own);
            if count(&conn, own) == count(&conn, &other) {
                // No row of the fixture makes a difference.
                continue;
            }
            tried += 1;
            conn.execute_batch(&format!("DROP INDEX {name}; {all} WHERE {other}"))
                .unwrap();
            conn.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2", [&sql, &name])
                .unwrap();
            drop(conn);
            let changed = Store::open(&place.options().to_verify())
                .unwrap()
                .schema_changes()
                .await
                .unwrap();
            assert_eq!(changed, [], "the forgery is the one that is meant");
            let verified = verify(&place).await;
            let found = verified
                .problems
                .iter()
                .any(|problem| problem.place == format!("table {table}") && problem.what.contains(&name));
            assert!(found, "{name}, {what}: {verified:?}");
        }
    }
    assert!(tried > 15, "only {tried} indexes were changed");
}
