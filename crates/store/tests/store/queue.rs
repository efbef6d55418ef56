//! The queue: who works on what, how many at once, and what happens when a worker is gone.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::*;
use interlock_protocol::{SessionId, Status, ToolKind};
use interlock_store::{
    Cancelled, Concurrency, Error, NewSession, Options, QueueLimits, Record, Store, Submitted,
};

async fn stands(store: &Store, session: u64) -> Status {
    store.session(&session_id(session)).await.unwrap().status
}

#[tokio::test]
async fn the_most_important_goes_first_then_the_oldest() {
    let store = memory();
    for (number, priority) in [(1, 0), (2, 5), (3, -1), (4, 5), (5, 0)] {
        let session = NewSession {
            priority,
            ..new_session(number)
        };
        store.submit(session, &ROOM).await.unwrap();
    }
    let mut order = Vec::new();
    while let Some((claim, session)) = store.claim_next(&worker(1), at(1), MANY).await.unwrap() {
        assert_eq!(claim.session, session.submitted.id);
        assert_eq!(session.worker, Some(worker(1)));
        order.push(claim.session);
    }
    assert_eq!(order, [2, 4, 1, 5, 3].map(session_id));
}

#[tokio::test]
async fn the_same_key_is_the_same_session_and_a_full_queue_says_so() {
    let store = memory();
    let keyed = |number| NewSession {
        idempotency_key: Some("alert-7".to_owned()),
        ..new_session(number)
    };
    let two = QueueLimits { max_pending: 2 };
    assert_eq!(store.submit(keyed(1), &two).await, Ok(Submitted::New));
    assert_eq!(store.submit(new_session(2), &two).await, Ok(Submitted::New));
    assert_eq!(
        store.submit(new_session(3), &two).await,
        Err(Error::QueueFull { max: 2 })
    );
    let known = Submitted::Duplicate(session_id(1));
    assert_eq!(
        store.submit(keyed(4), &two).await,
        Ok(known),
        "known, though it is full"
    );
    assert!(matches!(
        store.submit(new_session(2), &ROOM).await,
        Err(Error::Duplicate { what: "session", .. })
    ));
    store.claim_next(&worker(1), at(1), MANY).await.unwrap();
    assert_eq!(store.submit(new_session(3), &two).await, Ok(Submitted::New));
}

/// Two processes' worth of handles, many tasks each, one file: every session is claimed once, and never too many at
/// the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn each_session_is_claimed_once_and_never_too_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let stores = [Store::open(&options).unwrap(), Store::open(&options).unwrap()];
    for number in 0..200 {
        stores[0].submit(new_session(number), &ROOM).await.unwrap();
    }
    let limits = Concurrency {
        worker: 4,
        overall: Some(6),
    };
    let workers: Vec<_> = (0..8)
        .map(|number| {
            let store = stores[number % 2].clone();
            let me = worker((number % 2) as u64);
            tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let Some((claim, _)) = store.claim_next(&me, at(1), limits).await.unwrap() else {
                        let waiting = store.sessions(&pending()).await.unwrap();
                        if waiting.is_empty() {
                            return mine;
                        }
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        continue;
                    };
                    let working = store.sessions(&working()).await.unwrap();
                    assert!(working.len() <= 6, "{} at once", working.len());
                    for one in [worker(0), worker(1)] {
                        let own = working
                            .iter()
                            .filter(|session| session.worker.as_ref() == Some(&one));
                        assert!(own.count() <= 4);
                    }
                    store
                        .append(batch(&claim, vec![status(Status::Completed)]))
                        .await
                        .unwrap();
                    mine.push(claim.session);
                }
            })
        })
        .collect();
    let mut claims: BTreeMap<SessionId, u32> = BTreeMap::new();
    for worker in workers {
        for session in worker.await.unwrap() {
            *claims.entry(session).or_default() += 1;
        }
    }
    assert_eq!(claims.len(), 200);
    assert!(claims.values().all(|times| *times == 1));
}

fn filter(statuses: Vec<Status>) -> interlock_store::Filter {
    interlock_store::Filter {
        statuses,
        limit: 1_000,
        ..interlock_store::Filter::default()
    }
}

fn pending() -> interlock_store::Filter {
    filter(vec![Status::Pending])
}

fn working() -> interlock_store::Filter {
    filter(vec![Status::InProgress, Status::Cancelling])
}

