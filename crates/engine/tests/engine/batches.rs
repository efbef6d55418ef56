//! Several calls in one reply: reads side by side, at most four, in order; at most one write, and what stands behind it
//! waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interlock_engine::{AgentOptions, Submission};
use interlock_executor::{BoxFuture, Done};
use interlock_protocol::{EventBody, Status, ToolKind};
use serde_json::json;

use crate::fixture::{Folder, Lab, Wish, calls, find, read, says, write};

/// The texts of the tool messages of the last request.
async fn results(lab: &Lab, session: &interlock_protocol::SessionId) -> Vec<String> {
    let bodies = lab.requests(session).await;
    let messages = bodies.last().unwrap()["messages"].as_array().unwrap().clone();
    messages
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn reads_run_side_by_side_but_never_more_than_four() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    // Nobody passes alone: four must be inside at once.
    let barrier = Arc::new(tokio::sync::Barrier::new(4));
    let (inside, highest) = (Arc::clone(&running), Arc::clone(&most));
    let wish = Wish::replies([
        calls([find()]),
        calls((0..8).map(|at| read(&format!("echo {at}")))),
        says("Done looking."),
    ])
    .behaves(move |_, started, _| {
        (started.plan().kind == ToolKind::Read).then(|| {
            let (running, most, barrier) = (Arc::clone(&inside), Arc::clone(&highest), Arc::clone(&barrier));
            let command = started.plan().command.clone().unwrap_or_default();
            let future: BoxFuture<'_, Done> = Box::pin(async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                barrier.wait().await;
                running.fetch_sub(1, Ordering::SeqCst);
                Done::succeeded(json!({ "ran": command }), "read")
            });
            future
        })
    });
    let lab = Lab::new(wish);
    let (session, outcome) = lab.ask("look").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(most.load(Ordering::SeqCst), 4);
    let results = results(&lab, &session).await;
    for (at, result) in results.iter().skip(1).enumerate() {
        assert!(result.contains(&format!("echo {at}")), "{at}: {result}");
    }
    assert_eq!(results.len(), 9);
    lab.prove(&session).await;
}

#[tokio::test]
async fn a_read_behind_a_write_starts_after_its_receipt() {
    let lab = Lab::new(Wish::replies([
        calls([find()]),
        calls([
            read("uptime"),
            write("touch /srv/flag"),
            read("ls /srv"),
            read("df -h"),
        ]),
        says("See below."),
    ]));
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    let mut order = Vec::new();
    let mut write = None;
    for event in lab.events(&session).await {
        match event.body {
            EventBody::CallStarted { kind, permit, .. } => {
                order.push(format!("start {kind}"));
                if kind == ToolKind::Write {
                    write = Some(permit);
                }
            }
            EventBody::ReceiptRecorded { receipt } if Some(&receipt.permit) == write.as_ref() => {
                order.push("receipt write".to_owned());
            }
            _ => {}
        }
    }
    assert_eq!(
        order,
        [
            "start resolve",
            "start read",
            "start write",
            "receipt write",
            "start read",
            "start read"
        ]
    );
    lab.prove(&session).await;
}

#[tokio::test]
async fn of_two_writes_in_one_reply_one_runs() {
    let lab = Lab::new(Wish::replies([
        calls([find()]),
        calls([write("touch /srv/one"), write("touch /srv/two")]),
        calls([read("ls /srv")]),
        says("See below."),
    ]));
    let (session, outcome) = lab.ask("put two flags there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/one"]);
    assert_eq!(lab.refusals(&session).await, ["state_machine"]);
    lab.prove(&session).await;
}

#[tokio::test]
async fn a_strict_agent_runs_the_first_call_of_a_reply() {
    let mut wish = Wish::replies([
        calls([find()]),
        calls([read("uptime"), read("df -h"), write("touch /srv/harm")]),
        says("Done looking."),
    ]);
    let strict = AgentOptions {
        strict: true,
        ..AgentOptions::default()
    };
    wish.agents.insert("strict".to_owned(), strict);
    let lab = Lab::new(wish);
    let mut question = Submission::question("look");
    question.overrides.agent = Some("strict".to_owned());
    let session = lab.engine.submit(question).await.unwrap();
    let outcome = lab.engine.work_on(&session).await.unwrap();
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    let ran: Vec<String> = lab
        .store
        .calls(&session)
        .await
        .unwrap()
        .iter()
        .map(|call| Folder::line(&call.started.plan))
        .collect();
    assert_eq!(ran, ["search", "uptime"]);
    assert_eq!(lab.folder.effects(), Vec::<String>::new());
    let told = results(&lab, &session).await;
    assert_eq!(
        told.iter()
            .filter(|text| text.contains("one call per reply"))
            .count(),
        2,
        "{told:#?}"
    );
    lab.prove(&session).await;
}

#[tokio::test]
async fn an_executor_that_breaks_is_a_failed_call_and_no_more() {
    let wish = Wish::replies([
        calls([find()]),
        calls([read("uptime"), read("df -h")]),
        calls([write("touch /srv/flag")]),
        calls([read("ls /srv")]),
        says("See below."),
    ])
    .behaves(|folder, started, _| {
        let command = started.plan().command.clone().unwrap_or_default();
        match command.as_str() {
            "uptime" => Some(Box::pin(async { panic!("a fault of its own") })),
            "touch /srv/flag" => {
                folder.write("touch /srv/flag");
                Some(Box::pin(async { panic!("after the effect") }))
            }
            _ => None,
        }
    });
    let lab = Lab::new(wish);
    let (session, outcome) = lab.ask("put the flag there").await;
    assert_eq!(outcome.status, Status::Completed, "{outcome:?}");
    assert_eq!(lab.folder.effects(), ["touch /srv/flag"]);
    let head = interlock_engine::head(&lab.store, &session).await.unwrap();
    assert!(
        head.plain().contains(": failed"),
        "a write that broke off is not called done: {head:?}"
    );
    lab.prove(&session).await;
}
