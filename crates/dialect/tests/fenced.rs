//! What is a call in `fenced`, and what is not.

mod support;

use interlock_dialect::{Dialect, Ignored, Quote};
use serde_json::json;
use support::{answer, call, check, ignored, outcome, parse, problem};

const F: Dialect = Dialect::Fenced;

fn block(label: &str, body: &str) -> String {
    format!("```{label}\n{body}\n```")
}

const CALL: &str = r#"{"tool_name": "infra_read", "arguments": {"query": "df"}}"#;

#[test]
fn a_labelled_block_with_the_canonical_object_is_a_call() {
    let expected = || call("infra_read", json!({"query": "df"}));
    let cases = [
        block("tool", CALL),
        block("json", CALL),
        block("JSON", CALL),
        format!("I look at the disk.\n\n{}", block("tool", CALL)),
        format!("   {}", block("tool", CALL)),
        format!("~~~tool\n{CALL}\n~~~"),
        format!("`````json\n{CALL}\n`````"),
        format!("```tool\r\n{CALL}\r\n```\r\n"),
        block(
            "tool",
            "{\n  \"arguments\": {\n    \"query\": \"df\"\n  },\n\n  \"tool_name\": \"infra_read\"\n}",
        ),
        // The end of the reply ends the block; the object is complete.
        format!("```tool\n{CALL}"),
        format!("<think>maybe infra_query?</think>{}", block("tool", CALL)),
        // Data and other code in front are text.
        format!("{}\n{}", block("json", "{\"a\": 1}"), block("tool", CALL)),
        format!("{}\n{}", block("bash", "rm -rf /"), block("json", CALL)),
        format!("{}\n{}", block("json", "[1, 2]"), block("json", CALL)),
    ];
    for text in &cases {
        assert_eq!(outcome(&parse(F, text)), expected(), "{text}");
    }
    check(
        F,
        &[(
            &block("tool", r#"{"tool_name":"k8s.get_pods","arguments":{}}"#),
            call("k8s.get_pods", json!({})),
        )],
    );
}

#[test]
fn what_only_looks_like_a_call_is_text() {
    let cases = [
        "ls -la /".to_owned(),
        "I would use infra_read(query=\"df\") next.".to_owned(),
        "**infra_read** query: df".to_owned(),
        CALL.to_owned(),
        block("bash", "infra_read df"),
        block("sh", CALL),
        block("json5", CALL),
        block("json tool", CALL),
        block("tool.call", CALL),
        block("", "df -h\ninfra_read"),
        block("", r#"{"tool_name": "some_example", "arguments": {}}"#),
        block("json", "{\"disk\": \"full\"}"),
        block("json", "{broken"),
        block("json", "[]"),
        // Inside another block, a quotation, or indented as code.
        format!("````markdown\n{}\n````", block("tool", CALL)),
        format!("~~~text\n{}\n~~~", block("tool", CALL)),
        format!("> ```tool\n> {CALL}\n> ```"),
        format!("    ```tool\n    {CALL}\n    ```"),
        format!("\t```tool\n\t{CALL}\n\t```"),
        // Not at the beginning of a line, or with the object on the line of the fence.
        format!("Like this: ```tool\n{CALL}\n"),
        format!("```tool {CALL}```"),
        "``` ```tool".to_owned(),
    ];
    for text in &cases {
        assert_eq!(outcome(&parse(F, text)), answer(text.trim()), "{text}");
    }
}

#[test]
fn a_call_that_is_broken_is_a_problem_and_no_answer() {
    check(
        F,
        &[
            ("", problem("empty_reply")),
            (" \n\t\n", problem("empty_reply")),
            ("<think>hm</think>", problem("empty_reply")),
            ("<think>hm", problem("unfinished_thinking")),
            (&block("tool", ""), problem("json")),
            ("```tool", problem("json")),
            (&block("tool", "{"), problem("json")),
            (&block("tool", &format!("{CALL}\n{CALL}")), problem("json")),
            (
                &block("json", r#"{"tool_name": "infra_read", "arguments": {"query": "d"#),
                problem("json"),
            ),
            (
                &block(
                    "tool",
                    r#"{"tool_name": "infra_read", "tool_name": "infra_query", "arguments": {}}"#,
                ),
                problem("json"),
            ),
            (&block("tool", &format!("[{CALL}]")), problem("shape")),
            (&block("tool", "\"infra_read\""), problem("shape")),
            (
                &block("tool", r#"{"name": "infra_read", "arguments": {}}"#),
                problem("shape"),
            ),
            (&block("json", r#"{"tool_name": "infra_read"}"#), problem("shape")),
            (
                &block("json", r#"{"tool_name": "infra_read", "arguments": "df"}"#),
                problem("shape"),
            ),
            (
                &block("json", r#"{"tool_name": "infra_read", "arguments": null}"#),
                problem("shape"),
            ),
            (
                &block("json", r#"{"tool_name": 1, "arguments": {}}"#),
                problem("shape"),
            ),
            (
                &block(
                    "json",
                    r#"{"tool_name": "infra_read", "arguments": {}, "why": "x"}"#,
                ),
                problem("shape"),
            ),
            (
                &block("json", r#"{"tool_name": "rm", "arguments": {}}"#),
                problem("unknown_tool"),
            ),
            (
                &block("json", r#"{"tool_name": "", "arguments": {}}"#),
                problem("unknown_tool"),
            ),
            (
                &block("json", r#"{"tool_name": "infra_control", "arguments": {}}"#),
                problem("tool_not_allowed"),
            ),
            (
                &block("json", r#"{"tool_name": "tool.result", "arguments": {}}"#),
                problem("result_as_call"),
            ),
            (
                &block("tool", r#"{"tool_name": " Tool.Result ", "arguments": {}}"#),
                problem("result_as_call"),
            ),
            (&block("", CALL), problem("unlabelled")),
            (
                "```tool.result\n{}\n```\nAll is well.",
                problem("invented_result"),
            ),
        ],
    );
}

#[test]
fn the_first_valid_call_is_taken_and_the_rest_is_reported() {
    let other = block(
        "tool",
        r#"{"tool_name": "infra_query", "arguments": {"query": "x"}}"#,
    );
    let unknown = block("tool", r#"{"tool_name": "rm", "arguments": {}}"#);
    let first = block("tool", CALL);
    let taken = || call("infra_read", json!({"query": "df"}));
    let cases: [(String, &[&str]); 8] = [
        (first.clone(), &[]),
        (format!("{first}\n{other}"), &["call"]),
        (format!("{first}\n{unknown}"), &["call"]),
        (format!("{first}\n{first}\n{other}"), &["call", "call"]),
        (format!("{first}\n{}", block("tool", "{")), &["broken_call"]),
        (format!("{first}\nThe disk is full."), &["text_after_call"]),
        (format!("{first}\nNow:\n{other}"), &["call", "text_after_call"]),
        (
            format!("{first}\n```tool.result\n{{\"ok\":true}}\n```\nDone."),
            &["invented_result"],
        ),
    ];
    for (text, expected) in &cases {
        let parsed = parse(F, text);
        assert_eq!(outcome(&parsed), taken(), "{text}");
        assert_eq!(ignored(&parsed), *expected, "{text}");
    }
    // A mistake in front does not hide a call that holds; both are told.
    let parsed = parse(F, &format!("{unknown}\n{first}"));
    assert_eq!(outcome(&parsed), taken());
    assert_eq!(parsed.problems.len(), 1);
}

#[test]
fn more_blocks_than_are_looked_at_are_counted() {
    let many = format!("{}\n", block("tool", CALL)).repeat(40);
    let parsed = parse(F, &many);
    assert_eq!(parsed.calls().count(), 1);
    assert_eq!(
        parsed
            .ignored
            .iter()
            .filter(|ignored| matches!(ignored, Ignored::Call { .. }))
            .count(),
        31
    );
    assert!(
        parsed
            .ignored
            .contains(&Ignored::CallsOverLimit { limit: 32, count: 8 })
    );
}

#[test]
fn prose_is_what_stands_before_the_call() {
    let parsed = parse(
        F,
        &format!("<think>hm</think>\nI look.\n{}\nafter", block("tool", CALL)),
    );
    assert_eq!(
        (parsed.prose.as_str(), parsed.thinking.as_str()),
        ("I look.", "hm")
    );
}

#[test]
fn a_quotation_in_a_problem_is_short() {
    let parsed = parse(
        F,
        &block("tool", &format!("{{\"tool_name\": \"{}", "é\n".repeat(10_000))),
    );
    let serialized = serde_json::to_value(&parsed.problems).expect("it can be written");
    let quote = serialized[0]["quote"].as_str().expect("a quotation");
    assert!(
        quote.chars().count() <= interlock_dialect::MAX_QUOTE_CHARS && quote.ends_with('…'),
        "{quote}"
    );
    assert_eq!(Quote::of(quote).as_str(), quote);
}
