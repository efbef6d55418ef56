//! Stopping and running out of time, in every state.

use std::sync::Arc;
use std::time::Duration;

use interlock_engine::{Controller, Live, Outcome, Submission};
use interlock_executor::{BoxFuture, Done};
use interlock_model::{Span, Timeouts};
use interlock_protocol::{ErrorCode, Outcome as How, Retry, SessionId, Status, ToolKind, ToolResponse};
use interlock_store::Cancelled;
use serde_json::{Map, json};
use tokio::sync::mpsc;

use crate::fixture::{Lab, Wish, asker, calls, find, operator, read, says, write};

/// Works on a session in a task of its own.
fn start(lab: &Lab, session: &SessionId) -> tokio::task::JoinHandle<Outcome> {
    let (engine, session) = (lab.engine.clone(), session.clone());
    tokio::spawn(async move { engine.work_on(&session).await.unwrap() })
}

#[tokio::test]
async fn a_session_that_waits_for_a_worker_is_stopped_at_once() {
    let lab = Lab::new(Wish::replies([says("never")]));
    let session = lab.engine.submit(Submission::question("hello")).await.unwrap();
    assert_eq!(
        lab.engine.cancel(&session, &operator()).await.unwrap(),
        Cancelled::Now
    );
    assert_eq!(
        lab.store.session(&session).await.unwrap().status,
        Status::Cancelled
    );
    assert!(lab.engine.work_on(&session).await.is_err());
    assert_eq!(
        lab.engine.cancel(&session, &operator()).await.unwrap(),
        Cancelled::Ended
    );
}

#[tokio::test]
async fn a_model_that_writes_is_stopped() {
    let slow =
        json!({ "text": "I am looking at it and at other things", "chunk_size": 32, "chunk_delay": "30s" });
    let lab = Lab::new(Wish::replies([slow]));
    let mut live = lab.engine.watch();
    let session = lab.engine.submit(Submission::question("hello")).await.unwrap();
    let running = start(&lab, &session);
    while !matches!(live.recv().await.unwrap(), Live::Chunk { .. }) {}
    lab.engine.cancel(&session, &operator()).await.unwrap();
    let outcome = running.await.unwrap();
    assert_eq!(outcome.status, Status::Cancelled, "{outcome:?}");
    lab.prove(&session).await;
}

/// An executor that does something, says that it is inside, and waits for the token.
fn waits_in(kind: ToolKind, entered: mpsc::Sender<()>) -> Wish {
    Wish::replies([
        calls([find()]),
        calls([write("touch /srv/flag"), read("df -h")]),
        says("See below."),
    ])
    .behaves(move |folder, started, cancel| {
        (started.plan().kind == kind).then(|| {
            let entered = entered.clone();
            let future: BoxFuture<'_, Done> = Box::pin(async move {
                if kind == ToolKind::Write {
                    folder.write("half of it");
                }
                entered.send(()).await.unwrap();
                cancel.cancelled().await;
                let response =
                    ToolResponse::failed(ErrorCode::Cancelled, "stopped", Retry::Useful, Map::new());
                Done {
                    response,
                    outcome: How::Cancelled,
                    ..Done::succeeded(json!(null), "stopped half way")
                }
            });
            future
        })
    })
}

#[tokio::test]
async fn a_tool_that_runs_is_stopped_has_its_receipt_and_a_write_is_looked_at() {
    for (kind, calls, effects) in [
        (ToolKind::Resolve, 1, 0),
        (ToolKind::Write, 2, 1),
        (ToolKind::Read, 3, 1),
    ] {
        let (entered, mut inside) = mpsc::channel(4);
        let lab = Lab::new(waits_in(kind, entered));
        let session = lab
            .engine
            .submit(Submission::question("put the flag there"))
            .await
            .unwrap();
        let running = start(&lab, &session);
        inside.recv().await.unwrap();
        lab.engine.cancel(&session, &operator()).await.unwrap();
        let outcome = running.await.unwrap();
        assert_eq!(outcome.status, Status::Cancelled, "{kind}: {outcome:?}");
        let ran = lab.store.calls(&session).await.unwrap();
        assert_eq!(ran.len(), calls, "{kind}");
        let last = ran.last().unwrap();
        assert_eq!(
            last.receipt.as_ref().map(|receipt| receipt.outcome),
            Some(How::Cancelled),
            "{kind}"
        );
        assert_eq!(lab.folder.effects().len(), effects, "{kind}");
        for call in ran
            .iter()
            .filter(|call| call.started.plan.kind == ToolKind::Write)
        {
            assert!(call.verification.is_some(), "{kind}: nobody looked");
        }
        lab.prove(&session).await;
        // The chat goes on.
        let _ = lab.engine.ask_again(&session, &asker(), "and now?").await;
        let _ = lab.engine.work_on(&session).await;
        lab.prove(&session).await;
    }
}

