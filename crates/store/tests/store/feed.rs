//! Every event of every session once, in the order in which they were kept.

use std::time::Duration;

use interlock_protocol::{Event, EventBody, Sequence, Status};
use interlock_store::{Batch, Feed, Options, Placed, Record, Retention, Store};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::*;

fn hash() -> String {
    "0".repeat(64)
}

/// One of every kind, with whatever needs care in text.
fn kinds() -> Vec<EventBody> {
    let receipt = serde_json::to_value(
        match finished(&call(1, 1, interlock_protocol::ToolKind::Read, 5)) {
            Record::Finished { receipt, .. } => receipt,
            other => panic!("{other:?}"),
        },
    )
    .unwrap();
    let expectation = serde_json::to_value(interlock_protocol::Expectation::FreeForm).unwrap();
    let refused = json!({ "answer": "refused", "code": "NOT_FOUND", "rule": "resolution", "message": "\"no\" \\ é\n",
        "auto_recoverable": true, "details": { "z": 1.5, "a": [null, u64::MAX] } });
    let bodies: Vec<(&str, Value)> = vec![
        (
            "session.created",
            json!({ "kind": "chat", "title": "a \"b\" {c}", "by": "Zoë" }),
        ),
        ("session.status", json!({ "status": "held" })),
        ("session.completed", json!({ "status": "completed" })),
        ("stage.started", json!({ "name": "look" })),
        ("stage.completed", json!({ "status": "failed" })),
        ("execution.started", json!({ "agent": "operator" })),
        ("execution.completed", json!({ "status": "timed_out" })),
        (
            "proposal.received",
            json!({ "proposal": { "type": "tool_call", "id": "call_1", "tool": "infra_read",
            "arguments": { "z": 1, "a": { "y": 0.1, "x": "\u{2028}" } } } }),
        ),
        ("decision.made", json!({ "call": "call_1", "decision": refused })),
        (
            "hold.opened",
            json!({ "hold": "hold_1", "call": "call_1", "tool": "t", "resource": "lxc:delly:1",
            "plan_hash": hash(), "expires_at": "2027-01-15T08:00:00.1Z" }),
        ),
        (
            "hold.approved",
            json!({ "hold": "hold_1", "by": "ada", "plan_hash": hash() }),
        ),
        (
            "hold.denied",
            json!({ "hold": "hold_1", "by": "ada", "reason": "no" }),
        ),
        (
            "hold.edited",
            json!({ "hold": "h", "by": "ada", "old_plan_hash": hash(), "new_plan_hash": hash() }),
        ),
        ("hold.expired", json!({ "hold": "hold_1" })),
        (
            "call.started",
            json!({ "call": "c", "permit": "p", "tool": "t", "kind": "write", "plan_hash": hash() }),
        ),
        ("receipt.recorded", json!({ "receipt": receipt })),
        (
            "evidence.recorded",
            json!({ "evidence": "e", "call": "c", "taken_at": "2027-01-15T08:00:00Z",
            "hash": hash() }),
        ),
        (
            "verification.required",
            json!({ "resource": "lxc:delly:1", "permit": "p", "expectation": expectation,
            "deadline": "2027-01-15T08:00:00Z" }),
        ),
        (
            "verification.completed",
            json!({ "resource": "lxc:delly:1", "outcome": "verified" }),
        ),
        ("answer.given", json!({ "text": "}{\"type\":\"x\"" })),
        ("answer.replaced", json!({ "category": "restart", "text": "" })),
        ("context.reset", json!({ "kept": 3 })),
        ("control.changed", json!({ "level": "read_only", "by": "ada" })),
        ("mode.changed", json!({ "mode": "lockdown" })),
    ];
    bodies
        .into_iter()
        .map(|(kind, data)| {
            let body = json!({ "type": kind, "data": data });
            serde_json::from_value(body).unwrap_or_else(|error| panic!("{kind}: {error}"))
        })
        .collect()
}

async fn whole(store: &Store) -> Vec<Placed> {
    store.feed_page(0, &[], 1_000_000).await.unwrap().events
}

#[tokio::test]
async fn the_text_of_every_kind_is_what_the_event_is_written_as() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let mut told: Vec<Event> = store.events(&session_id(1), Sequence::START, 10).await.unwrap();
    for (number, body) in kinds().into_iter().enumerate() {
        let stage = (number % 2 == 0).then(|| "stg_\"\\1".parse().unwrap());
        let execution = (number % 3 == 0).then(|| execution_id(1));
        let record = Record::Event {
            stage,
            execution,
            body,
        };
        told.extend(store.append(batch(&claim, vec![record])).await.unwrap().events);
    }
    let mut names: Vec<&str> = told.iter().map(|event| event.body.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 24, "every kind there is");
    let placed = whole(&store).await;
    assert_eq!(placed.len(), told.len());
    for (placed, event) in placed.iter().zip(&told) {
        assert_eq!(placed.json, serde_json::to_string(event).unwrap());
        assert_eq!(placed.kind, event.body.name());
        assert_eq!(
            (&placed.session, placed.sequence),
            (&event.session, event.sequence)
        );
    }
    let of_session = store
        .session_events(&session_id(1), Sequence::new(1), 5)
        .await
        .unwrap();
    assert_eq!(of_session, placed[1..6]);
}

