//! The questions to the gate, as steps keep them.

use std::collections::BTreeSet;

use interlock_gate::{
    FileBefore, FilePlace, FourEyes, Hold, NameEntry, NotRunCall, ReadTarget, ResolvedResource, Where, Writer,
};
use interlock_protocol::{
    Arguments, ControlLevel, EvidenceId, ExecutionId, HeadAction, Identity, Observation, PermitId, Receipt,
    ResourceId, SessionId, ToolCall, ToolName, UserId,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::rules::Rules;

/// What discovery said about one resource, as a step keeps it. Reading it back discovers nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// Its canonical id.
    pub id: ResourceId,
    /// Its display name.
    pub name: String,
    /// Other names it answers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The state it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Which machine it was.
    #[serde(default, skip_serializing_if = "Identity::is_empty")]
    pub identity: Identity,
}

impl From<&ResolvedResource> for Found {
    fn from(resource: &ResolvedResource) -> Self {
        Self {
            id: resource.id.clone(),
            name: resource.name.clone(),
            aliases: resource.aliases.clone(),
            state: resource.state.clone(),
            identity: resource.identity.clone(),
        }
    }
}

impl From<&Found> for ResolvedResource {
    fn from(found: &Found) -> Self {
        Self {
            id: found.id.clone(),
            name: found.name.clone(),
            aliases: found.aliases.clone(),
            state: found.state.clone(),
            identity: found.identity.clone(),
        }
    }
}

/// What a name in a call stood for when the gate was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name; empty for the machine that is meant where a call names none.
    pub name: String,
    /// What went by it.
    pub found: Vec<Found>,
}

impl From<&NameEntry> for Named {
    fn from(entry: &NameEntry) -> Self {
        Self {
            name: entry.name.clone(),
            found: entry.resources.iter().map(Found::from).collect(),
        }
    }
}

impl From<&Named> for NameEntry {
    fn from(named: &Named) -> Self {
        Self {
            name: named.name.clone(),
            resources: named.found.iter().map(ResolvedResource::from).collect(),
        }
    }
}

/// Another session that was writing when the gate was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rival {
    /// The resource.
    pub resource: ResourceId,
    /// The session.
    pub session: SessionId,
    /// The agent at work.
    pub execution: ExecutionId,
    /// The permit.
    pub permit: PermitId,
}

