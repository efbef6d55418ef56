//! The switch that stops all writes, moved by several people in several processes at once.

use std::sync::Arc;

use interlock_engine::Error;
use interlock_gate::KillSwitch;
use interlock_store::{AuditFilter, Error as StoreError};

use crate::fixture::{Lab, Wish, says, user};

fn two() -> (Lab, Lab) {
    let wish = || Wish::replies([says("Nothing to do.")]);
    let lab = Lab::new(wish());
    let other = Lab::in_folder(&lab.folder.path, wish());
    (lab, other)
}

/// What was done to the switch, oldest first: who, what, the reason.
async fn deeds(lab: &Lab) -> Vec<(String, String, Option<String>)> {
    let of_writes = AuditFilter {
        action: Some("writes.".to_owned()),
        limit: 1000,
        ..AuditFilter::default()
    };
    let mut entries = lab.store.audit_entries(&of_writes).await.unwrap();
    entries.reverse();
    entries
        .into_iter()
        .map(|entry| {
            let deed = entry.deed;
            let reason = deed.details["reason"].as_str().map(str::to_owned);
            (deed.actor.unwrap().to_string(), deed.action, reason)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_shown_of_the_switch_fits_what_holds_however_many_move_it_at_once() {
    const PEOPLE: usize = 6;
    const TIMES: usize = 6;
    let (lab, other) = two();
    let start = Arc::new(tokio::sync::Barrier::new(PEOPLE));
    let mut tasks = Vec::new();
    for at in 0..PEOPLE {
        let engine = if at % 2 == 0 { &lab.engine } else { &other.engine }.clone();
        let start = Arc::clone(&start);
        tasks.push(tokio::spawn(async move {
            let who = user(&format!("user-{at}"));
            start.wait().await;
            for time in 0..TIMES {
                let stops = (at + time) % 2 == 0;
                let mine = if stops {
                    let reason = format!("because of {who}");
                    engine.stop_writes(KillSwitch::Engaged, &who, Some(&reason)).await
                } else {
                    engine.resume_writes(&who, None).await
                };
                // Each is told what came of their own move.
                let mine = mine.unwrap();
                assert_eq!((mine.stopped, mine.by.as_ref()), (stops, Some(&who)));
                let seen = engine.writes().await.unwrap();
                let by = seen.by.expect("somebody moved it");
                let reason = seen.stopped.then(|| format!("because of {by}"));
                assert_eq!(seen.reason, reason, "what is shown is of one moment");
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let deeds = deeds(&lab).await;
    assert_eq!(deeds.len(), PEOPLE * TIMES);
    let stands = lab.engine.writes().await.unwrap();
    assert_eq!(stands, other.engine.writes().await.unwrap());
    assert_eq!(stands.revision, (PEOPLE * TIMES) as u64);
    let action = if stands.stopped {
        "writes.stopped"
    } else {
        "writes.resumed"
    };
    let last = (stands.by.unwrap().to_string(), action.to_owned(), stands.reason);
    assert_eq!(deeds.last(), Some(&last), "the last deed is what holds");
    assert_eq!(lab.store.verify_audit().await.unwrap().broken, None);
}

#[tokio::test]
async fn nobody_lets_go_what_was_stopped_again_since_they_looked() {
    let (lab, other) = two();
    let (olga, otto) = (user("olga"), user("otto"));
    let seen = lab
        .engine
        .stop_writes(KillSwitch::Engaged, &olga, Some("a fire"))
        .await
        .unwrap();
    let again = other
        .engine
        .stop_writes(KillSwitch::Engaged, &otto, Some("another fire"))
        .await
        .unwrap();
    assert!(again.revision > seen.revision);
    let refused = lab.engine.resume_writes(&olga, Some(seen.revision)).await;
    let Err(Error::Store(StoreError::StoppedAgain(stands))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        (stands.by, stands.reason.as_deref(), stands.revision),
        (Some(otto.clone()), Some("another fire"), again.revision)
    );
    assert_eq!(lab.engine.writes().await.unwrap(), again);
    let going = lab
        .engine
        .resume_writes(&olga, Some(again.revision))
        .await
        .unwrap();
    assert!(!going.stopped);
    // Nothing is stopped any more: to say it once more, or without having looked, changes nothing for anybody.
    let once_more = other.engine.resume_writes(&otto, Some(again.revision)).await;
    assert!(!once_more.unwrap().stopped);
    lab.engine
        .stop_writes(KillSwitch::Engaged, &olga, None)
        .await
        .unwrap();
    assert!(!other.engine.resume_writes(&otto, None).await.unwrap().stopped);
    let actions: Vec<String> = deeds(&lab)
        .await
        .into_iter()
        .map(|(_, action, _)| action)
        .collect();
    assert_eq!(
        actions,
        [
            "writes.stopped",
            "writes.stopped",
            "writes.resume_refused",
            "writes.resumed",
            "writes.resumed",
            "writes.stopped",
            "writes.resumed"
        ]
    );
}

#[tokio::test]
async fn stopping_wins_even_where_it_cannot_be_written_down_and_resuming_does_not() {
    let (lab, other) = two();
    let file = rusqlite::Connection::open(lab.folder.path.join("interlock.db")).unwrap();
    file.execute_batch(
        "CREATE TRIGGER broken BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room for deeds'); END;",
    )
    .unwrap();
    drop(file);
    let olga = user("olga");
    let stopped = lab
        .engine
        .stop_writes(KillSwitch::Engaged, &olga, Some("a fire"))
        .await;
    assert!(stopped.is_err(), "it is told that nobody will know");
    let seen = other.engine.writes().await.unwrap();
    assert!(seen.stopped);
    assert_eq!(
        (seen.by, seen.reason.as_deref()),
        (Some(olga.clone()), Some("a fire"))
    );
    assert!(other.engine.resume_writes(&olga, None).await.is_err());
    assert!(lab.engine.writes().await.unwrap().stopped);
    assert!(deeds(&lab).await.is_empty());
}
