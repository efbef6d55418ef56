//! The second wall by itself: whatever the analysis would have refused runs as a read, and changes no file.
//!
//! The analysis stands before this room and not in it, so running a command for the permit of a read is the same as an
//! analysis that calls everything a read. That is done only in a root of its own, in namespaces without network and
//! without devices, as a superuser with every capability there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use interlock_protocol::{ContentHash, SocketKind, ToolKind};
use tokio_util::sync::CancellationToken;

use super::stage::{runner, started};
use crate::{Error, Helper, Limits, Program, Sandbox};

/// Set in the process inside the namespaces: how many commands to skip between two.
const ROLE: &str = "INTERLOCK_TEST_EVERYTHING_IS_A_READ";
/// Set to run every command, and not the same few of them.
const ALL: &str = "INTERLOCK_AUDIT_ALL";
/// One in this many commands is run by `make test`.
const SAMPLE: usize = 40;
const BWRAP: &str = "/usr/bin/bwrap";
/// Folders of the private root that hold nothing of it.
const NOT_OF_THE_ROOT: [&str; 5] = ["/usr", "/proc", "/dev", "/opt", "/interlock-tmp"];

fn shell_crate() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shell")
}

/// Every `refuse` example of the table, and every disguise.
fn refused() -> Vec<String> {
    fn collect(value: &toml::Value, commands: &mut Vec<String>) {
        match value {
            toml::Value::Table(table) => {
                for (key, value) in table {
                    match (key.as_str(), value) {
                        ("refuse", toml::Value::Array(examples)) => {
                            commands.extend(
                                examples
                                    .iter()
                                    .filter_map(|example| example.as_str().map(str::to_owned)),
                            );
                        }
                        (_, value) => collect(value, commands),
                    }
                }
            }
            toml::Value::Array(values) => values.iter().for_each(|value| collect(value, commands)),
            _ => {}
        }
    }
    let mut commands = Vec::new();
    let mut files: Vec<PathBuf> = fs::read_dir(shell_crate().join("programs"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    for file in files {
        let table: toml::Table = fs::read_to_string(&file).unwrap().parse().unwrap();
        collect(&toml::Value::Table(table), &mut commands);
    }
    let hostile = fs::read_to_string(shell_crate().join("tests/hostile.rs")).unwrap();
    commands.extend(hostile.lines().filter_map(|line| {
        let literal = line.trim().strip_prefix('"')?.strip_suffix("\",")?;
        // The escapes that the two languages share are all that is used there.
        serde_json::from_str::<String>(&format!("\"{}\"", literal.replace("\\'", "'"))).ok()
    }));
    commands
}

/// What makes out a file.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    links: u64,
    content: ContentHash,
}

fn snapshot(folder: &Path, seen: &mut BTreeMap<PathBuf, Seen>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if NOT_OF_THE_ROOT.iter().any(|other| path == Path::new(other)) {
            continue;
        }
        let metadata = path.symlink_metadata().unwrap();
        let content = if metadata.is_symlink() {
            ContentHash::of(fs::read_link(&path).unwrap().to_string_lossy().as_bytes())
        } else if metadata.is_file() {
            ContentHash::of(fs::read(&path).unwrap())
        } else {
            ContentHash::of("")
        };
        if metadata.is_dir() {
            snapshot(&path, seen);
        }
        let this = Seen {
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            links: metadata.nlink(),
            content,
        };
        seen.insert(path, this);
    }
}

fn root_now() -> BTreeMap<PathBuf, Seen> {
    let mut seen = BTreeMap::new();
    snapshot(Path::new("/"), &mut seen);
    seen
}

/// The processes that run, with their arguments.
fn processes() -> BTreeSet<String> {
    let described = |entry: fs::DirEntry| {
        let pid: u32 = entry.file_name().to_string_lossy().parse().ok()?;
        let arguments = fs::read(entry.path().join("cmdline")).ok()?;
        // One that has ended and was not waited for yet has no arguments any more.
        (!arguments.is_empty())
            .then(|| format!("{pid} {}", String::from_utf8_lossy(&arguments).replace('\0', " ")))
    };
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(described)
        .collect()
}

