//! What is an action or a final answer in `react`, and what is not.

mod support;

use interlock_dialect::{Dialect, Found, Limits, Reply};
use serde_json::{Value, json};
use support::{IDS, Outcome, answer, call, check, ignored, offer, outcome, parse, problem};

const R: Dialect = Dialect::React;

fn pods() -> Outcome {
    call("k8s.get_pods", json!({"query": "x"}))
}

#[test]
fn an_action_with_its_input_is_a_call() {
    check(
        R,
        &[
            (
                "Thought: I look.\nAction: k8s.get_pods\nAction Input: {\"query\": \"x\"}",
                pods(),
            ),
            ("Action: k8s.get_pods\nAction Input: {\"query\": \"x\"}", pods()),
            (
                "  Action: k8s.get_pods  \r\n\tAction Input: {\"query\": \"x\"}\r\n",
                pods(),
            ),
            (
                "Thought\nI look.\nAction:\n\nk8s.get_pods\n\n\nAction Input:\n{\n \"query\":\n  \"x\"}\n\n",
                pods(),
            ),
            ("Action: `k8s.get_pods`\nAction Input: query=x", pods()),
            // Our own tools have no dot.
            (
                "Action: infra_query\nAction Input: {}",
                call("infra_query", json!({})),
            ),
            (
                "Action: default_api:infra_query\nAction Input: {}",
                call("infra_query", json!({})),
            ),
            // An input may be empty; it must be there.
            (
                "Action: infra_query\nAction Input:",
                call("infra_query", json!({})),
            ),
            (
                "Action: infra_query\nAction Input:\n\n",
                call("infra_query", json!({})),
            ),
            // In the middle of a line, after the end of a sentence.
            (
                "Thought: I look. Action: k8s.get_pods\nAction Input: {\"query\": \"x\"}",
                pods(),
            ),
            (
                "Thought: I look! Action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            (
                "Thought: Look? Action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            (
                "Thought: I look.Action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            (
                "Thought: I `look.` Action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            (
                "Thought: **I look.** Action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            (
                "Thought: I look... Action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            ("Action: k8s.get_pods Action Input: {\"query\": \"x\"}", pods()),
            (
                "Action: k8s.get_pods\nI am sure. Action Input: {\"query\": \"x\"}",
                problem("unknown_tool"),
            ),
            // Colons and headers inside JSON are part of it.
            (
                "Action: infra_read\nAction Input: {\"query\": \"Done. Final Answer: no\",\n\"a\": \"b. Action: c\"}",
                call(
                    "infra_read",
                    json!({"query": "Done. Final Answer: no", "a": "b. Action: c"}),
                ),
            ),
            (
                "Thought: schön 日本。\nAction: infra_read\nAction Input: {\"query\": \"é\"}",
                call("infra_read", json!({"query": "é"})),
            ),
            (
                "<think>Action: rm</think>Action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
        ],
    );
}

#[test]
fn a_final_answer_ends_it() {
    check(
        R,
        &[
            ("Thought: I know.\nFinal Answer: 42", answer("42")),
            (
                "Final Answer: one\n\n- two\n  - three\n",
                answer("one\n\n- two\n  - three"),
            ),
            ("Final Answer:\n42", answer("42")),
            ("Thought: I know. Final Answer: 42", answer("42")),
            ("Thought\nI know. Final Answer: 42", answer("42")),
            ("I know.** Final Answer: 42", answer("42")),
            // The first one counts; later headers are content of it.
            ("Final Answer: a\nFinal Answer: b", answer("a\nFinal Answer: b")),
            ("Final Answer: a\nThought: hm\nFinal Answer: b", answer("a")),
            // An action without an input gives way.
            ("Action: k8s.get_pods\nFinal Answer: 42", answer("42")),
            // Behind the answer it is a heading in it.
            (
                "Final Answer: The pod is down.\nAction: restart it",
                answer("The pod is down.\nAction: restart it"),
            ),
            (
                "Final Answer: It is down. Action: restart it.",
                answer("It is down. Action: restart it."),
            ),
        ],
    );
}

#[test]
fn an_action_with_its_input_beats_a_final_answer() {
    for text in [
        "Action: k8s.get_pods\nAction Input: query=x\nFinal Answer: 42",
        "Final Answer: 42\nAction: k8s.get_pods\nAction Input: query=x",
    ] {
        let parsed = parse(R, text);
        assert_eq!(outcome(&parsed), pods(), "{text}");
        assert_eq!(ignored(&parsed), ["final_answer"], "{text}");
        assert_eq!(parsed.forced_conclusion(), Some("42"), "{text}");
    }
    let talking = "Action: k8s.get_pods\nAction Input: {\"query\": \"x\"}\nI know it. Final Answer: 42";
    let parsed = parse(R, talking);
    assert_eq!(outcome(&parsed), pods());
    assert_eq!(ignored(&parsed), ["final_answer", "after_arguments"]);
}

#[test]
fn of_several_the_last_action_counts_and_empty_ones_do_not() {
    let cases: [(&str, Outcome, &[&str]); 8] = [
        (
            "Action: infra_read\nAction Input: a=1\nAction: k8s.get_pods\nAction Input: query=x",
            pods(),
            &["call"],
        ),
        (
            "Action: infra_read\nAction: k8s.get_pods\nAction Input: query=x",
            pods(),
            &["call"],
        ),
        // The input of one action is never given to another.
        (
            "Action: infra_read\nAction Input: a=1\nAction: k8s.get_pods",
            problem("format"),
            &["call"],
        ),
        ("Action Input: a=1\nAction: k8s.get_pods", problem("format"), &[]),
        (
            "Action: k8s.get_pods\nAction Input: query=x\nAction:\n",
            pods(),
            &[],
        ),
        (
            "Action: k8s.get_pods\nAction Input: query=x\nAction:\nAction Input:",
            pods(),
            &[],
        ),
        (
            "Thought: a\nThought: b\nAction: k8s.get_pods\nAction Input: query=x",
            pods(),
            &[],
        ),
        (
            "Action: k8s.get_pods\nAction Input: {\"query\":\"x\"}\nAction Input: {}",
            pods(),
            &["after_arguments"],
        ),
    ];
    for (text, expected, expected_ignored) in &cases {
        let parsed = parse(R, text);
        assert_eq!(&outcome(&parsed), expected, "{text}");
        assert_eq!(ignored(&parsed), *expected_ignored, "{text}");
    }
    assert_eq!(
        parse(R, "Thought: a\nThought: b\nThought:\nFinal Answer: c").thinking,
        "b"
    );
}

#[test]
fn made_up_observations_are_cut() {
    let cases: [(&str, Outcome, &[&str]); 7] = [
        (
            "Action: k8s.get_pods\nAction Input: query=x\nObservation: 3 pods\nThought: good\nFinal Answer: 3",
            pods(),
            &["invented_result"],
        ),
        (
            "Action: k8s.get_pods\nAction Input: query=x\n  Observation:",
            pods(),
            &["invented_result"],
        ),
        (
            "Action: k8s.get_pods\nAction Input: query=x\n[Based on the above]\nAction: infra_read",
            pods(),
            &["invented_result"],
        ),
        (
            "Thought: a\nObservation: b\nFinal Answer: c",
            problem("format"),
            &["invented_result"],
        ),
        ("Observation: b", problem("format"), &["invented_result"]),
        // What repeats our own words is not made up; it is only left out.
        (
            "Action: infra_read\nObservation: Error in reasoning: no input\nAction: k8s.get_pods\nAction Input: query=x\n\
             Observation: Please specify what Action you want to take\n",
            pods(),
            &["call"],
        ),
        (
            "Thought: the Observation: of mine\nFinal Answer: c",
            answer("c"),
            &[],
        ),
    ];
    for (text, expected, expected_ignored) in &cases {
        let parsed = parse(R, text);
        assert_eq!(&outcome(&parsed), expected, "{text}");
        assert_eq!(ignored(&parsed), *expected_ignored, "{text}");
    }
}

#[test]
fn what_is_not_a_header_is_text() {
    let cases: [(&str, Found); 10] = [
        ("The disk is full.", Found::default()),
        ("action: k8s.get_pods\naction input: {}", Found::default()),
        ("ACTION: k8s.get_pods", Found::default()),
        ("I should use Action: k8s.get_pods", Found::default()),
        ("I should look… Action: k8s.get_pods", Found::default()),
        ("Thought about it. Final Answer: 42", Found::default()),
        ("Thoughts: many", Found::default()),
        ("**Action:** k8s.get_pods", Found::default()),
        (
            "Thought: only this",
            Found {
                thought: true,
                ..Found::default()
            },
        ),
        (
            "Thought: a\nFinal Answer:",
            Found {
                thought: true,
                final_answer: true,
                ..Found::default()
            },
        ),
    ];
    for (text, found) in cases {
        let parsed = parse(R, text);
        let faults: Vec<_> = parsed.problems.into_iter().map(|problem| problem.fault).collect();
        assert_eq!(faults, [interlock_dialect::Fault::Format { found }], "{text}");
    }
}

#[test]
fn what_is_missing_or_wrong_is_a_problem() {
    check(
        R,
        &[
            ("", problem("empty_reply")),
            (" \n \n", problem("empty_reply")),
            ("Action:", problem("format")),
            ("Action: k8s.get_pods", problem("format")),
            ("Action: \nAction Input: {}", problem("format")),
            ("Action: nothing\nAction Input: {}", problem("unknown_tool")),
            ("Action: k8s.\nAction Input: {}", problem("unknown_tool")),
            ("Action: .get_pods\nAction Input: {}", problem("unknown_tool")),
            ("Action: k8s.get.pods\nAction Input: {}", problem("unknown_tool")),
            ("Action: k8s__get_pods\nAction Input: {}", problem("unknown_tool")),
            (
                "Action: k8s.get_pods (all of them)\nAction Input: {}",
                problem("unknown_tool"),
            ),
            (
                "Action: infra_control\nAction Input: {}",
                problem("tool_not_allowed"),
            ),
            ("Action: tool.result\nAction Input: {}", problem("result_as_call")),
            (
                "Action: infra_read\nAction Input: {\"query\": \"cut o",
                problem("json"),
            ),
            (
                "Action: infra_read\nAction Input: {\"a\": 1, \"a\": 2}",
                problem("json"),
            ),
            ("Action: infra_read\nAction Input: a=1, a=2", problem("json")),
        ],
    );
}

#[test]
fn a_missing_action_is_recovered_from_what_stands_before_its_input() {
    check(
        R,
        &[
            (
                "Thought: I use action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            (
                "Thought: my ACTION: `k8s.get_pods`\nAction Input: query=x",
                pods(),
            ),
            (
                "Thought: the next Action\nk8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            ("I choose the Action k8s.get_pods\nAction Input: query=x", pods()),
            (
                "action: infra_read\nno, action: k8s.get_pods\nAction Input: query=x",
                pods(),
            ),
            ("日本語 é action: k8s.get_pods\nAction Input: query=x", pods()),
            (
                "action: infra_query\nAction Input: {}",
                call("infra_query", json!({})),
            ),
            ("action: other.tool\nAction Input: {}", problem("unknown_tool")),
            ("action: not a name\nAction Input: {}", problem("format")),
            ("action: undotted\nAction Input: {}", problem("format")),
            ("an interaction k8s.get_pods\nAction Input: {}", problem("format")),
            ("Action Input: {}", problem("format")),
        ],
    );
}

#[test]
fn arguments_are_read_in_a_fixed_order() {
    let cases: [(&str, Value); 34] = [
        ("", json!({})),
        ("{}", json!({})),
        (r#"{"a": 1, "b": {"c": [2]}}"#, json!({"a": 1, "b": {"c": [2]}})),
        ("[1, 2]", json!({"input": [1, 2]})),
        ("42", json!({"input": 42})),
        ("true", json!({"input": true})),
        ("null", json!({"input": null})),
        ("\"text\"", json!({"input": "text"})),
        ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
        ("{\"a\": 1}\nI wait now.", json!({"a": 1})),
        // YAML only with structure.
        ("a: [1, two]\nb: x", json!({"a": [1, "two"], "b": "x"})),
        ("a:\n  b: 1\n  c: yes", json!({"a": {"b": 1, "c": "yes"}})),
        ("list:\n- x\n- y: z", json!({"list": ["x", {"y": "z"}]})),
        ("{a: 1, b: two}", json!({"a": 1, "b": "two"})),
        ("{'a': 'b'}", json!({"a": "b"})),
        ("a: &x [1]\nb: *x", json!({"a": "&x [1]", "b": "*x"})),
        ("- a\n- b", json!({"input": "- a\n- b"})),
        // Pairs.
        ("a: x", json!({"a": "x"})),
        ("a=x", json!({"a": "x"})),
        ("a: x, b=2\nc: -1.5", json!({"a": "x", "b": 2, "c": -1.5})),
        (
            "a: True, b: FALSE, c: None, d: null",
            json!({"a": true, "b": false, "c": null, "d": null}),
        ),
        (
            "a: NaN, b: Infinity, c: -inf",
            json!({"a": "NaN", "b": "Infinity", "c": "-inf"}),
        ),
        (
            "a: 007, b: 1e3, c: +1, d: 1_0",
            json!({"a": "007", "b": 1000.0, "c": "+1", "d": "1_0"}),
        ),
        ("a: 99999999999999999999", json!({"a": "99999999999999999999"})),
        ("a: \"true\", b: '1'", json!({"a": "true", "b": "1"})),
        ("query: a, b and c", json!({"query": "a, b and c"})),
        (
            "query: up{job=\"x\"} == 0",
            json!({"query": "up{job=\"x\"} == 0"}),
        ),
        ("url: http://a/b?c=d", json!({"url": "http://a/b?c=d"})),
        // Anything else.
        ("http://a/b", json!({"input": "http://a/b"})),
        ("df -h /", json!({"input": "df -h /"})),
        ("{job=\"node\"}", json!({"input": "{job=\"node\"}"})),
        ("{{ template }}", json!({"input": "{{ template }}"})),
        ("[ERROR] it: broke", json!({"input": "[ERROR] it: broke"})),
        (
            "select * from t where a=1",
            json!({"input": "select * from t where a=1"}),
        ),
    ];
    for (input, expected) in cases {
        let text = format!("Action: infra_read\nAction Input: {input}");
        assert_eq!(outcome(&parse(R, &text)), call("infra_read", expected), "{input}");
    }
}

#[test]
fn nesting_is_capped() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let text = format!(
            "Action: infra_read\nAction Input: {}1{}",
            open.repeat(500),
            close.repeat(500)
        );
        assert_eq!(outcome(&parse(R, &text)), problem("json"));
    }
    // What is no JSON falls through the readers, however deep.
    let text = format!("Action: infra_read\nAction Input: {}", "{a: ".repeat(5_000));
    assert!(matches!(
        outcome(&parse(R, &text)),
        Outcome::Call("infra_read", _)
    ));
}

#[test]
fn a_forced_conclusion_takes_what_there_is() {
    let cases = [
        ("Thought: a\nFinal Answer: b", Some("b")),
        ("Thought: a", Some("a")),
        ("Thought: a\nAction: infra_read", Some("a")),
        ("Just text.\nMore.", Some("Just text.\nMore.")),
        ("", None),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(R, text).forced_conclusion(), expected, "{text}");
    }
    let reply = Reply {
        thinking: "hidden".to_owned(),
        ..Reply::text("Thought: a")
    };
    let parsed = R.parse(&reply, &offer(), IDS, Limits::DEFAULT);
    assert_eq!(
        (parsed.forced_conclusion(), parsed.thinking.as_str()),
        (Some("a"), "hidden\n\na")
    );
}
