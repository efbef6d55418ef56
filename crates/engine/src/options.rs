//! What an operator may set about agents, chains and the loop.

use std::time::Duration;

use interlock_dialect::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How an agent works: which dialect its model writes in, or a single call without tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Controller {
    /// The provider's own tool calls.
    Native,
    /// One fenced JSON block per reply.
    Fenced,
    /// One JSON object per reply: `tool_call` or `final_answer`.
    Envelope,
    /// Thought / Action / Action Input / Final Answer.
    React,
    /// One call without tools that unites what several agents found.
    Synthesis,
    /// One call without tools.
    SingleCall,
}

impl Controller {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Fenced => "fenced",
            Self::Envelope => "envelope",
            Self::React => "react",
            Self::Synthesis => "synthesis",
            Self::SingleCall => "single_call",
        }
    }

    /// The dialect in which its model writes.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Native | Self::Synthesis | Self::SingleCall => Dialect::Native,
            Self::Fenced => Dialect::Fenced,
            Self::Envelope => Dialect::Envelope,
            Self::React => Dialect::React,
        }
    }

    /// Whether it may call tools.
    pub const fn has_tools(self) -> bool {
        match self {
            Self::Native | Self::Fenced | Self::Envelope | Self::React => true,
            Self::Synthesis | Self::SingleCall => false,
        }
    }
}

impl From<Dialect> for Controller {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Native => Self::Native,
            Dialect::Fenced => Self::Fenced,
            Dialect::Envelope => Self::Envelope,
            Dialect::React => Self::React,
        }
    }
}

/// An agent: a model with instructions and tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentOptions {
    /// What it is for, for people.
    pub description: String,
    /// What it is told besides the general instructions.
    pub instructions: String,
    /// The model, by its name under `models`; left out, the default one.
    pub model: Option<String>,
    /// How it works; left out, what its model's dialect says.
    pub controller: Option<Controller>,
    /// How often its model is asked before it must conclude.
    #[schemars(range(min = 1, max = 200))]
    pub max_iterations: Option<u32>,
    /// The tools that it may use; left out, all that there are.
    pub tools: Option<Vec<String>>,
    /// Whether only the first call of a reply is looked at.
    pub strict: bool,
}

/// Whether a stage succeeds when some of its agents do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Success {
    /// Every agent must succeed.
    All,
    /// One agent is enough.
    #[default]
    Any,
}

/// One stage of a chain. Its agents work side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageOptions {
    /// What it is called.
    pub name: String,
    /// The agents that work in it, by their names under `agents`.
    #[schemars(length(min = 1))]
    pub agents: Vec<String>,
    /// Whether it succeeds when some of its agents do.
    #[serde(default)]
    pub success: Success,
    /// The agent that unites the findings of several; left out, the built-in one.
    #[serde(default)]
    pub synthesis: Option<String>,
}

/// Stages of agents for a type of alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainOptions {
    /// What it is for, for people.
    #[serde(default)]
    pub description: String,
    /// The types of alerts that it is for. An alert type belongs to one chain.
    #[serde(default)]
    pub alert_types: Vec<String>,
    /// Its stages, one after the other.
    #[schemars(length(min = 1))]
    pub stages: Vec<StageOptions>,
}

/// What holds where nothing closer says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Defaults {
    /// The model, by its name under `models`.
    pub model: Option<String>,
    /// How agents work; left out, what their model's dialect says.
    pub controller: Option<Controller>,
    /// How often a model is asked before it must conclude: 20.
    #[schemars(range(min = 1, max = 200))]
    pub max_iterations: Option<u32>,
    /// The agent that answers questions; left out, the built-in one.
    pub agent: Option<String>,
}

/// How often a model is asked before it must conclude.
pub const MAX_ITERATIONS: u32 = 20;

/// The bounds of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long a session may be worked on in one go.
    pub session: Duration,
    /// How long one iteration may take: the model and its tools.
    pub iteration: Duration,
    /// How many reads of one reply run side by side.
    pub parallel_reads: usize,
    /// How many bytes of each text of a tool's answer are kept.
    pub kept_bytes: usize,
    /// How many bytes of a tool's answer a model is shown.
    pub shown_bytes: usize,
    /// How many tokens a model takes where its options do not say.
    pub context_tokens: u32,
    /// How many times a model is reminded that its reply was empty.
    pub nudges: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            session: Duration::from_mins(40),
            iteration: Duration::from_mins(6),
            parallel_reads: 4,
            kept_bytes: 64 * 1024,
            shown_bytes: 16 * 1024,
            context_tokens: 32_000,
            nudges: 2,
        }
    }
}
