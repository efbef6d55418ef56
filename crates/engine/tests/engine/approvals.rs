//! Tokens: made for one person, one hold and one use; whoever else brings one, or brings it later, changes nothing.

use std::sync::Arc;

use interlock_engine::{Error, Submission};
use interlock_gate::{ApprovalToken, FourEyes, KillSwitch};
use interlock_protocol::{ControlLevel, ErrorCode, Status};
use interlock_store::{AuditFilter, Error as StoreError};
use jiff::SignedDuration;
use serde_json::json;

use crate::fixture::{ADDRESS, DecidesByName, Lab, RESTART, Wish, calls, find, host, operator, says, user};

fn controlled() -> Wish {
    Wish::script(RESTART).level(ControlLevel::Controlled)
}

/// What the other party of a race is told: that it is decided, or that the token is used.
fn lost(error: &Error) -> bool {
    match error {
        Error::Store(StoreError::HoldDecided(_) | StoreError::TokenUsed(_)) => true,
        Error::Refused(refusal) => refusal.details["hold_status"] == "approved",
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_approve_at_once_exactly_one_wins() {
    const PEOPLE: usize = 12;
    for processes in [1, 2] {
        let lab = Lab::new(controlled());
        let (session, _) = lab.ask("put the flag there").await;
        let hold = lab.hold().await;
        let mut engines = vec![lab.engine.clone()];
        if processes == 2 {
            engines.push(Lab::in_folder(&lab.folder.path, controlled()).engine);
        }
        let mut opened = Vec::new();
        for at in 0..PEOPLE {
            let engine = &engines[at % engines.len()];
            let by = user(&format!("user-{at}"));
            opened.push((by.clone(), engine.open_hold_by(&hold, &by).await.unwrap()));
        }
        // Everybody comes twice: with the same token at the same time.
        let start = Arc::new(tokio::sync::Barrier::new(2 * PEOPLE));
        let mut tasks = Vec::new();
        for (at, (by, opened)) in opened.into_iter().enumerate() {
            let token = *opened.token.reveal();
            for round in 0..2 {
                let engine = engines[(at + round) % engines.len()].clone();
                let (hold, by, start) = (hold.clone(), by.clone(), Arc::clone(&start));
                tasks.push(tokio::spawn(async move {
                    start.wait().await;
                    let token = ApprovalToken::from_bytes(token);
                    engine.approve_with_by(&hold, &by, &token).await
                }));
            }
        }
        let mut won = Vec::new();
        for task in tasks {
            match task.await.unwrap() {
                Ok(hold) => won.push(hold),
                Err(error) => assert!(lost(&error), "{error:?}"),
            }
        }
        assert_eq!(won.len(), 1, "{processes} processes: {won:#?}");
        let names = lab.event_names(&session).await;
        assert_eq!(names.iter().filter(|name| **name == "hold.approved").count(), 1);
        assert_eq!(lab.store.hold(&hold).await.unwrap(), won[0]);
        let outcome = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
        assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_held_read_runs_where_it_was_held_for_by_whatever_name_and_after_a_restart() {
    let exec = |target: &str| json!({ "action": "exec", target: ADDRESS, "command": "cat /etc/shadow" });
    let named = [
        ("not discovered", "infra_read", "command", exec("target_host")),
        (
            "not discovered, as an id",
            "infra_read",
            "command",
            exec("target_resource_id"),
        ),
    ];
    for (case, tool, about, arguments) in named {
        for (restart, edits) in [(false, false), (true, false), (false, true), (true, true)] {
            let case = format!("{case}, restart {restart}, edited {edits}");
            let wish = || {
                let replies = [calls([find()]), calls([(tool, arguments.clone())]), says("Read.")];
                Wish::replies(replies).level(ControlLevel::Controlled)
            };
            let first = Lab::new(wish());
            let (session, outcome) = first.ask("who has a password?").await;
            let refusals = first.refusals(&session).await;
            assert_eq!(outcome.status, Status::Held, "{case}: {refusals:?}");
            let mut hold = first.hold().await;
            let second = restart.then(|| Lab::in_folder(&first.folder.path, wish()));
            let lab = second.as_ref().unwrap_or(&first);
            let plan = lab.store.hold(&hold).await.unwrap().plan;
            assert_eq!(plan.resource(), Some(&host()), "{case}: {plan:?}");
            if edits {
                let mut other = plan.arguments.clone();
                let text = other[about].as_str().unwrap().replace("shadow", "gshadow");
                other.insert(about.to_owned(), json!(text));
                let edited = lab.engine.edit_by(&hold, &user("otto"), other).await.unwrap();
                assert_eq!(edited.plan.resource(), Some(&host()), "{case}");
                hold = edited.id;
            }
            lab.engine.approve_by(&hold, &operator()).await.unwrap();
            let outcome = lab.engine.work_on(&session).await.unwrap();
            assert_eq!(outcome.status, Status::Completed, "{case}: {outcome:?}");
            let ran = lab.store.snapshot(&session).await.unwrap().calls;
            let plan = &ran.last().unwrap().started.plan;
            let shadow = if edits { "/etc/gshadow" } else { "/etc/shadow" };
            assert!(
                plan.arguments[about].as_str().unwrap().ends_with(shadow),
                "{case}: {plan:?}"
            );
            assert!(ran.last().unwrap().receipt.is_some(), "{case}");
            lab.prove(&session).await;
        }
    }
}

/// What is brought to a hold, and whether it approves it.
#[derive(Debug, Clone, Copy)]
enum Brings {
    OwnToken,
    NobodysToken,
    SomebodyElses,
    OneThatWasReplaced,
    OneOfAnotherHold,
    OwnTokenInAnotherProcess,
}

#[tokio::test]
async fn a_token_approves_one_hold_for_one_person_until_a_newer_one_takes_its_place() {
    let cases = [
        (Brings::OwnToken, true),
        (Brings::OwnTokenInAnotherProcess, true),
        (Brings::NobodysToken, false),
        (Brings::SomebodyElses, false),
        (Brings::OneThatWasReplaced, false),
        (Brings::OneOfAnotherHold, false),
    ];
    for (brings, approves) in cases {
        let lab = Lab::new(controlled());
        let (session, _) = lab.ask("put the flag there").await;
        let hold = lab.hold().await;
        let other = Lab::new(controlled());
        let (olga, otto) = (operator(), user("otto"));
        let mut engine = lab.engine.clone();
        let token = match brings {
            Brings::OwnToken => lab.engine.open_hold_by(&hold, &olga).await.unwrap().token,
            Brings::NobodysToken => ApprovalToken::from_bytes([7; 32]),
            Brings::SomebodyElses => lab.engine.open_hold_by(&hold, &otto).await.unwrap().token,
            Brings::OneThatWasReplaced => {
                let first = lab.engine.open_hold_by(&hold, &olga).await.unwrap().token;
                lab.engine.open_hold_by(&hold, &olga).await.unwrap();
                first
            }
            Brings::OneOfAnotherHold => {
                other.ask("put the flag there").await;
                let hold = other.hold().await;
                other.engine.open_hold_by(&hold, &olga).await.unwrap().token
            }
            Brings::OwnTokenInAnotherProcess => {
                engine = Lab::in_folder(&lab.folder.path, controlled()).engine;
                lab.engine.open_hold_by(&hold, &olga).await.unwrap().token
            }
        };
        let approved = engine.approve_with_by(&hold, &olga, &token).await;
        assert_eq!(approved.is_ok(), approves, "{brings:?}: {approved:?}");
        if let Err(error) = approved {
            let Error::Refused(refusal) = &error else {
                panic!("{brings:?}: {error:?}")
            };
            assert_eq!(refusal.code, ErrorCode::ActionNotAllowed, "{brings:?}");
            assert_eq!(refusal.rule.as_str(), "hold", "{brings:?}");
            assert_eq!(refusal.details["hold_status"], "pending", "{brings:?}");
            // It is still open, for whoever may.
            lab.engine.approve_by(&hold, &olga).await.unwrap();
        }
        let again = lab
            .engine
            .approve_with_by(&hold, &olga, &token)
            .await
            .unwrap_err();
        assert!(lost(&again), "{brings:?}: {again:?}");
        let refused = lab.engine.open_hold_by(&hold, &otto).await.unwrap_err();
        assert!(lost(&refused), "{brings:?}: {refused:?}");
        lab.engine.work_on(&session).await.unwrap();
        assert_eq!(lab.folder.effects(), ["touch /srv/flag"], "{brings:?}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn two_pages_of_one_person_may_open_a_hold_at_once() {
    let lab = Lab::new(controlled());
    lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    let mut tasks = Vec::new();
    for _ in 0..6 {
        let (engine, hold) = (lab.engine.clone(), hold.clone());
        tasks.push(tokio::spawn(async move {
            engine.open_hold_by(&hold, &operator()).await
        }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    // The last one works, whatever became of the others.
    let last = lab.engine.open_hold_by(&hold, &operator()).await.unwrap();
    assert!(last.expires_at <= last.hold.expires_at);
    lab.engine
        .approve_with_by(&hold, &operator(), &last.token)
        .await
        .unwrap();
}

#[tokio::test]
async fn nobody_gets_a_token_for_what_they_may_not_approve() {
    let mut wish = controlled();
    wish.four_eyes = FourEyes::On;
    let lab = Lab::new(wish);
    let mut question = Submission::question("put the flag there");
    question.owner = Some(operator());
    let session = lab.engine.submit(question).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let hold = lab.hold().await;
    let refused = lab.engine.open_hold_by(&hold, &operator()).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(why) if why.message.contains("owner")),
        "{refused:?}"
    );
    assert!(lab.store.tokens(&hold).await.unwrap().is_empty());

    let mut wish = controlled();
    wish.gate.hold_ttl = SignedDuration::ZERO;
    let lab = Lab::new(wish);
    lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    let refused = lab.engine.open_hold_by(&hold, &operator()).await.unwrap_err();
    assert!(
        matches!(&refused, Error::Refused(why) if why.code == ErrorCode::Timeout
            && why.details["hold_status"] == "expired"),
        "{refused:?}"
    );
    assert!(lab.store.tokens(&hold).await.unwrap().is_empty());
}

#[tokio::test]
async fn why_a_call_was_denied_reaches_the_model_as_a_typed_result_and_people_in_the_timeline() {
    for restart in [false, true] {
        let lab = Lab::new(controlled());
        let (session, _) = lab.ask("put the flag there").await;
        let again = restart.then(|| Lab::in_folder(&lab.folder.path, controlled()));
        let lab = again.as_ref().unwrap_or(&lab);
        lab.engine
            .deny_by(&lab.hold().await, &operator(), "not before Monday")
            .await
            .unwrap();
        lab.engine.work_on(&session).await.unwrap();
        assert_eq!(lab.folder.effects(), Vec::<String>::new());
        let sent = lab.requests(&session).await;
        let told = sent.iter().find_map(|body| {
            let messages = body["messages"].as_array().unwrap();
            let told = messages.iter().rfind(|message| message["role"] == "tool")?;
            let text = told["text"].as_str().unwrap();
            text.contains("denied").then(|| text.to_owned())
        });
        let told: serde_json::Value = serde_json::from_str(&told.unwrap()).unwrap();
        assert_eq!(told["ok"], false, "{told:#}");
        assert_eq!(told["error"]["code"], "ACTION_NOT_ALLOWED", "{told:#}");
        assert_eq!(
            told["error"]["details"]["reason"], "not before Monday",
            "{told:#}"
        );
        let shown = lab.shown(&session, "refused").await;
        assert_eq!(shown.len(), 1, "{shown:#?}");
        assert_eq!(shown[0].metadata["details"]["reason"], "not before Monday");
        assert!(lab.shown(&session, "held").await.is_empty());
        lab.prove(&session).await;
    }
}

/// What people did, oldest first: who, what, to what.
async fn deeds(lab: &Lab) -> Vec<(String, String, Option<String>)> {
    let all = AuditFilter {
        limit: 1000,
        ..AuditFilter::default()
    };
    let mut entries = lab.store.audit_entries(&all).await.unwrap();
    entries.reverse();
    let verified = lab.store.verify_audit().await.unwrap();
    assert_eq!(
        (verified.entries, &verified.broken),
        (entries.len() as u64, &None)
    );
    entries
        .into_iter()
        .map(|entry| {
            let by = entry.deed.actor.unwrap().to_string();
            (by, entry.deed.action, entry.deed.subject)
        })
        .collect()
}

#[tokio::test]
async fn everything_that_people_do_is_in_the_audit_log_once_and_so_is_what_they_were_refused() {
    let lab = Lab::new(controlled());
    let (session, _) = lab.ask("put the flag there").await;
    let first = lab.hold().await;
    let olga = operator();
    let otto = user("otto");
    let mut arguments = lab.store.hold(&first).await.unwrap().plan.arguments;
    arguments.remove("command");
    lab.engine.edit_by(&first, &olga, arguments).await.unwrap_err();
    let plan = lab.store.hold(&first).await.unwrap().plan;
    let second = lab
        .engine
        .edit_by(&first, &olga, plan.arguments)
        .await
        .unwrap()
        .id;
    let token = lab.engine.open_hold_by(&second, &olga).await.unwrap().token;
    let wrong = ApprovalToken::from_bytes([1; 32]);
    lab.engine
        .approve_with_by(&second, &olga, &wrong)
        .await
        .unwrap_err();
    lab.engine.approve_with_by(&second, &olga, &token).await.unwrap();
    lab.engine
        .approve_with_by(&second, &olga, &token)
        .await
        .unwrap_err();
    lab.engine.deny_by(&second, &otto, "too late").await.unwrap_err();
    lab.engine
        .stop_writes(KillSwitch::Engaged, &otto, Some("why not"))
        .await
        .unwrap();
    lab.engine
        .stop_writes(KillSwitch::Released, &olga, None)
        .await
        .unwrap();
    lab.engine.cancel(&session, &otto).await.unwrap();
    let other = Lab::in_folder(&lab.folder.path, controlled());
    let (_, outcome) = other.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Held, "{outcome:?}");
    let third = other.hold().await;
    other.engine.deny_by(&third, &otto, "no").await.unwrap();
    let (one, two, three) = (first.to_string(), second.to_string(), third.to_string());
    let expected = [
        ("olga", "hold.edit_refused", Some(one.clone())),
        ("olga", "hold.edited", Some(one)),
        ("olga", "hold.opened_for_approval", Some(two.clone())),
        // With a wrong token, with a used one, and too late.
        ("olga", "hold.approval_refused", Some(two.clone())),
        ("olga", "hold.approved", Some(two.clone())),
        ("olga", "hold.approval_refused", Some(two.clone())),
        ("otto", "hold.decision_refused", Some(two)),
        ("otto", "writes.stopped", None),
        ("olga", "writes.resumed", None),
        ("otto", "session.cancelled", Some(session.to_string())),
        ("otto", "hold.denied", Some(three)),
    ];
    let expected: Vec<(String, String, Option<String>)> = expected
        .into_iter()
        .map(|(by, action, subject)| (by.to_owned(), action.to_owned(), subject))
        .collect();
    assert_eq!(deeds(&lab).await, expected);
}

/// What cannot be written down is not done.
#[tokio::test]
async fn without_the_audit_log_nothing_is_approved() {
    let lab = Lab::new(controlled());
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    let token = lab.engine.open_hold_by(&hold, &operator()).await.unwrap().token;
    lab.engine
        .stop_writes(KillSwitch::Engaged, &operator(), None)
        .await
        .unwrap();
    let file = rusqlite::Connection::open(lab.folder.path.join("interlock.db")).unwrap();
    file.execute_batch(
        "CREATE TRIGGER broken BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no room for deeds'); END;",
    )
    .unwrap();
    drop(file);
    let (otto, engine) = (user("otto"), &lab.engine);
    let arguments = lab.store.hold(&hold).await.unwrap().plan.arguments;
    assert!(engine.approve_with_by(&hold, &operator(), &token).await.is_err());
    assert!(engine.open_hold_by(&hold, &otto).await.is_err());
    assert!(engine.deny_by(&hold, &otto, "no").await.is_err());
    assert!(engine.edit_by(&hold, &otto, arguments).await.is_err());
    let released = engine.stop_writes(KillSwitch::Released, &otto, None).await;
    assert!(released.is_err());
    assert!(engine.writes().await.unwrap().stopped);
    assert_eq!(lab.hold().await, hold);
    let tokens = lab.store.tokens(&hold).await.unwrap();
    assert_eq!(tokens.len(), 1);
    assert_eq!(tokens[0].used_at, None);
    assert_eq!(lab.store.session(&session).await.unwrap().status, Status::Held);
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repeated_alerts_join_the_open_incident_also_when_they_come_at_once() {
    let lab = Lab::new(Wish::replies([says("Nothing to do."), says("Again.")]));
    let alert = || Submission {
        fingerprint: Some("disk-full@web".to_owned()),
        ..Submission::alert("test", r#"{"labels":{"alertname":"DiskFull"}}"#)
    };
    let other = Lab::in_folder(&lab.folder.path, Wish::replies([says("Nothing to do.")]));
    let mut tasks = Vec::new();
    for at in 0..12 {
        let engine = if at % 2 == 0 { &lab.engine } else { &other.engine }.clone();
        let alert = alert();
        tasks.push(tokio::spawn(async move {
            engine.submit_or_join(alert).await.unwrap()
        }));
    }
    let mut sessions = Vec::new();
    let mut new = 0;
    for task in tasks {
        let (session, is_new) = task.await.unwrap();
        new += usize::from(is_new);
        sessions.push(session);
    }
    sessions.dedup();
    assert_eq!((sessions.len(), new), (1, 1), "{sessions:?}");
    let title = lab.store.session(&sessions[0]).await.unwrap().submitted.title;
    assert_eq!(title, "DiskFull");
    let outcome = lab.engine.work_on(&sessions[0]).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    // The session has ended, the incident has not: the alert only repeats.
    let (again, is_new) = lab.engine.submit_or_join(alert()).await.unwrap();
    assert!(!is_new && again == sessions[0]);
}

#[tokio::test]
async fn who_stopped_all_writes_and_why_is_known_in_every_process() {
    let lab = Lab::new(controlled());
    let other = Lab::in_folder(&lab.folder.path, controlled());
    let before = lab.engine.writes().await.unwrap();
    assert!(!before.stopped && before.by.is_none() && before.at.is_none());
    lab.engine
        .stop_writes(
            KillSwitch::Engaged,
            &operator(),
            Some("the key is password=hunter2secret"),
        )
        .await
        .unwrap();
    let stopped = other.engine.writes().await.unwrap();
    assert!(stopped.stopped);
    assert_eq!(stopped.by, Some(operator()));
    assert!(stopped.at.is_some());
    let reason = stopped.reason.unwrap();
    assert!(reason.starts_with("the key is"), "{reason}");
    assert!(!reason.contains("hunter2secret"), "{reason}");
    other
        .engine
        .stop_writes(KillSwitch::Released, &user("otto"), None)
        .await
        .unwrap();
    let released = lab.engine.writes().await.unwrap();
    assert!(!released.stopped);
    assert_eq!((released.by, released.reason), (Some(user("otto")), None));
}
