//! What waits for a human.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ActionTaken, RiskLevel, ToolKind};

/// A call that waits for a human, or waited.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Approval {
    /// The hold.
    pub id: String,
    /// The session.
    pub session: String,
    /// The session's title.
    pub session_title: String,
    /// The call.
    pub call: String,
    /// The exact plan.
    pub plan: PlanForm,
    /// Its hash.
    pub plan_hash: String,
    /// Why a human must see it.
    pub reasons: Vec<String>,
    /// What the model said when it proposed this, in its words.
    pub why: Option<String>,
    /// What it touches and whether that can be undone, in a sentence: "1 service on 1 container; reversible".
    pub blast_radius: String,
    /// The evidence that the session had gathered about this resource when it asked, newest first.
    pub evidence: Vec<EvidenceRef>,
    /// Who owns the session.
    pub owner: Option<String>,
    /// Whether somebody else than the owner must approve.
    pub four_eyes: bool,
    /// Whether the caller may approve it now.
    pub may_approve: bool,
    /// Why not.
    pub may_not_because: Option<String>,
    /// Since when it waits.
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// Until when it can be decided.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
    /// Where it stands: `pending`, `approved`, `denied`, `edited`, `expired`, `withdrawn`.
    pub status: String,
    /// Who decided.
    pub decided_by: Option<String>,
    /// When.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub decided_at: Option<Timestamp>,
    /// The reason that was given for a no.
    pub reason: Option<String>,
    /// The hold that stands for the edited plan.
    pub edited_into: Option<String>,
    /// What it was edited from.
    pub edited_from: Option<EditedFrom>,
    /// What came of it, once it ran.
    pub action: Option<ActionTaken>,
    /// Why it did not run though it was approved; nothing while it is to run, and once it ran.
    pub not_run: Option<NotRun>,
}

/// Why what was approved did not run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NotRun {
    /// When that was found.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The code of the refusal; nothing where nobody asked the gate: the session was stopped, or went on.
    pub code: Option<String>,
    /// The rule that decided.
    pub rule: Option<String>,
    /// The sentence.
    pub message: String,
    /// What differs from when the plan was made, where that is why.
    pub changes: Vec<Change>,
}

/// The exact plan.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlanForm {
    /// The tool.
    pub tool: String,
    /// The action.
    pub action: Option<String>,
    /// The arguments, as they will be used.
    #[schema(value_type = Object)]
    pub arguments: serde_json::Value,
    /// What it does to the world.
    pub kind: ToolKind,
    /// How much harm it can do.
    pub risk: RiskLevel,
    /// The resource.
    pub resource: Option<String>,
    /// The resource's name.
    pub resource_name: Option<String>,
    /// The state that it was in.
    pub resource_state: Option<String>,
    /// Which machine it is for: the plan runs on no other.
    pub identity: Vec<IdentityFact>,
    /// The command that reaches a shell.
    pub command: Option<String>,
    /// What must be observed afterwards, in words.
    pub expectation: Option<String>,
    /// How long it may run.
    pub timeout_seconds: u32,
    /// The plan as a table: what happens, step by step.
    pub steps: Vec<PlanStep>,
    /// How many characters of the plan do not print, or change how others do. They are written out as `⟦U+202E⟧` wherever
    /// the plan is shown.
    pub hidden_characters: u32,
    /// For a change of a file: how it differs from what is there, with hidden characters written out.
    pub diff: Option<String>,
    /// The JSON Schema of the arguments, for editing them.
    #[schema(value_type = Option<Object>)]
    pub schema: Option<serde_json::Value>,
}

/// A row of the plan.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PlanStep {
    /// What: `Restart the service`, `Argument unit`.
    pub label: String,
    /// Which, exactly as it will be used.
    pub value: String,
    /// The same as people may see it: every character that does not print is written out as `⟦U+202E⟧`.
    pub shown: String,
    /// How many characters were written out.
    pub hidden: u32,
}

/// A fact that tells a machine from another one under the same name.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct IdentityFact {
    /// Which: `endpoint`, `ssh_host_key`, `tls_certificate`, `machine_id`, `cluster`, `guest`…
    pub fact: String,
    /// Its name for people.
    pub label: String,
    /// Its value.
    pub value: String,
}

/// Evidence, by name.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EvidenceRef {
    /// Its id.
    pub id: String,
    /// The tool that read it.
    pub tool: String,
    /// What was run or asked to get it, masked; nothing where code took the reading by itself.
    pub command: Option<String>,
    /// The resource.
    pub resource: Option<String>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub taken_at: Timestamp,
    /// Its first lines.
    pub excerpt: String,
}

/// What a plan was edited from.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EditedFrom {
    /// The hold that ended.
    pub hold: String,
    /// The plan's hash as it was.
    pub plan_hash: String,
    /// Who.
    pub by: String,
    /// What differs, argument by argument.
    pub changes: Vec<Change>,
}

/// One argument that differs.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Change {
    /// Which.
    pub field: String,
    /// As it was; nothing if it is new.
    #[schema(value_type = serde_json::Value)]
    pub before: Option<serde_json::Value>,
    /// As it is; nothing if it is gone.
    #[schema(value_type = serde_json::Value)]
    pub after: Option<serde_json::Value>,
}

/// A list of holds.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ApprovalList {
    /// Those that wait, soonest to expire first; then the decided, newest first.
    pub approvals: Vec<Approval>,
    /// The server's time, for the countdown.
    #[schema(value_type = String, format = DateTime)]
    pub now: Timestamp,
}

/// A hold that was opened to be decided.
#[derive(Clone, Serialize, ToSchema)]
pub struct OpenedApproval {
    /// The hold.
    pub approval: Approval,
    /// The secret with which this approver may approve it, once. Kept nowhere; to be sent back with the yes.
    pub token: String,
    /// Until when.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

impl fmt::Debug for OpenedApproval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedApproval")
            .field("approval", &self.approval)
            .field("token", &"hidden")
            .field("expires_at", &self.expires_at)
            .finish()
    }
}

/// A yes.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The secret from opening it.
    #[schema(min_length = 64, max_length = 64, pattern = "^[0-9a-f]{64}$")]
    pub token: String,
    /// The hash of the plan that was shown.
    #[schema(min_length = 64, max_length = 64, pattern = "^[0-9a-f]{64}$")]
    pub plan_hash: String,
}

impl fmt::Debug for Approve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approve")
            .field("token", &"hidden")
            .field("plan_hash", &self.plan_hash)
            .finish()
    }
}

/// A no.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// Why. The agent reads it.
    #[schema(min_length = 1, max_length = 2000, pattern = r"\S")]
    pub reason: String,
}

/// A changed plan.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The arguments as they shall be.
    #[schema(value_type = Object)]
    pub arguments: serde_json::Map<String, serde_json::Value>,
    /// The hash of the plan that was shown.
    #[schema(min_length = 64, max_length = 64, pattern = "^[0-9a-f]{64}$")]
    pub plan_hash: String,
}
