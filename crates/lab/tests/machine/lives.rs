//! Nothing outlives what it belongs to; and machines start fast.

use std::io::BufRead as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use interlock_lab::machine::{Exec, Machine, Machines, Wish};

use super::support::{lab, out, program, spec, text, until};

async fn processes(machine: &Machine, name: &str) -> usize {
    let line = format!("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o '{name}' | wc -l");
    out(machine, &line).await.trim().parse().unwrap()
}

fn exec(line: &str) -> Exec {
    Exec {
        argv: ["sh", "-c", line].iter().map(ToString::to_string).collect(),
        ..Exec::default()
    }
}

#[tokio::test]
async fn what_runs_too_long_is_killed_with_all_it_started() {
    let Some(lab) = lab().await else { return };
    let machine = lab.machines.start(&spec("slow")).await.unwrap();
    let begun = Instant::now();
    let done = machine
        .exec(Exec {
            timeout: Some(Duration::from_millis(200)),
            ..exec("echo first; sleep 4321 & setsid sleep 4321 & wait")
        })
        .await
        .unwrap();
    assert_eq!((done.code, text(&done.stdout).as_str()), (137, "first\n"));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(processes(&machine, "[s]leep 4321").await, 0);
}

#[tokio::test]
async fn what_nobody_listens_to_is_killed() {
    let Some(lab) = lab().await else { return };
    let machine = lab.machines.start(&spec("loud")).await.unwrap();
    let mut chunks = machine
        .stream(exec("while true; do echo tick; sleep 0.05; done & sleep 8765"))
        .await
        .unwrap();
    assert!(chunks.recv().await.is_some());
    assert!(processes(&machine, "[s]leep 8765").await > 0);
    drop(chunks);
    until("killed", || async {
        processes(&machine, "[s]leep 8765").await == 0
    })
    .await;
}

#[tokio::test]
async fn a_program_reads_prints_and_ends() {
    let Some(lab) = lab().await else { return };
    let machine = lab.machines.start(&spec("io")).await.unwrap();
    let much = vec![b'x'; 3 << 20];
    let done = machine
        .exec(Exec {
            stdin: much.clone(),
            folder: Some("/tmp".into()),
            env: [("A".to_owned(), "b c".to_owned())].into(),
            ..exec("cat; echo $A $PWD >&2; exit 7")
        })
        .await
        .unwrap();
    assert_eq!(
        (done.code, done.stdout.len(), text(&done.stderr).as_str()),
        (7, much.len(), "b c /tmp\n")
    );
    for (program, code) in [("no-such-program", 127), ("/etc/hostname", 126), ("/usr", 126)] {
        let done = super::support::run(&machine, &[program]).await;
        assert_eq!(done.code, code, "{program}: {}", text(&done.stderr));
    }
    // What stays behind holds its output open; the program has ended nevertheless.
    let begun = Instant::now();
    assert_eq!(out(&machine, "sleep 50 & echo done").await, "done\n");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn twenty_machines_start_at_once() {
    let Some(lab) = lab().await else { return };
    let begun = Instant::now();
    let specs: Vec<_> = (0..20).map(|number| spec(&format!("m{number}"))).collect();
    let machines = futures_util::future::join_all(specs.iter().map(|spec| lab.machines.start(spec))).await;
    let took = begun.elapsed();
    for machine in machines {
        let machine = machine.unwrap();
        assert_eq!(out(&machine, "uname -n").await, format!("{}\n", machine.name()));
    }
    eprintln!("twenty machines in {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    let machine = lab.machines.start(&spec("quick")).await.unwrap();
    let begun = Instant::now();
    for _ in 0..20 {
        super::support::run(&machine, &["true"]).await;
    }
    eprintln!("twenty programs in {:?}", begun.elapsed());
}

/// Says to a process of this test that it is the one to be killed.
const MARK: &str = "LAB_TEST_MARK";

/// Whatever has this folder in its command line, or is started by what has.
fn alive(mark: &str) -> Vec<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let read = |name| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            text(&read("cmdline")).contains(mark)
        })
        .collect()
}

#[tokio::test]
async fn a_killed_lab_leaves_nothing_behind() {
    if let Ok(mark) = std::env::var(MARK) {
        return be_killed(&mark).await;
    }
    if lab().await.is_none() {
        return;
    }
    // Not a number that anybody else sleeps for.
    let mark = format!("{}.25", 100_000 + std::process::id());
    let me = std::env::current_exe().unwrap();
    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a lab that can be killed is a process"
    )]
    let mut child = std::process::Command::new(me)
        .args([
            "--exact",
            "machine::lives::a_killed_lab_leaves_nothing_behind",
            "--nocapture",
        ])
        .env(MARK, &mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    assert!(
        stdout
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains("ready to be killed"))
    );
    assert!(alive(&mark).len() >= 2, "{:?}", alive(&mark));
    child.kill().unwrap();
    child.wait().unwrap();
    until("gone", || async { alive(&mark).is_empty() }).await;
}

/// The other process: it starts what must not outlive it, and waits.
async fn be_killed(mark: &str) {
    let folder = tempfile::tempdir().unwrap();
    let machines = Machines::new(program(), folder.path().join(mark), Wish::Best)
        .await
        .unwrap();
    let machine = machines.start(&spec("doomed")).await.unwrap();
    let _chunks = machine
        .stream(exec(&format!("setsid sleep {mark} & sleep {mark}")))
        .await
        .unwrap();
    until("sleeps", || async {
        processes(&machine, &format!("[s]leep {mark}")).await >= 2
    })
    .await;
    println!("ready to be killed");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn dropping_the_machines_ends_them() {
    let Some(lab) = lab().await else { return };
    let mark = format!("{}.75", 200_000 + std::process::id());
    let machine = lab.machines.start(&spec("dropped")).await.unwrap();
    let _chunks = machine
        .stream(exec(&format!("setsid sleep {mark}")))
        .await
        .unwrap();
    until("sleeps", || async { !alive(&mark).is_empty() }).await;
    drop(lab);
    until("gone", || async { alive(&mark).is_empty() }).await;
    machine.ended().await;
    assert!(machine.read("/etc/hostname").await.is_err());
}
