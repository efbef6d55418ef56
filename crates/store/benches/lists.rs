//! How fast lists are over 100,000 sessions: each line is one question, asked again and again.
#![allow(missing_docs, reason = "this is a program")]

#[path = "../tests/store/support.rs"]
mod support;

use std::error::Error;
use std::time::{Duration, Instant};

use interlock_protocol::{Decision, EventBody, SessionKind, Status, ToolKind};
use interlock_store::{
    DecisionFilter, Filter, Options, Record, SessionQuery, SortBy, Store, Submitted, UsageBy,
};
use support::{
    MANY, ROOM, at, batch, call, event, finished, interaction, new_session, permit_id, session_id, worker,
};
use tokio::runtime::Runtime;

const SESSIONS: u64 = 100_000;
const AT_ONCE: u64 = 64;
/// How long each question is asked.
const LONG: Duration = Duration::from_secs(2);
const STATUSES: [Status; 5] = [
    Status::Completed,
    Status::Completed,
    Status::Completed,
    Status::Failed,
    Status::Cancelled,
];

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// One session, from its submission to its end; some wait, some are in hand.
async fn fill(store: &Store, number: u64) -> Outcome {
    let second = i64::try_from(number)?;
    let mut session = new_session(number);
    session.title = format!("Disk of node {} is full ({number})", number % 997);
    session.input = format!(
        "/var of node {} is {}% used. {}",
        number % 997,
        number % 100,
        "More about it. ".repeat(8)
    );
    session.at = at(second);
    if number.is_multiple_of(2) {
        session.kind = SessionKind::Chain;
        session.alert_type =
            Some(["disk-full", "cpu-high", "backup-failed"][usize::try_from(number % 3)?].to_owned());
        session.owner = None;
    }
    if store.submit(session, &ROOM).await? != Submitted::New || number.is_multiple_of(500) {
        return Ok(());
    }
    let claim = store
        .claim(&session_id(number), &worker(1), at(second + 1))
        .await?;
    let read = call(number, number, ToolKind::Read, number % 200);
    let decision = Decision::Allowed {
        permit: permit_id(number),
        kind: ToolKind::Read,
        plan_hash: read.plan_hash,
    };
    let mut asked = interaction(number, 1, b"", b"body");
    asked.at = at(second + 2);
    let mut records = vec![
        Record::Interaction(asked),
        Record::Event {
            stage: None,
            execution: None,
            body: EventBody::DecisionMade {
                call: Some(read.plan.call.clone()),
                decision,
            },
        },
        Record::Started(read.clone()),
        finished(&read),
        event("It is the log volume."),
    ];
    if number % 1_000 != 1 {
        records.push(Record::Status {
            status: STATUSES[usize::try_from(number % 5)?],
            answer: Some(format!("The log volume of node {} was vacuumed.", number % 997)),
            error: None,
        });
    }
    let mut last = batch(&claim, records);
    last.at = at(second + 2 + second % 300);
    store.append(last).await?;
    Ok(())
}

/// Asks again and again, and says how long the slowest of a hundred answers took.
fn ask<T>(
    runtime: &Runtime,
    name: &str,
    question: impl AsyncFn() -> Result<T, interlock_store::Error>,
) -> Outcome {
    let mut took = Vec::new();
    let began = Instant::now();
    while began.elapsed() < LONG || took.len() < 20 {
        let asked = Instant::now();
        runtime.block_on(question())?;
        took.push(asked.elapsed());
    }
    took.sort_unstable();
    let of_hundred = |part: usize| took[(took.len() * part).div_ceil(100) - 1];
    println!(
        "{name:<44} p50 {:>9.2?}  p99 {:>9.2?}  ({} times)",
        of_hundred(50),
        of_hundred(99),
        took.len()
    );
    Ok(())
}

