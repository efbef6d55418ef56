//! What the calls of a provider's wire come to.

mod support;

use interlock_dialect::{
    CallDelta, Chunk, Dialect, Fault, Ignored, Limits, NativeArguments, NativeCall, Offer, OfferError,
    Parsed, Reader, Reply,
};
use interlock_protocol::{ErrorCode, ToolName};
use serde_json::{Value, json};
use support::{IDS, answer, definition, offer, outcome, problem};

fn native(id: Option<&str>, name: &str, arguments: NativeArguments) -> NativeCall {
    NativeCall {
        id: id.map(str::to_owned),
        name: name.to_owned(),
        arguments,
    }
}

fn text(id: &str, name: &str, arguments: &str) -> NativeCall {
    native(Some(id), name, NativeArguments::Text(arguments.to_owned()))
}

fn value(name: &str, arguments: Value) -> NativeCall {
    native(None, name, NativeArguments::Value(arguments))
}

fn parse(text: &str, calls: Vec<NativeCall>) -> Parsed {
    let reply = Reply {
        calls,
        ..Reply::text(text)
    };
    Dialect::Native.parse(&reply, &offer(), IDS, Limits::DEFAULT)
}

fn stream(deltas: &[CallDelta<'_>]) -> Vec<(String, String, Value)> {
    let mut reader = Reader::new(Dialect::Native, Limits::DEFAULT);
    for delta in deltas {
        reader.push(Chunk::CallDelta(*delta));
    }
    taken(&reader.finish(&offer(), IDS))
}

/// The id, the tool and the arguments of each call.
fn taken(parsed: &Parsed) -> Vec<(String, String, Value)> {
    assert_eq!(parsed.problems, []);
    parsed
        .calls()
        .map(|call| {
            (
                call.id.to_string(),
                call.tool.to_string(),
                Value::Object(call.arguments.clone()),
            )
        })
        .collect()
}

#[test]
fn several_calls_in_one_reply_keep_their_order_and_ids() {
    let parsed = parse(
        "I look.",
        vec![
            text("toolu_1", "infra_read", r#"{"query": "df"}"#),
            text("toolu_2", "k8s__get_pods", ""),
            text("toolu_3", "grafana__query-range", "null"),
            text("toolu_4", "k8s.get_pods", "{}"),
            text("toolu_5", "default_api:infra_query", " {} "),
        ],
    );
    assert_eq!(parsed.prose, "I look.");
    let expected = [
        ("toolu_1", "infra_read", json!({"query": "df"})),
        ("toolu_2", "k8s.get_pods", json!({})),
        ("toolu_3", "grafana.query-range", json!({})),
        ("toolu_4", "k8s.get_pods", json!({})),
        ("toolu_5", "infra_query", json!({})),
    ];
    assert_eq!(
        taken(&parsed),
        expected.map(|(id, tool, arguments)| (id.to_owned(), tool.to_owned(), arguments))
    );
    assert_eq!(parsed.feedback(), None);
}

#[test]
fn a_reply_without_a_call_is_the_final_answer() {
    assert_eq!(outcome(&parse(" All is well.\n", vec![])), answer("All is well."));
    assert_eq!(
        outcome(&parse("Use `infra_read` or ```tool\n{}\n```", vec![])),
        answer("Use `infra_read` or ```tool\n{}\n```")
    );
    assert_eq!(outcome(&parse(" ", vec![])), problem("empty_reply"));
    assert_eq!(
        outcome(&parse("<think>…", vec![])),
        problem("unfinished_thinking")
    );
}

#[test]
fn a_call_written_as_text_is_neither_run_nor_an_answer() {
    for text in [
        r#"{"name": "infra_read", "arguments": {"query": "df"}}"#,
        r#"{"name": "k8s__get_pods", "parameters": {}}"#,
        r#"{"tool_name": "k8s.get_pods", "arguments": {}}"#,
        r#"{"tool_call": {"name": "infra_read", "parameters": {}}}"#,
        r#"{"function": {"name": "infra_read", "arguments": "{}"}}"#,
        "```json\n{\"name\": \"infra_read\", \"arguments\": {}}\n```",
        "<tool_call>\n{\"name\": \"infra_read\", \"arguments\": {}}\n</tool_call>",
    ] {
        assert_eq!(outcome(&parse(text, vec![])), problem("call_as_text"), "{text}");
    }
    for text in [
        r#"{"name": "nginx", "parameters": {}}"#,
        r#"{"name": "infra_read"}"#,
        "{",
        "{\"a\": 1}",
    ] {
        assert_eq!(outcome(&parse(text, vec![])), answer(text), "{text}");
    }
}

#[test]
fn what_cannot_be_proposed_is_answered_call_by_call() {
    let deep = (0..64).fold(json!(1), |inner, _| json!([inner]));
    let cases: [(NativeCall, &str, ErrorCode); 13] = [
        (
            text("a", "infra_read", "{\"query\": \"d"),
            "json",
            ErrorCode::InvalidInput,
        ),
        (
            text("a", "infra_read", "{\"query\": 1, \"query\": 2}"),
            "json",
            ErrorCode::InvalidInput,
        ),
        (text("a", "infra_read", "{} {}"), "json", ErrorCode::InvalidInput),
        (
            text("a", "infra_read", &"[".repeat(9_999)),
            "json",
            ErrorCode::InvalidInput,
        ),
        (text("a", "infra_read", "[]"), "shape", ErrorCode::InvalidInput),
        (
            text("a", "infra_read", "\"{}\""),
            "shape",
            ErrorCode::InvalidInput,
        ),
        (value("infra_read", json!([1])), "shape", ErrorCode::InvalidInput),
        (
            value("infra_read", json!({ "a": deep })),
            "json",
            ErrorCode::InvalidInput,
        ),
        (text("a", "", "{}"), "no_name", ErrorCode::InvalidInput),
        (text("a", "rm -rf /", "{}"), "unknown_tool", ErrorCode::NotFound),
        (
            text("a", "infra_control", "{}"),
            "tool_not_allowed",
            ErrorCode::ActionNotAllowed,
        ),
        (
            text("a", "tool.result", "{}"),
            "result_as_call",
            ErrorCode::InvalidInput,
        ),
        (
            text("a", "tool__result", "{}"),
            "result_as_call",
            ErrorCode::InvalidInput,
        ),
    ];
    for (call, word, code) in cases {
        let named = call.name.clone();
        let parsed = parse("", vec![text("fine", "infra_query", "{}"), call]);
        assert_eq!(parsed.calls().count(), 1, "{named}");
        let [problem] = parsed.problems.as_slice() else {
            panic!("{parsed:?}")
        };
        assert_eq!(problem.fault.as_str(), word, "{named}");
        let [(call, response)] = &parsed.refused_calls().collect::<Vec<_>>()[..] else {
            panic!("{parsed:?}")
        };
        assert!(call.wire_name.as_str().len() <= 64, "{named}");
        let error = response.error().expect("an error");
        assert_eq!(
            (error.code, &error.details["auto_recoverable"]),
            (code, &json!(true)),
            "{named}"
        );
        assert_eq!(
            error.details.contains_key("tools"),
            word.contains("tool"),
            "{named}"
        );
        assert_eq!(parsed.feedback(), None, "it is told in the answer to the call");
    }
}

#[test]
fn ids_that_are_missing_malformed_or_taken_are_replaced() {
    let parsed = parse(
        "",
        vec![
            value("infra_read", json!({"query": "a"})),
            value("infra_read", json!({"query": "a"})),
            text("", "infra_read", "{}"),
            text("with space", "infra_read", "{}"),
            text(&"x".repeat(500), "infra_read", "{}"),
            text("one", "infra_read", "{}"),
            text("one", "infra_query", "{}"),
            text("one", "infra_read", "{}"),
        ],
    );
    let ids: std::collections::BTreeSet<_> = parsed.calls().map(|call| call.id.clone()).collect();
    assert_eq!((parsed.calls().count(), ids.len()), (7, 7), "{parsed:#?}");
    assert_eq!(
        support::ignored(&parsed),
        ["call_id", "call_id", "call_id", "repeated_call"]
    );
    assert_eq!(parsed.feedback(), None, "the wire's mistakes are not the model's");
    // The id of the wire may be the very one that would be drawn.
    let first = parsed.calls().next().expect("a call").id.to_string();
    let parsed = parse(
        "",
        vec![text(&first, "infra_read", "{}"), value("infra_read", json!({}))],
    );
    assert_eq!(taken(&parsed).len(), 2);
    assert_ne!(taken(&parsed)[0].0, taken(&parsed)[1].0);
}

#[test]
fn too_many_calls_are_counted() {
    let parsed = parse(
        "",
        (0..40)
            .map(|n| text(&format!("c{n}"), "infra_read", "{}"))
            .collect(),
    );
    assert_eq!(parsed.calls().count(), 32);
    assert_eq!(parsed.ignored, [Ignored::CallsOverLimit { limit: 32, count: 8 }]);
}

#[test]
fn pieces_of_calls_find_each_other_on_every_wire() {
    let expected = vec![
        ("a".to_owned(), "infra_read".to_owned(), json!({"query": "df"})),
        ("b".to_owned(), "infra_query".to_owned(), json!({})),
    ];
    let d = CallDelta::default();
    // The index tells them apart; id and name come first, pieces of arguments follow, interleaved.
    let indexed = stream(&[
        CallDelta {
            index: Some(0),
            id: Some("a"),
            name: Some("infra_read"),
            ..d
        },
        CallDelta {
            index: Some(1),
            id: Some("b"),
            name: Some("infra_query"),
            ..d
        },
        CallDelta {
            index: Some(0),
            arguments: "{\"query\"",
            ..d
        },
        CallDelta {
            index: Some(1),
            arguments: "{}",
            ..d
        },
        CallDelta {
            index: Some(0),
            name: Some(""),
            id: Some(""),
            arguments: ":\"df\"}",
        },
    ]);
    assert_eq!(indexed, expected);
    // Every piece repeats id and name.
    let repeating = stream(&[
        CallDelta {
            index: Some(0),
            id: Some("a"),
            name: Some("infra_read"),
            arguments: "{\"query\"",
        },
        CallDelta {
            index: Some(0),
            id: Some("a"),
            name: Some("infra_read"),
            arguments: ":\"df\"}",
        },
        CallDelta {
            index: Some(1),
            id: Some("b"),
            name: Some("infra_query"),
            arguments: "{}",
        },
    ]);
    assert_eq!(repeating, expected);
    // Everything is number 0; a new id begins a new call.
    let all_zero = stream(&[
        CallDelta {
            index: Some(0),
            id: Some("a"),
            name: Some("infra_read"),
            arguments: "{\"query\":\"df\"}",
        },
        CallDelta {
            index: Some(0),
            id: Some("b"),
            name: Some("infra_query"),
            arguments: "{}",
        },
    ]);
    assert_eq!(all_zero, expected);
    // No index at all; names in pieces.
    let by_id = stream(&[
        CallDelta {
            id: Some("a"),
            name: Some("infra_"),
            ..d
        },
        CallDelta {
            name: Some("read"),
            ..d
        },
        CallDelta {
            arguments: "{\"query\":",
            ..d
        },
        CallDelta {
            id: Some("b"),
            name: Some("infra_query"),
            ..d
        },
        CallDelta {
            id: Some("a"),
            arguments: "\"df\"}",
            ..d
        },
    ]);
    assert_eq!(by_id, expected);
}

#[test]
fn arguments_of_a_call_that_never_began_are_not_lost() {
    let mut reader = Reader::new(Dialect::Native, Limits::DEFAULT);
    reader.push(Chunk::CallDelta(CallDelta {
        index: Some(3),
        arguments: "{\"query\":1}",
        ..CallDelta::default()
    }));
    let parsed = reader.finish(&offer(), IDS);
    assert_eq!(parsed.problems.len(), 1);
    assert_eq!(parsed.problems[0].fault, Fault::NoName);
    assert_eq!(parsed.refused_calls().count(), 1);
}

#[test]
fn calls_of_the_wire_mean_nothing_in_the_text_dialects() {
    for dialect in [Dialect::Fenced, Dialect::Envelope, Dialect::React] {
        let reply = Reply {
            calls: vec![text("a", "infra_read", "{}")],
            ..Reply::text("hello")
        };
        let parsed = dialect.parse(&reply, &offer(), IDS, Limits::DEFAULT);
        assert_eq!(parsed.calls().count(), 0, "{dialect}");
        assert!(
            parsed.ignored.contains(&Ignored::NativeCalls { count: 1 }),
            "{dialect}"
        );
    }
}

#[test]
fn what_cannot_be_offered_together_is_refused() {
    let name = |text: &str| ToolName::new(text).expect("a name");
    let offer = |names: &[&str]| {
        let definitions: Vec<_> = names.iter().map(|name| definition(name)).collect();
        Offer::new(&definitions).map(|offer| offer.names().cloned().collect::<Vec<_>>())
    };
    assert_eq!(
        offer(&["tool.result"]),
        Err(OfferError::Reserved(name("tool.result")))
    );
    assert_eq!(offer(&["a", "a"]), Err(OfferError::Twice(name("a"))));
    // They look alike on the wire and are not.
    let alike = ["a.b", "a__b", "a._b", "a_.b"];
    assert_eq!(offer(&alike), Ok(alike.map(name).to_vec()));
}
