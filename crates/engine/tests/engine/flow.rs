//! From a question to its answer, and everything that can come between.

use interlock_protocol::{ControlLevel, EventBody, Status};

use crate::fixture::{DecidesByName, Lab, RESTART, Wish, asker, calls, find, operator, read, says, write};

#[tokio::test]
async fn a_change_is_found_permitted_made_once_looked_at_and_reported_from_its_receipt() {
    let lab = Lab::new(Wish::script(RESTART));
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    // What code says and what the model says are apart, and the record alone gives the same head.
    let answer = outcome.answer.unwrap();
    assert!(!answer.contains("succeeded, observed afterwards"), "{answer}");
    let head = interlock_engine::head(&lab.store, &session).await.unwrap();
    let text = head.plain();
    assert!(
        text.contains(
            "a command on web (host:web): succeeded, observed afterwards. The command: `touch /srv/flag`"
        ),
        "{text}"
    );
    assert!(head.readings > 0 && head.support.is_some(), "{head:?}");
    // Whether the record was changed is known when it is read, not when the answer is given.
    let record = head.record.clone().map(|record| record.state);
    assert_eq!(record, Some(interlock_protocol::RecordState::Signed));
    let then = interlock_protocol::Head { record: None, ..head };
    assert_eq!(lab.given(&session).await, [(answer, Some(then))]);
    lab.prove(&session).await;
}

#[tokio::test]
async fn secrets_are_masked_before_they_are_stored_or_shown_to_a_model() {
    let lab = Lab::new(Wish::script(RESTART));
    let (session, _) = lab
        .ask("put the flag there, the password is password=swordfish99")
        .await;
    let bytes = std::fs::read(lab.folder.path.join("interlock.db")).unwrap();
    let wal = std::fs::read(lab.folder.path.join("interlock.db-wal")).unwrap_or_default();
    for secret in ["hunter2secret", "swordfish99"] {
        let found = bytes
            .windows(secret.len())
            .chain(wal.windows(secret.len()))
            .any(|at| at == secret.as_bytes());
        assert!(!found, "{secret} was stored");
    }
    let sent = serde_json::to_string(&lab.requests(&session).await).unwrap();
    assert!(sent.contains("[masked:"), "{sent}");
}

#[tokio::test]
async fn a_held_call_runs_once_after_a_human_said_yes_in_another_process() {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Controlled));
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Held, "{outcome:?}");
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
    let root = lab.folder.path.clone();
    let again = Lab::in_folder(&root, Wish::script(RESTART).level(ControlLevel::Controlled));
    let holds = again.store.holds(interlock_store::Holds::Open).await.unwrap();
    assert_eq!(holds.len(), 1);
    again.engine.approve_by(&holds[0].id, &operator()).await.unwrap();
    let twice = again.engine.approve_by(&holds[0].id, &operator()).await;
    assert!(twice.is_err(), "a hold was approved twice");
    let outcome = again.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(again.folder.effects(), ["touch /srv/flag"]);
    again.prove(&session).await;
}

#[tokio::test]
async fn a_denied_call_does_not_run_and_its_model_hears_why() {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let holds = lab.store.holds(interlock_store::Holds::Open).await.unwrap();
    lab.engine
        .deny_by(&holds[0].id, &operator(), "not on a Sunday")
        .await
        .unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
    let sent = serde_json::to_string(&lab.requests(&session).await).unwrap();
    assert!(sent.contains("not on a Sunday"), "{sent}");
    assert_eq!(
        lab.not_run(&session).await,
        ["1 write was denied by olga: a command on web (host:web). The command: `touch /srv/flag`"]
    );
    lab.prove(&session).await;
}

