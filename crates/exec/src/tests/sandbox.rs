//! What the kernel refuses, whatever the command.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use interlock_protocol::ToolKind;

use super::stage::{code, limits, run, run_in};
use crate::{Error, Output, Profile, Program, Protected, Runner, Sandbox, SandboxPolicy};

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

async fn run_protected(protected: &Path, kind: ToolKind, script: &str) -> Output {
    let runner = Runner::new(Protected::new([protected]), SandboxPolicy::WhereAvailable);
    run_in(&runner, kind, Program::shell(script), limits())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_profile_follows_from_the_plan() {
    if !enforced().await {
        return;
    }
    for (kind, profile) in [
        (ToolKind::Resolve, Profile::ReadOnly),
        (ToolKind::Read, Profile::ReadOnly),
        (ToolKind::Write, Profile::ReadWrite),
    ] {
        match run(kind, ":").await.sandbox {
            Sandbox::Enforced { profile: held, .. } => assert_eq!(held, profile),
            Sandbox::None { reason } => panic!("{reason}"),
        }
    }
}

#[tokio::test]
async fn a_read_changes_no_file() {
    if !enforced().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    fs::write(&there, "as it was").unwrap();
    let before = there.metadata().unwrap();
    let attempts = [
        "echo x > new",
        "echo x > there",
        "echo x >> there",
        ": > there",
        "truncate -s 0 there",
        "rm there",
        "mv there gone",
        "ln there linked",
        "ln -s there linked",
        "mkdir new",
        "mkfifo new",
        "cp there new",
        "sed -i s/as/is/ there",
        "chmod 000 there",
        "touch there",
        "touch -d 2001-01-01 there",
        "chown 12345 there",
        "chgrp 12345 there",
        "chattr +i there",
        "setfattr -n user.x -v y there",
    ];
    for attempt in attempts {
        let script = format!("cd {} && {attempt}", folder.path().display());
        let output = run(ToolKind::Read, &script).await;
        assert_ne!(code(&output), 0, "{attempt}");
    }
    assert_eq!(fs::read_to_string(&there).unwrap(), "as it was");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let after = there.metadata().unwrap();
    assert_eq!(
        (after.permissions(), after.modified().unwrap(), after.uid()),
        (before.permissions(), before.modified().unwrap(), before.uid())
    );
}

#[tokio::test]
async fn a_read_reads_and_throws_away() {
    let output = run(ToolKind::Read, "ls / > /dev/null && cat /etc/passwd").await;
    assert_eq!(code(&output), 0, "{}", output.stderr.text());
    assert_eq!(output.stdout.bytes, fs::read("/etc/passwd").unwrap());
}

#[tokio::test]
async fn a_write_writes() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {} && echo x > a && mkdir b && mv a b/c && ln b/c d",
        folder.path().display()
    );
    let output = run(ToolKind::Write, &script).await;
    assert_eq!(code(&output), 0, "{}", output.stderr.text());
    assert_eq!(fs::read_to_string(folder.path().join("d")).unwrap(), "x\n");
}

#[tokio::test]
async fn what_is_protected_stays_closed_by_every_way() {
    if !enforced().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let data = root.join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("secret"), "hush").unwrap();
    fs::write(root.join("beside"), "open").unwrap();
    symlink(&data, root.join("link")).unwrap();
    symlink(data.join("secret"), root.join("file-link")).unwrap();
    let at = root.display();
    let attempts = [
        format!("cat {at}/data/secret"),
        format!("cat {at}/link/secret"),
        format!("cat {at}/file-link"),
        format!("cat /proc/self/root{at}/data/secret"),
        format!("cd {at}/data && cat secret"),
        format!("cat {at}/beside/../data/secret {at}/./data/secret"),
    ];
    for kind in [ToolKind::Read, ToolKind::Write] {
        for attempt in &attempts {
            let output = run_protected(&data, kind, attempt).await;
            assert_ne!(code(&output), 0, "{attempt}");
            assert!(!output.stdout.text().contains("hush"), "{attempt}");
        }
        let output = run_protected(&data, kind, &format!("tar cf - {at}/data")).await;
        assert!(!output.stdout.text().contains("hush"));
        let output = run_protected(&data, kind, &format!("cat {at}/beside && ls {at}")).await;
        assert_eq!(code(&output), 0, "{}", output.stderr.text());
        assert!(output.stdout.text().starts_with("open"));
    }
    let writes = [
        format!("echo x > {at}/data/secret"),
        format!("echo x > {at}/data/new"),
        format!("rm {at}/data/secret"),
        format!("rm -r {at}/data"),
        format!("mv {at}/data {at}/elsewhere"),
        format!("mv {at}/beside {at}/data/secret"),
        format!("ln {at}/data/secret {at}/stolen"),
        format!("mount --bind {at}/data /mnt"),
    ];
    for attempt in &writes {
        let output = run_protected(&data, ToolKind::Write, attempt).await;
        assert_ne!(code(&output), 0, "{attempt}");
    }
    assert_eq!(fs::read_to_string(data.join("secret")).unwrap(), "hush");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 1);
}

