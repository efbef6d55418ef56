//! Gemini's `streamGenerateContent`.

use super::body::{Body, number};
use super::{Str, count, json, malformed, problem, word};
use crate::collect::Collector;
use crate::failure::{Fault, Kind};
use crate::request::Sealed;
use crate::{Error, Finish, Message, Options, Request, Thought};
use bytes::Bytes;
use interlock_dialect::{NativeArguments, NativeCall, Quote, WireName};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Where Google serves it.
pub(crate) const BASE_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a WireName,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Response<'a> {
    Result(&'a str),
    Error(&'a str),
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }
}

fn written(messages: &[Message]) -> Vec<Content<'_>> {
    let mut all: Vec<Content<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        let (role, parts) = match message {
            Message::User { text } => ("user", vec![Part::text(text)]),
            Message::Tool {
                call,
                name,
                text,
                failed,
            } => {
                let response = FunctionResponse {
                    id: call,
                    name,
                    response: if *failed {
                        Response::Error(text)
                    } else {
                        Response::Result(text)
                    },
                };
                let part = Part {
                    function_response: Some(response),
                    ..Part::default()
                };
                ("user", vec![part])
            }
            Message::Assistant {
                text,
                thinking,
                calls,
            } => {
                let sealed = thinking
                    .iter()
                    .rev()
                    .find_map(|thought| Sealed::Gemini.open(thought.signature.as_ref()));
                let mut parts = Vec::new();
                if !text.is_empty() || sealed.is_some() || calls.is_empty() {
                    parts.push(Part {
                        thought_signature: sealed,
                        ..Part::text(text)
                    });
                }
                parts.extend(calls.iter().map(|call| Part {
                    function_call: Some(FunctionCall {
                        id: &call.id,
                        name: &call.name,
                        args: &call.arguments,
                    }),
                    thought_signature: Sealed::Gemini.open(call.signature.as_ref()),
                    ..Part::default()
                }));
                ("model", parts)
            }
        };
        match all.last_mut() {
            Some(last) if last.role == Some(role) => last.parts.extend(parts),
            _ => all.push(Content {
                role: Some(role),
                parts,
            }),
        }
    }
    all
}

/// The body of a request.
pub(crate) fn body(options: &Options, request: &Request) -> Result<Bytes, Error> {
    let mut generation = Map::new();
    if let Some(most) = request.max_output_tokens.or(options.max_output_tokens) {
        generation.insert("maxOutputTokens".to_owned(), most.into());
    }
    if let Some(temperature) = request.temperature.or(options.temperature) {
        generation.insert("temperature".to_owned(), number(temperature)?);
    }
    if !request.stop.is_empty() {
        generation.insert("stopSequences".to_owned(), request.stop.clone().into());
    }
    if let Some(thinking) = options.thinking {
        let mut config = Map::new();
        config.insert(
            "includeThoughts".to_owned(),
            (thinking.budget_tokens != Some(0)).into(),
        );
        if let Some(budget) = thinking.budget_tokens {
            config.insert("thinkingBudget".to_owned(), budget.into());
        }
        if let Some(effort) = thinking.effort {
            config.insert("thinkingLevel".to_owned(), effort.as_str().into());
        }
        generation.insert("thinkingConfig".to_owned(), config.into());
    }
    let mut settings = Map::new();
    if !generation.is_empty() {
        settings.insert("generationConfig".to_owned(), generation.into());
    }
    let mut body = Body::new(settings, &options.extra)?;
    if !request.system.is_empty() {
        let system = Content {
            role: None,
            parts: vec![Part::text(&request.system)],
        };
        body.field("systemInstruction", &system)?;
    }
    if request.tools.is_empty() {
        // The provider refuses its own tools next to ours.
        let native = options.native_tools;
        let own: Vec<_> = [
            ("google_search", native.google_search),
            ("code_execution", native.code_execution),
            ("url_context", native.url_context),
        ]
        .into_iter()
        .filter(|(_, on)| *on)
        .map(|(name, _)| json!({ name: {} }))
        .collect();
        if !own.is_empty() {
            body.field("tools", &own)?;
        }
    } else {
        let declarations: Vec<_> = request
            .tools
            .iter()
            .map(|tool| Declaration {
                name: &tool.name,
                description: &tool.description,
                parameters_json_schema: &tool.parameters,
            })
            .collect();
        let tools = [std::collections::BTreeMap::from([(
            "functionDeclarations",
            declarations,
        )])];
        body.field("tools", &tools)?;
    }
    body.field("contents", &written(&request.messages))?;
    Ok(body.finish())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default)]
    prompt_feedback: Option<Feedback<'a>>,
    #[serde(default)]
    usage_metadata: Option<Counted>,
    #[serde(borrow, default)]
    model_version: Option<Str<'a>>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow, default)]
    block_reason: Option<Str<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(borrow, default)]
    content: Option<Received<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Str<'a>>,
    #[serde(default)]
    grounding_metadata: Option<Value>,
    #[serde(default)]
    url_context_metadata: Option<Value>,
}

