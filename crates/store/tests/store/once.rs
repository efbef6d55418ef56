//! What may happen once happens once: whoever asks, in whatever order, from however many processes.

use std::sync::Arc;

use crate::support::*;
use interlock_gate::{ApprovalToken, Hold, HoldStatus, TokenRecord, Writer};
use interlock_protocol::{Outcome, Status, ToolKind, Verification};
use interlock_store::{Claim, Error, Options, Record, Store};

fn token(hold: &Hold, number: u8) -> (ApprovalToken, TokenRecord) {
    hold.open_for("ada".parse().unwrap(), [number; 32], at(3))
}

fn used(mut token: TokenRecord) -> TokenRecord {
    token.used_at = Some(at(4));
    token
}

/// Sessions 1 and 2, claimed; session 1 has a read (permit 1) and a write (permit 2) begun, the write of resource 5.
async fn begun() -> (Store, Claim, Claim) {
    let store = memory();
    let one = claimed(&store, 1).await;
    let two = claimed(&store, 2).await;
    let records = vec![
        Record::Started(call(1, 1, ToolKind::Read, 5)),
        Record::Started(call(1, 2, ToolKind::Write, 5)),
        Record::Hold(hold(1, 1)),
        Record::Token(token(&hold(1, 1), 1).1),
    ];
    store.append(batch(&one, records)).await.unwrap();
    (store, one, two)
}

#[tokio::test]
async fn what_was_done_cannot_be_done_again() {
    let read = call(1, 1, ToolKind::Read, 5);
    let write = call(1, 2, ToolKind::Write, 5);
    let other = call(1, 3, ToolKind::Write, 6);
    let through = |permit| {
        let mut call = call(1, permit, ToolKind::Write, 7 + permit);
        call.hold = Some(hold_id(1));
        call
    };
    let mut elsewhere = through(3);
    elsewhere.hold = Some(hold_id(9));
    let verified = |permit| Record::Verified {
        permit: permit_id(permit),
        outcome: Verification::Verified,
    };
    let abandoned = |permit| Record::Abandoned {
        permit: permit_id(permit),
    };
    let approved_hold = Record::Hold(approved(hold(1, 1), "ada"));
    let mut other_plan = hold(1, 1);
    other_plan.plan.timeout_seconds += 1;
    other_plan.plan_hash = other_plan.plan.hash();
    let used_token = || Record::Token(used(token(&hold(1, 1), 1).1));
    let cases: Vec<(&str, Vec<Record>, Error)> = vec![
        (
            "begun twice",
            vec![Record::Started(read.clone())],
            Error::AlreadyStarted(permit_id(1)),
        ),
        (
            "a second writer",
            vec![Record::Started(call(1, 3, ToolKind::Write, 5))],
            Error::WriterTaken {
                resource: resource(5),
                session: session_id(1),
            },
        ),
        (
            "a receipt for nothing",
            vec![finished(&other)],
            Error::NotStarted(permit_id(3)),
        ),
        (
            "two receipts",
            vec![finished(&write), finished(&write)],
            Error::AlreadyFinished(permit_id(2)),
        ),
        (
            "looked at before its receipt",
            vec![verified(2)],
            Error::NotFinished(permit_id(2)),
        ),
        (
            "looked at twice",
            vec![finished(&write), verified(2), verified(2)],
            Error::AlreadyVerified(permit_id(2)),
        ),
        (
            "abandoned and then done",
            vec![abandoned(2), finished(&write)],
            Error::NotStarted(permit_id(2)),
        ),
        (
            "done and then abandoned",
            vec![finished(&write), abandoned(2)],
            Error::AlreadyFinished(permit_id(2)),
        ),
        (
            "abandoned and then begun",
            vec![abandoned(2), Record::Started(write.clone())],
            Error::AlreadyStarted(permit_id(2)),
        ),
        (
            "abandoned without beginning",
            vec![abandoned(9)],
            Error::NotStarted(permit_id(9)),
        ),
        (
            "decided twice",
            vec![approved_hold.clone(), approved_hold.clone()],
            Error::HoldDecided(hold_id(1)),
        ),
        (
            "pending again",
            vec![approved_hold.clone(), Record::Hold(hold(1, 1))],
            Error::HoldDecided(hold_id(1)),
        ),
        (
            "another plan in the same hold",
            vec![Record::Hold(other_plan)],
            Error::HoldChanged(hold_id(1)),
        ),
        (
            "a token used twice",
            vec![used_token(), used_token()],
            Error::TokenUsed(hold_id(1)),
        ),
        (
            "two calls for one hold",
            vec![Record::Started(through(3)), Record::Started(through(4))],
            Error::HoldUsed(hold_id(1)),
        ),
        (
            "two calls for one hold, the first abandoned",
            vec![
                Record::Started(through(3)),
                abandoned(3),
                Record::Started(through(4)),
            ],
            Error::HoldUsed(hold_id(1)),
        ),
        (
            "the same step twice",
            vec![Record::Step(step(1, 1)), Record::Step(step(1, 1))],
            Error::Duplicate {
                what: "step",
                id: "1".to_owned(),
            },
        ),
        (
            "a call through no hold",
            vec![Record::Started(elsewhere)],
            Error::NotFound {
                what: "hold",
                id: hold_id(9).to_string(),
            },
        ),
        (
            "a token for no hold",
            vec![Record::Token(token(&hold(1, 9), 9).1)],
            Error::Inconsistent("FOREIGN KEY constraint failed".to_owned()),
        ),
        (
            "another session's receipt",
            vec![finished(&call(2, 9, ToolKind::Read, 5))],
            Error::Unstorable {
                what: "a receipt",
                reason: "it belongs to another session".to_owned(),
            },
        ),
    ];
    for (what, records, error) in cases {
        let (store, claim, _) = begun().await;
        let before = store.snapshot(&session_id(1)).await.unwrap();
        assert_eq!(store.append(batch(&claim, records)).await, Err(error), "{what}");
        let after = store.snapshot(&session_id(1)).await.unwrap();
        assert_eq!(after, before, "{what}: nothing of the batch stays");
    }
}

