//! Other settings while sessions run: what is stricter holds at once, what is milder from the next run on, and every record
//! still replays.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use interlock_engine::{Barred, Engine, Queue, Settings, Submission, ToolSet};
use interlock_executor::{BoxFuture, Done, Toolbox};
use interlock_gate::{FourEyes, Options, RequireSandbox};
use interlock_mask::Masker;
use interlock_protocol::{ControlLevel, Status, ToolKind};
use serde_json::json;

use crate::fixture::{DecidesByName, Lab, Wish, calls, find, operator, read, says, user, write};

type Change = fn(&mut Settings);

/// What it is called, the level, what changes, how the session ends, what it did and what was refused to it.
type Case = (
    &'static str,
    ControlLevel,
    Change,
    Status,
    &'static [&'static str],
    &'static [&'static str],
);

async fn reload(engine: &Engine, change: Change) {
    let mut settings = Settings::clone(&engine.settings());
    change(&mut settings);
    engine.reconfigure(settings).await.unwrap();
}

/// The same tools with a gate that is set otherwise.
fn set_gate(settings: &mut Settings, change: impl FnOnce(&mut Options)) {
    let mut options = settings.tools.gate().options().clone();
    change(&mut options);
    let gate = settings.tools.gate().with_options(options);
    settings.tools = Arc::new(ToolSet::new(gate, settings.tools.toolbox().clone()).unwrap());
}

fn script() -> Wish {
    let answer = "The flag was asked for; see what was done.";
    Wish::replies([
        calls([find()]),
        calls([read("ls /srv")]),
        calls([write("touch /srv/flag")]),
        calls([read("ls -l /srv")]),
        says(answer),
        calls([read("ls -a /srv")]),
        says(answer),
    ])
}

/// A lab in which the settings change while a session reads something for the first time.
fn lab_that_reloads(wish: Wish, change: Change) -> Lab {
    let cell: Arc<OnceLock<Engine>> = Arc::default();
    let known = Arc::clone(&cell);
    let reloaded = AtomicBool::new(false);
    let lab = Lab::new(wish.behaves(move |_, started, _| {
        let first = started.plan().kind == ToolKind::Read && !reloaded.swap(true, Ordering::SeqCst);
        first.then(|| {
            let engine = known.get().unwrap().clone();
            let future: BoxFuture<'_, Done> = Box::pin(async move {
                reload(&engine, change).await;
                Done::succeeded(json!({ "stdout": "total 0 hunter2-secret" }), "listed")
            });
            future
        })
    }));
    assert!(cell.set(lab.engine.clone()).is_ok());
    lab
}

fn nothing(_: &mut Settings) {}

fn read_only(settings: &mut Settings) {
    settings.level = ControlLevel::ReadOnly;
}

fn controlled(settings: &mut Settings) {
    settings.level = ControlLevel::Controlled;
}

fn autonomous(settings: &mut Settings) {
    settings.level = ControlLevel::Autonomous;
}

fn no_data_files(settings: &mut Settings) {
    set_gate(settings, |options| options.data_files.clear());
}

fn more_data_files(settings: &mut Settings) {
    set_gate(settings, |options| {
        options.data_files.insert("/opt".to_owned());
    });
}

fn no_tools(settings: &mut Settings) {
    let gate = settings
        .tools
        .gate()
        .with_options(settings.tools.gate().options().clone());
    settings.tools = Arc::new(ToolSet::new(gate, Toolbox::builder().build()).unwrap());
}

fn no_models(settings: &mut Settings) {
    settings.models = interlock_model::Models::new(std::collections::BTreeMap::new()).unwrap();
}