#[tokio::test]
async fn kinds_choose_and_places_go_on() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    for body in kinds() {
        let record = Record::Event {
            stage: None,
            execution: None,
            body,
        };
        store.append(batch(&claim, vec![record])).await.unwrap();
    }
    let all = whole(&store).await;
    let of_lists = [
        "session.created",
        "session.status",
        "session.completed",
        "hold.opened",
        "hold.approved",
        "hold.denied",
        "hold.edited",
        "hold.expired",
    ];
    let choices: [&[&str]; 5] = [
        &of_lists,
        &["hold.opened"],
        &["decision.made"],
        &["hold.opened", "answer.given"],
        &["x"],
    ];
    for kinds in choices {
        let expected: Vec<Placed> = all
            .iter()
            .filter(|event| kinds.contains(&event.kind.as_str()))
            .cloned()
            .collect();
        assert_eq!(
            store.feed_page(0, kinds, 100).await.unwrap().events,
            expected,
            "{kinds:?}"
        );
        let mut paged = Vec::new();
        let mut after = 0;
        loop {
            let page = store.feed_page(after, kinds, 2).await.unwrap().events;
            let Some(last) = page.last() else { break };
            after = last.position;
            paged.extend(page);
        }
        assert_eq!(paged, expected, "{kinds:?}");
    }
}

/// What a feed has, up to a number of events.
async fn drain(feed: &mut Feed, events: usize) -> Vec<Placed> {
    let mut all = Vec::new();
    while all.len() < events {
        let next = tokio::time::timeout(Duration::from_secs(10), feed.next(3)).await;
        let next = next
            .unwrap_or_else(|_| panic!("{} of {events} came", all.len()))
            .unwrap();
        assert!(!next.is_empty() && next.len() <= 3);
        all.extend(next);
    }
    all
}

#[tokio::test]
async fn a_feed_begins_now_and_wakes_for_whatever_is_told() {
    let store = memory();
    claimed(&store, 1).await;
    let mut feed = store.feed().await.unwrap();
    assert_eq!(feed.position(), 2);
    // A feed that waits is woken by each kind of telling; in memory nothing else wakes it.
    let waiting = tokio::spawn(async move { (drain(&mut feed, 6).await, feed) });
    tokio::task::yield_now().await;
    let claim = claimed(&store, 2).await;
    store.append(batch(&claim, vec![event("a")])).await.unwrap();
    store.request_cancel(&session_id(2), None, at(3)).await.unwrap();
    store.release(&claim, Status::Cancelled, at(4)).await.unwrap();
    store.submit(new_session(3), &ROOM).await.unwrap();
    let (came, feed) = waiting.await.unwrap();
    let kinds: Vec<&str> = came.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(
        kinds,
        [
            "session.created",
            "session.status",
            "answer.given",
            "session.status",
            "session.completed",
            "session.created"
        ]
    );
    assert_eq!(feed.position(), store.safe_position().await.unwrap());
}

#[tokio::test]
async fn what_the_store_adds_to_a_batch_comes_after_it() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let open = hold(1, 1);
    let held = vec![Record::Hold(open.clone()), event("waits"), status(Status::Held)];
    store.append(batch(&claim, held)).await.unwrap();
    let yes = vec![Record::Hold(approved(open, "ada")), event("yes")];
    store.append(unclaimed(1, yes)).await.unwrap();
    let numbers: Vec<u64> = whole(&store)
        .await
        .iter()
        .map(|event| event.sequence.get())
        .collect();
    let in_order: Vec<u64> = (1..).take(numbers.len()).collect();
    assert_eq!(numbers, in_order);
}

#[tokio::test]
async fn whoever_stops_waiting_misses_nothing() {
    let store = memory();
    let mut feed = store.feed().await.unwrap();
    for number in 1..20 {
        let (_, stopped) = tokio::join!(store.submit(new_session(number), &ROOM), async {
            tokio::time::timeout(Duration::ZERO, feed.next(1)).await.is_err()
        });
        assert!(stopped || feed.position() > 0);
    }
    let mut rest = store.feed_after(feed.position());
    let left = 19 - usize::try_from(feed.position()).unwrap();
    assert_eq!(drain(&mut feed, left).await, drain(&mut rest, left).await);
}

