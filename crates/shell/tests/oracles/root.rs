//! A root folder of our own, and commands that run in it.
//!
//! What a machine has installed must not decide whether a test passes. So commands run in a root that holds a fixed list of
//! programs, copied with their libraries, and fixed files; in namespaces without a network, without devices and with no
//! process but their own. A program of the list that the machine lacks is named.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use interlock_shell::classify;

use crate::exceptions::EVERYWHERE;
use crate::sandbox;
use crate::trace::{self, Attempt};

/// The programs of the root: coreutils; text, folders and archives; util-linux and procps as far as they need neither devices nor
/// `/sys`; the C library's; shells and git. They change little between releases and need no daemon.
const PROGRAMS: &str = "
    [ arch b2sum base32 base64 basename basenc cat cksum comm cp cut date dd df dir dircolors dirname du echo env expand expr factor
    false fmt fold groups head hostid id join link ln logname ls md5sum mkdir mv nice nl nohup nproc numfmt od paste pathchk pinky pr
    printenv printf ptx pwd readlink realpath rm rmdir seq sha1sum sha224sum sha256sum sha384sum sha512sum shuf sleep sort split stat
    stdbuf stty sum tac tail tee test timeout touch tr true truncate tsort tty uname unexpand uniq users vdir wc who whoami
    awk bc bzcat bzip2 cmp diff diff3 egrep fgrep file find gawk grep gunzip gzip iconv jq less lz4 mawk more original-awk rgrep sdiff
    sed sqlite3 strings tar uncompress unzip xargs xxd xz xzcat zcat zcmp zdiff zgrep zless zmore zstd zstdcat
    column free getopt hexdump look namei nsenter pgrep pidof pmap prlimit ps pwdx rev setpriv taskset top uptime vmstat whereis
    getconf getent locale
    bash busybox dash git sh time which
";

/// What the files of the root say. A file that holds a secret says [`SECRET`].
const FILES: &[(&str, &str)] = &[
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1000::/home/web:/bin/sh\n",
    ),
    ("etc/group", "root:x:0:\nweb:x:1000:\n"),
    ("etc/shadow", "root:s3cr3t-mark:19000:0:99999:7:::\n"),
    ("etc/hosts", "127.0.0.1 localhost\n10.0.0.1 box\n"),
    ("etc/host.conf", "multi on\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
    ("etc/os-release", "ID=test\nVERSION_ID=1\n"),
    ("etc/resolv.conf", "nameserver 10.0.0.1\n"),
    ("etc/fstab", "/dev/sda1 / ext4 defaults 0 1\n"),
    ("etc/localtime", "TZif2\n"),
    ("etc/default/web", "A=1\n"),
    ("etc/ssl/openssl.cnf", "x\n"),
    ("etc/ssl/hosts", "x\n"),
    ("root/.ssh/id_ed25519", "s3cr3t-mark\n"),
    ("root/notes", "x\n"),
    ("run/secrets/db", "s3cr3t-mark\n"),
    ("run/secrets/hosts", "s3cr3t-mark\n"),
    ("run/secrets/sub/hosts", "s3cr3t-mark\n"),
    ("srv/app/main.c", "int main(void) { return 0; }\n"),
    ("srv/x", "hello\nworld\n"),
    ("tmp/x", "x\n"),
    ("tools/mark", "s3cr3t-mark\n"),
    ("usr/share/dict/words", "hello\nworld\n"),
    ("var/log/dpkg.log", "2026-01-01 00:00:00 status installed x 1\n"),
    ("var/log/syslog", "Jan  1 00:00:00 box web[1]: started\n"),
    ("work/a/b/hosts", "x\n"),
    ("work/a/hosts", "x\n"),
    ("work/d/g", "x\n"),
    ("work/f", "a/b]c\n[x] 1 2\n"),
    ("work/f.json", "{\"a\":1}\n"),
    ("work/hosts", "x\n"),
    ("work/s", "x\n"),
];

/// What a file with a secret says.
const SECRET: &str = "s3cr3t-mark";

/// `docker exec`, as far as folders matter: there is no container here, so the command runs in the root itself.
const DOCKER: &str = r#"#!/bin/sh
folder=/work
while [ $# -gt 0 ]; do
  case $1 in
    -w | --workdir) folder=$2; shift 2 ;;
    -w?*) folder=${1#-w}; shift ;;
    --workdir=*) folder=${1#*=}; shift ;;
    -e | -u | --env | --user) shift 2 ;;
    compose | exec | container | -*) shift ;;
    *) shift; break ;;
  esac
