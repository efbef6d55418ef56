//! The one place where these tests start processes: confined workers that run many jobs each.
//!
//! A worker is a bash script that reads the folders of its jobs, one per line. It runs in namespaces of its own: no
//! network, no process but its own, every file system read-only but for the arena. Where the system has no user
//! namespaces there is no confinement, and that is said.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests compare the analysis with what real shells and programs do"
)]

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How many jobs run at a time.
const WORKERS: usize = 2;

/// Makes everything but the arena (`$1`) read-only.
const CONFINE: &str = r#"
arena=$1
mount --make-rprivate / && mount --bind "$arena" "$arena" || exit 99
while read -r _ _ _ _ point _; do
  case $point in
    "$arena" | /proc* | /dev* | /sys*) ;;
    *) mount -o remount,bind,ro "$point" 2>/dev/null || [ "$point" != / ] || exit 99 ;;
  esac
done < /proc/self/mountinfo
"#;

/// Whether a program of this name can be started.
pub(crate) fn has(program: &str) -> bool {
    locate(program).is_some()
}

/// Where a program is: on the path, or where a system keeps those of the administrator.
pub(crate) fn locate(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|place| place.is_file())
        .and_then(|place| fs::canonicalize(place).ok())
}

/// Whether workers can be confined here.
pub(crate) fn confines(arena: &Path) -> io::Result<bool> {
    let confines = run(arena, true, ":", &[])?;
    if !confines {
        eprintln!("skipped: confinement (no user namespaces here)");
    }
    Ok(confines)
}

/// Runs `script` in workers until each job was handed to one of them.
pub(crate) fn each(arena: &Path, confined: bool, script: &str, jobs: &[PathBuf]) -> io::Result<()> {
    let mut shares = vec![Vec::new(); WORKERS];
    for (index, job) in jobs.iter().enumerate() {
        shares[index % WORKERS].push(job.clone());
    }
    let finished: io::Result<Vec<bool>> = std::thread::scope(|scope| {
        let workers: Vec<_> = shares
            .iter()
            .filter(|share| !share.is_empty())
            .map(|share| scope.spawn(move || run(arena, confined, script, share)))
            .collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a worker panicked")))
            })
            .collect()
    });
    if finished?.contains(&false) {
        return Err(io::Error::other("a worker did not finish its jobs"));
    }
    Ok(())
}

/// One worker, to its end. Says whether it succeeded.
fn run(arena: &Path, confined: bool, script: &str, jobs: &[PathBuf]) -> io::Result<bool> {
    let mut list = tempfile::NamedTempFile::new_in(arena)?;
    for job in jobs {
        io::Write::write_all(&mut list, format!("{}\n", job.display()).as_bytes())?;
    }
    let mut command = if confined {
        let mut command = Command::new("unshare");
        command.args([
            "--user",
            "--map-root-user",
            "--mount",
            "--net",
            "--ipc",
            "--pid",
            "--mount-proc",
            "--fork",
        ]);
        command.args([
            "--kill-child",
            "bash",
            "-c",
            &format!("{CONFINE}\n{script}"),
            "worker",
        ]);
        command.arg(arena);
        command
    } else {
        let mut command = Command::new("bash");
        command.args(["-c", script, "worker"]).arg(arena);
        command
    };
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(arena.join("workers.log"))?;
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    // Only what a worker needs to find its tools; its jobs set the rest.
    command.env_clear().env("PATH", path).env("TERM", "dumb");
    command
        .stdin(File::open(list.path())?)
        .stdout(Stdio::null())
        .stderr(log);
    match command.status() {
        Ok(status) => Ok(status.success()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
