//! Each wire against what its provider sends and takes.

use super::{Progress, Stream, Wire};
use crate::collect::{Collected, Collector};
use crate::failure::{Fault, Kind};
use crate::secrets::Scrubber;
use crate::{
    AssistantCall, Chunk, Effort, Finish, Flow, Limits, Message, NativeTools, Options, Provider, Request,
    Thinking, Thought,
};
use bytes::Bytes;
use interlock_dialect::{CallIds, Dialect, Offer, Reader, WireTool};
use interlock_protocol::ToolDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fmt::Write as _;

const WIRES: [(Wire, Provider); 4] = [
    (Wire::Openai, Provider::Openai),
    (Wire::Anthropic, Provider::Anthropic),
    (Wire::Gemini, Provider::Gemini),
    (Wire::Ollama, Provider::Ollama),
];

fn offer() -> Offer {
    let definition: ToolDefinition = serde_json::from_value(json!({
        "name": "grafana.query", "description": "Asks.", "category": "read", "risk": "low",
        "parameters": { "type": "object", "properties": { "q": { "type": "string" } } },
        "kind": { "rule": "fixed", "kind": "read" }, "modes": [], "timeout_seconds": 1,
        "target": { "rule": "none" },
    }))
    .expect("a definition");
    Offer::new([&definition]).expect("an offer")
}

fn tools() -> Vec<WireTool> {
    offer().wire_tools().collect()
}

/// Reads a reply in pieces of this size.
fn read_in(wire: Wire, reply: &[u8], size: usize, sink: &mut crate::Sink<'_>) -> (Collected, Option<Fault>) {
    let mut stream = Stream::new(wire, Limits::DEFAULT, Collector::new(sink));
    let whole = Bytes::copy_from_slice(reply);
    let mut fault = None;
    let mut at = 0;
    while at < whole.len() && fault.is_none() {
        let to = (at + size).min(whole.len());
        match stream.push(&whole.slice(at..to)) {
            Ok(Progress::More) => at = to,
            Ok(Progress::Done) => break,
            Err(found) => fault = Some(found),
        }
    }
    if fault.is_none() {
        fault = stream.end().err();
    }
    (stream.finish(&Scrubber::default()).0, fault)
}

fn read(wire: Wire, reply: &str) -> (Collected, Option<Fault>) {
    read_in(wire, reply.as_bytes(), usize::MAX, &mut |_| Flow::Continue)
}

fn sse(events: &[Value]) -> String {
    events.iter().fold(String::new(), |mut all, event| {
        let _ = write!(all, "data: {event}\n\n");
        all
    })
}

fn delta(delta: &Value) -> Value {
    json!({ "id": "x", "model": "served", "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

fn openai_calls() -> String {
    sse(&[
        delta(&json!({ "role": "assistant", "content": null, "reasoning_content": "I should " })),
        delta(&json!({ "reasoning": "look." })),
        delta(&json!({ "content": "Grüße, ich 🔍 " })),
        delta(&json!({ "content": "schaue nach.\n" })),
        delta(
            &json!({ "tool_calls": [{ "index": 0, "id": "a", "function": { "name": "grafana__query", "arguments": "" } }] }),
        ),
        delta(
            &json!({ "tool_calls": [{ "index": 1, "id": "b", "function": { "name": "grafana__query", "arguments": "{\"q\":" } }] }),
        ),
        delta(&json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{\"q\": \"ü\"}" } }] })),
        delta(&json!({ "tool_calls": [{ "index": 1, "function": { "arguments": " broken" } }] })),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5,
            "prompt_tokens_details": { "cached_tokens": 4 }, "completion_tokens_details": { "reasoning_tokens": 2 } } }),
    ]) + "data: [DONE]\n\n"
}