#[derive(Deserialize)]
struct Received<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<ReceivedPart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceivedPart<'a> {
    #[serde(borrow, default)]
    text: Option<Str<'a>>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(borrow, default)]
    thought_signature: Option<Str<'a>>,
    #[serde(borrow, default)]
    function_call: Option<ReceivedCall<'a>>,
    #[serde(default)]
    executable_code: Option<Value>,
    #[serde(default)]
    code_execution_result: Option<Value>,
}

#[derive(Deserialize)]
struct ReceivedCall<'a> {
    #[serde(borrow, default)]
    id: Option<Str<'a>>,
    #[serde(borrow, default)]
    name: Option<Str<'a>>,
    #[serde(default)]
    args: Option<Value>,
}

#[expect(clippy::struct_field_names, reason = "the names of the wire")]
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    #[serde(default, deserialize_with = "count")]
    prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    thoughts_token_count: Option<u64>,
}

/// Reads a reply.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    last_grounding: Option<Value>,
}

impl Decoder {
    pub(crate) fn event(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        let event: Event<'_> = json(data)?;
        self.read(event, out)
    }

    /// A reply in one piece: one event, or a list of them from servers that send no server-sent events.
    pub(crate) fn whole(&mut self, data: &[u8], out: &mut Collector<'_>) -> Result<(), Fault> {
        let events: Vec<Event<'_>> = if data.starts_with(b"[") {
            json(data)?
        } else {
            vec![json(data)?]
        };
        for event in events {
            self.read(event, out)?;
        }
        if out.has_finish() {
            Ok(())
        } else {
            Err(malformed("it has no finished candidate", data))
        }
    }

    fn read(&mut self, event: Event<'_>, out: &mut Collector<'_>) -> Result<(), Fault> {
        if let Some(error) = &event.error {
            return Err(problem::in_stream(error));
        }
        if let Some(model) = &event.model_version {
            out.served_by(model);
        }
        if let Some(counted) = event.usage_metadata {
            let usage = out.usage();
            let thinking = counted.thoughts_token_count.unwrap_or(0);
            usage.input_tokens = counted
                .prompt_token_count
                .unwrap_or(0)
                .saturating_add(counted.tool_use_prompt_token_count.unwrap_or(0));
            usage.cached_input_tokens = counted.cached_content_token_count.unwrap_or(0);
            usage.output_tokens = counted
                .candidates_token_count
                .unwrap_or(0)
                .saturating_add(thinking);
            usage.thinking_tokens = thinking;
        }
        let blocked = event
            .prompt_feedback
            .as_ref()
            .and_then(|feedback| feedback.block_reason.as_deref());
        if let Some(reason) = blocked {
            let what = format!("the provider will not answer this: {}", Quote::of(reason));
            return Err(Fault::new(Kind::Blocked, what));
        }
        let candidates = event.candidates.unwrap_or_default();
        for candidate in candidates
            .into_iter()
            .filter(|candidate| candidate.index.unwrap_or(0) == 0)
        {
            let parts = candidate.content.and_then(|content| content.parts);
            for part in parts.unwrap_or_default() {
                read_part(part, out)?;
            }
            self.ground("groundingMetadata", candidate.grounding_metadata, out);
            self.ground("urlContextMetadata", candidate.url_context_metadata, out);
            if let Some(reason) = candidate.finish_reason.as_deref() {
                out.finish(finish(reason));
            }
        }
        Ok(())
    }

    /// The same metadata can come with every event: only what is new is passed on.
    fn ground(&mut self, key: &str, found: Option<Value>, out: &mut Collector<'_>) {
        let Some(found) = found.filter(|found| found.as_object().is_some_and(|found| !found.is_empty()))
        else {
            return;
        };
        let found = json!({ key: found });
        if self.last_grounding.as_ref() != Some(&found) {
            self.last_grounding = Some(found.clone());
            out.grounding(found);
        }
    }
}

fn read_part(part: ReceivedPart<'_>, out: &mut Collector<'_>) -> Result<(), Fault> {
    let signature = part
        .thought_signature
        .as_deref()
        .filter(|signature| !signature.is_empty())
        .map(|signature| Sealed::Gemini.seal(signature));
    if let Some(call) = part.function_call {
        let call = NativeCall {
            id: call.id.map(|id| id.to_owned()).filter(|id| !id.is_empty()),
            name: call.name.as_deref().unwrap_or_default().to_owned(),
            arguments: NativeArguments::Value(call.args.unwrap_or_else(|| json!({}))),
        };
        return out.call(call, signature);
    }
    if part.thought == Some(true) {
        out.thinking(part.text.as_deref().unwrap_or_default())?;
    } else {
        out.text(part.text.as_deref().unwrap_or_default())?;
    }
    if signature.is_some() {
        out.thought(Thought {
            text: String::new(),
            signature,
        });
    }
    if let Some(code) = part.executable_code {
        out.code_execution(json!({ "executableCode": code }));
    }
    if let Some(result) = part.code_execution_result {
        out.code_execution(json!({ "codeExecutionResult": result }));
    }
    Ok(())
}

fn finish(reason: &str) -> Finish {
    match reason {
        "STOP" => Finish::Stop,
        // Google itself says STOP there; servers that imitate it say this.
        "FUNCTION_CALL" => Finish::ToolCalls,
        "MAX_TOKENS" => Finish::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            Finish::ContentFilter
        }
        other => Finish::Other(word(other)),
    }
}
