//! What a provider and a network can do to a call.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use interlock_model::{Chunk, Client, Finish, Flow, Kind, Limits, Models, Options, Provider, Secrets, Span};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use support::{DONE, Server, Step, answer, client, end, good, head, ignore, options, piece, question, said};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn a_reply_comes_through_with_everything_about_it() {
    let server = Server::start(vec![vec![
        head(),
        piece(&said("Hel")),
        Step::Pause(5),
        piece(&said("lo")),
        piece(DONE),
        end(),
    ]])
    .await;
    let mut options = options(&server.url);
    options.price = Some(interlock_model::Price {
        input_per_million: 1.0,
        output_per_million: 2.0,
        cached_input_per_million: None,
    });
    let client = client(&options);
    let mut seen = String::new();
    let completion = client
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
        ("Hello", "Hello")
    );
    assert_eq!(completion.finish, Finish::Stop);
    assert_eq!(completion.cost.map(|cost| cost.micro_dollars), Some(7));
    assert_eq!(completion.body, client.render(&question()).expect("a body"));
    assert!(server.requests()[0].ends_with(std::str::from_utf8(&completion.body).expect("text")));
    assert_eq!(completion.raw_total, completion.raw.len() as u64);
    assert!(completion.raw.starts_with(b"data: ") && completion.raw.ends_with(b"[DONE]\n\n"));
    assert_eq!(completion.attempts.len(), 1);
    assert!(completion.timing.first_chunk.expect("a first piece") < completion.timing.total);
}

#[tokio::test]
async fn connections_are_used_again() {
    let server = Server::start(vec![good("Hi")]).await;
    let client = client(&options(&server.url));
    for _ in 0..20 {
        client
            .generate(&question(), &CancellationToken::new(), &mut ignore)
            .await
            .expect("a reply");
    }
    assert_eq!(server.connections(), 1);
}

/// What happens first, and how often the provider must have been asked when the good reply that follows has come.
#[tokio::test]
async fn what_passes_is_asked_again_before_anything_was_shown() {
    let cases: Vec<(&str, Vec<Vec<Step>>, usize)> = vec![
        ("500", vec![vec![answer("500 Oops", "", "broken")]], 2),
        (
            "503 twice",
            vec![vec![answer("503 Busy", "", "")], vec![answer("503 Busy", "", "")]],
            3,
        ),
        ("529", vec![vec![answer("529 Overloaded", "", "{}")]], 2),
        ("408", vec![vec![answer("408 Timeout", "", "")]], 2),
        (
            "429",
            vec![vec![answer("429 Slow down", "retry-after: 0\r\n", "{}")]],
            2,
        ),
        ("reset", vec![vec![Step::Reset]], 2),
        ("closed", vec![vec![Step::Close]], 2),
        ("head only", vec![vec![head(), Step::Close]], 2),
        (
            "half a head",
            vec![vec![
                Step::Send("HTTP/1.1 200 OK\r\nconte".to_owned()),
                Step::Close,
            ]],
            2,
        ),
        (
            "garbage",
            vec![vec![Step::Bytes(vec![0xff; 100]), Step::Close]],
            2,
        ),
        ("empty body", vec![vec![answer("200 OK", "", "")]], 2),
        (
            "error in the stream",
            vec![vec![
                head(),
                piece("data: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n"),
                end(),
            ]],
            2,
        ),
    ];
    for (name, mut plans, asked) in cases {
        plans.push(good("Hi"));
        let server = Server::start(plans).await;
        let completion = client(&options(&server.url))
            .generate(&question(), &CancellationToken::new(), &mut ignore)
            .await
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert_eq!(completion.reply.text, "Hi", "{name}");
        assert_eq!(server.requests().len(), asked, "{name}");
        assert_eq!(completion.attempts.len(), asked, "{name}");
        assert!(completion.attempts[0].failed.is_some() && completion.attempts[0].waited.is_some());
    }
}

