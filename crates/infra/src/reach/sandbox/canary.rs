//! The canary: a fixed command that tries to write and to connect. A sandbox counts only where it ran and failed at both.

use super::offer::Machine;
use super::profile::Profile;
use interlock_protocol::WallKind;

/// Tries to write where machines are written to, and to open sockets. Says what came of it, line by line.
pub(super) const CANARY: &str = r#"LC_ALL=C; export LC_ALL
echo canary=began
for at in / /etc /var /var/tmp /tmp /run /root /home /opt /srv /usr /boot "$HOME"; do
  [ -d "$at" ] || continue
  if (: > "$at/.interlock-canary") 2>/dev/null; then
    rm -f "$at/.interlock-canary"; echo "wrote=$at"
  else
    echo "refused=$at"
  fi
done
(: >> /proc/sys/kernel/domainname) 2>/dev/null && echo wrote=/proc/sys
mount -o remount,bind,rw / 2>/dev/null && echo wrote=mounts
first() { read -r line && echo "$1=$line" || echo "$1=connected"; }
if command -v bash >/dev/null 2>&1; then
  { bash -c 'exec 3<>/dev/tcp/127.0.0.1/1' 2>&1 >/dev/null; } | first tcp
elif command -v nc >/dev/null 2>&1; then
  { nc -w 1 127.0.0.1 1 2>&1 >/dev/null </dev/null; } | first tcp
else
  echo tcp=unknown
fi
if command -v perl >/dev/null 2>&1; then
  perl -e 'print socket(my $s, 1, 1, 0) ? "unix=made\n" : "unix=$!\n"'
elif command -v python3 >/dev/null 2>&1; then
  python3 -c 'import socket; socket.socket(socket.AF_UNIX)' >/dev/null 2>&1 && echo unix=made || echo unix=refused
else
  echo unix=unknown
fi
left=0
while read -r _ _ _ _ _ _ _ at; do
  case $at in /*) [ -S "$at" ] && left=$((left+1)) ;; esac
done < /proc/1/net/unix
echo "sockets=$left"
while read -r key value; do [ "$key" = Seccomp: ] && echo "seccomp=$value"; done < /proc/self/status
echo "netns=$(readlink /proc/self/ns/net)"
echo canary=ended"#;

/// What systems say where opening a socket or reaching the network is refused. "Connection refused" is not among them: that
/// is an answer of the network.
const BLOCKED: [&str; 4] = [
    "Operation not permitted",
    "Permission denied",
    "Network is unreachable",
    "Address family not supported",
];

/// Whether the canary shows that a profile holds; else why not.
pub(super) fn judge(machine: &Machine, profile: Profile, text: &str) -> Result<(), String> {
    let values = |key: &'static str| {
        text.lines()
            .filter_map(move |line| line.strip_prefix(key)?.strip_prefix('='))
    };
    let one = |key: &'static str| values(key).next_back().unwrap_or("nothing");
    if values("canary").ne(["began", "ended"]) {
        return Err("the test command did not run to its end".to_owned());
    }
    if let Some(at) = values("wrote").next() {
        return Err(format!("a file could be written in {at}"));
    }
    // Where nothing can be written anyway, a refusal shows nothing.
    let refused = values("refused").any(|at| machine.writable.iter().any(|writable| writable == at));
    if !refused {
        return Err("no folder was found that can be written to outside the sandbox".to_owned());
    }
    let filtered = one("seccomp") == "2";
    let apart = one("netns") != machine.network && one("netns").starts_with("net:");
    let tcp = one("tcp");
    let no_network = match tcp {
        "unknown" => match profile.kind() {
            WallKind::Unshare => apart,
            _ => filtered,
        },
        said => BLOCKED.iter().any(|blocked| said.contains(blocked)),
    };
    if !no_network {
        return Err(format!("a network connection could be tried ({tcp})"));
    }
    let no_unix = match profile.kind() {
        WallKind::Unshare => one("sockets") == "0",
        _ => filtered && one("unix") != "made",
    };
    if !no_unix {
        return Err("a Unix socket could be reached".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::seccomp::Processor;
    use super::*;

    const HELD: &str = "canary=began\nrefused=/\nrefused=/tmp\ntcp=bash: socket: Operation not permitted\n\
                        unix=Operation not permitted\nsockets=3\nseccomp=2\nnetns=net:[1]\ncanary=ended\n";

    fn machine() -> Machine {
        Machine {
            mark: "mark".to_owned(),
            superuser: true,
            processor: Some(Processor::X86_64),
            systemd: false,
            programs: Vec::new(),
            writable: vec!["/tmp".to_owned()],
            network: "net:[1]".to_owned(),
        }
    }

    #[test]
    fn a_profile_counts_only_where_the_canary_ran_and_failed_at_everything() {
        let apart = HELD
            .replace("net:[1]", "net:[2]")
            .replace("sockets=3", "sockets=0");
        let cases = [
            (Profile::Bubblewrap, HELD.to_owned(), true),
            (
                Profile::Unshare,
                apart.replace("Operation not permitted", "Network is unreachable"),
                true,
            ),
            (
                Profile::Unshare,
                apart
                    .replace("socket: Operation not permitted", "x")
                    .replace("tcp=bash: x", "tcp=unknown"),
                true,
            ),
            // Broken in one way each.
            (Profile::Bubblewrap, String::new(), false),
            (Profile::Bubblewrap, HELD.replace("canary=ended\n", ""), false),
            (
                Profile::Bubblewrap,
                HELD.replace("refused=/tmp", "wrote=/tmp"),
                false,
            ),
            (Profile::Bubblewrap, HELD.replace("refused=/tmp\n", ""), false),
            (
                Profile::Bubblewrap,
                HELD.replace("socket: Operation not permitted", "connect: Connection refused"),
                false,
            ),
            (
                Profile::Bubblewrap,
                HELD.replace("tcp=bash: socket: Operation not permitted", "tcp=connected"),
                false,
            ),
            (Profile::Bubblewrap, HELD.replace("seccomp=2", "seccomp=0"), false),
            (
                Profile::Bubblewrap,
                HELD.replace("unix=Operation not permitted", "unix=made"),
                false,
            ),
            (Profile::Unshare, HELD.to_owned(), false),
            (
                Profile::Unshare,
                HELD.replace("tcp=bash: socket: Operation not permitted", "tcp=unknown"),
                false,
            ),
        ];
        for (profile, text, holds) in cases {
            let judged = judge(&machine(), profile, &text);
            assert_eq!(judged.is_ok(), holds, "{profile:?} {judged:?}\n{text}");
        }
    }
}
