//! A server that lies: every reply of it ends as a reply or as a typed failure, within bounds, and the key goes nowhere else.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use interlock_model::{
    Chunk, Client, Completion, Failure, Flow, Kind, Limits, Options, Provider, Secrets, Span, Usage,
};
use serde_json::{Value, json};
use support::{DONE, Server, Step, answer, client, end, head, ignore, options, piece, question, said};
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk-proj-9Qm4Xw7Vn2Rt8Lk3Pf6Zq1";

async fn ask(options: &Options) -> Result<Completion, Failure> {
    client(options)
        .generate(&question(), &CancellationToken::new(), &mut ignore)
        .await
}

/// Asks once, with the key. The clocks are not what ends it.
async fn ask_once(provider: Provider, url: &str, limits: Limits) -> Result<Completion, Failure> {
    ask_within(provider, url, limits, 60_000).await
}

async fn ask_within(
    provider: Provider,
    url: &str,
    limits: Limits,
    first_chunk: u64,
) -> Result<Completion, Failure> {
    let mut options = options(url);
    options.provider = provider;
    options.api_key_env = Some("KEY".to_owned());
    options.retries.attempts = 1;
    options.timeouts.first_chunk = Span::from_millis(first_chunk);
    options.timeouts.call = Span::from_millis(120_000);
    Client::new("main", &options, &Secrets::given([("KEY", KEY)]))
        .expect("a client")
        .with_limits(limits)
        .generate(&question(), &CancellationToken::new(), &mut ignore)
        .await
}

fn event(event: &Value) -> String {
    format!("data: {event}\n\n")
}