#[tokio::test]
async fn what_does_not_pass_is_not_asked_again() {
    let big = format!(": {}\n\n", "x".repeat(5000));
    let cases: Vec<(&str, Vec<Step>, Kind, bool)> = vec![
        (
            "401",
            vec![answer("401 No", "", "{\"error\":{\"message\":\"bad key\"}}")],
            Kind::Credentials,
            false,
        ),
        (
            "400",
            vec![answer(
                "400 No",
                "",
                "{\"error\":{\"message\":\"no such field\"}}",
            )],
            Kind::InvalidRequest,
            false,
        ),
        (
            "404",
            vec![answer("404 No", "", "404 page not found")],
            Kind::InvalidRequest,
            false,
        ),
        (
            "redirect",
            vec![answer("302 Found", "location: http://u:p@elsewhere/\r\n", "")],
            Kind::InvalidRequest,
            false,
        ),
        (
            "context",
            vec![answer(
                "400 No",
                "",
                "{\"error\":{\"code\":\"context_length_exceeded\"}}",
            )],
            Kind::ContextTooLong,
            false,
        ),
        (
            "a web page",
            vec![answer(
                "200 OK",
                "content-type: text/html\r\n",
                "<html>Welcome</html>",
            )],
            Kind::Malformed,
            false,
        ),
        (
            "wrong types",
            vec![head(), piece("data: {\"choices\":7}\n\n"), end()],
            Kind::Malformed,
            false,
        ),
        (
            "half a reply",
            vec![head(), piece(&said("Hel")), Step::Close],
            Kind::Transport,
            true,
        ),
        (
            "half a reply, reset",
            vec![head(), piece(&said("Hel")), Step::Pause(50), Step::Reset],
            Kind::Transport,
            true,
        ),
        (
            "half a reply, ended well",
            vec![head(), piece(&said("Hel")), end()],
            Kind::Transport,
            true,
        ),
        (
            "nothing said",
            vec![head(), piece(DONE), end()],
            Kind::Empty,
            false,
        ),
        (
            "only spaces said",
            vec![head(), piece(&said(" \n")), piece(DONE), end()],
            Kind::Empty,
            true,
        ),
        (
            "too much",
            vec![head(), piece(&big), piece(&big), end()],
            Kind::TooLarge,
            false,
        ),
        (
            "a loop",
            vec![
                head(),
                piece(&said(&"Over and over and over again. ".repeat(90))),
                Step::Hang,
            ],
            Kind::Degenerate,
            true,
        ),
    ];
    for (name, plan, kind, visible) in cases {
        let server = Server::start(vec![plan]).await;
        let client = client(&options(&server.url)).with_limits(Limits {
            reply_bytes: 9000,
            ..Limits::DEFAULT
        });
        let failure = client
            .generate(&question(), &CancellationToken::new(), &mut ignore)
            .await
            .expect_err(name);
        assert_eq!(
            (failure.kind, failure.visible),
            (kind, visible),
            "{name}: {failure}"
        );
        assert_eq!(server.requests().len(), 1, "{name}");
        assert!(
            !failure.message.contains("u:p") && failure.message.ends_with('.'),
            "{failure}"
        );
        assert_eq!(failure.record.body, client.render(&question()).expect("a body"));
        if name == "half a reply" {
            assert_eq!(failure.record.partial.text, "Hel");
            assert!(failure.record.raw.starts_with(b"data: "));
        }
    }
}

#[tokio::test]
async fn attempts_run_out() {
    let server = Server::start(vec![vec![answer(
        "500 Oops",
        "x-request-id: req-1\r\n",
        "broken",
    )]])
    .await;
    let failure = client(&options(&server.url))
        .generate(&question(), &CancellationToken::new(), &mut ignore)
        .await
        .expect_err("a failure");
    assert_eq!((failure.kind, server.requests().len()), (Kind::Overloaded, 3));
    let ids: Vec<_> = failure
        .record
        .attempts
        .iter()
        .map(|attempt| attempt.request_id.as_deref())
        .collect();
    assert_eq!(ids, [Some("req-1"); 3]);
    insta::assert_snapshot!(
        failure.message.replace(&server.url, "http://HERE"),
        @"Model `main` (openai m) at http://HERE/v1/chat/completions: it answered 500: broken (asked 3 times). Try again later, or name a `fallback` model."
    );
}

#[tokio::test]
async fn a_provider_that_asks_to_wait_is_waited_for() {
    let soon = jiff::Timestamp::now() + Duration::from_secs(2);
    let date = jiff::fmt::rfc2822::DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&soon)
        .expect("a date");
    for (header, least) in [
        (format!("retry-after: {date}"), 300),
        ("retry-after: 1".to_owned(), 1000),
        ("retry-after-ms: 300".to_owned(), 300),
        ("retry-after: 3600".to_owned(), 1400),
    ] {
        let plans = vec![
            vec![answer("429 Slow down", &format!("{header}\r\n"), "")],
            good("Hi"),
        ];
        let server = Server::start(plans).await;
        let began = Instant::now();
        let completion = client(&options(&server.url))
            .generate(&question(), &CancellationToken::new(), &mut ignore)
            .await
            .expect("a reply");
        assert_eq!(completion.attempts[0].failed, Some(Kind::RateLimited));
        let waited = began.elapsed().as_millis();
        assert!((least..4000).contains(&waited), "{header}: {waited} ms");
    }
}