fn anthropic_calls() -> String {
    let events = [
        json!({ "type": "message_start", "message": { "model": "claude", "usage": { "input_tokens": 10, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 1, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "", "signature": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "Let me ünderstand." } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "sig" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "signature_delta", "signature": "nature" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "content_block_start", "index": 1, "content_block": { "type": "redacted_thinking", "data": "opaque" } }),
        json!({ "type": "content_block_start", "index": 2, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 2, "delta": { "type": "text_delta", "text": "Looking." } }),
        json!({ "type": "content_block_start", "index": 3, "content_block": { "type": "tool_use", "id": "t1", "name": "grafana__query", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "input_json_delta", "partial_json": "" } }),
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "input_json_delta", "partial_json": "{\"q\":" } }),
        json!({ "type": "content_block_delta", "index": 3, "delta": { "type": "input_json_delta", "partial_json": "\"up\"}" } }),
        json!({ "type": "content_block_start", "index": 4, "content_block": { "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} } }),
        json!({ "type": "content_block_delta", "index": 4, "delta": { "type": "input_json_delta", "partial_json": "{\"not\":\"ours\"}" } }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    events.iter().fold(String::new(), |mut all, event| {
        let kind = event["type"].as_str().expect("a type");
        let _ = write!(all, "event: {kind}\r\ndata: {event}\r\n\r\n");
        all
    })
}

fn gemini_calls() -> String {
    sse(&[
        json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": [{ "text": "Hm.", "thought": true }] } }], "modelVersion": "gemini-x" }),
        json!({ "candidates": [{ "content": { "parts": [{ "text": "Ich schaue nach: ä" }, { "functionCall": { "name": "grafana__query", "args": { "q": "up" } }, "thoughtSignature": "c2ln" }] } }] }),
        json!({ "candidates": [{ "content": { "parts": [{ "functionCall": { "id": "g2", "name": "grafana__query" } }] } }] }),
        json!({ "candidates": [{ "content": { "parts": [{ "text": "", "thoughtSignature": "ZW5k" }] }, "finishReason": "STOP", "groundingMetadata": {} }],
            "usageMetadata": { "promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "thoughtsTokenCount": 3 } }),
    ])
}

fn ollama_calls() -> String {
    [
        json!({ "model": "qwen", "message": { "role": "assistant", "content": "", "thinking": "Hm ü." }, "done": false }),
        json!({ "model": "qwen", "message": { "role": "assistant", "content": "Looking." }, "done": false }),
        json!({ "model": "qwen", "message": { "role": "assistant", "content": "", "tool_calls": [{ "function": { "name": "grafana__query", "arguments": { "q": "up" } } }] }, "done": false }),
        json!({ "model": "qwen", "message": { "role": "assistant", "content": "" }, "done": true, "done_reason": "stop", "prompt_eval_count": 10, "eval_count": 5 }),
    ]
    .iter()
    .fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{line}");
        all
    })
}

fn samples() -> [(Wire, String); 4] {
    [
        (Wire::Openai, openai_calls()),
        (Wire::Anthropic, anthropic_calls()),
        (Wire::Gemini, gemini_calls()),
        (Wire::Ollama, ollama_calls()),
    ]
}

/// A reply as a snapshot shows it.
fn shown(collected: &Collected) -> Value {
    json!({
        "reply": collected.reply,
        "thoughts": collected.thoughts,
        "call_signatures": collected.call_signatures,
        "usage": collected.usage,
        "finish": collected.finish,
        "served_by": collected.served_by,
        "groundings": collected.groundings,
        "code_executions": collected.code_executions,
    })
}

#[test]
fn every_wire_is_read() {
    for (wire, reply) in samples() {
        let (collected, fault) = read(wire, &reply);
        assert_eq!(fault, None, "{wire:?}");
        insta::assert_json_snapshot!(format!("reply_{wire:?}").to_lowercase(), shown(&collected));
    }
}

#[test]
fn replies_in_one_piece_are_read() {
    let openai = json!({ "model": "m", "choices": [{ "index": 0, "finish_reason": "stop", "message": { "role": "assistant", "content": "Hi",
        "tool_calls": [{ "function": { "name": "a", "arguments": { "x": 1 } } }, { "function": { "name": "b", "arguments": "{}" } }] } }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 2 } });
    let anthropic = json!({ "type": "message", "model": "m", "stop_reason": "end_turn", "usage": { "input_tokens": 1, "output_tokens": 2 },
        "content": [{ "type": "text", "text": "Hi" }, { "type": "tool_use", "id": "1", "name": "a", "input": { "x": 1 } }, { "type": "tool_use", "id": "2", "name": "b", "input": {} }] });
    let gemini = json!([{ "candidates": [{ "content": { "parts": [{ "text": "Hi" }, { "functionCall": { "name": "a", "args": { "x": 1 } } }] } }] },
        { "candidates": [{ "content": { "parts": [{ "functionCall": { "name": "b" } }] }, "finishReason": "STOP" }], "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 2 } }]);
    let ollama = json!({ "model": "m", "message": { "content": "Hi", "tool_calls": [{ "function": { "name": "a", "arguments": { "x": 1 } } }, { "function": { "name": "b" } }] },
        "done": true, "prompt_eval_count": 1, "eval_count": 2 });
    for (wire, reply) in [
        (Wire::Openai, openai),
        (Wire::Anthropic, anthropic),
        (Wire::Gemini, gemini),
        (Wire::Ollama, ollama),
    ] {
        let (collected, fault) = read(wire, &reply.to_string());
        assert_eq!(fault, None, "{wire:?}");
        let names: Vec<_> = collected
            .reply
            .calls
            .iter()
            .map(|call| call.name.as_str())
            .collect();
        assert_eq!(
            (collected.reply.text.as_str(), names),
            ("Hi", vec!["a", "b"]),
            "{wire:?}"
        );
        assert_eq!(
            (collected.usage.input_tokens, collected.usage.output_tokens),
            (1, 2),
            "{wire:?}"
        );
        assert_eq!(collected.finish, Some(Finish::ToolCalls), "{wire:?}");
    }
}

#[test]
fn what_the_wires_do_besides_is_tolerated() {
    let hi = delta(&json!({ "content": "Hi" }));
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let cases = [
        format!(": OPENROUTER PROCESSING\n\n\ndata: {hi}\n\ndata: {end}\n\ndata: [DONE]\n\n"),
        format!("data: {hi}\r\n\r\ndata: {end}\r\n\r\ndata: [DONE]\r\n\r\n"),
        format!("data:{hi}\n\ndata:{end}\n\n"),
        format!("data: {hi}\n\ndata: {end}"),
        format!("data: {hi}\n\ndata: {end}\n\ndata: [DO"),
        format!("data: {hi}\n\ndata: {end}\n\ndata: {{\"usage\":{{"),
        format!("\u{feff}data: {hi}\n\ndata: {end}\n\ndata: [DONE]"),
        format!("event: message\nid: 7\ndata: {hi}\n\ndata: {end}\n\ndata: [DONE]\n\ndata: not json\n\n"),
        format!(
            "data: {}\n\ndata: {end}\n\n",
            json!({ "unheard": [1, { "of": 2 }], "choices": [{ "delta": { "content": [{ "type": "text", "text": "Hi" }], "audio": null } }] })
        ),
    ];
    for reply in &cases {
        let (collected, fault) = read(Wire::Openai, reply);
        assert_eq!((collected.reply.text.as_str(), fault), ("Hi", None), "{reply}");
        assert_eq!(collected.finish, Some(Finish::Stop));
    }
}

#[test]
fn what_went_wrong_is_told() {
    let hi = delta(&json!({ "content": "Hi" }));
    let cases: &[(Wire, String, Kind)] = &[
        (Wire::Openai, String::new(), Kind::Transport),
        (Wire::Openai, format!("data: {hi}\n\n"), Kind::Transport),
        (
            Wire::Openai,
            format!("data: {hi}\n\ndata: {{\"choi"),
            Kind::Transport,
        ),
        (
            Wire::Openai,
            "data: {\"choices\": \"none\"}\n\n".to_owned(),
            Kind::Malformed,
        ),
        (Wire::Openai, "data: nonsense\n\n".to_owned(), Kind::Malformed),
        (Wire::Openai, "<html>Sign in</html>".to_owned(), Kind::Malformed),
        (Wire::Openai, "OK".to_owned(), Kind::Malformed),
        (Wire::Openai, "{\"hello\":1}".to_owned(), Kind::Malformed),
        (Wire::Openai, "{\"choices\":[{\"mess".to_owned(), Kind::Transport),
        (
            Wire::Openai,
            sse(&[hi.clone(), json!({ "error": { "message": "no", "code": 429 } })]),
            Kind::RateLimited,
        ),
        (
            Wire::Openai,
            json!({ "error": "no" }).to_string(),
            Kind::Overloaded,
        ),
        (
            Wire::Anthropic,
            sse(&[
                json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } }),
            ]),
            Kind::Overloaded,
        ),
        (
            Wire::Anthropic,
            sse(&[json!({ "type": "message_start", "message": {} })]),
            Kind::Transport,
        ),
        (
            Wire::Anthropic,
            sse(&[json!({ "type": "content_block_start", "index": 0 })]),
            Kind::Malformed,
        ),
        (
            Wire::Gemini,
            sse(&[json!({ "promptFeedback": { "blockReason": "SAFETY" } })]),
            Kind::Blocked,
        ),
        (
            Wire::Gemini,
            sse(&[json!({ "error": { "code": 503, "message": "busy", "status": "UNAVAILABLE" } })]),
            Kind::Overloaded,
        ),
        (
            Wire::Gemini,
            sse(&[json!({ "candidates": [{ "content": { "parts": [{ "text": "Hi" }] } }] })]),
            Kind::Transport,
        ),
        (
            Wire::Ollama,
            "{\"error\":\"model not found\"}\n".to_owned(),
            Kind::InvalidRequest,
        ),
        (
            Wire::Ollama,
            "{\"message\":{\"content\":\"Hi\"},\"done\":false}\n".to_owned(),
            Kind::Transport,
        ),
        (Wire::Ollama, "{\"message\":7}\n".to_owned(), Kind::Malformed),
        (
            Wire::Openai,
            sse(&[delta(
                &json!({ "content": "The same words over and over. ".repeat(300) }),
            )]),
            Kind::Degenerate,
        ),
        (
            Wire::Openai,
            format!("data: {}\n\n", "x".repeat(9 << 20)),
            Kind::TooLarge,
        ),
    ];
    for (wire, reply, kind) in cases {
        let (_, fault) = read(*wire, reply);
        let fault = fault.unwrap_or_else(|| panic!("{reply:.80} passed"));
        assert_eq!(fault.kind, *kind, "{reply:.80}: {}", fault.what);
        assert!(fault.what.len() < 500, "{}", fault.what);
    }
}

#[test]
fn gemini_shows_what_it_searched_and_ran() {
    let grounding = json!({ "webSearchQueries": ["disk full"] });
    let reply = sse(&[
        json!({ "candidates": [{ "content": { "parts": [{ "executableCode": { "language": "PYTHON", "code": "print(1)" } }] } }] }),
        json!({ "candidates": [{ "content": { "parts": [{ "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": "1" } }] }, "groundingMetadata": grounding }] }),
        json!({ "candidates": [{ "content": { "parts": [{ "text": "One." }] }, "groundingMetadata": grounding, "finishReason": "STOP" }] }),
    ]);
    let mut seen = Vec::new();
    let (collected, fault) = read_in(Wire::Gemini, reply.as_bytes(), 9, &mut |chunk| {
        seen.push(match chunk {
            Chunk::CodeExecution(_) => "code",
            Chunk::Grounding(_) => "grounding",
            Chunk::Text(_) => "text",
            _ => "other",
        });
        Flow::Continue
    });
    assert_eq!(fault, None);
    assert_eq!(seen, ["code", "code", "grounding", "text"]);
    assert_eq!(collected.groundings, [json!({ "groundingMetadata": grounding })]);
    assert_eq!(collected.code_executions.len(), 2);
}

#[test]
fn a_receiver_that_wants_no_more_gets_no_more() {
    for (wire, reply) in samples() {
        let mut pieces = 0;
        let (collected, fault) = read_in(wire, reply.as_bytes(), usize::MAX, &mut |_| {
            pieces += 1;
            Flow::Stop
        });
        assert_eq!(
            (pieces, fault, collected.finish),
            (1, None, Some(Finish::Stopped)),
            "{wire:?}"
        );
        assert!(collected.reply.calls.is_empty() && collected.reply.text.is_empty());
    }
}

fn conversation() -> Vec<Message> {
    let call = |id: &str, signature: Option<&str>| AssistantCall {
        id: id.to_owned(),
        name: "grafana__query".to_owned(),
        arguments: serde_json::from_value(json!({ "q": "up" })).expect("an object"),
        signature: signature.map(str::to_owned),
    };
    let thought = |signature: &str| Thought {
        text: "Let me look.".to_owned(),
        signature: Some(signature.to_owned()),
    };
    let result = |id: &str, failed| Message::Tool {
        call: id.to_owned(),
        name: "grafana__query".to_owned(),
        text: "{\"up\":1}".to_owned(),
        failed,
    };
    vec![
        Message::user("What is up?"),
        Message::Assistant {
            text: "I look.".to_owned(),
            thinking: vec![
                thought("anthropic:sig"),
                thought("anthropic-redacted:opaque"),
                thought("gemini:Zw=="),
            ],
            calls: vec![
                call("call.1", Some("gemini:c2ln")),
                call("c2", Some("openai:{\"google\":{\"thought_signature\":\"x\"}}")),
            ],
        },
        result("call.1", false),
        result("c2", true),
        Message::assistant("Everything is up."),
        Message::user("And now?"),
    ]
}

fn options(provider: Provider) -> Options {
    let mut options = Options::new(provider, "some-model");
    options.temperature = Some(0.2);
    options.thinking = Some(match provider {
        Provider::Anthropic => Thinking {
            budget_tokens: Some(2000),
            effort: None,
        },
        Provider::Gemini => Thinking {
            budget_tokens: Some(512),
            effort: None,
        },
        _ => Thinking {
            budget_tokens: None,
            effort: Some(Effort::Low),
        },
    });
    options.extra =
        serde_json::from_value(json!({ "top_p": 0.9, "options": { "seed": 7 } })).expect("an object");
    options
}

fn request(messages: &[Message]) -> Request {
    Request {
        system: "You are careful.".to_owned(),
        messages: messages.to_vec(),
        tools: tools(),
        max_output_tokens: Some(1000),
        temperature: None,
        stop: vec!["Observation:".to_owned()],
    }
}

#[test]
fn every_wire_is_written() {
    for (wire, provider) in WIRES {
        let body = wire
            .body(&options(provider), &request(&conversation()))
            .expect("a body");
        // As text: the order of the fields is part of it.
        let value: Value = serde_json::from_slice(&body).expect("JSON");
        insta::assert_snapshot!(
            format!("body_{wire:?}").to_lowercase(),
            serde_json::to_string_pretty(&value).expect("JSON")
        );
    }
}

#[test]
fn the_requests_of_an_execution_differ_only_at_their_ends() {
    let all = conversation();
    for (wire, provider) in WIRES {
        let body = |turn: usize| {
            wire.body(&options(provider), &request(&all[..turn]))
                .expect("a body")
        };
        for (earlier, later) in [(1, 4), (4, 6)] {
            let (earlier, later) = (body(earlier), body(later));
            // All but the brackets that close the conversation.
            let shared = earlier.iter().zip(&later).take_while(|(a, b)| a == b).count();
            assert!(
                shared + 4 >= earlier.len(),
                "{wire:?}: {shared} of {} bytes:\n{}\n{}",
                earlier.len(),
                String::from_utf8_lossy(&earlier),
                String::from_utf8_lossy(&later)
            );
            assert_eq!(body(4), body(4));
        }
    }
}

#[test]
fn gemini_offers_its_own_tools_only_where_there_are_no_others() {
    let mut options = Options::new(Provider::Gemini, "m");
    options.native_tools = NativeTools {
        google_search: true,
        code_execution: true,
        url_context: false,
    };
    let tools = |request: &Request| {
        let body = Wire::Gemini.body(&options, request).expect("a body");
        serde_json::from_slice::<Value>(&body).expect("JSON")["tools"].clone()
    };
    let mut request = request(&conversation());
    assert!(tools(&request)[0]["functionDeclarations"].is_array());
    assert_eq!(tools(&request).as_array().map(Vec::len), Some(1));
    request.tools.clear();
    assert_eq!(
        tools(&request),
        json!([{ "google_search": {} }, { "code_execution": {} }])
    );
}

/// Index, id, name and arguments of a piece of a call.
type Piece = (Option<u32>, Option<String>, Option<String>, String);

/// Deltas as servers really send them, and as none should.
fn deltas() -> impl Strategy<Value = Vec<Piece>> {
    let id = prop::option::of("[ab]?");
    let name = prop::option::of("[xy]{0,2}");
    prop::collection::vec((prop::option::of(0_u32..3), id, name, "[{}\"1ü]{0,3}"), 0..10)
}

proptest! {
    #[test]
    fn how_the_bytes_arrive_changes_nothing(which in 0_usize..4, size in 1_usize..40) {
        let (wire, reply) = &samples()[which];
        let (whole, fault) = read(*wire, reply);
        prop_assert_eq!(fault, None);
        let (pieces, fault) = read_in(*wire, reply.as_bytes(), size, &mut |_| Flow::Continue);
        prop_assert_eq!(fault, None);
        prop_assert_eq!(shown(&whole), shown(&pieces));
    }

    #[test]
    fn bytes_that_nobody_should_send_never_panic(which in 0_usize..4, cut in any::<prop::sample::Index>(), wrong in prop::collection::vec(any::<u8>(), 0..4), size in 1_usize..20) {
        let (wire, reply) = &samples()[which];
        let mut bytes = reply.clone().into_bytes();
        let at = cut.index(bytes.len());
        bytes.splice(at..(at + 1).min(bytes.len()), wrong);
        let first = read_in(*wire, &bytes, size, &mut |_| Flow::Continue);
        let second = read_in(*wire, &bytes, usize::MAX, &mut |_| Flow::Continue);
        prop_assert_eq!(first.1.map(|fault| fault.kind), second.1.map(|fault| fault.kind));
        prop_assert_eq!(shown(&first.0), shown(&second.0));
    }

    #[test]
    fn the_reply_and_its_pieces_mean_the_same(deltas in deltas()) {
        let events: Vec<Value> = deltas.iter().map(|(index, id, name, arguments)| {
            let mut call = json!({ "function": { "arguments": arguments } });
            if let Some(index) = index { call["index"] = json!(index); }
            if let Some(id) = id { call["id"] = json!(id); }
            if let Some(name) = name { call["function"]["name"] = json!(name); }
            delta(&json!({ "tool_calls": [call] }))
        }).collect();
        let reply = sse(&events) + "data: [DONE]\n\n";
        let mut reader = Reader::new(Dialect::Native, interlock_dialect::Limits::DEFAULT);
        let (collected, fault) = read_in(Wire::Openai, reply.as_bytes(), usize::MAX, &mut |chunk| {
            if let Some(chunk) = chunk.for_reader() { reader.push(chunk); }
            Flow::Continue
        });
        prop_assert_eq!(fault, None);
        let ids = CallIds::from_bytes([7; 16]);
        let whole = Dialect::Native.parse(&collected.reply, &offer(), ids, interlock_dialect::Limits::DEFAULT);
        prop_assert_eq!(reader.finish(&offer(), ids), whole);
    }
}