#[tokio::test]
async fn what_is_stricter_holds_at_once_in_a_run_that_has_begun_and_what_is_milder_does_not() {
    use ControlLevel::{Autonomous, Controlled, ReadOnly};
    let ran: &'static [&'static str] = &["touch /srv/flag"];
    let cases: [Case; 10] = [
        (
            "nothing changes",
            Autonomous,
            nothing,
            Status::Completed,
            ran,
            &[],
        ),
        (
            "read only",
            Autonomous,
            read_only,
            Status::Completed,
            &[],
            &["control_level"],
        ),
        ("controlled", Autonomous, controlled, Status::Held, &[], &[]),
        (
            "read only while held ones wait",
            Controlled,
            read_only,
            Status::Completed,
            &[],
            &["control_level"],
        ),
        ("milder", Controlled, autonomous, Status::Held, &[], &[]),
        (
            "milder from read only",
            ReadOnly,
            autonomous,
            Status::Completed,
            &[],
            &["control_level"],
        ),
        (
            "files are no data any more",
            Autonomous,
            no_data_files,
            Status::Held,
            &[],
            &[],
        ),
        (
            "more data files",
            Autonomous,
            more_data_files,
            Status::Completed,
            ran,
            &[],
        ),
        (
            "no tools any more",
            Autonomous,
            no_tools,
            Status::Completed,
            &[],
            &["tool_allowed", "tool_allowed"],
        ),
        // The run keeps its models.
        (
            "no models any more",
            Autonomous,
            no_models,
            Status::Completed,
            ran,
            &[],
        ),
    ];
    for (name, level, change, status, effects, refusals) in cases {
        let lab = lab_that_reloads(script().level(level), change);
        let (session, outcome) = lab.ask("put the flag there").await;
        assert_eq!(outcome.status, status, "{name}: {outcome:?}");
        assert_eq!(lab.folder.effects(), effects, "{name}");
        assert_eq!(lab.refusals(&session).await, refusals, "{name}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_held_write_that_is_approved_after_a_reload_is_judged_by_the_new_rules() {
    let cases: [(&str, Change, &[&str], &[&str]); 4] = [
        ("nothing", nothing, &["touch /srv/flag"], &[]),
        ("milder", autonomous, &["touch /srv/flag"], &[]),
        ("read only", read_only, &[], &["control_level"]),
        // What the resumed run asks for next is not even offered.
        ("no tools", no_tools, &[], &["tool_allowed", "dialect"]),
    ];
    for (name, change, effects, refusals) in cases {
        for approved_before in [false, true] {
            let lab = Lab::new(script().level(ControlLevel::Controlled));
            let (session, outcome) = lab.ask("put the flag there").await;
            assert_eq!(outcome.status, Status::Held, "{name}");
            let hold = lab.hold().await;
            if approved_before {
                lab.engine.approve_by(&hold, &operator()).await.unwrap();
            }
            reload(&lab.engine, change).await;
            if !approved_before {
                lab.engine.approve_by(&hold, &operator()).await.unwrap();
            }
            let outcome = lab.engine.work_on(&session).await.unwrap();
            assert_eq!(outcome.status, Status::Completed, "{name}: {outcome:?}");
            assert_eq!(
                lab.folder.effects(),
                effects,
                "{name}, approved before: {approved_before}"
            );
            assert_eq!(lab.refusals(&session).await, refusals, "{name}");
            lab.prove(&session).await;
        }
    }
}

#[tokio::test]
async fn a_plan_stays_bound_to_its_machine_over_a_reload() {
    let lab = Lab::new(script().level(ControlLevel::Controlled));
    *lab.folder.machine.lock().unwrap() = Some("SHA256:one".to_owned());
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    reload(&lab.engine, more_data_files).await;
    *lab.folder.machine.lock().unwrap() = Some("SHA256:two".to_owned());
    lab.engine.approve_by(&hold, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
    assert_eq!(lab.refusals(&session).await, ["live_state"]);
    lab.prove(&session).await;
}

fn four_eyes(settings: &mut Settings) {
    settings.four_eyes = FourEyes::On;
}

#[tokio::test]
async fn four_eyes_hold_at_once_for_what_waits_and_for_what_was_approved_and_did_not_run() {
    let waiting = async || {
        let lab = Lab::new(script().level(ControlLevel::Controlled));
        let mut question = Submission::question("put the flag there");
        question.owner = Some(user("owner"));
        let session = lab.engine.submit(question).await.unwrap();
        lab.engine.work_on(&session).await.unwrap();
        let hold = lab.store.hold(&lab.hold().await).await.unwrap();
        (lab, session, hold)
    };
    // It waits: the owner is told so before they try, and refused.
    let (lab, session, hold) = waiting().await;
    assert_eq!(lab.engine.barred_by(&hold, &user("owner")).await.unwrap(), None);
    reload(&lab.engine, four_eyes).await;
    let barred = lab.engine.barred_by(&hold, &user("owner")).await.unwrap();
    assert_eq!(barred, Some(Barred::Owner));
    assert!(lab.engine.approve_by(&hold.id, &user("owner")).await.is_err());
    lab.engine.approve_by(&hold.id, &operator()).await.unwrap();
    lab.engine.work_on(&session).await.unwrap();
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    lab.prove(&session).await;
    // The owner approved it before: it does not begin any more.
    let (lab, session, hold) = waiting().await;
    lab.engine.approve_by(&hold.id, &user("owner")).await.unwrap();
    reload(&lab.engine, four_eyes).await;
    lab.engine.work_on(&session).await.unwrap();
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
    assert_eq!(lab.refusals(&session).await, ["hold"]);
    lab.prove(&session).await;
}

#[tokio::test]
async fn a_lowered_level_also_holds_after_a_restart_and_in_other_processes() {
    let lab = Lab::new(script().level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    reload(&lab.engine, read_only).await;
    // A process that was started with another configuration.
    let other = Lab::in_folder(&lab.folder.path, script().level(ControlLevel::Controlled));
    other.engine.approve_by(&hold, &operator()).await.unwrap();
    other.engine.work_on(&session).await.unwrap();
    assert_eq!(other.folder.effects(), Vec::<String>::new());
    assert_eq!(other.refusals(&session).await, ["control_level"]);
    other.prove(&session).await;
}

/// Configured before and after the restart, the level that the session names, what runs and which rules refuse.
type Restart = (
    ControlLevel,
    ControlLevel,
    Option<ControlLevel>,
    &'static [&'static str],
    &'static [&'static str],
);

#[tokio::test]
async fn a_queued_session_has_no_more_than_the_level_that_the_process_was_started_with() {
    use ControlLevel::{Autonomous, Controlled, ReadOnly};
    let ran: &'static [&'static str] = &["touch /srv/flag"];
    let refused: &'static [&'static str] = &["control_level"];
    let cases: [Restart; 10] = [
        (Autonomous, Autonomous, None, ran, &[]),
        (Autonomous, Controlled, None, &[], &[]),
        (Autonomous, ReadOnly, None, &[], refused),
        // A level that is raised does not hold for sessions of before.
        (Controlled, Autonomous, None, &[], &[]),
        (ReadOnly, Autonomous, None, &[], refused),
        // A level that the session named holds until the configured one is lowered.
        (Controlled, Controlled, Some(Autonomous), ran, &[]),
        (Controlled, Autonomous, Some(Autonomous), ran, &[]),
        (Controlled, ReadOnly, Some(Autonomous), &[], refused),
        (Autonomous, Controlled, Some(Autonomous), &[], &[]),
        (Controlled, Autonomous, Some(ReadOnly), &[], refused),
    ];
    for (before, after, named, effects, refusals) in cases {
        let case = format!("{before:?} to {after:?}, named {named:?}");
        let first = Lab::new(script().level(before));
        let mut question = Submission::question("put the flag there");
        question.level = named;
        let session = first.engine.submit(question).await.unwrap();
        let second = Lab::in_folder(&first.folder.path, script().level(after));
        let outcome = second.engine.work_on(&session).await.unwrap();
        let held = effects.is_empty() && refusals.is_empty();
        let status = if held { Status::Held } else { Status::Completed };
        assert_eq!(outcome.status, status, "{case}: {outcome:?}");
        assert_eq!(second.folder.effects(), effects, "{case}");
        assert_eq!(second.refusals(&session).await, refusals, "{case}");
        second.prove(&session).await;
    }
}

