//! Both gates in the loop: what is refused, rewritten, blocked and replaced, what code looks at itself, and that each is
//! counted where it happens.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use interlock_engine::Submission;
use interlock_gate::SAFE_FAILURE;
use interlock_protocol::{ControlLevel, EventBody, Status, Verification};
use metrics::{Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};
use serde_json::{Value, json};

use crate::fixture::{Folder, Lab, Wish, asker, calls, find, read, says, write};

/// Counts by name, with every label.
#[derive(Clone, Default)]
pub(crate) struct Counts(Arc<Mutex<BTreeMap<String, u64>>>);

struct One(Counts, String);

impl CounterFn for One {
    fn increment(&self, value: u64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += value;
    }

    fn absolute(&self, value: u64) {
        self.0.0.lock().unwrap().insert(self.1.clone(), value);
    }
}

impl Recorder for Counts {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let labels: Vec<String> = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        Counter::from_arc(Arc::new(One(
            self.clone(),
            format!("{}{{{}}}", key.name(), labels.join(",")),
        )))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

impl Counts {
    pub(crate) fn of(&self, name: &str) -> u64 {
        self.0.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

/// What a reply must leave in the counters.
#[tokio::test]
async fn every_block_is_counted_where_it_happens() {
    let cases: Vec<(&str, Vec<Value>, &str, u64)> = vec![
        (
            "a write before anything is known",
            vec![calls([write("touch /srv/x")]), says("No.")],
            "interlock_fsm_tool_block_total{state=resolving,tool=infra_control,kind=write}",
            1,
        ),
        (
            "an answer before anyone looked",
            vec![
                calls([find()]),
                calls([write("touch /srv/x")]),
                says("See."),
                calls([read("ls /srv")]),
                says("See."),
            ],
            "interlock_fsm_final_block_total{state=verifying}",
            1,
        ),
        (
            "a resource that nobody found",
            vec![
                calls([find()]),
                calls([(
                    "infra_control",
                    json!({ "action": "command", "target_resource_id": "host:other", "command": "touch /srv/x" }),
                )]),
                says("No."),
            ],
            "interlock_strict_resolution_block_total{tool=infra_control,action=command}",
            1,
        ),
        (
            "a claim without a receipt",
            vec![
                says("I restarted the nginx service on web and it is running now."),
                says("Nothing was restarted yet."),
            ],
            "interlock_phantom_detected_total{provider=scripted,model=script}",
            1,
        ),
        (
            "a rewrite is tried",
            vec![
                calls([find()]),
                calls([read("journalctl -f")]),
                says("Done looking."),
            ],
            "interlock_auto_recovery_attempt_total{error_code=READ_ONLY_VIOLATION,tool=infra_read}",
            1,
        ),
        (
            "and works",
            vec![
                calls([find()]),
                calls([read("journalctl -f")]),
                says("Done looking."),
            ],
            "interlock_auto_recovery_success_total{error_code=READ_ONLY_VIOLATION,tool=infra_read}",
            1,
        ),
        (
            "each turn",
            vec![calls([find()]), calls([read("uptime")]), says("Done looking.")],
            "interlock_agentic_iterations_total{provider=scripted,model=script}",
            3,
        ),
        (
            "a call again and again",
            vec![
                calls([find()]),
                calls([read("uptime")]),
                calls([read("uptime")]),
                says("Done looking."),
            ],
            "interlock_loop_detected_total{tool=infra_read}",
            1,
        ),
        (
            "a reply without a form",
            vec![
                json!({ "calls": [{ "tool": "infra_read", "arguments_text": "{" }] }),
                says("No."),
            ],
            "interlock_proposal_problem_total{dialect=native}",
            1,
        ),
        (
            "an end",
            vec![says("Nothing to do.")],
            "interlock_session_total{status=completed}",
            1,
        ),
        (
            "a tool that ran",
            vec![calls([find()]), says("Found.")],
            "interlock_tool_call_total{tool=infra_query,outcome=succeeded}",
            1,
        ),
    ];
    for (case, replies, counter, times) in cases {
        let counts = Counts::default();
        let guard = metrics::set_default_local_recorder(&counts);
        let lab = Lab::new(Wish::replies(replies));
        let (session, outcome) = lab.ask("look").await;
        drop(guard);
        let withheld = outcome.error.as_deref() == Some(SAFE_FAILURE);
        assert!(
            withheld || outcome.status == Status::Completed,
            "{case}: {outcome:?}"
        );
        assert_eq!(
            counts.of(counter),
            times,
            "{case}: {:#?}",
            counts.0.lock().unwrap()
        );
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn a_read_without_an_end_is_rewritten_once_and_says_so() {
    let lab = Lab::new(Wish::replies([
        calls([find()]),
        calls([read("journalctl -f")]),
        says("Done looking."),
    ]));
    let (session, outcome) = lab.ask("look").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    let ran: Vec<String> = lab
        .store
        .calls(&session)
        .await
        .unwrap()
        .iter()
        .map(|call| Folder::line(&call.started.plan))
        .collect();
    assert_eq!(ran.len(), 2, "{ran:?}");
    assert!(
        ran[1].starts_with("journalctl") && ran[1] != "journalctl -f",
        "{ran:?}"
    );
    let told = lab.last_request(&session).await;
    assert!(
        told.contains("rewritten_from") && told.contains("journalctl -f"),
        "{told}"
    );
    assert!(told.contains("ran_instead"), "{told}");
    lab.prove(&session).await;
}

#[tokio::test]
async fn a_command_waits_for_a_sandbox_where_one_is_required() {
    use interlock_gate::RequireSandbox::{Always, Tagged};
    for required in [Always, Tagged(["prod".to_owned()].into())] {
        for sandboxed in [false, true] {
            let mut wish = Wish::replies([calls([find()]), calls([read("uptime")]), says("See below.")]);
            wish.gate.read_sandbox = required.clone();
            let lab = Lab::new(wish);
            lab.folder.sandboxed.store(sandboxed, Ordering::SeqCst);
            let (session, _) = lab.ask("how is it?").await;
            let kept = lab.store.calls(&session).await.unwrap();
            let ran: Vec<bool> = kept
                .iter()
                .filter(|call| call.started.plan.command.is_some())
                .map(|call| call.started.plan.sandbox_required)
                .collect();
            let refusals = lab.refusals(&session).await;
            if sandboxed {
                assert_eq!((ran, refusals), (vec![true], vec![]), "{required:?}");
            } else {
                assert_eq!(
                    (ran, refusals),
                    (vec![], vec!["read_sandbox".to_owned()]),
                    "{required:?}"
                );
            }
            // What the gate was told of the target is on the tape: the record replays.
            lab.prove(&session).await;
        }
    }
}

#[tokio::test]
async fn a_claim_that_no_receipt_shows_is_replaced() {
    let claim = "I restarted the nginx service on web and it is running now.";
    let lab = Lab::new(Wish::replies([says(claim), says(claim)]));
    let (session, outcome) = lab.ask("restart nginx").await;
    // Handed back once, with what is missing; withheld the second time.
    assert_eq!(lab.refusals(&session).await, ["final_answer"]);
    // Withheld is what people are told, whether as the answer or as the reason why there is none.
    let told = outcome.answer.as_deref().or(outcome.error.as_deref());
    assert_eq!(told, Some(SAFE_FAILURE), "{outcome:?}");
    assert!(lab.event_names(&session).await.contains(&"answer.replaced"));
    // Nor does it come back as what was said before.
    lab.engine
        .ask_again(&session, &asker(), "and now?")
        .await
        .unwrap();
    let _ = lab.engine.work_on(&session).await;
    let sent = lab.last_request(&session).await;
    assert!(!sent.contains("I restarted the nginx"), "{sent}");
    lab.prove(&session).await;
}

#[tokio::test]
async fn an_answer_waits_until_the_written_resource_was_looked_at() {
    let lab = Lab::new(Wish::replies([
        calls([find()]),
        calls([write("touch /srv/flag")]),
        says("It is done, see below."),
        calls([read("ls /srv")]),
        says("See below."),
    ]));
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.refusals(&session).await, ["final_answer"]);
    let heard = lab.requests(&session).await[3]["messages"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .to_string();
    assert!(heard.contains("The answer was not given"), "{heard}");
    lab.prove(&session).await;
}

/// The model never looks; code does, before it forces the conclusion.
#[tokio::test]
async fn before_a_forced_conclusion_code_looks_itself() {
    for (dark, status, outcome) in [
        (false, Status::Completed, Verification::Observed),
        (true, Status::Unverified, Verification::Inconclusive),
    ] {
        let lab = Lab::new(Wish::replies([
            calls([find()]),
            calls([write("touch /srv/flag")]),
            json!({ "text": "See below.", "repeat": "forever" }),
        ]));
        lab.folder.dark.store(dark, Ordering::SeqCst);
        let mut question = Submission::question("put the flag there");
        question.overrides.max_iterations = Some(3);
        let session = lab.engine.submit(question).await.unwrap();
        let ended = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(ended.status, status, "dark {dark}: {ended:?}");
        let seen: Vec<Verification> = lab
            .events(&session)
            .await
            .into_iter()
            .filter_map(|event| match event.body {
                EventBody::VerificationCompleted { outcome, .. } => Some(outcome),
                _ => None,
            })
            .collect();
        assert_eq!(seen, [outcome], "dark {dark}");
        lab.prove(&session).await;
    }
}

#[tokio::test]
async fn after_a_turn_that_failed_or_was_stopped_the_next_one_has_its_tools() {
    let lab = Lab::new(
        Wish::replies([
            json!({ "when": { "contains": "first" }, "fault": { "kind": "error", "status": 400 } }),
            calls([find()]),
            calls([read("uptime")]),
            says("The load is 0.42."),
        ])
        .level(ControlLevel::Autonomous),
    );
    let (session, outcome) = lab.ask("first").await;
    assert_eq!(outcome.status, Status::Failed, "{outcome:?}");
    let outcome = lab.again(&session, "second").await;
    assert_eq!(
        outcome.answer.as_deref(),
        Some("The load is 0.42."),
        "{outcome:?}"
    );
    assert_eq!(lab.refusals(&session).await, Vec::<String>::new());
    lab.prove(&session).await;
}