#[tokio::test]
async fn a_session_of_a_dead_worker_is_taken_over_and_the_dead_can_write_no_more() {
    let store = memory();
    let old = claimed(&store, 1).await;
    let cancelling = claimed(&store, 2).await;
    store.request_cancel(&session_id(2), None, at(2)).await.unwrap();
    let alive = claimed(&store, 3).await;
    store.release(&alive, Status::Pending, at(2)).await.unwrap();
    let alive = store.claim(&session_id(3), &worker(2), at(2)).await.unwrap();
    store.heartbeat(&worker(2), at(99)).await.unwrap();

    let stale = Duration::from_secs(30);
    assert_eq!(store.take_over(at(20), stale).await.unwrap(), [], "not stale yet");
    let left = store.take_over(at(100), stale).await.unwrap();
    assert_eq!(left, [session_id(1), session_id(2)]);
    assert_eq!(stands(&store, 1).await, Status::Pending);
    for dead in [&old, &cancelling] {
        let lost = Error::ClaimLost {
            session: dead.session.clone(),
        };
        assert_eq!(
            store.append(batch(dead, vec![event("late")])).await,
            Err(lost.clone())
        );
        assert_eq!(store.release(dead, Status::Completed, at(101)).await, Err(lost));
    }
    store.append(batch(&alive, vec![event("alive")])).await.unwrap();

    let new = store.claim(&session_id(1), &worker(2), at(101)).await.unwrap();
    assert!(new.epoch > old.epoch);
    store.append(batch(&new, vec![event("goes on")])).await.unwrap();
    let late = store.append(batch(&old, vec![event("late")])).await;
    assert!(matches!(late, Err(Error::ClaimLost { .. })));
    store.claim(&session_id(2), &worker(2), at(101)).await.unwrap();
    assert_eq!(stands(&store, 2).await, Status::Cancelling, "still to be stopped");
    let told: Vec<String> = texts(&store, 1).await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(
        told,
        [
            "created What fills the disk of node 1?",
            "session.status in_progress",
            "session.status pending",
            "session.status in_progress",
            "goes on"
        ],
        "every change of status is in the record"
    );
}

#[tokio::test]
async fn what_a_living_worker_let_go_of_goes_back_to_the_queue() {
    let store = memory();
    let broken = claimed(&store, 1).await;
    claimed(&store, 2).await;
    let idle = Duration::from_secs(30);
    let running = [session_id(2)];
    let early = store.put_back_idle(&worker(1), &running, at(10), idle).await;
    assert_eq!(early, Ok(Vec::new()), "perhaps it is just beginning");
    assert_eq!(
        store.put_back_idle(&worker(2), &[], at(60), idle).await,
        Ok(Vec::new())
    );
    let back = store.put_back_idle(&worker(1), &running, at(60), idle).await;
    assert_eq!(back, Ok(vec![session_id(1)]));
    let late = store.append(batch(&broken, vec![event("late")])).await;
    assert!(matches!(late, Err(Error::ClaimLost { .. })));
}

#[tokio::test]
async fn a_session_can_be_stopped_wherever_it_stands() {
    let store = memory();
    let by = "ada".parse().unwrap();
    let cancel = |session: u64| {
        let (store, by) = (&store, &by);
        async move { store.request_cancel(&session_id(session), Some(by), at(9)).await }
    };

    store.submit(new_session(1), &ROOM).await.unwrap();
    assert_eq!(cancel(1).await, Ok(Cancelled::Now));
    assert_eq!(stands(&store, 1).await, Status::Cancelled);
    assert_eq!(cancel(1).await, Ok(Cancelled::Ended));
    assert_eq!(texts(&store, 1).await[1].1, "session.completed cancelled");

    let working = claimed(&store, 2).await;
    assert_eq!(cancel(2).await, Ok(Cancelled::Requested));
    assert_eq!(stands(&store, 2).await, Status::Cancelling);
    assert_eq!(store.cancel_requested(&session_id(2)).await, Ok(true));
    store
        .append(batch(&working, vec![status(Status::InProgress)]))
        .await
        .unwrap();
    assert_eq!(
        stands(&store, 2).await,
        Status::Cancelling,
        "it does not come back by itself"
    );
    store
        .append(batch(&working, vec![status(Status::Cancelled)]))
        .await
        .unwrap();
    assert_eq!(stands(&store, 2).await, Status::Cancelled);

    let holding = claimed(&store, 3).await;
    let records = vec![Record::Hold(hold(3, 3)), status(Status::Held)];
    store.append(batch(&holding, records)).await.unwrap();
    assert_eq!(cancel(3).await, Ok(Cancelled::Requested));
    let (winding, session) = store.claim_next(&worker(2), at(10), MANY).await.unwrap().unwrap();
    assert_eq!(
        (winding.session, session.status),
        (session_id(3), Status::Cancelling)
    );

    let writing = claimed(&store, 4).await;
    let begun = Record::Started(call(4, 4, ToolKind::Write, 4));
    store.append(batch(&writing, vec![begun])).await.unwrap();
    store.take_over(at(1_000), Duration::from_secs(1)).await.unwrap();
    assert_eq!(stands(&store, 4).await, Status::Pending);
    assert_eq!(
        cancel(4).await,
        Ok(Cancelled::Requested),
        "a write must be settled first"
    );
    assert_eq!(stands(&store, 4).await, Status::Pending);

    let sleepy = claimed(&store, 5).await;
    assert_eq!(cancel(5).await, Ok(Cancelled::Requested));
    store
        .append(batch(&sleepy, vec![status(Status::Held)]))
        .await
        .unwrap();
    assert_eq!(
        stands(&store, 5).await,
        Status::Pending,
        "it does not wait for a human any more"
    );
}

