//! The tools that the tests offer, and a short way to parse.

#![allow(dead_code, reason = "each test file uses a part of this")]
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

use interlock_dialect::{CallIds, Dialect, Limits, Offer, Parsed, Reply};
use interlock_protocol::{CallId, Proposal, ToolCall, ToolDefinition, ToolName};
use serde_json::{Value, json};

pub(crate) const IDS: CallIds = CallIds::from_bytes([7; 16]);

pub(crate) fn definition(name: &str) -> ToolDefinition {
    serde_json::from_value(json!({
        "name": name,
        "description": format!("What {name} does."),
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string"}},
            "required": ["query"],
            "additionalProperties": false,
        },
        "category": "read_only",
        "risk": "low",
        "kind": {"rule": "fixed", "kind": "read"},
        "modes": ["normal"],
        "timeout_seconds": 10,
        "target": {"rule": "none"},
    }))
    .unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn offer() -> Offer {
    let definitions = ["infra_query", "infra_read", "k8s.get_pods", "grafana.query-range"].map(definition);
    Offer::new(&definitions)
        .expect("an offer")
        .withholding([ToolName::new("infra_control").expect("a name")])
}

pub(crate) fn parse(dialect: Dialect, text: &str) -> Parsed {
    dialect.parse(&Reply::text(text), &offer(), IDS, Limits::DEFAULT)
}

/// What a reply comes to, without ids and quotations: what a table compares.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    Call(&'static str, Value),
    Answer(String),
    /// The words of its problems.
    Problems(Vec<&'static str>),
}

pub(crate) fn outcome(parsed: &Parsed) -> Outcome {
    match parsed.proposals.as_slice() {
        [] => Outcome::Problems(
            parsed
                .problems
                .iter()
                .map(|problem| problem.fault.as_str())
                .collect(),
        ),
        [Proposal::FinalAnswer { text }] => Outcome::Answer(text.clone()),
        [Proposal::ToolCall(ToolCall { tool, arguments, .. })] => Outcome::Call(
            String::from(tool.clone()).leak(),
            Value::Object(arguments.clone()),
        ),
        several => panic!("more than one proposal: {several:?}"),
    }
}

pub(crate) fn call(tool: &'static str, arguments: Value) -> Outcome {
    Outcome::Call(tool, arguments)
}

pub(crate) fn answer(text: &str) -> Outcome {
    Outcome::Answer(text.to_owned())
}

pub(crate) fn problem(word: &'static str) -> Outcome {
    Outcome::Problems(vec![word])
}

/// The kinds of what was ignored.
pub(crate) fn ignored(parsed: &Parsed) -> Vec<String> {
    let kind = |ignored| {
        let value = serde_json::to_value(ignored).expect("it can be written");
        value["ignored"].as_str().expect("a word").to_owned()
    };
    parsed.ignored.iter().map(kind).collect()
}

pub(crate) fn check(dialect: Dialect, cases: &[(&str, Outcome)]) {
    for (text, expected) in cases {
        let parsed = parse(dialect, text);
        assert_eq!(&outcome(&parsed), expected, "{text}\n{parsed:#?}");
    }
}

/// A call whose result is shown.
pub(crate) fn a_call() -> ToolCall {
    ToolCall {
        id: CallId::new("call_1").expect("an id"),
        tool: ToolName::new("k8s.get_pods").expect("a name"),
        arguments: serde_json::Map::new(),
    }
}