done
cd "$folder" && exec "$@"
"#;

/// Files that are made with the root's own programs.
const PREPARE: &str = "cd /srv; gzip -k x; bzip2 -k x; xz -k x; zstd -q x; lz4 -q x; tar cf b.tar app; tar cf backup.tar app; \
     tar czf backup.tgz app; cp backup.tgz backup.tar.gz; \
     sqlite3 app.db 'create table t(a,b); insert into t values(1,2)'; cp app.db /work/t.db; \
     cd app; git init -q .; git add -A; git -c user.name=x -c user.email=x@x commit -qm x";

/// Copies the root into memory, so that each worker has its own, and mounts what a system has. `cp` and `find` are the machine's.
const SET_UP: &str = r#"
place=$(mktemp -d "$arena/place.XXXXXX")
mount -t tmpfs tmpfs "$place" || exit 1
root=$place/root
fresh() {
  if [ -d "$root" ]; then umount -R "$root/dev"; rm -rf "$root"; fi
  cp -a "$arena/root" "$root" || exit 1
  mount -t tmpfs tmpfs "$root/dev" || exit 1
  for device in null zero full random urandom; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device" || exit 1
  done
  ln -s /proc/self/fd "$root/dev/fd"
  for number in 0 1 2; do ln -s "/proc/self/fd/$number" "$root/dev/std$number"; done
  mv "$root/dev/std0" "$root/dev/stdin"
  mv "$root/dev/std1" "$root/dev/stdout"
  mv "$root/dev/std2" "$root/dev/stderr"
}
fresh
"#;

/// How long a command may take to start, on a busy machine, and what the worker notes of one that did not.
const START_SECONDS: u64 = 60;
const NOT_STARTED: &str = "137";

/// Runs each job's text with its shell, and notes the calls, the output, and what changed in the root.
const WORKER: &str = r#"
# Every change of a file or of a folder sets its time, also where the change is undone.
changed() { (cd "$root" && find . dev -xdev \( -path ./proc -o -path ./dev \) -prune -o -cnewer "$place/start" -print); }
inside() { timeout -s KILL 60 unshare --pid --fork --kill-child --mount-proc="$root/proc" chroot "$root" "$@"; }
start='cd /work && read -r SECRET_MARK < /tools/mark && export SECRET_MARK && exec "$@"'
# The short limit is counted from when the command starts: a busy machine takes long to get there.
watch=()
if [ -x "$root/tools/strace" ]; then
  watch=(/tools/strace -f -qq -y -s 300 -e "trace=$calls" -o /trace/log)
  if inside /tools/strace -f --seccomp-bpf -o /dev/null true; then watch+=(--seccomp-bpf); fi
fi
while IFS= read -r job; do
  IFS= read -r -d '' text < "$job/text"
  IFS= read -r how < "$job/how"
  case $how in
    bash) path=/first:/usr/bin shell=(/usr/bin/bash -c) ;;
    dash) path=/second:/usr/bin shell=(/usr/bin/dash -c) ;;
    busybox) path=/applets shell=(/usr/bin/busybox sh -c) ;;
  esac
  : > "$place/start"
  if [ "${#watch[@]}" -gt 0 ]; then mount -t tmpfs tmpfs "$root/trace" || exit 1; fi
  inside /usr/bin/env -i PATH="$path" HOME=/root PAGER=cat TERM=dumb LC_ALL=C /usr/bin/bash -c "$start" run \
    "${watch[@]}" /usr/bin/timeout -s KILL 4 "${shell[@]}" "$text" </dev/null 2>&1 | head -c 100000 > "$job/output"
  echo "${PIPESTATUS[0]}" > "$job/status"
  if [ "${#watch[@]}" -gt 0 ]; then
    cp "$root/trace/log" "$job/trace"
    umount -l "$root/trace"
  fi
  changed > "$job/left"
  if [ -s "$job/left" ]; then fresh; fi
