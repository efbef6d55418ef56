//! The read-only sandboxes: fixed argument vectors around a command, which stays one word each.
//!
//! All of them show the machine as it is: its files (read-only), its processes, its sockets' tables. A private `/tmp` or an
//! empty process list would be a wall too, and a reading that is not true.

use std::fmt::Write as _;
use std::time::Duration;

use interlock_protocol::{SocketKind, WallKind};

use super::offer::Machine;
use super::seccomp;
use crate::reach::{Errors, Stage};
use crate::ssh::quoted;

/// The group that a sandboxed superuser is in, and no other process: without it the kernel would let the command reach the
/// files of other processes of the superuser through `/proc/PID/root`.
const LONE_GROUP: &str = "61998";
/// A group that systemd knows on every system.
const SYSTEMD_GROUP: &str = "65534";
/// How a command ends that was meant for another boot of the machine. Nothing was run then.
pub(super) const OTHER_BOOT: i32 = 96;
/// What it says then.
pub(super) const OTHER_BOOT_TEXT: &str = "interlock: the machine was started again";

/// A way to run a command so that it cannot write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    /// A transient unit of systemd.
    Systemd,
    /// `bwrap` as the superuser, who keeps the right to read everything.
    BubblewrapSuperuser,
    /// `bwrap` in a user namespace.
    Bubblewrap,
    /// `unshare` as the superuser, who keeps the right to read everything.
    UnshareSuperuser,
    /// `unshare` in a user namespace.
    Unshare,
}

/// What a sandboxed program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// Nothing.
    Nothing,
    /// What the program before it printed.
    Piped,
}

impl Input {
    /// Runs the rest of the arguments.
    const fn run(self) -> &'static str {
        match self {
            Self::Nothing => "exec \"$@\" </dev/null",
            Self::Piped => "exec \"$@\"",
        }
    }
}

impl Profile {
    /// All of them, the best first.
    pub(super) const ALL: [Self; 5] = [
        Self::Systemd,
        Self::BubblewrapSuperuser,
        Self::Bubblewrap,
        Self::UnshareSuperuser,
        Self::Unshare,
    ];

    /// What enforces it, as people are told.
    pub(super) const fn kind(self) -> WallKind {
        match self {
            Self::Systemd => WallKind::SystemdRun,
            Self::BubblewrapSuperuser | Self::Bubblewrap => WallKind::Bubblewrap,
            Self::UnshareSuperuser | Self::Unshare => WallKind::Unshare,
        }
    }

    /// Whether it is worth trying on this machine.
    pub(super) fn fits(self, machine: &Machine) -> bool {
        match self {
            Self::Systemd => machine.systemd && machine.superuser && machine.has("systemd-run"),
            Self::BubblewrapSuperuser => {
                machine.superuser
                    && machine.has("bwrap")
                    && machine.has("setpriv")
                    && machine.processor.is_some()
            }
            Self::Bubblewrap => machine.has("bwrap") && machine.processor.is_some(),
            Self::UnshareSuperuser => machine.superuser && Self::Unshare.fits(machine),
            Self::Unshare => ["unshare", "setpriv", "mount"]
                .iter()
                .all(|program| machine.has(program)),
        }
    }

    /// The kinds of sockets that a command can open under it. `unshare` cannot tell internet from netlink.
    pub(super) fn opened(self, sockets: &[SocketKind]) -> Vec<SocketKind> {
        let mut opened: Vec<SocketKind> = sockets.to_vec();
        let network = [SocketKind::Netlink, SocketKind::Network];
        if self.kind() == WallKind::Unshare && network.iter().any(|kind| sockets.contains(kind)) {
            opened.extend(network);
        }
        opened.sort_unstable();
        opened.dedup();
        opened
    }

    /// The command under this profile, on this machine and on this boot of it.
    pub(super) fn wrap(
        self,
        machine: &Machine,
        sockets: &[SocketKind],
        argv: &[String],
        wall: Duration,
    ) -> Vec<String> {
        self.around((machine, sockets, argv), Input::Nothing, wall)
    }

