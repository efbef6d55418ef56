//! Which sandbox holds where, what it refuses, and what commands still see.

use std::time::{Duration, Instant};

use interlock_infra::Exit;
use interlock_protocol::{ResourceId, SandboxWall, SocketKind, WallKind};
use tokio_util::sync::CancellationToken;

use super::stage::{LIAR, MACHINE, NO_BWRAP, NODE, NOTHING, Stage, WHOLE, reading};

const WALL: Duration = Duration::from_secs(20);

fn by(wall: &SandboxWall) -> Option<WallKind> {
    match wall {
        SandboxWall::Enforced { by, .. } => Some(*by),
        SandboxWall::None { .. } => None,
    }
}

#[tokio::test]
async fn each_target_gets_the_best_sandbox_that_holds_there() {
    let Some(stage) = Stage::set().await else { return };
    for (resource, expected) in [
        (WHOLE, Some(WallKind::Bubblewrap)),
        (NODE, Some(WallKind::Bubblewrap)),
        (MACHINE, Some(WallKind::Bubblewrap)),
        (NO_BWRAP, Some(WallKind::Unshare)),
        (NOTHING, None),
        // It runs the canary without a sandbox: the canary can write, so it does not count.
        (LIAR, None),
    ] {
        let id: ResourceId = resource.parse().unwrap();
        let wall = stage.infra.read_sandbox(&id).await.unwrap();
        assert_eq!(by(&wall), expected, "{resource}: {wall:?}");
        // The canary leaves nothing behind, even where it could write.
        let left = stage
            .outside(resource, "ls -a / /tmp /etc /run | grep canary")
            .await;
        assert_eq!(left, "", "{resource}");
    }
}

#[tokio::test]
async fn nothing_can_be_written_or_reached_and_everything_can_be_seen() {
    let Some(stage) = Stage::set().await else { return };
    for (resource, kind) in [(WHOLE, WallKind::Bubblewrap), (NO_BWRAP, WallKind::Unshare)] {
        // A service of the guest that listens on a Unix socket and a port, and a process to be signalled.
        let listen = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => \"/run/app.sock\", Listen => 5) or die; \
                      while ($c = $s->accept) { print $c \"hello\\n\"; close $c }' >/dev/null 2>&1 & \
                      sleep 600 >/dev/null 2>&1 & echo $! > /srv/pid; \
                      while [ ! -S /run/app.sock ]; do sleep 0.05; done";
        stage.outside(resource, listen).await;
        let before = stage.outside(resource, SNAPSHOT).await;
        let refused = [
            "echo x > /etc/motd",
            "echo x >> /var/log/app.log",
            "rm -rf /srv/data",
            "touch /tmp/x",
            "touch /run/x",
            "mkdir /var/tmp/x",
            "chmod 777 /root/.ssh/authorized_keys",
            "chown 1 /etc/motd",
            "mv /etc/motd /etc/motd2",
            "ln -s /etc/motd /root/link",
            "mount -o remount,rw /",
            "mount -t tmpfs none /srv",
            "umount -l /",
            "unshare -Urm mount -o remount,bind,rw /",
            "echo x > /proc/sys/kernel/hostname",
            "echo x > /proc/1/comm",
            "echo x > /proc/$(cat /srv/pid)/root/etc/motd",
            "kill -9 $(cat /srv/pid)",
            "hostname other && test $(cat /proc/1/root/proc/sys/kernel/hostname) = other",
            "systemctl stop none.service",
            "bash -c 'exec 3<>/dev/tcp/127.0.0.1/22'",
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => \"/run/app.sock\") or exit 1'",
            "dd if=/dev/zero of=/dev/full bs=1 count=1",
            "mknod /dev/shm/disk b 8 0",
        ];
        for command in refused {
            let output = stage.read(resource, command, &[], WALL).await.unwrap();
            assert_ne!(output.exit, Exit::Code(0), "{kind:?} {command}: {output:?}");
            assert_eq!(output.sandbox.as_ref().and_then(by), Some(kind));
        }
        let seen = [
            ("cat /etc/motd", "welcome"),
            ("ls -l /srv/data/one", "root"),
            ("tail -n 1 /var/log/app.log", "line 2"),
            ("cat /proc/loadavg", "."),
            ("df -P /", "/"),
            ("exec ps aux", "sleep 600"),
            ("find /srv -type f", "/srv/data/one"),
            ("sort /var/log/app.log | uniq -c", "line 1"),
            ("timeout 1 sleep 30; echo $?", "124"),
            ("cat /root/.ssh/authorized_keys | wc -l", "1"),
            (
                "echo x > /dev/null; mktemp >/dev/null && echo temporary",
                "temporary",
            ),
        ];
        for (command, expected) in seen {
            let output = stage.read(resource, command, &[], WALL).await.unwrap();
            let text = output.stdout.text();
            assert!(text.contains(expected), "{kind:?} {command}: {output:?}");
        }
        assert_eq!(stage.outside(resource, SNAPSHOT).await, before, "{kind:?}");
        let alive = stage
            .outside(resource, "kill -0 $(cat /srv/pid) && echo alive")
            .await;
        assert_eq!(alive, "alive\n");
        // A declared need opens that kind and no other.
        let connect =
            "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => \"/run/app.sock\")->getline'";
        let open = stage
            .read(resource, connect, &[SocketKind::Unix], WALL)
            .await
            .unwrap();
        assert_eq!(open.stdout.text(), "hello\n", "{open:?}");
        // In a pipeline it opens it for the program that needs it, and not for its neighbours.
        let quiet =
            "IO::Socket::UNIX->new(Peer => \"/run/app.sock\") ? print \"open\\n\" : print \"closed\\n\"";
        let neighbour = format!("cat; perl -MIO::Socket::UNIX -e '{quiet}'; touch /tmp/x || echo read-only");
        let both = stage
            .pipeline(resource, &[(connect, &[SocketKind::Unix]), (&neighbour, &[])])
            .await
            .unwrap();
        let text = both.stdout.text();
        assert!(text.starts_with("hello\nclosed\n"), "{both:?}");
        assert!(text.ends_with("read-only\n"), "{both:?}");
        let Some(SandboxWall::Enforced { sockets, .. }) = &both.sandbox else {
            panic!("{both:?}")
        };
        assert_eq!(sockets, &[SocketKind::Unix]);
        let tcp = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' 2>&1";
        let closed = stage
            .read(resource, tcp, &[SocketKind::Unix], WALL)
            .await
            .unwrap();
        assert!(!closed.stdout.text().contains("refused"), "{closed:?}");
        let write = stage
            .read(resource, "touch /tmp/x", SocketKind::ALL, WALL)
            .await
            .unwrap();
        assert_ne!(write.exit, Exit::Code(0), "{write:?}");
    }
}

