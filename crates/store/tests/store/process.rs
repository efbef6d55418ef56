//! Other processes: killed while they write, or writing at the same time. Each is this test binary again.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the processes are this very test, and what is tested is their sudden end"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use interlock_protocol::{Sequence, Status, ToolKind};
use interlock_store::{Batch, Concurrency, Error, Filter, Options, Record, Store};

use crate::support::*;

const WHAT: &str = "INTERLOCK_STORE_TEST_CHILD";
const FILE: &str = "INTERLOCK_STORE_TEST_FILE";
const SESSIONS: u64 = 6;

fn command(what: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "process::child", "--nocapture", "--test-threads=1"])
        .env(WHAT, what)
        .env(FILE, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    command
}

/// What a child says, without what the test harness says.
fn said(child: &mut Child) -> Vec<String> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let lines = output.lines().map_while(Result::ok);
    let said = lines
        .filter_map(|line| line.split_once('@').map(|(_, text)| text.to_owned()))
        .collect();
    child.wait().unwrap();
    said
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "@{text}").unwrap();
    out.flush().unwrap();
}

#[test]
fn child() {
    let (Ok(what), Ok(file)) = (std::env::var(WHAT), std::env::var(FILE)) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let options = Options::sqlite(file);
    match what.as_str() {
        "append" => runtime.block_on(append_until_killed(&options)),
        "claim" => runtime.block_on(claim_all(&options)),
        "approve" => runtime.block_on(approve_when_told(&options)),
        "small" => runtime.block_on(fill_a_small_disk(&options)),
        "unwritable" => runtime.block_on(look_where_nothing_can_be_written(&options)),
        other => panic!("{other}"),
    }
}

