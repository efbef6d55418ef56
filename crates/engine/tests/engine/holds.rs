//! Calls that wait for a human: decided once, by the right person, in their time, for what is still so.

use std::sync::Arc;

use interlock_engine::{Called, Error, Live, Submission, Success};
use interlock_gate::{FourEyes, KillSwitch};
use interlock_protocol::{ContentHash, ControlLevel, Status, UserId};
use interlock_store::Holds;
use jiff::SignedDuration;
use serde_json::json;

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, calls, find, operator, read, says, write};

fn controlled() -> Wish {
    Wish::script(RESTART).level(ControlLevel::Controlled)
}

fn nothing() -> Vec<String> {
    Vec::new()
}

#[tokio::test]
async fn of_two_processes_that_approve_at_once_exactly_one_wins() {
    let lab = Lab::new(controlled());
    let (session, _) = lab.ask("put the flag there").await;
    let other = Lab::in_folder(&lab.folder.path, controlled());
    let hold = lab.hold().await;
    let (olga, otto) = (operator(), UserId::new("otto").unwrap());
    let (one, two) = tokio::join!(
        lab.engine.approve_by(&hold, &olga),
        other.engine.approve_by(&hold, &otto)
    );
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    assert!(lab.engine.deny_by(&hold, &operator(), "too late").await.is_err());
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    let used = lab.store.tokens(&hold).await.unwrap();
    assert_eq!(used.iter().filter(|token| token.used_at.is_some()).count(), 1);
    lab.prove(&session).await;
}

/// What was approved is the change of one content. If the file has another one by then, nothing is written, and the record says why.
#[tokio::test]
async fn an_approved_change_of_a_file_does_not_run_on_another_content() {
    const PATCH: &str = r#"
replies:
  - calls: [{tool: infra_query, arguments: {action: search, query: web}}]
  - calls: [{tool: infra_file_edit, arguments: {action: patch, target_resource_id: "host:web", path: /etc/app.conf, edits: [{find: a, replace: b}]}}]
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "ls /srv"}}]
  - text: "See what was done."
  - text: "See what was done."
"#;
    for (changes, restarts) in [(false, false), (true, false), (false, true), (true, true)] {
        let wish = || Wish::script(PATCH).level(ControlLevel::Controlled);
        let lab = Lab::new(wish());
        let (session, _) = lab.ask("change the file").await;
        let hold = lab.hold().await;
        let other = restarts.then(|| Lab::in_folder(&lab.folder.path, wish()));
        let lab = other.as_ref().unwrap_or(&lab);
        if changes {
            lab.folder.write("somebody else changed the file");
        }
        lab.engine.approve_by(&hold, &operator()).await.unwrap();
        lab.engine.work_on(&session).await.unwrap();
        let ran = lab.folder.effects().iter().any(|line| line == "patch");
        assert_eq!(ran, !changes, "changes: {changes}, restarts: {restarts}");
        let head = interlock_engine::head(&lab.store, &session).await.unwrap();
        assert_eq!(head.not_run.len(), usize::from(changes), "{}", head.plain());
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_hold_that_nobody_decides_in_time_expires_and_its_model_hears_it() {
    let mut wish = controlled();
    wish.gate.hold_ttl = SignedDuration::ZERO;
    let lab = Lab::new(wish);
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Held, "{outcome:?}");
    let hold = lab.hold().await;
    assert!(
        lab.engine.approve_by(&hold, &operator()).await.is_err(),
        "a hold was approved after its time"
    );
    lab.engine.expire_holds().await.unwrap();
    lab.engine.expire_holds().await.unwrap();
    let names = lab.event_names(&session).await;
    assert_eq!(names.iter().filter(|name| **name == "hold.expired").count(), 1);
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), nothing());
    let sent = format!("{:?}", lab.requests(&session).await);
    assert!(sent.contains("Nobody decided on the call in time."), "{sent}");
    lab.prove(&session).await;
}

