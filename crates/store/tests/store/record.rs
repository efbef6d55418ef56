//! What is kept comes back as it was, in order.

use crate::support::*;
use interlock_protocol::{Outcome, Sequence, Status, ToolKind, Verification};
use interlock_store::{Error, Filter, Holds, Options, Record, Store};

/// Everything that a session can leave behind.
fn everything() -> Vec<Record> {
    let read = call(1, 1, ToolKind::Read, 141);
    let write = call(1, 2, ToolKind::Write, 141);
    vec![
        Record::Run(run(1)),
        Record::Stage(stage(1)),
        Record::Execution(execution(1)),
        event("first"),
        Record::Message(message(1, 1, "question")),
        Record::Message(message(1, 2, "answer")),
        Record::Timeline(entry(1, 1, "streaming")),
        Record::Interaction(interaction(1, 1, b"", b"{\"a\":1}")),
        Record::Interaction(interaction(1, 2, b"{\"a\":1}", b"{\"a\":1,\"b\":2}")),
        Record::Step(step(1, 1)),
        Record::Step(step(1, 2)),
        Record::Started(read.clone()),
        Record::Evidence(evidence(1, 1, "full")),
        finished(&read),
        Record::Started(write.clone()),
        finished(&write),
        Record::Verified {
            permit: write.permit,
            outcome: Verification::Observed,
        },
        Record::Hold(hold(1, 1)),
        event("second"),
        Record::Timeline(entry(1, 1, "completed")),
    ]
}

#[tokio::test]
async fn everything_comes_back_as_it_was_also_from_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::sqlite(folder.path().join("a.db"));
    let store = Store::open(&options).unwrap();
    let claim = claimed(&store, 1).await;
    let kept = store.append(batch(&claim, everything())).await.unwrap();
    let places: Vec<u64> = kept.events.iter().map(|event| event.sequence.get()).collect();
    assert_eq!(places, [3, 4]);
    store.close().await;

    let store = Store::open(&options.read_only()).unwrap();
    let id = session_id(1);
    assert_eq!(
        store.events(&id, Sequence::new(2), 10).await.unwrap(),
        kept.events,
        "events, with ids, places and nanoseconds"
    );
    let snapshot = store.snapshot(&id).await.unwrap();
    assert_eq!(snapshot.session.submitted, new_session(1));
    assert_eq!(snapshot.session.status, Status::InProgress);
    assert_eq!(snapshot.session.epoch, 1);
    assert_eq!(snapshot.runs, [run(1)]);
    assert_eq!(snapshot.stages, [stage(1)]);
    assert_eq!(snapshot.executions, [execution(1)]);
    assert_eq!(
        snapshot.messages,
        [message(1, 1, "question"), message(1, 2, "answer")]
    );
    assert_eq!(snapshot.messages, store.messages(&execution_id(1)).await.unwrap());
    assert_eq!(snapshot.evidence, [evidence(1, 1, "full")]);
    assert_eq!(snapshot.holds, [hold(1, 1)]);
    assert_eq!(snapshot.last_event, Sequence::new(4));
    assert_eq!(snapshot.last_step, 2);
    assert_eq!(snapshot.numbers, [(execution_id(1), 2, 1)]);
    let write = call(1, 2, ToolKind::Write, 141);
    assert_eq!(snapshot.calls[1].started, write);
    assert_eq!(
        snapshot.calls[1].receipt,
        Some(receipt(&write, Outcome::Succeeded))
    );
    assert_eq!(snapshot.calls[1].verification, Some(Verification::Observed));
    assert_eq!(store.calls_of_run(&run_id(1)).await.unwrap(), snapshot.calls);
    let shown = entry(1, 1, "completed");
    assert_eq!(store.timeline(&id).await.unwrap(), std::slice::from_ref(&shown));
    let of_permit = store.entry_of_permit(&id, &permit_id(7)).await.unwrap();
    assert_eq!(of_permit, Some(shown.clone()));
    let of_hold = store.entry_of_hold(&id, &hold_id(7)).await.unwrap();
    assert_eq!(of_hold, Some(shown));
    assert_eq!(store.entry_of_permit(&id, &permit_id(8)).await.unwrap(), None);
    assert_eq!(store.entry_of_hold(&id, &hold_id(8)).await.unwrap(), None);
    let started = store.call(&id, &write.permit).await.unwrap();
    assert_eq!(started, Some(snapshot.calls[1].clone()));
    assert_eq!(store.call(&id, &permit_id(9)).await.unwrap(), None);
    assert_eq!(store.steps(&id, None).await.unwrap(), [step(1, 1), step(1, 2)]);
    assert_eq!(store.steps(&id, Some(&run_id(1))).await.unwrap().len(), 2);
    assert_eq!(store.holds(Holds::Open).await.unwrap(), [hold(1, 1)]);
    assert_eq!(store.writers().await.unwrap(), []);
    let bodies: Vec<Vec<u8>> = store
        .interactions(&run_id(1))
        .await
        .unwrap()
        .into_iter()
        .map(|interaction| interaction.body)
        .collect();
    assert_eq!(bodies, [b"{\"a\":1}".to_vec(), b"{\"a\":1,\"b\":2}".to_vec()]);
    store.integrity().await.unwrap();
    assert!(matches!(
        store.set_setting("kill_switch", "engaged").await,
        Err(Error::ReadOnly { .. })
    ));
}

