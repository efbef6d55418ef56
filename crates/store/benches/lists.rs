//! How fast lists are over 100,000 sessions: each line is one question, asked again and again.
#![allow(missing_docs, reason = "this is a program")]

mod fill;
#[path = "../tests/store/support.rs"]
mod support;

use std::time::{Duration, Instant};

use fill::{Outcome, SESSIONS, fill_all};
use interlock_protocol::{SessionKind, Status};
use interlock_store::{DecisionFilter, Filter, Options, SessionQuery, SortBy, Store, UsageBy};
use support::{MANY, at, session_id, worker};
use tokio::runtime::Runtime;

/// How long each question is asked.
const LONG: Duration = Duration::from_secs(2);
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
    let store = Store::open(&Options::sqlite(&path))?;
    let began = Instant::now();
    runtime.block_on(fill_all(&store))?;
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
            "last page",
            SessionQuery {
                offset: SESSIONS - 25,
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
