//! The walls that a reading passed: the analysis of its command, and the sandbox that the command ran in.

use crate::word::words;
use serde::{Deserialize, Serialize};

words! {
    /// Why a command was taken for a read: the first wall.
    AnalysisWall {
        /// The shell analysis of the whole command found nothing that writes.
        Read = "read",
        /// The command is a fixed form of Interlock's own; a model can choose only checked operands.
        FixedForm = "fixed_form",
    }
}

words! {
    /// What enforces a read-only sandbox.
    WallKind {
        /// Landlock and seccomp, set by `interlock-confine`.
        LandlockSeccomp = "landlock_seccomp",
        /// A transient unit of systemd, started by `systemd-run`.
        SystemdRun = "systemd_run",
        /// `bwrap`.
        Bubblewrap = "bubblewrap",
        /// `unshare` with read-only mounts.
        Unshare = "unshare",
    }
}

words! {
    /// A kind of socket that a sandboxed program can be allowed to open.
    SocketKind {
        /// Unix sockets: the Docker Engine, D-Bus.
        Unix = "unix",
        /// Netlink sockets: interfaces, routes, socket tables.
        Netlink = "netlink",
        /// Internet sockets.
        Network = "network",
    }
}

/// The sandbox that a command ran in: the second wall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
pub enum SandboxWall {
    /// The system refused every write of the command.
    Enforced {
        /// What enforced it.
        by: WallKind,
        /// The kinds of sockets that the command could open, because its programs need them. All others were refused.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sockets: Vec<SocketKind>,
        /// What this system cannot enforce, each as a phrase. Empty where everything is enforced.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
    },
    /// There was no sandbox: only the analysis stood before the command.
    None {
        /// Why.
        reason: String,
    },
}

impl SandboxWall {
    /// Whether a sandbox was enforced.
    pub const fn is_enforced(&self) -> bool {
        matches!(self, Self::Enforced { .. })
    }
}

/// The walls that a reading passed. Only a reading for which a command ran has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walls {
    /// Why the command was taken for a read.
    pub analysis: AnalysisWall,
    /// The sandbox that it ran in.
    pub sandbox: SandboxWall,
}

impl WallKind {
    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LandlockSeccomp => "Landlock and seccomp",
            Self::SystemdRun => "systemd-run",
            Self::Bubblewrap => "bubblewrap",
            Self::Unshare => "unshare",
        }
    }
}

impl SandboxWall {
    /// Which sandbox it is and what it allows, as a phrase.
    pub fn phrase(&self) -> String {
        let (by, sockets, missing) = match self {
            Self::Enforced { by, sockets, missing } => (by, sockets, missing),
            Self::None { reason } => return format!("no sandbox: {reason}"),
        };
        let has = |kind| sockets.contains(&kind);
        let access = match (
            has(SocketKind::Network),
            has(SocketKind::Unix),
            has(SocketKind::Netlink),
        ) {
            (true, true, _) => "network and Unix sockets allowed",
            (true, false, _) => "network allowed, no Unix sockets",
            (false, true, _) => "Unix sockets allowed, no network",
            (false, false, true) => "netlink allowed, no network",
            (false, false, false) => "no network",
        };
        let mut phrase = format!("{}, {access}", by.name());
        if !missing.is_empty() {
            phrase.push_str("; not enforced: ");
            phrase.push_str(&missing.join(", "));
        }
        phrase
    }
}

impl Walls {
    /// What people are told beside a reading.
    pub fn sentence(&self) -> String {
        match (&self.sandbox, self.analysis) {
            (SandboxWall::Enforced { .. }, _) => format!("Ran read-only: {}", self.sandbox.phrase()),
            (SandboxWall::None { .. }, AnalysisWall::Read) => {
                "No sandbox held the command: the command analysis was the only check".to_owned()
            }
            (SandboxWall::None { .. }, AnalysisWall::FixedForm) => {
                "No sandbox held the command: a fixed command of Interlock was run".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_in_plain_words() {
        use SocketKind::{Netlink, Network, Unix};
        let ran = |by, sockets: &[SocketKind], missing: &[&str]| SandboxWall::Enforced {
            by,
            sockets: sockets.to_vec(),
            missing: missing.iter().map(|text| (*text).to_owned()).collect(),
        };
        let none = || SandboxWall::None {
            reason: "it has no bwrap".to_owned(),
        };
        let cases = [
            (
                AnalysisWall::Read,
                ran(WallKind::Bubblewrap, &[], &[]),
                "Ran read-only: bubblewrap, no network",
            ),
            (
                AnalysisWall::FixedForm,
                ran(WallKind::Unshare, &[Netlink], &[]),
                "Ran read-only: unshare, netlink allowed, no network",
            ),
            (
                AnalysisWall::Read,
                ran(WallKind::SystemdRun, &[Unix], &[]),
                "Ran read-only: systemd-run, Unix sockets allowed, no network",
            ),
            (
                AnalysisWall::Read,
                ran(WallKind::LandlockSeccomp, &[Unix, Network], &["signals"]),
                "Ran read-only: Landlock and seccomp, network and Unix sockets allowed; not enforced: signals",
            ),
            (
                AnalysisWall::Read,
                none(),
                "No sandbox held the command: the command analysis was the only check",
            ),
            (
                AnalysisWall::FixedForm,
                none(),
                "No sandbox held the command: a fixed command of Interlock was run",
            ),
        ];
        for (analysis, sandbox, expected) in cases {
            assert_eq!(Walls { analysis, sandbox }.sentence(), expected);
        }
    }
}
