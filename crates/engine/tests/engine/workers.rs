//! Two processes on one store: each session is worked on once, and what one leaves the other takes over.

use std::collections::BTreeMap;
use std::time::Duration;

use interlock_engine::{Queue, Submission};
use interlock_executor::{BoxFuture, Done};
use interlock_protocol::{ControlLevel, SessionId, Status, ToolKind};
use interlock_store::Filter;
use jiff::SignedDuration;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::fixture::{Folder, Lab, Wish, calls, find, read, says, write};

/// Patient: on a busy machine a process that is well can be silent for a while, and nobody takes its work.
fn queue() -> Queue {
    Queue {
        workers: 4,
        heartbeat: Duration::from_millis(20),
        poll: Duration::from_millis(10),
        ..Queue::default()
    }
}

fn wish() -> Wish {
    Wish::replies([
        calls([find()]),
        calls([read("uptime")]),
        says("The load is 0.42."),
    ])
}

async fn all_ended(lab: &Lab, many: u32) -> Vec<interlock_store::Session> {
    let filter = Filter {
        limit: many + 10,
        ..Filter::default()
    };
    let mut work = lab.store.work();
    loop {
        let sessions = lab.store.sessions(&filter).await.unwrap();
        if sessions.iter().all(|session| session.completed_at.is_some()) {
            assert_eq!(sessions.len(), many as usize);
            return sessions;
        }
        work.wait(Duration::from_millis(100)).await.unwrap();
    }
}

async fn each_answered_once(lab: &Lab, sessions: &[interlock_store::Session]) {
    for session in sessions {
        let id = &session.submitted.id;
        assert_eq!(session.status, Status::Completed, "{:?}", session.error);
        assert_eq!(lab.store.runs(id).await.unwrap().len(), 1);
        let names = lab.event_names(id).await;
        let once = |name: &str| names.iter().filter(|other| **other == name).count();
        assert_eq!(
            (once("answer.given"), once("session.completed")),
            (1, 1),
            "{names:?}"
        );
        lab.prove(id).await;
    }
}

#[tokio::test]
async fn two_processes_share_fifty_sessions_and_do_each_once() {
    let one = Lab::new(wish());
    let two = Lab::in_folder(&one.folder.path, wish());
    for at in 0..50 {
        one.engine
            .submit(Submission::question(format!("question {at}")))
            .await
            .unwrap();
    }
    let workers = [one.engine.start(&queue()), two.engine.start(&queue())];
    let sessions = all_ended(&one, 50).await;
    for workers in workers {
        workers.drain().await;
    }
    each_answered_once(&one, &sessions).await;
    // Each call of each session ran once.
    let mut ran: BTreeMap<SessionId, usize> = BTreeMap::new();
    for session in &sessions {
        let calls = one.store.calls(&session.submitted.id).await.unwrap();
        assert!(calls.iter().all(|call| call.receipt.is_some()));
        ran.insert(session.submitted.id.clone(), calls.len());
    }
    assert!(ran.values().all(|calls| *calls == 2), "{ran:?}");
}

/// The first process hangs in every write and then is gone, with its tasks. The other takes over: no write runs again.
#[tokio::test]
async fn what_a_process_leaves_in_the_middle_is_taken_over_and_no_write_runs_twice() {
    let (entered, mut inside) = mpsc::channel(16);
    let script = || {
        Wish::replies([
            calls([find()]),
            calls([write("touch /srv/flag")]),
            calls([read("ls /srv")]),
            says("See below."),
            calls([read("ls -l /srv")]),
            says("See below."),
        ])
    };
    let hangs = script().behaves(move |folder, started, _| {
        (started.plan().kind == ToolKind::Write).then(|| {
            let entered = entered.clone();
            let line = Folder::line(started.plan());
            let future: BoxFuture<'_, Done> = Box::pin(async move {
                folder.write(&line);
                entered.send(()).await.unwrap();
                std::future::pending().await
            });
            future
        })
    });
    let folder = tempfile::tempdir().unwrap();
    let one = Lab::in_folder(folder.path(), hangs);
    let session = one
        .engine
        .submit(Submission::question("put the flag there"))
        .await
        .unwrap();
    let engine = one.engine.clone();
    let running = {
        let session = session.clone();
        tokio::spawn(async move { engine.work_on(&session).await })
    };
    inside.recv().await.unwrap();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    drop(one);
    let two = Lab::in_folder(folder.path(), script());
    let workers = two.engine.start(&Queue {
        orphan_after: Duration::from_secs(2),
        ..queue()
    });
    let sessions = all_ended(&two, 1).await;
    workers.drain().await;
    assert!(
        matches!(sessions[0].status, Status::Completed | Status::Unverified),
        "{:?}",
        sessions[0].error
    );
    assert_eq!(two.folder.effects(), ["touch /srv/flag"]);
    let ran = two.store.calls(&session).await.unwrap();
    let write = ran
        .iter()
        .find(|call| call.started.plan.kind == ToolKind::Write)
        .unwrap();
    assert_eq!(
        write.receipt.as_ref().map(|receipt| receipt.outcome),
        Some(interlock_protocol::Outcome::InterruptedUnknown)
    );
    two.prove(&session).await;
}