#[tokio::test]
async fn what_another_process_keeps_comes_too() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let (here, there) = (Store::open(&options).unwrap(), Store::open(&options).unwrap());
    let mut feed = here.feed().await.unwrap();
    let waiting = tokio::spawn(async move { drain(&mut feed, 20).await });
    for number in 1..=10 {
        let store = if number % 2 == 0 { &here } else { &there };
        claimed(store, number).await;
    }
    assert_eq!(waiting.await.unwrap(), whole(&here).await);
}

/// Positions are settled because `SQLite` lets one connection write at a time, whichever process it is of.
#[tokio::test]
async fn nobody_overtakes_a_transaction_that_commits_late() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = Store::open(&Options::sqlite(&path)).unwrap();
    claimed(&store, 1).await;
    let mut feed = store.feed().await.unwrap();
    let before = feed.position();
    let late = rusqlite::Connection::open(&path).unwrap();
    late.execute_batch(
        "BEGIN IMMEDIATE; \
         INSERT INTO events (session, number, at, kind, body) SELECT session, 77, at, kind, body FROM events LIMIT 1;",
    )
    .unwrap();
    let other = store.clone();
    let writing = tokio::spawn(async move { other.submit(new_session(2), &ROOM).await });
    for _ in 0..20 {
        let page = store.feed_page(before, &[], 10).await.unwrap();
        assert_eq!((page.events.len(), page.safe), (0, before));
        assert!(!writing.is_finished(), "it waits for the first to end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    late.execute_batch("COMMIT").unwrap();
    writing.await.unwrap().unwrap();
    let came = drain(&mut feed, 2).await;
    let numbers: Vec<u64> = came.iter().map(|event| event.sequence.get()).collect();
    assert_eq!(numbers, [77, 1]);
    assert_eq!(feed.position(), store.safe_position().await.unwrap());
}

#[tokio::test]
async fn a_filter_does_not_hold_a_reader_back() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    store
        .append(batch(&claim, vec![event("a"), event("b")]))
        .await
        .unwrap();
    let page = store.feed_page(0, &["hold.opened"], 10).await.unwrap();
    assert_eq!((page.events.len(), page.safe), (0, 4));
    let page = store.feed_page(0, &["session.created"], 1).await.unwrap();
    assert_eq!((page.events.len(), page.safe), (1, 1));
}

#[tokio::test]
async fn a_place_is_never_given_twice() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    store
        .append(batch(&claim, vec![event("x"), status(Status::Completed)]))
        .await
        .unwrap();
    let last = store.safe_position().await.unwrap();
    let at_once = Retention {
        sessions_days: Some(0),
        purge_days: Some(0),
    };
    let day = 24 * 60 * 60;
    store.retain(&at_once, at(40 * day)).await.unwrap();
    assert_eq!(store.retain(&at_once, at(80 * day)).await.unwrap().purged, 1);
    assert_eq!(whole(&store).await, []);
    assert_eq!(store.safe_position().await, Ok(last), "positions only grow");
    store.submit(new_session(2), &ROOM).await.unwrap();
    assert_eq!(whole(&store).await[0].position, last + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is kept, by whomever, at the same time: a feed has each session's own events, whole and in order, and
    /// the order of all is the order of their places.
    #[test]
    fn a_feed_is_all_sessions_put_together(turns in prop::collection::vec((1..5_u64, 1..4_u8, any::<bool>()), 1..30)) {
        let folder = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::open(&Options::sqlite(folder.path().join("a.db"))).unwrap();
            let mut feed = store.feed().await.unwrap();
            let mut claims = Vec::new();
            for session in 1..5 {
                claims.push(claimed(&store, session).await);
            }
            let expected = 8 + turns.iter().filter(|turn| !turn.2).map(|turn| usize::from(turn.1)).sum::<usize>();
            let waiting = tokio::spawn(async move { drain(&mut feed, expected).await });
            let tasks: Vec<_> = turns.into_iter().enumerate().map(|(place, (session, count, refused))| {
                let mut records: Vec<Record> = (0..count).map(|number| event(&format!("{place}.{number}"))).collect();
                if refused {
                    let twice = Record::Message(message(session, 1_000, "never"));
                    records.extend([twice.clone(), twice]);
                }
                let batch: Batch = batch(&claims[usize::try_from(session).unwrap() - 1], records);
                let store = store.clone();
                tokio::spawn(async move { store.append(batch).await.is_ok() != refused })
            }).collect();
            for task in tasks {
                prop_assert!(task.await.unwrap());
            }
            let came = waiting.await.unwrap();
            prop_assert_eq!(came.len(), expected);
            prop_assert!(came.windows(2).all(|two| two[0].position < two[1].position));
            for session in 1..5 {
                let own: Vec<&Placed> = came.iter().filter(|event| event.session == session_id(session)).collect();
                let kept = store.session_events(&session_id(session), Sequence::START, 1_000).await.unwrap();
                prop_assert_eq!(own, kept.iter().collect::<Vec<_>>());
            }
            Ok(())
        })?;
    }
}
