//! Nothing of a read outlives it, however the read tries and whoever is killed.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interlock_confine::Ending;
use interlock_protocol::ToolKind;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::stage::{LONG, is_installed, limits, run_in, runner, started};
use crate::{Error, Exit, Limits, Program, Runner, Sandbox};

/// A pipe with a name that a read can open for reading. Its other end is here, and tells when the last reader is gone.
struct Tether {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

/// Our end of a tether.
struct End(File);

impl Tether {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tether");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        Self {
            path,
            _folder: folder,
        }
    }

    /// Waits until a process holds it.
    async fn held(&self) -> End {
        let path = self.path.clone();
        let opening = tokio::task::spawn_blocking(move || OpenOptions::new().write(true).open(path).unwrap());
        let opened = tokio::time::timeout(LONG, opening).await;
        if opened.is_err() {
            // Lets the thread end: the read never opened it.
            let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
            let _ = OpenOptions::new()
                .read(true)
                .custom_flags(nonblocking)
                .open(&self.path);
        }
        End(opened.expect("the read begins").unwrap())
    }
}

impl End {
    /// Whether nobody holds the tether any more, after at most this long.
    fn is_cut(&self, within: Duration) -> bool {
        let within = Timespec::try_from(within).unwrap();
        let mut waiting = [PollFd::new(&self.0, PollFlags::empty())];
        poll(&mut waiting, Some(&within)).unwrap() > 0
    }
}

/// A program that tries to outlive the read that it is part of.
struct Hostile {
    name: String,
    argv: Vec<String>,
    /// Whether it forks without pause.
    restless: bool,
}

/// Every combination of a language, a way to leave, and how many at once.
fn hostile(tether: &Path, widths: &[u32]) -> Vec<Hostile> {
    let tether = tether.display();
    let mut all = Vec::new();
    for width in widths {
        for restless in [false, true] {
            // In a chain each process starts the next one and ends. A daemon loses its parent and sleeps.
            let (word, body) = if restless {
                ("chain", "f() { f & }; f")
            } else {
                ("daemon", "(sleep 600 &)")
            };
            let script = format!(
                "exec 9< {tether}; i=0; while [ $i -lt {width} ]; do ( {body} ) & i=$((i+1)); done; read -r _ <&9"
            );
            all.push(Hostile {
                name: format!("sh {word} x{width}"),
                argv: vec!["sh".to_owned(), "-c".to_owned(), script],
                restless,
            });
            if is_installed("python3") {
                for session in [false, true] {
                    let leave = if session { "os.setsid()" } else { "pass" };
                    let body = if restless {
                        "while True:\n    if os.fork(): os._exit(0)\n    leave()"
                    } else {
                        "if os.fork(): os._exit(0)\n  leave()\n  time.sleep(600)"
                    };
                    let body = body.replace("\n    ", "\n      ").replace("leave()", leave);
                    let script = format!(
                        "import os, time\nf = open('{tether}')\nfor _ in range({width}):\n if not os.fork():\n  {body}\nf.readline()"
                    );
                    all.push(Hostile {
                        name: format!(
                            "python {word} x{width}{}",
                            if session { " in sessions" } else { "" }
                        ),
                        argv: vec!["python3".to_owned(), "-c".to_owned(), script],
                        restless,
                    });
                }
            }
        }
    }
    all
}

/// The ways to end a read that this machine offers.
async fn endings() -> Vec<Ending> {
    let mut offered = Vec::new();
    for ending in [Ending::SignalScope, Ending::ControlGroup, Ending::OneByOne] {
        let runner = runner().with_ending(ending);
        let output = run_in(&runner, ToolKind::Read, Program::shell(":"), limits())
            .await
            .unwrap();
        match output.sandbox {
            Sandbox::None { reason } => {
                eprintln!("skipped: no sandbox on this machine: {reason}");
                return Vec::new();
            }
            Sandbox::Enforced { missing, .. } => {
                let weaker = missing.iter().any(|what| what.contains("without pause"));
                if weaker && ending != Ending::OneByOne {
                    eprintln!("skipped: no {ending:?} on this machine");
                } else {
                    assert_eq!(weaker, ending == Ending::OneByOne, "{missing:?}");
                    offered.push(ending);
                }
            }
        }
    }
    offered
}

const KILLED: Exit = Exit::Signal(9);

/// How a read ends in these tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Itself,
    Timeout,
    Cancel,
    Drop,
    KilledSupervisor,
    KilledGuard,
}

/// The process that supervises what holds this word among its arguments, and the guard of it.
fn watchers(word: &Path) -> (Pid, Pid) {
    let parent = |process: &str| -> String {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        line.unwrap_or_default().trim().to_owned()
    };
    let arguments = |process: &str| fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let word = word.as_os_str().as_encoded_bytes();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|process| arguments(process).windows(word.len()).any(|part| part == word))
        .find_map(|process| {
            let supervisor = parent(&process);
            let role = arguments(&supervisor);
            let is_supervisor = role.split(|byte| *byte == 0).nth(1) == Some(b"supervise");
            let number = |process: &str| Pid::from_raw(process.parse().ok()?);
            is_supervisor.then(|| Some((number(&supervisor)?, number(&parent(&supervisor))?)))?
        })
        .expect("the read has a supervisor")
}