/// Says each place after it was kept. Every third batch is one that must be on the disk.
async fn append_until_killed(options: &Options) {
    let store = Store::open(options).unwrap();
    // Whoever had them was killed: everyone from before this moment is stale.
    store
        .take_over(jiff::Timestamp::now(), Duration::ZERO)
        .await
        .unwrap();
    let me = worker(u64::from(std::process::id()));
    let tasks: Vec<_> = (0..SESSIONS)
        .map(|session| {
            let (store, me) = (store.clone(), me.clone());
            tokio::spawn(async move {
                let claim = store
                    .claim(&session_id(session), &me, jiff::Timestamp::now())
                    .await
                    .unwrap();
                let first = store.snapshot(&session_id(session)).await.unwrap().last_step + 1;
                for number in first.. {
                    let read = call(session, number, ToolKind::Read, 5);
                    let mut records = vec![
                        Record::Step(step(session, number)),
                        event(&"x".repeat(300)),
                        Record::Started(read.clone()),
                        Record::Evidence(evidence(session, number, &"y".repeat(2_000))),
                    ];
                    if number % 3 == 0 {
                        records.push(finished(&read));
                    }
                    let kept = store.append(batch(&claim, records)).await.unwrap();
                    say(&format!("{session} {number} {}", kept.events[0].sequence));
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

async fn intact_with(path: &Path, acknowledged: &BTreeMap<u64, Vec<(u64, u64)>>) {
    let store = Store::open(&Options::sqlite(path)).unwrap();
    store.integrity().await.unwrap();
    for session in 0..SESSIONS {
        let id = session_id(session);
        let steps = store.steps(&id, None).await.unwrap();
        let numbers: Vec<u64> = steps.iter().map(|step| step.number).collect();
        assert_eq!(numbers, (1..).take(numbers.len()).collect::<Vec<u64>>(), "no gap");
        let calls = store.calls(&id).await.unwrap();
        assert_eq!(calls.len(), numbers.len(), "whole batches only");
        let receipts = calls.iter().filter(|call| call.receipt.is_some()).count();
        assert_eq!(receipts, numbers.len() / 3);
        let events = store.events(&id, Sequence::START, 1_000_000).await.unwrap();
        let places: Vec<u64> = events.iter().map(|event| event.sequence.get()).collect();
        assert_eq!(places, (1..).take(places.len()).collect::<Vec<u64>>());
        for (number, place) in acknowledged.get(&session).into_iter().flatten() {
            assert!(
                numbers.contains(number),
                "step {number} of {session} was acknowledged"
            );
            assert!(
                places.contains(place),
                "event {place} of {session} was acknowledged"
            );
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_sudden_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = Store::open(&Options::sqlite(&path)).unwrap();
    for session in 0..SESSIONS {
        store.submit(new_session(session), &ROOM).await.unwrap();
    }
    store.close().await;
    drop(store);
    let mut acknowledged: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    let mut count = 0;
    // Times that fall into opening, into the first batches, and far into them; more of them where the machine is busy.
    let times = [5, 30, 60, 90, 140, 210, 300];
    for (round, milliseconds) in times.into_iter().cycle().take(70).enumerate() {
        if round >= times.len() && count > 100 {
            break;
        }
        let mut child = command("append", &path).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        for line in said(&mut child) {
            let numbers: Vec<u64> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
            // The last line may have been cut off.
            if let [session, number, place] = numbers[..]
                && line.split(' ').count() == 3
            {
                acknowledged.entry(session).or_default().push((number, place));
                count += 1;
            }
        }
        intact_with(&path, &acknowledged).await;
    }
    assert!(
        count > 100,
        "only {count} batches were acknowledged: nothing was tested"
    );
}

/// Claims whatever it can get, says it, and ends it.
async fn claim_all(options: &Options) {
    let store = Store::open(options).unwrap();
    let me = worker(u64::from(std::process::id()));
    let limits = Concurrency {
        worker: 2,
        overall: Some(3),
    };
    let waiting = Filter {
        statuses: vec![Status::Pending],
        limit: 1,
        ..Filter::default()
    };
    loop {
        match store.claim_next(&me, at(1), limits).await.unwrap() {
            Some((claim, _)) => {
                say(claim.session.as_str());
                store
                    .append(batch(&claim, vec![status(Status::Completed)]))
                    .await
                    .unwrap();
            }
            None if store.sessions(&waiting).await.unwrap().is_empty() => return,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

#[tokio::test]
async fn two_processes_claim_each_session_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = Store::open(&Options::sqlite(&path)).unwrap();
    for session in 0..200 {
        store.submit(new_session(session), &ROOM).await.unwrap();
    }
    let mut children: Vec<Child> = (0..2).map(|_| command("claim", &path).spawn().unwrap()).collect();
    let mut claims: Vec<String> = children.iter_mut().flat_map(said).collect();
    claims.sort();
    let mut expected: Vec<String> = (0..200).map(|session| session_id(session).to_string()).collect();
    expected.sort();
    assert_eq!(claims, expected);
}

async fn approve_when_told(options: &Options) {
    let store = Store::open(options).unwrap();
    let by = format!("process {}", std::process::id());
    say("ready");
    for line in std::io::stdin().lines() {
        let number: u64 = line.unwrap().parse().unwrap();
        let decided = Record::Hold(approved(hold(1, number), &by));
        let batch: Batch = unclaimed(1, vec![decided]);
        match store.append(batch).await {
            Ok(_) => say("won"),
            Err(Error::HoldDecided(_)) => say("lost"),
            Err(error) => say(&error.to_string()),
        }
    }
}

#[tokio::test]
async fn of_two_processes_that_approve_at_once_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = Store::open(&Options::sqlite(&path)).unwrap();
    let claim = claimed(&store, 1).await;
    let holds = (0..30).map(|number| Record::Hold(hold(1, number))).collect();
    store.append(batch(&claim, holds)).await.unwrap();
    let mut children: Vec<Child> = (0..2)
        .map(|_| command("approve", &path).spawn().unwrap())
        .collect();
    for number in 0..30 {
        for child in &mut children {
            writeln!(child.stdin.as_mut().unwrap(), "{number}").unwrap();
        }
    }
    let said: Vec<Vec<String>> = children
        .iter_mut()
        .map(|child| {
            drop(child.stdin.take());
            said(child)
        })
        .collect();
    for (number, pair) in said[0].iter().zip(&said[1]).skip(1).enumerate() {
        let mut pair = [pair.0.as_str(), pair.1.as_str()];
        pair.sort_unstable();
        assert_eq!(pair, ["lost", "won"], "hold {number}");
    }
    assert_eq!(said[0].len(), 31);
}

/// Runs a child on a file system of its own, which is gone with it. Nothing where this system lets nobody mount one.
fn on_a_file_system(what: &str, file: &str, mount: &str) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let inner = command(what, &folder.path().join(file));
    let mut outer = Command::new("unshare");
    outer
        .args([
            "--mount",
            "sh",
            "-c",
            &format!("mount -t tmpfs {mount} none \"$0\" && exec \"$@\""),
        ])
        .arg(folder.path())
        .arg(inner.get_program())
        .args(inner.get_args())
        .env(WHAT, what)
        .env(FILE, folder.path().join(file))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let said = outer
        .spawn()
        .map(|mut child| said(&mut child))
        .unwrap_or_default();
    if said.is_empty() {
        eprintln!("skipped: no file system can be mounted here");
        return None;
    }
    Some(said)
}

async fn fill_a_small_disk(options: &Options) {
    let store = Store::open(options).unwrap();
    say("opened");
    let claim = claimed(&store, 1).await;
    let path = Path::new(options.location.local_file().unwrap());
    let ballast = path.with_extension("ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let mut kept = 0;
    let error = loop {
        let records = vec![Record::Message(message(1, kept + 1, &"x".repeat(50_000)))];
        match store.append(batch(&claim, records)).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    say(&format!("full {}", matches!(error, Error::Full { .. })));
    let before = store.snapshot(&session_id(1)).await.unwrap().messages.len();
    std::fs::remove_file(&ballast).unwrap();
    let records = vec![Record::Message(message(1, kept + 1, "room"))];
    let after = store.append(batch(&claim, records)).await.is_ok();
    store.close().await;
    drop(store);
    let store = Store::open(options).unwrap();
    let whole = store.integrity().await.is_ok();
    let messages = store.snapshot(&session_id(1)).await.unwrap().messages.len();
    let all = before == kept as usize && messages == kept as usize + 1;
    say(&format!(
        "kept {all}, goes on {after}, whole {whole}, some {}",
        kept > 5
    ));
}

#[test]
fn a_disk_that_is_really_full_loses_nothing() {
    if let Some(said) = on_a_file_system("small", "a.db", "-o size=4m") {
        assert_eq!(
            said,
            [
                "opened",
                "full true",
                "kept true, goes on true, whole true, some true"
            ]
        );
    }
}

/// Makes a store, makes its file system read-only, and looks again.
async fn look_where_nothing_can_be_written(options: &Options) {
    let store = Store::open(options).unwrap();
    claimed(&store, 1).await;
    store.close().await;
    drop(store);
    let folder = Path::new(options.location.local_file().unwrap())
        .parent()
        .unwrap();
    let done = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(folder)
        .status();
    assert!(done.unwrap().success());
    let written = Store::open(options).err();
    say(&format!(
        "write {}",
        matches!(written, Some(Error::ReadOnly { .. }))
    ));
    let store = Store::open(&options.clone().read_only()).unwrap();
    say(&format!("read {}", store.session(&session_id(1)).await.is_ok()));
}

#[test]
fn where_nothing_can_be_written_one_can_still_look() {
    if let Some(said) = on_a_file_system("unwritable", "a b?.db", "-o size=4m") {
        assert_eq!(said, ["write true", "read true"]);
    }
}