done
true
"#;

/// A root with the programs that this machine could give.
pub(crate) struct Root {
    arena: tempfile::TempDir,
    programs: BTreeSet<&'static str>,
    watched: bool,
}

/// What happened when a command was run.
pub(crate) struct Run {
    text: String,
    shell: &'static str,
    /// Files and folders of the root that changed.
    left: String,
    /// The watched system calls; empty where `strace` is not installed.
    trace: String,
    /// What it printed.
    output: String,
}

impl Root {
    /// Makes the root. `None`, and says why, where the machine lacks what is needed to run anything in it.
    pub(crate) fn make() -> Option<Self> {
        let arena = tempfile::Builder::new().prefix("root").tempdir().unwrap();
        for tool in [
            "bash", "chroot", "cp", "env", "find", "ldd", "mount", "timeout", "unshare",
        ] {
            if !sandbox::has(tool) {
                println!("skipped: running commands in a root of our own ({tool} is not installed)");
                return None;
            }
        }
        if !sandbox::confines(arena.path()).expect("a worker") {
            println!("skipped: running commands in a root of our own (no user namespaces)");
            return None;
        }
        let mut root = Self {
            arena,
            programs: BTreeSet::new(),
            watched: false,
        };
        root.fill();
        Some(root)
    }

    /// How many of the programs there are, of how many, and how they are watched.
    pub(crate) fn equipment(&self) -> String {
        let watched = if self.watched { ", watched by strace" } else { "" };
        format!(
            "{} of {} programs{watched}",
            self.programs.len(),
            PROGRAMS.split_whitespace().count()
        )
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.arena
            .path()
            .join("root")
            .join(path.trim_start_matches('/'))
            .is_dir()
    }

    /// What runs did that the verdicts about their texts do not say. Prints what is tolerated, and why.
    pub(crate) fn unsaid(&self, runs: &[Run]) -> Vec<String> {
        let mut tolerated = BTreeSet::new();
        let mut wrong = Vec::new();
        for run in runs {
            let unsaid = self.unsaid_by(run, &mut tolerated);
            wrong.extend(
                unsaid
                    .iter()
                    .map(|unsaid| format!("{}: {:?}\n    {unsaid}", run.shell, run.text)),
            );
        }
        for why in tolerated {
            println!("tolerated: {why}");
        }
        wrong
    }

    fn unsaid_by(&self, run: &Run, tolerated: &mut BTreeSet<String>) -> Vec<String> {
        let verdict = classify(&run.text);
        let mut wrong = Vec::new();
        let mut known = !self.watched
            && EVERYWHERE
                .iter()
                .any(|known| known.leaves && known.is_about(&run.text));
        for attempt in trace::attempts(&run.trace, &verdict, &|path| self.is_folder(path)) {
            let line = attempt.to_string();
            match EVERYWHERE.iter().find(|known| known.tolerates(&run.text, &line)) {
                Some(exception) => {
                    known |= exception.leaves;
                    tolerated.insert(format!(
                        "{} {}: {}",
                        exception.command, exception.contains, exception.why
                    ));
                }
                None => wrong.push(line),
            }
        }
        // A tolerated write leaves traces in the root too. Without strace it is not known which they are.
        if !known || !wrong.is_empty() {
            wrong.extend(run.left.lines().map(|line| format!("changed: {line}")));
        }
        if run.output.contains(SECRET) && !verdict.sensitive {
            wrong.push("prints a secret".to_owned());
        }
        wrong
    }