/// How the read ended; nothing if nobody waited for it.
async fn run_until(runner: &Runner, program: Program, tether: &Tether, by: By) -> Option<Exit> {
    let cancel = CancellationToken::new();
    let started = started(ToolKind::Read);
    let limits = Limits {
        grace: Duration::from_millis(10),
        wall: if by == By::Timeout {
            Duration::from_millis(300)
        } else {
            LONG
        },
        ..limits()
    };
    let mut running = Box::pin(runner.run(&started, program, limits, &cancel));
    let end = tokio::select! {
        end = tether.held() => end,
        output = &mut running => panic!("it ended before it began: {output:?}"),
    };
    match by {
        By::Timeout => {}
        // The first process of it waits for this.
        By::Itself => std::io::Write::write_all(&mut &end.0, b"\n").unwrap(),
        By::Cancel => cancel.cancel(),
        By::Drop => {
            drop(running);
            assert!(end.is_cut(LONG), "something lives on");
            return None;
        }
        By::KilledSupervisor => kill_process(watchers(&tether.path).0, Signal::KILL).unwrap(),
        By::KilledGuard => kill_process(watchers(&tether.path).1, Signal::KILL).unwrap(),
    }
    let output = running.await;
    // When the read has ended, and not a moment later.
    assert!(end.is_cut(Duration::ZERO), "something lives on after {output:?}");
    Some(match output {
        Ok(output) => output.exit,
        // Killed after the command began, and before that was reported.
        Err(Error::Confine { .. }) if matches!(by, By::KilledSupervisor | By::KilledGuard) => KILLED,
        Err(error) => panic!("{error}"),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_outlives_a_read_that_ends() {
    for ending in endings().await {
        let runner = runner().with_ending(ending);
        for number in 0.. {
            let tether = Tether::new();
            let Some(hostile) = hostile(&tether.path, &[1, 8, 32]).into_iter().nth(number) else {
                break;
            };
            if hostile.restless && ending == Ending::OneByOne {
                // It may outrun us there, which the reading says.
                continue;
            }
            let by = [By::Itself, By::Timeout, By::Cancel, By::Drop][number % 4];
            let program = Program::new(hostile.argv).unwrap();
            println!("{ending:?}, {}, ended by {by:?}", hostile.name);
            let exit = run_until(&runner, program, &tether, by).await;
            match by {
                // What has ended and was not waited for yet counts, so that it may be ended for too many processes.
                _ if hostile.restless && exit == Some(KILLED) => {}
                By::Timeout => assert_eq!(exit, Some(Exit::TimedOut)),
                By::Cancel => assert_eq!(exit, Some(Exit::Cancelled)),
                By::Drop => assert_eq!(exit, None),
                _ => assert!(matches!(exit, Some(Exit::Code(_))), "{exit:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_outlives_a_killed_supervisor_or_guard() {
    for ending in endings().await {
        let runner = runner().with_ending(ending);
        for number in 0.. {
            let tether = Tether::new();
            let Some(hostile) = hostile(&tether.path, &[1, 8]).into_iter().nth(number) else {
                break;
            };
            if hostile.restless && ending == Ending::OneByOne {
                continue;
            }
            for by in [By::KilledSupervisor, By::KilledGuard] {
                let program = Program::new(hostile.argv.clone()).unwrap();
                println!("{ending:?}, {}, {by:?}", hostile.name);
                assert_eq!(run_until(&runner, program, &tether, by).await, Some(KILLED));
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_reads_and_other_processes_are_not_ended() {
    let other = Tether::new();
    let script = |tether: &Tether| {
        format!(
            "exec 9< {}; read -r word <&9; echo \"$word\"",
            tether.path.display()
        )
    };
    let program = Program::shell(&script(&other));
    let running = tokio::spawn(async move { run_in(&runner(), ToolKind::Read, program, limits()).await });
    let end = other.held().await;
    for ending in endings().await {
        let runner = runner().with_ending(ending);
        let output = run_in(&runner, ToolKind::Read, Program::shell("(sleep 600 &)"), limits()).await;
        assert_eq!(output.unwrap().exit, Exit::Code(0));
    }
    assert!(!end.is_cut(Duration::ZERO));
    std::io::Write::write_all(&mut &end.0, b"here\n").unwrap();
    assert_eq!(running.await.unwrap().unwrap().stdout.text(), "here\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_supervisor_of_a_write_ends_its_process_group() {
    for by in [By::KilledSupervisor, By::KilledGuard] {
        let tether = Tether::new();
        let script = format!("exec 9< {}; sleep 600 & sleep 600", tether.path.display());
        let (started, cancel, runner) = (started(ToolKind::Write), CancellationToken::new(), runner());
        let mut running = Box::pin(runner.run(&started, Program::shell(&script), limits(), &cancel));
        let end = tokio::select! {
            end = tether.held() => end,
            output = &mut running => panic!("it ended before it began: {output:?}"),
        };
        let (supervisor, guard) = watchers(&tether.path);
        kill_process(
            if by == By::KilledGuard { guard } else { supervisor },
            Signal::KILL,
        )
        .unwrap();
        match running.await {
            Ok(output) => assert_eq!(output.exit, KILLED),
            // Killed after the command began, and before that was reported.
            Err(error) => assert!(matches!(error, Error::Confine { .. }), "{error}"),
        }
        assert!(end.is_cut(LONG));
    }
}