#[tokio::test]
async fn at_level_read_only_a_write_is_refused() {
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::ReadOnly));
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
    let refused: Vec<String> = lab
        .events(&session)
        .await
        .into_iter()
        .filter_map(|event| match event.body {
            EventBody::DecisionMade {
                decision: interlock_protocol::Decision::Refused(refusal),
                ..
            } => Some(refusal.rule.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(refused, ["control_level"]);
    assert_eq!(
        lab.not_run(&session).await,
        ["1 write was refused (ACTION_NOT_ALLOWED): infra_control"]
    );
    lab.prove(&session).await;
}

#[tokio::test]
async fn the_limit_of_iterations_forces_a_conclusion_without_tools() {
    let script = r#"
replies:
  - calls: [{tool: infra_query, arguments: {action: list}}]
  - calls: [{tool: infra_query, arguments: {action: search, query: a}}]
  - text: "Nothing more is known."
"#;
    let lab = Lab::new(Wish::script(script));
    let mut question = interlock_engine::Submission::question("what is there?");
    question.overrides.max_iterations = Some(2);
    let session = lab.engine.submit(question).await.unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    let bodies = lab.requests(&session).await;
    assert_eq!(bodies.len(), 3);
    assert_eq!(
        bodies[2]["tools"].as_array().map_or(0, Vec::len),
        0,
        "the last request has no tools"
    );
    lab.prove(&session).await;
}

#[tokio::test]
async fn the_next_turn_knows_what_was_done_in_this_process_and_after_a_restart() {
    let mut answers = Vec::new();
    for restart in [false, true] {
        let wish = || {
            Wish::replies([
                calls([find()]),
                calls([write("touch /srv/flag")]),
                calls([read("ls /srv")]),
                says("See below."),
                says("I created the flag on web before."),
            ])
        };
        let lab = Lab::new(wish());
        let (session, _) = lab.ask("put the flag there").await;
        let again = restart.then(|| Lab::in_folder(&lab.folder.path, wish()));
        let lab = again.as_ref().unwrap_or(&lab);
        let outcome = lab.again(&session, "did you?").await;
        assert_eq!(
            outcome.status,
            Status::Completed,
            "restart {restart}: {outcome:?}"
        );
        assert_eq!(lab.folder.effects(), ["touch /srv/flag"], "restart {restart}");
        answers.push(outcome.answer.unwrap());
        lab.prove(&session).await;
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn what_is_too_long_or_empty_is_not_taken() {
    let lab = Lab::new(Wish::replies([says("Fine.")]));
    let long = "x".repeat(interlock_engine::MAX_INPUT + 1);
    for question in ["", " \n", long.as_str()] {
        let taken = lab
            .engine
            .submit(interlock_engine::Submission::question(question))
            .await;
        assert!(taken.is_err(), "{} bytes", question.len());
    }
    let (session, _) = lab.ask("hello").await;
    for question in ["", " \n", long.as_str()] {
        let taken = lab.engine.ask_again(&session, &asker(), question).await;
        assert!(taken.is_err(), "{} bytes", question.len());
    }
}

#[tokio::test]
async fn the_head_of_each_answer_is_about_its_own_question() {
    let lab = Lab::new(Wish::replies([
        calls([find()]),
        calls([read("uptime")]),
        says("One host was found."),
        says("Nothing new."),
    ]));
    let (session, outcome) = lab.ask("what is there?").await;
    assert_eq!(
        outcome.answer.as_deref(),
        Some("One host was found."),
        "{outcome:?}"
    );
    lab.engine
        .ask_again(&session, &asker(), "and now?")
        .await
        .unwrap();
    lab.engine.work_on(&session).await.unwrap();
    let heads: Vec<_> = lab
        .given(&session)
        .await
        .into_iter()
        .map(|(_, head)| head.unwrap())
        .map(|head| (head.readings, head.earlier_readings, head.actions.len()))
        .collect();
    let [(first, 0, 0), (0, earlier, 0)] = heads.as_slice() else {
        panic!("{heads:?}")
    };
    assert!(*first > 0 && first == earlier, "{heads:?}");
    lab.prove(&session).await;
}

#[tokio::test]
async fn an_answer_of_a_session_without_a_reading_is_unsupported() {
    let lab = Lab::new(Wish::replies([says("Use SSH keys.")]));
    let (session, outcome) = lab.ask("how do I sign in?").await;
    assert_eq!(outcome.answer.as_deref(), Some("Use SSH keys."));
    let head = interlock_engine::head(&lab.store, &session).await.unwrap();
    assert_eq!(
        head.plain(),
        "• No action was taken.\n? No reading was taken. The whole answer is unsupported.\n"
    );
    lab.prove(&session).await;
}