    /// The programs of a pipeline, each under this profile with the sockets that it needs itself. Only our own words and
    /// quoted ones are read by the shell that connects them.
    pub(super) fn wrap_pipeline(self, machine: &Machine, stages: &[Stage], wall: Duration) -> Vec<String> {
        let programs = stages.iter().enumerate().map(|(at, stage)| {
            let input = if at == 0 { Input::Nothing } else { Input::Piped };
            let mut text = quoted(&self.around((machine, &stage.sockets, &stage.argv), input, wall));
            text.push_str(match stage.errors {
                Errors::Kept => "",
                Errors::Dropped => " 2>/dev/null",
                Errors::Joined => " 2>&1",
            });
            text
        });
        let script = programs.collect::<Vec<_>>().join(" | ");
        vec!["sh".to_owned(), "-c".to_owned(), script]
    }

    fn around(
        self,
        (machine, sockets, argv): (&Machine, &[SocketKind], &[String]),
        input: Input,
        wall: Duration,
    ) -> Vec<String> {
        let mut words = match self {
            Self::Systemd => around_systemd(machine, sockets, input, wall),
            Self::BubblewrapSuperuser | Self::Bubblewrap => self.around_bubblewrap(machine, sockets, input),
            Self::UnshareSuperuser | Self::Unshare => self.around_unshare(machine, sockets, input),
        };
        words.extend(argv.iter().cloned());
        words
    }

    fn around_bubblewrap(self, machine: &Machine, sockets: &[SocketKind], input: Input) -> Vec<String> {
        let filter = machine
            .processor
            .map(|processor| printable(&seccomp::filter(processor, sockets)))
            .unwrap_or_default();
        let with_filter = match input {
            Input::Nothing => WITH_FILTER,
            Input::Piped => WITH_FILTER_PIPED,
        };
        let script = format!("{SAME_BOOT}{with_filter}");
        let mut words = vec!["sh".to_owned(), "-c".to_owned(), script, "interlock".to_owned()];
        words.extend([machine.mark.clone(), filter]);
        if self == Self::BubblewrapSuperuser {
            words.extend(fixed(&["setpriv", "--regid", LONE_GROUP, "--clear-groups", "--"]));
        }
        words.push("bwrap".to_owned());
        if self == Self::Bubblewrap {
            words.push("--unshare-user".to_owned());
        }
        // No process namespace: `ps` would not see the machine. The filter is what keeps signals in.
        words.extend(fixed(&[
            "--unshare-ipc",
            "--unshare-uts",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--setenv",
            "TMPDIR",
            "/dev/shm",
            "--cap-drop",
            "ALL",
        ]));
        if self == Self::BubblewrapSuperuser {
            words.extend(fixed(&["--cap-add", "CAP_DAC_READ_SEARCH"]));
        }
        words.extend(fixed(&["--seccomp", "3", "--"]));
        words
    }

    fn around_unshare(self, machine: &Machine, sockets: &[SocketKind], input: Input) -> Vec<String> {
        let opened = self.opened(sockets);
        let script = format!("{SAME_BOOT}{}", input.run());
        let mut words = vec!["sh".to_owned(), "-c".to_owned(), script, "interlock".to_owned()];
        words.push(machine.mark.clone());
        words.push("unshare".to_owned());
        if self == Self::Unshare {
            words.extend(fixed(&["--user", "--map-root-user"]));
        }
        words.extend(fixed(&[
            "--mount",
            "--propagation",
            "private",
            "--ipc",
            "--uts",
            "--pid",
            "--fork",
            "--kill-child=KILL",
        ]));
        if !opened.contains(&SocketKind::Network) {
            words.push("--net".to_owned());
        }
        words.extend(fixed(&["--", "sh", "-c", READ_ONLY_MOUNTS, "interlock"]));
        let unix = if opened.contains(&SocketKind::Unix) {
            "open"
        } else {
            "closed"
        };
        words.extend(fixed(&[unix, "setpriv"]));
        if self == Self::UnshareSuperuser {
            words.extend(fixed(&["--regid", LONE_GROUP, "--clear-groups"]));
        }
        words.extend(fixed(&[
            "--no-new-privs",
            "--inh-caps=-all",
            "--bounding-set=-all,+dac_read_search",
            "--",
        ]));
        words
    }
}

