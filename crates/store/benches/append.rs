//! How fast batches are kept: 64 sessions at once, each turn a batch of eight records with a result of 2 KB.
#![allow(missing_docs, reason = "criterion makes the main function")]

#[path = "../tests/store/support.rs"]
mod support;

use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use interlock_protocol::{Status, ToolKind};
use interlock_store::{Claim, Options, Record, Store};
use support::{batch, call, claimed, event, evidence, finished, message, status, step};
use tokio::runtime::Runtime;

const SESSIONS: u64 = 64;
/// After so many turns a session ends and another begins.
const TURNS: u64 = 8;

/// What one turn leaves: two events for the proposal and the decision, a call that reads, its result, the step.
fn turn(session: u64, number: u64, result: &str) -> Vec<Record> {
    let mut read = call(session, session * 1_000 + number, ToolKind::Read, 141);
    read.plan.call = format!("call_{session}_{number}")
        .parse()
        .unwrap_or(read.plan.call);
    vec![
        event("proposal"),
        event("decision"),
        Record::Step(step(session, number)),
        Record::Started(read.clone()),
        finished(&read),
        Record::Evidence(evidence(session, session * 1_000 + number, result)),
        Record::Message(message(session, u32::try_from(number).unwrap_or(0), result)),
        event("receipt"),
    ]
}

/// Keeps this many batches, and says how long that took.
fn keep(runtime: &Runtime, store: &Store, first: u64, batches: u64) -> Duration {
    let result = "x".repeat(2_048);
    let each = batches.div_ceil(SESSIONS);
    let began = Instant::now();
    let tasks: Vec<_> = (0..SESSIONS)
        .map(|lane| {
            let (store, result) = (store.clone(), result.clone());
            runtime.spawn(async move {
                let mut claim: Option<Claim> = None;
                for number in 0..each {
                    let session = (first + number / TURNS) * SESSIONS + lane;
                    if number % TURNS == 0 {
                        claim = Some(claimed(&store, session).await);
                    }
                    let Some(claim) = &claim else { return };
                    let mut records = turn(session, number % TURNS + 1, &result);
                    if number % TURNS == TURNS - 1 {
                        records.push(status(Status::Completed));
                    }
                    if let Err(error) = store.append(batch(claim, records)).await {
                        eprintln!("{error}");
                        return;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        let _ = runtime.block_on(task);
    }
    began.elapsed()
}

/// The time that this process, or its threads of a name, spent on processors, in hundredths of a second.
fn ticks(thread: Option<&str>) -> u64 {
    let of = |stat: String| -> u64 {
        let after = stat.rsplit(')').next().unwrap_or_default();
        let fields = after.split_whitespace().skip(11).take(2);
        fields.filter_map(|field| field.parse::<u64>().ok()).sum()
    };
    let Some(name) = thread else {
        return of(std::fs::read_to_string("/proc/self/stat").unwrap_or_default());
    };
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok())
        .filter(|stat| stat.contains(&format!("({name})")))
        .map(of)
        .sum()
}

fn append(criterion: &mut Criterion) {
    let (Ok(folder), Ok(runtime)) = (tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")), Runtime::new())
    else {
        return;
    };
    let Ok(store) = Store::open(&Options::sqlite(folder.path().join("bench.db"))) else {
        return;
    };
    let mut first = 1;
    let mut run = |batches: u64| {
        let took = keep(&runtime, &store, first, batches);
        first += batches.div_ceil(SESSIONS).div_ceil(TURNS);
        took
    };

    run(5_000);
    let (all, writer, batches) = (ticks(None), ticks(Some("store")), 20_000);
    let took = run(batches);
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let per_batch = |ticks: u64| ticks as f64 * 10_000.0 / batches as f64;
    let (all, writer) = (
        per_batch(ticks(None) - all),
        per_batch(ticks(Some("store")) - writer),
    );
    println!(
        "append: {all:.1} µs of CPU per batch of 8 records, {:.1} per record, making them included; \
         {writer:.1} of it in the writing thread; {:.0} batches a second",
        all / 8.0,
        20_000.0 / took.as_secs_f64()
    );

    let mut group = criterion.benchmark_group("append");
    group.throughput(Throughput::Elements(8)).sample_size(10);
    group.bench_function("64 sessions, 8 records", |bencher| {
        bencher.iter_custom(&mut run);
    });
    group.finish();
}

criterion_group!(benches, append);
criterion_main!(benches);