fn main() -> Outcome {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let runtime = Runtime::new()?;
    let path = folder.path().join("lists.db");
    let store = Store::open(&Options::file(&path))?;
    let began = Instant::now();
    let lanes: Vec<_> = (0..AT_ONCE)
        .map(|lane| {
            let store = store.clone();
            runtime.spawn(async move {
                for number in (1 + lane..=SESSIONS).step_by(usize::try_from(AT_ONCE)?) {
                    fill(&store, number).await?;
                }
                Ok::<_, Box<dyn Error + Send + Sync>>(())
            })
        })
        .collect();
    for lane in lanes {
        runtime.block_on(lane)??;
    }
    let size = std::fs::metadata(&path)?.len() / 1_000_000;
    println!("{SESSIONS} sessions in {:.1?}, {size} MB", began.elapsed());

    let first = SessionQuery {
        limit: 25,
        ..SessionQuery::default()
    };
    for sort in [
        SortBy::CreatedAt,
        SortBy::LastInteraction,
        SortBy::Status,
        SortBy::Title,
        SortBy::Duration,
    ] {
        let query = SessionQuery {
            sort,
            ..first.clone()
        };
        ask(&runtime, &format!("first page by {sort:?}"), async || {
            store.session_page(&query).await
        })?;
    }
    let search = |text: &str| SessionQuery {
        search: Some(text.to_owned()),
        ..first.clone()
    };
    let pages = [
        (
            "fourth page",
            SessionQuery {
                offset: 75,
                ..first.clone()
            },
        ),
        (
            "status: failed",
            SessionQuery {
                statuses: vec![Status::Failed],
                ..first.clone()
            },
        ),
        (
            "status: completed",
            SessionQuery {
                statuses: vec![Status::Completed],
                ..first.clone()
            },
        ),
        (
            "nobody's, by title",
            SessionQuery {
                owner: Some("nobody".parse()?),
                sort: SortBy::Title,
                ..first.clone()
            },
        ),
        (
            "alert type and kind",
            SessionQuery {
                alert_type: Some("disk-full".to_owned()),
                kind: Some(SessionKind::Chain),
                ..first.clone()
            },
        ),
        (
            "a day",
            SessionQuery {
                from: Some(at(5_000)),
                to: Some(at(9_000)),
                ..first.clone()
            },
        ),
        ("search: a few have it", search("node 123 is")),
        ("search: all have it", search("disk")),
        ("search: all have it, long", search("the log volume of node")),
        ("search: none has it", search("zebra")),
        ("search: two letters", search("di")),
        (
            "search and status, by duration",
            SessionQuery {
                statuses: vec![Status::Failed],
                sort: SortBy::Duration,
                ..search("disk")
            },
        ),
    ];
    for (name, query) in pages {
        ask(&runtime, name, async || store.session_page(&query).await)?;
    }
    ask(&runtime, "counts", async || store.counts().await)?;
    ask(&runtime, "what filters choose from", async || {
        store.filter_options().await
    })?;
    let some = session_id(54_321);
    ask(&runtime, "detail: session", async || store.session(&some).await)?;
    ask(&runtime, "detail: snapshot", async || store.snapshot(&some).await)?;
    let newest = DecisionFilter {
        limit: 50,
        ..DecisionFilter::default()
    };
    ask(&runtime, "decisions", async || store.decisions(&newest).await)?;
    let refused = DecisionFilter {
        answer: Some("refused".to_owned()),
        ..newest.clone()
    };
    ask(&runtime, "decisions: refused", async || {
        store.decisions(&refused).await
    })?;
    ask(&runtime, "calls on a resource", async || {
        store.calls_on(&support::resource(7), 50).await
    })?;
    ask(&runtime, "usage of a day by model", async || {
        store.usage(at(10_000), at(96_400), UsageBy::Model).await
    })?;
    ask(&runtime, "the old list, to compare", async || {
        store
            .sessions(&Filter {
                limit: 25,
                ..Filter::default()
            })
            .await
    })?;
    let waits = runtime.block_on(store.claim_next(&worker(2), at(0), MANY))?;
    println!("the queue works: {}", waits.is_some());
    Ok(())
}