/// One question to the gate. What is large is named by its id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// A session begins to be worked on in a process: nothing is known yet.
    Open {
        /// The session.
        session: SessionId,
        /// How much may happen without a human.
        level: ControlLevel,
        /// Which tools it may use.
        tools: BTreeSet<ToolName>,
        /// Who asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<UserId>,
        /// Whether the owner may approve its holds.
        four_eyes: FourEyes,
        /// What the gate was set to.
        rules: Box<Rules>,
    },
    /// The configuration was reloaded, and its rules are stricter now than those that the session was opened with.
    Tighten {
        /// How much may happen without a human.
        level: ControlLevel,
        /// Whether the owner may approve its holds.
        four_eyes: FourEyes,
        /// Which tools it may still use.
        tools: BTreeSet<ToolName>,
        /// What the gate is set to.
        rules: Box<Rules>,
    },
    /// May this call run?
    Decide {
        /// The agent at work.
        execution: ExecutionId,
        /// The call.
        call: ToolCall,
        /// What its names stood for, where the session had not discovered it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<Named>,
        /// Whether writes are stopped.
        #[serde(default, skip_serializing_if = "is_false")]
        stopped: bool,
        /// Who else is writing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rivals: Vec<Rival>,
    },
    /// Code observed what a write is about to change.
    Baseline {
        /// The permit of the write.
        permit: PermitId,
        /// What it saw.
        observed: Vec<Observation>,
    },
    /// What a place offers that a command would run on.
    Sandbox {
        /// The place.
        place: Where,
        /// What it offers.
        target: ReadTarget,
    },
    /// What a file is that a call would replace, change or remove.
    File {
        /// The file.
        place: FilePlace,
        /// What it is; nothing where it could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<FileBefore>,
    },
    /// A permit is consumed.
    Begin {
        /// The permit.
        permit: PermitId,
        /// Whether writes are stopped.
        #[serde(default, skip_serializing_if = "is_false")]
        stopped: bool,
    },
    /// A permit is given back unused.
    Abandon {
        /// The permit.
        permit: PermitId,
        /// Why.
        why: String,
        /// Whether because another process writes to its resource.
        #[serde(default, skip_serializing_if = "is_false")]
        taken: bool,
    },
    /// What running did comes back.
    Settle {
        /// What it did.
        receipt: Box<Receipt>,
        /// What it read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<EvidenceId>,
        /// What it discovered.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        found: Vec<Found>,
    },
    /// Code took a reading itself.
    Observe {
        /// The agent at work.
        execution: ExecutionId,
        /// The permit of the write.
        permit: PermitId,
        /// The reading.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence: Option<EvidenceId>,
        /// Whether because the execution must conclude.
        concluding: bool,
    },
    /// Code ends an execution.
    Conclude {
        /// The agent at work.
        execution: ExecutionId,
    },
    /// A person named a resource.
    Mention {
        /// The resource.
        found: Found,
    },
    /// Code resolved resources again.
    Rediscover {
        /// The agent at work.
        execution: ExecutionId,
        /// What it found.
        found: Vec<Found>,
    },
    /// A write of an earlier process is brought back.
    RestoreWrite {
        /// What it did.
        receipt: Box<Receipt>,
        /// The plan.
        plan: Box<interlock_gate::Plan>,
        /// What code observed right before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        baseline: Vec<Observation>,
        /// How its verification ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verification: Option<interlock_protocol::Verification>,
        /// Who approved it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved_by: Option<UserId>,
    },
    /// A write of an earlier process left no receipt.
    Interrupted {
        /// The permit.
        permit: PermitId,
        /// The plan.
        plan: Box<interlock_gate::Plan>,
        /// What code observed right before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        baseline: Vec<Observation>,
        /// When it began.
        started_at: Timestamp,
        /// Who approved it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved_by: Option<UserId>,
    },
    /// A hold that a human accepted is to run.
    Redeem {
        /// The hold, as it was accepted.
        hold: Box<Hold>,
        /// What its names stood for, where the session had not discovered it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<Named>,
        /// Whether writes are stopped.
        #[serde(default, skip_serializing_if = "is_false")]
        stopped: bool,
        /// Who else is writing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rivals: Vec<Rival>,
    },
    /// A human replaces the arguments of a held plan.
    Edit {
        /// The hold, as it waited.
        hold: Box<Hold>,
        /// Who.
        by: UserId,
        /// The new arguments.
        arguments: Arguments,
        /// What its names stood for, where the session had not discovered it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<Named>,
        /// Whether writes are stopped.
        #[serde(default, skip_serializing_if = "is_false")]
        stopped: bool,
        /// Who else is writing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        rivals: Vec<Rival>,
    },
    /// A hold that a human denied, or that nobody decided in time.
    CloseHold {
        /// The hold, as it was decided.
        hold: Box<Hold>,
    },
    /// The next question of a conversation.
    NextTurn {
        /// The agent at work.
        execution: ExecutionId,
    },
    /// May this answer be given?
    Answer {
        /// The agent at work.
        execution: ExecutionId,
        /// The answer.
        text: String,
        /// The evidence of the session at that time.
        evidence: Vec<EvidenceId>,
        /// Whether code ends the execution with it.
        forced: bool,
        /// Whether the model can still do better.
        #[serde(default, skip_serializing_if = "is_false")]
        tentative: bool,
        /// When the question was asked.
        #[serde(default = "beginning")]
        asked_at: Timestamp,
        /// Writes of the session that an earlier process made.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        forgotten: Vec<HeadAction>,
        /// Writes of the session that did not run, as far as the record said when the question was taken up.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        not_run: Vec<NotRunCall>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

const fn beginning() -> Timestamp {
    Timestamp::MIN
}

impl From<&Rival> for Writer {
    fn from(rival: &Rival) -> Self {
        Self {
            session: rival.session.clone(),
            execution: rival.execution.clone(),
            permit: rival.permit.clone(),
        }
    }
}
