//! The keys of `interlock.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use interlock_engine::{AgentOptions, AlertOptions, ChainOptions, Defaults};
use interlock_model::Span;
use interlock_protocol::ControlLevel;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::Record;
use crate::server::Server;

/// Everything that can be configured. Every key may be left out.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "interlock.yaml")]
pub struct Config {
    /// Where the API and the dashboard are served.
    pub server: Server,
    /// Where everything is kept: `sqlite:PATH`. Left out, a file in the user's data folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<interlock_store::Options>,
    /// The models, by the names that the rest of the file uses.
    pub models: BTreeMap<String, interlock_model::Options>,
    /// What holds where nothing closer says otherwise.
    pub defaults: Defaults,
    /// The agents, by name.
    pub agents: BTreeMap<String, AgentOptions>,
    /// The chains, by name.
    pub chains: BTreeMap<String, ChainOptions>,
    /// What there is to look at and to change.
    pub infrastructure: interlock_infra::Options,
    /// Servers of further tools, by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// How much may happen without a human.
    pub control: Control,
    /// A file with the rules for tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governance: Option<PathBuf>,
    /// Files with Cedar policies.
    pub policies: Vec<PathBuf>,
    /// How sessions wait and are worked on.
    pub queue: Queue,
    /// How alerts become incidents and sessions.
    pub alerts: AlertOptions,
    /// How long what ended is kept.
    pub retention: Retention,
    /// How the record is signed.
    pub record: Record,
    /// Who is told what happened, by name.
    pub notifications: BTreeMap<String, Notification>,
    /// What the gate lets through.
    pub gate: Gate,
    /// What is hidden as a secret.
    pub mask: interlock_mask::Options,
    /// What models are told.
    pub prompts: Prompts,
    /// How much a tool takes in and gives back.
    pub tools: interlock_tools::Options,
    /// What the configuration looks like to people; set when it was loaded.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) view: Option<Value>,
}

impl Config {
    /// The whole configuration, defaults included, with `[from NAME]` in the place of what came from elsewhere.
    pub fn sanitised(&self) -> Value {
        match &self.view {
            Some(view) => view.clone(),
            None => crate::view::of(self, None),
        }
    }

    /// What the gate takes.
    pub fn gate_options(&self) -> interlock_gate::Options {
        interlock_gate::Options {
            strict_resolution: if self.gate.strict_resolution {
                interlock_gate::StrictResolution::On
            } else {
                interlock_gate::StrictResolution::Off
            },
            egress: self.gate.egress.clone(),
            read_sandbox: self.control.require_read_sandbox.to_gate(),
            data_files: self.control.data_files.clone(),
            hold_ttl: self
                .control
                .hold_for
                .get()
                .try_into()
                .unwrap_or(interlock_gate::HOLD_TTL),
            ..interlock_gate::Options::default()
        }
    }

    /// How the queue is worked.
    pub fn engine_queue(&self) -> interlock_engine::Queue {
        interlock_engine::Queue {
            workers: self.queue.workers,
            max_concurrent: self.queue.max_concurrent_sessions,
            heartbeat: self.queue.heartbeat.get(),
            orphan_after: self.queue.orphan_after.get(),
            poll: self.queue.poll.get(),
            retention: self.store_retention(),
        }
    }

    /// How many sessions may wait.
    pub fn queue_limits(&self) -> interlock_store::QueueLimits {
        interlock_store::QueueLimits {
            max_pending: self.queue.max_pending,
        }
    }

    /// The bounds of a session.
    pub fn engine_limits(&self) -> interlock_engine::Limits {
        interlock_engine::Limits {
            session: self.queue.session_timeout.get(),
            iteration: self.queue.iteration_timeout.get(),
            kept_bytes: usize::try_from(self.tools.output_bytes.get()).unwrap_or(usize::MAX),
            ..interlock_engine::Limits::default()
        }
    }

    /// How long what ended is kept.
    pub fn store_retention(&self) -> interlock_store::Retention {
        interlock_store::Retention {
            sessions_days: self.retention.sessions_days,
            purge_days: self.retention.purge_days,
        }
    }

    /// Whether the owner of a session may approve its holds.
    pub fn four_eyes(&self) -> interlock_gate::FourEyes {
        if self.control.four_eyes {
            interlock_gate::FourEyes::On
        } else {
            interlock_gate::FourEyes::Off
        }
    }
}

/// Shows what [`Config::sanitised`] shows, so that no value from the environment reaches a log.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Config {}", self.sanitised())
    }
}

