//! A process that breaks off at any moment of the record, in longer stories than one question: what it began is gone on
//! with by another, every question is answered once, by the right agent, and nothing runs twice or against a refusal.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use interlock_engine::{Checkpoint, Moment, Queue, Submission, Success};
use interlock_gate::KillSwitch;
use interlock_protocol::{ControlLevel, SessionId, Status};
use interlock_store::{Filter, Holds};
use serde_json::{Value, json};

use crate::fixture::{DecidesByName, Lab, Wish, asker, calls, find, operator, read, says, write};

/// More moments than any story has.
const ENOUGH: usize = 400;

#[derive(Clone, Copy)]
enum Decide {
    Nothing,
    Deny,
    /// Say yes while writes are stopped.
    ApproveStopped,
    /// Replace the command, then say yes to what comes of it.
    Edit,
}

#[derive(Clone, Copy)]
struct Story {
    wish: fn() -> Wish,
    submit: fn() -> Submission,
    /// What is asked after the first question.
    then: &'static [&'static str],
    decide: Decide,
    /// What the last answer says.
    answer: &'static str,
    /// The most that may be seen of it.
    effects: &'static [&'static str],
}

/// Breaks off at this moment, as a process does: nothing after it happens.
fn break_off_at(at: usize) -> Checkpoint {
    let passed = AtomicUsize::new(0);
    Arc::new(move |_: Moment, _: &interlock_store::Batch| {
        assert!(
            passed.fetch_add(1, Ordering::SeqCst) < at,
            "the process ends here"
        );
    })
}

async fn play(lab: &Lab, story: Story) -> SessionId {
    let queue = Queue {
        orphan_after: Duration::ZERO,
        ..Queue::default()
    };
    let all = Filter {
        limit: 10,
        ..Filter::default()
    };
    for _ in 0..30 {
        let known = lab.store.sessions(&all).await.unwrap();
        let Some(session) = known.first() else {
            lab.engine.submit((story.submit)()).await.unwrap();
            continue;
        };
        lab.engine.beat(&queue).await.unwrap();
        let id = session.submitted.id.clone();
        match lab.store.session(&id).await.unwrap().status {
            Status::Pending => {
                lab.engine.work_on(&id).await.unwrap();
            }
            Status::Held => {
                let open = lab.store.holds(Holds::Open).await.unwrap();
                match (open.first(), story.decide) {
                    (Some(hold), Decide::Deny) => {
                        lab.engine
                            .deny_by(&hold.id, &operator(), "not today")
                            .await
                            .unwrap();
                    }
                    (Some(hold), Decide::ApproveStopped) => {
                        lab.engine
                            .stop_writes(KillSwitch::Engaged, &operator(), None)
                            .await
                            .unwrap();
                        lab.engine.approve_by(&hold.id, &operator()).await.unwrap();
                    }
                    (Some(hold), Decide::Edit) if hold.edited_from.is_none() => {
                        let (_, arguments) = write("touch /srv/other");
                        let arguments = crate::holds::object(arguments);
                        lab.engine
                            .edit_by(&hold.id, &operator(), arguments)
                            .await
                            .unwrap();
                    }
                    (Some(hold), Decide::Edit) => {
                        lab.engine.approve_by(&hold.id, &operator()).await.unwrap();
                    }
                    (Some(_), Decide::Nothing) => panic!("nobody was to be asked"),
                    (None, _) => lab.store.resubmit(&id, jiff::Timestamp::now()).await.unwrap(),
                }
            }
            Status::InProgress | Status::Cancelling => {}
            Status::Completed | Status::Unverified => {
                let runs = lab.store.runs(&id).await.unwrap().len();
                match story.then.get(runs - 1) {
                    Some(question) => lab.engine.ask_again(&id, &asker(), question).await.unwrap(),
                    None => return id,
                }
            }
            Status::Failed | Status::Cancelled | Status::TimedOut => {
                panic!(
                    "{:?}\n{:#?}",
                    lab.store.session(&id).await.unwrap().error,
                    lab.store.timeline(&id).await.unwrap()
                )
            }
        }
    }
    panic!("the story does not end");
}

