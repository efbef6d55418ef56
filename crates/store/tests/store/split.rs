//! Indexes that were made to disagree with each other: two rows for one id, or a row that one index hides. Nothing that the
//! digest of a session does not cover is shown, decided or run.

use interlock_protocol::Status;
use interlock_store::{Concurrency, Error, Filter, Holds, Record, SessionQuery, Store};
use rusqlite::Connection;

use crate::marks::{Place, ended, forger};
use crate::support::*;

/// Makes the index by a unique column lead elsewhere: `expression` takes the place of the column while the index is built. The
/// schema is as it was afterwards, and each index has one entry for each row.
struct Splitter {
    conn: Connection,
    tables: Vec<(String, String)>,
}

impl Splitter {
    fn of(place: &Place) -> Self {
        Self {
            conn: forger(&place.file()),
            tables: Vec::new(),
        }
    }

    fn schema(&self, sql: &str) {
        let version: i64 = self
            .conn
            .query_row("PRAGMA schema_version", [], |row| row.get(0))
            .unwrap();
        self.conn
            .execute_batch(&format!(
                "PRAGMA writable_schema = ON; {sql}; PRAGMA schema_version = {}; PRAGMA writable_schema = RESET;",
                version + 1
            ))
            .unwrap();
    }

    /// The column `id` of the table is unique no more, and its index becomes one over this expression.
    fn split_ids(&mut self, table: &str, expression: &str) {
        let made: String = self
            .conn
            .query_row(
                "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?",
                [table],
                |row| row.get(0),
            )
            .unwrap();
        let loose = made.replacen("NOT NULL UNIQUE", "NOT NULL", 1);
        assert_ne!(loose, made);
        self.schema(&format!(
            "UPDATE sqlite_schema SET sql = '{}' WHERE type = 'table' AND name = '{table}';
             UPDATE sqlite_schema SET name = 'split_{table}', sql = 'CREATE INDEX split_{table} ON {table} ({})'
             WHERE name = 'sqlite_autoindex_{table}_1'",
            loose.replace('\'', "''"),
            expression.replace('\'', "''"),
        ));
        self.tables.push((table.to_owned(), made));
    }

    fn split_index(&self, index: &str, definition: &str) {
        self.schema(&format!(
            "UPDATE sqlite_schema SET sql = 'CREATE INDEX {index} ON {definition}' WHERE name = '{index}'"
        ));
    }

    /// Builds the indexes again and puts the schema back.
    fn close(self, restored: &[(&str, &str)]) {
        for (table, _) in &self.tables {
            self.conn
                .execute_batch(&format!("REINDEX split_{table}"))
                .unwrap();
        }
        for (index, _) in restored {
            self.conn.execute_batch(&format!("REINDEX {index}")).unwrap();
        }
        for (table, made) in &self.tables {
            self.schema(&format!(
                "UPDATE sqlite_schema SET sql = '{}' WHERE type = 'table' AND name = '{table}';
                 UPDATE sqlite_schema SET name = 'sqlite_autoindex_{table}_1', sql = NULL WHERE name = 'split_{table}'",
                made.replace('\'', "''")
            ));
        }
        for (index, definition) in restored {
            self.split_index(index, definition);
        }
    }
}

/// A session that waits for a person, with one hold.
async fn held(store: &Store, number: u64) {
    let claim = claimed(store, number).await;
    let records = vec![Record::Hold(hold(number, number)), status(Status::Held)];
    store.append(batch(&claim, records)).await.unwrap();
}

fn forged_hold(place: &Place, own_id: bool) -> interlock_gate::Hold {
    let mut forged = hold(1, if own_id { 7 } else { 1 });
    forged.opened_at = at(77);
    let conn = forger(&place.file());
    let columns = "session, plan_hash, status, expires_at";
    conn.execute(
        &format!(
            "INSERT INTO holds (key, id, body, {columns}) SELECT 2, ?, ?, {columns} FROM holds WHERE key = 1"
        ),
        [forged.id.to_string(), serde_json::to_string(&forged).unwrap()],
    )
    .unwrap();
    forged
}

