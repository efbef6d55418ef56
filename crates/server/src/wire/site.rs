//! The site: what is connected, what there is, how it is doing.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ActionTaken, ControlLevel, FailureKind, IncidentTotals, Status, ToolKind};

/// What the frame of the page and the overview show.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Overview {
    /// The operational mode.
    pub mode: String,
    /// How much may happen without a human.
    pub level: ControlLevel,
    /// Whether somebody else than the owner of a session must approve.
    pub four_eyes: bool,
    /// Whether all writes are stopped.
    pub writes: Writes,
    /// How many incidents are open.
    pub incidents: IncidentTotals,
    /// How many holds wait.
    pub open_holds: u64,
    /// How many sessions stand where.
    pub sessions: Vec<StatusCount>,
    /// Whether everything works.
    pub health: Health,
    /// Which configuration is in use; absent where it has no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigurationState>,
    /// The version.
    pub version: String,
    /// Since when the server runs.
    #[schema(value_type = String, format = DateTime)]
    pub started_at: Timestamp,
    /// The server's time.
    #[schema(value_type = String, format = DateTime)]
    pub now: Timestamp,
    /// Whether this is the simulated cluster.
    pub demo: bool,
}

/// Whether writes go.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Writes {
    /// Whether all are stopped.
    pub stopped: bool,
    /// How often the switch was moved; whoever lets writes go sends it back.
    pub revision: u64,
    /// Who stopped them.
    pub by: Option<String>,
    /// When.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
    /// Why.
    pub reason: Option<String>,
}

/// Stopping all writes.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StopWrites {
    /// Why, for the others.
    #[serde(default)]
    #[schema(max_length = 500)]
    pub reason: Option<String>,
}

/// Letting writes go again.
#[derive(Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeWrites {
    /// The `revision` that was looked at. Where writes were stopped again since, it is a conflict.
    #[serde(default, deserialize_with = "super::whole::maybe_whole")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_u64)]
    pub revision: Option<u64>,
}

/// How many sessions stand somewhere.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct StatusCount {
    /// Where.
    pub status: Status,
    /// How many.
    pub count: u64,
}

/// Whether the server works.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Health {
    /// `healthy`, `degraded` or `unhealthy`.
    pub status: String,
    /// What was looked at.
    pub checks: Vec<Check>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Check {
    /// What: `store`, `workers`, `connection:pve`.
    pub name: String,
    /// Whether it works.
    pub ok: bool,
    /// What it says.
    pub detail: String,
}

/// That the server is up. Public, so it says no more.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Up {
    /// `healthy` or `unhealthy`.
    pub status: String,
    /// The version.
    pub version: String,
    /// What an admin should look at, where there is something. Who is signed in sees why in the overview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// A tool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its category.
    pub category: Option<String>,
    /// What it does to the world, at its worst.
    pub kind: ToolKind,
    /// Its actions, where it has some, each with what it does.
    pub actions: Vec<ToolAction>,
    /// The JSON Schema of its arguments.
    #[schema(value_type = Object)]
    pub parameters: serde_json::Value,
    /// Whether something connected can run it.
    pub available: bool,
    /// How many calls ran in the last day.
    pub calls: u64,
    /// How many of them did not succeed.
    pub failed: u64,
    /// The median time, in seconds.
    pub seconds_p50: Option<f64>,
    /// The time that 95 of 100 stay under, in seconds.
    pub seconds_p95: Option<f64>,
    /// When it last ran.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_at: Option<Timestamp>,
}

/// An action of a tool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolAction {
    /// Its name.
    pub name: String,
    /// What it does to the world.
    pub kind: ToolKind,
}

/// The tools.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ToolList {
    /// By name.
    pub tools: Vec<Tool>,
}

/// A connection to infrastructure.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Connection {
    /// Its name in the configuration.
    pub name: String,
    /// What it speaks.
    pub kind: String,
    /// Whether it works.
    pub ok: bool,
    /// Why not.
    pub problem: Option<String>,
    /// How many resources it made known.
    pub resources: u64,
}

/// The connections.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConnectionList {
    /// By name.
    pub connections: Vec<Connection>,
    /// When they were looked at.
    #[schema(value_type = String, format = DateTime)]
    pub taken_at: Timestamp,
}

/// Something discovered.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Resource {
    /// Its canonical id: `lxc:delly:141`.
    pub id: String,
    /// Its kind: `lxc`, `vm`, `node`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// What it lives on.
    pub parent: Option<String>,
    /// The state it is in, in its provider's word.
    pub state: Option<String>,
    /// The connection that knows it.
    pub source: String,
    /// What else its provider says.
    #[schema(value_type = Object)]
    pub facts: serde_json::Value,
    /// The sandbox that commands get there which only read; nothing in lists, and where none was tried yet.
    pub read_sandbox: Option<ReadSandbox>,
}