fn delta(delta: &Value) -> String {
    event(&json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

fn bytes(head: &str, body: &[u8]) -> Vec<Step> {
    vec![
        Step::Send(format!(
            "HTTP/1.1 200 OK\r\n{head}content-length: {}\r\n\r\n",
            body.len()
        )),
        Step::Bytes(body.to_vec()),
    ]
}

/// What must come of a reply.
enum Becomes {
    Text(&'static str),
    Calls(usize),
    Fails(Kind),
}

#[tokio::test]
async fn lies_about_the_form_end_as_replies_or_typed_failures() {
    use Becomes::{Calls, Fails, Text};
    let hello = format!("{}{DONE}", said("Hello"));
    let plain = "content-type: text/event-stream\r\n";
    let mut broken = said("He").into_bytes();
    broken.extend(b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\xfe\xc0\x80\"}}]}\n\n");
    let bomb = b"\x1f\x8b\x08\0\0\0\0\0\x02\x03\xed\xc1\x01\r\0\0\0\xc2\xa0\xf7Om\x0e7\xa0";
    let deep = "[".repeat(100_000);
    let call = |index: u32, id: &str| json!({"index": index, "id": id, "function": {"name": "x", "arguments": "{}"}});
    let many: String = (0..10_000)
        .map(|at| delta(&json!({ "tool_calls": [call(at, &format!("c{at}"))] })))
        .collect();
    let cases: Vec<(&str, Vec<Step>, Becomes)> = vec![
        ("no type", bytes("", hello.as_bytes()), Text("Hello")),
        (
            "another type",
            bytes("content-type: image/png\r\n", hello.as_bytes()),
            Text("Hello"),
        ),
        (
            "two types",
            bytes(
                "content-type: text/html\r\ncontent-type: a/b\r\n",
                hello.as_bytes(),
            ),
            Text("Hello"),
        ),
        (
            "a web page",
            bytes(plain, b"<html>hello</html>"),
            Fails(Kind::Malformed),
        ),
        (
            "compressed though not asked for",
            bytes("content-encoding: gzip\r\n", bomb),
            Fails(Kind::Malformed),
        ),
        ("not UTF-8", bytes(plain, &broken), Fails(Kind::Malformed)),
        (
            "CR alone",
            bytes(plain, hello.replace('\n', "\r").as_bytes()),
            Text("Hello"),
        ),
        (
            "CRLF",
            bytes(plain, hello.replace('\n', "\r\n").as_bytes()),
            Text("Hello"),
        ),
        (
            "a byte order mark",
            bytes(plain, format!("\u{feff}{hello}").as_bytes()),
            Text("Hello"),
        ),
        ("NUL bytes", bytes(plain, b"\0\0\0\0"), Fails(Kind::Malformed)),
        ("nothing", bytes(plain, b""), Fails(Kind::Transport)),
        ("blank lines", bytes(plain, b"\n\n\n\n"), Fails(Kind::Transport)),
        (
            "comments alone",
            bytes(plain, b": a\n\n: b\n\n"),
            Fails(Kind::Malformed),
        ),
        (
            "deep JSON",
            bytes(plain, format!("data: {deep}\n\n").as_bytes()),
            Fails(Kind::Malformed),
        ),
        (
            "deep JSON in one piece",
            bytes(plain, deep.as_bytes()),
            Fails(Kind::Transport),
        ),
        (
            "deep arguments",
            bytes(
                plain,
                delta(&json!({ "tool_calls": [{"index": 0, "function": {"name": "x", "arguments": {}}}] }))
                    .replace(
                        "\"arguments\":{}",
                        &format!(
                            "\"arguments\":{}1{}",
                            "{\"a\":".repeat(50_000),
                            "}".repeat(50_000)
                        ),
                    )
                    .as_bytes(),
            ),
            Fails(Kind::Malformed),
        ),
        (
            "a number without end",
            bytes(
                plain,
                format!("data: {{\"choices\":{}}}\n\n", "9".repeat(100_000)).as_bytes(),
            ),
            Fails(Kind::Malformed),
        ),
        (
            "an index that is none",
            bytes(plain, delta(&json!({ "tool_calls": [{"index": -1}] })).as_bytes()),
            Fails(Kind::Malformed),
        ),
        (
            "ten thousand calls",
            bytes(plain, format!("{many}{DONE}").as_bytes()),
            Fails(Kind::TooLarge),
        ),
        (
            "two calls of one id",
            bytes(
                plain,
                format!(
                    "{}{DONE}",
                    delta(&json!({ "tool_calls": [call(0, "same"), call(1, "same")] }))
                )
                .as_bytes(),
            ),
            Calls(2),
        ),
        (
            "one index for two ids",
            bytes(
                plain,
                format!(
                    "{}{}{DONE}",
                    delta(&json!({ "tool_calls": [call(0, "a")] })),
                    delta(&json!({ "tool_calls": [call(0, "b")] }))
                )
                .as_bytes(),
            ),
            Calls(2),
        ),
        (
            "trailers",
            vec![
                head(),
                piece(&hello),
                Step::Send("0\r\nx-late: 1\r\ncontent-length: 9\r\n\r\n".to_owned()),
            ],
            Text("Hello"),
        ),
        (
            "a chunk that is longer than it says",
            vec![head(), Step::Send(format!("1\r\n{hello}\r\n"))],
            Fails(Kind::Transport),
        ),
        (
            "a chunk of an absurd length",
            vec![
                head(),
                Step::Send(format!("ffffffffffffffff\r\n{hello}\r\n")),
                Step::Close,
            ],
            Text("Hello"),
        ),
        (
            "a length that is none",
            vec![Step::Send(format!(
                "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n{hello}"
            ))],
            Fails(Kind::Transport),
        ),
        (
            "two lengths",
            vec![Step::Send(format!(
                "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{hello}"
            ))],
            Fails(Kind::Transport),
        ),
        (
            "not HTTP",
            vec![Step::Send("SSH-2.0-OpenSSH_9.9\r\n".to_owned()), Step::Close],
            Fails(Kind::Transport),
        ),
        (
            "HTTP/2 unasked",
            vec![Step::Bytes(b"\0\0\x12\x04\0\0\0\0\0".to_vec()), Step::Close],
            Fails(Kind::Transport),
        ),
    ];
    for (name, plan, becomes) in cases {
        let server = Server::start(vec![plan]).await;
        let result = ask_once(Provider::Openai, &server.url, Limits::DEFAULT).await;
        match (becomes, result) {
            (Text(expected), Ok(completion)) => assert_eq!(completion.reply.text, expected, "{name}"),
            (Calls(expected), Ok(completion)) => assert_eq!(completion.reply.calls.len(), expected, "{name}"),
            (Fails(kind), Err(failure)) => {
                assert_eq!(failure.kind, kind, "{name}: {failure}");
                assert!(
                    failure.message.len() < 1000 && !failure.message.contains('\u{1b}'),
                    "{name}: {failure}"
                );
            }
            (_, other) => panic!("{name}: {other:?}"),
        }
        assert!(
            !server.requests()[0]
                .to_ascii_lowercase()
                .contains("accept-encoding"),
            "{name}"
        );
    }
}

#[tokio::test]
async fn what_never_ends_is_ended() {
    let small = Limits {
        reply_bytes: 256 << 10,
        ..Limits::DEFAULT
    };
    // Many at once, so that a slow machine is done soon too.
    let chunk = |text: &str| {
        let times = 1 + 4096 / text.len();
        format!("{:x}\r\n{text}\r\n", text.len())
            .repeat(times)
            .into_bytes()
    };
    // Long enough not to count as a repetition.
    let words: Vec<String> = (0..4000).map(|at| (at * 7919 % 10_007).to_string()).collect();
    let words = words.join(" ");
    let cases: Vec<(&str, Vec<Step>, Kind)> = vec![
        (
            "text",
            vec![head(), Step::Endless(chunk(&said(&words)))],
            Kind::TooLarge,
        ),
        (
            "thinking",
            vec![
                head(),
                Step::Endless(chunk(&delta(&json!({ "reasoning_content": words })))),
            ],
            Kind::TooLarge,
        ),
        (
            "arguments",
            vec![
                head(),
                Step::Endless(chunk(&delta(
                    &json!({ "tool_calls": [{"index": 0, "function": {"name": "x", "arguments": words}}] }),
                ))),
            ],
            Kind::TooLarge,
        ),
        (
            "comments",
            vec![head(), Step::Endless(chunk(": ping\n\n"))],
            Kind::TooLarge,
        ),
        (
            "blank lines",
            vec![head(), Step::Endless(chunk("\n\n\n\n"))],
            Kind::TooLarge,
        ),
        (
            "white space",
            vec![head(), Step::Endless(chunk("        "))],
            Kind::TooLarge,
        ),
        (
            "one line",
            vec![head(), Step::Endless(chunk("data: xxxxxxxxxxxxxxxxxx"))],
            Kind::TooLarge,
        ),
        (
            "one event",
            vec![head(), Step::Endless(chunk("data: xxxxxxxxxxxxxxxxxx\n"))],
            Kind::TooLarge,
        ),
        (
            "one document",
            vec![head(), Step::Endless(chunk("{\"a\":1,"))],
            Kind::TooLarge,
        ),
        (
            "empty events",
            vec![head(), Step::Endless(chunk("data: {}\n\n"))],
            Kind::TooLarge,
        ),
        (
            "headers",
            vec![
                Step::Send("HTTP/1.1 200 OK\r\n".to_owned()),
                Step::Endless(b"x-more: 1\r\n".to_vec()),
            ],
            Kind::Transport,
        ),
        (
            "one header",
            vec![
                Step::Send("HTTP/1.1 200 OK\r\nx: ".to_owned()),
                Step::Endless(vec![b'x'; 4096]),
            ],
            Kind::Transport,
        ),
        (
            "promises",
            vec![Step::Endless(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec())],
            Kind::TimeoutFirstChunk,
        ),
        (
            "trailers",
            vec![
                head(),
                piece(&said("x")),
                Step::Send("0\r\n".to_owned()),
                Step::Endless(b"x-more: 1\r\n".to_vec()),
            ],
            Kind::Transport,
        ),
        (
            "extensions of a chunk",
            vec![
                head(),
                Step::Send("1;".to_owned()),
                Step::Endless(vec![b'x'; 4096]),
            ],
            Kind::Transport,
        ),
        (
            "keep-alives",
            vec![head(), Step::Drip(chunk(": ping\n\n"), 20)],
            Kind::TimeoutFirstChunk,
        ),
        (
            "an error",
            vec![
                Step::Send("HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n".to_owned()),
                Step::Endless(chunk("no no no ")),
            ],
            Kind::Overloaded,
        ),
    ];
    for (name, plan, kind) in cases {
        let server = Server::start(vec![plan]).await;
        let patience = if kind == Kind::TimeoutFirstChunk {
            500
        } else {
            60_000
        };
        let failure = ask_within(Provider::Openai, &server.url, small, patience)
            .await
            .expect_err(name);
        assert_eq!(failure.kind, kind, "{name}: {failure}");
        let record = &failure.record;
        let kept = record.raw.len() + record.partial.text.len() + record.partial.thinking.len();
        assert!(kept <= 3 * small.reply_bytes, "{name}: {kept}");
        server.client_closed().await;
    }
}

#[tokio::test]
async fn keep_alives_after_a_word_end_with_the_call() {
    let server = Server::start(vec![vec![
        head(),
        piece(&said("so")),
        Step::Drip(b"8\r\n: ping\n\n\r\n".to_vec(), 20),
    ]])
    .await;
    let mut options = options(&server.url);
    options.retries.attempts = 1;
    options.timeouts.call = Span::from_millis(500);
    let failure = ask(&options).await.expect_err("no end");
    assert_eq!(failure.kind, Kind::TimeoutCall, "{failure}");
}

#[tokio::test]
async fn what_comes_behind_a_finished_reply_is_not_read_for_ever() {
    let hello = format!("{}{DONE}", said("Hello"));
    let server = Server::start(vec![vec![
        head(),
        piece(&hello),
        Step::Endless(b"8\r\n: ping\n\n\r\n".to_vec()),
    ]])
    .await;
    let completion = ask_once(Provider::Openai, &server.url, Limits::DEFAULT)
        .await
        .expect("a reply");
    assert_eq!(completion.reply.text, "Hello");
    assert!(completion.raw_total < 1 << 20, "{}", completion.raw_total);
    server.client_closed().await;
}

#[tokio::test]
async fn an_answer_that_was_not_asked_for_is_given_to_no_other_question() {
    let hello = |text: &str| {
        let body = format!("{}{DONE}", said(text));
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    };
    let twice = Step::Send(format!("{}{}", hello("first"), hello("smuggled")));
    let server = Server::start(vec![vec![twice], vec![Step::Send(hello("second"))]]).await;
    let options = options(&server.url);
    let client = client(&options);
    for expected in ["first", "second"] {
        let completion = client
            .generate(&question(), &CancellationToken::new(), &mut ignore)
            .await
            .expect("a reply");
        assert_eq!(completion.reply.text, expected);
    }
}

#[tokio::test]
async fn the_key_follows_no_redirect() {
    let elsewhere = Server::start(vec![support::good("stolen")]).await;
    for status in [
        "301 Moved",
        "302 Found",
        "303 See Other",
        "307 Temporary Redirect",
        "308 Permanent Redirect",
    ] {
        let target = elsewhere.url.replace("http://", "http://me:pw@");
        let location = format!("location: {target}/v1/chat/completions?key={KEY}\r\n");
        let server = Server::start(vec![vec![answer(status, &location, "")]]).await;
        let failure = ask_once(Provider::Openai, &server.url, Limits::DEFAULT)
            .await
            .expect_err("not followed");
        assert_eq!(failure.kind, Kind::InvalidRequest, "{failure}");
        let told = format!("{failure} {:?}", failure.record);
        assert!(!told.contains(KEY) && !told.contains("me:pw"), "{told}");
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn counts_of_tokens_are_believed_as_far_as_they_can_be_true() {
    let openai = |usage: &str| {
        format!(
            "{}data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}],\"usage\":{usage}}}\n\ndata: [DONE]\n\n",
            said("Hi")
        )
    };
    let anthropic = |usage: &str| {
        let mut body = event(&json!({"type": "message_start", "message": {}}))
            .replace("{}", &format!("{{\"usage\":{usage}}}"));
        for more in [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
            json!({"type": "message_stop"}),
        ] {
            body.push_str(&event(&more));
        }
        body
    };
    let gemini = |usage: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"Hi\"}}]}},\"finishReason\":\"STOP\"}}],\"usageMetadata\":{usage}}}\n\n"
        )
    };
    let ollama = |usage: &str| {
        format!(
            "{{\"message\":{{\"role\":\"assistant\",\"content\":\"Hi\"}},\"done\":true,\"done_reason\":\"stop\",{}\n",
            &usage[1..]
        )
    };
    let lies = [
        "-5",
        "-1e300",
        "18446744073709551615",
        "99999999999999999999999",
        "1e308",
        "\"many\"",
        "null",
        "[]",
        "{}",
        "true",
        "0.5",
    ];
    for lie in lies {
        let cases = [
            (
                Provider::Openai,
                openai(&format!(
                    "{{\"prompt_tokens\":{lie},\"completion_tokens\":{lie},\"total_tokens\":{lie},\"prompt_tokens_details\":{{\"cached_tokens\":{lie}}}}}"
                )),
            ),
            (
                Provider::Anthropic,
                anthropic(&format!(
                    "{{\"input_tokens\":{lie},\"cache_read_input_tokens\":{lie},\"cache_creation_input_tokens\":{lie},\"output_tokens\":{lie}}}"
                )),
            ),
            (
                Provider::Gemini,
                gemini(&format!(
                    "{{\"promptTokenCount\":{lie},\"toolUsePromptTokenCount\":{lie},\"candidatesTokenCount\":{lie},\"thoughtsTokenCount\":{lie}}}"
                )),
            ),
            (
                Provider::Ollama,
                ollama(&format!("{{\"prompt_eval_count\":{lie},\"eval_count\":{lie}}}")),
            ),
        ];
        for (provider, body) in cases {
            let server = Server::start(vec![bytes("", body.as_bytes())]).await;
            let completion = ask_once(provider, &server.url, Limits::DEFAULT).await;
            let completion = completion.unwrap_or_else(|failure| panic!("{provider} {lie}: {failure}"));
            assert_eq!(completion.reply.text, "Hi", "{provider} {lie}");
            let Usage {
                input_tokens,
                cached_input_tokens,
                output_tokens,
                thinking_tokens,
                ..
            } = completion.usage;
            assert!(
                input_tokens <= 1 << 20 && output_tokens <= 1 << 21,
                "{provider} {lie}: {:?}",
                completion.usage
            );
            assert!(
                cached_input_tokens <= input_tokens && thinking_tokens <= output_tokens,
                "{provider} {lie}"
            );
        }
    }
}

#[tokio::test]
async fn a_reply_of_single_bytes_is_the_reply() {
    let body = format!("{}{}{DONE}", said("größer "), said("als nichts"));
    let pieces = body
        .as_bytes()
        .iter()
        .map(|byte| Step::Bytes([b"1\r\n".as_slice(), &[*byte], b"\r\n"].concat()));
    let plan = std::iter::once(head()).chain(pieces).chain([end()]).collect();
    let server = Server::start(vec![plan]).await;
    let mut seen = String::new();
    let completion = client(&options(&server.url))
        .generate(&question(), &CancellationToken::new(), &mut |chunk| {
            if let Chunk::Text(text) = chunk {
                seen.push_str(text);
            }
            Flow::Continue
        })
        .await
        .expect("a reply");
    assert_eq!(
        (seen.as_str(), completion.reply.text.as_str()),
        ("größer als nichts", "größer als nichts")
    );
}
