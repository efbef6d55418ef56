//! Sessions: lists, details, timelines, events.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    ControlLevel, HeadTone, NotRunReason, Outcome, RecordState, SessionKind, Status, Support, ToolKind,
    Verification, Withheld,
};

/// A question.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewChat {
    /// The question; `@name` means a resource.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"\S")]
    pub message: String,
    /// The model, by its name in the configuration.
    #[serde(default)]
    #[schema(max_length = 128)]
    pub model: Option<String>,
}

/// A follow-up question.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMessage {
    /// The question.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"\S")]
    pub message: String,
    /// The model that answers from here on, by its name in the configuration; left out, the one before.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 128)]
    pub model: Option<String>,
}

/// What became of a submission.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Accepted {
    /// The session.
    pub session: String,
    /// `queued`, or `duplicate` if it joined a session that was there.
    pub status: String,
    /// Where to look at it.
    pub url: String,
}

/// A session in a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionSummary {
    /// Its id.
    pub id: String,
    /// What it is a run of.
    pub kind: SessionKind,
    /// What to call it.
    pub title: String,
    /// Where it stands.
    pub status: Status,
    /// Where it came from: `api`, `web`, `cli`, `chat`.
    pub channel: String,
    /// Who asked for it; nobody for an alert from a program.
    pub owner: Option<String>,
    /// The alert's type.
    pub alert_type: Option<String>,
    /// The chain.
    pub chain: String,
    /// How much may happen without a human.
    pub level: ControlLevel,
    /// When it was submitted.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When work began.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
    /// When something last happened.
    #[schema(value_type = String, format = DateTime)]
    pub last_interaction_at: Timestamp,
    /// The beginning of the answer, as the model wrote it.
    pub answer: Option<String>,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// How many of its holds wait for a human.
    pub open_holds: u32,
    /// How many writes it began.
    pub writes: u32,
    /// How many of them a look at the live state confirmed.
    pub writes_verified: u32,
    /// How many proposals were refused.
    pub refusals: u32,
    /// How bad it is, in the alert's own word: `critical`; nothing where the alert does not say.
    pub severity: Option<String>,
    /// What models cost.
    pub usage: Usage,
}

/// A page of sessions.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionList {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// This page: 1 for the first.
    pub page: u32,
    /// How many on a page.
    pub page_size: u32,
    /// How many in all.
    pub total: u64,
}

/// What a filter can choose from.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionFilters {
    /// Types of alerts.
    pub alert_types: Vec<String>,
    /// Chains.
    pub chains: Vec<String>,
    /// Who asked.
    pub owners: Vec<String>,
    /// Statuses.
    pub statuses: Vec<Status>,
}

/// A session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionDetail {
    /// What lists show of it.
    #[serde(flatten)]
    pub summary: SessionSummary,
    /// The alert or the question.
    pub input: String,
    /// What code knows about the last answer: actions, readings, verification. Nothing in it was written by a model.
    pub head: Head,
    /// The whole answer, as the model wrote it. Show it apart from the head.
    pub full_answer: Option<String>,
    /// What the answer rests on, part by part.
    pub grounds: Vec<Ground>,
    /// What was really done, from receipts.
    pub actions: Vec<ActionTaken>,
    /// Its stages, in order, with their agents.
    pub stages: Vec<Stage>,
    /// Its runs, in order: one for each question.
    pub runs: Vec<Run>,
    /// The model that was asked for, where one was.
    pub model: Option<String>,
    /// The place of its last event: subscribe from here.
    pub last_sequence: u64,
    /// Whether a follow-up question can be asked now.
    pub can_ask: bool,
    /// Whether it can be cancelled now.
    pub can_cancel: bool,
    /// When it was deleted. Only whoever may restore it sees it from then on.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub deleted_at: Option<Timestamp>,
}

/// What code knows about an answer. Made from receipts, readings and the gate's check of the text.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Head {
    /// Whether the rows that it was made from are those that were signed.
    pub record: Option<HeadRecord>,
    /// The writes since the question, in order. Empty: no action was taken.
    pub actions: Vec<HeadAction>,
    /// How many writes came before the question in this session.
    pub earlier_actions: u32,
    /// The writes that were proposed since the question and did not run, in order.
    pub not_run: Vec<WriteNotRun>,
    /// How many writes were proposed before the question in this session and did not run.
    pub earlier_not_run: u32,
    /// How many readings were taken since the question.
    pub readings: u32,
    /// How many readings were taken before the question in this session.
    pub earlier_readings: u32,
    /// What the readings say about the answer; nothing while there is no answer.
    pub support: Option<Support>,
    /// How many parts of the answer (numbers, states) a reading shows.
    pub backed: u32,
    /// How many parts of the answer (numbers, states, names, claims) nothing shows.
    pub unbacked: u32,
    /// What of the model's text was withheld.
    pub withheld: Option<Withheld>,
    /// How many hidden or look-alike characters the model's text contains.
    pub hidden: u32,
    /// The same in sentences, in the order in which they are shown.
    pub lines: Vec<HeadLine>,
}