#[tokio::test]
async fn every_silence_ends() {
    let cases: Vec<(&str, Vec<Step>, Kind, bool)> = vec![
        ("nothing at all", vec![Step::Hang], Kind::TimeoutFirstChunk, false),
        (
            "a head and nothing",
            vec![head(), Step::Hang],
            Kind::TimeoutFirstChunk,
            false,
        ),
        (
            "only pings",
            vec![
                head(),
                piece(": ping\n\n"),
                Step::Pause(50),
                piece(": ping\n\n"),
                Step::Hang,
            ],
            Kind::TimeoutFirstChunk,
            false,
        ),
        (
            "half a reply",
            vec![head(), piece(&said("Hel")), Step::Hang],
            Kind::TimeoutStall,
            true,
        ),
    ];
    for (name, plan, kind, visible) in cases {
        let server = Server::start(vec![plan]).await;
        let mut options = options(&server.url);
        options.timeouts.first_chunk = Span::from_millis(200);
        options.timeouts.stall = Span::from_millis(150);
        let failure = client(&options)
            .generate(&question(), &CancellationToken::new(), &mut ignore)
            .await
            .expect_err(name);
        assert_eq!(
            (failure.kind, failure.visible),
            (kind, visible),
            "{name}: {failure}"
        );
        assert_eq!(
            server.requests().len(),
            1,
            "{name}: a time-out is not asked again"
        );
        server.client_closed().await;
    }
}

#[tokio::test]
async fn a_reply_without_end_ends() {
    let mut plan = vec![head()];
    for _ in 0..1000 {
        plan.push(piece(&said("x")));
        plan.push(Step::Pause(10));
    }
    let server = Server::start(vec![plan]).await;
    let mut options = options(&server.url);
    options.timeouts.call = Span::from_millis(300);
    let failure = client(&options)
        .generate(&question(), &CancellationToken::new(), &mut ignore)
        .await
        .expect_err("too long");
    assert_eq!(
        (failure.kind, failure.visible),
        (Kind::TimeoutCall, true),
        "{failure}"
    );
}

#[tokio::test]
async fn cancelling_ends_the_request_at_once() {
    let plans = [
        vec![Step::Hang],
        vec![head(), Step::Hang],
        vec![head(), piece(&said("Hel")), Step::Hang],
        vec![answer("429 Slow", "retry-after: 60\r\n", "")],
    ];
    for plan in plans {
        let server = Server::start(vec![plan]).await;
        let cancel = CancellationToken::new();
        let mut options = options(&server.url);
        options.retries.cap = Span::from_secs(60);
        let client = client(&options);
        let began = Instant::now();
        let stop = cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            stop.cancel();
        });
        let failure = client
            .generate(&question(), &cancel, &mut ignore)
            .await
            .expect_err("cancelled");
        assert_eq!(failure.kind, Kind::Cancelled);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        drop(client);
        server.client_closed().await;
    }
}

#[tokio::test]
async fn a_receiver_that_wants_no_more_ends_the_request() {
    let server = Server::start(vec![vec![
        head(),
        piece(&said("Hel")),
        piece(&said("lo")),
        Step::Hang,
    ]])
    .await;
    let completion = client(&options(&server.url))
        .generate(&question(), &CancellationToken::new(), &mut |_| Flow::Stop)
        .await
        .expect("what came");
    assert_eq!(
        (completion.reply.text.as_str(), completion.finish),
        ("Hel", Finish::Stopped)
    );
    server.client_closed().await;
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let mut options = options("http://someone:sesame-open@127.0.0.1:1/v1?token=canary-token");
    options.retries.attempts = 1;
    let failure = client(&options)
        .generate(&question(), &CancellationToken::new(), &mut ignore)
        .await
        .expect_err("nobody");
    assert_eq!(failure.kind, Kind::Transport);
    insta::assert_snapshot!(
        failure.message,
        @"Model `main` (openai m) at http://127.0.0.1:1/v1/chat/completions: no connection: Connection refused (os error 111). Check `base_url`, the network and `ca_file`."
    );
}

