//! A session whose rows are not those that were signed: every surface says so first, and nobody goes on with it.

use interlock_protocol::SessionId;
use interlock_store::{AuditFilter, NewSession, QueueLimits};
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use crate::place::{Place, Wish, text};

/// How the first line of a head begins.
const CHANGED: &str = "The record of this session was changed outside Interlock (";

/// Every table that holds a part of a session, and a column of it.
const CHANGES: &[(&str, &str)] = &[
    ("sessions", "title_key"),
    ("session_texts", "answer"),
    ("events", "body"),
    ("decisions", "answer"),
    ("runs", "body"),
    ("stages", "body"),
    ("executions", "body"),
    ("messages", "content"),
    ("timeline", "metadata"),
    ("interactions", "facts"),
    ("usage", "name"),
    ("calls", "body"),
    ("receipts", "body"),
    ("evidence", "body"),
    ("holds", "body"),
    ("tokens", "approver"),
    ("steps", "input"),
];

/// A session in which a write was approved and ran.
async fn ended(place: &Place) -> SessionId {
    let (session, hold) = place.held("ada").await;
    let token = place.open("ada", &hold).await;
    place.approve("ada", &hold, &token).await.ok(200);
    place.work(&session).await;
    session
}

/// What each surface of the API says first about a session: the head, the head of each answer, the document.
async fn first_lines(place: &Place, session: &SessionId) -> Vec<(&'static str, String)> {
    let path = format!("/sessions/{session}");
    let mut said = Vec::new();
    let first = |head: &Value| text(&head["lines"][0], "text").to_owned();
    let detail = place.get("vera", &path).await.ok(200);
    said.push(("detail", first(&detail["head"])));
    let timeline = place.get("vera", &format!("{path}/timeline")).await.ok(200);
    for entry in timeline["entries"].as_array().unwrap() {
        if entry["head"].is_object() {
            said.push(("timeline", first(&entry["head"])));
        }
    }
    let document = place.get("vera", &format!("{path}/markdown")).await.text;
    let (_, ours) = document.split_once("## What was done and read\n\n- ").unwrap();
    let line = ours
        .lines()
        .next()
        .unwrap()
        .trim_start_matches(['✓', '✗', '?', '•', ' ']);
    said.push(("document", line.replace('\\', "")));
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_changed_says_so_first_on_every_surface() {
    let place = Place::new(Wish::default()).await;
    let session = ended(&place).await;
    let whole = first_lines(&place, &session).await;
    assert!(whole.len() >= 3, "{whole:?}");
    for (surface, line) in &whole {
        assert_eq!(line, "1 action was taken.", "{surface}");
    }
    let path = format!("/sessions/{session}");
    let record = place.get("vera", &path).await.ok(200)["head"]["record"].clone();
    assert_eq!(record, json!({"state": "signed", "what": null}));
    let conn = place.forger();
    for (table, column) in CHANGES {
        // One space more at the end: whatever reads it reads the same.
        let kept: Vec<(i64, Sql)> = conn
            .prepare(&format!(
                "SELECT row_number() OVER () - 1, {column} FROM {table} LIMIT 1"
            ))
            .unwrap()
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let [(_, value)] = kept.as_slice() else {
            panic!("{table} is empty")
        };
        let which = format!("{column} IS ?1");
        let sql = format!("UPDATE {table} SET {column} = coalesce({column}, '') || ' ' WHERE {which}");
        assert!(conn.execute(&sql, [value]).unwrap() > 0, "{table}");
        for (surface, line) in first_lines(&place, &session).await {
            assert!(line.starts_with(CHANGED), "{table}.{column}, {surface}: {line}");
        }
        let head = place.get("vera", &path).await.ok(200)["head"].clone();
        assert_eq!(head["record"]["state"], "altered", "{table}");
        assert_eq!(head["lines"][0]["tone"], "failed", "{table}");
        let detail = place.get("vera", &path).await.ok(200);
        assert_eq!(detail["can_ask"], false, "{table}");
        let restored = format!("UPDATE {table} SET {column} = ?1 WHERE {column} = coalesce(?1, '') || ' '");
        assert!(conn.execute(&restored, [value]).unwrap() > 0, "{table}");
        assert_eq!(first_lines(&place, &session).await, whole, "{table}");
    }
}

/// Nothing is done in such a session, the answer says why and what to do, and nobody is said to have asked.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_goes_on_with_a_session_that_was_changed() {
    let place = Place::new(Wish::default()).await;
    let session = ended(&place).await;
    let changed = place
        .forger()
        .execute("UPDATE receipts SET verification = 'failed'", [])
        .unwrap();
    assert!(changed > 0);
    let path = format!("/sessions/{session}/messages");
    let asked = json!({"message": "and now?"});
    let refused = place.post("olga", &path, &asked).await;
    assert_eq!(refused.problem(), (409, "RECORD_ALTERED".to_owned()));
    let problem = refused.json();
    assert!(text(&problem, "detail").contains("receipts"), "{problem:#}");
    assert!(
        text(&problem, "hint").contains("interlock audit verify"),
        "{problem:#}"
    );
    let of_session = AuditFilter {
        subject: Some(session.to_string()),
        limit: 100,
        ..AuditFilter::default()
    };
    let entries = place.store.audit_entries(&of_session).await.unwrap();
    let actions: Vec<&str> = entries.iter().map(|entry| entry.deed.action.as_str()).collect();
    assert_eq!(actions, ["session.altered"]);
    let check = place.get("root", "/audit/verify").await.ok(200);
    assert_eq!(
        (&check["intact"], &check["altered"], &check["sessions"]),
        (&json!(false), &json!([session]), &json!(1)),
        "{check:#}"
    );
    assert!(text(&check, "problem").contains("receipts"), "{check:#}");
}

