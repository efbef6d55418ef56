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