/// A key, a header and a password, and a server that repeats all it was given, in a refusal or in a reply.
#[tokio::test]
async fn no_secret_comes_back_out() {
    let secrets = [
        "canary-key-1",
        "canary-header-2",
        "canary-password-3",
        "canary-query-4",
        "c29tZW9uZTpjYW5hcnktcGFzc3dvcmQtMw==",
    ];
    let echo = format!("{{\"error\":{{\"message\":\"refused: {}\"}}}}", secrets.join(" "));
    let plans = [
        answer("401 No", &format!("x-request-id: {}\r\n", secrets[0]), &echo),
        answer("500 No", "", &echo),
        answer(
            "302 Found",
            &format!("location: http://x:{}@h/?k={}\r\n", secrets[2], secrets[0]),
            "",
        ),
        answer("200 OK", "", &echo),
        answer("200 OK", "", &format!("<html>{echo}</html>")),
        answer("200 OK", "", &format!("data: {echo}\n\n")),
        answer("200 OK", "", &format!("data: 7 {echo}\n\n")),
        Step::Reset,
    ];
    for provider in [
        Provider::Openai,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Ollama,
    ] {
        for plan in &plans {
            let server = Server::start(vec![vec![plan.clone()]]).await;
            let address = server
                .url
                .replace("http://", &format!("http://someone:{}@", secrets[2]));
            let mut options = Options::new(provider, "m");
            options.base_url = Some(format!("{address}?key={}", secrets[3]).into());
            options.api_key_env = Some("THE_KEY".to_owned());
            options.headers.insert("x-gate".to_owned(), secrets[1].into());
            options.retries.attempts = 1;
            let client =
                Client::new("main", &options, &Secrets::given([("THE_KEY", secrets[0])])).expect("a client");
            let failure = client
                .generate(&question(), &CancellationToken::new(), &mut ignore)
                .await
                .expect_err("a failure");
            let raw = String::from_utf8_lossy(&failure.record.raw).into_owned();
            let options_json = serde_json::to_string(&options).expect("JSON");
            for text in [
                format!("{failure}"),
                format!("{failure:?}"),
                format!("{client:?}"),
                format!("{options:?}"),
                options_json,
                raw,
            ] {
                for secret in secrets {
                    assert!(!text.contains(secret), "{provider}: {secret} in {text}");
                }
            }
            let sent = &server.requests()[0];
            assert!(sent.contains(secrets[0]) && sent.contains(secrets[1]), "{sent}");
            let first_line = sent.lines().next().expect("a line");
            assert!(
                !first_line.contains(secrets[0]) && !first_line.contains(secrets[2]),
                "{first_line}"
            );
        }
    }
    let wrong = Options {
        base_url: Some("ftp://u:canary-password-3@h".into()),
        ..options("")
    };
    let error = Client::new("main", &wrong, &Secrets::environment()).expect_err("no such address");
    assert!(!format!("{error} {error:?}").contains("canary"));
}

#[tokio::test]
async fn another_model_takes_over() {
    let broken = Server::start(vec![vec![answer("500 Oops", "", "")]]).await;
    let refusing = Server::start(vec![vec![answer("401 No", "", "")]]).await;
    let fine = Server::start(vec![good("Hi")]).await;
    let mut first = options(&broken.url);
    first.fallback = vec!["second".to_owned(), "keyless".to_owned(), "third".to_owned()];
    let mut keyless = options(&fine.url);
    keyless.api_key_env = Some("NOT_SET".to_owned());
    keyless.model = "other".to_owned();
    let models = BTreeMap::from([
        ("first".to_owned(), first),
        ("second".to_owned(), options(&refusing.url)),
        ("keyless".to_owned(), keyless),
        ("third".to_owned(), options(&fine.url)),
    ]);
    let models = Models::with_secrets(models, Secrets::given([("", ""); 0])).expect("models");
    let mut route = models.route("first").expect("a route");
    let cancel = CancellationToken::new();
    let outcome = models
        .generate(&mut route, &question(), &cancel, &mut ignore)
        .await;
    let completion = outcome.result.expect("a reply");
    let switches: Vec<_> = outcome
        .switched
        .iter()
        .map(|switched| {
            (
                switched.from.name.as_str(),
                switched.to.name.as_str(),
                switched.failure.kind,
            )
        })
        .collect();
    assert_eq!(
        switches,
        [
            ("first", "second", Kind::Overloaded),
            ("second", "third", Kind::Credentials)
        ]
    );
    assert_eq!(completion.model.name, "third");
    assert_eq!(
        completion.attempts.len(),
        5,
        "three, one, one: {:?}",
        completion.attempts
    );
    // It stays there.
    let outcome = models
        .generate(&mut route, &question(), &cancel, &mut ignore)
        .await;
    assert!(outcome.switched.is_empty() && outcome.result.is_ok());
    assert_eq!(
        (broken.requests().len(), route.current(), route.first()),
        (3, "third", "first")
    );
}

