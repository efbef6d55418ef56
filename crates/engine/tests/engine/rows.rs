//! No row of a session can be changed, removed, doubled or moved in the store's file without being noticed, and nobody goes
//! on with a session whose rows were.

use interlock_engine::{Error, Rows, Trace};
use interlock_protocol::{ContentHash, ControlLevel, SessionId};
use interlock_store::{AuditFilter, Claim, Error as StoreError, Options, SealState, Store};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::types::Value as Sql;

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, keyring, operator};

/// The tables that hold a part of a session, and the condition that finds its rows.
const TABLES: &[&str] = &[
    "sessions",
    "session_texts",
    "events",
    "decisions",
    "runs",
    "stages",
    "executions",
    "messages",
    "timeline",
    "interactions",
    "usage",
    "calls",
    "receipts",
    "evidence",
    "holds",
    "tokens",
    "steps",
];

/// Columns that a seal leaves out; the store's own test says why.
const LEFT_OUT: &[&str] = &[
    "key",
    "session",
    "call",
    "event",
    "interaction",
    "worker",
    "epoch",
    "took",
];

/// A store with one session in which a write was refused and another ran, was approved and verified; and its id.
async fn ended(folder: &std::path::Path) -> SessionId {
    let refused = r#"  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "rm /srv/flag"}}]"#;
    let write = "  - calls: [{tool: infra_control";
    let script = RESTART.replacen(write, &format!("{refused}\n{write}"), 1);
    let lab = Lab::in_folder(folder, Wish::script(&script).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    lab.engine.approve_by(&hold, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    lab.prove(&session).await;
    lab.store.close().await;
    session
}

/// Somebody with the file and without the key: no trigger and no constraint stops them, and the schema stays as it is.
pub(crate) fn forger(folder: &std::path::Path) -> Connection {
    let conn = Connection::open(folder.join("interlock.db")).unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
        .unwrap();
    conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    conn
}

fn state(folder: &std::path::Path, session: &SessionId) -> SealState {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let options = Options::sqlite(folder.join("interlock.db")).read_only();
    let store = Store::open_signed(&options, keyring()).unwrap();
    runtime.block_on(store.seal_of(session)).unwrap()
}

fn columns(conn: &Connection, table: &str) -> Vec<String> {
    let all: Vec<String> = conn
        .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    all.into_iter()
        .filter(|name| !LEFT_OUT.contains(&name.as_str()) || (table == "usage" && name == "took"))
        .collect()
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    std::fs::copy(from.join("interlock.db"), to.join("interlock.db")).unwrap();
}

/// How a primary key of a table is called.
fn key(table: &str) -> &'static str {
    match table {
        "session_texts" => "session",
        "decisions" => "event",
        "usage" => "interaction",
        "receipts" => "call",
        "tokens" => "hash",
        _ => "key",
    }
}

#[test]
fn no_change_of_any_row_goes_unnoticed() {
    let (original, touched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let session = runtime.block_on(ended(original.path()));
    assert!(
        state(original.path(), &session).is_intact(),
        "{:?}",
        state(original.path(), &session)
    );
    let mut tried = 0;
    let every_status: Vec<&str> = interlock_protocol::Status::ALL
        .iter()
        .map(|status| status.as_str())
        .filter(|status| *status != "completed")
        .collect();
    let mut attempt = |what: String, change: &dyn Fn(&Connection) -> rusqlite::Result<usize>| {
        copy(original.path(), touched.path());
        let conn = forger(touched.path());
        let changed = change(&conn);
        drop(conn);
        if changed.is_ok_and(|rows| rows > 0) {
            tried += 1;
            let found = state(touched.path(), &session);
            assert!(
                matches!(found, SealState::Altered { .. }),
                "unnoticed: {what}: {found:?}"
            );
        }
    };
    // A person who can write the file cannot reopen a finished session: the other rows are checked in every status.
    for status in &every_status {
        attempt(format!("status {status}"), &|conn| {
            conn.execute("UPDATE sessions SET status = ?1, completed_at = NULL", [status])
        });
    }
    for table in TABLES {
        let conn = Connection::open(original.path().join("interlock.db")).unwrap();
        let rows: i64 = conn
            .query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))
            .unwrap();
        assert!(rows > 0, "the session has no row in {table}");
        let id = key(table);
        for column in columns(&conn, table) {
            // The middle row: neither the first nor the last is special.
            let which = format!(
                "{id} = (SELECT {id} FROM {table} ORDER BY {id} LIMIT 1 OFFSET {})",
                rows / 2
            );
            let value: Sql = conn
                .query_row(
                    &format!("SELECT {column} FROM {table} WHERE {which}"),
                    [],
                    |row| row.get(0),
                )
                .unwrap();
            let other = match value {
                Sql::Null | Sql::Real(_) => Sql::Integer(1),
                Sql::Integer(number) => Sql::Integer(number + 1),
                Sql::Text(text) => Sql::Text(format!("{text} ")),
                Sql::Blob(mut bytes) => {
                    bytes.push(0);
                    Sql::Blob(bytes)
                }
            };
            attempt(format!("{table}.{column}"), &|conn| {
                conn.execute(
                    &format!("UPDATE {table} SET {column} = ?1 WHERE {which}"),
                    [&other],
                )
                .or_else(|_| {
                    conn.execute(
                        &format!("UPDATE {table} SET {column} = CAST(?1 AS TEXT) WHERE {which}"),
                        [&other],
                    )
                })
            });
        }
        attempt(format!("the last row of {table}"), &|conn| {
            conn.execute(
                &format!("DELETE FROM {table} WHERE {id} = (SELECT max({id}) FROM {table})"),
                [],
            )
        });
        if rows > 1 && id == "key" {
            // Two rows change places: what one says about itself stays as it is.
            attempt(format!("two rows of {table}"), &|conn| {
                let swap = |from: &str, to: &str| {
                    conn.execute(&format!("UPDATE {table} SET key = {to} WHERE key = {from}"), [])
                };
                let first: i64 =
                    conn.query_row(&format!("SELECT min(key) FROM {table}"), [], |row| row.get(0))?;
                let last: i64 =
                    conn.query_row(&format!("SELECT max(key) FROM {table}"), [], |row| row.get(0))?;
                swap(&first.to_string(), "-1")?;
                swap(&last.to_string(), &first.to_string())?;
                swap("-1", &last.to_string())
            });
        }
    }
    // A row that belongs to another row is given to each row that has none.
    for (table, link, parents) in [
        ("decisions", "event", "events"),
        ("usage", "interaction", "interactions"),
        ("receipts", "call", "calls"),
    ] {
        let conn = Connection::open(original.path().join("interlock.db")).unwrap();
        let keys = |sql: String| -> Vec<i64> {
            let mut statement = conn.prepare(&sql).unwrap();
            let found = statement.query_map([], |row| row.get(0)).unwrap();
            found.collect::<Result<_, _>>().unwrap()
        };
        let children = keys(format!("SELECT {link} FROM {table}"));
        let free = keys(format!(
            "SELECT key FROM {parents} WHERE key NOT IN (SELECT {link} FROM {table})"
        ));
        let pairs = children
            .iter()
            .flat_map(|child| free.iter().map(move |to| (*child, *to)));
        for (child, to) in pairs {
            attempt(format!("{table}: from {child} to {to}"), &|conn| {
                conn.execute(
                    &format!("UPDATE {table} SET {link} = ?2 WHERE {link} = ?1"),
                    [child, to],
                )
            });
        }
    }
    for (what, sql) in [
        (
            "the session's last seal is removed",
            "DELETE FROM seals WHERE number = (SELECT max(number) FROM seals)",
        ),
        (
            "all its seals are removed",
            "DELETE FROM seals WHERE session <> 'genesis'",
        ),
        (
            "its seal is signed by nobody",
            "UPDATE seals SET signature = zeroblob(64)",
        ),
        (
            "its seal is another's",
            "UPDATE seals SET parts = zeroblob(672) WHERE session <> 'genesis'",
        ),
    ] {
        attempt(what.to_owned(), &|conn| conn.execute(sql, []));
    }
    assert!(tried > 90, "only {tried} changes were tried");
}

