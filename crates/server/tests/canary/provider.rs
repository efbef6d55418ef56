//! A provider that speaks the real wire, in pieces that fall anywhere, and remembers what it was asked.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::StatusCode;
use interlock_model::Provider as Wire;
use serde_json::{Value, json};

/// What it says next.
pub(crate) enum Say {
    Reply(Reply),
    Raw {
        kind: &'static str,
        body: String,
    },
    Refuse {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
}

/// A reply in chat completions.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) served_by: String,
    pub(crate) finish: String,
}

/// A tool call.
pub(crate) struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
}

impl Call {
    pub(crate) fn new(name: &str, arguments: &Value) -> Self {
        Self::written(name, &arguments.to_string())
    }

    pub(crate) fn written(name: &str, arguments: &str) -> Self {
        Self {
            id: None,
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }

    pub(crate) fn read(command: &str) -> Self {
        Self::new(
            "infra_read",
            &json!({"action": "exec", "target_resource_id": "host:web", "command": command}),
        )
    }

    pub(crate) fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }
}

impl Say {
    pub(crate) fn text(text: &str) -> Self {
        Self::Reply(Reply {
            text: text.to_owned(),
            ..Reply::default()
        })
    }

    pub(crate) fn refuse(status: u16, body: &Value) -> Self {
        Self::Refuse {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }

    pub(crate) fn raw(kind: &'static str, body: &str) -> Self {
        Self::Raw {
            kind,
            body: body.to_owned(),
        }
    }
}

#[derive(Default)]
struct Inner {
    next: Mutex<VecDeque<Say>>,
    asked: Mutex<Vec<u8>>,
}

/// The provider.
#[derive(Clone)]
pub(crate) struct Provider {
    inner: Arc<Inner>,
    /// `127.0.0.1:PORT`
    pub(crate) address: String,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let inner = Arc::new(Inner::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { inner, address }
    }

    pub(crate) fn next(&self, say: impl IntoIterator<Item = Say>) {
        self.inner.next.lock().unwrap().extend(say);
    }

    pub(crate) fn left(&self) -> usize {
        self.inner.next.lock().unwrap().len()
    }

    pub(crate) fn clear(&self) {
        self.inner.next.lock().unwrap().clear();
    }

    /// The bodies of all requests.
    pub(crate) fn asked(&self) -> Vec<u8> {
        self.inner.asked.lock().unwrap().clone()
    }
}

async fn answer(State(inner): State<Arc<Inner>>, body: Bytes) -> Response {
    inner.asked.lock().unwrap().extend_from_slice(&body);
    let say = inner.next.lock().unwrap().pop_front();
    match say.unwrap_or_else(|| Say::text("Nothing is left to say.")) {
        Say::Reply(reply) => in_pieces("text/event-stream", stream(&reply)),
        Say::Raw { kind, body } => in_pieces(kind, body),
        Say::Refuse {
            status,
            headers,
            body,
        } => {
            let mut response = (StatusCode::from_u16(status).unwrap(), body).into_response();
            for (name, value) in headers {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            response
        }
    }
}

fn in_pieces(kind: &'static str, body: String) -> Response {
    let bytes = body.into_bytes();
    let sizes = [1, 2, 3, 5, 1, 7, 13, 1, 64];
    let mut pieces = Vec::new();
    let (mut from, mut turn) = (0, 0);
    while from < bytes.len() {
        let to = (from + sizes[turn % sizes.len()]).min(bytes.len());
        pieces.push(Ok::<_, Infallible>(Bytes::copy_from_slice(&bytes[from..to])));
        (from, turn) = (to, turn + 1);
    }
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    ([(http::header::CONTENT_TYPE, kind)], body).into_response()
}

/// Deltas of a few characters each.
fn stream(reply: &Reply) -> String {
    let mut events = Vec::new();
    let mut delta = |delta: Value| {
        let mut event = json!({ "id": "chatcmpl-1", "choices": [{ "index": 0, "delta": delta }] });
        if !reply.served_by.is_empty() {
            event["model"] = reply.served_by.as_str().into();
        }
        events.push(event);
    };
    let pieces = |text: &str, size: usize| -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(size).map(|piece| piece.iter().collect()).collect()
    };
    for piece in pieces(&reply.thinking, 4) {
        delta(json!({ "reasoning_content": piece }));
    }
    for piece in pieces(&reply.text, 3) {
        delta(json!({ "content": piece }));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        // The same ids in every reply, as some servers give them.
        let id = call.id.clone().unwrap_or_else(|| format!("call_{index}"));
        delta(
            json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": call.name, "arguments": "" } }] }),
        );
        for piece in pieces(&call.arguments, 5) {
            delta(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }));
        }
    }
    let finish = match (reply.finish.as_str(), reply.calls.is_empty()) {
        ("", true) => "stop",
        ("", false) => "tool_calls",
        (finish, _) => finish,
    };
    events.push(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": finish }] }));
    events.push(json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5 } }));
    let mut body = joined("data: ", &events, "\n\n");
    body.push_str("data: [DONE]\n\n");
    body
}