#[tokio::test]
async fn two_time_outs_in_a_row_are_enough() {
    let silent = Server::start(vec![vec![Step::Hang]]).await;
    let mut first = options(&silent.url);
    first.timeouts.first_chunk = Span::from_millis(100);
    let alone = Models::new(BTreeMap::from([("first".to_owned(), first.clone())])).expect("models");
    let mut route = alone.route("first").expect("a route");
    let cancel = CancellationToken::new();
    let outcome = alone
        .generate(&mut route, &question(), &cancel, &mut ignore)
        .await;
    let failure = outcome.result.expect_err("nobody answers");
    assert_eq!(
        (failure.kind, failure.record.attempts.len()),
        (Kind::TimeoutFirstChunk, 2)
    );

    let fine = Server::start(vec![good("Hi")]).await;
    first.fallback = vec!["second".to_owned()];
    let both = BTreeMap::from([
        ("first".to_owned(), first),
        ("second".to_owned(), options(&fine.url)),
    ]);
    let both = Models::new(both).expect("models");
    let mut route = both.route("first").expect("a route");
    let outcome = both.generate(&mut route, &question(), &cancel, &mut ignore).await;
    assert!(outcome.result.is_ok());
    assert_eq!((outcome.switched.len(), silent.requests().len()), (1, 4));
}

#[tokio::test]
async fn what_was_shown_is_the_callers_to_discard() {
    let half = Server::start(vec![vec![head(), piece(&said("Hel")), Step::Close]]).await;
    let fine = Server::start(vec![good("Hi")]).await;
    let mut first = options(&half.url);
    first.fallback = vec!["second".to_owned()];
    let models = BTreeMap::from([
        ("first".to_owned(), first),
        ("second".to_owned(), options(&fine.url)),
    ]);
    let models = Models::new(models).expect("models");
    let mut route = models.route("first").expect("a route");
    let cancel = CancellationToken::new();
    let outcome = models
        .generate(&mut route, &question(), &cancel, &mut ignore)
        .await;
    let failure = outcome.result.expect_err("half a reply");
    assert!(failure.visible && outcome.switched.is_empty() && fine.requests().is_empty());
    let outcome = models
        .generate(&mut route, &question(), &cancel, &mut ignore)
        .await;
    assert_eq!(outcome.result.expect("a reply").reply.text, "Hi");
    assert_eq!(outcome.switched.len(), 1);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let none = Secrets::given([("", ""); 0]);
    let check = |change: fn(&mut Options)| {
        let mut options = options("http://127.0.0.1:1");
        change(&mut options);
        Client::new("main", &options, &none).map_or_else(|error| error.to_string(), |_| "fine".to_owned())
    };
    let told = [
        check(|_| {}),
        check(|options| options.model.clear()),
        check(|options| options.base_url = None),
        check(|options| options.base_url = Some("not an address".into())),
        check(|options| options.api_key_env = Some("NO_SUCH".to_owned())),
        check(|options| drop(options.headers.insert("host".to_owned(), "x".into()))),
        check(|options| drop(options.headers.insert("x-a".to_owned(), "line\nbreak".into()))),
        check(|options| drop(options.extra.insert("messages".to_owned(), 1.into()))),
        check(|options| options.ca_file = Some("/no/such/file".into())),
        check(|options| options.temperature = Some(7.0)),
        check(|options| options.retries.attempts = 0),
        check(|options| options.provider = Provider::Scripted),
        check(|options| options.native_tools.google_search = true),
    ];
    insta::assert_snapshot!(told.join("\n"));
    let mut looped = options("http://127.0.0.1:1");
    looped.fallback = vec!["nobody".to_owned()];
    let error = Models::new(BTreeMap::from([("main".to_owned(), looped)])).expect_err("no such fallback");
    insta::assert_snapshot!(error, @"model `main`: `fallback` names `nobody`, which is no model; there are: main");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_run_side_by_side() {
    let server = Server::start(vec![good("Hi")]).await;
    let models = Models::new(BTreeMap::from([("main".to_owned(), options(&server.url))])).expect("models");
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let models = models.clone();
            tokio::spawn(async move {
                let mut route = models.route("main").expect("a route");
                let outcome = models
                    .generate(&mut route, &question(), &CancellationToken::new(), &mut ignore)
                    .await;
                outcome.result.expect("a reply").reply.text
            })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.expect("a task"), "Hi");
    }
    assert_eq!(server.requests().len(), 64);
}