/// A forger with one file, whose changes are taken back after each look.
struct Bench {
    conn: Connection,
    look: Store,
    runtime: tokio::runtime::Runtime,
    session: SessionId,
    tried: usize,
}

impl Bench {
    fn new(folder: &std::path::Path) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .unwrap();
        let session = runtime.block_on(ended(folder));
        std::fs::copy(folder.join("interlock.db"), folder.join("whole.db")).unwrap();
        let conn = forger(folder);
        conn.execute_batch("PRAGMA synchronous = OFF").unwrap();
        conn.execute(
            "ATTACH ?1 AS whole",
            [folder.join("whole.db").display().to_string()],
        )
        .unwrap();
        let options = Options::sqlite(folder.join("interlock.db")).read_only();
        let look = Store::open_signed(&options, keyring()).unwrap();
        Self {
            conn,
            look,
            runtime,
            session,
            tried: 0,
        }
    }

    /// The columns that are kept, and not computed.
    fn columns(&self, table: &str) -> Vec<String> {
        self.conn
            .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap()
    }

    fn holds(&self) -> bool {
        let keyring = keyring();
        let verified = self.look.verify_record(&keyring, true);
        self.runtime
            .block_on(verified)
            .is_ok_and(|verified| verified.holds())
    }

    fn put_back(&self, table: &str) {
        let columns = self.columns(table).join(", ");
        self.conn
            .execute_batch(&format!(
                "DELETE FROM {table}; INSERT INTO {table} ({columns}) SELECT {columns} FROM whole.{table}"
            ))
            .unwrap();
    }

    /// Changes something in a table, makes the hashes again that need no key, and looks. What the database itself does not
    /// take was not changed.
    fn attempt(&mut self, what: &str, table: &str, change: impl Fn(&Connection) -> rusqlite::Result<usize>) {
        let changed = change(&self.conn).is_ok_and(|rows| rows > 0);
        if changed {
            hash_again(&self.conn);
            self.tried += 1;
            assert!(!self.holds(), "unnoticed: {what}");
        }
        for table in [table, "audit", "audit_end", "seals"] {
            self.put_back(table);
        }
    }
}

