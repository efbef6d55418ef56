//! The script: what it says, and which reply of it comes next.

use crate::{Finish, Message, Request, Span};
use interlock_dialect::WireName;
use interlock_protocol::ToolName;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;
use std::fmt;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("the script {path} cannot be read: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not in the format.
    #[error("the script {name} is not in its format: {reason}")]
    Format {
        /// The file, or what the script is called.
        name: String,
        /// Where and why.
        reason: String,
    },
    /// A reply makes no sense.
    #[error("the script {name}, line {line}: {reason}")]
    Reply {
        /// The file, or what the script is called.
        name: String,
        /// Where the reply begins.
        line: u64,
        /// Why.
        reason: &'static str,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    replies: Vec<Spanned<Reply>>,
}

/// One reply of a script.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) raw: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    #[serde(default)]
    pub(super) calls: Vec<Call>,
    #[serde(default)]
    when: When,
    #[serde(default)]
    pub(super) expect: Expect,
    #[serde(default)]
    pub(super) delay: Span,
    #[serde(default)]
    pub(super) chunk_size: Option<NonZeroUsize>,
    #[serde(default)]
    pub(super) chunk_delay: Span,
    #[serde(default)]
    pub(super) fault: Option<Fault>,
    #[serde(default)]
    repeat: Repeat,
    #[serde(default)]
    pub(super) usage: Option<Tokens>,
    #[serde(default)]
    pub(super) finish: Option<Finish>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    tool: String,
    #[serde(default)]
    pub(super) arguments: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) arguments_text: Option<String>,
}

impl Call {
    /// The name on the wire. What is no tool's name is a mistake that the script wants to be made.
    pub(super) fn wire_name(&self) -> String {
        on_the_wire(&self.tool)
    }
}

fn on_the_wire(tool: &str) -> String {
    ToolName::new(tool).map_or_else(
        |_| tool.to_owned(),
        |name| WireName::of(&name).as_str().to_owned(),
    )
}

/// When a reply is played: all of it must hold, for the last message.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct When {
    contains: Option<String>,
    absent: Option<String>,
    system: Option<String>,
}

impl When {
    fn holds(&self, system: &str, last: &str) -> bool {
        let Self {
            contains,
            absent,
            system: in_system,
        } = self;
        contains.as_ref().is_none_or(|text| last.contains(text))
            && absent.as_ref().is_none_or(|text| !last.contains(text))
            && in_system.as_ref().is_none_or(|text| system.contains(text))
    }
}

/// What the model must be shown when a reply is played.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Expect {
    contains: Vec<String>,
    absent: Vec<String>,
    tools: Vec<String>,
}

impl Expect {
    /// What is wrong with this request.
    pub(super) fn mismatch(&self, request: &Request) -> Option<String> {
        let shown = |text: &String| {
            request.system.contains(text)
                || request.messages.iter().any(|message| {
                    message.text().contains(text)
                        || matches!(message, Message::Assistant { calls, .. }
                            if calls.iter().any(|call| call.name.contains(text)))
                })
        };
        let offered = |tool: &String| {
            let name = on_the_wire(tool);
            request.tools.iter().any(|offered| offered.name.as_str() == name)
        };
        let missing = self.contains.iter().find(|text| !shown(text));
        let present = self.absent.iter().find(|text| shown(text));
        let tool = self.tools.iter().find(|tool| !offered(tool));
        missing
            .map(|text| format!("it should be shown `{text}`"))
            .or_else(|| present.map(|text| format!("it should not be shown `{text}`")))
            .or_else(|| tool.map(|tool| format!("it should be offered the tool `{tool}`")))
    }
}

