//! What signing costs: sessions of eight turns and single transactions with and without a key, the check of one session when it is
//! shown, by the number of its steps, and the check of the whole record.

#[path = "../tests/store/support.rs"]
mod support;

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use interlock_protocol::Status;
use interlock_seal::{Keyring, Signer};
use interlock_store::{Options, Record, Store};
use support::{at, batch, claimed, event, message, session_id, status, step, worker};
use tokio::runtime::Runtime;

const KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
const SESSIONS: u32 = 200;
/// How many sessions the record has that is checked as a whole.
const RECORDED: u32 = 1_000;
const TRANSACTIONS: u32 = 1_000;
const TURNS: u64 = 8;
/// More than this for twice as many steps is not linear.
const DOUBLE: f64 = 3.0;

fn open(folder: &std::path::Path, name: &str, signed: bool) -> Option<Store> {
    let options = Options::sqlite(folder.join(name));
    if !signed {
        return Store::open(&options).ok();
    }
    let keyring = Keyring::signing(Signer::from_text(KEY).ok()?).keeping_marks(folder.join("marks"));
    Store::open_signed(&options, keyring).ok()
}

/// Sessions one after the other, each from its submission to its end.
fn sessions(runtime: &Runtime, store: &Store, count: u32) -> Duration {
    let result = "x".repeat(2_048);
    let began = Instant::now();
    runtime.block_on(async {
        for session in 1..=u64::from(count) {
            let claim = claimed(store, session).await;
            for number in 1..=TURNS {
                let mut records = vec![
                    event("proposal"),
                    Record::Step(step(session, number)),
                    Record::Message(message(session, u32::try_from(number).unwrap_or(0), &result)),
                ];
                if number == TURNS {
                    records.push(status(Status::Completed));
                }
                if let Err(error) = store.append(batch(&claim, records)).await {
                    eprintln!("{error}");
                    return;
                }
            }
        }
    });
    began.elapsed()
}

/// A session with so many steps, and how long its check takes.
fn check(runtime: &Runtime, store: &Store, session: u64, steps: u64) -> Duration {
    runtime.block_on(async {
        let claim = claimed(store, session).await;
        for first in (1..=steps).step_by(500) {
            let last = (first + 499).min(steps);
            let mut records: Vec<Record> = (first..=last)
                .map(|number| Record::Step(step(session, number)))
                .collect();
            if last == steps {
                records.push(status(Status::Completed));
            }
            if let Err(error) = store.append(batch(&claim, records)).await {
                eprintln!("{error}");
            }
        }
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            let state = store.seal_of(&session_id(session)).await;
            assert!(
                state.is_ok_and(|state| state.is_intact()),
                "the session is intact"
            );
            best = best.min(began.elapsed());
        }
        best
    })
}

/// One transaction that writes one row of no session, not synced to the disk: with a key, the schema of the store and the end of
/// the audit log are checked at its beginning.
fn transaction(runtime: &Runtime, store: &Store) -> Duration {
    let worker = worker(1);
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let began = Instant::now();
        runtime.block_on(async {
            for second in 0..i64::from(TRANSACTIONS) {
                if let Err(error) = store.heartbeat(&worker, at(second)).await {
                    eprintln!("{error}");
                }
            }
        });
        best = best.min(began.elapsed() / TRANSACTIONS);
    }
    best
}

/// A store with many sessions: the check of one when it is shown, the check of all by `interlock audit verify`, and one request of
/// the page.
fn record(runtime: &Runtime, folder: &std::path::Path) {
    let Some(store) = open(folder, "record.db", true) else {
        return;
    };
    sessions(runtime, &store, RECORDED);
    let Some(keyring) = store.keyring().cloned() else {
        return;
    };
    runtime.block_on(async {
        let mut one = Duration::MAX;
        let began = Instant::now();
        let first = store.seal_of(&session_id(1)).await;
        let cold = began.elapsed();
        assert!(first.is_ok_and(|state| state.is_intact()), "it is intact");
        for session in 1..=100 {
            let began = Instant::now();
            let state = store.seal_of(&session_id(session)).await;
            one = one.min(began.elapsed());
            assert!(state.is_ok_and(|state| state.is_intact()), "it is intact");
        }
        println!(
            "seal: checking one of {RECORDED} sessions of {TURNS} turns takes {one:.1?}, the first time in a process {cold:.1?}"
        );
        let began = Instant::now();
        let verified = store.verify_record(&keyring, true).await;
        println!(
            "seal: audit verify of {RECORDED} sessions takes {:.1?}",
            began.elapsed()
        );
        assert!(verified.is_ok_and(|verified| verified.holds()), "the record holds");
        let began = Instant::now();
        let page = store.verify_sessions(&keyring, None, 500).await;
        println!("seal: checking 500 sessions takes {:.1?}", began.elapsed());
        assert!(page.is_ok_and(|page| page.intact == 500), "they are intact");
        store.close().await;
    });
}

fn seal(_: &mut Criterion) {
    let (Ok(folder), Ok(runtime)) = (tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")), Runtime::new())
    else {
        return;
    };
    let each = |took: Duration| took.as_secs_f64() * 1_000_000.0 / f64::from(SESSIONS);
    let mut plain = f64::MAX;
    let mut signed = f64::MAX;
    for round in 0..3 {
        for (is_signed, best) in [(false, &mut plain), (true, &mut signed)] {
            let Some(store) = open(folder.path(), &format!("{round}-{is_signed}.db"), is_signed) else {
                return;
            };
            *best = best.min(each(sessions(&runtime, &store, SESSIONS)));
            runtime.block_on(store.close());
        }
    }
    println!(
        "seal: a session of {TURNS} turns takes {plain:.0} µs without a key and {signed:.0} µs with one: {:.0} µs for its seals, \
         checkpoints and mark",
        signed - plain
    );
    let (mut plain, mut signed) = (Duration::MAX, Duration::MAX);
    for (is_signed, took) in [(false, &mut plain), (true, &mut signed)] {
        let Some(store) = open(folder.path(), &format!("one-{is_signed}.db"), is_signed) else {
            return;
        };
        *took = transaction(&runtime, &store);
        runtime.block_on(store.close());
    }
    println!(
        "seal: a transaction that writes one row takes {plain:.1?} without a key and {signed:.1?} with one, which checks the schema"
    );
    record(&runtime, folder.path());
    let Some(store) = open(folder.path(), "steps.db", true) else {
        return;
    };
    let mut last: Option<Duration> = None;
    for (session, steps) in [(1, 5_000), (2, 10_000), (3, 20_000)] {
        let took = check(&runtime, &store, session, steps);
        let growth = last.map_or(2.0, |last| took.as_secs_f64() / last.as_secs_f64());
        println!("seal: checking a session of {steps} steps takes {took:.1?} (times {growth:.1})");
        assert!(
            growth < DOUBLE,
            "twice as many steps took {growth:.1} times as long"
        );
        last = Some(took);
    }
    runtime.block_on(store.close());
}

criterion_group!(benches, seal);
criterion_main!(benches);
