//! Ollama's own chat.

use super::body::{Body, number};
use super::{Arguments, Str, count, json, problem, word};
use crate::collect::Collector;
use crate::failure::Fault;
use crate::{Error, Finish, Message, Options, Request};
use bytes::Bytes;
use interlock_dialect::{NativeArguments, NativeCall, WireTool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where Ollama serves it.
pub(crate) const BASE_URL: &str = "http://127.0.0.1:11434";

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
        content: &'a str,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WrittenCall<'a>>,
    },
    Tool {
        tool_name: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
struct WrittenCall<'a> {
    function: WrittenFunction<'a>,
}

#[derive(Serialize)]
struct WrittenFunction<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
}

fn written(message: &Message) -> Written<'_> {
    match message {
        Message::User { text } => Written::User { content: text },
        Message::Assistant { text, calls, .. } => Written::Assistant {
            content: text,
            tool_calls: calls
                .iter()
                .map(|call| WrittenCall {
                    function: WrittenFunction {
                        name: &call.name,
                        arguments: &call.arguments,
                    },
                })
                .collect(),
        },
        Message::Tool { name, text, .. } => Written::Tool {
            tool_name: name,
            content: text,
        },
    }
}

/// The body of a request.
pub(crate) fn body(options: &Options, request: &Request) -> Result<Bytes, Error> {
    let mut tuning = Map::new();
    if let Some(most) = request.max_output_tokens.or(options.max_output_tokens) {
        tuning.insert("num_predict".to_owned(), most.into());
    }
    if let Some(temperature) = request.temperature.or(options.temperature) {
        tuning.insert("temperature".to_owned(), number(temperature)?);
    }
    if let Some(context) = options.context_tokens {
        tuning.insert("num_ctx".to_owned(), context.into());
    }
    if !request.stop.is_empty() {
        tuning.insert("stop".to_owned(), request.stop.clone().into());
    }
    let mut settings = Map::new();
    settings.insert("model".to_owned(), options.model.as_str().into());
    settings.insert("stream".to_owned(), true.into());
    if !tuning.is_empty() {
        settings.insert("options".to_owned(), tuning.into());
    }
    if let Some(thinking) = options.thinking {
        let think = match (thinking.effort, thinking.budget_tokens) {
            (Some(effort), _) => effort.as_str().into(),
            (None, budget) => (budget != Some(0)).into(),
        };
        settings.insert("think".to_owned(), think);
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
    message: Option<Received<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(borrow, default)]
    done_reason: Option<Str<'a>>,
    #[serde(default, deserialize_with = "count")]
    prompt_eval_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    eval_count: Option<u64>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Received<'a> {
    #[serde(borrow, default)]
    content: Option<Str<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Str<'a>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    id: Option<Str<'a>>,
    #[serde(borrow)]
    function: Called<'a>,
}

#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow, default)]
    name: Option<Str<'a>>,
    #[serde(borrow, default)]
    arguments: Option<Arguments<'a>>,
}

/// Reads a reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pub(crate) done: bool,
}

impl Decoder {
    pub(crate) fn event(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        let event: Event<'_> = json(data)?;
        if let Some(error) = &event.error {
            return Err(problem::in_stream(error));
        }
        if let Some(model) = &event.model {
            out.served_by(model);
        }
        if let Some(message) = event.message {
            out.thinking(message.thinking.as_deref().unwrap_or_default())?;
            out.text(message.content.as_deref().unwrap_or_default())?;
            for call in message.tool_calls.unwrap_or_default() {
                let arguments = match call.function.arguments {
                    Some(Arguments::Value(value)) => NativeArguments::Value(value),
                    Some(Arguments::Text(text)) => NativeArguments::Text(text.into_owned()),
                    None => NativeArguments::Value(Value::Object(Map::new())),
                };
                let call = NativeCall {
                    id: call.id.map(|id| id.to_owned()).filter(|id| !id.is_empty()),
                    name: call.function.name.as_deref().unwrap_or_default().to_owned(),
                    arguments,
                };
                out.call(call, None)?;
            }
        }
        if event.prompt_eval_count.is_some() || event.eval_count.is_some() {
            let usage = out.usage();
            usage.input_tokens = event.prompt_eval_count.unwrap_or(usage.input_tokens);
            usage.output_tokens = event.eval_count.unwrap_or(usage.output_tokens);
        }
        if event.done == Some(true) {
            self.done = true;
            out.finish(match event.done_reason.as_deref() {
                None | Some("stop" | "") => Finish::Stop,
                Some("length") => Finish::Length,
                Some(other) => Finish::Other(word(other)),
            });
        }
        Ok(())
    }
}