fn around_systemd(machine: &Machine, sockets: &[SocketKind], input: Input, wall: Duration) -> Vec<String> {
    let script = format!("{SAME_BOOT}{}", input.run());
    let mut words = vec!["sh".to_owned(), "-c".to_owned(), script, "interlock".to_owned()];
    words.push(machine.mark.clone());
    words.extend(fixed(&[
        "systemd-run",
        "--pipe",
        "--wait",
        "--collect",
        "--quiet",
        "--service-type=exec",
        "--description=Interlock: a command that only reads",
    ]));
    let properties = [
        "ProtectSystem=strict",
        "ProtectHome=read-only",
        "ReadOnlyPaths=/",
        "PrivateDevices=yes",
        "PrivateIPC=yes",
        "NoNewPrivileges=yes",
        "ProtectKernelTunables=yes",
        "ProtectKernelModules=yes",
        "ProtectControlGroups=yes",
        "ProtectClock=yes",
        "ProtectHostname=yes",
        "RestrictNamespaces=yes",
        "RestrictRealtime=yes",
        "RestrictSUIDSGID=yes",
        "LockPersonality=yes",
        "KeyringMode=private",
        "SystemCallArchitectures=native",
        "SystemCallFilter=@system-service",
        "SystemCallFilter=~kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal @keyring @privileged \
         ptrace process_vm_writev io_uring_setup open_by_handle_at setpriority ioprio_set",
        "SystemCallErrorNumber=EPERM",
        "CapabilityBoundingSet=CAP_DAC_READ_SEARCH",
        "UMask=0077",
        "MemoryMax=1G",
        "TasksMax=128",
        "CPUQuota=100%",
        "TimeoutStopSec=2",
    ];
    words.extend(properties.map(|property| format!("--property={property}")));
    words.push(format!("--property=Group={SYSTEMD_GROUP}"));
    words.push(format!("--property=RuntimeMaxSec={}", wall.as_secs().max(1)));
    words.push(format!(
        "--property=RestrictAddressFamilies={}",
        families(sockets)
    ));
    words.push("--".to_owned());
    words
}

/// As systemd names families of addresses.
fn families(sockets: &[SocketKind]) -> String {
    let mut names: Vec<&str> = sockets
        .iter()
        .flat_map(|kind| match kind {
            SocketKind::Unix => ["AF_UNIX"].as_slice(),
            SocketKind::Netlink => &["AF_NETLINK"],
            SocketKind::Network => &["AF_INET", "AF_INET6", "AF_NETLINK"],
        })
        .copied()
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(" ")
    }
}

fn fixed(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Bytes as a format of `printf`: nothing of it is read in any other way.
fn printable(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a String cannot fail.
        let _ = write!(text, "\\{byte:03o}");
        text
    })
}