/// Every file of a guest: its path, rights, owner, kind, change, and what is in it. `/proc` and the programs of the system
/// are not its own; `/dev` is made when it starts.
pub(super) const SNAPSHOT: &str = "find / \\( -path /proc -o -path /sys -o -path /dev -o -path /usr -o -path /var/log/journal \
                        -o -path /run/log \\) -prune -o -printf '%p %m %U:%G %y %T@ %l\\n' | sort; \
                        find /usr/local -printf '%p %m %y %T@ %l\\n' | sort; \
                        find / \\( -path /proc -o -path /sys -o -path /dev -o -path /usr -o -path /var/log/journal \
                        -o -path /run/log \\) -prune -o -type f -exec sha256sum {} + | sort";

#[tokio::test]
async fn what_offers_nothing_says_so_and_a_plan_that_needs_a_sandbox_does_not_run_there() {
    let Some(stage) = Stage::set().await else { return };
    let output = stage.read(NOTHING, "cat /etc/motd", &[], WALL).await.unwrap();
    assert_eq!(output.stdout.text(), "welcome\n");
    let Some(SandboxWall::None { reason }) = &output.sandbox else {
        panic!("{output:?}")
    };
    assert!(
        reason.contains("bwrap:") && reason.contains("unshare:"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_machine_that_was_started_again_is_asked_again_before_anything_runs() {
    let Some(stage) = Stage::set().await else { return };
    let id: ResourceId = WHOLE.parse().unwrap();
    let wall = stage.infra.read_sandbox(&id).await.unwrap();
    assert_eq!(by(&wall), Some(WallKind::Bubblewrap));
    // Its bwrap breaks and it starts again: what was found out before does not count any more.
    let broken = "printf '#!/bin/sh\\nexit 1\\n' > /usr/local/bin/bwrap; chmod 755 /usr/local/bin/bwrap";
    stage.outside(WHOLE, broken).await;
    let restart = "pct reboot 141 || { pct stop 141; pct start 141; }";
    stage.outside(NODE, restart).await;
    let until = Instant::now() + WALL;
    while stage.outside(NODE, "pct exec 141 -- true && echo up").await != "up\n" {
        assert!(Instant::now() < until, "it did not start again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let output = stage.read(WHOLE, "cat /etc/motd", &[], WALL).await.unwrap();
    assert_eq!(output.stdout.text(), "welcome\n", "{output:?}");
    assert_eq!(
        output.sandbox.as_ref().and_then(by),
        Some(WallKind::Unshare),
        "{output:?}"
    );
}

#[tokio::test]
async fn a_command_whose_time_is_over_or_that_is_cancelled_ends_on_the_other_side() {
    let Some(stage) = Stage::set().await else { return };
    for resource in [NODE, WHOLE, NO_BWRAP, NOTHING, MACHINE] {
        let command = "sleep 4711 | sleep 4711";
        let output = stage
            .read(resource, command, &[], Duration::from_secs(1))
            .await
            .unwrap();
        assert_eq!(output.exit, Exit::TimedOut, "{resource}");
        gone(&stage, resource).await;
        if resource == MACHINE {
            // A guest agent has no way to end what it started before its time is over.
            continue;
        }
        let started = reading(resource);
        let cancel = CancellationToken::new();
        let argv = ["sh", "-c", command].map(str::to_owned);
        let job = interlock_infra::Job {
            argv: &argv,
            stdin: None,
            sockets: &[],
            stages: &[],
            form: interlock_infra::Form::Free,
            limits: interlock_infra::Limits {
                wall: Duration::from_mins(10),
                ..interlock_infra::Limits::default()
            },
        };
        let id: ResourceId = resource.parse().unwrap();
        let running = stage.infra.run(&started, &id, job, &cancel);
        let stop = async {
            let until = Instant::now() + WALL;
            while stage.outside(resource, ALIVE).await.is_empty() && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            cancel.cancel();
        };
        let (output, ()) = tokio::join!(running, stop);
        assert_eq!(output.unwrap().exit, Exit::Cancelled, "{resource}");
        gone(&stage, resource).await;
    }
}

const ALIVE: &str = "grep -l 4711 /proc/[0-9]*/cmdline 2>/dev/null | grep -v -e self -e \"/$$/\" | head -n 1";

async fn gone(stage: &Stage, resource: &str) {
    let until = Instant::now() + WALL;
    loop {
        let alive = stage
            .outside(resource, "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done 2>/dev/null | grep '^sleep 4711'")
            .await;
        if alive.is_empty() {
            return;
        }
        assert!(Instant::now() < until, "{resource}: {alive}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
