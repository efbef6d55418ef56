//! How long a decision takes.
#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot set itself up must stop"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use interlock_gate::{Catalogue, Gate, Options, ResolvedResource, Session, SessionOptions, Situation, World};
use interlock_protocol::{CallId, ControlLevel, ExecutionId, SessionId, ToolCall, ToolName};
use serde_json::{Value, json};

fn call(tool: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else {
        return call(tool, json!({}));
    };
    ToolCall {
        id: CallId::from_bytes([1; 16]),
        tool: ToolName::new(tool).expect("a tool name"),
        arguments,
    }
}

fn decisions(criterion: &mut Criterion) {
    let catalogue = Catalogue::built_in().expect("the built-in tools load");
    let gate = Gate::new(Arc::new(catalogue), Options::default());
    let execution = ExecutionId::from_bytes([2; 16]);
    let now = jiff::Timestamp::UNIX_EPOCH;
    // A session that has discovered this much: a small site, and as much as it may know.
    let fresh = |known: u32| {
        let options = SessionOptions {
            level: ControlLevel::Autonomous,
            ..SessionOptions::default()
        };
        let mut session = Session::new(SessionId::from_bytes([3; 16]), options);
        let found = (130..130 + known)
            .filter_map(|n| {
                Some(ResolvedResource::new(
                    format!("lxc:delly:{n}").parse().ok()?,
                    format!("guest-{n}"),
                ))
            })
            .collect();
        gate.rediscover(&mut session, &execution, found, now);
        (World::default(), session)
    };
    let cases = [
        (
            "read",
            call(
                "infra_read",
                json!({"action": "file", "target_host": "guest-141", "path": "/etc/hosts"}),
            ),
        ),
        (
            "write",
            call(
                "infra_control",
                json!({"action": "restart", "target_resource_id": "lxc:delly:141"}),
            ),
        ),
        (
            "refusal",
            call(
                "infra_control",
                json!({"action": "restart", "target_resource_id": "lxc:delly:999"}),
            ),
        ),
        (
            "read with a command",
            call(
                "infra_read",
                json!({"action": "exec", "target_host": "guest-141", "command": "journalctl -n 50"}),
            ),
        ),
    ];
    let mut group = criterion.benchmark_group("gate decision");
    for (known, (name, call)) in [12, 500]
        .into_iter()
        .flat_map(|known| cases.iter().map(move |case| (known, case)))
    {
        group.bench_function(format!("{name}, {known} resources"), |bencher| {
            bencher.iter_batched(
                || (fresh(known), call.clone()),
                |((mut world, mut session), call)| {
                    let decision =
                        gate.decide(&mut world, &mut session, &execution, call, Situation::at(now));
                    let decision = black_box(decision);
                    (decision, world, session)
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
