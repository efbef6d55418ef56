//! How long it takes to read a reply.
#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot set itself up must stop"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use interlock_dialect::{CallIds, Chunk, Dialect, Limits, NativeArguments, NativeCall, Offer, Reader, Reply};
use interlock_protocol::ToolDefinition;
use serde_json::json;

const IDS: CallIds = CallIds::from_bytes([7; 16]);

fn offer() -> Offer {
    let definition = |name: String| -> ToolDefinition {
        serde_json::from_value(json!({
            "name": name,
            "description": "Reads.",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
            "category": "read_only",
            "risk": "low",
            "kind": {"rule": "fixed", "kind": "read"},
            "modes": ["normal"],
            "timeout_seconds": 10,
            "target": {"rule": "none"},
        }))
        .expect("a definition")
    };
    let definitions: Vec<_> = (0..40).map(|n| definition(format!("server.tool_{n}"))).collect();
    Offer::new(&definitions).expect("an offer")
}

const PROSE: &str = "The disk on delly fills at 2 GB an hour. I look at the largest directories first, then at the journal.\n";

/// A typical reply of each dialect: two kilobytes of prose, then a call.
fn replies() -> [(Dialect, Reply); 4] {
    let prose = PROSE.repeat(20);
    let arguments = r#"{"query": "du -x --max-depth=2 /var", "limit": 20, "host": "delly"}"#;
    let call = NativeCall {
        id: Some("call_1".to_owned()),
        name: "server__tool_7".to_owned(),
        arguments: NativeArguments::Text(arguments.to_owned()),
    };
    [
        (
            Dialect::Native,
            Reply {
                calls: vec![call],
                ..Reply::text(prose.as_str())
            },
        ),
        (
            Dialect::Fenced,
            Reply::text(format!(
                "{prose}```tool\n{{\"tool_name\": \"server.tool_7\", \"arguments\": {arguments}}}\n```"
            )),
        ),
        (
            Dialect::Envelope,
            Reply::text(format!(
                "{prose}{{\"tool_call\": {{\"name\": \"server.tool_7\", \"parameters\": {arguments}}}}}"
            )),
        ),
        (
            Dialect::React,
            Reply::text(format!(
                "Thought: {prose}Action: server.tool_7\nAction Input: {arguments}"
            )),
        ),
    ]
}

fn whole(c: &mut Criterion) {
    let offer = offer();
    let mut group = c.benchmark_group("whole");
    for (dialect, reply) in replies() {
        group.throughput(Throughput::Bytes(reply.text.len() as u64));
        group.bench_function(dialect.as_str(), |b| {
            b.iter(|| dialect.parse(black_box(&reply), &offer, IDS, Limits::DEFAULT));
        });
    }
    group.finish();
}

/// Token by token, as a model streams.
fn streamed(c: &mut Criterion) {
    let offer = offer();
    let mut group = c.benchmark_group("streamed");
    for (dialect, reply) in replies() {
        group.throughput(Throughput::Bytes(reply.text.len() as u64));
        group.bench_function(dialect.as_str(), |b| {
            b.iter(|| {
                let mut reader = Reader::new(dialect, Limits::DEFAULT);
                let mut rest = black_box(reply.text.as_str());
                while !rest.is_empty() {
                    let (token, after) = rest.split_at(rest.ceil_char_boundary(4));
                    black_box(reader.push(Chunk::Text(token)));
                    rest = after;
                }
                reader.finish(&offer, IDS)
            });
        });
    }
    group.finish();
}

/// A megabyte that is hard to read.
fn hostile(c: &mut Criterion) {
    let offer = offer();
    let mut group = c.benchmark_group("hostile");
    group.sample_size(20);
    for (dialect, piece) in [
        (Dialect::Fenced, "```tool\n{\n```\n"),
        (Dialect::Envelope, "{\"tool_call\": "),
        (Dialect::React, "Action: a.\nAction Input: b. Action "),
    ] {
        let reply = Reply::text(piece.repeat((1 << 20) / piece.len()));
        group.throughput(Throughput::Bytes(reply.text.len() as u64));
        group.bench_function(dialect.as_str(), |b| {
            b.iter(|| dialect.parse(black_box(&reply), &offer, IDS, Limits::DEFAULT));
        });
    }
    group.finish();
}

criterion_group!(benches, whole, streamed, hostile);
criterion_main!(benches);
