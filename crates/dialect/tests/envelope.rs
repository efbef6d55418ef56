//! What is a call or a final answer in `envelope`, and what is not.

mod support;

use interlock_dialect::{Confidence, Dialect};
use serde_json::json;
use support::{answer, call, check, ignored, outcome, parse, problem};

const E: Dialect = Dialect::Envelope;
const CALL: &str = r#"{"tool_call": {"name": "infra_read", "parameters": {"query": "df"}}}"#;
const ANSWER: &str = r#"{"final_answer": {"summary": "All is well.", "confidence": "high"}}"#;

#[test]
fn an_envelope_is_found_behind_a_preamble() {
    let texts = [
        CALL.to_owned(),
        format!("\n\n{CALL}\n"),
        format!("I will look: {CALL}"),
        format!("```json\n{CALL}\n```"),
        format!("Given {{x}} and {{ and {{{{y}}}} and {{\"a\": 1}}: {CALL}"),
        format!("[{CALL}]"),
        format!("<think>{ANSWER}</think>{CALL}"),
        r#"{ "tool_call" : { "parameters" : {"query":"df"}, "name":"infra_read" } }"#.to_owned(),
    ];
    for text in &texts {
        assert_eq!(
            outcome(&parse(E, text)),
            call("infra_read", json!({"query": "df"})),
            "{text}"
        );
    }
    check(
        E,
        &[
            (ANSWER, answer("All is well.")),
            (
                r#"{"tool_call":{"name":"k8s.get_pods"}}"#,
                call("k8s.get_pods", json!({})),
            ),
            (
                r#"{"tool_call":{"name":"k8s.get_pods","parameters":null}}"#,
                call("k8s.get_pods", json!({})),
            ),
            // Braces and quotes in strings end nothing.
            (
                r#"{"tool_call":{"name":"infra_read","parameters":{"query":"a \"}}\\\" {{ b"}}}"#,
                call("infra_read", json!({"query": "a \"}}\\\" {{ b"})),
            ),
            (
                r#"{"final_answer":{"summary":"{\"tool_call\":{}}"}}"#,
                answer(r#"{"tool_call":{}}"#),
            ),
        ],
    );
}

#[test]
fn what_is_no_envelope_is_a_problem() {
    check(
        E,
        &[
            ("", problem("empty_reply")),
            ("The disk is full.", problem("no_envelope")),
            ("infra_read df", problem("no_envelope")),
            ("{}", problem("no_envelope")),
            (
                r#"{"name": "infra_read", "parameters": {}}"#,
                problem("no_envelope"),
            ),
            ("{'tool_call': {'name': 'infra_read'}}", problem("no_envelope")),
            // Inside something else it is only mentioned.
            (&format!(r#"{{"plan": [{CALL}]}}"#), problem("no_envelope")),
            (&format!(r#"{{"a": "unclosed, then {CALL}"#), problem("json")),
            (&CALL[..CALL.len() - 1], problem("json")),
            (
                r#"{"tool_call": {"name": "infra_read", "parameters": {"query": "df",}}}"#,
                problem("json"),
            ),
            (
                "{\"tool_call\": {\"name\": \"infra_read\", \"parameters\": {\"query\": \"a\nb\"}}}",
                problem("json"),
            ),
            (
                r#"{"tool_call": {"name": "infra_read"}, "tool_call": {"name": "infra_query"}}"#,
                problem("json"),
            ),
            (r#"{"tool_call": null}"#, problem("shape")),
            (r#"{"tool_call": "infra_read"}"#, problem("shape")),
            (
                r#"{"tool_call": {"name": "infra_read", "parameters": []}}"#,
                problem("shape"),
            ),
            (
                r#"{"tool_call": {"name": "infra_read", "arguments": {"query": "df"}}}"#,
                problem("shape"),
            ),
            (r#"{"tool_call": {"parameters": {}}}"#, problem("shape")),
            (r#"{"final_answer": "All is well."}"#, problem("shape")),
            (r#"{"final_answer": {"summary": " "}}"#, problem("shape")),
            (r#"{"final_answer": {"confidence": "high"}}"#, problem("shape")),
            (
                r#"{"tool_call": {"name": "<tool_name>", "parameters": {}}}"#,
                problem("unknown_tool"),
            ),
            (
                r#"{"tool_call": {"name": "infra_control", "parameters": {}}}"#,
                problem("tool_not_allowed"),
            ),
            (
                r#"{"tool_call": {"name": "tool.result", "parameters": {}}}"#,
                problem("result_as_call"),
            ),
            (
                r#"{"tool_result": {"name": "infra_read", "response": {"ok": true}}}"#,
                problem("invented_result"),
            ),
        ],
    );
}

#[test]
fn a_call_and_an_answer_at_once_are_both_refused() {
    for text in [
        format!("{CALL}\n{ANSWER}"),
        format!("{ANSWER}\n{CALL}"),
        format!("{},{}", &CALL[..CALL.len() - 1], &ANSWER[1..]),
        // Broken, but it is clear what it was meant to be.
        format!("{ANSWER}\n{}", &CALL[..CALL.len() - 1]),
    ] {
        assert_eq!(outcome(&parse(E, &text)), problem("call_and_answer"), "{text}");
    }
}

#[test]
fn the_first_one_is_taken_and_the_rest_is_reported() {
    let other = CALL.replace("df", "du");
    let cases: [(String, &[&str]); 6] = [
        (format!("{CALL} {other}"), &["call"]),
        (format!("{CALL}\nThe result is: 3."), &["text_after_call"]),
        (
            format!("{CALL}\n{{\"tool_result\": {{}}}}\n{ANSWER}"),
            &["invented_result"],
        ),
        (format!("```json\n{CALL}\n```"), &[]),
        (CALL.replacen('{', r#"{"thought": "x", "#, 1), &["keys"]),
        (format!("{CALL} {}", CALL.replace("infra_read", "rm")), &["call"]),
    ];
    for (text, expected) in &cases {
        let parsed = parse(E, text);
        assert_eq!(
            outcome(&parsed),
            call("infra_read", json!({"query": "df"})),
            "{text}"
        );
        assert_eq!(ignored(&parsed), *expected, "{text}");
    }
    let parsed = parse(E, &format!("{ANSWER}{ANSWER}"));
    assert_eq!(
        (outcome(&parsed), ignored(&parsed)),
        (answer("All is well."), vec!["final_answer".to_owned()])
    );
}

#[test]
fn confidence_is_one_of_three_words() {
    let with = |confidence: &str| parse(E, &format!(r#"{{"final_answer":{{"summary":"x"{confidence}}}}}"#));
    assert_eq!(with(r#","confidence":"high""#).confidence, Some(Confidence::High));
    assert_eq!(
        with(r#","confidence":"medium""#).confidence,
        Some(Confidence::Medium)
    );
    assert_eq!(with(r#","confidence":"low""#).confidence, Some(Confidence::Low));
    assert_eq!(with("").confidence, None);
    for odd in [r#","confidence":0.9"#, r#","confidence":"very high""#] {
        let parsed = with(odd);
        assert_eq!((outcome(&parsed), parsed.confidence), (answer("x"), None));
        assert_eq!(ignored(&parsed), ["confidence"]);
    }
}