/// Documents behind each other, each with something before and behind it.
fn joined(before: &str, documents: &[Value], behind: &str) -> String {
    documents.iter().fold(String::new(), |mut all, document| {
        write!(all, "{before}{document}{behind}").unwrap();
        all
    })
}

/// What the other wires carry.
pub(crate) struct Foreign {
    pub(crate) thinking: String,
    pub(crate) text: String,
    pub(crate) argument: String,
    pub(crate) grounding: String,
    pub(crate) code: String,
}

fn events(events: &[Value]) -> Say {
    Say::raw("text/event-stream", &joined("data: ", events, "\n\n"))
}

/// A reply on another wire.
pub(crate) fn foreign(wire: Wire, said: &Foreign) -> Say {
    let input = json!({"action": "exec", "target_resource_id": "host:web", "command": said.argument});
    match wire {
        Wire::Anthropic => events(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": said.thinking}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": said.grounding}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": said.text}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": format!(" {}", said.code)}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "infra_read", "input": {}}}),
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": input.to_string()}}),
            json!({"type": "content_block_stop", "index": 2}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ]),
        Wire::Gemini => events(&[
            json!({"candidates": [{"content": {"parts": [{"text": said.thinking, "thought": true}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": said.text}]}}]}),
            json!({"candidates": [{"content": {"parts": [
                {"executableCode": {"language": "PYTHON", "code": format!("print('{}')", said.code)}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": said.code}},
            ]}}]}),
            json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": "infra_read", "args": input}}]},
                "groundingMetadata": {"webSearchQueries": [said.grounding]}, "finishReason": "STOP"}]}),
        ]),
        Wire::Ollama => {
            let lines = [
                json!({"message": {"role": "assistant", "thinking": said.thinking}}),
                json!({"message": {"role": "assistant", "content": format!("{} {} {}", said.text, said.code, said.grounding)}}),
                json!({"message": {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "infra_read", "arguments": input}}]}}),
                json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}),
            ];
            Say::raw("application/x-ndjson", &joined("", &lines, "\n"))
        }
        Wire::Openai | Wire::Scripted => panic!("not another wire"),
    }
}

/// A plain answer on another wire.
pub(crate) fn foreign_text(wire: Wire) -> Say {
    match wire {
        Wire::Anthropic => events(&[
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done."}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ]),
        Wire::Gemini => events(&[
            json!({"candidates": [{"content": {"parts": [{"text": "Done."}]}, "finishReason": "STOP"}]}),
        ]),
        Wire::Ollama => Say::raw(
            "application/x-ndjson",
            "{\"message\":{\"role\":\"assistant\",\"content\":\"Done.\"},\"done\":true,\"done_reason\":\"stop\"}\n",
        ),
        Wire::Openai | Wire::Scripted => panic!("not another wire"),
    }
}