#[tokio::test]
async fn a_writer_of_a_resource_stays_until_its_receipt_also_when_its_worker_died() {
    let (store, _, two) = begun().await;
    let write = call(1, 2, ToolKind::Write, 5);
    let theirs = Record::Started(call(2, 3, ToolKind::Write, 5));
    let taken = Error::WriterTaken {
        resource: resource(5),
        session: session_id(1),
    };
    assert_eq!(
        store.append(batch(&two, vec![theirs.clone()])).await,
        Err(taken.clone())
    );
    let writer = Writer {
        session: session_id(1),
        execution: execution_id(1),
        permit: permit_id(2),
    };
    assert_eq!(store.writers().await.unwrap(), [(resource(5), writer)]);

    store.heartbeat(&worker(1), at(1)).await.unwrap();
    let later = std::time::Duration::from_secs(10);
    let left = store.take_over(at(100), later).await.unwrap();
    assert_eq!(left, [session_id(1), session_id(2)]);
    let one = store.claim(&session_id(1), &worker(2), at(101)).await.unwrap();
    let two = store.claim(&session_id(2), &worker(2), at(101)).await.unwrap();
    assert_eq!(store.append(batch(&two, vec![theirs.clone()])).await, Err(taken));
    let interrupted = Record::Finished {
        receipt: receipt(&write, Outcome::InterruptedUnknown),
        pending: None,
    };
    store.append(batch(&one, vec![interrupted])).await.unwrap();
    store.append(batch(&two, vec![theirs])).await.unwrap();
}

#[tokio::test]
async fn an_abandoned_call_ends_its_writing_and_is_not_listed() {
    let (store, one, two) = begun().await;
    let abandoned = Record::Abandoned { permit: permit_id(2) };
    store.append(batch(&one, vec![abandoned])).await.unwrap();
    let calls = store.calls(&session_id(1)).await.unwrap();
    assert_eq!(calls.len(), 1);
    let theirs = Record::Started(call(2, 3, ToolKind::Write, 5));
    store.append(batch(&two, vec![theirs])).await.unwrap();
}