/// Makes every hash of the audit log and of the seals again: none of them needs a key.
fn hash_again(conn: &Connection) {
    fn field(bytes: &mut Vec<u8>, text: &[u8]) {
        bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
        bytes.extend_from_slice(text);
    }
    type Entry = (i64, i64, Option<String>, String, Option<String>, String);
    let entries: Vec<Entry> = conn
        .prepare("SELECT number, at, actor, action, subject, details FROM audit ORDER BY number")
        .unwrap()
        .query_map([], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
            ))
        })
        .unwrap()
        .filter_map(Result::ok)
        .collect();
    let mut previous = ContentHash::of("").as_bytes().to_vec();
    for (number, at, actor, action, subject, details) in &entries {
        let mut bytes = Vec::new();
        field(&mut bytes, &previous);
        field(&mut bytes, &number.to_be_bytes());
        field(&mut bytes, &at.to_be_bytes());
        field(&mut bytes, action.as_bytes());
        field(&mut bytes, details.as_bytes());
        for maybe in [actor, subject] {
            match maybe {
                None => field(&mut bytes, &[0]),
                Some(text) => {
                    field(&mut bytes, &[1]);
                    field(&mut bytes, text.as_bytes());
                }
            }
        }
        let hash = ContentHash::of(bytes).as_bytes().to_vec();
        conn.execute(
            "UPDATE audit SET previous = ?1, hash = ?2 WHERE number = ?3",
            rusqlite::params![previous, hash, number],
        )
        .unwrap();
        previous = hash;
    }
    conn.execute(
        "UPDATE audit_end SET number = ?1, hash = ?2",
        rusqlite::params![i64::try_from(entries.len()).unwrap(), previous],
    )
    .unwrap();
}