/// A server of further tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// How it is reached.
    pub transport: Transport,
    /// The program to start, for `stdio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its environment, by the names of variables here that hold the values.
    #[serde(default)]
    pub env_from: BTreeMap<String, String>,
    /// Where it is served, for `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variable that holds its token, for `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// What models are told about its tools.
    #[serde(default)]
    pub instructions: String,
}

/// How a server of tools is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A program that is started and spoken to over its standard input and output.
    Stdio,
    /// A server on the network.
    Http,
}

/// How much may happen without a human.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Control {
    /// Where a session does not say: `read_only` refuses writes, `controlled` asks a human, `autonomous` follows risk and
    /// policies.
    #[schemars(schema_with = "level_schema")]
    pub level: ControlLevel,
    /// Whether somebody else than the one who asked must approve.
    pub four_eyes: bool,
    /// How long a plan waits for a human.
    pub hold_for: Span,
    /// Whether commands that read need a sandbox on the machine where they run: `true` everywhere, or a list of tags. Where
    /// there is none they are refused. Otherwise they run, and the reading says that only the command analysis was checked.
    pub require_read_sandbox: RequireReadSandbox,
    /// Files and folders that hold plain data: in `autonomous` they may be changed without a human. Files that are known to
    /// run code wait for one all the same.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub data_files: BTreeSet<String>,
}

/// Where commands that read need a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RequireReadSandbox {
    /// Everywhere, or nowhere.
    All(bool),
    /// On resources that have one of these tags.
    Tagged(BTreeSet<String>),
}

impl RequireReadSandbox {
    fn to_gate(&self) -> interlock_gate::RequireSandbox {
        match self {
            Self::All(false) => interlock_gate::RequireSandbox::Never,
            Self::All(true) => interlock_gate::RequireSandbox::Always,
            Self::Tagged(tags) => interlock_gate::RequireSandbox::Tagged(tags.clone()),
        }
    }
}

impl Default for Control {
    fn default() -> Self {
        Self {
            level: ControlLevel::default(),
            four_eyes: false,
            hold_for: Span::from_secs(10 * 60),
            require_read_sandbox: RequireReadSandbox::All(false),
            data_files: BTreeSet::new(),
        }
    }
}

fn level_schema(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = ControlLevel::ALL.iter().map(|level| level.as_str()).collect();
    json_schema!({ "type": "string", "enum": words })
}

/// How sessions wait and are worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Queue {
    /// How many sessions this process works on at the same time.
    #[schemars(range(min = 1, max = 256))]
    pub workers: u32,
    /// How many all processes on one store work on at the same time; left out, no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_concurrent_sessions: Option<u32>,
    /// How many sessions may wait. One more is refused.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_pending: u32,
    /// How often a process says that it lives.
    pub heartbeat: Span,
    /// After how much silence its sessions are taken over.
    pub orphan_after: Span,
    /// How often to look for work that another process submitted.
    pub poll: Span,
    /// How long a session may be worked on in one go.
    pub session_timeout: Span,
    /// How long one iteration may take: the model and its tools.
    pub iteration_timeout: Span,
}

impl Default for Queue {
    fn default() -> Self {
        let queue = interlock_engine::Queue::default();
        let limits = interlock_engine::Limits::default();
        let span = |duration: std::time::Duration| {
            Span::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
        };
        Self {
            workers: queue.workers,
            max_concurrent_sessions: queue.max_concurrent,
            max_pending: 1000,
            heartbeat: span(queue.heartbeat),
            orphan_after: span(queue.orphan_after),
            poll: span(queue.poll),
            session_timeout: span(limits.session),
            iteration_timeout: span(limits.iteration),
        }
    }
}

/// How long what ended is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Sessions that ended this many days ago are deleted for people; `null`, never.
    #[schemars(range(min = 1))]
    pub sessions_days: Option<u32>,
    /// What was deleted for people this many days ago is removed for good; `null`, never.
    #[schemars(range(min = 1))]
    pub purge_days: Option<u32>,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            sessions_days: Some(365),
            purge_days: Some(30),
        }
    }
}

/// Somebody who is told what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// The environment variable that holds the address of the webhook; the address is a secret itself.
    pub url_env: String,
    /// Which events; left out, all.
    #[serde(default)]
    pub events: Vec<String>,
}

/// What the gate lets through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// Whether the target of a call must have been discovered in its session.
    pub strict_resolution: bool,
    /// Hosts that commands may reach without a human.
    pub egress: BTreeSet<String>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            strict_resolution: true,
            egress: BTreeSet::new(),
        }
    }
}

/// What models are told.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Prompts {
    /// A folder with templates that replace built-in ones of the same name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}