/// Whether the rows that a head was made from are those that were signed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HeadRecord {
    /// What the seal of the session says. If it is `altered`, nothing in the head is proven, and its first line says so.
    pub state: RecordState,
    /// Which parts were changed, or how; nothing if none was.
    pub what: Option<String>,
}

/// A write, from its receipt.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HeadAction {
    /// The permit that was consumed.
    pub permit: String,
    /// What was done: the action, or the command.
    pub what: String,
    /// The resource.
    pub resource: Option<String>,
    /// The resource's name.
    pub name: Option<String>,
    /// How it ended; nothing while there is no receipt.
    pub outcome: Option<Outcome>,
    /// What a reading of the resource showed afterwards.
    pub verification: Option<Verification>,
    /// Who approved it.
    pub approved_by: Option<String>,
}

/// Writes that were proposed and did not run, alike ones counted together.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WriteNotRun {
    /// Why.
    pub reason: NotRunReason,
    /// What was proposed: the action or the command; of a write that was refused at once the tool.
    pub what: String,
    /// The resource; nothing for a write that was refused at once.
    pub resource: Option<String>,
    /// The resource's name.
    pub name: Option<String>,
    /// Who denied it.
    pub by: Option<String>,
    /// The code of the refusal.
    pub code: Option<String>,
    /// Who approved it, of a write that was refused after that, when it was to run.
    pub approved_by: Option<String>,
    /// Who edited it.
    pub edited_by: Option<String>,
    /// What the model had proposed before that.
    pub edited_from: Option<String>,
    /// How many.
    pub count: u32,
}

/// A sentence of a head.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct HeadLine {
    /// What it is.
    pub tone: HeadTone,
    /// The sentence. Nothing in it acts on a screen.
    pub text: String,
}

/// A part of an answer (a number, a state) and what shows it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Ground {
    /// Where it begins in the answer, in characters (UTF-16 code units, as JavaScript counts).
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The part itself.
    pub text: String,
    /// The ids of what shows it; nothing if nothing does: then it is unsupported.
    pub evidence: Vec<String>,
}

/// Something that was done, from its receipt.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ActionTaken {
    /// The receipt; nothing if the process ended before there was one.
    pub receipt: Option<String>,
    /// The permit that was used up.
    pub permit: String,
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The action, where the tool has actions.
    pub action: Option<String>,
    /// What it does to the world.
    pub kind: ToolKind,
    /// The resource.
    pub resource: Option<String>,
    /// The resource's name.
    pub resource_name: Option<String>,
    /// The command, where one ran.
    pub command: Option<String>,
    /// How it ended; nothing while it runs.
    pub outcome: Option<Outcome>,
    /// One line, made by code.
    pub summary: String,
    /// Who approved it.
    pub approved_by: Option<String>,
    /// The hold.
    pub hold: Option<String>,
    /// What looking at the resource afterwards showed; nothing while that is due.
    pub verification: Option<Verification>,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub finished_at: Option<Timestamp>,
}

/// A stage.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Stage {
    /// Its id.
    pub id: String,
    /// Its place.
    pub index: u32,
    /// What it is called.
    pub name: String,
    /// Where it stands.
    pub status: Status,
    /// Why it did not succeed.
    pub error: Option<String>,
    /// Its agents, side by side.
    pub executions: Vec<Execution>,
}

/// An agent at work.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Execution {
    /// Its id.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The model, by its name in the configuration.
    pub model: String,
    /// How it works.
    pub controller: String,
    /// Where it stands.
    pub status: Status,
    /// How often the model was asked.
    pub iterations: u32,
    /// Why it did not succeed.
    pub error: Option<String>,
}

/// One piece of work, from a question to its answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// The question.
    pub input: String,
    /// Where it stands.
    pub status: Status,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub completed_at: Option<Timestamp>,
}

/// What models cost.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct Usage {
    /// How many calls.
    pub calls: u64,
    /// Tokens in, as reported by the provider.
    pub input_tokens: u64,
    /// Tokens out, as reported by the provider.
    pub output_tokens: u64,
    /// The cost, where prices are configured.
    pub cost: Option<f64>,
}

/// What a person sees of one step.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TimelineEntry {
    /// Its id in the session: execution and number.
    pub id: String,
    /// The agent at work.
    pub execution: String,
    /// Its place in the execution: 1 for the first.
    pub number: u32,
    /// `user_question`, `llm_thinking`, `llm_response`, `llm_tool_call`, `error`, `final_analysis`.
    pub kind: String,
    /// `streaming`, `completed`, `failed`, `cancelled`, `timed_out`, `held`, `refused`.
    pub status: String,
    /// What it says.
    pub content: String,
    /// Who asked, of a question; nothing where a program did.
    pub author: Option<String>,
    /// What code knows about it, of an answer (`final_analysis`). The content is what the model wrote.
    pub head: Option<Head>,
    /// Facts about it; of a tool call: `call`, `tool`, `arguments`, `kind`, `resource`, `permit`, `evidence`, `seconds`,
    /// `hold`, and of a refusal `rule`, `code`.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<serde_json::Value>,
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// When it last changed.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