/// Every question of the story was put to a model, each in a run of its own.
async fn each_was_asked(lab: &Lab, story: Story, session: &SessionId, at: usize) {
    let runs = lab.store.runs(session).await.unwrap();
    assert_eq!(runs.len(), 1 + story.then.len(), "moment {at}: {runs:#?}");
    for run in &runs {
        assert!(
            matches!(run.status, Status::Completed | Status::Unverified),
            "moment {at}: {run:#?}"
        );
        let asked = lab.store.interactions(&run.id).await.unwrap();
        let last = asked
            .last()
            .unwrap_or_else(|| panic!("moment {at}: {run:#?} was never asked"));
        let body: Value = serde_json::from_slice(&last.body).unwrap();
        let users: Vec<&str> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|message| message["role"] == "user")
            .filter_map(|message| message["text"].as_str())
            .collect();
        let times = users
            .iter()
            .filter(|text| text.contains(run.input.as_str()))
            .count();
        assert_eq!(times, 1, "moment {at}: {users:#?}");
    }
}

async fn survives(story: Story) {
    for at in 0..ENOUGH {
        let folder = tempfile::tempdir().unwrap();
        let mut wish = (story.wish)();
        wish.checkpoint = Some(break_off_at(at));
        let lab = Lab::in_folder(folder.path(), wish);
        let ended = tokio::spawn(async move {
            play(&lab, story).await;
        })
        .await;
        let lab = Lab::in_folder(folder.path(), (story.wish)());
        let known = lab
            .store
            .sessions(&Filter {
                limit: 10,
                ..Filter::default()
            })
            .await
            .unwrap();
        let refused_before = match known.first() {
            Some(session) => lab.refusals(&session.submitted.id).await,
            None => Vec::new(),
        };
        let effects_before = lab.folder.effects();
        lab.engine
            .stop_writes(KillSwitch::Released, &operator(), None)
            .await
            .unwrap();
        let session = play(&lab, story).await;
        let standing = lab.store.session(&session).await.unwrap();
        let answer = standing.answer.unwrap_or_default();
        assert!(answer.contains(story.answer), "moment {at}: {answer}");
        let effects = lab.folder.effects();
        assert!(effects.starts_with(&effects_before), "moment {at}: {effects:?}");
        assert!(
            effects.len() <= story.effects.len()
                && story
                    .effects
                    .starts_with(&effects.iter().map(String::as_str).collect::<Vec<_>>()),
            "moment {at}: {effects:?}"
        );
        if refused_before.iter().any(|rule| rule == "kill_switch") {
            assert_eq!(
                effects, effects_before,
                "moment {at}: it ran although it was refused"
            );
        }
        each_was_asked(&lab, story, &session, at).await;
        lab.prove(&session).await;
        if ended.is_ok() {
            assert!(at > 15, "only {at} moments");
            return;
        }
    }
    panic!("the story has more than {ENOUGH} moments");
}

#[tokio::test]
async fn the_second_question_of_a_chat_is_asked_and_answered_whenever_the_process_ends() {
    survives(Story {
        wish: || {
            Wish::replies([
                calls([find()]),
                calls([read("uptime")]),
                says("The load is 0.42."),
                calls([find()]),
                calls([write("touch /srv/flag")]),
                calls([read("ls /srv")]),
                says("See what was done for the second question."),
                calls([read("ls -l /srv")]),
                says("See what was done for the second question."),
            ])
        },
        submit: || Submission::question("how is the load?"),
        then: &["put the flag there"],
        decide: Decide::Nothing,
        answer: "for the second question",
        effects: &["touch /srv/flag"],
    })
    .await;
}

fn two_stages() -> Wish {
    let unite = [
        json!({ "when": { "contains": "Several agents worked" }, "text": "UNITED: both looked." }),
        says("never"),
    ];
    let mut first = vec![unite[0].clone()];
    first.extend([
        calls([find()]),
        calls([read("uptime")]),
        says("FIRST: load is 0.42."),
    ]);
    Wish::replies([says("nobody asks this one")])
        .agent("first", first)
        .agent(
            "second",
            [
                calls([find()]),
                calls([write("touch /srv/flag")]),
                calls([read("ls /srv")]),
                says("SECOND: see below."),
                calls([read("ls -l /srv")]),
                says("SECOND: see below."),
            ],
        )
        .agent(
            "third",
            [json!({ "text": "THIRD: it is so.", "expect": { "contains": ["UNITED: both looked."], "absent": ["FIRST:"] } })],
        )
        .chain(Success::All, &[&["first", "second"], &["third"]])
}

#[tokio::test]
async fn stages_hand_on_what_was_united_whenever_the_process_ends() {
    survives(Story {
        wish: two_stages,
        submit: || Submission::alert("test", "the disk is full"),
        then: &[],
        decide: Decide::Nothing,
        answer: "THIRD: it is so.",
        effects: &["touch /srv/flag"],
    })
    .await;
}