/// The store works in a thread of its own, so that time here is real, and short. In milliseconds.
fn limits(session: u64, iteration: u64) -> interlock_engine::Limits {
    interlock_engine::Limits {
        session: Duration::from_millis(session),
        iteration: Duration::from_millis(iteration),
        ..interlock_engine::Limits::default()
    }
}

/// How long the work took, in milliseconds.
async fn timed(lab: &Lab, question: Submission) -> (SessionId, Outcome, u128) {
    let began = tokio::time::Instant::now();
    let session = lab.engine.submit(question).await.unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    (session, outcome, began.elapsed().as_millis())
}

#[tokio::test]
async fn time_runs_out_for_the_session_the_turn_and_the_conclusion() {
    let slow = || json!({ "text": "At last.", "delay": "100s" });
    // Limits of the session and the turn, the controller, and how it ends after how long.
    let cases = [
        ("session", limits(300, 60_000), None, Status::TimedOut, 300),
        ("turn, twice", limits(60_000, 200), None, Status::Failed, 400),
        (
            "session of one call",
            limits(300, 60_000),
            Some(Controller::SingleCall),
            Status::TimedOut,
            300,
        ),
        (
            "turn of one call",
            limits(60_000, 200),
            Some(Controller::SingleCall),
            Status::Failed,
            200,
        ),
    ];
    for (case, limits, controller, status, least) in cases {
        let mut wish = Wish::replies([slow(), slow(), slow()]);
        wish.limits = limits;
        let lab = Lab::new(wish);
        let mut question = Submission::question("hello");
        question.overrides.controller = controller;
        let (session, outcome, took) = timed(&lab, question).await;
        assert_eq!(outcome.status, status, "{case}: {outcome:?}");
        assert!((least..30_000).contains(&took), "{case}: {took} ms");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_tool_that_takes_the_whole_turn_is_stopped_and_the_session_goes_on() {
    let mut wish = Wish::replies([
        calls([find()]),
        calls([read("uptime"), write("touch /srv/late")]),
        says("It took too long."),
    ])
    .behaves(|_, started, cancel| {
        (started.plan().kind == ToolKind::Read).then(|| {
            let future: BoxFuture<'_, Done> = Box::pin(async move {
                cancel.cancelled().await;
                let response =
                    ToolResponse::failed(ErrorCode::Cancelled, "stopped", Retry::Useful, Map::new());
                Done {
                    response,
                    outcome: How::Cancelled,
                    ..Done::succeeded(json!(null), "stopped")
                }
            });
            future
        })
    });
    wish.limits = limits(60_000, 1000);
    let lab = Lab::new(wish);
    let (session, outcome) = lab.ask("look").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    // The turn is over: what stands behind in the same reply does not begin any more.
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
    lab.prove(&session).await;
}