/// A value that is another one of the same kind.
fn other(value: Sql) -> Sql {
    match value {
        Sql::Null | Sql::Real(_) => Sql::Integer(1),
        Sql::Integer(number) => Sql::Integer(number + 1),
        Sql::Text(text) => Sql::Text(format!("{text} ")),
        Sql::Blob(mut bytes) => {
            match bytes.first_mut() {
                Some(first) => *first ^= 1,
                None => bytes.push(0),
            }
            Sql::Blob(bytes)
        }
    }
}

/// Every row of every table that is signed: changed (each column somewhere, and each row), removed, doubled, and put in the
/// place of its neighbour; with every hash that needs no key made again.
#[test]
fn every_row_of_every_table_is_covered() {
    let root = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(root.path());
    assert!(bench.holds());
    let refused: i64 = bench
        .conn
        .query_row(
            "SELECT count(*) FROM decisions WHERE answer = 'refused'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert!(refused > 0, "the session has a refused call");
    for table in TABLES.iter().copied().chain(["audit", "seals", "checkpoints"]) {
        let id = match table {
            "audit" | "seals" | "checkpoints" => "number",
            table => key(table),
        };
        let all = bench.columns(table);
        let covered: Vec<String> = match table {
            "audit" => vec![
                "at".into(),
                "actor".into(),
                "action".into(),
                "subject".into(),
                "details".into(),
            ],
            "seals" | "checkpoints" => all.clone(),
            _ => columns(&bench.conn, table),
        };
        let rows: Vec<Sql> = bench
            .conn
            .prepare(&format!("SELECT {id} FROM {table} ORDER BY {id}"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(!rows.is_empty(), "{table} is empty");
        for (index, row) in rows.iter().enumerate() {
            for (at, column) in covered.iter().enumerate() {
                if index > 0 && at != index % covered.len() {
                    continue;
                }
                let value: Sql = bench
                    .conn
                    .query_row(
                        &format!("SELECT {column} FROM {table} WHERE {id} = ?1"),
                        [row],
                        |found| found.get(0),
                    )
                    .unwrap();
                let value = other(value);
                bench.attempt(&format!("{table}.{column} of row {index}"), table, |conn| {
                    let sql = |value: &str| format!("UPDATE {table} SET {column} = {value} WHERE {id} = ?2");
                    conn.execute(&sql("?1"), rusqlite::params![value, row])
                        .or_else(|_| conn.execute(&sql("CAST(?1 AS TEXT)"), rusqlite::params![value, row]))
                });
            }
            bench.attempt(&format!("row {index} of {table} is removed"), table, |conn| {
                conn.execute(&format!("DELETE FROM {table} WHERE {id} = ?1"), [row])
            });
            if !["key", "number"].contains(&id) {
                continue;
            }
            let rest: Vec<&str> = all
                .iter()
                .map(String::as_str)
                .filter(|name| *name != id)
                .collect();
            let rest = rest.join(", ");
            bench.attempt(&format!("row {index} of {table} is doubled"), table, |conn| {
                conn.execute(
                    &format!(
                        "INSERT INTO {table} ({id}, {rest}) SELECT (SELECT max({id}) + 1 FROM {table}), {rest} FROM {table} \
                         WHERE {id} = ?1"
                    ),
                    [row],
                )
            });
            if let Some(next) = rows.get(index + 1) {
                bench.attempt(
                    &format!("rows {index} and {} of {table} change places", index + 1),
                    table,
                    |conn| {
                        let moved = |from: &Sql, to: &Sql| {
                            conn.execute(
                                &format!("UPDATE {table} SET {id} = ?2 WHERE {id} = ?1"),
                                [from, to],
                            )
                        };
                        moved(row, &Sql::Integer(-1))?;
                        moved(next, row)?;
                        moved(&Sql::Integer(-1), next)
                    },
                );
            }
        }
    }
    assert!(bench.tried > 400, "only {} changes were tried", bench.tried);
    assert!(bench.holds(), "everything is as it was: {}", bench.session);
}

/// A session on which somebody works, and the right to do so. Before that it had ended, or waits for a human.
async fn begun(folder: &std::path::Path, waits: bool) -> (SessionId, Claim) {
    let session = if waits {
        let lab = Lab::in_folder(folder, Wish::script(RESTART).level(ControlLevel::Controlled));
        let (session, _) = lab.ask("put the flag there").await;
        lab.engine
            .open_hold_by(&lab.hold().await, &operator())
            .await
            .unwrap();
        lab.store.close().await;
        session
    } else {
        ended(folder).await
    };
    let options = Options::sqlite(folder.join("interlock.db"));
    let store = Store::open_signed(&options, keyring()).unwrap();
    let worker = interlock_protocol::WorkerId::new("worker").unwrap();
    let (claim, _) = store
        .reopen(&session, &worker, jiff::Timestamp::now())
        .await
        .unwrap();
    assert_eq!(store.seal_of(&session).await.unwrap(), SealState::InProgress);
    store.close().await;
    (session, claim)
}

/// Every other value of a column: of a JSON document one for each of its members.
fn others(value: Sql) -> Vec<(String, Sql)> {
    use serde_json::Value as Json;
    let Sql::Text(text) = &value else {
        return vec![(String::new(), other(value))];
    };
    let Ok(Json::Object(members)) = serde_json::from_str(text) else {
        return vec![(String::new(), other(value))];
    };
    let changed = members.iter().map(|(name, member)| {
        let mut changed = members.clone();
        let member = match member {
            Json::String(text) => Json::from(format!("{text}x")),
            Json::Null => Json::from("x"),
            Json::Bool(flag) => Json::from(!flag),
            _ => Json::Null,
        };
        changed.insert(name.clone(), member);
        (format!(".{name}"), Sql::Text(Json::Object(changed).to_string()))
    });
    let broken = (".", Sql::Text(text[..text.len() - 1].to_owned()));
    let added = {
        let mut more = members.clone();
        more.insert("more".to_owned(), Json::from(1));
        (".more", Sql::Text(Json::Object(more).to_string()))
    };
    let whole = [broken, added].map(|(name, value)| (name.to_owned(), value));
    changed.chain(whole).collect()
}

/// Changes rows that were there before somebody began to work on a session: each column, each member of a document, rows that are
/// removed, added and moved. Says what goes unnoticed, both while the work goes on and when it is signed at its end.
fn unnoticed_while_in_progress(waits: bool) -> (Vec<String>, usize) {
    let (original, touched) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let (session, claim) = runtime.block_on(begun(original.path(), waits));
    let (mut tried, mut unnoticed) = (0, Vec::new());
    let mut attempt = |what: String, change: &dyn Fn(&Connection) -> rusqlite::Result<usize>| {
        copy(original.path(), touched.path());
        let conn = forger(touched.path());
        let changed = change(&conn);
        drop(conn);
        if !changed.is_ok_and(|rows| rows > 0) {
            return;
        }
        tried += 1;
        let now = matches!(state(touched.path(), &session), SealState::Altered { .. });
        let options = Options::sqlite(touched.path().join("interlock.db"));
        let at_the_end = match Store::open_signed(&options, keyring()) {
            Err(_) => true,
            Ok(store) => runtime.block_on(async {
                let ended = interlock_protocol::Status::Completed;
                let released = store.release(&claim, ended, jiff::Timestamp::now()).await;
                let state = store.seal_of(&session).await.unwrap();
                store.close().await;
                released.is_err() || matches!(state, SealState::Altered { .. })
            }),
        };
        assert_eq!(now, at_the_end, "{what}");
        if !now {
            unnoticed.push(what);
        }
    };
    for table in TABLES {
        let conn = Connection::open(original.path().join("interlock.db")).unwrap();
        let id = key(table);
        let all: Vec<Sql> = conn
            .prepare(&format!("SELECT {id} FROM {table} ORDER BY {id}"))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(waits || !all.is_empty(), "{table} is empty");
        let places: std::collections::BTreeSet<usize> = [0, all.len().saturating_sub(1)]
            .into_iter()
            .filter(|at| *at < all.len())
            .collect();
        for (row, at) in places.into_iter().map(|at| (&all[at], at)) {
            for column in columns(&conn, table) {
                let sql = format!("SELECT {column} FROM {table} WHERE {id} = ?1");
                let value: Sql = conn.query_row(&sql, [row], |found| found.get(0)).unwrap();
                for (member, value) in others(value) {
                    attempt(format!("{table}.{column}{member}"), &|conn| {
                        let sql =
                            |value: &str| format!("UPDATE {table} SET {column} = {value} WHERE {id} = ?2");
                        conn.execute(&sql("?1"), rusqlite::params![value, row])
                            .or_else(|_| {
                                conn.execute(&sql("CAST(?1 AS TEXT)"), rusqlite::params![value, row])
                            })
                    });
                }
            }
            attempt(format!("row {at} of {table} is removed"), &|conn| {
                conn.execute(&format!("DELETE FROM {table} WHERE {id} = ?1"), [row])
            });
        }
        if let [first, second, ..] = all.as_slice()
            && id == "key"
        {
            attempt(format!("two rows of {table} change places"), &|conn| {
                let moved = |from: &Sql, to: &Sql| {
                    conn.execute(&format!("UPDATE {table} SET key = ?2 WHERE key = ?1"), [from, to])
                };
                moved(first, &Sql::Integer(-1))?;
                moved(second, first)?;
                moved(&Sql::Integer(-1), second)
            });
        }
    }
    // Rows that are added to a run that was over.
    for (table, unique) in [
        ("messages", "number = number + 1000"),
        ("interactions", "number = number + 1000"),
        ("calls", "permit = permit || 'x', hold = NULL"),
        ("steps", "number = number + 1000"),
    ] {
        if waits {
            continue;
        }
        let conn = Connection::open(original.path().join("interlock.db")).unwrap();
        let names: Vec<String> = conn
            .prepare(&format!(
                "SELECT name FROM pragma_table_info('{table}') WHERE name <> 'key'"
            ))
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let names = names.join(", ");
        attempt(format!("a row is added to a run in {table}"), &|conn| {
            conn.execute_batch(&format!(
                "CREATE TEMP TABLE one AS SELECT {names} FROM {table} LIMIT 1; UPDATE one SET {unique}"
            ))?;
            conn.execute(
                &format!("INSERT INTO {table} ({names}) SELECT {names} FROM one"),
                [],
            )
        });
    }
    unnoticed.sort();
    unnoticed.dedup();
    (unnoticed, tried)
}

/// What was signed before a further question stays signed: only what work itself changes can be changed meanwhile.
#[test]
fn what_was_signed_stays_signed_while_somebody_works_on_the_session() {
    let (unnoticed, tried) = unnoticed_while_in_progress(false);
    assert!(tried > 250, "only {tried} changes were tried");
    insta::assert_snapshot!("changes_in_progress_after_the_end", unnoticed.join("\n"));
}

/// The same for what waits for a human: its plan and its terms stay.
#[test]
fn what_waits_stays_signed_while_somebody_works_on_the_session() {
    let (unnoticed, tried) = unnoticed_while_in_progress(true);
    assert!(tried > 200, "only {tried} changes were tried");
    insta::assert_snapshot!("changes_in_progress_while_held", unnoticed.join("\n"));
}

/// Catalogues and tokens belong to no seal of a session. They are compared with what is sealed, and no bundle is made without them.
#[tokio::test]
async fn what_no_seal_covers_is_compared_with_what_is_sealed() {
    for (what, sql, place) in [
        ("a catalogue is removed", "DELETE FROM catalogues", "catalogue "),
        (
            "a catalogue is changed",
            "UPDATE catalogues SET body = replace(body, 'infra_read', 'infra_raed')",
            "catalogue ",
        ),
        (
            "a catalogue is no document",
            "UPDATE catalogues SET body = '{'",
            "catalogue ",
        ),
        (
            "a catalogue has another hash",
            "UPDATE catalogues SET hash = replace(hash, substr(hash, -4), 'ffff')",
            "catalogue ",
        ),
        (
            "a token is given to another session",
            "UPDATE tokens SET session = session + 1",
            "table tokens",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        let session = ended(root.path()).await;
        let conn = forger(root.path());
        assert!(conn.execute(sql, []).unwrap() > 0, "{what}");
        drop(conn);
        let options = Options::sqlite(root.path().join("interlock.db"));
        let store = Store::open_signed(&options, keyring()).unwrap();
        let verified = store.verify_record(&keyring(), true).await.unwrap();
        let places: Vec<&str> = verified
            .problems
            .iter()
            .map(|problem| problem.place.as_str())
            .collect();
        assert!(
            !places.is_empty() && places.iter().all(|found| found.starts_with(place)),
            "{what}: {verified:?}"
        );
        if place == "catalogue " {
            let made = interlock_engine::bundle::bundle(&store, &session, jiff::Timestamp::now()).await;
            assert!(made.is_err(), "{what}");
        }
        store.close().await;
    }
}

/// No bundle is made of a session in which one of the runs does not prove itself, whichever that is.
#[tokio::test]
async fn a_bundle_is_made_only_if_every_run_proves_itself() {
    let root = tempfile::tempdir().unwrap();
    let session = ended(root.path()).await;
    let conn = forger(root.path());
    // Somebody with the key signs what they changed: the replay still says so.
    let changed = conn
        .execute(
            "UPDATE receipts SET body = replace(body, '\"outcome\":\"succeeded\"', '\"outcome\":\"failed\"')",
            [],
        )
        .unwrap();
    assert!(changed > 0);
    conn.execute_batch("DELETE FROM seals; DELETE FROM checkpoints")
        .unwrap();
    drop(conn);
    let options = Options::sqlite(root.path().join("interlock.db"));
    let store = Store::adopt(&options, keyring()).unwrap();
    assert_eq!(store.seal_of(&session).await.unwrap(), SealState::Older);
    let made = interlock_engine::bundle::bundle(&store, &session, jiff::Timestamp::now()).await;
    let refused = made.unwrap_err().to_string();
    assert!(
        refused.starts_with("no bundle was made: the record of run_"),
        "{refused}"
    );
    store.close().await;
}

/// A plan that waits for approval is the one that was signed, or it is not approved and never runs.
#[tokio::test]
async fn nobody_goes_on_with_a_session_that_was_changed() {
    // What is changed, and where it is noticed.
    for (change, noticed) in [
        (
            "UPDATE holds SET body = replace(body, 'touch /srv/flag', 'touch /srv/evil')",
            "holds",
        ),
        (
            "UPDATE messages SET content = replace(content, 'flag', 'evil')",
            "messages",
        ),
        (
            "DELETE FROM timeline WHERE key = (SELECT max(key) FROM timeline)",
            "timeline",
        ),
    ] {
        let root = tempfile::tempdir().unwrap();
        let wish = || Wish::script(RESTART).level(ControlLevel::Controlled);
        let lab = Lab::in_folder(root.path(), wish());
        let (session, _) = lab.ask("put the flag there").await;
        let hold = lab.hold().await;
        lab.store.close().await;
        drop(lab);
        let conn = forger(root.path());
        assert!(conn.execute(change, []).unwrap() > 0, "{change}");
        drop(conn);
        let lab = Lab::in_folder(root.path(), wish());
        let refused = lab.engine.open_hold_by(&hold, &operator()).await;
        let text = format!("{refused:?}");
        assert!(
            matches!(refused, Err(Error::Store(StoreError::Altered { .. }))),
            "{text}"
        );
        // That a person was refused for it is in the audit log.
        let refusals = AuditFilter {
            actor: None,
            action: Some("hold.approval_refused".to_owned()),
            subject: Some(hold.to_string()),
            before: None,
            limit: 10,
        };
        let refusals = lab.store.audit_entries(&refusals).await.unwrap();
        let recorded: Vec<&serde_json::Value> = refusals
            .iter()
            .map(|entry| &entry.deed.details["because"])
            .collect();
        assert_eq!(recorded, ["altered"], "{change}");
        let refused = lab.engine.work_on(&session).await.unwrap_err().to_string();
        let expected = format!("was changed outside Interlock ({noticed}");
        assert!(refused.contains(&expected), "{refused} / {text}");
        assert_eq!(lab.folder.effects(), Vec::<String>::new());
        let run = lab.store.runs(&session).await.unwrap().pop().unwrap();
        let trace = Trace::of(&lab.store, &session, run).await.unwrap();
        assert!(matches!(trace.rows, Rows::Altered { .. }) && trace.signed.is_none());
        assert!(!trace.check(Some(&keyring())).unwrap().holds());
    }
}

/// A store without its seals is refused, unless the operator adopts it as older than signing.
#[tokio::test]
async fn a_store_that_lost_its_seals_is_not_signed_again() {
    let root = tempfile::tempdir().unwrap();
    let session = ended(root.path()).await;
    let conn = forger(root.path());
    conn.execute_batch("DELETE FROM seals; DELETE FROM checkpoints")
        .unwrap();
    drop(conn);
    let options = Options::sqlite(root.path().join("interlock.db"));
    let refused = Store::open_signed(&options, keyring()).unwrap_err();
    assert_eq!(refused, StoreError::Unsealed { sessions: 1 });
    assert!(
        refused.to_string().contains("interlock record adopt"),
        "{refused}"
    );
    let look = Store::open_signed(&options.clone().read_only(), keyring()).unwrap();
    for sessions in [true, false] {
        let verified = look.verify_record(&keyring(), sessions).await.unwrap();
        assert!(verified.problems_found > 0, "{verified:?}");
    }
    look.close().await;
    let store = Store::adopt(&options, keyring()).unwrap();
    assert_eq!(store.seal_of(&session).await.unwrap(), SealState::Older);
    store.close().await;
}

/// A store that is signed is not written to without its key, nor with another one.
#[tokio::test]
async fn a_signed_store_wants_its_key() {
    let root = tempfile::tempdir().unwrap();
    ended(root.path()).await;
    let options = Options::sqlite(root.path().join("interlock.db"));
    assert_eq!(Store::open(&options).unwrap_err(), StoreError::NoSigningKey);
    let other = interlock_seal::Keyring::signing(interlock_seal::Signer::generate().unwrap());
    let refused = Store::open_signed(&options, other.clone())
        .unwrap_err()
        .to_string();
    assert!(refused.contains("record.previous_keys"), "{refused}");
    // A new key that trusts the old one goes on.
    let earlier = keyring().signer().unwrap().public();
    let store = Store::open_signed(&options, other.trusting([earlier])).unwrap();
    store.close().await;
    assert!(Store::open(&options.read_only()).is_ok(), "reading needs no key");
}
