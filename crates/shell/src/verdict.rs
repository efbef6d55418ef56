//! The words in which an analysis answers.

use serde::{Deserialize, Serialize};

/// Whether a command is provably non-mutating.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Non-mutating by construction: no value of its arguments could make it write.
    ReadOnlyCertain,
    /// Non-mutating because its arguments or its content were inspected.
    ReadOnlyConditional,
    /// Writes, or could not be proven not to.
    WriteOrUnknown,
}

impl Intent {
    /// The stable word for this intent, as it appears in JSON and in labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnlyCertain => "read_only_certain",
            Self::ReadOnlyConditional => "read_only_conditional",
            Self::WriteOrUnknown => "write_or_unknown",
        }
    }
}

/// How much harm a command could do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Changes nothing.
    ReadOnly,
    /// Changes little, locally and reversibly.
    LowWrite,
    /// Changes files or state in a way that is usually recoverable; also what is not understood.
    MediumWrite,
    /// Destroys, escalates, restarts, reconfigures.
    HighWrite,
}

impl Risk {
    /// The stable word for this risk, as it appears in JSON and in labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::LowWrite => "low_write",
            Self::MediumWrite => "medium_write",
            Self::HighWrite => "high_write",
        }
    }
}

/// Why a command might never end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Asks for a terminal (`docker exec -it`).
    TtyFlag,
    /// Pages or edits and waits for keys (`less`, `vim`).
    Pager,
    /// Follows, samples or reads without end (`tail -f`, `top`).
    UnboundedStream,
    /// Waits for commands on its input (`psql`, `python`, `ssh host`).
    InteractiveRepl,
}

impl Category {
    /// The stable word for this category, as it appears in JSON and in labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TtyFlag => "tty_flag",
            Self::Pager => "pager",
            Self::UnboundedStream => "unbounded_stream",
            Self::InteractiveRepl => "interactive_repl",
        }
    }
}

/// One sentence of the explanation, with the part of the command that it is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reason {
    /// The part of the command that decided, as the user wrote it where that is known.
    pub part: String,
    /// What that part does or could do.
    pub why: String,
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.part.is_empty() {
            write!(f, "{}", self.why)
        } else {
            write!(f, "`{}`: {}", self.part, self.why)
        }
    }
}

/// The kinds of sockets that a command needs to do its reading, as the table declares them.
///
/// Where a read runs in a sandbox, every kind that is not set here can be denied. Name lookups (`ls -l`, `ps`, `id`) try
/// a Unix socket too, work without it, and so declare nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one flag per address family, each of them independent"
)]
pub struct Needs {
    /// Unix sockets: a daemon on the same machine (`docker ps`, `systemctl status`).
    pub unix: bool,
    /// Internet sockets: another host, a service on localhost, or an ioctl on such a socket (`curl`, `ifconfig`).
    pub network: bool,
    /// Netlink sockets: the kernel's network tables (`ip`, `ss`, `nft`).
    pub netlink: bool,
    /// Packet sockets: raw frames of an interface (`tcpdump`, `arping`).
    pub packet: bool,
}

impl Needs {
    /// No sockets at all.
    pub const NONE: Self = Self {
        unix: false,
        network: false,
        netlink: false,
        packet: false,
    };

    /// What either of them needs.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self {
            unix: self.unix || other.unix,
            network: self.network || other.network,
            netlink: self.netlink || other.netlink,
            packet: self.packet || other.packet,
        }
    }

    /// What both of them need.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self {
            unix: self.unix && other.unix,
            network: self.network && other.network,
            netlink: self.netlink && other.netlink,
            packet: self.packet && other.packet,
        }
    }

    /// Whether it needs no sockets.
    pub const fn is_none(self) -> bool {
        !(self.unix || self.network || self.netlink || self.packet)
    }
}

/// What a shell command can do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent findings, each of them asked by its name"
)]
pub struct Verdict {
    /// Whether it is provably read-only.
    pub intent: Intent,
    /// How much harm it could do.
    pub risk: Risk,
    /// Whether it ends by itself or by an explicit bound.
    pub bounded: bool,
    /// What kind of endlessness an unbounded command has.
    pub category: Option<Category>,
    /// Whether it prints secrets: private keys, password hashes, cluster secrets, the environment.
    pub sensitive: bool,
    /// Whether it reaches other hosts.
    pub network: bool,
    /// The hosts that it reaches, where they are written out. Empty while `network` is set means: not known.
    pub hosts: Vec<String>,
    /// Whether it is a read only inside a sandbox: one of its programs runs code that the data which it reads can name (the
    /// configuration of a repository, the plugins of a folder). Where no sandbox holds, it is not a read.
    pub needs_sandbox: bool,
    /// Whether it hands a command to another machine, a container, another namespace or a daemon, so that a sandbox around
    /// this command does not hold what runs there.
    pub hands_over: bool,
    /// The sockets that its programs need, all of them together.
    pub needs: Needs,
    /// The sockets that every one of its programs needs. Where one sandbox holds the whole command, it opens these and no
    /// others.
    pub shared_needs: Needs,
    /// Why, most decisive first.
    pub reasons: Vec<Reason>,
    /// An equivalent that ends, for an unbounded read.
    pub rewrite: Option<String>,
}

impl Verdict {
    /// Whether the read tool may run it: provably read-only and bounded. Says nothing about secrets or network.
    ///
    /// Where [`Verdict::needs_sandbox`] is set, that holds inside a sandbox and nowhere else.
    pub const fn is_bounded_read(&self) -> bool {
        !matches!(self.intent, Intent::WriteOrUnknown) && self.bounded
    }

    /// Whether it is a bounded read also where no sandbox holds it.
    pub const fn is_bounded_read_anywhere(&self) -> bool {
        self.is_bounded_read() && !self.needs_sandbox
    }
}