/// Goes on only on the boot that the sandbox was tried on. The mark is the first argument.
const SAME_BOOT: &str = r#"set -f
read -r boot < /proc/sys/kernel/random/boot_id
read -r stat < /proc/1/stat
count=0; start=
for word in ${stat##*) }; do count=$((count+1)); [ "$count" = 20 ] && start=$word; done
[ "$boot/$start" = "$1" ] || { echo 'interlock: the machine was started again' >&2; exit 96; }
shift
"#;

/// Hands the filter, the next argument, to `bwrap` as an open file.
const WITH_FILTER: &str = r#"filter=$1; shift
printf "$filter" | exec "$@" 3<&0 </dev/null"#;

/// The same for a program that reads a pipe.
const WITH_FILTER_PIPED: &str = r#"filter=$1; shift
exec 4<&0
printf "$filter" | exec "$@" 3<&0 <&4 4<&-"#;

/// Makes every mount read-only, in a mount namespace of its own, and runs the rest of the arguments. Unix sockets that
/// exist now are covered, unless the first argument says `open`; devices cannot be opened, but for the harmless ones. `mount -n`
/// keeps no notes in `/run`.
const READ_ONLY_MOUNTS: &str = r#"set -f
fail() { echo "interlock: the sandbox could not be set up: $1" >&2; exit 97; }
if [ "$1" != open ]; then
  while read -r _ _ _ _ _ _ _ at; do
    case $at in /*) ;; *) continue ;; esac
    [ -S "$at" ] || continue
    mount -n --bind /dev/null "$at" || fail "$at"
  done < /proc/1/net/unix
fi
shift
for device in null zero full random urandom tty; do
  [ -c "/dev/$device" ] || continue
  mount -n --bind "/dev/$device" "/dev/$device" || fail "/dev/$device"
done
if [ -d /dev/shm ]; then
  mount -n -t tmpfs -o nosuid,nodev,noexec,size=16m,mode=1777 tmpfs /dev/shm || fail /dev/shm
  TMPDIR=/dev/shm; export TMPDIR
fi
while read -r _ _ _ _ at options _; do
  case $at in *\\*) at=$(printf '%b' "$(printf '%s' "$at" | sed 's/\\\([0-7]\)/\\0\1/g')") ;; esac
  case $at in
    /dev/shm) continue ;;
    /dev/null|/dev/zero|/dev/full|/dev/random|/dev/urandom|/dev/tty) more=ro ;;
    *) more=ro,nodev ;;
  esac
  [ -e "$at" ] || continue
  mount -n -o "remount,bind,${options#r?},$more" "$at" || fail "$at"
done < /proc/self/mountinfo
exec "$@""#;

#[cfg(test)]
mod tests {
    use super::super::seccomp::Processor;
    use super::*;

    fn machine() -> Machine {
        Machine {
            mark: "8a1c2b7e-0000-4000-8000-000000000000/21".to_owned(),
            superuser: true,
            processor: Some(Processor::X86_64),
            systemd: true,
            programs: ["systemd-run", "bwrap", "unshare", "setpriv", "mount", "timeout"]
                .map(str::to_owned)
                .to_vec(),
            writable: vec!["/tmp".to_owned()],
            network: "net:[1]".to_owned(),
        }
    }

    fn wrapped(profile: Profile, sockets: &[SocketKind]) -> String {
        let argv = fixed(&["sh", "-c", "cat /etc/hosts; $(id) 'x'"]);
        let words = profile.wrap(&machine(), sockets, &argv, Duration::from_secs(30));
        assert_eq!(words.get(words.len() - 3..), Some(argv.as_slice()));
        words.join("\n")
    }

    #[test]
    fn the_arguments_of_systemd_run_are_these() {
        insta::assert_snapshot!(wrapped(Profile::Systemd, &[]));
        insta::assert_snapshot!(wrapped(
            Profile::Systemd,
            &[SocketKind::Unix, SocketKind::Network]
        ));
    }

    #[test]
    fn the_arguments_of_bwrap_are_these() {
        insta::assert_snapshot!(wrapped(Profile::BubblewrapSuperuser, &[]));
        insta::assert_snapshot!(wrapped(Profile::Bubblewrap, &[SocketKind::Unix]));
    }

    #[test]
    fn the_arguments_of_unshare_are_these() {
        insta::assert_snapshot!(wrapped(Profile::UnshareSuperuser, &[]));
        insta::assert_snapshot!(wrapped(Profile::Unshare, &[SocketKind::Netlink]));
    }

    #[test]
    fn each_program_of_a_pipeline_gets_a_sandbox_of_its_own() {
        let stages = [
            Stage {
                argv: fixed(&["docker", "ps"]),
                errors: Errors::Joined,
                sockets: vec![SocketKind::Unix],
            },
            Stage {
                argv: fixed(&["grep", "it's; $(id)"]),
                errors: Errors::Dropped,
                sockets: Vec::new(),
            },
        ];
        let words = Profile::UnshareSuperuser.wrap_pipeline(&machine(), &stages, Duration::from_secs(30));
        insta::assert_snapshot!(words.join("\n"));
    }

    #[test]
    fn what_is_missing_on_a_machine_is_not_tried() {
        let fit = |machine: &Machine| -> Vec<Profile> {
            Profile::ALL
                .into_iter()
                .filter(|profile| profile.fits(machine))
                .collect()
        };
        assert_eq!(fit(&machine()), Profile::ALL);
        let user = Machine {
            superuser: false,
            ..machine()
        };
        assert_eq!(fit(&user), [Profile::Bubblewrap, Profile::Unshare]);
        let other = Machine {
            processor: None,
            systemd: false,
            ..machine()
        };
        assert_eq!(fit(&other), [Profile::UnshareSuperuser, Profile::Unshare]);
        let bare = Machine {
            programs: Vec::new(),
            ..machine()
        };
        assert_eq!(fit(&bare), []);
    }
}