#[tokio::test]
async fn what_changed_since_it_was_held_does_not_run_and_the_model_is_told_what_changed() {
    for restart in [false, true] {
        let lab = Lab::new(controlled());
        let (session, _) = lab.ask("put the flag there").await;
        let again = restart.then(|| Lab::in_folder(&lab.folder.path, controlled()));
        let lab = again.as_ref().unwrap_or(&lab);
        lab.engine
            .approve_by(&lab.hold().await, &operator())
            .await
            .unwrap();
        *lab.folder.state.lock().unwrap() = Some("stopped".to_owned());
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(
            outcome.status,
            Status::Completed,
            "restart {restart}: {outcome:?}"
        );
        assert_eq!(lab.folder.effects(), nothing(), "restart {restart}");
        let sent = lab.last_request(&session).await;
        assert!(sent.contains("has changed since"), "restart {restart}: {sent}");
        assert!(sent.contains("stopped"), "restart {restart}: {sent}");
        assert_eq!(lab.refusals(&session).await, ["live_state"], "restart {restart}");
        let shown = lab.shown(&session, "refused").await;
        assert_eq!(shown.len(), 1, "restart {restart}: {shown:#?}");
        let changes = json!([{ "field": "state", "was": "running", "now": "stopped" }]);
        assert_eq!(shown[0].metadata["details"]["changes"], changes);
        assert_eq!(shown[0].metadata["rule"], "live_state");
        assert!(lab.shown(&session, "held").await.is_empty(), "restart {restart}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_plan_does_not_run_on_another_machine_that_took_its_name() {
    for restart in [false, true] {
        let lab = Lab::new(controlled());
        *lab.folder.machine.lock().unwrap() = Some("SHA256:one".to_owned());
        let (session, _) = lab.ask("put the flag there").await;
        let again = restart.then(|| Lab::in_folder(&lab.folder.path, controlled()));
        let lab = again.as_ref().unwrap_or(&lab);
        let hold = lab.hold().await;
        lab.engine.approve_by(&hold, &operator()).await.unwrap();
        *lab.folder.machine.lock().unwrap() = Some("SHA256:two".to_owned());
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(
            outcome.status,
            Status::Completed,
            "restart {restart}: {outcome:?}"
        );
        assert_eq!(lab.folder.effects(), nothing(), "restart {restart}");
        assert_eq!(lab.refusals(&session).await, ["live_state"], "restart {restart}");
        let shown = lab.shown(&session, "refused").await;
        let changes = json!([{ "field": "ssh_host_key", "was": "SHA256:one", "now": "SHA256:two" }]);
        assert_eq!(shown[0].metadata["details"]["changes"], changes);
        let sent = lab.last_request(&session).await;
        let told = "`host:web` is not the machine that the plan was made for: SSH key was SHA256:one and is SHA256:two";
        assert!(sent.contains(told), "restart {restart}: {sent}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_plan_runs_and_is_verified_on_the_machine_that_it_was_made_for() {
    for (after, verified) in [("SHA256:one", true), ("SHA256:two", false)] {
        let lab = Lab::new(controlled());
        *lab.folder.machine.lock().unwrap() = Some("SHA256:one".to_owned());
        let (session, _) = lab.ask("put the flag there").await;
        let hold = lab.hold().await;
        lab.engine.approve_by(&hold, &operator()).await.unwrap();
        if !verified {
            // The machine is replaced between the write and the reading that would verify it.
            lab.folder.swap_after_write("SHA256:two");
        }
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(lab.folder.effects().len(), 1, "{after}: {outcome:?}");
        // A script that waits for the verification has no more to say.
        assert_eq!(
            outcome.status == Status::Completed,
            verified,
            "{after}: {outcome:?}"
        );
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn writes_that_are_stopped_between_the_yes_and_the_run_do_not_run() {
    let lab = Lab::new(controlled());
    let (session, _) = lab.ask("put the flag there").await;
    lab.engine
        .approve_by(&lab.hold().await, &operator())
        .await
        .unwrap();
    // Another process says so; this one must look.
    let other = Lab::in_folder(&lab.folder.path, controlled());
    other
        .engine
        .stop_writes(KillSwitch::Engaged, &operator(), None)
        .await
        .unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), nothing());
    assert_eq!(lab.refusals(&session).await, ["kill_switch"]);
    assert_eq!(
        lab.not_run(&session).await,
        [
            "1 write was approved by olga and then refused before it ran (POLICY_BLOCKED): a command on web (host:web). The \
             command: `touch /srv/flag`"
        ]
    );
    // A later question is told that there was such a write.
    lab.engine
        .ask_again(&session, &crate::fixture::asker(), "and now?")
        .await
        .unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let head = interlock_engine::head(&lab.store, &session).await.unwrap();
    assert_eq!((head.not_run.len(), head.earlier_not_run), (0, 1), "{head:?}");
    assert!(
        head.plain()
            .contains("• 1 write was proposed earlier in this session and did not run.\n"),
        "{}",
        head.plain()
    );
    lab.prove(&session).await;
}

#[tokio::test]
async fn with_four_eyes_the_owner_does_not_approve() {
    let mut wish = controlled();
    wish.four_eyes = FourEyes::On;
    let lab = Lab::new(wish);
    let mut question = Submission::question("put the flag there");
    question.owner = Some(operator());
    let session = lab.engine.submit(question).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let hold = lab.hold().await;
    let refused = lab.engine.approve_by(&hold, &operator()).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(why) if why.message.contains("owner")),
        "{refused}"
    );
    lab.engine
        .approve_by(&hold, &UserId::new("otto").unwrap())
        .await
        .unwrap();
    lab.engine.work_on(&session).await.unwrap();
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    lab.prove(&session).await;
}

/// Whoever asks the next question in somebody else's session does not approve what comes of it.
#[tokio::test]
async fn with_four_eyes_whoever_asked_does_not_approve() {
    let mut wish = Wish::replies([
        says("What shall I do?"),
        calls([find()]),
        calls([write("touch /srv/flag")]),
        says("Done."),
    ])
    .level(ControlLevel::Controlled);
    wish.four_eyes = FourEyes::On;
    let lab = Lab::new(wish);
    let mut question = Submission::question("hello");
    question.owner = Some(operator());
    let session = lab.engine.submit(question).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let outcome = lab.again(&session, "put the flag there").await;
    assert_eq!(outcome.status, Status::Held, "{outcome:?}");
    let hold = lab.hold().await;
    for who in [operator(), crate::fixture::asker()] {
        let refused = lab.engine.open_hold_by(&hold, &who).await.unwrap_err();
        assert!(
            matches!(&refused, Error::Refused(why) if why.details["hold_status"] == "pending"),
            "{who}: {refused}"
        );
    }
    lab.engine
        .approve_by(&hold, &UserId::new("otto").unwrap())
        .await
        .unwrap();
}

fn two_agents() -> Wish {
    Wish::replies([says("nobody asks this one")])
        .level(ControlLevel::Controlled)
        .agent(
            "reader",
            [
                json!({ "when": { "contains": "Several agents worked" }, "text": "Both looked." }),
                calls([find()]),
                calls([read("uptime")]),
                says("The load is 0.42."),
            ],
        )
        .agent(
            "writer",
            [
                calls([find()]),
                calls([write("touch /srv/flag")]),
                calls([read("ls /srv")]),
                says("See below."),
            ],
        )
        .chain(Success::All, &[&["reader", "writer"]])
}

#[tokio::test]
async fn one_agent_waits_for_a_human_while_the_other_comes_to_its_end() {
    let lab = Lab::new(two_agents());
    let (session, outcome) = lab.alert("the disk is full").await;
    assert_eq!(outcome.status, Status::Held, "{outcome:?}");
    let names = lab.event_names(&session).await;
    assert_eq!(
        names
            .iter()
            .filter(|name| **name == "execution.completed")
            .count(),
        1,
        "{names:?}"
    );
    lab.engine
        .approve_by(&lab.hold().await, &operator())
        .await
        .unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(outcome.answer.as_deref(), Some("Both looked."));
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    lab.prove(&session).await;
}

#[tokio::test]
async fn what_waits_can_be_stopped_and_a_late_yes_runs_nothing() {
    for (wish, parallel) in [(controlled as fn() -> Wish, false), (two_agents, true)] {
        let lab = Lab::new(wish());
        let (session, outcome) = if parallel {
            lab.alert("the disk is full").await
        } else {
            lab.ask("put the flag there").await
        };
        assert_eq!(outcome.status, Status::Held, "{outcome:?}");
        let hold = lab.hold().await;
        lab.engine.cancel(&session, &operator()).await.unwrap();
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(
            outcome.status,
            Status::Cancelled,
            "parallel {parallel}: {outcome:?}"
        );
        assert!(
            lab.engine.approve_by(&hold, &operator()).await.is_err(),
            "parallel {parallel}"
        );
        assert!(lab.store.holds(Holds::Open).await.unwrap().is_empty());
        assert_eq!(lab.folder.effects(), nothing(), "parallel {parallel}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_session_that_is_stopped_after_the_yes_runs_nothing_then_or_later() {
    let lab = Lab::new(
        Wish::replies([
            calls([find()]),
            calls([write("touch /srv/flag")]),
            says("The second question is answered."),
        ])
        .level(ControlLevel::Controlled),
    );
    let (session, _) = lab.ask("put the flag there").await;
    lab.engine
        .approve_by(&lab.hold().await, &operator())
        .await
        .unwrap();
    lab.engine.cancel(&session, &operator()).await.unwrap();
    if lab.store.session(&session).await.unwrap().status == Status::Pending {
        lab.engine.work_on(&session).await.unwrap();
    }
    assert_eq!(
        lab.store.session(&session).await.unwrap().status,
        Status::Cancelled
    );
    assert_eq!(lab.folder.effects(), nothing());
    // The next question is a new one: what was stopped does not come back to life with it.
    let outcome = lab.again(&session, "and the load?").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(
        outcome.answer.as_deref(),
        Some("The second question is answered.")
    );
    assert_eq!(lab.folder.effects(), nothing());
    let last = lab.last_request(&session).await;
    assert!(last.contains("and the load?"), "{last}");
    lab.prove(&session).await;
}

#[tokio::test]
async fn a_direct_call_that_waits_runs_once_and_leaves_the_chat_as_it_was() {
    let lab = Lab::new(
        Wish::replies([says("Nothing to do."), says("The second answer.")]).level(ControlLevel::Controlled),
    );
    let (session, _) = lab.ask("hello").await;
    let (_, arguments) = find();
    let found = lab
        .engine
        .call(&session, &operator(), "infra_query", object(arguments))
        .await
        .unwrap();
    assert!(
        matches!(found, Called::Answered { failed: false, .. }),
        "{found:?}"
    );
    let (_, arguments) = write("touch /srv/flag");
    let called = lab
        .engine
        .call(&session, &operator(), "infra_control", object(arguments))
        .await
        .unwrap();
    assert!(matches!(called, Called::Held { .. }), "{called:?}");
    // It still waits: whoever looks does not end it.
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Held, "{outcome:?}");
    lab.engine
        .approve_by(&lab.hold().await, &operator())
        .await
        .unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    assert_eq!(
        lab.requests(&session).await.len(),
        1,
        "the model was asked about a person's call"
    );
    let outcome = lab.again(&session, "and now?").await;
    assert_eq!(
        outcome
            .answer
            .as_deref()
            .map(|answer| answer.starts_with("The second answer.")),
        Some(true),
        "{outcome:?}"
    );
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    lab.prove(&session).await;
}

pub(crate) fn object(value: serde_json::Value) -> interlock_protocol::Arguments {
    match value {
        serde_json::Value::Object(arguments) => arguments,
        _ => panic!("not an object"),
    }
}

/// The token lives inside one call; what is stored is its hash. So every text of 32 bytes or 64 digits that is anywhere
/// is hashed and compared with what is stored: none may be the token.
#[tokio::test]
async fn no_approval_token_is_anywhere() {
    let lab = Lab::new(controlled());
    let mut live = lab.engine.watch();
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    lab.engine.approve_by(&hold, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let hashes: Vec<ContentHash> = lab
        .store
        .tokens(&hold)
        .await
        .unwrap()
        .iter()
        .map(|token| token.hash)
        .collect();
    assert_eq!(hashes.len(), 1);
    let mut everything = lab.bytes();
    everything.extend(lab.traces(&session).await.into_bytes());
    everything.extend(format!("{:?}", lab.events(&session).await).into_bytes());
    while let Ok(happened) = live.try_recv() {
        let text = match happened {
            Live::Event(event) => serde_json::to_string(&event).unwrap(),
            other => format!("{other:?}"),
        };
        everything.extend(text.into_bytes());
    }
    assert!(!finds_preimage(&everything, &hashes), "a token was kept or shown");
    // The search finds one, raw and in digits, if there is one.
    let canary = [7_u8; 32];
    let known = [ContentHash::of(canary)];
    for planted in [canary.to_vec(), "07".repeat(32).into_bytes()] {
        let mut with = everything.clone();
        with.extend(planted);
        assert!(finds_preimage(&with, &known));
    }
}

fn finds_preimage(bytes: &[u8], hashes: &[ContentHash]) -> bool {
    let raw = bytes
        .windows(32)
        .any(|window| hashes.contains(&ContentHash::of(window)));
    let digits = || {
        bytes
            .windows(64)
            .filter(|window| window.iter().all(u8::is_ascii_hexdigit))
            .any(|window| {
                let text = std::str::from_utf8(window).unwrap();
                let decoded: Vec<u8> = (0..64)
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
                    .collect();
                hashes.contains(&ContentHash::of(decoded))
            })
    };
    raw || digits()
}

/// Two processes that write to the same thing: the one that comes second is refused, told so, and the record of both
/// replays.
#[tokio::test]
async fn two_processes_do_not_write_to_one_resource_at_once() {
    let (entered, mut inside) = tokio::sync::mpsc::channel(1);
    let go = Arc::new(tokio::sync::Notify::new());
    let slow = {
        let go = Arc::clone(&go);
        Wish::script(RESTART).behaves(move |folder, started, _| {
            (started.plan().kind == interlock_protocol::ToolKind::Write).then(|| {
                let (entered, go) = (entered.clone(), Arc::clone(&go));
                let future: interlock_executor::BoxFuture<'_, interlock_executor::Done> =
                    Box::pin(async move {
                        entered.send(()).await.unwrap();
                        go.notified().await;
                        folder.write("first");
                        interlock_executor::Done::succeeded(json!({}), "wrote")
                    });
                future
            })
        })
    };
    let first = Lab::new(slow);
    let second = Lab::in_folder(&first.folder.path, Wish::script(RESTART));
    let engine = first.engine.clone();
    let one = first
        .engine
        .submit(Submission::question("put the flag there"))
        .await
        .unwrap();
    let id = one.clone();
    let running = tokio::spawn(async move { engine.work_on(&id).await.unwrap() });
    inside.recv().await.unwrap();
    let (two, outcome) = second.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(second.folder.effects(), nothing());
    assert_eq!(second.refusals(&two).await, ["one_writer"]);
    let sent = format!("{:?}", second.requests(&two).await);
    assert!(sent.contains("host:web"), "{sent}");
    let started: Vec<_> = second.store.calls(&two).await.unwrap();
    assert!(
        started
            .iter()
            .all(|call| call.started.plan.kind != interlock_protocol::ToolKind::Write),
        "what was refused is not in the record as started"
    );
    second.prove(&two).await;
    go.notify_one();
    let outcome = running.await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(first.folder.effects(), ["first"]);
    first.prove(&one).await;
    // The resource is free again for both.
    let (_, outcome) = second.ask("put the flag there again").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(second.folder.effects(), ["first", "touch /srv/flag"]);
}

/// The yes comes while the other agent still works: the session does not wait for what was decided, nor is it lost.
#[tokio::test]
async fn a_decision_while_the_session_is_worked_on_is_not_lost() {
    for stop in [false, true] {
        let (entered, mut inside) = tokio::sync::mpsc::channel(4);
        let go = Arc::new(tokio::sync::Notify::new());
        let gate = Arc::clone(&go);
        let wish = two_agents().behaves(move |_, started, _| {
            (started.plan().command.as_deref() == Some("uptime")).then(|| {
                let (entered, go) = (entered.clone(), Arc::clone(&gate));
                let future: interlock_executor::BoxFuture<'_, interlock_executor::Done> =
                    Box::pin(async move {
                        entered.send(()).await.unwrap();
                        go.notified().await;
                        interlock_executor::Done::succeeded(json!({ "load": 0.42 }), "read")
                    });
                future
            })
        });
        let lab = Lab::new(wish);
        let alert = Submission::alert("test", "the disk is full");
        let session = lab.engine.submit(alert).await.unwrap();
        let running = {
            let (engine, session) = (lab.engine.clone(), session.clone());
            tokio::spawn(async move { engine.work_on(&session).await.unwrap() })
        };
        inside.recv().await.unwrap();
        let mut live = lab.engine.watch();
        while lab.store.holds(Holds::Open).await.unwrap().is_empty() {
            live.recv().await.unwrap();
        }
        lab.engine
            .approve_by(&lab.hold().await, &operator())
            .await
            .unwrap();
        if stop {
            lab.engine.cancel(&session, &operator()).await.unwrap();
        }
        go.notify_one();
        running.await.unwrap();
        let mut outcome = None;
        while lab.store.session(&session).await.unwrap().status == Status::Pending {
            outcome = Some(lab.engine.work_on(&session).await.unwrap());
        }
        let standing = lab.store.session(&session).await.unwrap().status;
        if stop {
            assert_eq!(standing, Status::Cancelled, "{outcome:?}");
            assert_eq!(lab.folder.effects(), nothing());
        } else {
            assert_eq!(standing, Status::Completed, "{outcome:?}");
            assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
        }
        lab.prove(&session).await;
    }
}
