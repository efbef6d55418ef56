//! What a trace of system calls shows: attempts to write, to reach a socket, and to open a secret.

use std::collections::BTreeSet;

use interlock_shell::{Verdict, path_holds_secrets};

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
    "fsmount",
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
    "mq_unlink",
    "fallocate",
    "setxattrat",
    "removexattrat",
    "file_setattr",
    "mount_setattr",
    "fsconfig",
    "open_by_handle_at",
    "bpf",
    "iopl",
    "ioperm",
    "vhangup",
    "listen",
    "io_uring_setup",
    "fanotify_init",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "pidfd_send_signal",
];

/// System calls that change something, or reach something, with some arguments.
const DEPENDS: &[&str] = &[
    "open",
    "openat",
    "openat2",
    "kill",
    "tkill",
    "tgkill",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "ioctl",
    "connect",
    "bind",
    "fcntl",
    "flock",
    "keyctl",
    "adjtimex",
    "clock_adjtime",
    "setsockopt",
    "ptrace",
    "syslog",
    "shmget",
    "semget",
    "msgget",
    "shmctl",
    "semctl",
    "msgctl",
    "sched_setaffinity",
    "sched_setscheduler",
    "sched_setparam",
    "prlimit64",
];

/// What a name lookup of the C library asks before it reads `/etc/passwd` and its like. It works without.
const NAME_SERVICES: &[&str] = &[
    "/nscd/socket",
    "/run/systemd/userdb/",
    "/run/systemd/resolve/",
    "/var/lib/sss/pipes/",
    "/run/dbus/system_bus_socket",
];

/// Something that a command tried, and that its verdict does not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    Write(String),
    Connect(String),
    Secret(String),
}

impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Write(call) => write!(f, "tries to write: {call}"),
            Self::Connect(call) => write!(f, "tries to connect: {call}"),
            Self::Secret(path) => write!(f, "opens a secret: {path}"),
        }
    }
}

/// The calls to watch, as `strace -e trace=` takes them. Which calls exist depends on the processor: `?` lets one be missing.
pub(crate) fn calls() -> String {
    let calls: Vec<String> = CHANGES
        .iter()
        .chain(DEPENDS)
        .map(|call| format!("?{call}"))
        .collect();
    calls.join(",")
}

/// The calls of a trace (`strace -f -qq -y`) that a command with this verdict must not make. The names in a folder are no
/// secret.
pub(crate) fn attempts(trace: &str, verdict: &Verdict, is_folder: &dyn Fn(&str) -> bool) -> Vec<Attempt> {
    let own: BTreeSet<&str> = trace
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let mut found = Vec::new();
    for line in trace.lines() {
        let Some((_, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        if !verdict.sensitive
            && let Some(path) = opened(call).filter(|path| path_holds_secrets(path) && !is_folder(path))
        {
            found.push(Attempt::Secret(path.to_owned()));
        }
        let Some((name, arguments)) = call.split_once('(') else {
            continue;
        };
        if writes(name, arguments, &own) {
            found.push(Attempt::Write(call.to_owned()));
        } else if connects(name, arguments, verdict) {
            found.push(Attempt::Connect(call.to_owned()));
        }
    }
    found
}

/// The file that this call opened, where it did: not a folder, whose names may be listed.
fn opened(call: &str) -> Option<&str> {
    let open = ["open(", "openat(", "openat2(", "<... open"];
    if !open.iter().any(|start| call.starts_with(start))
        || call.contains("O_DIRECTORY")
        || call.contains("O_PATH")
    {
        return None;
    }
    let (_, result) = call.rsplit_once(" = ")?;
    let (number, path) = result.split_once('<')?;
    number.parse::<u32>().ok()?;
    path.strip_suffix('>').filter(|path| path.starts_with('/'))
}

fn writes(name: &str, arguments: &str, own: &BTreeSet<&str>) -> bool {
    let any = |words: &[&str]| words.iter().any(|word| arguments.contains(word));
    let target = arguments.split([',', ')']).next().unwrap_or_default();
    let of_another = target != "0" && !own.contains(target.trim_start_matches('-'));
    match name {
        "open" | "openat" | "openat2" => {
            // A file without a name is gone with the process.
            any(&["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"])
                && !arguments.contains("O_TMPFILE")
                && !harmless_device(arguments)
        }
        // The time limit of these runs, and of `timeout`, ends what it started itself. Signal 0 only asks whether the
        // process exists.
        "kill" | "tkill" | "tgkill" => !any(&[", 0)", ", 0 <unfinished"]) && of_another,
        "sched_setaffinity" | "sched_setscheduler" | "sched_setparam" => of_another,
        // The third argument is the new limit.
        "prlimit64" => {
            of_another
                && arguments
                    .split(", ")
                    .nth(2)
                    .is_some_and(|limit| !limit.starts_with("NULL"))
        }
        "sendto" | "sendmsg" => any(&[
            "nlmsg_type=RTM_NEW",
            "nlmsg_type=RTM_DEL",
            "nlmsg_type=RTM_SET",
            "nlmsg_type=NFNL_SUBSYS_NFTABLES<<8|NFT_MSG_NEW",
            "nlmsg_type=NFNL_SUBSYS_NFTABLES<<8|NFT_MSG_DEL",
        ]),
        "ioctl" => any(&[
            "SIOCS",
            "SIOCD",
            "SIOCADD",
            "BLKSET",
            "BLKDISCARD",
            "FS_IOC_SET",
            "RTC_SET",
        ]),
        "syslog" => any(&["CLEAR", "CONSOLE"]),
        // A name in the file system.
        "bind" => arguments.contains("sa_family=AF_UNIX") && any(&["sun_path=\"", "sun_path=\'"]),
        // What holds up others.
        "fcntl" => any(&[
            "F_SETLEASE, F_WRLCK",
            "F_SETLEASE, F_RDLCK",
            "F_NOTIFY",
            "l_type=F_WRLCK",
        ]),
        "flock" => any(&["LOCK_EX"]),
        "keyctl" => !any(&[
            "KEYCTL_GET",
            "KEYCTL_DESCRIBE",
            "KEYCTL_READ",
            "KEYCTL_SEARCH",
            "KEYCTL_CAPABILITIES",
        ]),
        // Without modes it only asks.
        "adjtimex" | "clock_adjtime" => !any(&["modes=0"]),
        "setsockopt" => any(&["IPT_SO_SET", "IP6T_SO_SET", "EBT_SO_SET", "ARPT_SO_SET"]),
        "ptrace" => any(&["PTRACE_ATTACH", "PTRACE_SEIZE", "PTRACE_POKE"]),
        "shmget" | "semget" | "msgget" => any(&["IPC_CREAT"]),
        "shmctl" | "semctl" | "msgctl" => any(&["IPC_RMID", "IPC_SET", "SETVAL", "SETALL"]),
        _ => CHANGES.contains(&name),
    }
}

/// Whether a socket is reached that the verdict does not name.
fn connects(name: &str, arguments: &str, verdict: &Verdict) -> bool {
    if !matches!(name, "connect" | "bind" | "sendto" | "sendmsg" | "sendmmsg") {
        return false;
    }
    if arguments.contains("sa_family=AF_INET") {
        return !verdict.network && !verdict.needs.network;
    }
    arguments.contains("sa_family=AF_UNIX")
        && !verdict.needs.unix
        && !NAME_SERVICES.iter().any(|service| arguments.contains(service))
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
