//! Ends everything that a read started, also what leaves its process group, its session and its parent.
//!
//! Killing one process after the other loses the race against a program that forks and exits without pause. So the
//! kernel is asked to end all of them at once, in the first of these ways that the machine offers:
//!
//! - **A signal scope** (Landlock, Linux 6.12): a process that is in the scope can signal only what is in it. The read
//!   runs in the scope of its supervisor, so a signal that the supervisor sends to *every* process reaches exactly the
//!   read. The kernel holds back every fork while it sends.
//! - **A control group** (cgroup version 2, Linux 5.14), where this user may make one: `cgroup.kill`.
//! - Else the processes are killed one after the other until none is left, and the reading says that this is weaker.
//!
//! A PID namespace would do as well, but a read in one answers wrongly: `/proc` shows the numbers of the machine, and
//! the program knows itself by another. `pgrep -f nginx` then finds itself, and `prlimit --pid 1` shows the limits of
//! the wrong process.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use landlock::{CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, RulesetError, RulesetStatus, Scope};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getppid, kill_process, kill_process_group, test_kill_process, wait,
};
use serde::{Deserialize, Serialize};

use crate::temporary::own_name;

/// How everything that a read started is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// One process after the other.
    OneByOne,
    /// At once, by a control group.
    ControlGroup,
    /// At once, by a signal scope.
    SignalScope,
}

impl Ending {
    /// The strongest one.
    pub const STRONGEST: Self = Self::SignalScope;

    /// What it does not enforce, as a phrase.
    pub(crate) const fn missing(self) -> Option<&'static str> {
        match self {
            Self::OneByOne => Some("ending processes that fork without pause"),
            Self::ControlGroup | Self::SignalScope => None,
        }
    }
}

/// The proof that this process is in a signal scope of its own: what it signals is of the read, or itself.
#[derive(Debug)]
pub(crate) struct SignalScope {
    _entered: (),
}

impl SignalScope {
    /// Enters a new scope. `None` where the kernel has none, or where it does not hold.
    pub(crate) fn enter() -> Option<Self> {
        let entered: Result<_, RulesetError> = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .scope(Scope::Signal)
            .and_then(Ruleset::create)
            .and_then(landlock::RulesetCreated::restrict_self);
        let enforced = entered.is_ok_and(|status| status.ruleset == RulesetStatus::FullyEnforced);
        // A signal to every process must be certain to stay inside. The parent and the first process are outside, and
        // this user could signal the parent if there were no scope.
        let refused = |process| test_kill_process(process) == Err(Errno::PERM);
        let holds = enforced && getppid().is_none_or(refused) && refused(Pid::INIT);
        holds.then_some(Self { _entered: () })
    }

    /// Kills everything in the scope but this process.
    #[expect(clippy::unused_self, reason = "the proof that the signal stays inside")]
    fn kill(&self) {
        // "Minus one": every process that may be signalled. Nothing is left to kill if this fails.
        let _ = kill_process_group(Pid::INIT, Signal::KILL);
    }
}

/// A control group of a read's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// Makes one below the group of this process. `None` where that is not possible.
    pub(crate) fn make() -> Option<Self> {
        let own = own_group(
            &fs::read_to_string("/proc/self/mountinfo").ok()?,
            &fs::read_to_string("/proc/self/cgroup").ok()?,
        )?;
        // Moving a process needs this right in the group that both lie in.
        accessat(CWD, own.join("cgroup.procs"), Access::WRITE_OK, AtFlags::EACCESS).ok()?;
        let group = Self {
            path: own.join(own_name()),
        };
        DirBuilder::new().mode(0o755).create(&group.path).ok()?;
        if group.path.join("cgroup.kill").exists() {
            Some(group)
        } else {
            group.remove();
            None
        }
    }

    /// Moves this process into it.
    pub(crate) fn join(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), "0")
    }

    fn kill(&self) {
        // What is left is killed one by one.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Removes it, if it is empty.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// The folder of the control group, version 2, of the process that these files of `/proc` are of.
fn own_group(mounts: &str, groups: &str) -> Option<PathBuf> {
    let within = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, file_system) = line.split_once(" - ")?;
        if !file_system.starts_with("cgroup2 ") {
            return None;
        }
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        // A group outside of what is mounted begins with `/..`.
        let below = Path::new(within).strip_prefix(root).ok()?;
        let plain = below
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        plain.then(|| Path::new(point).join(below))
    })
}

/// Kills and waits until nothing of a read is left. Every process of it that lost its parent is a child of this one.
pub(crate) fn end_all(scope: Option<&SignalScope>, group: Option<&ControlGroup>) {
    if let Some(scope) = scope {
        scope.kill();
    }
    if let Some(group) = group {
        group.kill();
    }
    loop {
        // Everything that was killed at once only has to be waited for. One by one, each look at the children may find new
        // ones, so whatever has ended is taken leave of before the next look.
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => continue,
            Ok(None) => {}
            Err(_) => return,
        }
        for child in children() {
            let _ = kill_process(child, Signal::KILL);
        }
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// The children of this process.
pub(crate) fn children() -> Vec<Pid> {
    numbers(&fs::read_to_string("/proc/thread-self/children").unwrap_or_default())
}

pub(crate) fn numbers(text: &str) -> Vec<Pid> {
    text.split_ascii_whitespace()
        .filter_map(|number| Pid::from_raw(number.parse().ok()?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_control_group_is_found_where_it_is_mounted() {
        let unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "31 30 0:27 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
                      32 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let bound = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        let cases = [
            (unified, "0::/\n", Some("/sys/fs/cgroup")),
            (
                unified,
                "0::/system.slice/interlock.service\n",
                Some("/sys/fs/cgroup/system.slice/interlock.service"),
            ),
            (
                hybrid,
                "4:memory:/a\n1:name=systemd:/a\n0::/a\n",
                Some("/sys/fs/cgroup/unified/a"),
            ),
            (bound, "0::/docker/abc/x\n", Some("/sys/fs/cgroup/x")),
            (bound, "0::/elsewhere\n", None),
            (unified, "0::/../elsewhere\n", None),
            (unified, "4:memory:/a\n", None),
            ("", "0::/\n", None),
        ];
        for (mounts, groups, expected) in cases {
            assert_eq!(own_group(mounts, groups), expected.map(PathBuf::from), "{groups}");
        }
    }
}
