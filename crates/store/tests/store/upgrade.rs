//! A database of before the lists, with everything that sessions leave behind in it: brought up to date, it says what one
//! says that never was older.
//!
//! What it must say is written by the code of today into a database of today. Its rows then go, column by column, into a
//! database that only the earlier migrations have made.

use std::path::Path;

use interlock_protocol::{ContentHash, Decision, ErrorCode, Outcome, SessionKind, Status, ToolKind};
use interlock_store::{
    DecisionFilter, Deed, Error, Note, Options, Record, SessionQuery, SortBy, Store, ToolUse, UsageBy,
    UsageRow,
};
use rusqlite::Connection;
use serde_json::json;

use crate::lists::{allowed, answered, decided, proposed, refused};
use crate::support::*;

/// The migrations before the lists, with their names.
const BEFORE: [(&str, &str); 3] = [
    ("begin", include_str!("../../migrations/sqlite/0001_begin.sql")),
    ("notes", include_str!("../../migrations/sqlite/0002_notes.sql")),
    ("people", include_str!("../../migrations/sqlite/0003_people.sql")),
];
const DAY: i64 = 24 * 60 * 60;

/// Everything that can be asked of the lists, as text.
async fn told(store: &Store) -> Vec<(String, String)> {
    let mut told = Vec::new();
    let mut tell = |name: String, answer: String| told.push((name, answer));
    for sort in [
        SortBy::CreatedAt,
        SortBy::LastInteraction,
        SortBy::Status,
        SortBy::Title,
        SortBy::Duration,
    ] {
        for ascending in [false, true] {
            let query = SessionQuery {
                sort,
                ascending,
                limit: 100,
                ..SessionQuery::default()
            };
            let page = store.session_page(&query).await;
            tell(format!("{sort:?} {ascending}"), format!("{page:#?}"));
        }
    }
    for search in ["needle-1", "Kühlschrank", "node 2 is full", "no"] {
        let query = SessionQuery {
            search: Some(search.to_owned()),
            limit: 100,
            ..SessionQuery::default()
        };
        let page = store.session_page(&query).await;
        assert!(
            page.as_ref().is_ok_and(|page| page.total > 0),
            "{search}: {page:?}"
        );
        tell(search.to_owned(), format!("{page:#?}"));
    }
    let all = DecisionFilter {
        limit: 100,
        ..DecisionFilter::default()
    };
    let code = DecisionFilter {
        code: Some("NOT_FOUND".to_owned()),
        ..all.clone()
    };
    for filter in [all, code] {
        tell(
            format!("{filter:?}"),
            format!("{:#?}", store.decisions(&filter).await),
        );
    }
    tell("counts".to_owned(), format!("{:#?}", store.counts().await));
    tell(
        "filters".to_owned(),
        format!("{:#?}", store.filter_options().await),
    );
    for target in [5, 6, 7] {
        let calls = store.calls_on(&resource(target), 100).await;
        tell(format!("calls on {target}"), format!("{calls:#?}"));
    }
    for session in [1, 2, 4] {
        let outline = store.outline(&session_id(session)).await;
        assert!(outline.is_ok(), "{outline:?}");
        tell(format!("outline {session}"), format!("{outline:#?}"));
        let timeline = store.timeline(&session_id(session)).await;
        tell(format!("timeline {session}"), format!("{timeline:#?}"));
    }
    for by in [UsageBy::Day, UsageBy::Model, UsageBy::AlertType] {
        let usage: Vec<UsageRow> = store.usage(at(0), at(9 * DAY), by).await.unwrap();
        tell(format!("{by:?}"), format!("{usage:#?}"));
    }
    tell(
        "holds".to_owned(),
        format!("{:#?}", store.decided_holds(None, 100).await),
    );
    tell(
        "events".to_owned(),
        format!(
            "{:#?}",
            store.feed_page(0, &[], 1000).await.map(|page| page.events)
        ),
    );
    tell(
        "position".to_owned(),
        format!("{:?}", store.safe_position().await),
    );
    tell(
        "notes".to_owned(),
        format!("{:#?}", store.recall("disk", None, 10).await),
    );
    tell("audit".to_owned(), format!("{:#?}", store.verify_audit().await));
    told
}

/// How a tool has been doing. Times are right but for a millisecond, which the migration cuts off.
async fn tools_are(store: &Store, expected: &[ToolUse], when: &str) {
    let found = store.tool_use(at(0)).await.unwrap();
    assert_eq!(found.len(), expected.len(), "{when}");
    for (found, expected) in found.iter().zip(expected) {
        let counted = |tool: &ToolUse| (tool.tool.clone(), tool.calls, tool.failed, tool.writes);
        assert_eq!(counted(found), counted(expected), "{when}");
        for (one, other) in [
            (found.seconds_p50, expected.seconds_p50),
            (found.seconds_p95, expected.seconds_p95),
        ] {
            assert!((one - other).abs() < 0.002, "{when}: {found:?}");
        }
        let moment = |tool: &ToolUse| tool.last_at.unwrap().as_millisecond();
        assert!((moment(found) - moment(expected)).abs() <= 1, "{when}: {found:?}");
    }
}

