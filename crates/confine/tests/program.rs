//! The program by itself. That this package has a test of this kind is also why `cargo test --workspace` builds the
//! program, which tests of other rooms look for beside themselves.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use interlock_confine::{Failed, Report};
use serde_json::json;

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    reason = "a test starts the program as the room `exec` does"
)]
fn start(control: UnixStream, arguments: &[&str]) -> Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_interlock-confine"))
        .args(arguments)
        .stdin(Stdio::from(OwnedFd::from(control)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

#[test]
fn orders_that_are_not_understood_run_nothing() {
    let cases = [
        json!({}),
        json!("run"),
        json!({"version": 1}),
        json!({"version": 2, "profile": "read_only", "shell": "id"}),
        json!({
            "version": 1, "profile": "read_only", "policy": "required", "folder": "/", "env": {}, "stages": [],
            "protected": [], "temporary": "/tmp", "resources": {
                "cpu_seconds": 1, "memory_bytes": 1, "processes": 1, "open_files": 1, "file_bytes": 1,
            }, "ending": "one_by_one",
        }),
    ];
    for orders in cases {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut child = start(theirs, &[]);
        writeln!(ours, "{orders}").unwrap();
        let mut line = String::new();
        BufReader::new(&ours).read_line(&mut line).unwrap();
        let report: Report = serde_json::from_str(&line).unwrap();
        assert!(
            matches!(report, Report::Failed(Failed::Orders { .. })),
            "{report:?}"
        );
        child.wait().unwrap();
    }
}

#[test]
fn nothing_but_its_roles_is_an_argument() {
    for arguments in [
        &["run"][..],
        &["--", "id"],
        &["stage"],
        &["stage", "{}", "--", "id"],
        &["canary"],
        &["supervise"],
        &["supervise", "0"],
        &["supervise", "x", "y"],
    ] {
        let (_ours, theirs) = UnixStream::pair().unwrap();
        let status = start(theirs, arguments).wait().unwrap();
        assert_eq!(status.code(), Some(2), "{arguments:?}");
    }
}
