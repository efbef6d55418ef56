//! What the table allows, run with every program that this machine has: `make audit-table`.
//!
//! Every `allow` example whose program is installed runs in a sandbox without a network. Two watches look on: each top folder is
//! covered by a layer that takes all writes; and where `strace` is installed, every system call that writes, connects or opens
//! a secret is noted. The report says which programs ran, which are not here, and what each command tried beyond its verdict.
//! What is found depends on the machine, so this is no test: a person judges it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "an audit that cannot set itself up stops, and it prints its report"
)]

#[path = "../tests/watch/exceptions.rs"]
mod exceptions;
#[path = "../tests/sandbox/mod.rs"]
mod sandbox;
#[path = "../tests/watch/table.rs"]
mod table;
#[path = "../tests/watch/trace.rs"]
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use exceptions::{EVERYWHERE, Exception};
use interlock_shell::classify;
use trace::Attempt;

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

/// Caches, locks and logs of programs that only some machines have, and devices that answer only to those who may also write.
const SOMEWHERE: &[Exception] = &[
    Exception {
        command: "apt",
        contains: "/var/log/apt/",
        leaves: true,
        why: "apt logs what its planner was asked, also in a simulation",
    },
    Exception {
        command: "apt",
        contains: "/var/cache/apt/",
        leaves: true,
        why: "apt keeps what it read of its lists",
    },
    Exception {
        command: "",
        contains: "/__pycache__",
        leaves: true,
        why: "Python keeps what it compiled",
    },
    Exception {
        command: "",
        contains: "/hsperfdata_",
        leaves: true,
        why: "a Java machine shows its counters to others there",
    },
    Exception {
        command: "",
        contains: "/proc/self/coredump_filter",
        leaves: true,
        why: "a Java machine says what of itself to dump",
    },
    Exception {
        command: "apt-get",
        contains: "/var/log/apt/eipp.log.xz",
        leaves: true,
        why: "what was asked of its planner",
    },
    Exception {
        command: "apt-get check",
        contains: "/var/lib/dpkg/lock",
        leaves: true,
        why: "a lock",
    },
    Exception {
        command: "apt-key",
        contains: "/apt-key-gpghome.",
        leaves: true,
        why: "the keys, copied to look at them",
    },
    Exception {
        command: "blkid",
        contains: "/run/blkid",
        leaves: true,
        why: "a cache of what it found",
    },
    Exception {
        command: "findfs",
        contains: "/run/blkid",
        leaves: true,
        why: "a cache of what it found",
    },
    Exception {
        command: "cargo",
        contains: "/.cargo/.",
        leaves: true,
        why: "opens its lists for a lock",
    },
    Exception {
        command: "dmsetup",
        contains: "/dev/mapper/control",
        leaves: true,
        why: "makes the device that it asks",
    },
    Exception {
        command: "dmstats",
        contains: "/dev/mapper/control",
        leaves: true,
        why: "makes the device that it asks",
    },
    Exception {
        command: "dpkg",
        contains: "/tmp/dpkg-deb.",
        leaves: true,
        why: "a folder for what it unpacks to show",
    },
    Exception {
        command: "faillock",
        contains: "/faillock/",
        leaves: true,
        why: "opens the tally for a lock",
    },
    Exception {
        command: "gcloud",
        contains: "/.config/gcloud",
        leaves: true,
        why: "logs, defaults and tokens of its own",
    },
    Exception {
        command: "inxi",
        contains: "/.local/share/inxi",
        leaves: true,
        why: "a folder of its own for what it found",
    },
    Exception {
        command: "sqlite3",
        contains: "left /srv/app.db",
        leaves: true,
        why: "a database that does not exist is created, empty",
    },
    Exception {
        command: "terraform",
        contains: "/.terraform.d",
        leaves: true,
        why: "when it last looked for a newer version of itself",
    },
    Exception {
        command: "perf",
        contains: "/.debug",
        leaves: true,
        why: "opens its cache of programs for a lock",
    },
    Exception {
        command: "gsutil",
        contains: "/.config/gcloud",
        leaves: true,
        why: "logs, defaults and tokens of its own",
    },
    Exception {
        command: "gsutil",
        contains: "/.gsutil",
        leaves: true,
        why: "a folder for its state",
    },
    Exception {
        command: "gsutil",
        contains: "/dev/shm/",
        leaves: true,
        why: "what its processes share",
    },
    Exception {
        command: "gsutil",
        contains: "/tmp/",
        leaves: true,
        why: "what its processes share",
    },
    Exception {
        command: "gpg",
        contains: "/.gnupg",
        leaves: true,
        why: "its trust database and locks",
    },
    Exception {
        command: "fuser",
        contains: "connect(",
        leaves: false,
        why: "the C library asks the kernel which addresses this machine would use; nothing is sent",
    },
    Exception {
        command: "gsettings",
        contains: "/.cache",
        leaves: true,
        why: "a cache of the settings",
    },
    Exception {
        command: "i2cdetect",
        contains: "/dev/i2c",
        leaves: true,
        why: "the bus that it asks",
    },
    Exception {
        command: "ipmitool",
        contains: "/dev/ipmi",
        leaves: true,
        why: "the controller that it asks",
    },
    Exception {
        command: "ip ",
        contains: "nlmsg_len=32, nlmsg_type=RTM_NEWLINK",
        leaves: true,
        why: "an empty request that asks what the kernel knows",
    },
    Exception {
        command: "lslogins",
        contains: "/etc/.pwd.lock",
        leaves: true,
        why: "a lock",
    },
    Exception {
        command: "npm",
        contains: "/.npm",
        leaves: true,
        why: "logs and a cache of its own",
    },
    Exception {
        command: "pkcon",
        contains: "/dev/console",
        leaves: true,
        why: "looks whether there is one",
    },
    Exception {
        command: "rustup check",
        contains: "/.rustup/tmp",
        leaves: true,
        why: "what it downloaded to compare",
    },
    Exception {
        command: "tmux",
        contains: "/tmp/tmux-",
        leaves: true,
        why: "the folder of its sockets",
    },
];