/// The sandbox that commands get on a resource which only read.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReadSandbox {
    /// Whether there is one.
    pub enforced: bool,
    /// What enforces it: `landlock_seccomp`, `systemd_run`, `bubblewrap`, `unshare`.
    pub by: Option<String>,
    /// The same for people: `bubblewrap, no network`.
    pub phrase: String,
}

/// Resources; together with `parent` they are the topology.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResourceList {
    /// By id.
    pub resources: Vec<Resource>,
    /// When they were looked at.
    #[schema(value_type = String, format = DateTime)]
    pub taken_at: Timestamp,
}

/// The graph as nodes and edges.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Topology {
    /// The resources.
    pub nodes: Vec<TopologyNode>,
    /// What lives on what.
    pub edges: Vec<TopologyEdge>,
}

/// A node of the graph.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TopologyNode {
    /// The resource.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: Option<String>,
}

/// An edge of the graph.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TopologyEdge {
    /// What something lives on.
    pub parent: String,
    /// What lives there.
    pub child: String,
}

/// Numbers over time.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Metrics {
    /// The series; none if no Prometheus knows the resource.
    pub series: Vec<Series>,
    /// Why there are none, in words.
    pub note: Option<String>,
}

/// One number over time.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Series {
    /// What: `cpu`, `memory`, `disk`.
    pub name: String,
    /// Its unit: `percent`, `bytes`.
    pub unit: String,
    /// Seconds since 1970 and the value, in order.
    #[schema(value_type = Vec<Vec<f64>>)]
    pub points: Vec<(f64, f64)>,
}

/// What Interlock did to a resource.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResourceHistory {
    /// Newest first.
    pub calls: Vec<ResourceCall>,
}

/// One call on a resource.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResourceCall {
    /// The session.
    pub session: String,
    /// What was done.
    #[serde(flatten)]
    pub action: ActionTaken,
}

/// A model.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Model {
    /// Its name in the configuration.
    pub name: String,
    /// The provider.
    pub provider: String,
    /// The model's own name.
    pub model: String,
    /// Whether it is asked where nothing else is said.
    pub default: bool,
    /// How many calls in the last 30 days.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Tokens in, as reported by the provider.
    pub input_tokens: u64,
    /// Tokens out, as reported by the provider.
    pub output_tokens: u64,
    /// The cost, where prices are configured.
    pub cost: Option<f64>,
    /// The median time of a call, in seconds.
    pub seconds_p50: Option<f64>,
    /// The time that 95 of 100 stay under, in seconds.
    pub seconds_p95: Option<f64>,
    /// When it last answered, in these 30 days.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub last_success_at: Option<Timestamp>,
    /// How it last failed, in these 30 days. What somebody stopped is no failure.
    pub last_failure: Option<ModelFailure>,
}

/// How a model failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ModelFailure {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// How.
    pub kind: FailureKind,
    /// What was said, masked.
    pub message: String,
}

/// The models.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ModelList {
    /// By name.
    pub models: Vec<Model>,
}

/// What models cost over a time.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UsageReport {
    /// By `group_by`.
    pub rows: Vec<UsageRow>,
    /// From.
    #[schema(value_type = String, format = DateTime)]
    pub from: Timestamp,
    /// Until.
    #[schema(value_type = String, format = DateTime)]
    pub to: Timestamp,
}

/// One group of a usage report.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UsageRow {
    /// Which.
    pub group: String,
    /// How many calls.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many sessions.
    pub sessions: u64,
    /// Tokens in, as reported by the provider.
    pub input_tokens: u64,
    /// Tokens out, as reported by the provider.
    pub output_tokens: u64,
    /// The cost.
    pub cost: Option<f64>,
}

/// Which configuration is in use.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConfigurationState {
    /// The SHA-256 of the file as it is in use.
    pub hash: Option<String>,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
    /// When the last reload failed, if it did: the file is not the configuration in use then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub refused_at: Option<Timestamp>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a reload of the configuration changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Reloaded {
    /// The file.
    pub file: Option<String>,
    /// The keys that changed; never a value.
    pub changed: Vec<String>,
    /// What became of the connections.
    pub connections: ReloadedConnections,
    /// What is allowed and probably not meant.
    pub warnings: Vec<String>,
    /// The SHA-256 of the file that was in use before.
    pub before: Option<String>,
    /// The SHA-256 of the file that is in use now.
    pub now: Option<String>,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// What a reload did with connections.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ReloadedConnections {
    /// Those that did not change.
    pub kept: usize,
    /// Those that are new or changed.
    pub made: usize,
    /// Those that are gone, or were replaced by a changed one.
    pub closed: usize,
}

/// The effective configuration, without secrets.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConfigForm {
    /// Every key, defaults included.
    #[schema(value_type = Object)]
    pub config: serde_json::Value,
    /// The file it came from.
    pub file: Option<String>,
}
