//! Plans that a person changes: the new one passes the whole gate, waits by itself, and is what runs, once.

use interlock_engine::{Called, Error, Submission};
use interlock_gate::{FourEyes, HoldStatus, KillSwitch};
use interlock_protocol::{Arguments, ControlLevel, ErrorCode, Status};
use interlock_store::{Error as StoreError, Holds};
use serde_json::json;

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, calls, find, operator, read, says, user, write};
use crate::holds::object;

fn controlled() -> Wish {
    Wish::script(RESTART).level(ControlLevel::Controlled)
}

fn command(command: &str) -> Arguments {
    object(write(command).1)
}

/// Another process takes over, or the same goes on.
fn next(lab: &Lab, restart: bool) -> Option<Lab> {
    restart.then(|| Lab::in_folder(&lab.folder.path, controlled()))
}

#[tokio::test]
async fn what_was_edited_runs_once_as_edited_and_the_model_is_told() {
    for (before, after) in [(false, false), (false, true), (true, false), (true, true)] {
        let case = format!("restart before {before}, after {after}");
        let first = Lab::new(controlled());
        let (session, _) = first.ask("put the flag there").await;
        let old = first.hold().await;
        let second = next(&first, before);
        let lab = second.as_ref().unwrap_or(&first);
        let new = lab
            .engine
            .edit_by(&old, &user("otto"), command("touch /srv/other"))
            .await
            .unwrap();
        assert_eq!(lab.store.session(&session).await.unwrap().status, Status::Held);
        assert_eq!(lab.folder.effects(), Vec::<String>::new(), "{case}");
        assert_eq!(lab.hold().await, new.id, "{case}");
        let ended = lab.store.hold(&old).await.unwrap();
        assert!(
            matches!(&ended.status, HoldStatus::Edited { by, into: Some(into), .. }
                if *by == user("otto") && *into == new.id),
            "{case}: {ended:#?}"
        );
        let held = lab.shown(&session, "held").await;
        assert_eq!(held.len(), 1, "{case}: {held:#?}");
        assert_eq!(held[0].metadata["hold"], json!(new.id));
        assert_eq!(held[0].metadata["edited_from"], json!(old));
        assert_eq!(held[0].metadata["arguments"]["command"], "touch /srv/other");
        assert_eq!(
            held[0].metadata["proposed_arguments"]["command"],
            "touch /srv/flag"
        );
        let names = lab.event_names(&session).await;
        let told = |name: &str| names.iter().filter(|known| **known == name).count();
        assert_eq!((told("hold.opened"), told("hold.edited")), (2, 1), "{names:?}");

        let third = next(&first, after);
        let lab = third.as_ref().unwrap_or(lab);
        // It still waits: whoever looks does not run it.
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(outcome.status, Status::Held, "{case}: {outcome:?}");
        assert!(lab.engine.approve_by(&old, &operator()).await.is_err(), "{case}");
        lab.engine.approve_by(&new.id, &operator()).await.unwrap();
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(outcome.status, Status::Completed, "{case}: {outcome:?}");
        assert_eq!(lab.folder.effects(), ["touch /srv/other"], "{case}");
        let sent = lab.last_request(&session).await;
        assert!(sent.contains("edited_by"), "{case}: {sent}");
        assert!(sent.contains("otto"), "{case}: {sent}");
        assert!(sent.contains("touch /srv/other"), "{case}: {sent}");
        assert!(lab.shown(&session, "held").await.is_empty(), "{case}");
        let ran: Vec<_> = lab
            .shown(&session, "completed")
            .await
            .into_iter()
            .filter(|entry| entry.metadata["hold"] == json!(new.id))
            .collect();
        assert_eq!(ran.len(), 1, "{case}: {ran:#?}");
        assert_eq!(ran[0].metadata["approved_by"], json!(operator()));
        assert_eq!(ran[0].metadata["edited_by"], "otto");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn what_was_edited_can_be_edited_denied_and_run_out_of_time() {
    for end in ["approve", "deny", "change"] {
        let lab = Lab::new(controlled());
        let (session, _) = lab.ask("put the flag there").await;
        let first = lab.hold().await;
        let second = lab
            .engine
            .edit_by(&first, &operator(), command("touch /srv/two"))
            .await
            .unwrap();
        let third = lab
            .engine
            .edit_by(&second.id, &user("otto"), command("touch /srv/three"))
            .await
            .unwrap();
        let from = third.edited_from.clone().unwrap();
        assert_eq!((from.hold, from.by), (second.id.clone(), user("otto")));
        for over in [&first, &second.id] {
            let refused = lab
                .engine
                .edit_by(over, &operator(), command("touch /srv/four"))
                .await
                .unwrap_err();
            assert!(
                matches!(&refused, Error::Refused(why) if why.details["hold_status"] == "edited"),
                "{refused:?}"
            );
        }
        match end {
            "deny" => {
                lab.engine
                    .deny_by(&third.id, &operator(), "neither")
                    .await
                    .unwrap();
            }
            "change" => {
                *lab.folder.state.lock().unwrap() = Some("stopped".to_owned());
                lab.engine.approve_by(&third.id, &operator()).await.unwrap();
            }
            _ => {
                lab.engine.approve_by(&third.id, &operator()).await.unwrap();
            }
        }
        lab.engine.work_on(&session).await.unwrap();
        let expected: &[&str] = if end == "approve" {
            &["touch /srv/three"]
        } else {
            &[]
        };
        assert_eq!(lab.folder.effects(), expected, "{end}");
        let sent = format!("{:?}", lab.requests(&session).await);
        assert!(sent.contains("edited_by"), "{end}: {sent}");
        let rules = lab.refusals(&session).await;
        match end {
            "deny" => assert_eq!(rules, ["approval"]),
            "change" => assert_eq!(rules, ["live_state"]),
            _ => assert_eq!(rules, Vec::<String>::new()),
        }
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn what_the_gate_refuses_leaves_the_old_hold_open() {
    let elsewhere = object(json!({
        "action": "command", "target_resource_id": "host:db", "command": "touch /srv/flag"
    }));
    let not_enough = object(json!({ "action": "command", "target_resource_id": "host:web" }));
    let cases: [(&str, Arguments, bool, &[ErrorCode]); 3] = [
        (
            "another host",
            elsewhere,
            false,
            &[ErrorCode::StrictResolution, ErrorCode::NotFound],
        ),
        ("no command", not_enough, false, &[ErrorCode::InvalidInput]),
        (
            "writes are stopped",
            command("touch /srv/other"),
            true,
            &[ErrorCode::PolicyBlocked, ErrorCode::ActionNotAllowed],
        ),
    ];
    for (case, arguments, stopped, codes) in cases {
        for restart in [false, true] {
            let first = Lab::new(controlled());
            let (session, _) = first.ask("put the flag there").await;
            let hold = first.hold().await;
            let second = next(&first, restart);
            let lab = second.as_ref().unwrap_or(&first);
            let switch = |on: bool| {
                if on {
                    KillSwitch::Engaged
                } else {
                    KillSwitch::Released
                }
            };
            lab.engine
                .stop_writes(switch(stopped), &operator(), None)
                .await
                .unwrap();
            let refused = lab
                .engine
                .edit_by(&hold, &operator(), arguments.clone())
                .await
                .unwrap_err();
            let Error::Refused(refusal) = &refused else {
                panic!("{case}: {refused:?}")
            };
            assert!(codes.contains(&refusal.code), "{case}: {refusal:?}");
            assert!(!refusal.rule.as_str().is_empty(), "{case}: {refusal:?}");
            assert_eq!(refusal.details["hold_status"], "pending", "{case}");
            assert_eq!(lab.hold().await, hold, "{case}");
            assert_eq!(lab.store.session(&session).await.unwrap().status, Status::Held);
            lab.engine
                .stop_writes(KillSwitch::Released, &operator(), None)
                .await
                .unwrap();
            // As if nobody had tried.
            lab.engine.approve_by(&hold, &operator()).await.unwrap();
            let outcome = lab.engine.work_on(&session).await.unwrap();
            assert_eq!(outcome.status, Status::Completed, "{case}: {outcome:?}");
            assert_eq!(lab.folder.effects(), ["touch /srv/flag"], "{case}");
            lab.prove(&session).await;
        }
    }
}

#[tokio::test]
async fn with_four_eyes_neither_the_owner_nor_the_editor_approves() {
    let mut wish = controlled();
    wish.four_eyes = FourEyes::On;
    let lab = Lab::new(wish);
    let mut question = Submission::question("put the flag there");
    question.owner = Some(user("owner"));
    let session = lab.engine.submit(question).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let old = lab.hold().await;
    let by_owner = lab
        .engine
        .edit_by(&old, &user("owner"), command("touch /srv/two"))
        .await
        .unwrap();
    let new = lab
        .engine
        .edit_by(&by_owner.id, &user("editor"), command("touch /srv/three"))
        .await
        .unwrap();
    for who in ["owner", "editor"] {
        let refused = lab.engine.open_hold_by(&new.id, &user(who)).await.unwrap_err();
        assert!(
            matches!(&refused, Error::Refused(why) if why.code == ErrorCode::ActionNotAllowed
                && why.details["hold_status"] == "pending"),
            "{who}: {refused:?}"
        );
    }
    lab.engine.approve_by(&new.id, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    assert_eq!(lab.folder.effects(), ["touch /srv/three"]);
    lab.prove(&session).await;
}

/// One says yes while another changes it: one of them is too late, and what runs is what stands in the record.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_one_who_approves_and_one_who_edits_at_once_one_wins() {
    for round in 0..12 {
        let lab = Lab::new(controlled());
        let (session, _) = lab.ask("put the flag there").await;
        let hold = lab.hold().await;
        let other = Lab::in_folder(&lab.folder.path, controlled());
        let opened = lab.engine.open_hold_by(&hold, &operator()).await.unwrap();
        let editor = if round % 2 == 0 { &lab } else { &other };
        let otto = user("otto");
        let (approved, edited) = tokio::join!(
            async {
                for _ in 0..round {
                    tokio::task::yield_now().await;
                }
                lab.engine
                    .approve_with_by(&hold, &operator(), &opened.token)
                    .await
            },
            editor.engine.edit_by(&hold, &otto, command("touch /srv/other"))
        );
        assert!(approved.is_ok() != edited.is_ok(), "{approved:?} {edited:?}");
        let expected = match (&approved, &edited) {
            (_, Ok(new)) => {
                lab.engine.approve_by(&new.id, &operator()).await.unwrap();
                "touch /srv/other"
            }
            (_, Err(error)) => {
                assert!(
                    matches!(
                        error,
                        Error::Refused(_)
                            | Error::Store(StoreError::HoldDecided(_) | StoreError::WrongStatus { .. })
                    ),
                    "{error:?}"
                );
                "touch /srv/flag"
            }
        };
        assert_eq!(
            lab.store.session(&session).await.unwrap().status,
            Status::Pending,
            "{approved:?} {edited:?}"
        );
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
        assert_eq!(lab.folder.effects(), [expected], "{approved:?} {edited:?}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_direct_call_that_waits_can_be_edited() {
    let lab = Lab::new(Wish::replies([says("Nothing to do.")]).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("hello").await;
    lab.engine
        .call(&session, &operator(), "infra_query", object(find().1))
        .await
        .unwrap();
    let called = lab
        .engine
        .call(&session, &operator(), "infra_control", command("touch /srv/flag"))
        .await
        .unwrap();
    assert!(matches!(called, Called::Held { .. }), "{called:?}");
    let new = lab
        .engine
        .edit_by(&lab.hold().await, &operator(), command("touch /srv/other"))
        .await
        .unwrap();
    lab.engine.approve_by(&new.id, &operator()).await.unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/other"]);
    assert_eq!(lab.requests(&session).await.len(), 1);
    lab.prove(&session).await;
}

#[tokio::test]
async fn nothing_of_a_session_that_ended_or_is_worked_on_is_edited() {
    let lab = Lab::new(controlled());
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    let claim = lab
        .store
        .claim(&session, lab.engine.worker(), jiff::Timestamp::now())
        .await
        .unwrap();
    let refused = lab
        .engine
        .edit_by(&hold, &operator(), command("touch /srv/other"))
        .await
        .unwrap_err();
    assert!(
        matches!(&refused, Error::Store(StoreError::WrongStatus { .. })),
        "{refused:?}"
    );
    lab.store
        .release(&claim, Status::Failed, jiff::Timestamp::now())
        .await
        .unwrap();
    let refused = lab
        .engine
        .edit_by(&hold, &operator(), command("touch /srv/other"))
        .await
        .unwrap_err();
    assert!(matches!(&refused, Error::NotNow(_)), "{refused:?}");
    assert_eq!(lab.store.session(&session).await.unwrap().status, Status::Failed);
    assert_eq!(lab.store.holds(Holds::Open).await.unwrap().len(), 1);
}

/// Somebody who asks for one thing by name does not get another edited in its place, also not after a restart.
#[tokio::test]
async fn what_a_person_named_is_known_again_after_a_restart() {
    for restart in [false, true] {
        let wish = || {
            Wish::replies([
                calls([find()]),
                calls([write("touch /srv/flag")]),
                calls([read("ls /srv")]),
                says("See below."),
                calls([read("ls -l /srv")]),
                says("See below."),
            ])
            .level(ControlLevel::Controlled)
        };
        let first = Lab::new(wish());
        let (session, _) = first.ask("put the flag on @web").await;
        let second = restart.then(|| Lab::in_folder(&first.folder.path, wish()));
        let lab = second.as_ref().unwrap_or(&first);
        let new = lab
            .engine
            .edit_by(&lab.hold().await, &operator(), command("touch /srv/other"))
            .await
            .unwrap();
        let steps = lab.store.steps(&session, None).await.unwrap();
        let mentions = steps.iter().filter(|step| step.input["ask"] == "mention").count();
        assert_eq!(mentions, if restart { 2 } else { 1 });
        lab.engine.approve_by(&new.id, &operator()).await.unwrap();
        lab.engine.work_on(&session).await.unwrap();
        assert_eq!(lab.folder.effects(), ["touch /srv/other"]);
        lab.prove(&session).await;
    }
}

/// The head names the command of the model, and not only what a person made of it.
#[tokio::test]
async fn what_was_edited_and_denied_names_both_commands() {
    for restart in [false, true] {
        let first = Lab::new(controlled());
        let (session, _) = first.ask("put the flag there").await;
        let hold = first.hold().await;
        let edit = |lab: &Lab, hold, by, to: &'static str| {
            let engine = lab.engine.clone();
            async move { engine.edit_by(&hold, &by, command(to)).await.unwrap().id }
        };
        let hold = edit(&first, hold, operator(), "touch /srv/two").await;
        let hold = edit(&first, hold, user("otto"), "touch /srv/three").await;
        let second = next(&first, restart);
        let lab = second.as_ref().unwrap_or(&first);
        lab.engine.deny_by(&hold, &operator(), "no").await.unwrap();
        lab.engine.work_on(&session).await.unwrap();
        assert_eq!(
            lab.not_run(&session).await,
            [
                "1 write was denied by olga: a command on web (host:web), edited by otto. The command: `touch /srv/three`. The \
                 model's own command: `touch /srv/flag`"
            ]
        );
        lab.prove(&session).await;
    }
}