#[tokio::test]
async fn a_chat_goes_on_with_its_next_question() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let next = store.submit_input(&session_id(1), "and now?", &ROOM, at(5)).await;
    assert!(
        matches!(next, Err(Error::WrongStatus { .. })),
        "not while it is worked on"
    );
    let answered = Record::Status {
        status: Status::Completed,
        answer: Some("logs".to_owned()),
        error: None,
    };
    store.append(batch(&claim, vec![answered])).await.unwrap();
    store.release(&claim, Status::Completed, at(4)).await.unwrap();
    let late = store.append(batch(&claim, vec![event("late")])).await;
    assert!(
        matches!(late, Err(Error::ClaimLost { .. })),
        "a status ends the claim"
    );

    store
        .submit_input(&session_id(1), "and now?", &ROOM, at(5))
        .await
        .unwrap();
    let (claim, session) = store.claim_next(&worker(1), at(6), MANY).await.unwrap().unwrap();
    assert_eq!(claim.epoch, 2);
    assert_eq!(session.submitted.input, "and now?");
    assert_eq!(session.answer.as_deref(), Some("logs"));
    assert_eq!(session.completed_at, None);
}

#[tokio::test]
async fn only_what_waits_can_be_claimed_or_put_back() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let again = store.claim(&session_id(1), &worker(2), at(2)).await;
    assert_eq!(
        again,
        Err(Error::WrongStatus {
            session: session_id(1),
            status: Status::InProgress,
            wanted: "claimed"
        })
    );
    store.resubmit(&session_id(1), at(2)).await.unwrap();
    assert_eq!(stands(&store, 1).await, Status::InProgress, "nothing to put back");
    store
        .append(batch(&claim, vec![status(Status::Held)]))
        .await
        .unwrap();
    store.resubmit(&session_id(1), at(3)).await.unwrap();
    assert_eq!(stands(&store, 1).await, Status::Pending);
    let claim = store.claim(&session_id(1), &worker(2), at(3)).await.unwrap();
    store.release(&claim, Status::Failed, at(4)).await.unwrap();
    let again = store.claim(&session_id(1), &worker(2), at(5)).await;
    assert!(
        matches!(again, Err(Error::WrongStatus { .. })),
        "what has ended is not done again by accident"
    );
    let (claim, stood) = store.reopen(&session_id(1), &worker(2), at(5)).await.unwrap();
    assert_eq!(stood, Status::Failed);
    assert!(store.reopen(&session_id(1), &worker(3), at(5)).await.is_err());
    store.append(batch(&claim, vec![status(stood)])).await.unwrap();
    let ended = store.resubmit(&session_id(1), at(5)).await;
    assert!(matches!(ended, Err(Error::WrongStatus { .. })));
    assert!(matches!(
        store.resubmit(&session_id(9), at(5)).await,
        Err(Error::NotFound { .. })
    ));
}

#[tokio::test]
async fn a_worker_that_waits_is_woken_from_here_and_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let here = Store::open(&options).unwrap();
    let elsewhere = Store::open(&options).unwrap();
    let long = Duration::from_mins(1);
    let mut work = here.work();

    here.submit(new_session(1), &ROOM).await.unwrap();
    tokio::time::timeout(Duration::from_millis(200), work.wait(long))
        .await
        .expect("what happened before waiting is not missed")
        .unwrap();
    // The first look at the file sees what was written so far.
    work.wait(long).await.unwrap();
    let mut waiting = Box::pin(work.wait(long));
    assert!(
        tokio::time::timeout(Duration::from_millis(600), &mut waiting)
            .await
            .is_err(),
        "nothing happens"
    );
    elsewhere.submit(new_session(2), &ROOM).await.unwrap();
    tokio::time::timeout(Duration::from_secs(5), waiting)
        .await
        .unwrap()
        .unwrap();
}
