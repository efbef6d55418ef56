//! Attacks on the sandbox of a read. Each must be refused by the kernel, and what stands outside must be as before.

#![cfg(target_arch = "x86_64")]

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::Stdio;

use interlock_protocol::ToolKind;

use super::stage::{code, is_installed, limits, run_in, runner};
use crate::{Output, Program, Sandbox};

/// `EPERM` of seccomp, `EACCES` of Landlock, `EXDEV` of Landlock for names in other folders, `ENOSYS` of seccomp for what it
/// does not know.
const REFUSALS: [i32; 4] = [1, 13, 18, 38];

/// The least number of attempts: a script that ends early proves nothing.
const ATTEMPTS: usize = 80;

async fn attack(kind: ToolKind, folder: &Path, arguments: [String; 3]) -> Output {
    let script = folder.join("attack.py");
    let mut argv = vec![
        "python3".to_owned(),
        script.display().to_string(),
        folder.display().to_string(),
    ];
    argv.extend(arguments);
    run_in(&runner(), kind, Program::new(argv).unwrap(), limits())
        .await
        .unwrap()
}

/// What makes out each file of a folder.
fn files(folder: &Path) -> Vec<(String, u32, u64, i64, Vec<u8>)> {
    let mut seen: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| {
            let about = entry.metadata().unwrap();
            let content = if about.is_file() {
                fs::read(entry.path()).unwrap()
            } else {
                Vec::new()
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, about.mode(), about.nlink(), about.mtime(), content)
        })
        .collect();
    seen.sort();
    seen
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a process outside, for the attack to aim at"
)]
#[tokio::test]
async fn every_attack_on_the_sandbox_of_a_read_is_refused() {
    if !is_installed("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in [
        ("attack.py", include_str!("attack/attack.py")),
        ("victim", "victim"),
        ("spare", "spare"),
    ] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let unix = UnixListener::bind(folder.path().join("socket")).unwrap();
    let name = format!("interlock-attack-{}", std::process::id());
    let abstract_one = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let tcp = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let mut bystander = std::process::Command::new("sleep")
        .arg("60")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let before = files(folder.path());
    let arguments = [port.to_string(), bystander.id().to_string(), name];

    let output = attack(ToolKind::Read, folder.path(), arguments).await;

    let (text, errors) = (output.stdout.text(), output.stderr.text());
    let Sandbox::Enforced { missing, .. } = &output.sandbox else {
        eprintln!("skipped: no sandbox on this machine: {:?}", output.sandbox);
        bystander.kill().unwrap();
        bystander.wait().unwrap();
        return;
    };
    let signals_pass = missing.iter().any(|what| what.contains("signals"));
    assert_eq!(code(&output), 0, "{text}{errors}");
    let mut attempts = 0;
    for line in text.lines() {
        if let Some((attempt, errno)) = line.rsplit_once(" refused ") {
            attempts += 1;
            let errno: i32 = errno.parse().unwrap();
            assert!(
                REFUSALS.contains(&errno),
                "{attempt}: failed for another reason, {errno}"
            );
        } else {
            let known = line == "shared lock open" || (signals_pass && line.starts_with("signal"));
            assert!(known, "{line}");
        }
    }
    assert!(attempts >= ATTEMPTS, "{attempts} attempts: {text}{errors}");
    assert!(text.ends_with("shared lock open\n"), "{text}{errors}");
    assert_eq!(files(folder.path()), before);
    if !signals_pass {
        assert_eq!(
            bystander.try_wait().unwrap(),
            None,
            "the process outside was ended"
        );
    }
    for listener in [&unix, &abstract_one] {
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "a connection came in");
    }
    tcp.set_nonblocking(true).unwrap();
    assert!(tcp.accept().is_err(), "a connection came in");
    udp.set_nonblocking(true).unwrap();
    assert!(udp.recv(&mut [0]).is_err(), "a datagram came in");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}
