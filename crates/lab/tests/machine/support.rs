//! What the tests of machines share.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use interlock_lab::machine::{Exec, File, Finished, Isolation, Machine, Machines, Spec, Wish};

pub(super) struct Lab {
    pub(super) machines: Machines,
    pub(super) folder: tempfile::TempDir,
}

pub(super) fn program() -> PathBuf {
    env!("CARGO_BIN_EXE_interlock-lab").into()
}

/// Machines in namespaces; nothing where this system forbids them, which is said aloud.
pub(super) async fn lab() -> Option<Lab> {
    let folder = tempfile::tempdir().unwrap();
    let machines = Machines::new(program(), folder.path().join("machines"), Wish::Best)
        .await
        .unwrap();
    match machines.isolation().clone() {
        Isolation::Namespaces => Some(Lab { machines, folder }),
        Isolation::Folders { why } => {
            eprintln!(
                "NOT TESTED IN NAMESPACES: this system forbids them ({why}); checking the fallback instead"
            );
            super::folders::check_basics(&machines).await;
            None
        }
    }
}

pub(super) fn spec(name: &str) -> Spec {
    Spec {
        name: name.to_owned(),
        address: Some([10, 20, 0, 15].into()),
        disk_bytes: 16 << 20,
        ..Spec::default()
    }
}

pub(super) fn file(path: &str, content: &str) -> File {
    File {
        path: path.into(),
        content: content.as_bytes().to_vec(),
        mode: 0o644,
    }
}

/// A unit and its configuration, enabled.
pub(super) fn service(name: &str, unit: &str, config: &str) -> Vec<File> {
    let unit = format!(
        "[Unit]\nDescription={name} server\n[Service]\nExecStart=/usr/local/bin/lab-service /etc/{name}.toml\n{unit}\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    vec![
        file(&format!("/etc/systemd/system/{name}.service"), &unit),
        file(
            &format!("/etc/systemd/system/multi-user.target.wants/{name}.service"),
            &unit,
        ),
        file(
            &format!("/etc/{name}.toml"),
            &format!("name = \"{name}\"\n{config}\n"),
        ),
    ]
}

pub(super) async fn run(machine: &Machine, argv: &[&str]) -> Finished {
    machine
        .exec(Exec {
            argv: argv.iter().map(ToString::to_string).collect(),
            ..Exec::default()
        })
        .await
        .unwrap()
}

pub(super) async fn sh(machine: &Machine, line: &str) -> Finished {
    run(machine, &["sh", "-c", line]).await
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) async fn out(machine: &Machine, line: &str) -> String {
    let done = sh(machine, line).await;
    assert_eq!(
        done.code,
        0,
        "{line}: {} {}",
        text(&done.stdout),
        text(&done.stderr)
    );
    text(&done.stdout)
}

/// What a page says; nothing while nobody listens.
pub(super) async fn get(machine: &Machine, port: u16, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    match machine.talk(port, request.as_bytes(), 1 << 20).await {
        Ok(bytes) => text(&bytes),
        Err(_) => String::new(),
    }
}

/// Waits for a condition.
pub(super) async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds().await {
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
