//! What the table allows, run for real: none of it writes.
//!
//! Every `allow` example whose program is installed here runs in a sandbox without a network. Two watches look on: each
//! top folder is covered by a layer that takes all writes, and must stay empty; and where `strace` is installed, no
//! system call may even try to write. Where neither works, nothing is run, and that is said.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up fails"
)]

mod sandbox;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Lays a fresh layer over every top folder that can have one, runs each job on them, and looks at what is left there.
/// What cannot be covered stays read-only. The folder that holds the arena comes last, because the layers live there.
const WORKER: &str = r#"
strace=$(command -v strace)
if [ -n "$strace" ] && strace -f --seccomp-bpf -o /dev/null true 2>/dev/null; then filter=--seccomp-bpf; fi
timeout=$(command -v timeout) || exit 1
exec 9<"$arena"
cover() {
  mkdir -p "$mem/up$1" "$mem/work$1"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=$mem/up$1,workdir=$mem/work$1" "$1" 2>/dev/null && covered+=("$1")
}
lay() {
  covered=()
  mem=$(mktemp -d "$arena/layers.XXXXXX") && mount -t tmpfs tmpfs "$mem" || exit 1
  last=${arena#/} last=/${last%%/*}
  for folder in /*; do
    case $folder in /proc | /sys | /dev | "$last") continue ;; esac
    if [ -d "$folder" ] && [ ! -L "$folder" ]; then cover "$folder"; fi
  done
  if cover "$last"; then mount --no-canonicalize --rbind /proc/self/fd/9 "$arena" || exit 1; fi
  echo "${covered[*]}" > "$arena/covered"
}
unlay() {
  cd /
  umount -l "$arena"
  for folder in "${covered[@]}"; do umount -l "$folder"; done
}
lay
export HOME=/root PAGER=cat
while IFS= read -r job; do
  IFS= read -r -d '' text < "$job/text"
  watch=()
  if [ -n "$strace" ]; then watch=("$strace" -f -qq -y $filter -s 200 -e "trace=$calls" -o "$job/trace"); fi
  cd /tmp || exit 1
  # Whatever it starts ends with it: some programs leave their process group.
  alone=("$timeout" -s KILL 2 unshare --pid --fork --kill-child --mount-proc)
  "${alone[@]}" "${watch[@]}" bash -c "$text" </dev/null 2>&1 | head -c 1000000 >/dev/null
  find "$mem/up" -mindepth 2 \( ! -type d -o -empty \) > "$job/left"
  if [ -s "$job/left" ]; then unlay; lay; fi
done
true
"#;

/// System calls that change something, whatever their arguments.
const CHANGES: &[&str] = &[
    "creat",
    "unlink",
    "unlinkat",
    "rename",
    "renameat",
    "renameat2",
    "mkdir",
    "mkdirat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "mknod",
    "mknodat",
    "chmod",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchown",
    "fchownat",
    "truncate",
    "ftruncate",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "setxattr",
    "lsetxattr",
    "fsetxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "mount",
    "umount2",
    "move_mount",
    "pivot_root",
    "chroot",
    "swapon",
    "swapoff",
    "acct",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "clock_settime",
    "reboot",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "process_vm_writev",
    "quotactl",
    "add_key",
    "mq_open",
];

/// System calls that change something with some arguments.
const DEPENDS: &[&str] = &[
    "open", "openat", "openat2", "kill", "tkill", "tgkill", "sendto", "sendmsg", "ioctl",
];

/// Writes that are not what a command is for: caches, locks and logs of its own, and devices that answer only to those
/// who may also write.
const EXCEPTIONS: &[Exception] = &[
    Exception {
        command: "apt",
        contains: "/var/log/apt/",
        why: "apt logs what its planner was asked, also in a simulation",
    },
    Exception {
        command: "apt",
        contains: "/var/cache/apt/",
        why: "apt keeps what it read of its lists",
    },
    Exception {
        command: "sqlite3",
        contains: "srv/app.db",
        why: "a database that is not there is made, empty; one that is there is only read",
    },
    Exception {
        command: "",
        contains: "/__pycache__",
        why: "Python keeps what it compiled",
    },
    Exception {
        command: "",
        contains: "/hsperfdata_",
        why: "a Java machine shows its counters to others there",
    },
    Exception {
        command: "",
        contains: "/proc/self/coredump_filter",
        why: "a Java machine says what of itself to dump",
    },
    Exception {
        command: "apt-get",
        contains: "/var/log/apt/eipp.log.xz",
        why: "what was asked of its planner",
    },
    Exception {
        command: "apt-get check",
        contains: "/var/lib/dpkg/lock",
        why: "a lock",
    },
    Exception {
        command: "apt-key",
        contains: "/apt-key-gpghome.",
        why: "the keys, copied to look at them",
    },
    Exception {
        command: "blkid",
        contains: "/run/blkid",
        why: "a cache of what it found",
    },
    Exception {
        command: "findfs",
        contains: "/run/blkid",
        why: "a cache of what it found",
    },
    Exception {
        command: "cargo",
        contains: "/.cargo/.",
        why: "opens its lists for a lock",
    },
    Exception {
        command: "dmsetup",
        contains: "/dev/mapper/control",
        why: "makes the device that it asks",
    },
    Exception {
        command: "dmstats",
        contains: "/dev/mapper/control",
        why: "makes the device that it asks",
    },
    Exception {
        command: "dpkg",
        contains: "/tmp/dpkg-deb.",
        why: "a folder for what it unpacks to show",
    },
    Exception {
        command: "faillock",
        contains: "/faillock/",
        why: "opens the tally for a lock",
    },
    Exception {
        command: "gcloud",
        contains: "/.config/gcloud",
        why: "logs, defaults and tokens of its own",
    },
    Exception {
        command: "inxi",
        contains: "/.local/share/inxi",
        why: "a folder of its own for what it found",
    },
    Exception {
        command: "terraform",
        contains: "/.terraform.d",
        why: "when it last looked for a newer version of itself",
    },
    Exception {
        command: "perf",
        contains: "/.debug",
        why: "opens its cache of programs for a lock",
    },
    Exception {
        command: "gsutil",
        contains: "/.config/gcloud",
        why: "logs, defaults and tokens of its own",
    },
    Exception {
        command: "gsutil",
        contains: "/.gsutil",
        why: "a folder for its state",
    },
    Exception {
        command: "gsutil",
        contains: "/dev/shm/",
        why: "what its processes share",
    },
    Exception {
        command: "gsutil",
        contains: "/tmp/",
        why: "what its processes share",
    },
    Exception {
        command: "gpg",
        contains: "/.gnupg",
        why: "its trust database and locks",
    },
    Exception {
        command: "gsettings",
        contains: "/.cache",
        why: "a cache of the settings",
    },
    Exception {
        command: "i2cdetect",
        contains: "/dev/i2c",
        why: "the bus that it asks",
    },
    Exception {
        command: "ipmitool",
        contains: "/dev/ipmi",
        why: "the controller that it asks",
    },
    Exception {
        command: "ip ",
        contains: "nlmsg_len=32, nlmsg_type=RTM_NEWLINK",
        why: "an empty request that asks what the kernel knows",
    },
    Exception {
        command: "lslogins",
        contains: "/etc/.pwd.lock",
        why: "a lock",
    },
    Exception {
        command: "npm",
        contains: "/.npm",
        why: "logs and a cache of its own",
    },
    Exception {
        command: "pkcon",
        contains: "/dev/console",
        why: "looks whether there is one",
    },
    Exception {
        command: "rustup check",
        contains: "/.rustup/tmp",
        why: "what it downloaded to compare",
    },
    Exception {
        command: "tmux",
        contains: "/tmp/tmux-",
        why: "the folder of its sockets",
    },
    Exception {
        command: "top",
        contains: "/.config",
        why: "the folder of its settings",
    },
];

struct Exception {
    /// How the command starts.
    command: &'static str,
    /// What the line says where the write is tolerated.
    contains: &'static str,
    /// Why it is not what the command is for.
    why: &'static str,
}

/// Every example of the table that must be a bounded read.
fn allowed() -> Vec<String> {
    let mut examples = BTreeSet::new();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let family: toml::Table = fs::read_to_string(&file)
            .unwrap()
            .parse()
            .expect("the table is TOML");
        for program in family["program"].as_array().expect("programs") {
            let allow = program.get("allow").and_then(toml::Value::as_array);
            examples.extend(
                allow
                    .into_iter()
                    .flatten()
                    .map(|text| text.as_str().expect("text").to_owned()),
            );
        }
    }
    examples.into_iter().collect()
}

/// What the shell runs without starting a program.
const BUILTIN: &[&str] = &[
    ":", "[", "[[", "alias", "bind", "builtin", "caller", "cd", "command", "compgen", "complete", "declare",
    "dirs", "echo", "enable", "exit", "export", "false", "fc", "for", "hash", "help", "history", "if",
    "jobs", "popd", "printf", "pushd", "pwd", "read", "readonly", "set", "shopt", "test", "time", "times",
    "trap", "true", "type", "typeset", "ulimit", "umask", "wait", "while",
];

/// Whether the first program of a command is here to be run.
fn runs_here(command: &str) -> bool {
    let first = command
        .split_whitespace()
        .find(|word| !word.contains('='))
        .unwrap_or_default();
    BUILTIN.contains(&first)
        || if first.starts_with('/') {
            Path::new(first).exists()
        } else {
            sandbox::has(first)
        }
}

/// The lines of a trace in which something tries to write.
fn writes(trace: &str) -> Vec<String> {
    let own: BTreeSet<&str> = trace
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut found = Vec::new();
    for line in trace.lines() {
        let Some((_, call)) = line.split_once(' ') else {
            continue;
        };
        let Some((name, arguments)) = call.trim_start().split_once('(') else {
            continue;
        };
        let write = match name {
            "open" | "openat" | "openat2" => {
                let opens = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
                    .iter()
                    .any(|flag| arguments.contains(flag));
                // A file without a name is gone with the process.
                opens && !arguments.contains("O_TMPFILE") && !harmless_device(arguments)
            }
            // The time limit of these runs, and of `timeout`, ends what it started itself.
            "kill" | "tkill" | "tgkill" => {
                let target = arguments.split([',', ')']).next().unwrap_or_default();
                // Signal 0 only asks whether the process is there.
                let signal_none = arguments.contains(", 0)") || arguments.contains(", 0 <unfinished");
                !signal_none && target != "0" && !own.contains(target.trim_start_matches('-'))
            }
            "sendto" | "sendmsg" => [
                "RTM_NEW",
                "RTM_DEL",
                "RTM_SET",
                "NFNL_SUBSYS_NFTABLES<<8|NFT_MSG_NEW",
                "NFNL_SUBSYS_NFTABLES<<8|NFT_MSG_DEL",
            ]
            .iter()
            .any(|kind| arguments.contains(&format!("nlmsg_type={kind}"))),
            "ioctl" => [
                "SIOCS",
                "SIOCD",
                "SIOCADD",
                "BLKSET",
                "BLKDISCARD",
                "FS_IOC_SET",
                "RTC_SET",
            ]
            .iter()
            .any(|kind| arguments.contains(kind)),
            _ => CHANGES.contains(&name),
        };
        if write {
            found.push(call.trim_start().to_owned());
        }
    }
    found
}

/// Devices that swallow what is written, and descriptors that are open already.
fn harmless_device(arguments: &str) -> bool {
    let path = arguments.split('"').nth(1).unwrap_or_default();
    matches!(
        path,
        "/dev/null" | "/dev/tty" | "/dev/stdout" | "/dev/stderr" | "/dev/full" | "/dev/zero"
    ) || path.starts_with("/dev/pts/")
        || path.starts_with("/dev/fd/")
        || path.starts_with("/proc/self/fd/")
}

#[test]
fn what_the_table_allows_does_not_write() {
    let arena = tempfile::Builder::new().prefix("allowed").tempdir().unwrap();
    if !sandbox::confines(arena.path()).expect("a worker") {
        eprintln!("skipped: running the table's examples (nothing would hold back one that writes)");
        return;
    }
    let watched = sandbox::has("strace");
    if !watched {
        eprintln!("skipped: watching system calls (strace is not installed)");
    }
    let all = allowed();
    let commands: Vec<&String> = all.iter().filter(|command| runs_here(command)).collect();
    let jobs: Vec<PathBuf> = (0..commands.len())
        .map(|number| arena.path().join(format!("job-{number}")))
        .collect();
    for (job, command) in jobs.iter().zip(&commands) {
        fs::create_dir(job).unwrap();
        fs::write(job.join("text"), command.as_str()).unwrap();
    }
    // Which calls there are depends on the processor: `?` lets one be missing.
    let calls: Vec<String> = CHANGES
        .iter()
        .chain(DEPENDS)
        .map(|call| format!("?{call}"))
        .collect();
    let script = format!("calls='{}'\n{WORKER}", calls.join(","));
    sandbox::each(arena.path(), true, &script, &jobs).expect("workers");
    let covered = fs::read_to_string(arena.path().join("covered")).unwrap_or_default();
    if covered.trim().is_empty() {
        eprintln!("skipped: watching folders (no overlay file system here)");
    }
    let mut wrong = Vec::new();
    let mut traces = 0;
    let mut tolerated = BTreeSet::new();
    for (job, command) in jobs.iter().zip(&commands) {
        let left = fs::read_to_string(job.join("left")).expect("the worker looked");
        let trace = fs::read(job.join("trace")).unwrap_or_default();
        traces += usize::from(!trace.is_empty());
        let left = left
            .lines()
            .map(|path| format!("left /{}", path.split_once("/up/").map_or(path, |(_, path)| path)));
        for line in left.chain(writes(&String::from_utf8_lossy(&trace))) {
            let known =
                |known: &&Exception| command.starts_with(known.command) && line.contains(known.contains);
            match EXCEPTIONS.iter().find(known) {
                Some(known) => {
                    tolerated.insert((known.command, known.contains, known.why));
                }
                None => wrong.push(format!("{command}\n    {line}")),
            }
        }
    }
    for (command, contains, why) in tolerated {
        println!("tolerated: {command} {contains}: {why}");
    }
    println!(
        "{} examples, {} run here, {traces} watched; layers over {covered}",
        all.len(),
        commands.len()
    );
    assert!(
        !watched || traces == commands.len(),
        "only {traces} of {} runs were watched",
        commands.len()
    );
    assert!(wrong.is_empty(), "{} writes:\n{}", wrong.len(), wrong.join("\n"));
}