/// A session's timeline.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Timeline {
    /// In the order in which they began.
    pub entries: Vec<TimelineEntry>,
    /// The place of the last event that it includes.
    pub sequence: u64,
}

/// An event.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct EventForm {
    /// Its id.
    pub id: String,
    /// The session.
    pub session: String,
    /// Its place in the session.
    pub sequence: u64,
    /// When.
    pub at: String,
    /// The stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The agent at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// What happened: `decision.made`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The facts.
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
}

/// A page of events.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EventPage {
    /// In order.
    #[schema(value_type = Vec<EventForm>)]
    pub events: Vec<serde_json::Value>,
    /// Whether there are more after them.
    pub more: bool,
}

/// What a read returned.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Evidence {
    /// Its id.
    pub id: String,
    /// The call that read.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What was run or asked to get it, masked; nothing where code took the reading by itself.
    pub command: Option<String>,
    /// The resource.
    pub resource: Option<String>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub taken_at: Timestamp,
    /// The hash of the data.
    pub hash: String,
    /// The data, masked.
    pub data: serde_json::Value,
    /// What code observed in it.
    #[schema(value_type = Vec<Object>)]
    pub observations: Vec<serde_json::Value>,
    /// The checks that the command passed, where one ran for it.
    pub walls: Option<WallsForm>,
}

/// The checks that a command passed which only reads.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WallsForm {
    /// Why it was taken for a read: `read` by the command analysis, or `fixed_form` of Interlock's own.
    pub analysis: String,
    /// Whether it ran in a sandbox.
    pub sandboxed: bool,
    /// What enforced the sandbox: `landlock_seccomp`, `systemd_run`, `bubblewrap`, `unshare`.
    pub by: Option<String>,
    /// The kinds of sockets that it could open: `unix`, `netlink`, `network`.
    pub sockets: Vec<String>,
    /// Why there was no sandbox.
    pub reason: Option<String>,
    /// The same for people.
    pub sentence: String,
}

/// A session's evidence.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EvidenceList {
    /// In order.
    pub evidence: Vec<Evidence>,
}

/// A run's trace: everything that was asked of models and of the gate.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TraceForm {
    /// The session.
    pub session: String,
    /// The run.
    pub run: String,
    /// Whether asking the gate everything again gave the same answers; nothing if it was not tried.
    pub replayed: Option<bool>,
    /// How many decisions were asked again.
    pub decisions: u64,
    /// What differed.
    pub differences: Vec<String>,
    /// Each call to a model: what was sent, what came back.
    #[schema(value_type = Vec<Object>)]
    pub interactions: Vec<serde_json::Value>,
    /// What the gate was asked, in order, and what it answered.
    #[schema(value_type = Vec<Object>)]
    pub steps: Vec<serde_json::Value>,
}

/// An answer of the gate.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DecisionForm {
    /// Its place among all events.
    pub position: u64,
    /// The session.
    pub session: String,
    /// Its place in the session.
    pub sequence: u64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The call; nothing for a final answer.
    pub call: Option<String>,
    /// The tool.
    pub tool: Option<String>,
    /// `allowed`, `answer_allowed`, `held` or `refused`.
    pub answer: String,
    /// The rule that decided, of a refusal.
    pub rule: Option<String>,
    /// The code, of a refusal.
    pub code: Option<String>,
    /// The sentence, of a refusal.
    pub message: Option<String>,
    /// The hold, of what waits.
    pub hold: Option<String>,
}

/// A page of decisions.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DecisionPage {
    /// Newest first.
    pub decisions: Vec<DecisionForm>,
    /// What `before` is for the next page; nothing on the last.
    pub next: Option<u64>,
}

/// Sessions to do something to.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// Which, at most 100.
    #[schema(min_items = 1, max_items = 100)]
    pub sessions: Vec<String>,
    /// `cancel` or `delete`.
    pub action: BulkAction,
}

/// What to do to many sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BulkAction {
    /// Stop them.
    Cancel,
    /// Delete them.
    Delete,
}

/// What came of it, for each.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BulkResults {
    /// In the order in which they were named.
    pub results: Vec<BulkResult>,
}

/// What came of it, for one.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BulkResult {
    /// The session.
    pub session: String,
    /// Why it was not done; nothing if it was.
    pub error: Option<String>,
}

/// Where a session stands after it was asked to stop.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CancelResult {
    /// `cancelled` at once, `requested`, or `ended` before.
    pub result: String,
}
