//! Anthropic's messages.

use super::body::{Body, number};
use super::{Str, count, json, malformed, problem, word};
use crate::collect::Collector;
use crate::failure::Fault;
use crate::request::Sealed;
use crate::{Effort, Error, Finish, Message, Options, Request, Thought};
use bytes::Bytes;
use interlock_dialect::{CallDelta, WireName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Where Anthropic serves it.
pub(crate) const BASE_URL: &str = "https://api.anthropic.com";
/// The version of the wire.
pub(crate) const VERSION: &str = "2023-06-01";
/// The wire wants a number; this one is taken where nobody says another.
const MAX_TOKENS: u32 = 8192;

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a WireName,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
struct Written<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: &'a str,
        input: &'a Map<String, Value>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: &'a str,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde wants")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// An id that this wire takes; ids that other wires made can have more characters.
fn id(id: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if id.chars().all(fits) {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(id.chars().map(|c| if fits(c) { c } else { '_' }).collect())
    }
}

fn thought(thought: &Thought) -> Option<Block<'_>> {
    let signature = thought.signature.as_ref();
    let shown = Sealed::Anthropic
        .open(signature)
        .map(|signature| Block::Thinking {
            thinking: &thought.text,
            signature,
        });
    shown.or_else(|| {
        Sealed::AnthropicRedacted
            .open(signature)
            .map(|data| Block::RedactedThinking { data })
    })
}

fn written(messages: &[Message]) -> Vec<Written<'_>> {
    let mut all: Vec<Written<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, blocks) = match message {
            // The wire takes no empty text.
            Message::User { text } if text.trim().is_empty() => continue,
            Message::User { text } => ("user", vec![Block::Text { text }]),
            Message::Tool {
                call, text, failed, ..
            } => {
                let block = Block::ToolResult {
                    tool_use_id: id(call),
                    content: text,
                    is_error: *failed,
                };
                ("user", vec![block])
            }
            Message::Assistant {
                text,
                thinking,
                calls,
            } => {
                let mut blocks: Vec<_> = thinking.iter().filter_map(thought).collect();
                if !text.trim().is_empty() {
                    blocks.push(Block::Text { text });
                }
                blocks.extend(calls.iter().map(|call| Block::ToolUse {
                    id: id(&call.id),
                    name: &call.name,
                    input: &call.arguments,
                }));
                if blocks.is_empty() {
                    continue;
                }
                ("assistant", blocks)
            }
        };
        match all.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => all.push(Written {
                role,
                content: blocks,
            }),
        }
    }
    all
}

/// The body of a request.
pub(crate) fn body(options: &Options, request: &Request) -> Result<Bytes, Error> {
    let thinking = options.thinking.unwrap_or_default();
    let mut settings = Map::new();
    settings.insert("model".to_owned(), options.model.as_str().into());
    let most = request.max_output_tokens.or(options.max_output_tokens);
    let most = most.unwrap_or_else(|| MAX_TOKENS.saturating_add(thinking.budget_tokens.unwrap_or(0)));
    settings.insert("max_tokens".to_owned(), most.into());
    settings.insert("stream".to_owned(), true.into());
    if let Some(temperature) = request.temperature.or(options.temperature) {
        settings.insert("temperature".to_owned(), number(temperature)?);
    }
    if !request.stop.is_empty() {
        settings.insert("stop_sequences".to_owned(), request.stop.clone().into());
    }
    match thinking.budget_tokens {
        Some(0) => {
            settings.insert("thinking".to_owned(), json!({ "type": "disabled" }));
        }
        Some(budget) => {
            let enabled = json!({ "type": "enabled", "budget_tokens": budget });
            settings.insert("thinking".to_owned(), enabled);
        }
        None if thinking.effort.is_some() => {
            settings.insert("thinking".to_owned(), json!({ "type": "adaptive" }));
        }
        None => {}
    }
    if let Some(effort) = thinking.effort {
        let effort = match effort {
            Effort::Minimal => Effort::Low,
            other => other,
        };
        settings.insert("output_config".to_owned(), json!({ "effort": effort.as_str() }));
    }
    let mut body = Body::new(settings, &options.extra)?;
    if !request.system.is_empty() {
        body.field("system", &request.system)?;
    }
    if !request.tools.is_empty() {
        let tools: Vec<_> = request
            .tools
            .iter()
            .map(|tool| Tool {
                name: &tool.name,
                description: &tool.description,
                input_schema: &tool.parameters,
            })
            .collect();
        body.field("tools", &tools)?;
    }
    body.field("messages", &written(&request.messages))?;
    Ok(body.finish())
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    message: Option<Start<'a>>,
    #[serde(borrow, default)]
    content_block: Option<Received<'a>>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(borrow, default)]
    model: Option<Str<'a>>,
    #[serde(default)]
    usage: Option<Counted>,
}

#[derive(Deserialize)]
struct Received<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    #[serde(borrow, default)]
    id: Option<Str<'a>>,
    #[serde(borrow, default)]
    name: Option<Str<'a>>,
    #[serde(borrow, default)]
    text: Option<Str<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Str<'a>>,
    #[serde(borrow, default)]
    signature: Option<Str<'a>>,
    #[serde(borrow, default)]
    data: Option<Str<'a>>,
    #[serde(default)]
    input: Option<Value>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Option<Str<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Str<'a>>,
    #[serde(borrow, default)]
    signature: Option<Str<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<Str<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Str<'a>>,
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow, default)]
    model: Option<Str<'a>>,
    #[serde(borrow, default)]
    content: Option<Vec<Received<'a>>>,
    #[serde(borrow, default)]
    stop_reason: Option<Str<'a>>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Option<Value>,
}

