//! The second wall: what a read cannot do although the analysis called it a read.

use std::os::unix::net::UnixListener;
use std::process::Stdio;
use std::time::Instant;

use interlock_protocol::SocketKind::{self, Netlink, Network, Unix};
use interlock_protocol::ToolKind;
use tokio_util::sync::CancellationToken;

use super::stage::{LONG, code, is_installed, limits, run, run_in, runner, started};
use crate::{Error, Exit, Program, Protected, Runner, Sandbox, SandboxPolicy};

/// Whether there is something to test. Says so if there is not.
async fn enforced() -> bool {
    match run(ToolKind::Read, ":").await.sandbox {
        Sandbox::Enforced { .. } => true,
        Sandbox::None { reason } => {
            eprintln!("skipped: no sandbox on this machine: {reason}");
            false
        }
    }
}

#[tokio::test]
async fn a_canary_can_neither_write_nor_connect() {
    if !enforced().await {
        return;
    }
    let canary = runner().canary().await.unwrap();
    assert_eq!(canary.could, Vec::<String>::new());
}

#[tokio::test]
async fn without_the_program_that_sets_the_sandbox_nothing_runs() {
    for policy in [SandboxPolicy::Required, SandboxPolicy::WhereAvailable] {
        let runner = Runner::new(Protected::default(), policy).with_confine("/no/such/interlock-confine");
        let output = runner
            .run(
                &started(ToolKind::Read),
                Program::shell("echo ran"),
                limits(),
                &CancellationToken::new(),
            )
            .await;
        assert!(matches!(output, Err(Error::NoConfine { .. })), "{output:?}");
    }
}

/// Opens a socket of a family and says how that went.
fn open_socket(family: &str) -> String {
    format!(
        "import socket\ntry:\n  socket.socket({family}, socket.SOCK_RAW if {family} in (16, 17) else socket.SOCK_STREAM)\n  \
         print('open')\nexcept OSError as error:\n  print('refused', error.errno)"
    )
}

#[tokio::test]
async fn a_read_opens_only_the_sockets_that_it_needs() {
    if !enforced().await || !is_installed("python3") {
        return;
    }
    let cases: [(&str, &[SocketKind], bool); 12] = [
        ("1", &[], false),
        ("1", &[Unix], true),
        ("1", &[Netlink, Network], false),
        ("2", &[], false),
        ("2", &[Network], true),
        ("2", &[Unix, Netlink], false),
        ("10", &[], false),
        ("10", &[Unix], false),
        ("16", &[], false),
        ("16", &[Netlink], true),
        ("17", &[Unix, Netlink, Network], false),
        ("40", &[Unix, Netlink, Network], false),
    ];
    for (family, sockets, opens) in cases {
        let program = Program::new(["python3", "-c", &open_socket(family)])
            .unwrap()
            .with_sockets(sockets);
        let output = run_in(&runner(), ToolKind::Read, program, limits())
            .await
            .unwrap();
        let said = output.stdout.text();
        assert_eq!(
            said.trim() == "open",
            opens,
            "family {family} with {sockets:?}: {said}{}",
            output.stderr.text()
        );
    }
}

#[tokio::test]
async fn each_program_of_a_pipeline_has_a_sandbox_of_its_own() {
    if !enforced().await || !is_installed("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    let connect = |path: &std::path::Path| {
        format!(
            "import socket,sys; sys.stdin.read(); s=socket.socket(1); s.connect(\"{}\"); print(\"in\")",
            path.display()
        )
    };
    let script = folder.path().join("connect.py");
    std::fs::write(&script, connect(&path)).unwrap();
    let command = format!("python3 {0} | python3 {0}", script.display());
    // Both may: the whole works.
    let all = Program::command(&command, |_| vec![Unix]);
    assert_eq!(all.stages().len(), 2);
    let output = run_in(&runner(), ToolKind::Read, all, limits()).await.unwrap();
    assert_eq!(
        (code(&output), output.stdout.text().as_str()),
        (0, "in\n"),
        "{}",
        output.stderr.text()
    );
    // Only the first may.
    let calls = std::cell::Cell::new(0);
    let one = Program::command(&command, |_| {
        calls.set(calls.get() + 1);
        if calls.get() == 1 { vec![Unix] } else { vec![] }
    });
    assert_eq!(one.sockets(), [Unix]);
    let output = run_in(&runner(), ToolKind::Read, one, limits()).await.unwrap();
    assert_ne!(code(&output), 0);
    assert!(
        output.stderr.text().contains("not permitted"),
        "{}",
        output.stderr.text()
    );
}

#[tokio::test]
async fn a_pipeline_means_what_it_means_to_a_shell() {
    let cases = [
        ("seq 5 | sort -rn | head -n 2", "5\n4\n", 0),
        ("seq 3 | grep 9", "", 1),
        ("grep x /no/such/file | wc -c", "0\n", 0),
        ("ls /no/such/file 2>&1 | wc -l", "1\n", 0),
        ("yes | head -n 1", "y\n", 0),
    ];
    for (command, stdout, exit) in cases {
        let program = Program::command(command, |_| Vec::new());
        assert!(program.stages().len() > 1, "{command}");
        let output = run_in(&runner(), ToolKind::Read, program, limits())
            .await
            .unwrap();
        assert_eq!(
            (output.stdout.text().as_str(), output.exit),
            (stdout, Exit::Code(exit)),
            "{command}: {}",
            output.stderr.text()
        );
        let by_shell = run(ToolKind::Read, command).await;
        assert_eq!(
            (by_shell.stdout.text(), by_shell.exit),
            (output.stdout.text(), output.exit)
        );
    }
}

