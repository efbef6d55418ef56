//! Chat completions, as `OpenAI` has them and many servers imitate them.

use super::body::{AsText, Body, number};
use super::{Arguments, Str, Texts, count, json, malformed, problem, word};
use crate::collect::Collector;
use crate::failure::Fault;
use crate::request::Sealed;
use crate::{AssistantCall, Error, Finish, Message, Options, Request};
use bytes::Bytes;
use interlock_dialect::{CallDelta, WireTool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Where `OpenAI` itself serves it.
pub(crate) const BASE_URL: &str = "https://api.openai.com/v1";

#[derive(Serialize)]
struct Function<'a> {
    r#type: &'static str,
    function: &'a WireTool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Written<'a> {
    System {
        content: &'a str,
    },
    User {
        content: &'a str,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WrittenCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct WrittenCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WrittenFunction<'a>,
    /// What Google's servers want back with a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Value>,
}

#[derive(Serialize)]
struct WrittenFunction<'a> {
    name: &'a str,
    arguments: AsText<'a, Map<String, Value>>,
}

fn written_call(call: &AssistantCall) -> WrittenCall<'_> {
    WrittenCall {
        id: &call.id,
        r#type: "function",
        function: WrittenFunction {
            name: &call.name,
            arguments: AsText(&call.arguments),
        },
        extra_content: Sealed::OpenAi
            .open(call.signature.as_ref())
            .and_then(|sealed| serde_json::from_str(sealed).ok()),
    }
}

fn written(message: &Message) -> Written<'_> {
    match message {
        Message::User { text } => Written::User { content: text },
        Message::Assistant { text, calls, .. } => Written::Assistant {
            content: (!text.is_empty() || calls.is_empty()).then_some(text),
            tool_calls: calls.iter().map(written_call).collect(),
        },
        Message::Tool { call, text, .. } => Written::Tool {
            tool_call_id: call,
            content: text,
        },
    }
}

/// The body of a request.
pub(crate) fn body(options: &Options, request: &Request) -> Result<Bytes, Error> {
    let mut settings = Map::new();
    settings.insert("model".to_owned(), options.model.as_str().into());
    settings.insert("stream".to_owned(), true.into());
    settings.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    if let Some(most) = request.max_output_tokens.or(options.max_output_tokens) {
        // OpenAI's newer models take only the one name; most other servers know only the other.
        let name = if options.base_url.is_none() {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        settings.insert(name.to_owned(), most.into());
    }
    if let Some(temperature) = request.temperature.or(options.temperature) {
        settings.insert("temperature".to_owned(), number(temperature)?);
    }
    if let Some(effort) = options.thinking.and_then(|thinking| thinking.effort) {
        settings.insert("reasoning_effort".to_owned(), effort.as_str().into());
    }
    if !request.stop.is_empty() {
        settings.insert("stop".to_owned(), request.stop.clone().into());
    }
    let mut body = Body::new(settings, &options.extra)?;
    if !request.tools.is_empty() {
        let tools: Vec<_> = request
            .tools
            .iter()
            .map(|function| Function {
                r#type: "function",
                function,
            })
            .collect();
        body.field("tools", &tools)?;
    }
    let system = Some(request.system.as_str()).filter(|system| !system.is_empty());
    let messages: Vec<_> = system
        .map(|content| Written::System { content })
        .into_iter()
        .chain(request.messages.iter().map(written))
        .collect();
    body.field("messages", &messages)?;
    Ok(body.finish())
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    model: Option<Str<'a>>,
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default, alias = "message")]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Str<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Option<Texts<'a>>,
    #[serde(borrow, default)]
    refusal: Option<Str<'a>>,
    #[serde(borrow, default)]
    reasoning_content: Option<Str<'a>>,
    #[serde(borrow, default)]
    reasoning: Option<Str<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    id: Option<Str<'a>>,
    #[serde(borrow, default)]
    function: Option<CalledFunction<'a>>,
    #[serde(default)]
    extra_content: Option<Value>,
}

