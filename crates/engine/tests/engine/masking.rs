//! Secrets: wherever they come in, they are in nothing that is kept, sent, shown or exported.

use interlock_engine::{Error, Live, Submission};
use interlock_executor::{BoxFuture, Done, Reading};
use interlock_protocol::{ControlLevel, ErrorCode, Outcome, Retry, ToolKind, ToolResponse};
use interlock_store::AuditFilter;
use jiff::Timestamp;
use serde_json::{Map, json};

use crate::fixture::{
    DecidesByName, Lab, RESTART, Wish, calls, find, has, host, operator, read, says, write,
};
use crate::gates::Counts;

/// Secrets by where they come in. None is a part of another.
const SECRETS: &[(&str, &str)] = &[
    ("output", "hunter2secretA"),
    ("detail", "hunter2secretB"),
    ("error", "hunter2secretC"),
    ("meta", "hunter2secretD"),
    ("summary", "hunter2secretE"),
    ("input", "hunter2secretF"),
    ("reason", "hunter2secretG"),
    ("question", "hunter2secretH"),
    ("reading", "hunter2secretI"),
    ("argument", "hunter2secretJ"),
    ("reply", "hunter2secretK"),
    ("answer", "hunter2secretL"),
];

fn secret(place: &str) -> String {
    let (_, secret) = SECRETS.iter().find(|(name, _)| *name == place).unwrap();
    format!("password={secret}")
}

fn leaking() -> Wish {
    Wish::replies([
        calls([find()]),
        calls([read("cat /etc/app.conf"), read("cat /etc/other.conf")]),
        calls([read(&format!("env {} ls /srv", secret("argument")))]),
        calls([write("touch /srv/flag")]),
        says(&format!("That was not wanted: {}.", secret("reply"))),
        says(&format!("Nothing more, with {} at the end", secret("answer"))),
    ])
    .level(ControlLevel::Controlled)
    .behaves(|_, started, _| {
        let plan = started.plan();
        if plan.kind != ToolKind::Read {
            return None;
        }
        let failed = plan.command.as_deref() == Some("cat /etc/other.conf");
        let future: BoxFuture<'_, Done> = Box::pin(async move {
            if failed {
                let mut details = Map::new();
                details.insert("stderr".to_owned(), json!(secret("detail")));
                let message = format!("it said {}", secret("error"));
                return Done {
                    response: ToolResponse::failed(
                        ErrorCode::ExecutionFailed,
                        message,
                        Retry::Useless,
                        details,
                    ),
                    outcome: Outcome::Failed,
                    ..Done::succeeded(json!(null), secret("summary"))
                };
            }
            let reading = Reading {
                resource: Some(host()),
                taken_at: Timestamp::now(),
                data: json!({ "file": secret("reading") }),
                observations: Vec::new(),
                walls: None,
            };
            let done = Done::succeeded(json!({ "stdout": secret("output") }), "read").with_reading(reading);
            Done {
                response: done.response.clone().with_meta("note", secret("meta")),
                ..done
            }
        });
        Some(future)
    })
}

#[tokio::test]
async fn a_secret_is_nowhere_wherever_it_came_in() {
    for alert in [false, true] {
        let lab = Lab::new(leaking());
        let mut live = lab.engine.watch();
        let input = format!("look at {}", secret("input"));
        let submission = if alert {
            Submission::alert("test", input)
        } else {
            Submission::question(input)
        };
        let session = lab.engine.submit(submission).await.unwrap();
        lab.engine.work_on(&session).await.unwrap();
        lab.engine
            .deny_by(
                &lab.hold().await,
                &operator(),
                &format!("because {}", secret("reason")),
            )
            .await
            .unwrap();
        lab.engine.work_on(&session).await.unwrap();
        lab.again(&session, &format!("and {}?", secret("question"))).await;
        let mut shown = String::new();
        while let Ok(happened) = live.try_recv() {
            let text = match happened {
                Live::Event(event) => serde_json::to_string(&event).unwrap(),
                other => format!("{other:?}"),
            };
            shown.push_str(&text);
        }
        assert!(shown.contains("[masked:"), "nothing was shown");
        let places = [
            ("the store", lab.bytes()),
            ("the trace", lab.traces(&session).await.into_bytes()),
            (
                "the requests",
                format!("{:?}", lab.requests(&session).await).into_bytes(),
            ),
            ("what is live", shown.into_bytes()),
        ];
        for (place, bytes) in &places {
            for (from, secret) in SECRETS {
                assert!(
                    !has(bytes, secret.as_bytes()),
                    "alert {alert}: the secret of the {from} is in {place}"
                );
            }
        }
        // The search finds what is there.
        assert!(has(&places[0].1, b"cat /etc/app.conf") && has(&places[3].1, b"cat /etc/app.conf"));
        lab.prove(&session).await;
    }
}

/// What runs is recorded as it runs. A call or an edit of a person that holds a secret is refused; the refusal is in the audit
/// log and counted, and says which arguments, never what they hold.
#[tokio::test]
async fn a_secret_in_what_a_person_calls_or_edits_is_refused_recorded_and_counted() {
    let counts = Counts::default();
    let guard = metrics::set_default_local_recorder(&counts);
    let lab = Lab::new(Wish::script(RESTART).level(ControlLevel::Controlled));
    let (session, _) = lab.ask("put the flag there").await;
    let hold = lab.hold().await;
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let mut arguments = lab.store.hold(&hold).await.unwrap().plan.arguments;
    arguments.insert("command".to_owned(), json!(format!("deploy --token {secret}")));
    let edited = lab.engine.edit_by(&hold, &operator(), arguments.clone()).await;
    let called = lab
        .engine
        .call(&session, &operator(), "infra_control", arguments)
        .await;
    for refused in [edited.map(|_| ()), called.map(|_| ())] {
        let Err(Error::Secret { names }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(names, ["command"]);
    }
    let mut entries = lab
        .store
        .audit_entries(&AuditFilter {
            limit: 100,
            ..AuditFilter::default()
        })
        .await
        .unwrap();
    entries.retain(|entry| entry.deed.action.ends_with("_refused"));
    entries.reverse();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| {
            let deed = &entry.deed;
            (
                deed.action.as_str(),
                deed.subject.as_deref().unwrap(),
                &deed.details["arguments"],
            )
        })
        .collect();
    let names = json!(["command"]);
    assert_eq!(
        told,
        [
            ("hold.edit_refused", hold.as_str(), &names),
            ("session.call_refused", session.as_str(), &names),
        ]
    );
    for act in ["edit", "call"] {
        let counter = format!("interlock_person_refused_total{{act={act},because=secret}}");
        assert_eq!(counts.of(&counter), 1, "{act}");
    }
    let bytes = lab.bytes();
    assert!(!bytes.windows(20).any(|window| window == &secret.as_bytes()[..20]));
    // Nothing else came of it: the hold waits as before.
    assert_eq!(lab.hold().await, hold);
    drop(guard);
}