/// A plan that waits says that it is not the one that was signed, in the list and by itself, before anybody tries to approve it.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_of_a_changed_session_says_so() {
    let place = Place::new(Wish::default()).await;
    let (_, hold) = place.held("ada").await;
    assert_eq!(hold["may_not_because"], json!(null), "{hold:#}");
    let changed = place
        .forger()
        .execute("UPDATE messages SET content = content || ' '", [])
        .unwrap();
    assert!(changed > 0);
    let list = place.get("ada", "/approvals").await.ok(200);
    let path = format!("/approvals/{}", text(&hold, "id"));
    let one = place.get("ada", &path).await.ok(200);
    for form in [&list["approvals"][0], &one] {
        let why = text(form, "may_not_because");
        assert!(
            why.starts_with("The record of this session was changed outside Interlock (messages)."),
            "{why}"
        );
    }
    let opened = place.post("ada", &format!("{path}/open"), &json!({})).await;
    assert_eq!(opened.problem(), (409, "RECORD_ALTERED".to_owned()));
}

/// The sessions of a large store are checked in several requests.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_checked_page_by_page() {
    let place = Place::new(Wish::default()).await;
    let first = place.alert("nginx does not answer").await;
    let submitted = place.store.session(&first).await.unwrap().submitted;
    let room = QueueLimits { max_pending: 10_000 };
    for number in 0..700_u32 {
        let session = NewSession {
            id: format!("ses_{number:032x}").parse().unwrap(),
            fingerprint: None,
            idempotency_key: None,
            ..submitted.clone()
        };
        place.store.submit(session, &room).await.unwrap();
    }
    place
        .forger()
        .execute("UPDATE sessions SET owner = 'eve' WHERE id LIKE '%257'", [])
        .unwrap();
    let (mut checked, mut altered, mut pages) = (0, Vec::new(), 0);
    let mut path = "/audit/verify".to_owned();
    loop {
        let check = place.get("root", &path).await.ok(200);
        pages += 1;
        checked += check["sessions"].as_u64().unwrap();
        altered.extend(check["altered"].as_array().unwrap().clone());
        match check["next"].as_str() {
            Some(next) => path = format!("/audit/verify?after={next}"),
            None => break,
        }
    }
    assert_eq!((checked, pages), (701, 2));
    assert_eq!(altered, [json!(format!("ses_{:032x}", 0x257))]);
    assert_eq!(place.get("root", "/audit/verify?after=").await.status, 400);
}