#[tokio::test]
async fn a_held_write_is_refused_by_a_process_that_was_started_with_a_lower_level() {
    for approved_before in [false, true] {
        let first = Lab::new(script().level(ControlLevel::Controlled));
        let (session, outcome) = first.ask("put the flag there").await;
        assert_eq!(outcome.status, Status::Held);
        let hold = first.hold().await;
        if approved_before {
            first.engine.approve_by(&hold, &operator()).await.unwrap();
        }
        let second = Lab::in_folder(&first.folder.path, script().level(ControlLevel::ReadOnly));
        if !approved_before {
            second.engine.approve_by(&hold, &operator()).await.unwrap();
        }
        second.engine.work_on(&session).await.unwrap();
        assert_eq!(second.folder.effects(), Vec::<String>::new(), "{approved_before}");
        assert_eq!(
            second.refusals(&session).await,
            ["control_level"],
            "{approved_before}"
        );
        second.prove(&session).await;
    }
}

fn new_mask(settings: &mut Settings) {
    settings.masker = Masker::built_in().with_values(["hunter2-secret".to_owned()]);
}

#[tokio::test]
async fn new_masks_hold_for_everything_that_is_written_after_them() {
    let lab = lab_that_reloads(script().level(ControlLevel::Autonomous), new_mask);
    let (session, _) = lab.ask("put the flag there").await;
    let sent = format!("{:?}", lab.requests(&session).await);
    assert!(
        !sent.contains("hunter2-secret") && sent.contains("total 0"),
        "{sent}"
    );
    assert!(!crate::fixture::has(&lab.bytes(), b"hunter2-secret"));
    lab.prove(&session).await;
}