/// Runs in the namespaces.
#[tokio::test]
async fn everything_is_a_read() {
    let Ok(step) = std::env::var(ROLE) else { return };
    let step: usize = step.parse().unwrap();
    assert_eq!(fs::read_dir("/sys/class/net").map_or(0, Iterator::count), 0);
    let commands = fs::read_to_string("/opt/interlock/commands.json").unwrap();
    let commands: Vec<String> = serde_json::from_str(&commands).unwrap();
    let limits = Limits {
        wall: Duration::from_secs(1),
        grace: Duration::from_millis(10),
        ..Limits::default()
    };
    let run = async |kind: ToolKind, number: usize, command: &str| {
        // With and without sockets: files must stay as they are in either case.
        let sockets = if number.is_multiple_of(2) {
            SocketKind::ALL
        } else {
            &[]
        };
        let program = Program::command(command, |_| sockets.to_vec()).in_folder("/srv/data");
        runner()
            .run(&started(kind), program, limits, &CancellationToken::new())
            .await
    };
    let before = root_now();
    let alive = processes();
    let (mut ran, mut missing) = (0, 0);
    for (number, command) in commands.iter().enumerate().step_by(step) {
        match run(ToolKind::Read, number, command).await {
            Ok(output) => {
                assert!(
                    matches!(output.sandbox, Sandbox::Enforced { .. }),
                    "{:?}",
                    output.sandbox
                );
                ran += 1;
            }
            Err(Error::NotFound { .. }) => missing += 1,
            // Too long for the system, or not a program: nothing ran.
            Err(Error::Denied { .. } | Error::Spawn { .. } | Error::Empty) => {}
            Err(other) => panic!("{command:?}: {other}"),
        }
        let after = root_now();
        assert_eq!(after, before, "{command:?} changed a file");
    }
    // The confiner of a command that was stopped ends by itself a moment later.
    let began = Instant::now();
    loop {
        let left: Vec<String> = processes().difference(&alive).cloned().collect();
        if left.is_empty() {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "left running: {left:?}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // A check that cannot fail proves nothing: as a write, each of these is noticed.
    for (number, command) in ["touch /etc/new", "chmod 600 /srv/data/f", "echo x >> /srv/data/x"]
        .iter()
        .enumerate()
    {
        let before = root_now();
        run(ToolKind::Write, number, command).await.unwrap();
        assert_ne!(root_now(), before, "{command:?} was not noticed");
    }
    println!(
        "ran {ran} commands that the analysis refuses, as reads; {missing} more are not installed here; no file changed"
    );
}

/// Files for commands to change.
fn make_root(root: &Path) {
    let files = [
        (
            "etc/passwd",
            "root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/bin/sh\n",
        ),
        ("etc/group", "root:x:0:\n"),
        ("etc/shadow", "root:*:1::::::\n"),
        ("etc/hosts", "127.0.0.1 localhost\n"),
        ("etc/fstab", ""),
        ("etc/crontab", ""),
        ("root/.ssh/authorized_keys", "key\n"),
        ("home/u/.bashrc", "x\n"),
        ("var/log/syslog", "line\n"),
        ("tmp/x", "x\n"),
        ("srv/data/f", "one\ntwo\n"),
        ("srv/data/x", "x\n"),
        ("srv/data/a", "a\n"),
        ("srv/data/b", "b\n"),
        ("srv/data/file", "file\n"),
        ("srv/data/script.sh", "touch /tmp/script-ran\n"),
        ("srv/data/Makefile", "all:\n\ttouch made\n"),
    ];
    for (name, content) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    for folder in [
        "usr",
        "proc",
        "dev",
        "opt/interlock",
        "interlock-tmp",
        "var/tmp",
        "var/lib",
        "run",
        "mnt",
    ] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for name in ["bin", "sbin", "lib", "lib32", "lib64"] {
        if Path::new("/usr").join(name).exists() {
            symlink(format!("usr/{name}"), root.join(name)).unwrap();
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test starts itself again, in namespaces of its own"
)]
#[test]
fn with_an_analysis_that_calls_everything_a_read_no_file_changes() {
    let Ok(confine) = Helper::Confine.path() else {
        panic!("run `cargo build --package interlock-confine` before this test");
    };
    if !Path::new(BWRAP).exists() {
        eprintln!("skipped: `bwrap` is not installed, so there is no root to try this in");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    make_root(&root);
    let commands = folder.path().join("commands.json");
    fs::write(&commands, serde_json::to_vec(&refused()).unwrap()).unwrap();
    let step = if std::env::var_os(ALL).is_some() {
        1
    } else {
        SAMPLE
    };
    let mut command = std::process::Command::new(BWRAP);
    command
        .args([
            "--unshare-all",
            "--unshare-user",
            "--uid",
            "0",
            "--gid",
            "0",
            "--cap-add",
            "ALL",
        ])
        .args(["--die-with-parent", "--new-session", "--clearenv"])
        .arg("--bind")
        .args([&root, Path::new("/")])
        .args(["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"])
        .args([
            "--tmpfs",
            "/interlock-tmp",
            "--setenv",
            "TMPDIR",
            "/interlock-tmp",
        ])
        .args(["--tmpfs", "/opt", "--dir", "/opt/interlock"])
        .arg("--ro-bind")
        .args([
            &std::env::current_exe().unwrap(),
            Path::new("/opt/interlock/test"),
        ])
        .arg("--ro-bind")
        .args([&confine, Path::new("/opt/interlock/interlock-confine")])
        .arg("--ro-bind")
        .args([&commands, Path::new("/opt/interlock/commands.json")])
        .args(["--setenv", ROLE, &step.to_string(), "--chdir", "/"])
        .args([
            "/opt/interlock/test",
            "--exact",
            "tests::prove::everything_is_a_read",
            "--nocapture",
        ]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.starts_with("bwrap:") {
        eprintln!("skipped: no namespaces on this machine: {errors}");
        return;
    }
    assert!(
        output.status.success() && text.contains("no file changed"),
        "{text}\n{errors}"
    );
    eprintln!("{text}");
}