/// Four sessions: one that did everything, one that ended, one that was deleted, one that waits.
async fn fill(store: &Store) {
    for number in 1..=4_u64 {
        let mut session = new_session(number);
        if number % 2 == 0 {
            session.kind = SessionKind::Chain;
            session.alert_type = Some(format!("alert-{number}"));
            "deep".clone_into(&mut session.chain);
        }
        session.title = format!(
            "{} Node {number} is full",
            ["no", "É", "z", "A"][usize::try_from(number).unwrap() - 1]
        );
        session.input = format!("needle-{number} in \"quotes\" 100%");
        session.at = at(i64::try_from(number).unwrap() * 10);
        store.submit(session, &ROOM).await.unwrap();
    }
    let first = store.claim(&session_id(1), &worker(1), at(60)).await.unwrap();
    let (read, write) = (call(1, 1, ToolKind::Read, 5), call(1, 2, ToolKind::Write, 5));
    let (other, never) = (call(1, 3, ToolKind::Write, 6), call(1, 4, ToolKind::Write, 7));
    let failed = Record::Finished {
        receipt: receipt(&write, Outcome::Failed),
        pending: None,
    };
    let mut asked = interaction(1, 1, b"", b"body");
    asked.facts = json!({
        "name": "small", "usage": { "reported": true, "input_tokens": 100, "output_tokens": 10 },
        "cost": { "micro_dollars": 1_500_000 }, "timing": { "total": { "secs": 1, "nanos": 500_000_000 } },
    });
    let mut late = interaction(1, 2, b"body", b"body and more");
    late.facts = json!({ "error": { "kind": "timeout_call", "message": "late", "visible": false } });
    late.at = at(DAY);
    let held = Decision::Held {
        hold: hold_id(1),
        plan_hash: hold(1, 1).plan_hash,
    };
    let records = vec![
        Record::Run(run(1)),
        Record::Stage(stage(1)),
        Record::Execution(execution(1)),
        proposed(1, "infra_read"),
        allowed(1),
        Record::Started(read.clone()),
        finished(&read),
        proposed(2, "infra_control"),
        refused(2, ErrorCode::NotFound),
        decided(3, held),
        Record::Hold(hold(1, 1)),
        Record::Started(write.clone()),
        failed,
        Record::Started(other),
        Record::Started(never.clone()),
        Record::Abandoned { permit: never.permit },
        Record::Interaction(asked),
        Record::Interaction(late),
        Record::Timeline(entry(1, 1, "completed")),
        Record::Message(message(1, 1, "df")),
        Record::Evidence(evidence(1, 1, "full")),
        answered(),
    ];
    store.append(batch(&first, records)).await.unwrap();
    for number in [2, 3] {
        let claim = store
            .claim(&session_id(number), &worker(1), at(70))
            .await
            .unwrap();
        let mut records = vec![
            refused(number, ErrorCode::FsmBlocked),
            Record::Hold(approved(hold(number, number), "ada")),
        ];
        records.push(Record::Status {
            status: Status::Completed,
            answer: Some("Ein Kühlschrank".to_owned()),
            error: None,
        });
        let mut last = batch(&claim, records);
        last.at = at(75 + i64::try_from(number).unwrap());
        store.append(last).await.unwrap();
    }
    store.soft_delete(&session_id(3), at(100)).await.unwrap();
    let note = Note {
        id: "note_1".to_owned(),
        about: None,
        text: "the disk fills on Mondays".to_owned(),
        written_at: at(5),
        session: session_id(1).to_string(),
    };
    store.remember(note).await.unwrap();
    let deed = Deed {
        at: at(6),
        actor: Some("ada".parse().unwrap()),
        action: "session.deleted".to_owned(),
        subject: Some(session_id(3).to_string()),
        details: json!({}),
    };
    store.audit(deed).await.unwrap();
}

