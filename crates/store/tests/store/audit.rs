//! Nobody takes anything out of the audit log unseen.

use std::path::Path;

use interlock_protocol::{ContentHash, Sequence, Status};
use interlock_store::{AuditFilter, Deed, Options, Retention, Store};
use rusqlite::Connection;
use serde_json::json;

use crate::marks::forger;
use crate::support::*;

fn deed(number: i64) -> Deed {
    Deed {
        at: at(number),
        actor: (number % 3 != 0).then(|| {
            ["ada", "eve"][usize::try_from(number % 2).unwrap()]
                .parse()
                .unwrap()
        }),
        action: ["hold.approved", "hold.denied", "user.created"][usize::try_from(number % 3).unwrap()]
            .to_owned(),
        subject: (number % 2 == 0).then(|| format!("hold_{number}")),
        details: json!({ "number": number, "share": 0.1, "text": "\"é\u{1f980}" }),
    }
}

async fn filled(path: &Path, entries: i64) -> Store {
    let store = Store::open(&Options::sqlite(path)).unwrap();
    for number in 1..=entries {
        store.audit(deed(number)).await.unwrap();
    }
    store
}

#[tokio::test]
async fn entries_come_back_newest_first_and_hang_together() {
    let store = memory();
    let empty = store.verify_audit().await.unwrap();
    assert_eq!(
        (empty.entries, empty.head, empty.broken),
        (0, ContentHash::of(""), None)
    );
    let mut added = Vec::new();
    for number in 1..=9 {
        added.insert(0, store.audit(deed(number)).await.unwrap());
    }
    assert_eq!(added[8].previous, ContentHash::of(""));
    assert!(added.windows(2).all(|two| two[0].previous == two[1].hash));
    let numbers = |filter: AuditFilter| {
        let store = store.clone();
        async move {
            let found = store
                .audit_entries(&AuditFilter { limit: 100, ..filter })
                .await
                .unwrap();
            found.into_iter().map(|entry| entry.number).collect::<Vec<_>>()
        }
    };
    let all = AuditFilter {
        limit: 100,
        ..AuditFilter::default()
    };
    assert_eq!(store.audit_entries(&all).await, Ok(added.clone()));
    let page = AuditFilter {
        limit: 2,
        before: Some(5),
        ..AuditFilter::default()
    };
    assert_eq!(store.audit_entries(&page).await.unwrap(), added[5..7]);
    let of_ada = AuditFilter {
        actor: Some("ada".parse().unwrap()),
        ..AuditFilter::default()
    };
    assert_eq!(numbers(of_ada).await, [8, 4, 2]);
    let holds = AuditFilter {
        action: Some("hold.".to_owned()),
        ..AuditFilter::default()
    };
    assert_eq!(numbers(holds).await, [9, 7, 6, 4, 3, 1]);
    let about = AuditFilter {
        subject: Some("hold_4".to_owned()),
        ..AuditFilter::default()
    };
    assert_eq!(numbers(about).await, [4]);
    let whole = store.verify_audit().await.unwrap();
    assert_eq!(
        (whole.entries, whole.head, whole.broken),
        (9, added[0].hash, None)
    );
}

#[tokio::test]
async fn from_many_tasks_and_processes_there_is_one_chain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let stores = [filled(&path, 0).await, filled(&path, 0).await];
    let tasks: Vec<_> = (0..40_i64)
        .map(|number| {
            let store = stores[usize::try_from(number % 2).unwrap()].clone();
            tokio::spawn(async move { store.audit(deed(number)).await.unwrap().number })
        })
        .collect();
    let mut numbers = Vec::new();
    for task in tasks {
        numbers.push(task.await.unwrap());
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
    let whole = stores[0].verify_audit().await.unwrap();
    assert_eq!((whole.entries, whole.broken), (40, None));
}

#[tokio::test]
async fn the_log_takes_nothing_but_the_next_entry() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = filled(&path, 3).await;
    let raw = Connection::open(&path).unwrap();
    for forbidden in [
        "UPDATE audit SET actor = 'eve' WHERE number = 2",
        "DELETE FROM audit WHERE number = 3",
        "DELETE FROM audit",
        "INSERT OR REPLACE INTO audit SELECT * FROM audit WHERE number = 3",
        "INSERT INTO audit SELECT 9, at, actor, action, subject, details, previous, hash FROM audit WHERE number = 3",
        "INSERT INTO audit SELECT 4, at, actor, action, subject, details, previous, hash FROM audit WHERE number = 3",
        "UPDATE audit_end SET number = 2",
        "UPDATE audit_end SET hash = x'00'",
        "DELETE FROM audit_end",
    ] {
        assert!(raw.execute_batch(forbidden).is_err(), "{forbidden}");
    }
    let whole = store.verify_audit().await.unwrap();
    assert_eq!((whole.entries, whole.broken), (3, None));
}

#[tokio::test]
async fn whoever_goes_around_the_triggers_is_found() {
    let forgeries = [
        ("UPDATE audit SET actor = 'mallory' WHERE number = 3", 3),
        ("UPDATE audit SET actor = NULL WHERE number = 4", 4),
        ("UPDATE audit SET at = at + 1 WHERE number = 1", 1),
        ("UPDATE audit SET action = 'hold.approved' WHERE number = 4", 4),
        ("UPDATE audit SET subject = 'hold_9' WHERE number = 2", 2),
        ("UPDATE audit SET subject = '' WHERE number = 1", 1),
        ("UPDATE audit SET details = '{}' WHERE number = 5", 5),
        ("UPDATE audit SET hash = zeroblob(32) WHERE number = 5", 5),
        ("UPDATE audit SET previous = zeroblob(32) WHERE number = 2", 2),
        ("DELETE FROM audit WHERE number = 1", 1),
        ("DELETE FROM audit WHERE number = 3", 3),
        ("DELETE FROM audit WHERE number = 5", 5),
        ("DELETE FROM audit", 1),
        // Places changed, and a gap closed.
        (
            "UPDATE audit SET number = -number; UPDATE audit SET number = CASE number WHEN -2 THEN 3 WHEN -3 THEN 2 ELSE -number END",
            2,
        ),
        (
            "DELETE FROM audit WHERE number = 2; UPDATE audit SET number = number - 1 WHERE number > 2",
            2,
        ),
        // An entry twice at the end.
        (
            "INSERT INTO audit SELECT 6, at, actor, action, subject, details, previous, hash FROM audit WHERE number = 5",
            6,
        ),
    ];
    for (forgery, place) in forgeries {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        filled(&path, 5).await.close().await;
        forger(&path).execute_batch(forgery).unwrap();
        let store = Store::open(&Options::sqlite(&path)).unwrap();
        let broken = store.verify_audit().await.unwrap().broken;
        assert_eq!(
            broken.as_ref().map(|(place, _)| *place),
            Some(place),
            "{forgery}: {broken:?}"
        );
    }
}

#[tokio::test]
async fn retention_leaves_the_log_alone() {
    let store = memory();
    store.audit(deed(1)).await.unwrap();
    let claim = claimed(&store, 1).await;
    store
        .append(batch(&claim, vec![event("x"), status(Status::Completed)]))
        .await
        .unwrap();
    let at_once = Retention {
        sessions_days: Some(0),
        purge_days: Some(0),
    };
    let day = 24 * 60 * 60;
    store.retain(&at_once, at(40 * day)).await.unwrap();
    store.retain(&at_once, at(80 * day)).await.unwrap();
    assert!(
        store.events(&session_id(1), Sequence::START, 1).await.is_err(),
        "it was purged"
    );
    assert_eq!(store.verify_audit().await.unwrap().entries, 1);
}