#[tokio::test]
async fn a_read_has_a_temporary_folder_of_its_own_that_is_removed() {
    let script =
        "printf x > \"$TMPDIR/a\" && mkdir \"$TMPDIR/b\" && cat \"$TMPDIR/a\" && echo && echo \"$TMPDIR\"";
    let output = run(ToolKind::Read, script).await;
    assert_eq!(code(&output), 0, "{}", output.stderr.text());
    let text = output.stdout.text();
    let (content, folder) = text.trim_end().split_once('\n').unwrap();
    assert_eq!(content, "x");
    assert!(!std::path::Path::new(folder).exists(), "{folder}");
}

#[tokio::test]
async fn what_a_read_leaves_behind_in_a_session_of_its_own_is_killed() {
    if !is_installed("setsid") {
        return;
    }
    let token = format!("98765.{}", std::process::id());
    let output = run(
        ToolKind::Read,
        &format!(
            "setsid sleep {token} >/dev/null 2>&1 & setsid sh -c 'sleep {token}' >/dev/null 2>&1 & echo done"
        ),
    )
    .await;
    assert_eq!(output.stdout.text(), "done\n");
    assert_eq!(running(&token), 0);
}

#[tokio::test]
async fn a_pair_of_datagram_sockets_reaches_nobody_and_other_processes_keep_their_priority() {
    if !enforced().await || !is_installed("python3") {
        return;
    }
    let script = r#"
import ctypes, os, socket
def attempt(name, work):
    try:
        work(); print(name, "open")
    except OSError as error:
        print(name, "refused")
attempt("datagrams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("raw", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW))
attempt("flags", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK))
attempt("streams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM))
attempt("user", lambda: os.setpriority(os.PRIO_USER, 0, 7))
attempt("group", lambda: os.setpriority(os.PRIO_PGRP, 0, 7))
attempt("own", lambda: os.setpriority(os.PRIO_PROCESS, 0, 19))
"#;
    let program = Program::new(["python3", "-c", script]).unwrap();
    let output = runner()
        .run(
            &started(ToolKind::Read),
            program,
            limits(),
            &CancellationToken::new(),
        )
        .await
        .unwrap();
    let expected = "datagrams refused\nraw refused\nflags refused\nstreams open\nuser refused\ngroup refused\nown open\n";
    assert_eq!(output.stdout.text(), expected, "{}", output.stderr.text());
}

#[tokio::test]
async fn a_read_that_starts_processes_without_end_is_ended_also_for_the_superuser() {
    let token = format!("98764.{}", std::process::id());
    let script = format!("i=0; while [ $i -lt 3000 ]; do sleep {token} & i=$((i+1)); done; wait");
    let output = run(ToolKind::Read, &script).await;
    assert_ne!(output.exit, Exit::Code(0), "{}", output.stderr.text());
    let said = output.stderr.text();
    // The kernel keeps other users from it; what keeps the superuser from it says so.
    assert!(
        said.contains("more than 512 processes") || said.contains("fork"),
        "{said}"
    );
    assert_eq!(running(&token), 0);
}

#[tokio::test]
async fn what_a_read_started_and_left_is_gone_while_the_read_still_runs() {
    // The fourth word says how many processes and threads there are.
    let script = "count() { read -r _ _ _ all _ < /proc/loadavg; echo ${all#*/}; }; count; \
                  i=0; while [ $i -lt 2000 ]; do (: &); i=$((i+1)); done; sleep 0.3; count";
    let output = run(ToolKind::Read, script).await;
    let text = output.stdout.text();
    let counts: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let [before, after] = counts[..] else {
        panic!("{text} {}", output.stderr.text())
    };
    assert!(after < before + 1_000, "{before} processes became {after}");
}

/// How many processes have this among their arguments.
fn running(token: &str) -> usize {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            // Not a shell, whose script has it too, and not a process that has ended.
            arguments.starts_with(b"sleep") && String::from_utf8_lossy(&arguments).contains(token)
        })
        .count()
}

const ROLE: &str = "INTERLOCK_TEST_KILLED";

/// Runs as another process, which is killed.
#[tokio::test]
async fn the_one_that_is_killed() {
    let Ok(token) = std::env::var(ROLE) else { return };
    let kind = if token.ends_with('1') {
        ToolKind::Read
    } else {
        ToolKind::Write
    };
    let script = format!("sleep {token} & (sleep {token}; :) & sleep {token}; :");
    let output = run(kind, &script).await;
    panic!("it ended: {output:?}");
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "stands for Interlock itself, which is killed"
)]
#[tokio::test]
async fn killed_interlock_leaves_no_process_behind() {
    for number in [1, 2] {
        let token = format!("9876.{}{number}", std::process::id());
        let mut interlock = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tests::wall::the_one_that_is_killed", "--nocapture"])
            .env(ROLE, &token)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let until = |count: usize| {
            let begun = Instant::now();
            while running(&token) != count {
                assert!(begun.elapsed() < LONG, "{} of {count} run", running(&token));
                std::thread::yield_now();
            }
        };
        until(3);
        interlock.kill().unwrap();
        interlock.wait().unwrap();
        until(0);
    }
}