fn held() -> Wish {
    Wish::replies([
        calls([find()]),
        calls([write("touch /srv/flag")]),
        calls([read("uptime")]),
        calls([read("df -h")]),
        says("See below."),
        calls([read("ls /srv")]),
        says("See below."),
    ])
    .level(ControlLevel::Controlled)
}

#[tokio::test]
async fn a_denied_call_is_told_once_whenever_the_process_ends() {
    survives(Story {
        wish: held,
        submit: || Submission::question("put the flag there"),
        then: &[],
        decide: Decide::Deny,
        answer: "",
        effects: &[],
    })
    .await;
}

#[tokio::test]
async fn an_approved_call_that_was_refused_at_the_last_moment_is_not_run_later() {
    survives(Story {
        wish: held,
        submit: || Submission::question("put the flag there"),
        then: &[],
        decide: Decide::ApproveStopped,
        answer: "",
        effects: &["touch /srv/flag"],
    })
    .await;
}

#[tokio::test]
async fn an_edited_call_runs_once_and_as_edited_whenever_the_process_ends() {
    survives(Story {
        wish: held,
        submit: || Submission::question("put the flag there"),
        then: &[],
        decide: Decide::Edit,
        answer: "",
        effects: &["touch /srv/other"],
    })
    .await;
}

/// A person's own call, in a chat that has answered or still waits: whenever the process ends, it is made at most once,
/// and the chat's own question is answered once, as if nobody had called anything.
#[tokio::test]
async fn a_direct_call_is_made_once_and_the_chat_goes_on_whenever_the_process_ends() {
    for (level, answered) in [
        (ControlLevel::Autonomous, false),
        (ControlLevel::Controlled, true),
    ] {
        direct(level, answered).await;
    }
}

async fn direct(level: ControlLevel, answered: bool) {
    let wish = || Wish::replies([says("The first answer."), says("The second answer.")]).level(level);
    let queue = Queue {
        orphan_after: Duration::ZERO,
        ..Queue::default()
    };
    for at in 0..ENOUGH {
        let case = format!("{level}, answered {answered}, moment {at}");
        let folder = tempfile::tempdir().unwrap();
        let lab = Lab::in_folder(folder.path(), wish());
        let session = lab.engine.submit(Submission::question("hello")).await.unwrap();
        if answered {
            lab.engine.work_on(&session).await.unwrap();
        }
        drop(lab);
        let mut broken = wish();
        broken.checkpoint = Some(break_off_at(at));
        let lab = Lab::in_folder(folder.path(), broken);
        let id = session.clone();
        let ended = tokio::spawn(async move {
            for (tool, arguments) in [find(), write("touch /srv/flag")] {
                let arguments = crate::holds::object(arguments);
                lab.engine.call(&id, &operator(), tool, arguments).await.unwrap();
            }
            for hold in lab.store.holds(Holds::Open).await.unwrap() {
                lab.engine.approve_by(&hold.id, &operator()).await.unwrap();
                lab.engine.work_on(&id).await.unwrap();
            }
        })
        .await;
        let lab = Lab::in_folder(folder.path(), wish());
        for _ in 0..10 {
            lab.engine.beat(&queue).await.unwrap();
            match lab.store.session(&session).await.unwrap().status {
                Status::Pending => {
                    lab.engine.work_on(&session).await.unwrap();
                }
                Status::Held => {
                    for hold in lab.store.holds(Holds::Open).await.unwrap() {
                        lab.engine.approve_by(&hold.id, &operator()).await.unwrap();
                    }
                }
                _ => break,
            }
        }
        let standing = lab.store.session(&session).await.unwrap();
        assert!(
            matches!(standing.status, Status::Completed | Status::Unverified),
            "{case}: {standing:#?}"
        );
        let answer = standing.answer.unwrap_or_default();
        assert!(answer.starts_with("The first answer."), "{case}: {answer}");
        assert_eq!(lab.requests(&session).await.len(), 1, "{case}");
        assert!(
            lab.folder.effects().len() <= 1,
            "{case}: {:?}",
            lab.folder.effects()
        );
        let outcome = lab.again(&session, "and now?").await;
        let answer = outcome.answer.clone().unwrap_or_default();
        assert!(answer.starts_with("The second answer."), "{case}: {outcome:?}");
        lab.prove(&session).await;
        if ended.is_ok() {
            assert!(at > 5, "{case}");
            assert_eq!(lab.folder.effects(), ["touch /srv/flag"], "{case}");
            return;
        }
    }
    panic!("more than {ENOUGH} moments");
}