/// A database that knows nothing of the lists, with the rows of one that does.
fn older(path: &Path, from: &Path) {
    let mut conn = Connection::open(path).unwrap();
    conn.pragma_update(None, "journal_mode", "WAL").unwrap();
    conn.execute_batch(
        "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, \
         applied_at INTEGER NOT NULL) STRICT;",
    )
    .unwrap();
    for (number, (name, sql)) in (1_u32..).zip(BEFORE) {
        conn.execute_batch(sql).unwrap();
        let hash = ContentHash::of(sql);
        conn.execute(
            "INSERT INTO migrations VALUES (?, ?, ?, 0)",
            rusqlite::params![number, name, hash.as_bytes()],
        )
        .unwrap();
        conn.pragma_update(None, "user_version", number).unwrap();
    }
    conn.pragma_update(None, "application_id", 0x494c_434b).unwrap();
    conn.execute("ATTACH ? AS today", [from.to_str().unwrap()])
        .unwrap();
    let tx = conn.transaction().unwrap();
    let names = |sql: &str| -> Vec<String> {
        let mut statement = tx.prepare(sql).unwrap();
        let found = statement.query_map([], |row| row.get(0)).unwrap();
        found.collect::<Result<_, _>>().unwrap()
    };
    let tables = names(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'note\\_words%' ESCAPE '\\' \
         AND name NOT IN ('migrations', 'audit_end') ORDER BY rowid",
    );
    let mut copied = 0;
    for table in tables {
        let columns = names(&format!("SELECT name FROM pragma_table_info('{table}', 'main')")).join(", ");
        let sql =
            format!("INSERT INTO main.{table} ({columns}) SELECT {columns} FROM today.{table} ORDER BY 1");
        copied += tx.execute(&sql, []).unwrap();
    }
    assert!(copied > 40, "{copied} rows");
    tx.commit().unwrap();
}

fn backups(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".before-"))
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_database_of_before_the_lists_says_what_a_new_one_says_also_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let (today, old) = (folder.path().join("today.db"), folder.path().join("old.db"));
    let store = Store::open(&Options::sqlite(&today)).unwrap();
    fill(&store).await;
    let expected = told(&store).await;
    let used = store.tool_use(at(0)).await.unwrap();
    assert!(used.len() == 1 && used[0].calls == 3, "{used:?}");
    store.close().await;
    older(&old, &today);
    let read_only = Store::open(&Options::sqlite(&old).read_only()).map(|_| ());
    assert_eq!(read_only, Err(Error::OlderSchema { found: 3, known: 8 }));
    for time in ["brought up to date", "opened again"] {
        let store = Store::open(&Options::sqlite(&old)).unwrap();
        for ((name, found), (_, expected)) in told(&store).await.into_iter().zip(&expected) {
            assert_eq!(&found, expected, "{time}: {name}");
        }
        tools_are(&store, &used, time).await;
        store.integrity().await.unwrap();
        assert_eq!(backups(folder.path()), ["old.db.before-0004.bak"], "{time}");
        store.close().await;
    }
    // It goes on as if it had never been older: with the next place, the next count, and words that are found.
    let store = Store::open(&Options::sqlite(&old)).unwrap();
    let before = store.safe_position().await.unwrap();
    let claim = claimed(&store, 9).await;
    // Whoever wrote before still does.
    let taken = Record::Started(call(9, 8, ToolKind::Write, 6));
    assert_eq!(
        store.append(batch(&claim, vec![taken])).await,
        Err(Error::WriterTaken {
            resource: resource(6),
            session: session_id(1)
        })
    );
    let write = call(9, 9, ToolKind::Write, 5);
    let records = vec![Record::Started(write), refused(9, ErrorCode::FsmBlocked)];
    store.append(batch(&claim, records)).await.unwrap();
    let events = store.feed_page(before, &[], 100).await.unwrap().events;
    assert!(
        events.first().is_some_and(|event| event.position > before),
        "{events:?}"
    );
    let query = SessionQuery {
        search: Some("disk of node 9".to_owned()),
        limit: 10,
        ..SessionQuery::default()
    };
    let found = store.session_page(&query).await.unwrap();
    let counted: Vec<(u32, u32)> = found
        .sessions
        .iter()
        .map(|listed| (listed.tally.writes, listed.tally.refusals))
        .collect();
    assert_eq!(counted, [(1, 1)]);
    let on: Vec<_> = store.calls_on(&resource(5), 10).await.unwrap();
    let sessions: Vec<_> = on.into_iter().map(|(session, _)| session).collect();
    assert_eq!(sessions, [session_id(9), session_id(1), session_id(1)]);
}

#[test]
fn what_was_learned_before_the_lists_is_backed_up_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (today, old) = (folder.path().join("today.db"), folder.path().join("old.db"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(&Options::sqlite(&today)).unwrap();
        fill(&store).await;
        store.close().await;
        older(&old, &today);
        Store::open(&Options::sqlite(&old)).unwrap().close().await;
    });
    let count = |path: &Path, table: &str| -> i64 {
        let conn = Connection::open(path).unwrap();
        let sql = format!("SELECT count(*) FROM {table}");
        conn.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    let backup = folder.path().join("old.db.before-0004.bak");
    let version: u32 = Connection::open(&backup)
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 3);
    for table in [
        "sessions",
        "events",
        "calls",
        "receipts",
        "interactions",
        "holds",
        "audit",
    ] {
        assert_eq!(count(&backup, table), count(&today, table), "{table}");
    }
}
