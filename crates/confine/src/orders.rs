//! What is ordered, and what is reported. Strict JSON: `exec` and this program are installed together.

use std::collections::BTreeMap;
use std::path::PathBuf;

use interlock_protocol::SocketKind;
use serde::{Deserialize, Serialize};

use crate::ending::{ControlGroup, Ending};

/// The version of the orders. Another one is refused.
pub const VERSION: u32 = 2;

/// What a command may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Nothing.
    ReadOnly,
    /// Everything but what is protected.
    ReadWrite,
}

/// What to do where the kernel enforces no sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Run nothing.
    #[default]
    Required,
    /// Run, and say that there was none.
    WhereAvailable,
}

/// Where the error stream of a stage goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stderr {
    /// To the command's error stream.
    #[default]
    Kept,
    /// Nowhere: `2>/dev/null`.
    Null,
    /// Where the stage's output goes: `2>&1`.
    Output,
}

/// One program of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The argument vector; its first word is the program.
    pub argv: Vec<String>,
    /// The kinds of sockets that a read may open. A write may open all.
    pub sockets: Vec<SocketKind>,
    /// Where its error stream goes.
    pub stderr: Stderr,
}

/// How much a read may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Processor time of each process.
    pub cpu_seconds: u64,
    /// Memory of each process.
    pub memory_bytes: u64,
    /// Processes and threads of the command. One that has more is ended.
    pub processes: u64,
    /// Open files of each process.
    pub open_files: u64,
    /// The size of a temporary file.
    pub file_bytes: u64,
}

/// What to run, and under what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// [`VERSION`].
    pub version: u32,
    /// What the command may change.
    pub profile: Profile,
    /// What to do without a sandbox.
    pub policy: Policy,
    /// The folder to run in.
    pub folder: PathBuf,
    /// The whole environment of the command.
    pub env: BTreeMap<String, String>,
    /// The pipeline; at least one.
    pub stages: Vec<Stage>,
    /// Interlock's own files, which the command may not reach.
    pub protected: Vec<PathBuf>,
    /// Where a read gets a temporary folder of its own, which is removed afterwards.
    pub temporary: PathBuf,
    /// How much a read may use.
    pub resources: Resources,
    /// The strongest way in which a read may be ended. The machine may offer only a weaker one.
    pub ending: Ending,
}

/// What one stage is told, as its first argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StageOrders {
    pub(crate) version: u32,
    pub(crate) profile: Profile,
    pub(crate) policy: Policy,
    pub(crate) sockets: Vec<SocketKind>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) temporary: Option<PathBuf>,
    pub(crate) group: Option<ControlGroup>,
    pub(crate) resources: Resources,
    /// The process that must be the parent.
    pub(crate) supervisor: i32,
    /// The descriptor that the stage reports on.
    pub(crate) report: i32,
}

/// What holds a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held", rename_all = "snake_case", deny_unknown_fields)]
pub enum Held {
    /// The sandbox that was ordered.
    Enforced {
        /// What the kernel is too old to enforce, each as a phrase.
        missing: Vec<String>,
    },
    /// Nothing but the permissions of the user.
    None {
        /// Why.
        reason: String,
    },
}

/// Why a command did not begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "failed", rename_all = "snake_case", deny_unknown_fields)]
pub enum Failed {
    /// There is no such program.
    NotFound {
        /// The program.
        program: String,
    },
    /// The program may not be executed.
    Denied {
        /// The program.
        program: String,
        /// What the system says.
        cause: String,
    },
    /// The system started no process.
    Spawn {
        /// The program.
        program: String,
        /// What the system says.
        cause: String,
    },
    /// The sandbox cannot be entered.
    NoSandbox {
        /// Why.
        reason: String,
    },
    /// The orders are not understood.
    Orders {
        /// Why.
        reason: String,
    },
}

/// How a command ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Ended {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What the supervisor says, one line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Report {
    /// Every stage runs.
    Started(Held),
    /// Nothing runs.
    Failed(Failed),
    /// Every stage has ended, and nothing that they started is left.
    Ended(Ended),
}
