//! A store that cannot keep anything: what was not recorded does not run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use interlock_engine::{Moment, Submission};
use interlock_protocol::{Status, ToolKind};
use interlock_store::Record;

use crate::fixture::{Lab, RESTART, Wish};

/// Another program holds the database from the moment when a call is to be kept as about to run: it does not run.
#[tokio::test]
async fn what_cannot_be_recorded_does_not_run() {
    for kind in [ToolKind::Resolve, ToolKind::Write] {
        let folder = tempfile::tempdir().unwrap();
        let hit = Arc::new(AtomicBool::new(false));
        let locked = Arc::new(Mutex::new(None));
        let mut wish = Wish::script(RESTART);
        wish.busy = Some(std::time::Duration::from_millis(100));
        wish.checkpoint = Some({
            let (hit, locked, path) = (
                Arc::clone(&hit),
                Arc::clone(&locked),
                folder.path().join("interlock.db"),
            );
            Arc::new(move |moment: Moment, batch: &interlock_store::Batch| {
                let starts = batch
                    .records
                    .iter()
                    .any(|record| matches!(record, Record::Started(call) if call.plan.kind == kind));
                if moment == Moment::Before && starts && !hit.swap(true, Ordering::SeqCst) {
                    let other = rusqlite::Connection::open(&path).unwrap();
                    other.execute_batch("BEGIN IMMEDIATE").unwrap();
                    *locked.lock().unwrap() = Some(other);
                }
            })
        });
        let lab = Lab::in_folder(folder.path(), wish);
        let session = lab
            .engine
            .submit(Submission::question("put the flag there"))
            .await
            .unwrap();
        let result = lab.engine.work_on(&session).await;
        assert!(hit.load(Ordering::SeqCst), "{kind}: the moment never came");
        assert!(result.is_err(), "{kind}: {result:?}");
        assert_eq!(
            lab.folder.effects(),
            Vec::<String>::new(),
            "{kind}: it ran without a record"
        );
        drop(lab);
        locked.lock().unwrap().take();
        // With room again, another goes on and everything that happens is recorded.
        let lab = Lab::in_folder(folder.path(), Wish::script(RESTART));
        let queue = interlock_engine::Queue {
            orphan_after: std::time::Duration::ZERO,
            ..interlock_engine::Queue::default()
        };
        lab.engine.beat(&queue).await.unwrap();
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(outcome.status, Status::Completed, "{kind}: {outcome:?}");
        // What was discovered went with the process, so the write may be refused now; it is never made twice.
        assert!(lab.folder.effects().len() <= 1, "{kind}");
        lab.prove(&session).await;
    }
}

/// The write has happened and the database is held at that moment: its receipt is tried again until it is kept.
#[tokio::test]
async fn a_receipt_that_cannot_be_kept_at_once_is_kept_later_and_nothing_runs_twice() {
    let folder = tempfile::tempdir().unwrap();
    let held: Arc<Mutex<Option<rusqlite::Connection>>> = Arc::default();
    let tries = Arc::new(AtomicUsize::new(0));
    let mut wish = Wish::script(RESTART);
    wish.busy = Some(std::time::Duration::from_millis(50));
    wish.checkpoint = Some({
        let (held, tries, path) = (
            Arc::clone(&held),
            Arc::clone(&tries),
            folder.path().join("interlock.db"),
        );
        Arc::new(move |moment: Moment, batch: &interlock_store::Batch| {
            let finishes = batch.records.iter().any(|record| {
                matches!(record, Record::Finished { receipt, .. } if receipt.kind == ToolKind::Write)
            });
            if moment != Moment::Before || !finishes {
                return;
            }
            let mut held = held.lock().unwrap();
            match tries.fetch_add(1, Ordering::SeqCst) {
                0 => {
                    let other = rusqlite::Connection::open(&path).unwrap();
                    other.execute_batch("BEGIN IMMEDIATE").unwrap();
                    *held = Some(other);
                }
                _ => drop(held.take()),
            }
        })
    });
    let lab = Lab::in_folder(folder.path(), wish);
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(tries.load(Ordering::SeqCst), 2);
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    lab.prove(&session).await;
}