#[tokio::test]
async fn a_question_after_a_reload_has_the_new_rules_and_the_old_record_replays() {
    let answer = "The flag was asked for; see what was done.";
    let wish = Wish::replies([
        calls([find()]),
        calls([write("touch /srv/flag")]),
        calls([read("ls -l /srv")]),
        says(answer),
        calls([find()]),
        calls([write("touch /srv/second")]),
        says(answer),
    ]);
    let lab = Lab::new(wish.level(ControlLevel::Autonomous));
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    reload(&lab.engine, |settings| {
        set_gate(settings, |options| {
            options.data_files = BTreeSet::new();
            options.read_sandbox = RequireSandbox::Always;
        });
    })
    .await;
    let outcome = lab.again(&session, "and the other one").await;
    assert_eq!(outcome.status, Status::Held, "{outcome:?}");
    lab.prove(&session).await;
}

#[tokio::test]
async fn workers_become_more_and_fewer_and_lose_no_session() {
    let lab = Lab::new(Wish::replies([calls([find()]), says("See below.")]));
    let queue = |workers| Queue {
        workers,
        poll: Duration::from_millis(20),
        ..Queue::default()
    };
    let workers = lab.engine.start(&queue(1));
    let control = workers.control();
    let mut sessions = Vec::new();
    for at in 0..40_u32 {
        control.set(queue(1 + at % 5));
        reload(
            &lab.engine,
            if at % 2 == 0 {
                no_data_files
            } else {
                more_data_files
            },
        )
        .await;
        let question = Submission::question(format!("question {at}"));
        sessions.push(lab.engine.submit(question).await.unwrap());
    }
    let ended = async {
        for session in &sessions {
            while lab.store.session(session).await.unwrap().status != Status::Completed {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), ended).await.unwrap();
    control.set(queue(3));
    workers.drain().await;
    for session in &sessions {
        lab.prove(session).await;
    }
}
