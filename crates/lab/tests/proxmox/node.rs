//! Nodes over SSH, and `pct` and `qm` on them.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use interlock_lab::cluster::Place;
use interlock_lab::machine::{Exec, Finished};
use interlock_lab::ssh::{self, Access};
use tokio::io::AsyncWriteExt as _;

use crate::world::{World, program, skipped};

async fn on_node(world: &World, node: &str, command: &str, stdin: &str) -> (i32, String, String) {
    let machine = world
        .cluster
        .machine(&Place::Node(node.to_owned()))
        .expect("a node");
    let exec = Exec {
        argv: ["sh", "-c", command].map(str::to_owned).to_vec(),
        stdin: stdin.as_bytes().to_vec(),
        timeout: Some(Duration::from_secs(30)),
        ..Exec::default()
    };
    let Finished { code, stdout, stderr } = machine.exec(exec).await.expect("it ran");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (code, text(stdout), text(stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_programs_of_a_node_reach_its_guests() {
    let world = World::start().await;
    if !world.runs_everything() {
        return;
    }
    let cases: [(&str, &str, i32, &str, &str); 13] = [
        ("pct status 141", "", 0, "status: running\n", ""),
        ("pct exec 141 -- cat /etc/motd", "", 0, "this is homepage\n", ""),
        (
            "pct exec 141 -- sh -c 'cat; echo no >&2; exit 7'",
            "some input",
            7,
            "some input",
            "no\n",
        ),
        ("pct exec 142 -- id", "", 255, "", "CT is not running\n"),
        (
            "pct status 999",
            "",
            2,
            "",
            "Configuration file 'nodes/delly/lxc/999.conf' does not exist\n",
        ),
        ("pct start 141", "", 255, "", "CT 141 already running\n"),
        ("pct start 142", "", 0, "", ""),
        ("pct exec 142 hostname", "", 0, "wiki\n", ""),
        ("pct stop 142 && pct status 142", "", 0, "status: stopped\n", ""),
        ("qm status 203", "", 0, "status: running\n", ""),
        (
            "qm guest exec 203 --timeout 20 -- cat /etc/motd",
            "",
            0,
            "{\n   \"exitcode\" : 0,\n   \"exited\" : 1,\n   \"out-data\" : \"this is database\\n\"\n}\n",
            "",
        ),
        ("qm guest cmd 203 ping", "", 0, "", ""),
        ("qm guest cmd 204 ping", "", 255, "", "VM 204 is not running\n"),
    ];
    for (command, stdin, code, stdout, stderr) in cases {
        let ran = on_node(&world, "delly", command, stdin).await;
        assert_eq!(ran, (code, stdout.to_owned(), stderr.to_owned()), "{command}");
    }
    let (code, list, _) = on_node(
        &world,
        "delly",
        "pct list; qm list; pct config 141; pct df 141",
        "",
    )
    .await;
    assert_eq!(code, 0);
    for word in [
        "141        running",
        "homepage",
        "database",
        "hostname: homepage",
        "rootfs",
    ] {
        assert!(list.contains(word), "{word}: {list}");
    }
    let elsewhere = on_node(&world, "minipc", "pct exec 141 -- id", "").await;
    assert_eq!(
        elsewhere,
        (
            2,
            String::new(),
            "Configuration file 'nodes/minipc/lxc/141.conf' does not exist\n".to_owned()
        )
    );
    // Who writes a lock into the file of a guest locks it.
    let lock = "echo 'lock: backup' >> /etc/pve/nodes/delly/lxc/141.conf && pct stop 141";
    let locked = on_node(&world, "minipc", lock, "").await;
    assert_eq!(locked.0, 2, "it is not on this node: {locked:?}");
    let locked = on_node(&world, "delly", "pct stop 141", "").await;
    assert_eq!(locked, (255, String::new(), "CT is locked (backup)\n".to_owned()));
    let (_, shown, _) = on_node(
        &world,
        "tower",
        "cat /etc/pve/nodes/delly/lxc/141.conf /etc/pve/.members",
        "",
    )
    .await;
    assert!(
        shown.contains("hostname: homepage") && shown.contains("\"minipc\""),
        "{shown}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn openssh_signs_in_and_runs_commands() {
    let world = World::start().await;
    if !world.runs_everything() {
        return;
    }
    let access = Access::generate().expect("keys");
    let server = ssh::serve(world.cluster.clone(), "delly", &access, 0)
        .await
        .expect("a server");
    let place = tempfile::tempdir().expect("a folder");
    let (key, hosts) = (place.path().join("key"), place.path().join("known_hosts"));
    std::fs::write(&key, &access.private_key).expect("a key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("private");
    std::fs::write(&hosts, format!("{}\n", server.known_hosts_line())).expect("known hosts");
    if program("ssh").arg("-V").output().await.is_err() {
        skipped("OpenSSH", "there is no `ssh` here");
        return;
    }
    let sign_in = |how: &str, user: &str, command: &str| {
        let mut ssh = program("ssh");
        ssh.args([
            "-F",
            "none",
            "-o",
            "NumberOfPasswordPrompts=1",
            "-o",
            "IdentitiesOnly=yes",
        ])
        .args(["-o", &format!("PreferredAuthentications={how}")])
        .args([
            "-o",
            "StrictHostKeyChecking=yes",
            "-o",
            "GlobalKnownHostsFile=none",
        ])
        .arg("-o")
        .arg(format!("UserKnownHostsFile={}", hosts.display()))
        .arg("-i")
        .arg(&key)
        .args(["-p", &server.address.port().to_string()])
        .arg(format!("{user}@127.0.0.1"))
        .arg(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
        ssh
    };
    let ssh = |user: &str, command: &str| sign_in("publickey", user, command);
    let cases = [
        ("cat /etc/motd", "", 0, "this is delly\n", ""),
        ("cat; echo no >&2; exit 7", "some input", 7, "some input", "no\n"),
        ("pct exec 141 -- hostname", "", 0, "homepage\n", ""),
    ];
    for (command, stdin, code, stdout, stderr) in cases {
        let mut child = ssh("root", command).spawn().expect("ssh");
        let mut input = child.stdin.take().expect("an input");
        input.write_all(stdin.as_bytes()).await.expect("sent");
        drop(input);
        let output = child.wait_with_output().await.expect("an end");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(
            (output.status.code(), text(&output.stdout), text(&output.stderr)),
            (Some(code), stdout.to_owned(), stderr.to_owned()),
            "{command}"
        );
    }
    let killed = ssh("root", "kill -9 $$")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("ssh");
    assert_eq!(
        killed.status.code(),
        Some(255),
        "as OpenSSH says that a signal ended it"
    );

    let asked = place.path().join("askpass");
    std::fs::write(&asked, format!("#!/bin/sh\necho {}\n", access.password)).expect("a script");
    std::fs::set_permissions(&asked, std::fs::Permissions::from_mode(0o700)).expect("executable");
    let by_password = sign_in("password", "root", "hostname")
        .env("SSH_ASKPASS", &asked)
        .env("SSH_ASKPASS_REQUIRE", "force")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("ssh");
    assert_eq!(
        String::from_utf8_lossy(&by_password.stdout),
        "delly\n",
        "{by_password:?}"
    );
    let refused = ssh("admin", "id")
        .stdin(Stdio::null())
        .output()
        .await
        .expect("ssh");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("Permission denied"),
        "{refused:?}"
    );

    // Who hangs up ends what runs.
    let mark = "sleep 4711";
    let mut child = ssh("root", mark).stdin(Stdio::null()).spawn().expect("ssh");
    let running = || async {
        on_node(&world, "delly", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '", "")
            .await
            .1
            .contains(mark)
    };
    let until = |wanted: bool| async move {
        let deadline = Instant::now() + Duration::from_secs(20);
        while running().await != wanted {
            assert!(Instant::now() < deadline, "running: {}", !wanted);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    until(true).await;
    child.kill().await.expect("killed");
    until(false).await;
}
