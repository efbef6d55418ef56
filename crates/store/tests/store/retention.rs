//! What ended is deleted for people after a time, and removed for good after another.

use interlock_protocol::{Sequence, Status, ToolKind};
use interlock_store::{Error, Filter, NewSession, Record, Retained, Retention, Store, Submitted};

use crate::support::*;

const DAY: i64 = 24 * 60 * 60;
const KEEP: Retention = Retention {
    sessions_days: Some(30),
    purge_days: Some(7),
};

/// A session with some of everything, ended on a day.
async fn ended(store: &Store, number: u64, day: i64) {
    let claim = claimed(store, number).await;
    let read = call(number, 1, ToolKind::Read, 5);
    let mut records: Vec<Record> = (0..1_200).map(|part| event(&part.to_string())).collect();
    records.extend([
        Record::Run(run(number)),
        Record::Stage(stage(number)),
        Record::Execution(execution(number)),
        Record::Message(message(number, 1, "text")),
        Record::Timeline(entry(number, 1, "completed")),
        Record::Interaction(interaction(number, 1, b"", b"body")),
        Record::Step(step(number, 1)),
        Record::Started(read.clone()),
        finished(&read),
        Record::Evidence(evidence(number, 1, "full")),
        Record::Hold(approved(hold(number, number), "ada")),
        Record::Token(
            hold(number, number)
                .open_for("ada".parse().unwrap(), [u8::try_from(number).unwrap(); 32], at(3))
                .1,
        ),
        status(Status::Completed),
    ]);
    let mut batch = batch(&claim, records);
    batch.at = at(day * DAY);
    store.append(batch).await.unwrap();
}

async fn listed(store: &Store) -> Vec<interlock_protocol::SessionId> {
    let all = Filter {
        limit: 100,
        ..Filter::default()
    };
    let sessions = store.sessions(&all).await.unwrap();
    sessions.into_iter().map(|session| session.submitted.id).collect()
}

#[tokio::test]
async fn only_what_ended_long_ago_is_forgotten_and_then_all_of_it() {
    let store = memory();
    ended(&store, 1, 0).await;
    ended(&store, 2, 20).await;
    claimed(&store, 3).await;

    let nothing = Retained::default();
    assert_eq!(store.retain(&KEEP, at(29 * DAY)).await, Ok(nothing));
    let one = Retained {
        soft_deleted: 1,
        purged: 0,
    };
    assert_eq!(store.retain(&KEEP, at(31 * DAY)).await, Ok(one));
    assert_eq!(listed(&store).await, [session_id(3), session_id(2)]);
    let kept = store
        .events(&session_id(1), Sequence::START, 9_999)
        .await
        .unwrap();
    assert_eq!(kept.len(), 1_202, "deleted for people, and still there");
    assert_eq!(store.retain(&KEEP, at(37 * DAY)).await, Ok(nothing));
    let gone = Retained {
        soft_deleted: 0,
        purged: 1,
    };
    assert_eq!(store.retain(&KEEP, at(39 * DAY)).await, Ok(gone));
    assert!(matches!(
        store.session(&session_id(1)).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        store.find_run(run_id(1).as_str()).await,
        Err(Error::NotFound { .. })
    ));
    assert!(matches!(
        store.hold(&hold_id(1)).await,
        Err(Error::NotFound { .. })
    ));
    store.integrity().await.unwrap();
    // The others are whole, and the one that is worked on is never touched.
    assert_eq!(store.snapshot(&session_id(2)).await.unwrap().calls.len(), 1);
    store.retain(&KEEP, at(9_999 * DAY)).await.unwrap();
    store.retain(&KEEP, at(19_999 * DAY)).await.unwrap();
    assert_eq!(listed(&store).await, [session_id(3)]);
    let never = Retention {
        sessions_days: None,
        purge_days: None,
    };
    assert_eq!(store.retain(&never, at(19_999 * DAY)).await, Ok(nothing));
}

#[tokio::test]
async fn a_deletion_can_be_taken_back_until_it_is_final() {
    let store = memory();
    let keyed = NewSession {
        idempotency_key: Some("alert-7".to_owned()),
        ..new_session(1)
    };
    store.submit(keyed.clone(), &ROOM).await.unwrap();
    let early = store.soft_delete(&session_id(1), at(1)).await;
    assert!(
        matches!(early, Err(Error::WrongStatus { .. })),
        "not before it has ended"
    );
    store.request_cancel(&session_id(1), None, at(1)).await.unwrap();
    store.soft_delete(&session_id(1), at(2)).await.unwrap();
    assert_eq!(listed(&store).await, []);
    store.restore(&session_id(1)).await.unwrap();
    assert_eq!(listed(&store).await, [session_id(1)]);

    let known = Submitted::Duplicate(session_id(1));
    assert_eq!(store.submit(keyed.clone(), &ROOM).await, Ok(known));
    store.soft_delete(&session_id(1), at(2)).await.unwrap();
    store.retain(&KEEP, at(8 * DAY)).await.unwrap();
    assert!(matches!(
        store.restore(&session_id(1)).await,
        Err(Error::NotFound { .. })
    ));
    assert_eq!(
        store.submit(keyed, &ROOM).await,
        Ok(Submitted::New),
        "its key is free again"
    );
}
