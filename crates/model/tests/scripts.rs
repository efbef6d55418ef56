//! Scripts: what their README says, and what goes wrong in them.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use interlock_dialect::{NativeArguments, Offer, WireTool};
use interlock_model::{
    AssistantCall, Client, Completion, Failure, Flow, Kind, Message, Options, Provider, Request, Script, Span,
};
use interlock_protocol::ToolDefinition;
use serde_json::{Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

fn readme_example() -> String {
    let readme = include_str!("../scripts/README.md");
    let start = readme.find("# disk-full.yaml").expect("the example");
    let end = readme[start..].find("```").expect("its end");
    readme[start..start + end].to_owned()
}

fn tools() -> Vec<WireTool> {
    let definitions: Vec<ToolDefinition> = ["infra_query", "infra_read"]
        .map(|name| {
            serde_json::from_value(json!({
                "name": name, "description": "", "category": "read", "risk": "low", "parameters": { "type": "object" },
                "kind": { "rule": "fixed", "kind": "read" }, "modes": [], "timeout_seconds": 1, "target": { "rule": "none" },
            }))
            .expect("a definition")
        })
        .into();
    Offer::new(&definitions).expect("an offer").wire_tools().collect()
}

async fn ask(client: &Client, request: &Request) -> Result<Completion, Failure> {
    client
        .generate(request, &CancellationToken::new(), &mut |_| Flow::Continue)
        .await
}

/// The reply as the history keeps it, and the tools' answer.
fn go_on(request: &mut Request, completion: &Completion, observed: &str) {
    let calls: Vec<_> = completion
        .reply
        .calls
        .iter()
        .map(|call| AssistantCall {
            id: call.id.clone().expect("an id"),
            name: call.name.clone(),
            arguments: match &call.arguments {
                NativeArguments::Value(Value::Object(arguments)) => arguments.clone(),
                other => panic!("{other:?}"),
            },
            signature: None,
        })
        .collect();
    let results: Vec<_> = calls
        .iter()
        .map(|call| Message::Tool {
            call: call.id.clone(),
            name: call.name.clone(),
            text: observed.to_owned(),
            failed: false,
        })
        .collect();
    request.messages.push(Message::Assistant {
        text: completion.reply.text.clone(),
        thinking: completion.thoughts.clone(),
        calls,
    });
    request.messages.extend(results);
}

#[tokio::test(start_paused = true)]
async fn the_example_plays() {
    let client = Client::scripted(
        "demo",
        Script::parse("disk-full.yaml", &readme_example()).expect("a script"),
    );
    for (observed, answer) in [
        ("/ 100%", "The disk of web-1 is full."),
        ("/ 40%", "The disk of web-1 is not full."),
    ] {
        let mut request = Request {
            messages: vec![Message::user("What is wrong with web-1?")],
            tools: tools(),
            ..Request::default()
        };
        let first = ask(&client, &request).await.expect("the first reply");
        assert_eq!(
            (
                first.reply.calls[0].name.as_str(),
                first.reply.thinking.is_empty()
            ),
            ("infra_query", false)
        );
        go_on(&mut request, &first, "node:web-1");
        let second = ask(&client, &request).await.expect("the second reply");
        assert_eq!(
            (second.reply.calls[0].name.as_str(), second.attempts.len()),
            ("infra_read", 2)
        );
        // A resumed session asks again and is told the same.
        assert_eq!(ask(&client, &request).await.expect("again").reply, second.reply);
        go_on(&mut request, &second, observed);
        let third = ask(&client, &request).await.expect("the third reply");
        assert_eq!(third.reply.text, answer);
        assert_eq!(third.body, client.render(&request).expect("a body"));
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_played() {
    let script = |fault: &str| {
        let text = format!("replies:\n  - text: The quick brown fox jumps.\n    fault: {fault}\n");
        let mut options = Options::new(Provider::Scripted, "");
        options.timeouts.stall = Span::from_secs(7);
        Client::scripted_with("demo", Script::parse("s", &text).expect("a script"), options)
    };
    let cases = [
        ("{ kind: timeout }", Kind::TimeoutFirstChunk, false, 120_000, 1),
        ("{ kind: stall }", Kind::TimeoutStall, true, 7000, 1),
        ("{ kind: disconnect }", Kind::Transport, true, 0, 1),
        ("{ kind: error, status: 401 }", Kind::Credentials, false, 0, 1),
        (
            "{ kind: error, status: 429, retry_after: 2s }",
            Kind::RateLimited,
            false,
            4000,
            3,
        ),
        (
            "{ kind: error, status: 500, retry_after: 1h }",
            Kind::Overloaded,
            false,
            60_000,
            3,
        ),
        ("{ kind: malformed_json }", Kind::Malformed, false, 0, 1),
        ("{ kind: empty }", Kind::Empty, false, 0, 1),
        ("{ kind: loop }", Kind::Degenerate, true, 0, 1),
    ];
    let question = support::question();
    for (fault, kind, visible, millis, attempts) in cases {
        let began = tokio::time::Instant::now();
        let failure = ask(&script(fault), &question).await.expect_err(fault);
        assert_eq!(
            (failure.kind, failure.visible),
            (kind, visible),
            "{fault}: {failure}"
        );
        assert_eq!(failure.record.attempts.len(), attempts, "{fault}");
        let took = began.elapsed();
        let least = Duration::from_millis(millis);
        assert!(
            took >= least && took <= least + Duration::from_secs(2),
            "{fault}: {took:?}"
        );
    }
    let passing = ask(&script("{ kind: disconnect, times: 2 }"), &question)
        .await
        .expect("a reply");
    assert_eq!(
        (passing.reply.text.as_str(), passing.attempts.len()),
        ("The quick brown fox jumps.", 3)
    );
}

#[tokio::test(start_paused = true)]
async fn the_place_follows_from_the_conversation() {
    let text = "replies:\n  - text: one\n    repeat: 2\n  - text: two\n    when: { contains: now }\n  - text: three\n    repeat: forever\n    when: { system: patient }\n";
    let client = Client::scripted("demo", Script::parse("s", text).expect("a script"));
    let play = async |system: &str, says: &str| {
        let mut request = Request {
            system: system.to_owned(),
            ..Request::default()
        };
        let mut heard = Vec::new();
        for _ in 0..6 {
            request.messages.push(Message::user(says));
            match ask(&client, &request).await {
                Ok(completion) => {
                    heard.push(completion.reply.text.clone());
                    request.messages.push(Message::assistant(completion.reply.text));
                }
                Err(failure) => {
                    heard.push(failure.kind.to_string());
                    break;
                }
            }
        }
        heard.join(" ")
    };
    assert_eq!(
        play("be patient", "and now?").await,
        "one one two three three three"
    );
    assert_eq!(
        play("be patient", "and?").await,
        "one one three three three three"
    );
    assert_eq!(play("be quick", "and now?").await, "one one two script_ended");
}

#[tokio::test(start_paused = true)]
async fn what_it_is_shown_is_checked() {
    let text = "replies:\n\n  - text: fine\n    expect: { contains: [Hello], absent: [password], tools: [infra.none] }\n";
    let client = Client::scripted("demo", Script::parse("s.yaml", text).expect("a script"));
    let failure = ask(&client, &support::question())
        .await
        .expect_err("no such tool");
    insta::assert_snapshot!(failure.message, @"Model `demo` (scripted demo): the script s.yaml, line 3: it should be offered the tool `infra.none`. Compare the script's `expect` with what it was shown.");
}

#[test]
fn mistakes_in_a_script_have_a_line() {
    let cases = [
        "replies:\n  - tekst: hello\n",
        "replies:\n  - text: a\n  - thinking: nothing said\n",
        "replies:\n  - text: a\n    repeat: 0\n",
        "replies:\n  - raw: a\n    text: b\n",
        "replies:\n  - text: a\n    fault: { kind: error }\n",
        "replies:\n  - text: a\n    delay: soon\n",
        "replies:\n  - text: a\n    fault: { kind: timeout, times: 2 }\n",
        "- text: a list alone\n",
    ];
    let told: Vec<_> = cases
        .iter()
        .map(|text| Script::parse("s.yaml", text).expect_err(text).to_string())
        .collect();
    insta::assert_snapshot!(told.join("\n----\n"));
}

#[tokio::test(start_paused = true)]
async fn the_check_says_what_a_model_can_do() {
    // The dialects that are written as text say so in the system prompt; the one that is not offers the tool.
    let text = r#"
replies:
  - when: { contains: numbers }
    text: one, two, three
    chunk_size: 4
    chunk_delay: 10ms
  - when: { contains: Call the tool, system: final_answer }
    raw: '{"tool_call": {"name": "echo_number", "parameters": {"number": 8}}}'
  - when: { contains: Call the tool, system: "Action Input" }
    raw: "Thought: I was told to.\nAction: echo_number\nAction Input: {\"number\": 7}"
  - when: { contains: Call the tool, system: tool_name }
    raw: Gladly!
  - when: { contains: Call the tool }
    calls: [{ tool: echo_number, arguments: { number: 7 } }]
"#;
    let client = Client::scripted("demo", Script::parse("s", text).expect("a script"));
    let report = interlock_model::check(&client, &CancellationToken::new()).await;
    assert!(report.answers && report.streams && report.reports_usage);
    insta::assert_snapshot!(report);
}