#[derive(Deserialize)]
struct CalledFunction<'a> {
    #[serde(borrow, default)]
    name: Option<Str<'a>>,
    #[serde(borrow, default)]
    arguments: Option<Arguments<'a>>,
}

#[derive(Deserialize)]
struct Counted {
    #[serde(default, deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<InputDetails>,
    #[serde(default)]
    completion_tokens_details: Option<OutputDetails>,
}

#[derive(Deserialize)]
struct InputDetails {
    #[serde(default, deserialize_with = "count")]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct OutputDetails {
    #[serde(default, deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
}

/// Whether a reply comes in pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Pieces,
    Whole,
}

/// Reads a reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pub(crate) done: bool,
}

impl Decoder {
    pub(crate) fn event(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        if data.trim_ascii() == b"[DONE]" {
            self.done = true;
            return Ok(());
        }
        read(&json(data)?, Form::Pieces, out)
    }

    pub(crate) fn whole(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        let event: Event<'_> = json(data)?;
        if event.error.is_none() && event.choices.is_none() {
            return Err(malformed("it has no `choices`", data));
        }
        read(&event, Form::Whole, out)?;
        self.done = true;
        Ok(())
    }
}

fn read(event: &Event<'_>, form: Form, out: &mut Collector<'_>) -> Result<(), Fault> {
    if let Some(error) = &event.error {
        return Err(problem::in_stream(error));
    }
    if let Some(model) = &event.model {
        out.served_by(model);
    }
    if let Some(counted) = &event.usage {
        let usage = out.usage();
        usage.input_tokens = counted.prompt_tokens.unwrap_or(usage.input_tokens);
        usage.output_tokens = counted.completion_tokens.unwrap_or(usage.output_tokens);
        let cached = counted
            .prompt_tokens_details
            .as_ref()
            .and_then(|details| details.cached_tokens);
        usage.cached_input_tokens = cached.unwrap_or(usage.cached_input_tokens);
        let thinking = counted
            .completion_tokens_details
            .as_ref()
            .and_then(|details| details.reasoning_tokens);
        usage.thinking_tokens = thinking.unwrap_or(usage.thinking_tokens);
    }
    let choices = event.choices.as_deref().unwrap_or_default();
    for choice in choices.iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
        if let Some(delta) = &choice.delta {
            read_delta(delta, form, out)?;
        }
        if let Some(reason) = choice
            .finish_reason
            .as_deref()
            .filter(|reason| !reason.is_empty())
        {
            out.finish(match reason {
                "stop" => Finish::Stop,
                "tool_calls" | "function_call" => Finish::ToolCalls,
                "length" => Finish::Length,
                "content_filter" => Finish::ContentFilter,
                other => Finish::Other(word(other)),
            });
        }
    }
    Ok(())
}

fn read_delta(delta: &Delta<'_>, form: Form, out: &mut Collector<'_>) -> Result<(), Fault> {
    // Some servers send the same thought under both names.
    let thinking = delta
        .reasoning_content
        .as_deref()
        .filter(|thinking| !thinking.is_empty())
        .or(delta.reasoning.as_deref());
    out.thinking(thinking.unwrap_or_default())?;
    out.text(delta.content.as_deref().unwrap_or_default())?;
    out.text(delta.refusal.as_deref().unwrap_or_default())?;
    for (place, call) in (0..).zip(delta.tool_calls.as_deref().unwrap_or_default()) {
        let function = call.function.as_ref();
        let arguments: Cow<'_, str> = match function.and_then(|function| function.arguments.as_ref()) {
            None => Cow::Borrowed(""),
            Some(Arguments::Text(text)) => Cow::Borrowed(text),
            Some(Arguments::Value(value)) => Cow::Owned(value.to_string()),
        };
        let delta = CallDelta {
            index: match form {
                Form::Pieces => call.index,
                Form::Whole => Some(place),
            },
            id: call.id.as_deref(),
            name: function.and_then(|function| function.name.as_deref()),
            arguments: &arguments,
        };
        out.call_delta(delta, || {
            let sealed = call.extra_content.as_ref()?;
            Some(Sealed::OpenAi.seal(&sealed.to_string()))
        })?;
    }
    Ok(())
}
