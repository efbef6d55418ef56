//! What comes from a model, a store or a wire may be anything. Reading it ends in a value that is well-formed or
//! in an error; never in a panic, never in something almost right.

use interlock_protocol::{
    ContentHash, ErrorCode, Event, Evidence, Expectation, KindRule, Observation, Proposal, Receipt,
    ResourceId, SessionId, ToolCall, ToolDefinition, ToolKind, ToolResponse,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Tries to read the text as every type that is ever read from JSON.
fn read_as_everything(text: &str) {
    let _ = serde_json::from_str::<SessionId>(text);
    let _ = serde_json::from_str::<ResourceId>(text);
    let _ = serde_json::from_str::<ContentHash>(text);
    let _ = serde_json::from_str::<ErrorCode>(text);
    let _ = serde_json::from_str::<ToolCall>(text);
    let _ = serde_json::from_str::<Proposal>(text);
    let _ = serde_json::from_str::<ToolDefinition>(text).map(|definition| definition.check());
    let _ = serde_json::from_str::<ToolResponse>(text);
    let _ = serde_json::from_str::<Expectation>(text);
    let _ = serde_json::from_str::<Observation>(text);
    let _ = serde_json::from_str::<Receipt>(text);
    let _ = serde_json::from_str::<Evidence>(text);
    let _ = serde_json::from_str::<Event>(text);
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("type".to_owned()),
        Just("ok".to_owned()),
        Just("error".to_owned()),
        Just("code".to_owned()),
        Just("id".to_owned()),
        Just("tool".to_owned()),
        Just("arguments".to_owned()),
        Just("data".to_owned()),
        Just("expect".to_owned()),
        Just("resource".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec![
            "tool_call",
            "STRICT_RESOLUTION",
            "lxc:delly:141",
            "decision.made",
            "absent"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..8)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_makes_reading_panic(value in any_json()) {
        read_as_everything(&value.to_string());
    }

    #[test]
    fn no_text_makes_reading_panic(text in any::<String>()) {
        read_as_everything(&text);
    }

    #[test]
    fn a_cut_off_message_is_an_error(at in 0_usize..1_000) {
        let whole = json!({
            "type": "tool_call", "id": "c1", "tool": "infra_query", "arguments": {"action": "get", "name": "é"},
        })
        .to_string();
        let cut: String = whole.chars().take(at).collect();
        if cut.len() < whole.len() {
            prop_assert!(serde_json::from_str::<Proposal>(&cut).is_err());
        }
        read_as_everything(&cut);
    }

    #[test]
    fn a_hash_survives_storing_and_reading_back(value in any_json()) {
        let again: Value = serde_json::from_str(&value.to_string()).unwrap();
        prop_assert_eq!(ContentHash::of_json(&again), ContentHash::of_json(&value));
    }

    #[test]
    fn hashing_json_never_depends_on_the_order_of_keys(value in any_json()) {
        fn reversed(value: &Value) -> Value {
            match value {
                Value::Object(members) => {
                    members.iter().rev().map(|(key, member)| (key.clone(), reversed(member))).collect::<Map<_, _>>().into()
                }
                Value::Array(items) => items.iter().map(reversed).collect(),
                leaf => leaf.clone(),
            }
        }
        prop_assert_eq!(ContentHash::of_json(&value), ContentHash::of_json(&reversed(&value)));
    }
}

#[test]
fn a_hash_survives_storing_and_reading_numbers_back() {
    for text in [
        "0.1",
        "1e-7",
        "123456789.12345678",
        "5e-324",
        "1.7976931348623157e308",
        "-0.0",
        "18446744073709551615",
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        let again: Value = serde_json::from_str(&value.to_string()).unwrap();
        assert_eq!(
            ContentHash::of_json(&again),
            ContentHash::of_json(&value),
            "{text}"
        );
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_a_stack_overflow() {
    for (open, close) in [("[", "]"), (r#"{"type":"#, "}")] {
        let text = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        assert!(serde_json::from_str::<Proposal>(&text).is_err());
        read_as_everything(&text);
    }
}

#[test]
fn what_is_almost_right_is_refused() {
    let proposals = [
        json!({"type": "tool_call", "id": "c1", "tool": "infra_query", "extra": 1}),
        json!({"type": "tool_call", "id": "", "tool": "infra_query"}),
        json!({"type": "tool_call", "id": "c1", "tool": "infra query"}),
        json!({"type": "tool_call", "id": "c1", "tool": "infra_query", "arguments": []}),
        json!({"type": "tool_call", "id": "c1", "tool": "infra_query", "arguments": null}),
        json!({"type": "tool_call", "tool": "infra_query"}),
        json!({"type": "final_answer"}),
        json!({"type": "final_answer", "text": "done", "permit": "prm_1"}),
        json!({"type": "permit", "id": "prm_1"}),
        json!({"id": "c1", "tool": "infra_query"}),
    ];
    for json in proposals {
        assert!(
            serde_json::from_value::<Proposal>(json.clone()).is_err(),
            "{json}"
        );
    }

    let error = json!({"code": "NOT_FOUND", "message": "m", "blocked": true});
    let responses = [
        json!({"ok": true, "error": error}),
        json!({"ok": false}),
        json!({"ok": false, "data": 1, "error": error}),
        json!({"ok": 1}),
        json!({"ok": true, "extra": 1}),
        json!({"ok": false, "error": {"code": "NOT_FOUND", "message": "m"}}),
        json!({"ok": false, "error": {"code": "NOT_FOUND", "message": "m", "blocked": true, "failed": true}}),
        json!({"ok": false, "error": {"code": "NOT_FOUND", "message": "m", "blocked": true, "retryable": true}}),
        json!({"ok": false, "error": {"code": "NO_SUCH_CODE", "message": "m", "blocked": true}}),
        json!({"ok": false, "error": {"code": "not_found", "message": "m", "blocked": true}}),
    ];
    for json in responses {
        assert!(
            serde_json::from_value::<ToolResponse>(json.clone()).is_err(),
            "{json}"
        );
    }
}

#[test]
fn an_unknown_error_code_does_not_parse() {
    for text in [
        "",
        "NO_SUCH_CODE",
        "not_found",
        "NOT_FOUND ",
        "NOT-FOUND",
        "ＮOT_FOUND",
    ] {
        assert!(text.parse::<ErrorCode>().is_err(), "{text:?}");
        assert!(
            serde_json::from_value::<ErrorCode>(json!(text)).is_err(),
            "{text:?}"
        );
    }
    for &code in ErrorCode::ALL {
        assert_eq!(code.as_str().parse(), Ok(code));
    }
}

#[test]
fn an_action_that_is_missing_unlisted_or_no_text_is_a_write() {
    let rule: KindRule = serde_json::from_value(json!({
        "rule": "by_action", "argument": "action",
        "actions": {"list": "read", "search": "resolve", "resolve": "write"},
    }))
    .unwrap();
    let cases = [
        (json!({"action": "list"}), ToolKind::Read),
        (json!({"action": "search"}), ToolKind::Resolve),
        (json!({"action": "resolve"}), ToolKind::Write),
        (json!({}), ToolKind::Write),
        (json!({"action": "List"}), ToolKind::Write),
        (json!({"action": " list"}), ToolKind::Write),
        (json!({"action": ["list"]}), ToolKind::Write),
        (json!({"action": null}), ToolKind::Write),
        (json!({"action": "explode"}), ToolKind::Write),
        (json!({"Action": "list"}), ToolKind::Write),
    ];
    for (arguments, expected) in cases {
        let Value::Object(arguments) = arguments else {
            unreachable!()
        };
        assert_eq!(rule.resolve(&arguments), expected, "{arguments:?}");
    }
}

#[test]
fn a_definition_that_contradicts_itself_is_found() {
    use interlock_protocol::tool::Error;
    let good = json!({
        "name": "infra_alerts", "description": "d", "category": "alerts", "risk": "low",
        "parameters": {"type": "object", "properties": {"action": {}, "alert_id": {}, "command": {}}},
        "kind": {"rule": "by_action", "argument": "action", "actions": {"list": "read"}},
        "modes": ["normal"], "timeout_seconds": 30,
        "target": {"rule": "arguments", "arguments": [{"name": "alert_id", "bare": "alert"}]},
        "shell": {"rule": "argument", "argument": "command"},
    });
    let with = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        serde_json::from_value::<ToolDefinition>(changed)
    };
    let tool = || "infra_alerts".parse().unwrap();
    let missing = |rule| Error::NoSuchArgument {
        tool: tool(),
        argument: "nope".parse().unwrap(),
        rule,
    };
    assert_eq!(with("/risk", json!("low")).unwrap().check(), Ok(()));

    let contradictions = [
        ("/parameters", json!(true), Error::NotAnObjectSchema(tool())),
        (
            "/parameters/type",
            json!("array"),
            Error::NotAnObjectSchema(tool()),
        ),
        ("/modes", json!([]), Error::NoMode(tool())),
        ("/kind/actions", json!({}), Error::NoAction(tool())),
        ("/kind/argument", json!("nope"), missing("kind")),
        ("/target/arguments", json!([]), Error::NoTargetArgument(tool())),
        ("/target/arguments/0/name", json!("nope"), missing("target")),
        (
            "/target/arguments/0/bare",
            json!("lxc"),
            Error::BareHostedKind {
                tool: tool(),
                kind: interlock_protocol::ResourceKind::Lxc,
            },
        ),
        ("/shell/argument", json!("nope"), missing("shell rule")),
    ];
    for (pointer, value, expected) in contradictions {
        assert_eq!(with(pointer, value).unwrap().check(), Err(expected), "{pointer}");
    }
    for (pointer, value) in [
        ("/timeout_seconds", json!(0)),
        ("/timeout_seconds", json!(-1)),
        ("/modes", json!(["party"])),
        ("/kind/rule", json!("guess")),
        ("/kind/actions/list", json!("maybe")),
        ("/name", json!("infra alerts")),
    ] {
        assert!(with(pointer, value).is_err(), "{pointer}");
    }
}