/// A failure to play.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    #[serde(default)]
    pub(super) status: Option<u16>,
    #[serde(default)]
    pub(super) retry_after: Option<Span>,
    /// How many attempts of one call fail before the reply comes; every one where this is missing.
    #[serde(default)]
    pub(super) times: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultKind {
    Timeout,
    Stall,
    Disconnect,
    Error,
    MalformedJson,
    Empty,
    Loop,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tokens {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

/// How often a reply is played before the next one's turn.
#[derive(Debug, Clone, Copy)]
enum Repeat {
    Times(NonZeroU32),
    Forever,
}

impl Default for Repeat {
    fn default() -> Self {
        Self::Times(NonZeroU32::MIN)
    }
}

struct RepeatVisitor;

impl Visitor<'_> for RepeatVisitor {
    type Value = Repeat;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 1, or `forever`")
    }

    fn visit_u64<E: serde::de::Error>(self, times: u64) -> Result<Repeat, E> {
        u32::try_from(times)
            .ok()
            .and_then(NonZeroU32::new)
            .map(Repeat::Times)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Unsigned(times), &self))
    }

    fn visit_i64<E: serde::de::Error>(self, times: i64) -> Result<Repeat, E> {
        u64::try_from(times)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(times), &self))
            .and_then(|times| self.visit_u64(times))
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Repeat, E> {
        if word == "forever" {
            Ok(Repeat::Forever)
        } else {
            Err(E::invalid_value(serde::de::Unexpected::Str(word), &self))
        }
    }
}

impl<'de> Deserialize<'de> for Repeat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RepeatVisitor)
    }
}

/// A reply with where it stands.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: u64,
    pub(super) reply: Reply,
}

/// A script of replies. A cheap clone.
#[derive(Debug, Clone)]
pub struct Script {
    name: Arc<str>,
    entries: Arc<[Entry]>,
}

impl Script {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads a text; messages call it by this name.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let file: File = serde_saphyr::from_str(text).map_err(|error| Error::Format {
            name: name.to_owned(),
            reason: error.to_string(),
        })?;
        let mut entries = Vec::with_capacity(file.replies.len());
        for spanned in file.replies {
            let line = spanned.referenced.line();
            let reply = spanned.value;
            if let Some(reason) = nonsense(&reply) {
                return Err(Error::Reply {
                    name: name.to_owned(),
                    line,
                    reason,
                });
            }
            entries.push(Entry { line, reply });
        }
        Ok(Self {
            name: name.into(),
            entries: entries.into(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The reply that is due, and how many came before it. Every reply in the conversation so far is played again in
    /// thought: the same conversation always leads to the same place.
    pub(super) fn due(&self, request: &Request) -> (usize, Option<&Entry>) {
        let mut place = 0;
        let mut played = 0;
        let mut turn = 0;
        let mut last = "";
        let mut choose = |last: &str| {
            let at = (place..self.entries.len())
                .find(|&at| self.entries[at].reply.when.holds(&request.system, last))?;
            if at != place {
                place = at;
                played = 0;
            }
            played += 1;
            if matches!(self.entries[at].reply.repeat, Repeat::Times(times) if played >= times.get()) {
                place = at + 1;
                played = 0;
            }
            Some(at)
        };
        for message in &request.messages {
            if matches!(message, Message::Assistant { .. }) {
                choose(last);
                turn += 1;
            } else {
                last = message.text();
            }
        }
        (turn, choose(last).map(|at| &self.entries[at]))
    }
}

fn nonsense(reply: &Reply) -> Option<&'static str> {
    let says = reply.text.is_some() || reply.raw.is_some() || !reply.calls.is_empty();
    let fault = reply.fault;
    let kind = fault.map(|fault| fault.kind);
    if !says && fault.is_none() {
        return Some("a reply needs one of `text`, `raw`, `calls` or `fault`");
    }
    if reply.raw.is_some() && (reply.text.is_some() || !reply.calls.is_empty()) {
        return Some("`raw` is the whole reply: it takes neither `text` nor `calls` next to it");
    }
    if reply
        .calls
        .iter()
        .any(|call| call.arguments.is_some() && call.arguments_text.is_some())
    {
        return Some("a call takes `arguments` or `arguments_text`, not both");
    }
    let status = fault.and_then(|fault| fault.status);
    if (kind == Some(FaultKind::Error)) != status.is_some() {
        return Some("`status` goes with the fault `error`, and the fault `error` needs it");
    }
    if status.is_some_and(|status| !(400..600).contains(&status)) {
        return Some("`status` is from 400 to 599");
    }
    if let Some(fault) = fault
        && fault.times.is_some()
        && !matches!(fault.kind, FaultKind::Error | FaultKind::Disconnect)
    {
        return Some("`times` goes with the faults `error` and `disconnect`: the others are not asked again");
    }
    if fault.is_some_and(|fault| fault.times.is_some()) && !says {
        return Some("a fault with `times` needs the reply that comes after it");
    }
    None
}
