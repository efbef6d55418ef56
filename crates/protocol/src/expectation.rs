//! What must be seen for a write to count as done, and what a reading saw. This room holds the words; the gate
//! compares them.

use crate::ContentHash;
use crate::word::words;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

words! {
    /// What comparing a reading with the expectation says.
    Verification {
        /// The reading shows what was expected.
        Verified = "verified",
        /// The reading shows something else, and it is settled.
        Failed = "failed",
        /// Nothing particular was expected; the resource was looked at afterwards.
        Observed = "observed",
        /// What the resource is in cannot be told.
        Inconclusive = "inconclusive",
    }
}

words! {
    /// What a virtual machine, a container or a process-like thing is doing.
    RunState {
        /// It runs.
        Running = "running",
        /// It does not run.
        Stopped = "stopped",
        /// It is held in memory.
        Paused = "paused",
        /// It is coming up.
        Starting = "starting",
        /// It is going down.
        Stopping = "stopping",
        /// It comes back again and again.
        Restarting = "restarting",
        /// It moves to another host.
        Migrating = "migrating",
        /// It ended with an error.
        Failed = "failed",
        /// Its provider does not know.
        Unknown = "unknown",
    }
}

impl RunState {
    /// Whether it stays so by itself. What is not settled proves neither success nor failure.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Running | Self::Stopped | Self::Paused | Self::Failed => true,
            Self::Starting | Self::Stopping | Self::Restarting | Self::Migrating | Self::Unknown => false,
        }
    }
}

words! {
    /// What a service unit is doing, in systemd's words.
    UnitActivity {
        /// It is up.
        Active = "active",
        /// It is down.
        Inactive = "inactive",
        /// It ended with an error.
        Failed = "failed",
        /// It is coming up.
        Activating = "activating",
        /// It is going down.
        Deactivating = "deactivating",
        /// It re-reads its configuration.
        Reloading = "reloading",
        /// The service manager does not know.
        Unknown = "unknown",
    }
}

impl UnitActivity {
    /// Whether it stays so by itself. What is not settled proves neither success nor failure.
    pub const fn is_settled(self) -> bool {
        match self {
            Self::Active | Self::Inactive | Self::Failed => true,
            Self::Activating | Self::Deactivating | Self::Reloading | Self::Unknown => false,
        }
    }
}

words! {
    /// Where an alert stands.
    AlertState {
        /// It fires.
        Active = "active",
        /// Someone has seen it.
        Acknowledged = "acknowledged",
        /// Someone has put it aside.
        Dismissed = "dismissed",
        /// It is over.
        Resolved = "resolved",
    }
}

/// What must be observed on the written resource for the write to count as verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "expect", rename_all = "snake_case", deny_unknown_fields)]
pub enum Expectation {
    /// A guest is in this state.
    GuestState {
        /// The state.
        state: RunState,
    },
    /// A guest runs, and began to after the write.
    GuestRestarted,
    /// A unit on the resource is in this activity.
    UnitActivity {
        /// The unit.
        unit: String,
        /// The activity.
        activity: UnitActivity,
    },
    /// A unit on the resource is active, and became so after the write.
    UnitRestarted {
        /// The unit.
        unit: String,
    },
    /// A file on the resource has this content.
    FileHash {
        /// The file.
        path: String,
        /// The hash of its content.
        hash: ContentHash,
    },
    /// A file on the resource has the content that the write made of it. Which content that is, its receipt says.
    FilePatched {
        /// The file.
        path: String,
    },
    /// A file on the resource is gone.
    FileAbsent {
        /// The file.
        path: String,
    },
    /// A container is in this state.
    ContainerState {
        /// The state.
        state: RunState,
    },
    /// A container runs, and began to after the write.
    ContainerRestarted,
    /// A container runs from this image.
    ContainerImage {
        /// The image, as its provider names it.
        image: String,
    },
    /// A workload has this many replicas ready.
    ReadyReplicas {
        /// How many.
        count: u32,
    },
    /// An alert stands here.
    AlertState {
        /// Where.
        state: AlertState,
    },
    /// A property of the resource has this value.
    Property {
        /// The property.
        name: String,
        /// The value.
        value: Value,
    },
    /// The resource exists.
    Present,
    /// The resource is gone.
    Absent,
    /// A free-form command: nothing particular can be expected, a later look at the resource is due.
    FreeForm,
}

/// What a reading saw, in the words in which something can be expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "observed", rename_all = "snake_case", deny_unknown_fields)]
pub enum Observation {
    /// A guest.
    Guest {
        /// What it is doing.
        state: RunState,
        /// Since when it runs, where the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Timestamp>,
    },
    /// A unit.
    Unit {
        /// The unit.
        unit: String,
        /// What it is doing.
        activity: UnitActivity,
        /// Since when it is active, where the service manager says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        active_since: Option<Timestamp>,
    },
    /// A file.
    File {
        /// The file.
        path: String,
        /// The hash of its content; nothing if there is no such file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hash: Option<ContentHash>,
    },
    /// A container.
    Container {
        /// What it is doing.
        state: RunState,
        /// The image that it runs from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<String>,
        /// Since when it runs, where the provider says.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Timestamp>,
    },
    /// A workload.
    Replicas {
        /// How many are ready.
        ready: u32,
        /// How many its specification asks for.
        wanted: u32,
    },
    /// An alert.
    Alert {
        /// Where it stands.
        state: AlertState,
    },
    /// A property of the resource.
    Property {
        /// The property.
        name: String,
        /// Its value.
        value: Value,
    },
    /// The resource exists.
    Present,
    /// The resource does not exist.
    Absent,
}