    /// The secret that a run opened or printed, whatever the verdict says.
    pub(crate) fn secret(&self, run: &Run) -> Option<String> {
        let mut verdict = classify(&run.text);
        verdict.sensitive = false;
        let attempts = trace::attempts(&run.trace, &verdict, &|path| self.is_folder(path));
        attempts
            .iter()
            .find(|attempt| matches!(attempt, Attempt::Secret(_)))
            .map(ToString::to_string)
            .or_else(|| run.output.contains(SECRET).then(|| "prints a secret".to_owned()))
    }

    pub(crate) fn has(&self, program: &str) -> bool {
        self.programs.contains(program)
            || program == "docker"
            || program.starts_with("/bin/") && self.has(&program[5..])
    }

    /// Whether this shell, as it is set up here, finds the program.
    pub(crate) fn finds(&self, shell: &str, program: &str) -> bool {
        // Which applets there are depends on the machine: only those of the fixed set count.
        let applet = || self.arena.path().join("root/applets").join(program).is_symlink();
        self.has(program) && (shell != "busybox" || applet())
    }

    /// The shells of `wanted` that the root has. The others are named.
    pub(crate) fn shells(&self, wanted: &[&'static str]) -> Vec<&'static str> {
        let (there, missing): (Vec<_>, Vec<_>) = wanted.iter().partition(|shell| self.has(shell));
        for shell in missing {
            println!("skipped: {shell} (not installed)");
        }
        there
    }

    fn fill(&mut self) {
        let folder = self.arena.path().join("root");
        let folders = [
            "usr/bin", "proc", "dev", "tools", "trace", "first", "second", "applets", "home/web", "tmp",
        ];
        for path in folders {
            fs::create_dir_all(folder.join(path)).unwrap();
        }
        for (link, target) in [("bin", "usr/bin"), ("sbin", "usr/bin"), ("usr/sbin", "bin")] {
            symlink(target, folder.join(link)).unwrap();
        }
        for (path, text) in FILES {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("/run", folder.join("var/run")).unwrap();
        symlink("/srv", folder.join("work/link")).unwrap();
        let mut copied = Vec::new();
        let mut missing = Vec::new();
        for name in PROGRAMS.split_whitespace() {
            match sandbox::locate(name) {
                Some(program) => {
                    fs::copy(&program, folder.join("usr/bin").join(name)).unwrap();
                    copied.push(program);
                    self.programs.insert(name);
                }
                None => missing.push(name),
            }
        }
        if !missing.is_empty() {
            println!("skipped: examples of {} (not installed)", missing.join(", "));
        }
        match sandbox::locate("strace") {
            Some(program) => {
                fs::copy(&program, folder.join("tools/strace")).unwrap();
                copied.push(program);
                self.watched = true;
            }
            None => println!("skipped: watching system calls (strace is not installed)"),
        }
        let docker = folder.join("usr/bin/docker");
        fs::write(&docker, DOCKER).unwrap();
        fs::set_permissions(&docker, fs::Permissions::from_mode(0o755)).unwrap();
        for (place, awk) in [("first", "gawk"), ("second", "mawk")] {
            if self.has(awk) {
                symlink(format!("/usr/bin/{awk}"), folder.join(place).join("awk")).unwrap();
            }
        }
        self.copy_libraries(&copied);
        let job = self.arena.path().join("prepare");
        fs::create_dir(&job).unwrap();
        let script = format!(
            "{SET_UP}\nchroot \"$root\" /usr/bin/env -i PATH=/usr/bin HOME=/tmp /usr/bin/bash -c '{}'\n\
             if [ -x \"$root/usr/bin/busybox\" ]; then for name in $(chroot \"$root\" /usr/bin/busybox --list); do \
             ln -s /usr/bin/busybox \"$root/applets/$name\"; done; fi\n\
             umount -R \"$root/dev\"\nrm -rf \"$arena/root\" && cp -a \"$root\" \"$arena/root\"",
            PREPARE.replace('\'', "'\\''")
        );
        self.each(&script, &[job]);
    }

    /// Copies every library that these programs are linked with, to where they expect it.
    fn copy_libraries(&self, programs: &[PathBuf]) {
        let job = self.arena.path().join("libraries");
        fs::create_dir(&job).unwrap();
        let list: Vec<String> = programs
            .iter()
            .map(|program| program.display().to_string())
            .collect();
        fs::write(job.join("programs"), list.join("\n") + "\n").unwrap();
        let script = "read -r job; while IFS= read -r program; do ldd \"$program\"; done < \"$job/programs\" > \"$job/list\"; true";
        sandbox::each(self.arena.path(), false, script, std::slice::from_ref(&job)).expect("a worker");
        let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
        for line in fs::read_to_string(job.join("list")).unwrap_or_default().lines() {
            wanted.extend(
                line.split_whitespace()
                    .filter(|word| word.starts_with('/') && !word.ends_with(':'))
                    .map(PathBuf::from),
            );
        }
        // An older C library loads the lookup of names when it is first used.
        let lookups: Vec<PathBuf> = wanted
            .iter()
            .filter_map(|library| library.parent())
            .map(|folder| folder.join("libnss_files.so.2"))
            .collect();
        for library in wanted.iter().chain(&lookups).filter(|library| library.is_file()) {
            let place = self
                .arena
                .path()
                .join("root")
                .join(library.strip_prefix("/").unwrap());
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::copy(library, place).unwrap();
        }
    }

    /// Runs each command with its shell (`bash`, `dash` or `busybox`).
    pub(crate) fn run(&self, commands: &[(String, &'static str)]) -> Vec<Run> {
        let jobs = tempfile::tempdir_in(self.arena.path()).unwrap();
        let folders: Vec<PathBuf> = (0..commands.len())
            .map(|number| jobs.path().join(number.to_string()))
            .collect();
        for (job, (text, how)) in folders.iter().zip(commands) {
            fs::create_dir(job).unwrap();
            fs::write(job.join("text"), text).unwrap();
            fs::write(job.join("how"), format!("{how}\n")).unwrap();
        }
        self.each(
            &format!("calls='{}'\n{SET_UP}\n{WORKER}", crate::trace::calls()),
            &folders,
        );
        let read = |path: PathBuf| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        let mut late = 0;
        let runs = folders
            .iter()
            .zip(commands)
            .map(|(job, (text, shell))| {
                assert!(job.join("output").exists(), "was not run: {text}");
                let trace = read(job.join("trace"));
                let output = read(job.join("output"));
                if self.watched && trace.is_empty() {
                    // The limit before the command starts is the only reason there may be.
                    let status = read(job.join("status"));
                    assert_eq!(
                        status.trim(),
                        NOT_STARTED,
                        "was not watched, for no known reason: {text:?}: {output}"
                    );
                    late += 1;
                    println!("not watched: {text:?} did not start within {START_SECONDS} s: {output}");
                }
                assert!(
                    !output.contains("error while loading shared libraries"),
                    "the root lacks a library: {text}: {output}"
                );
                Run {
                    text: text.clone(),
                    shell,
                    left: read(job.join("left")),
                    trace,
                    output,
                }
            })
            .collect();
        if late > 0 {
            println!(
                "skipped: {late} of {} commands, which did not start in time (a busy machine)",
                commands.len()
            );
        }
        assert!(
            late * 20 <= commands.len(),
            "{late} of {} commands were not watched",
            commands.len()
        );
        runs
    }

    fn each(&self, script: &str, jobs: &[PathBuf]) {
        let result = sandbox::each(self.arena.path(), true, script, jobs);
        let log = fs::read_to_string(self.arena.path().join("workers.log")).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(20).collect();
        assert!(result.is_ok(), "{result:?}:\n{}", last.join("\n"));
    }
}
