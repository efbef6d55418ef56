//! The process ends at every step of the record, by the signal that nobody can catch, and another goes on.
//!
//! A child (this very program, told what to do by its environment) works on a session and kills itself right before or
//! right after the n-th batch is kept. Then a new process takes the session over. Whatever n is: what was recorded is
//! still there, in its place; the change was made at most once; the session comes to an end; and the record replays.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interlock_engine::{Engine, Moment, Queue, Submission};
use interlock_protocol::{ControlLevel, Event, EventBody, Outcome, SessionId, Status, ToolKind};
use interlock_store::{Filter, Holds};

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, operator};

const FOLDER: &str = "INTERLOCK_TEST_CRASH_FOLDER";
const AT: &str = "INTERLOCK_TEST_CRASH_AT";
const LEVEL: &str = "INTERLOCK_TEST_CRASH_LEVEL";

/// More moments than a session has.
const ENOUGH: usize = 200;

fn crash_at(at: usize) -> interlock_engine::Checkpoint {
    let passed = AtomicUsize::new(0);
    Arc::new(move |_: Moment, _: &interlock_store::Batch| {
        if passed.fetch_add(1, Ordering::SeqCst) == at {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).unwrap();
            // The signal is on its way.
            loop {
                std::thread::park();
            }
        }
    })
}

fn level() -> ControlLevel {
    std::env::var(LEVEL).unwrap().parse().unwrap()
}

/// What the child does: takes whatever there is over, approves what waits, works until nothing is left.
#[test]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let at: Option<usize> = std::env::var(AT).ok().and_then(|at| at.parse().ok());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut wish = Wish::script(RESTART).level(level());
        wish.checkpoint = at.map(crash_at);
        let lab = Lab::in_folder(Path::new(&folder), wish);
        let session = the_session(&lab).await;
        work(&lab.engine, &lab, &session).await;
    });
}

async fn the_session(lab: &Lab) -> SessionId {
    let known = lab
        .store
        .sessions(&Filter {
            limit: 10,
            ..Filter::default()
        })
        .await
        .unwrap();
    match known.first() {
        Some(session) => session.submitted.id.clone(),
        None => lab
            .engine
            .submit(Submission::question("put the flag there"))
            .await
            .unwrap(),
    }
}

async fn work(engine: &Engine, lab: &Lab, session: &SessionId) {
    // Whoever had it is gone.
    let queue = Queue {
        orphan_after: Duration::ZERO,
        ..Queue::default()
    };
    for _ in 0..20 {
        engine.beat(&queue).await.unwrap();
        let standing = lab.store.session(session).await.unwrap();
        match standing.status {
            Status::Pending => {
                engine.work_on(session).await.unwrap();
            }
            Status::Held => {
                let open = lab.store.holds(Holds::Open).await.unwrap();
                match open.first() {
                    Some(hold) => {
                        engine.approve_by(&hold.id, &operator()).await.unwrap();
                    }
                    // Approved, and ended before it was put back into the queue.
                    None => lab.store.resubmit(session, jiff::Timestamp::now()).await.unwrap(),
                }
            }
            Status::InProgress | Status::Cancelling => {}
            Status::Completed
            | Status::Unverified
            | Status::Failed
            | Status::Cancelled
            | Status::TimedOut => return,
        }
    }
    panic!("the session did not end");
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the child is this test itself"
)]
fn run_child(folder: &Path, level: ControlLevel, at: Option<usize>) -> ExitStatus {
    let me: PathBuf = std::env::current_exe().unwrap();
    let mut command = std::process::Command::new(me);
    command
        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
        .env(FOLDER, folder)
        .env(LEVEL, level.as_str())
        .env_remove(AT)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    if let Some(at) = at {
        command.env(AT, at.to_string());
    }
    command.status().unwrap()
}

async fn recorded(folder: &Path, level: ControlLevel) -> (Lab, Option<SessionId>, Vec<Event>) {
    let lab = Lab::in_folder(folder, Wish::script(RESTART).level(level));
    let known = lab
        .store
        .sessions(&Filter {
            limit: 10,
            ..Filter::default()
        })
        .await
        .unwrap();
    assert!(known.len() <= 1, "a session was submitted twice");
    let session = known.first().map(|session| session.submitted.id.clone());
    let events = match &session {
        Some(session) => lab.events(session).await,
        None => Vec::new(),
    };
    (lab, session, events)
}

async fn survives(level: ControlLevel) {
    for at in 0..ENOUGH {
        let folder = tempfile::tempdir().unwrap();
        let ended = run_child(folder.path(), level, Some(at));
        let (lab, _, before) = recorded(folder.path(), level).await;
        let effects_before = lab.folder.effects();
        lab.store.close().await;
        drop(lab);
        if ended.success() {
            assert!(at >= 12, "only {at} moments at level {level}");
            return;
        }
        assert!(
            run_child(folder.path(), level, None).success(),
            "moment {at}: it could not go on"
        );
        let (lab, session, after) = recorded(folder.path(), level).await;
        let session = session.unwrap();
        assert!(
            after.starts_with(&before),
            "moment {at}: what was recorded changed\n{before:#?}\n{after:#?}"
        );
        let effects = lab.folder.effects();
        assert!(effects.starts_with(&effects_before), "moment {at}");
        assert!(
            effects.len() <= 1,
            "moment {at}: the change was made {} times",
            effects.len()
        );
        let standing = lab.store.session(&session).await.unwrap();
        assert!(
            matches!(standing.status, Status::Completed | Status::Unverified),
            "moment {at}: {:?} {:?}\n{:#?}",
            standing.status,
            standing.error,
            lab.store.timeline(&session).await.unwrap()
        );
        // Every effect has a start in the record, and every start of a write a receipt that says how it ended.
        let calls = lab.store.calls(&session).await.unwrap();
        let writes: Vec<_> = calls
            .iter()
            .filter(|call| call.started.plan.kind == ToolKind::Write)
            .collect();
        assert!(
            effects.len() <= writes.len(),
            "moment {at}: an effect without a start"
        );
        for write in &writes {
            let receipt = write.receipt.as_ref().expect("a receipt");
            assert!(
                matches!(receipt.outcome, Outcome::Succeeded | Outcome::InterruptedUnknown),
                "moment {at}: {receipt:?}"
            );
            assert!(write.verification.is_some(), "moment {at}: nobody looked");
        }
        let receipts = after
            .iter()
            .filter(|event| matches!(event.body, EventBody::ReceiptRecorded { .. }));
        let ids: Vec<_> = receipts
            .filter_map(|event| match &event.body {
                EventBody::ReceiptRecorded { receipt } => Some(receipt.permit.clone()),
                _ => None,
            })
            .collect();
        let mut once = ids.clone();
        once.sort();
        once.dedup();
        assert_eq!(ids.len(), once.len(), "moment {at}: a permit has two receipts");
        lab.prove(&session).await;
    }
    panic!("the session has more than {ENOUGH} moments");
}

#[tokio::test]
async fn a_session_survives_the_end_of_its_process_at_every_step() {
    survives(ControlLevel::Autonomous).await;
}

#[tokio::test]
async fn a_held_session_survives_the_end_of_its_process_at_every_step() {
    survives(ControlLevel::Controlled).await;
}