/// A slow heart does not keep a session waiting whose hold has expired.
#[tokio::test]
async fn a_hold_expires_on_time_however_slowly_the_heart_beats() {
    let mut wish = Wish::replies([
        calls([find()]),
        calls([write("touch /srv/flag")]),
        says("Nobody decided."),
    ])
    .level(ControlLevel::Controlled);
    wish.gate.hold_ttl = SignedDuration::from_secs(1);
    let lab = Lab::new(wish);
    let question = Submission::question("put the flag there");
    let session = lab.engine.submit(question).await.unwrap();
    let workers = lab.engine.start(&Queue {
        heartbeat: Duration::from_hours(1),
        ..queue()
    });
    let ended = timeout(Duration::from_mins(1), all_ended(&lab, 1)).await.unwrap();
    workers.drain().await;
    assert_eq!(ended[0].status, Status::Completed, "{:?}", ended[0].error);
    assert_eq!(lab.folder.effects(), [""; 0]);
    lab.prove(&session).await;
}

#[tokio::test]
async fn workers_that_are_drained_leave_what_they_have_to_others() {
    let (entered, mut inside) = mpsc::channel(16);
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let gate = std::sync::Arc::clone(&go);
    let slow = wish().behaves(move |_, started, _| {
        (started.plan().kind == ToolKind::Read).then(|| {
            let (entered, go) = (entered.clone(), std::sync::Arc::clone(&gate));
            let future: BoxFuture<'_, Done> = Box::pin(async move {
                entered.send(()).await.unwrap();
                go.notified().await;
                Done::succeeded(json!({ "load": 0.42 }), "read")
            });
            future
        })
    });
    let one = Lab::new(slow);
    let session = one
        .engine
        .submit(Submission::question("how is the load?"))
        .await
        .unwrap();
    let workers = one.engine.start(&queue());
    inside.recv().await.unwrap();
    let drained = tokio::spawn(workers.drain());
    go.notify_one();
    drained.await.unwrap();
    // It ended, or it waits for another; nothing hangs on who is gone.
    let standing = one.store.session(&session).await.unwrap();
    assert!(
        matches!(standing.status, Status::Pending | Status::Completed),
        "{standing:?}"
    );
    if standing.status == Status::Pending {
        let two = Lab::in_folder(&one.folder.path, wish());
        let outcome = two.engine.work_on(&session).await.unwrap();
        assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    }
    one.prove(&session).await;
}

/// Work that is dropped in the middle of a write, in a process that lives on: the session is taken up again there, looks
/// at what it wrote, and the resource is free for others.
#[tokio::test]
async fn work_that_is_dropped_leaves_nothing_taken() {
    let (entered, mut inside) = mpsc::channel(16);
    let first = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let wish = Wish::replies([
        calls([find()]),
        calls([write("touch /srv/flag")]),
        calls([read("ls /srv")]),
        says("See below."),
        calls([read("ls -l /srv")]),
        says("See below."),
    ])
    .behaves(move |folder, started, _| {
        let hangs =
            started.plan().kind == ToolKind::Write && first.swap(false, std::sync::atomic::Ordering::SeqCst);
        hangs.then(|| {
            let entered = entered.clone();
            let line = Folder::line(started.plan());
            let future: BoxFuture<'_, Done> = Box::pin(async move {
                folder.write(&line);
                entered.send(()).await.unwrap();
                std::future::pending().await
            });
            future
        })
    });
    let lab = Lab::new(wish);
    let session = lab
        .engine
        .submit(Submission::question("put the flag there"))
        .await
        .unwrap();
    let engine = lab.engine.clone();
    let running = {
        let session = session.clone();
        tokio::spawn(async move { engine.work_on(&session).await })
    };
    inside.recv().await.unwrap();
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    let idle = Queue {
        orphan_after: Duration::ZERO,
        ..queue()
    };
    lab.engine.beat(&idle).await.unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert!(
        matches!(outcome.status, Status::Completed | Status::Unverified),
        "{outcome:?}"
    );
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    let (other, outcome) = lab.ask("put the flag there too").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/flag", "touch /srv/flag"]);
    lab.prove(&session).await;
    lab.prove(&other).await;
}
