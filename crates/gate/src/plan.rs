//! The exact thing that would run, and its hash. What a human approves, what a permit carries, what a receipt
//! refers to.

use interlock_protocol::{
    Arguments, CallId, ContentHash, ExecutionId, Expectation, Identity, ResourceId, RiskLevel, SessionId,
    ToolCall, ToolKind, ToolName,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::catalogue::Undo;
use crate::file::FileBefore;

/// The resource that a plan is about, as discovery described it when the plan was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its canonical id.
    pub id: ResourceId,
    /// Its name.
    pub name: String,
    /// The state it was in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Which machine it was. Part of the plan's hash, and compared when the plan runs.
    #[serde(default, skip_serializing_if = "Identity::is_empty")]
    pub identity: Identity,
}

/// The exact call that would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The session.
    pub session: SessionId,
    /// The agent at work.
    pub execution: ExecutionId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The action, where the tool has actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The arguments.
    pub arguments: Arguments,
    /// What it does to the world.
    pub kind: ToolKind,
    /// How much harm it can do: the worse of its tool's and its command's.
    pub risk: RiskLevel,
    /// The resource it is about; nothing for a read of something that has no target or was not discovered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The command that reaches a shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What the file was that it replaces, changes or removes, where it could be read. Part of the hash, and compared when the plan runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileBefore>,
    /// What must be observed afterwards; only a write has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expectation: Option<Expectation>,
    /// Whether what it does can be taken back; nothing is known of a read.
    #[serde(default, skip_serializing_if = "Undo::is_unknown")]
    pub undo: Undo,
    /// How long it may run.
    pub timeout_seconds: u32,
    /// Whether it may run in a read sandbox only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox_required: bool,
}

impl Plan {
    /// The call that it was made from.
    pub fn to_call(&self) -> ToolCall {
        ToolCall {
            id: self.call.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
        }
    }

    /// The resource it is about.
    pub fn resource(&self) -> Option<&ResourceId> {
        self.target.as_ref().map(|target| &target.id)
    }

    /// The hash that binds approvals, permits and receipts to this plan and no other.
    ///
    /// The call's own id is left out: a model that proposes the same thing again proposes the same plan.
    pub fn hash(&self) -> ContentHash {
        hash(self, fingerprint(&self.tool, &self.arguments))
    }
}

pub(crate) fn hash(plan: &Plan, fingerprint: ContentHash) -> ContentHash {
    let mut bytes = Vec::with_capacity(256);
    bytes.extend_from_slice(fingerprint.as_bytes());
    let mut field = |text: &str| {
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    };
    field(plan.session.as_str());
    field(plan.execution.as_str());
    field(plan.kind.as_str());
    field(plan.risk.as_str());
    match &plan.target {
        None => field(""),
        Some(target) => {
            let id = &target.id;
            field(id.kind().as_str());
            field(id.host().unwrap_or(""));
            field(id.uid());
        }
    }
    field(plan.command.as_deref().unwrap_or(""));
    match &plan.expectation {
        None => field(""),
        // One that has no JSON is not the same as none, or as another one.
        Some(expectation) => field(
            &serde_json::to_string(expectation).unwrap_or_else(|error| format!("{error}: {expectation:?}")),
        ),
    }
    bytes.extend_from_slice(&plan.timeout_seconds.to_le_bytes());
    // Last, and only where it is known: plans of earlier versions keep their hash.
    if let Some(target) = plan.target.as_ref().filter(|target| !target.identity.is_empty()) {
        let identity = target.identity.canonical();
        bytes.extend_from_slice(&(identity.len() as u64).to_le_bytes());
        bytes.extend_from_slice(identity.as_bytes());
    }
    // Nothing is added where nothing is required: plans of earlier versions keep their hashes.
    if plan.sandbox_required {
        bytes.extend_from_slice(b"sandbox");
    }
    match plan.undo {
        Undo::Reversible => bytes.extend_from_slice(b"reversible"),
        Undo::NotByItself => bytes.extend_from_slice(b"not reversible by itself"),
        Undo::Unknown => {}
    }
    match &plan.before {
        Some(FileBefore::Absent) => bytes.extend_from_slice(b"no file"),
        Some(FileBefore::Content(hash)) => {
            bytes.extend_from_slice(b"file");
            bytes.extend_from_slice(hash.as_bytes());
        }
        None => {}
    }
    ContentHash::of(bytes)
}

/// The hash of what was asked for, before anything is known about it: two proposals with the same one are the
/// same call.
pub(crate) fn fingerprint(tool: &ToolName, arguments: &Arguments) -> ContentHash {
    let mut text = String::with_capacity(128);
    text.push_str(tool.as_str());
    write_members(arguments, &mut text);
    ContentHash::of(text)
}

/// Keys sorted by their bytes, no white space: one text per value, whatever order its keys came in.
fn write_members(members: &Arguments, out: &mut String) {
    let mut members: Vec<(&String, &Value)> = members.iter().collect();
    members.sort_unstable_by_key(|&(key, _)| key);
    out.push('{');
    for (key, value) in members {
        write_text(key, out);
        out.push(':');
        write_value(value, out);
        out.push(',');
    }
    out.push('}');
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_value(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => write_members(members, out),
    }
}

/// Length first, so that no content can pose as structure.
fn write_text(text: &str, out: &mut String) {
    use std::fmt::Write as _;
    // Writing into a String cannot fail.
    let _ = write!(out, "{}\"", text.len());
    out.push_str(text);
}
