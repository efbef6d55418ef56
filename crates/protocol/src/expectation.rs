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
    /// A guest runs, and not in the run in which it was before the write.
    GuestRestarted,
    /// A unit on the resource is in this activity.
    UnitActivity {
        /// The unit.
        unit: String,
        /// The activity.
        activity: UnitActivity,
    },
    /// A unit on the resource is active, and not in the run in which it was before the write.
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
    /// A file on the resource has the content from before the write, and this text after it.
    FileAppended {
        /// The file.
        path: String,
        /// The hash of the text that was added.
        added: ContentHash,
    },
    /// A container is in this state.
    ContainerState {
        /// The state.
        state: RunState,
    },
    /// A container runs, and not in the run in which it was before the write.
    ContainerRestarted,
    /// A container was replaced and runs the image that this name refers to now.
    ContainerImage {
        /// The image, as its provider names it.
        image: String,
    },
    /// A container was made again under the image name that it had, and runs from the content that this name stands for.
    ContainerUpdated,
    /// A workload has this many replicas ready.
    ReadyReplicas {
        /// How many.
        count: u32,
    },
    /// A workload was given a new specification after the write, and all its replicas are ready and made from it.
    RolledOut,
    /// The object is gone, or another object of the same name is in its place.
    Replaced,
    /// A note with this text is kept.
    NoteKept {
        /// The hash of the text.
        text: ContentHash,
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
    /// A free-form command: nothing particular can be expected. A later reading that shows the state of the resource is due.
    FreeForm,
}

impl Expectation {
    /// Whether the comparison needs what was observed before the write.
    pub const fn needs_baseline(&self) -> bool {
        match self {
            Self::GuestRestarted
            | Self::UnitRestarted { .. }
            | Self::FileAppended { .. }
            | Self::ContainerRestarted
            | Self::ContainerImage { .. }
            | Self::ContainerUpdated
            | Self::RolledOut
            | Self::Replaced => true,
            Self::GuestState { .. }
            | Self::UnitActivity { .. }
            | Self::FileHash { .. }
            | Self::FilePatched { .. }
            | Self::FileAbsent { .. }
            | Self::ContainerState { .. }
            | Self::ReadyReplicas { .. }
            | Self::AlertState { .. }
            | Self::Property { .. }
            | Self::NoteKept { .. }
            | Self::Present
            | Self::Absent
            | Self::FreeForm => false,
        }
    }
}

/// Which run of something this is, by its own machine's count. No two machines' clocks are compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunIdentity {
    /// What names this run and no other: a boot id, an invocation id, a process, a start time of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// For how many seconds it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

impl RunIdentity {
    /// A run with this id.
    pub fn named(id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            seconds: None,
        }
    }

    /// Whether nothing is known of it.
    pub const fn is_unknown(&self) -> bool {
        self.id.is_none() && self.seconds.is_none()
    }
}

/// What a reading saw, in the words in which something can be expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "observed", rename_all = "snake_case", deny_unknown_fields)]
pub enum Observation {
    /// A guest.
    Guest {
        /// What it is doing.
        state: RunState,
        /// Since when it runs, where the provider says. For people: it may be by another machine's clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Timestamp>,
        /// Which run this is.
        #[serde(default, skip_serializing_if = "RunIdentity::is_unknown")]
        run: RunIdentity,
    },
    /// A unit.
    Unit {
        /// The unit.
        unit: String,
        /// What it is doing.
        activity: UnitActivity,
        /// Since when it is active, where the service manager says. For people: it is by another machine's clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        active_since: Option<Timestamp>,
        /// Which run this is.
        #[serde(default, skip_serializing_if = "RunIdentity::is_unknown")]
        run: RunIdentity,
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
        /// The name of the image that it runs from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<String>,
        /// Since when it runs, where the provider says. For people: it is by another machine's clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started_at: Option<Timestamp>,
        /// Which run this is.
        #[serde(default, skip_serializing_if = "RunIdentity::is_unknown")]
        run: RunIdentity,
        /// The engine's id of this container: another one each time it is made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instance: Option<String>,
        /// The id of the content that it runs from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image_id: Option<String>,
        /// The id of the content that the name of its image stands for on its engine now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        current_image_id: Option<String>,
    },
    /// A workload.
    Replicas {
        /// How many are ready.
        ready: u32,
        /// How many its specification asks for.
        wanted: u32,
        /// How many are made from the newest specification.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated: Option<u32>,
        /// The number of the newest specification.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<i64>,
        /// The number of the specification that its controller has seen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        observed_generation: Option<i64>,
    },
    /// What tells this object from another of the same name.
    Identity {
        /// Its unique id.
        uid: String,
    },
    /// What a file's hash will be once the text of a plan was added to it. Only part of what is observed before a write.
    FileAfter {
        /// The file.
        path: String,
        /// The hash.
        hash: ContentHash,
    },
    /// A note.
    Note {
        /// The hash of its text.
        text: ContentHash,
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