#[tokio::test]
async fn only_what_people_do_needs_no_claim() {
    let (store, ..) = begun().await;
    let read = call(1, 1, ToolKind::Read, 5);
    let refused = [
        finished(&read),
        Record::Started(call(1, 9, ToolKind::Read, 5)),
        Record::Run(run(1)),
        Record::Step(step(1, 1)),
        status(Status::Completed),
    ];
    for record in refused {
        let answer = store.append(unclaimed(1, vec![record])).await;
        assert!(matches!(answer, Err(Error::ClaimRequired { .. })), "{answer:?}");
    }
    let records = vec![
        Record::Hold(approved(hold(1, 1), "ada")),
        Record::Token(used(token(&hold(1, 1), 1).1)),
        event("approved"),
    ];
    store.append(unclaimed(1, records)).await.unwrap();
    assert!(matches!(
        store.append(unclaimed(99, vec![event("nobody")])).await,
        Err(Error::NotFound { what: "session", .. })
    ));
}

#[tokio::test]
async fn one_of_many_who_decide_at_once_wins() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let stores: Vec<Store> = (0..4).map(|_| Store::open(&options).unwrap()).collect();
    let claim = claimed(&stores[0], 1).await;
    for round in 0..20 {
        let pending = hold(1, round);
        stores[0]
            .append(batch(&claim, vec![Record::Hold(pending.clone())]))
            .await
            .unwrap();
        let barrier = Arc::new(tokio::sync::Barrier::new(8));
        let deciders: Vec<_> = (0..8)
            .map(|who| {
                let (store, barrier) = (stores[who % 4].clone(), Arc::clone(&barrier));
                let by = format!("approver {who}");
                let decided = Record::Hold(approved(pending.clone(), &by));
                tokio::spawn(async move {
                    barrier.wait().await;
                    store
                        .append(unclaimed(1, vec![decided, event(&by)]))
                        .await
                        .map(|_| by)
                })
            })
            .collect();
        let mut won = Vec::new();
        for decider in deciders {
            match decider.await.unwrap() {
                Ok(by) => won.push(by),
                Err(error) => assert_eq!(error, Error::HoldDecided(pending.id.clone())),
            }
        }
        assert_eq!(won.len(), 1);
        let kept = stores[1].hold(&pending.id).await.unwrap();
        assert!(matches!(kept.status, HoldStatus::Approved { by, .. } if by.as_str() == won[0]));
    }
    // One event for each decision that won, and none of the others.
    assert_eq!(texts(&stores[2], 1).await.len(), 2 + 20);
}

#[tokio::test]
async fn deciding_a_hold_wakes_the_session_in_the_same_step() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let records = vec![Record::Hold(hold(1, 1)), status(Status::Held)];
    store.append(batch(&claim, records)).await.unwrap();
    assert_eq!(store.claim_next(&worker(2), at(5), MANY).await.unwrap(), None);
    let decided = Record::Hold(approved(hold(1, 1), "ada"));
    let kept = store
        .append(unclaimed(1, vec![decided, event("approved")]))
        .await
        .unwrap();
    let said: Vec<String> = kept.events.iter().map(told).collect();
    assert_eq!(said, ["approved", "session.status pending"]);
    let (again, session) = store.claim_next(&worker(2), at(5), MANY).await.unwrap().unwrap();
    assert_eq!((again.epoch, session.status), (2, Status::InProgress));
}

#[tokio::test]
async fn a_session_does_not_go_to_sleep_over_a_hold_that_was_decided_meanwhile() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    store
        .append(batch(&claim, vec![Record::Hold(hold(1, 1))]))
        .await
        .unwrap();
    let decided = Record::Hold(approved(hold(1, 1), "ada"));
    store.append(unclaimed(1, vec![decided])).await.unwrap();
    let kept = store
        .append(batch(&claim, vec![status(Status::Held)]))
        .await
        .unwrap();
    assert_eq!(told(&kept.events[0]), "session.status pending");
    assert_eq!(
        store.session(&session_id(1)).await.unwrap().status,
        Status::Pending
    );
}