/// Programs of the table that are scripts on this machine: how many are held to plain words or were read, and those that the table
/// calls compiled, which is wrong.
fn scripts() -> (usize, Vec<String>) {
    let (mut known, mut wrong) = (0, Vec::new());
    let folders: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
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
            let word = |key: &str| program.get(key).and_then(toml::Value::as_str).unwrap_or_default();
            for name in word("names").split_whitespace() {
                let is_script = folders.iter().any(|folder| {
                    fs::read(folder.join(name)).is_ok_and(|content| content.starts_with(b"#!"))
                });
                if is_script && word("any_text") == "compiled" {
                    wrong.push(name.to_owned());
                }
                known += usize::from(is_script);
            }
        }
    }
    (known, wrong)
}

fn main() -> ExitCode {
    let (scripts, called_compiled) = scripts();
    println!("{scripts} programs of the table are scripts on this machine.");
    println!(
        "Called compiled by the table, and scripts here: {}\n",
        if called_compiled.is_empty() {
            "none".to_owned()
        } else {
            called_compiled.join(", ")
        }
    );
    let arena = tempfile::Builder::new().prefix("audit").tempdir().unwrap();
    if !sandbox::confines(arena.path()).expect("a worker") {
        println!("cannot audit: without user namespaces nothing would hold back a command that writes");
        return ExitCode::FAILURE;
    }
    let here = |program: &str| {
        if program.starts_with('/') {
            Path::new(program).exists()
        } else {
            sandbox::has(program)
        }
    };
    let only: Vec<String> = std::env::args().skip(1).collect();
    let mut programs: BTreeMap<String, usize> = BTreeMap::new();
    let mut absent: BTreeSet<String> = BTreeSet::new();
    let mut commands = Vec::new();
    for text in table::allowed() {
        let program = table::program(&text).unwrap_or("(shell)").to_owned();
        if !only.is_empty() && !only.contains(&program) {
            continue;
        }
        if program == "(shell)" || here(&program) {
            *programs.entry(program).or_default() += 1;
            commands.push(text);
        } else {
            absent.insert(program);
        }
    }
    let jobs: Vec<PathBuf> = (0..commands.len())
        .map(|number| arena.path().join(format!("job-{number}")))
        .collect();
    for (job, text) in jobs.iter().zip(&commands) {
        fs::create_dir(job).unwrap();
        fs::write(job.join("text"), text).unwrap();
    }
    let script = format!("calls='{}'\n{WORKER}", trace::calls());
    sandbox::each(arena.path(), true, &script, &jobs).expect("workers");
    let covered = fs::read_to_string(arena.path().join("covered")).unwrap_or_default();
    let mut report = String::new();
    writeln!(
        report,
        "{} examples of {} programs were run. Layers over: {}. System calls: {}.",
        commands.len(),
        programs.len(),
        if covered.trim().is_empty() {
            "nothing"
        } else {
            covered.trim()
        },
        if sandbox::has("strace") {
            "watched"
        } else {
            "not watched (strace is not installed)"
        },
    )
    .unwrap();
    let run: Vec<String> = programs
        .iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    writeln!(report, "\nRun, with the number of examples: {}", run.join(", ")).unwrap();
    let absent: Vec<String> = absent.into_iter().collect();
    writeln!(report, "\nNot installed: {}", absent.join(", ")).unwrap();
    let mut tolerated: BTreeMap<String, usize> = BTreeMap::new();
    let mut secrets: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut found = Vec::new();
    for (job, text) in jobs.iter().zip(&commands) {
        let left = fs::read_to_string(job.join("left")).unwrap_or_default();
        let calls = fs::read(job.join("trace")).unwrap_or_default();
        let left = left
            .lines()
            .map(|path| format!("left /{}", path.split_once("/up/").map_or(path, |(_, path)| path)));
        let attempts = trace::attempts(&String::from_utf8_lossy(&calls), &classify(text), &|path| {
            Path::new(path).is_dir()
        });
        let mut wrong = BTreeSet::new();
        for attempt in &attempts {
            if let Attempt::Secret(path) = attempt {
                let program = table::program(text).unwrap_or("(shell)").to_owned();
                secrets.entry(program).or_default().insert(path.clone());
            }
        }
        let attempts = attempts
            .iter()
            .filter(|attempt| !matches!(attempt, Attempt::Secret(_)));
        for line in left.chain(attempts.map(ToString::to_string)) {
            let known = |known: &&Exception| known.tolerates(text, &line);
            match EVERYWHERE.iter().chain(SOMEWHERE).find(known) {
                Some(known) => {
                    let kept = if known.leaves { "" } else { ", leaves nothing" };
                    let what = format!("{} {}{kept}: {}", known.command, known.contains, known.why);
                    *tolerated.entry(what).or_default() += 1;
                }
                None => {
                    wrong.insert(line);
                }
            }
        }
        if !wrong.is_empty() {
            let lines: Vec<String> = wrong.into_iter().collect();
            found.push(format!("{text}\n    {}", lines.join("\n    ")));
        }
    }
    writeln!(
        report,
        "\nOpened files with secrets, unsaid by the verdict (what is opened need not be printed):"
    )
    .unwrap();
    for (program, paths) in secrets {
        let first: Vec<&str> = paths.iter().take(3).map(String::as_str).collect();
        writeln!(
            report,
            "  {program}: {} ({} files)",
            first.join(", "),
            paths.len()
        )
        .unwrap();
    }
    writeln!(report, "\nTolerated:").unwrap();
    for (what, times) in tolerated {
        writeln!(report, "  {times} times {what}").unwrap();
    }
    writeln!(
        report,
        "\n{} commands did more than their verdict says:\n{}",
        found.len(),
        found.join("\n")
    )
    .unwrap();
    print!("{report}");
    if found.is_empty() && called_compiled.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