#[tokio::test]
async fn next_to_a_protected_folder_a_write_of_the_superuser_writes_and_what_is_hidden_is_so_for_the_child_alone()
 {
    if !enforced().await {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: not the superuser");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("secret"), "hush").unwrap();
    let at = folder.path().display();
    let script =
        format!("echo x > {at}/new && mv {at}/new {at}/newer && ls -A {at}/data && umount {at}/data");
    let output = run_protected(&data, ToolKind::Write, &script).await;
    if !folder.path().join("newer").exists() {
        eprintln!(
            "skipped: no view of one's own on this machine: {}",
            output.stderr.text()
        );
        return;
    }
    assert_eq!(output.stdout.text(), "");
    assert_ne!(code(&output), 0);
    assert_eq!(fs::read_to_string(data.join("secret")).unwrap(), "hush");
}

#[tokio::test]
async fn a_protected_folder_cannot_be_carried_away_with_a_folder_above_it() {
    if !enforced().await {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let above = root.path().join("above");
    let protected = above.join("below/interlock");
    std::fs::create_dir_all(&protected).unwrap();
    std::fs::write(protected.join("secret"), "hidden").unwrap();
    let moved = root.path().join("moved");
    let script = format!("mv {} {}", above.display(), moved.display());
    run_protected(&protected, ToolKind::Write, &script).await;
    assert!(
        protected.join("secret").exists() && !moved.exists(),
        "it was carried away"
    );
}

#[tokio::test]
async fn a_read_does_not_get_at_what_is_protected_through_the_disk() {
    use std::os::unix::fs::FileTypeExt as _;
    let disk = fs::read_dir("/dev")
        .unwrap()
        .flatten()
        .find(|entry| entry.file_type().unwrap().is_block_device() && fs::File::open(entry.path()).is_ok());
    let Some(disk) = disk.filter(|_| rustix::process::geteuid().is_root()) else {
        eprintln!("skipped: no disk that we could read");
        return;
    };
    if !enforced().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = format!("cat /dev/null && head -c 1 {}", disk.path().display());
    let output = run_protected(folder.path(), ToolKind::Read, &script).await;
    assert_ne!(code(&output), 0);
    assert!(
        output.stderr.text().contains("denied"),
        "{}",
        output.stderr.text()
    );
}

#[tokio::test]
async fn a_protected_file_takes_its_neighbours_of_the_same_name_with_it() {
    if !enforced().await {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("interlock.db");
    for name in ["interlock.db", "interlock.db-wal", "other.db"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    for (name, readable) in [
        ("interlock.db", false),
        ("interlock.db-wal", false),
        ("other.db", true),
    ] {
        let script = format!("cat {}/{name}", folder.path().display());
        let output = run_protected(&base, ToolKind::Read, &script).await;
        assert_eq!(code(&output) == 0, readable, "{name}");
    }
}

#[tokio::test]
async fn a_child_does_not_look_into_us() {
    if !enforced().await {
        return;
    }
    let us = std::process::id();
    for kind in [ToolKind::Read, ToolKind::Write] {
        for entry in ["environ", "mem", "maps", "root/etc/passwd", "fd/0"] {
            let output = run(kind, &format!("head -c 10 /proc/{us}/{entry}")).await;
            assert_ne!(code(&output), 0, "{kind:?} {entry}");
        }
    }
}

#[tokio::test]
async fn a_read_sends_no_signal_to_others() {
    let us = std::process::id();
    let output = run(ToolKind::Read, &format!("kill -0 {us}")).await;
    match &output.sandbox {
        Sandbox::Enforced { missing, .. } if missing.is_empty() => assert_ne!(code(&output), 0),
        Sandbox::Enforced { .. } | Sandbox::None { .. } => eprintln!("skipped: not enforced on this machine"),
    }
}

#[tokio::test]
async fn where_nothing_would_be_left_open_a_required_sandbox_fails_and_never_runs_open() {
    let runner = Runner::new(Protected::new(["/"]), SandboxPolicy::Required);
    let output = run_in(&runner, ToolKind::Read, Program::new(["ls"]).unwrap(), limits()).await;
    assert!(
        matches!(output, Err(Error::Denied { .. } | Error::NoSandbox { .. })),
        "{output:?}"
    );
}

#[test]
fn covered_is_what_lies_within_and_beside_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("data")).unwrap();
    fs::write(root.join("a.db"), "").unwrap();
    symlink(root.join("data"), root.join("link")).unwrap();
    let protected = Protected::new([root.join("link"), root.join("a.db"), root.join("not/yet")]);
    for (path, covered) in [
        ("data", true),
        ("data/x/y", true),
        ("data2", false),
        ("a.db", true),
        ("a.db-wal", true),
        ("b.db", false),
        ("not/yet", true),
        ("not/other", false),
        ("", false),
    ] {
        assert_eq!(protected.covers(&root.join(path)), covered, "{path}");
    }
}