#[tokio::test]
async fn what_providers_do_wrong_ends_or_passes() {
    let fault = |kind: &str| json!({ "text": "Half of a text that breaks off", "fault": { "kind": kind } });
    let error = |status: u16, times: Option<u32>| json!({ "text": "The load is 0.42.", "fault": { "kind": "error", "status": status, "times": times } });
    let while_absent = |mut reply: serde_json::Value, note: &str| {
        reply["when"] = json!({ "absent": note });
        reply["repeat"] = json!("forever");
        reply
    };
    let fine = || says("Nothing to report.");
    let cases = [
        (
            "time-outs",
            vec![fault("timeout"), fault("timeout"), fine()],
            Status::Failed,
        ),
        (
            "stalls, twice",
            vec![fault("stall"), fault("stall"), fine()],
            Status::Failed,
        ),
        ("429, then fine", vec![error(429, Some(1))], Status::Completed),
        ("500, then fine", vec![error(500, Some(2))], Status::Completed),
        ("500 for good", vec![error(500, None)], Status::Failed),
        ("401", vec![error(401, None)], Status::Failed),
        ("not its wire", vec![fault("malformed_json")], Status::Failed),
        (
            "empty, then fine",
            vec![while_absent(fault("empty"), "The reply was empty"), fine()],
            Status::Completed,
        ),
        (
            "empty for good",
            vec![json!({ "fault": { "kind": "empty" }, "repeat": "forever" })],
            Status::Failed,
        ),
        (
            "a loop, then fine",
            vec![while_absent(fault("loop"), "repeated itself"), fine()],
            Status::Completed,
        ),
        (
            "breaks off before anything came",
            vec![json!({ "text": "Fine.", "fault": { "kind": "disconnect", "times": 1 } })],
            Status::Completed,
        ),
        (
            "breaks off for good",
            vec![fault("disconnect"), fault("disconnect")],
            Status::Failed,
        ),
        ("the script ends", vec![calls([find()])], Status::Failed),
    ];
    for (case, replies, status) in cases {
        let mut wish = Wish::replies(replies);
        wish.timeouts = Some(Timeouts {
            first_chunk: Span::from_millis(200),
            stall: Span::from_millis(200),
            call: Span::from_secs(20),
        });
        let lab = Lab::new(wish);
        let (session, outcome) = lab.ask("hello").await;
        assert_eq!(outcome.status, status, "{case}: {outcome:?}");
        assert_eq!(outcome.error.is_some(), status == Status::Failed, "{case}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn an_empty_reply_is_reminded_of_twice() {
    let lab = Lab::new(Wish::replies([
        json!({ "fault": { "kind": "empty" }, "repeat": "forever" }),
    ]));
    let (session, outcome) = lab.ask("hello").await;
    assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
    let last = lab.last_request(&session).await;
    assert_eq!(last.matches("The reply was empty").count(), 2, "{last}");
}

#[tokio::test]
async fn a_reply_that_broke_off_in_the_middle_is_asked_for_once_more() {
    let broken = || json!({ "text": "Half of a text that breaks off", "fault": { "kind": "disconnect" } });
    let lab = Lab::new(Wish::replies([broken()]));
    let (session, outcome) = lab.ask("hello").await;
    assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
    let asked = lab.requests(&session).await;
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0], asked[1], "what was cut off must not come back as said");
}

/// A write has happened and the model fails for good: what was written is looked at all the same.
#[tokio::test]
async fn a_session_that_fails_after_a_write_looked_at_it() {
    let lab = Lab::new(Wish::replies([
        calls([find()]),
        calls([write("touch /srv/flag")]),
        json!({ "fault": { "kind": "error", "status": 401 } }),
    ]));
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
    let ran = lab.store.calls(&session).await.unwrap();
    assert!(ran[1].verification.is_some(), "{ran:#?}");
    lab.prove(&session).await;
}

/// Stopping one agent stops the other.
#[tokio::test]
async fn two_agents_are_stopped_together() {
    let (entered, mut inside) = mpsc::channel(4);
    let barrier = Arc::new(entered);
    let looks = || [calls([find()]), says("never")];
    let wish = Wish::replies([says("nobody asks this one")])
        .agent("a", looks())
        .agent("b", looks())
        .chain(interlock_engine::Success::Any, &[&["a", "b"]])
        .behaves(move |_, _, cancel| {
            let entered = Arc::clone(&barrier);
            Some(Box::pin(async move {
                entered.send(()).await.unwrap();
                cancel.cancelled().await;
                Done::succeeded(json!({ "late": true }), "late")
            }))
        });
    let lab = Lab::new(wish);
    let session = lab
        .engine
        .submit(Submission::alert("test", "the disk is full"))
        .await
        .unwrap();
    let running = start(&lab, &session);
    inside.recv().await.unwrap();
    inside.recv().await.unwrap();
    lab.engine.cancel(&session, &operator()).await.unwrap();
    let outcome = running.await.unwrap();
    assert_eq!(outcome.status, Status::Cancelled, "{outcome:?}");
    lab.prove(&session).await;
}