/// The digest of the session finds the hold that was signed. Everything else is led to a forged one: by its id, or because it has
/// an id of its own.
#[tokio::test]
async fn a_hold_that_the_seal_does_not_cover_is_neither_shown_nor_decided() {
    for own_id in [false, true] {
        let place = Place::new();
        let store = place.open().unwrap();
        held(&store, 1).await;
        store.close().await;
        let whole = "holds (session)";
        let mut splitter = Splitter::of(&place);
        if own_id {
            splitter.split_index(
                "holds_session",
                "holds (CASE key WHEN 2 THEN -7 ELSE session END)",
            );
        } else {
            splitter.split_ids("holds", "CASE key WHEN 1 THEN 'zz' ELSE id END");
            splitter.split_index(
                "holds_session",
                "holds (CASE key WHEN 2 THEN -7 ELSE session END)",
            );
        }
        let forged = forged_hold(&place, own_id);
        splitter.close(&[("holds_session", whole)]);
        let store = place.open().unwrap();
        let shown = store.hold(&forged.id).await;
        assert!(matches!(shown, Err(Error::Altered { .. })), "{shown:?}");
        let found = store.find_hold(forged.id.as_str()).await;
        assert!(matches!(found, Err(Error::Altered { .. })), "{found:?}");
        for which in [Holds::Open, Holds::All, Holds::Of(session_id(1))] {
            let listed = store.holds(which.clone()).await.unwrap();
            assert!(!listed.contains(&forged), "{which:?}");
        }
        let decided = approved(forged.clone(), "ada");
        let refused = store.append(unclaimed(1, vec![Record::Hold(decided)])).await;
        assert!(matches!(refused, Err(Error::Altered { .. })), "{refused:?}");
        assert!(store.decided_holds(None, 10).await.unwrap().is_empty());
        assert!(!store.verify_record(&place.keyring(), true).await.unwrap().holds());
        store.close().await;
    }
}

/// A second row under the id of a session that has ended, which waits for a worker: no worker gets it, and no list shows it.
#[tokio::test]
async fn a_session_under_the_id_of_another_one_is_neither_shown_nor_run() {
    let place = Place::new();
    let store = place.open().unwrap();
    ended(&store, 1).await;
    store.submit(new_session(2), &ROOM).await.unwrap();
    store.request_cancel(&session_id(2), None, at(6)).await.unwrap();
    // A start compares the indexes of a small file. This store is open while it is changed.
    let mut splitter = Splitter::of(&place);
    splitter.split_ids("sessions", "CASE key WHEN 9 THEN 'zz' ELSE id END");
    let conn = forger(&place.file());
    let columns: Vec<String> = conn
        .prepare("SELECT name FROM pragma_table_xinfo('sessions') WHERE hidden = 0 AND name NOT IN ('key', 'status', 'completed_at')")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let columns = columns.join(", ");
    conn.execute_batch(&format!(
        "INSERT INTO sessions (key, status, completed_at, {columns}) SELECT 9, 'pending', NULL, {columns} FROM sessions WHERE key = 1;
         INSERT INTO session_texts (session, title, input, options) SELECT 9, 'forged', 'forged', options FROM session_texts WHERE session = 1;"
    ))
    .unwrap();
    drop(conn);
    splitter.close(&[]);
    let filter = Filter {
        limit: 100,
        ..Filter::default()
    };
    let query = SessionQuery {
        limit: 100,
        ..SessionQuery::default()
    };
    let listed = store.sessions(&filter).await.unwrap();
    let page = store.session_page(&query).await.unwrap();
    let titles: Vec<&str> = listed
        .iter()
        .chain(page.sessions.iter().map(|listed| &listed.session))
        .map(|session| session.submitted.title.as_str())
        .collect();
    assert!(titles.len() > 2 && !titles.contains(&"forged"), "{titles:?}");
    let limits = Concurrency {
        worker: 10,
        overall: None,
    };
    let next = store.claim_next(&worker(1), at(100), limits).await;
    assert!(next.is_err(), "{next:?}");
    store.close().await;
}