#[tokio::test]
async fn a_batch_that_fails_leaves_nothing_and_moves_no_number() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let records = vec![
        event("lost"),
        Record::Message(message(1, 1, "a")),
        Record::Message(message(1, 1, "b")),
    ];
    assert!(matches!(
        store.append(batch(&claim, records)).await,
        Err(Error::Duplicate { what: "message", .. })
    ));
    let kept = store.append(batch(&claim, vec![event("kept")])).await.unwrap();
    assert_eq!(kept.events[0].sequence, Sequence::new(3));
    assert_eq!(
        texts(&store, 1).await.last().unwrap(),
        &(3, "kept".to_owned()),
        "no gap, no trace of the other"
    );
}

#[tokio::test]
async fn sessions_are_listed_newest_first_and_found_by_what_they_say() {
    let store = memory();
    for number in 1..=5 {
        store.submit(new_session(number), &ROOM).await.unwrap();
    }
    let store = &store;
    let list = |filter: Filter| async move {
        let sessions = store.sessions(&filter).await.unwrap();
        sessions
            .into_iter()
            .map(|session| session.submitted.id)
            .collect::<Vec<_>>()
    };
    let all = Filter {
        limit: 2,
        ..Filter::default()
    };
    assert_eq!(list(all.clone()).await, [session_id(5), session_id(4)]);
    let rest = Filter {
        after: Some(session_id(4)),
        ..all.clone()
    };
    assert_eq!(list(rest).await, [session_id(3), session_id(2)]);
    let search = |text: &str| Filter {
        search: Some(text.to_owned()),
        ..all.clone()
    };
    assert_eq!(list(search("NODE 3?")).await, [session_id(3)]);
    assert_eq!(list(search("%")).await, [], "no wildcard");
    let none = Filter {
        statuses: vec![Status::Held, Status::Failed],
        ..all
    };
    assert_eq!(list(none).await, []);
}

#[tokio::test]
async fn what_has_no_written_form_keeps_its_whole_batch_out() {
    let store = memory();
    let claim = claimed(&store, 1).await;
    let unwritable = Record::Unwritable {
        what: "a step",
        reason: "key must be a string".to_owned(),
    };
    let mut records = everything();
    records.push(unwritable.clone());
    let refused = Err(Error::Unstorable {
        what: "a step",
        reason: "key must be a string".to_owned(),
    });
    assert_eq!(store.append(batch(&claim, records)).await, refused);
    assert_eq!(store.append(unclaimed(1, vec![unwritable])).await, refused);
    let snapshot = store.snapshot(&session_id(1)).await.unwrap();
    assert_eq!((snapshot.runs.len(), snapshot.messages.len()), (0, 0));
    assert_eq!(
        store.last_sequence(&session_id(1)).await,
        Ok(Sequence::new(2)),
        "no place is used up"
    );
    store.append(batch(&claim, everything())).await.unwrap();
}