#[expect(clippy::struct_field_names, reason = "the names of the wire")]
#[derive(Debug, Default, Deserialize)]
struct Counted {
    #[serde(default, deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    output_tokens: Option<u64>,
}

/// Reads a reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pub(crate) done: bool,
    /// The block that is being read is a call of ours, at this index.
    call: Option<u32>,
    counted: Counted,
}

impl Decoder {
    pub(crate) fn event(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        let event: Event<'_> = json(data)?;
        match &*event.kind {
            "message_start" => {
                if let Some(message) = event.message {
                    out.served_by(message.model.as_deref().unwrap_or_default());
                    self.count(message.usage, out);
                }
            }
            "content_block_start" => {
                let block = event
                    .content_block
                    .ok_or_else(|| malformed("a block without content", data))?;
                let index = event
                    .index
                    .ok_or_else(|| malformed("a block without an index", data))?;
                self.call = None;
                self.block(&block, index, out)?;
            }
            "content_block_delta" => {
                let Some(delta) = event.delta else {
                    return Ok(());
                };
                out.text(delta.text.as_deref().unwrap_or_default())?;
                out.thinking(delta.thinking.as_deref().unwrap_or_default())?;
                if let Some(signature) = delta.signature.as_deref().filter(|more| !more.is_empty()) {
                    out.seal_thought(signature, |signature| Sealed::Anthropic.seal(signature));
                }
                if let (Some(index), Some(arguments)) = (self.call, delta.partial_json.as_deref()) {
                    let piece = CallDelta {
                        index: Some(index),
                        arguments,
                        ..CallDelta::default()
                    };
                    if !arguments.is_empty() {
                        out.call_delta(piece, || None)?;
                    }
                }
            }
            "message_delta" => {
                self.count(event.usage, out);
                if let Some(reason) = event
                    .delta
                    .as_ref()
                    .and_then(|delta| delta.stop_reason.as_deref())
                {
                    out.finish(finish(reason));
                }
            }
            "message_stop" => self.done = true,
            "error" => return Err(problem::in_stream(&event.error.unwrap_or_default())),
            // `ping`, `content_block_stop`, and what is not invented yet.
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn whole(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        let whole: Whole<'_> = json(data)?;
        if let Some(error) = &whole.error {
            return Err(problem::in_stream(error));
        }
        let content = whole
            .content
            .ok_or_else(|| malformed("it has no `content`", data))?;
        out.served_by(whole.model.as_deref().unwrap_or_default());
        self.count(whole.usage, out);
        for (index, block) in (0..).zip(&content) {
            self.block(block, index, out)?;
        }
        if let Some(reason) = whole.stop_reason.as_deref() {
            out.finish(finish(reason));
        }
        self.done = true;
        Ok(())
    }

    /// A block begins, or is there as a whole.
    fn block(&mut self, block: &Received<'_>, index: u32, out: &mut Collector<'_>) -> Result<(), Fault> {
        match &*block.kind {
            "text" => out.text(block.text.as_deref().unwrap_or_default()),
            "thinking" => {
                out.thought(Thought::default());
                out.thinking(block.thinking.as_deref().unwrap_or_default())?;
                if let Some(signature) = block.signature.as_deref().filter(|all| !all.is_empty()) {
                    out.seal_thought(signature, |signature| Sealed::Anthropic.seal(signature));
                }
                Ok(())
            }
            "redacted_thinking" => {
                out.thought(Thought {
                    text: String::new(),
                    signature: block
                        .data
                        .as_deref()
                        .map(|data| Sealed::AnthropicRedacted.seal(data)),
                });
                Ok(())
            }
            "tool_use" => {
                self.call = Some(index);
                let input = block
                    .input
                    .as_ref()
                    .filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                let arguments = input.map(ToString::to_string).unwrap_or_default();
                let piece = CallDelta {
                    index: Some(index),
                    id: block.id.as_deref(),
                    name: block.name.as_deref(),
                    arguments: &arguments,
                };
                out.call_delta(piece, || None)
            }
            _ => Ok(()),
        }
    }

    /// Later counts replace earlier ones. What came from the cache is not in the input's count here.
    fn count(&mut self, counted: Option<Counted>, out: &mut Collector<'_>) {
        let Some(counted) = counted else { return };
        let known = &mut self.counted;
        known.input_tokens = counted.input_tokens.or(known.input_tokens);
        known.cache_read_input_tokens = counted.cache_read_input_tokens.or(known.cache_read_input_tokens);
        known.cache_creation_input_tokens = counted
            .cache_creation_input_tokens
            .or(known.cache_creation_input_tokens);
        known.output_tokens = counted.output_tokens.or(known.output_tokens);
        let usage = out.usage();
        let cached = known.cache_read_input_tokens.unwrap_or(0);
        usage.cached_input_tokens = cached;
        usage.input_tokens = known
            .input_tokens
            .unwrap_or(0)
            .saturating_add(cached)
            .saturating_add(known.cache_creation_input_tokens.unwrap_or(0));
        usage.output_tokens = known.output_tokens.unwrap_or(0);
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::ContentFilter,
        other => Finish::Other(word(other)),
    }
}
