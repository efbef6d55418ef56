//! How a model is reached: one entry of `models` in the configuration.

use crate::Span;
use crate::secrets::HIDDEN;
use interlock_dialect::Dialect;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// How a model is reached and what it costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Model")]
pub struct Options {
    /// Which wire it speaks. `openai` serves every OpenAI-compatible server: vLLM, llama.cpp, `LiteLLM`, `OpenRouter`, …
    pub provider: Provider,
    /// The provider's name for the model. Required, except for `scripted`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Where it is served; the provider's own address where this is missing. The provider's default key goes only to the
    /// provider's own address: with an address of your own, name the key in `api_key_env` if it needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<BaseUrl>,
    /// The environment variable that holds the key. For the provider's own address: `OPENAI_API_KEY`,
    /// `ANTHROPIC_API_KEY` or `GEMINI_API_KEY` where this is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// More headers to send.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, HeaderText>,
    /// A PEM file with certificates to trust besides those of the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// How it writes proposals: `native` where it can call tools, else one of the dialects that are written as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "dialect_schema")]
    pub dialect: Option<Dialect>,
    /// The most tokens that it may write in one reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// How freely it chooses its words, from 0 to 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f32>,
    /// How many tokens it can read and write together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u32>,
    /// How long to wait for it.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How often to ask again when it is overloaded or out of reach.
    #[serde(default)]
    pub retries: Retries,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The models to use in its place when it fails, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<String>,
    /// What the provider itself may do for the model (Gemini). Used only when no other tools are offered.
    #[serde(default, skip_serializing_if = "NativeTools::is_empty")]
    pub native_tools: NativeTools,
    /// How much it should think before it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Thinking>,
    /// More fields for the request, as the provider spells them. They cannot replace what carries the conversation.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// The script to play, for `scripted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<PathBuf>,
}

impl Options {
    /// A model with every other setting at its default.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            base_url: None,
            api_key_env: None,
            headers: BTreeMap::new(),
            ca_file: None,
            dialect: None,
            max_output_tokens: None,
            temperature: None,
            context_tokens: None,
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            price: None,
            fallback: Vec::new(),
            native_tools: NativeTools::default(),
            thinking: None,
            extra: Map::new(),
            script: None,
        }
    }

    /// The dialect that it is asked to write.
    pub fn dialect(&self) -> Dialect {
        self.dialect.unwrap_or(Dialect::Native)
    }
}

fn dialect_schema(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.as_str()).collect();
    json_schema!({ "type": ["string", "null"], "enum": [words[0], words[1], words[2], words[3], null] })
}

/// Which wire a model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// `OpenAI` chat completions, and every server that imitates them.
    Openai,
    /// Anthropic messages.
    Anthropic,
    /// Gemini `generateContent`.
    Gemini,
    /// Ollama chat.
    Ollama,
    /// A script of replies.
    Scripted,
}

impl Provider {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::Scripted => "scripted",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where a model is served. It may carry a name and a password, so that it shows itself without them.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(extend("format" = "uri"))]
pub struct BaseUrl(String);

impl BaseUrl {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for BaseUrl {
    fn from(url: T) -> Self {
        Self(url.into())
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::http::shown(&self.0))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl Serialize for BaseUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The value of a header. It may be a secret, so that it never shows itself.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HeaderText(String);

impl HeaderText {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for HeaderText {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for HeaderText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for HeaderText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

/// How long to wait for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// Until the first piece of a reply.
    pub first_chunk: Span,
    /// The longest silence after that.
    pub stall: Span,
    /// The whole call, with everything that is tried again.
    pub call: Span,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            first_chunk: Span::from_secs(120),
            stall: Span::from_secs(60),
            call: Span::from_secs(300),
        }
    }
}

/// How often to ask again. Only a request that has shown nothing yet is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retries {
    /// How often to ask altogether; 1 is never again.
    #[schemars(range(min = 1, max = 20))]
    pub attempts: u32,
    /// The longest wait before the second time; it doubles each time. The wait is drawn at random up to that.
    pub base: Span,
    /// The longest wait of all, also when the provider asks for more.
    pub cap: Span,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 3,
            base: Span::from_millis(500),
            cap: Span::from_secs(30),
        }
    }
}

/// What a model costs, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// What it reads.
    #[schemars(range(min = 0.0))]
    pub input_per_million: f64,
    /// What it writes, thinking included.
    #[schemars(range(min = 0.0))]
    pub output_per_million: f64,
    /// What it reads from the provider's cache; as `input_per_million` where this is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0))]
    pub cached_input_per_million: Option<f64>,
}

/// What a provider itself may do for a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NativeTools {
    /// Search the web.
    pub google_search: bool,
    /// Run code in the provider's sandbox.
    pub code_execution: bool,
    /// Read the pages whose addresses the conversation names.
    pub url_context: bool,
}

impl NativeTools {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde wants")]
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How much a model should think.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Thinking {
    /// How many tokens it may think (Anthropic, Gemini, Ollama; there anything but 0 is on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u32>,
    /// How hard it should think (every provider's newer models).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// How hard a model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl Effort {
    /// The stable word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
