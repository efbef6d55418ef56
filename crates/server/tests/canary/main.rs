//! A secret is put into every source, each its own, and looked for in everything that the server keeps, shows, streams, logs
//! and sends: sessions run over real HTTP, a real database file and a provider that speaks the real wire in awkward pieces.
//!
//! A source whose masking is taken away must be found in the sinks: so the search itself is shown to work.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on must stop"
)]

mod canaries;
mod log;
mod machine;
#[path = "../support/parts.rs"]
mod parts;
mod place;
mod provider;
mod sinks;

use std::collections::{BTreeMap, BTreeSet};

use canaries::Canaries;
use interlock_mask::{Kind, Options as MaskOptions, Source};
use interlock_model::Provider as Wire;
use place::{Place, Wish};
use provider::{Call, Reply, Say};
use serde_json::json;

/// What is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Story {
    All,
    Alert,
    Failures,
}

/// One session for each way in which something can be said, and what is found of it afterwards.
async fn run(wish: Wish, story: Story, canaries: &mut Canaries) -> Place {
    let place = Place::new(wish, canaries).await;
    let mut watch = place.watch().await;
    if story != Story::Failures {
        alert(&place, canaries, &mut watch).await;
    }
    if story == Story::All {
        alertmanager(&place, canaries, &mut watch).await;
        chat(&place, canaries, &mut watch).await;
    }
    if story != Story::Alert {
        failures(&place, canaries, &mut watch).await;
    }
    if story == Story::All {
        wires(&place, canaries, &mut watch).await;
        held(&place, canaries, &mut watch).await;
        people(&place, canaries).await;
    }
    place.finish(watch)
}

/// An alert; the model looks, is answered with secrets, repeats them, wants to change something and is denied.
async fn alert(place: &Place, canaries: &mut Canaries, watch: &mut place::Watch) {
    let body = json!({
        "alert_type": "service_down",
        "fingerprint": format!("web {}", canaries.token("alert fingerprint")),
        "idempotency_key": format!("first-{}", canaries.token("alert idempotency key")),
        "runbook": format!("Sign in with {} first.", canaries.assigned("alert runbook")),
        "data": {
            "labels": { "alertname": "service_down", "instance": format!("web {}", canaries.token("alert label")) },
            "annotations": {
                "summary": format!("nginx said {}", canaries.token("alert annotation")),
                "description": canaries.assigned("alert annotation, assigned"),
            },
            "nested": [{ "deep": { "db_password": canaries.bare("alert nested value") } }],
            "passwords": [canaries.bare("alert list of passwords")],
            (canaries.token("alert key")): 1,
        },
    });
    place.machine.say(canaries);
    place.provider.next([
        Say::Reply(Reply {
            thinking: format!("I saw {} there", canaries.token("model thinking")),
            text: format!("First {} is looked at.", canaries.token("model text")),
            calls: vec![
                Call::new("infra_query", &json!({"action": "search", "query": "web"}))
                    .id(&canaries.token("model call id")),
            ],
            served_by: format!("gpt {}", canaries.token("provider model name")),
            ..Reply::default()
        }),
        Say::Reply(Reply {
            text: canaries.assigned("model text, assigned"),
            calls: vec![
                Call::read("cat /etc/one"),
                Call::read("cat /etc/two"),
                Call::read(&format!("grep {} /etc/three", canaries.token("model argument"))),
                Call::read(&format!(
                    "env DB_PASSWORD={} ls",
                    canaries.bare("model argument, assigned")
                )),
            ],
            ..Reply::default()
        }),
        Say::Reply(Reply {
            calls: vec![
                Call::new(&canaries.token("model tool name"), &json!({})),
                Call::new(
                    "infra_read",
                    &json!({ (canaries.token("model argument key")): 1 }),
                ),
                Call::new(
                    "infra_read",
                    &json!({ "api_key": canaries.bare("model argument value by its key") }),
                ),
                Call::written(
                    "infra_read",
                    &format!("{{not json {}", canaries.token("model argument, not JSON")),
                ),
            ],
            ..Reply::default()
        }),
        Say::Reply(Reply {
            text: "nginx hangs, so I want to restart it.".to_owned(),
            calls: vec![Call::new(
                "infra_control",
                &json!({"action": "service_restart", "target_resource_id": "host:web", "unit": "nginx"}),
            )],
            ..Reply::default()
        }),
        Say::Reply(Reply {
            text: format!(
                "It is down. The key is {}, and {}.",
                canaries.token("answer"),
                canaries.assigned("answer, assigned")
            ),
            finish: format!("because {}", canaries.token("provider finish reason")),
            ..Reply::default()
        }),
    ]);
    // An alert that cannot be read is kept, too.
    let rejected =
        json!({ "alerts": [{ "labels": { "note": canaries.token("rejected alert"), "alertname": 7 } }] });
    place.post("/alerts/alertmanager", &rejected).await;
    let session = place.submit("/alerts", &body).await;
    place.work(&session, watch).await;
    let hold = place.hold().await;
    let edited = json!({
        "arguments": {
            "action": "service_restart",
            "target_resource_id": "host:web",
            "unit": format!("nginx@{}", canaries.token("edit of a person")),
        },
        "plan_hash": hold["plan_hash"],
    });
    let path = format!("/approvals/{}/edit", hold["id"].as_str().unwrap());
    let answer = place.post(&path, &edited).await;
    // With masking, what a person writes into a plan is refused; without, the new plan waits.
    let refused = answer["code"] == "INVALID_INPUT";
    assert!(
        refused || answer["edited_from"]["hold"] == hold["id"],
        "{answer:#}"
    );
    let hold = place.hold().await;
    let reason = json!({ "reason": format!("no: {}", canaries.assigned("reason of a denial")) });
    let path = format!("/approvals/{}/deny", hold["id"].as_str().unwrap());
    place.post(&path, &reason).await;
    place.work(&session, watch).await;
    assert_eq!(place.provider.left(), 0, "the model was not asked for everything");
}

/// What Alertmanager sends.
async fn alertmanager(place: &Place, canaries: &mut Canaries, watch: &mut place::Watch) {
    place.provider.next([Say::text("It is down.")]);
    let body = json!({
        "version": "4", "status": "firing", "receiver": canaries.token("alertmanager receiver"),
        "alerts": [{
            "status": "firing",
            "labels": {
                "alertname": "service_down", "instance": canaries.token("alertmanager label"),
                "password": canaries.bare("alertmanager label by its name"),
            },
            "annotations": { "summary": canaries.assigned("alertmanager annotation") },
            "startsAt": "2026-01-31T12:00:00Z",
            "generatorURL": format!("http://ops:{}@prom.example/graph", canaries.bare("alertmanager address")),
            "fingerprint": canaries.token("alertmanager fingerprint"),
        }],
    });
    let accepted = place.post("/alerts/alertmanager", &body).await;
    let session = accepted["accepted"][0]["session"].as_str().unwrap().to_owned();
    place.work(&session, watch).await;
}

/// A question, its answer, a follow-up question.
async fn chat(place: &Place, canaries: &mut Canaries, watch: &mut place::Watch) {
    let answer = |canaries: &mut Canaries, name| Say::text(&format!("You wrote {}.", canaries.token(name)));
    place.provider.next([answer(canaries, "first answer of a chat")]);
    let question = json!({ "message": format!("is {} in use?", canaries.token("question")) });
    let session = place.submit("/chats", &question).await;
    place.work(&session, watch).await;
    place.provider.next([answer(canaries, "second answer of a chat")]);
    let again = json!({ "message": canaries.assigned("follow-up question") });
    place.post(&format!("/sessions/{session}/messages"), &again).await;
    place.work(&session, watch).await;
    // What is said about a JSON document, and a document over several lines.
    place.provider.next([Say::text("I see.")]);
    let document = format!(
        "look at this:\nusers:\n  - name: ci\n    password: {}\n",
        canaries.bare("question with YAML")
    );
    let session = place.submit("/chats", &json!({ "message": document })).await;
    place.work(&session, watch).await;
}

/// A provider that refuses, breaks off and repeats its own key in every form.
async fn failures(place: &Place, canaries: &mut Canaries, watch: &mut place::Watch) {
    let key = place.key.clone();
    let upper = key.to_uppercase();
    let encoded = canaries::base64(&key);
    let encoded_login = canaries::base64(&format!("me:{key}"));
    let mut says = vec![
        Say::refuse(
            401,
            &json!({"error": {"message": format!("bad {}", canaries.token("error body"))}}),
        ),
        Say::refuse(
            400,
            &json!({"error": {"message": canaries.assigned("error body, assigned"), "code": "x"}}),
        ),
        Say::Refuse {
            status: 500,
            headers: vec![
                (
                    "x-request-id",
                    format!("req {}", canaries.token("provider request id")),
                ),
                ("content-type", "text/plain".to_owned()),
            ],
            body: format!("plain {}", canaries.token("plain error body")),
        },
        Say::Refuse {
            status: 307,
            headers: vec![(
                "location",
                format!("http://evil.example/{}?k={key}", canaries.token("redirect")),
            )],
            body: String::new(),
        },
        Say::raw(
            "text/html",
            &format!("<html>{}</html>", canaries.token("web page")),
        ),
        Say::raw(
            "text/event-stream",
            &format!("data: {{not json {}\n\n", canaries.token("malformed event")),
        ),
        Say::raw(
            "text/event-stream",
            &format!(
                "data: {{\"error\":{{\"message\":\"no {}\"}}}}\n\n",
                canaries.token("error in a stream")
            ),
        ),
        Say::raw(
            "text/event-stream",
            &format!(
                "data: {{\"choices\":[{{\"delta\":{{\"content\":\"half {}\"}}}}]}}\n\n",
                canaries.token("reply that broke off")
            ),
        ),
        Say::raw(
            "text/event-stream",
            &format!(": {}\n\n", canaries.token("comment in a stream")),
        ),
    ];
    for echo in [
        format!("Incorrect API key provided: {key}"),
        format!("Incorrect API key provided: {}", &key[..key.len() / 2]),
        format!("Incorrect API key provided: {}", &key[key.len() / 2..]),
        format!("Incorrect API key provided: {upper}"),
        format!("Incorrect API key provided: {}", &upper[..20]),
        format!("Incorrect API key provided: {}", key.to_lowercase()),
        format!("header was Basic {encoded_login}"),
        format!("header was {encoded}"),
        format!("reversed {}", key.chars().rev().collect::<String>()),
        format!("Incorrect API key provided: {}", canaries::starred(&key)),
    ] {
        says.push(Say::refuse(401, &json!({ "error": { "message": echo } })));
        // The model itself may have been told, as by a gateway.
        says.push(Say::Reply(Reply {
            text: format!("It says: {echo}."),
            thinking: format!("It says {echo} and more."),
            ..Reply::default()
        }));
    }
    for say in says {
        place.provider.next([say]);
        let session = place.submit("/chats", &json!({ "message": "go on" })).await;
        place.work(&session, watch).await;
        place.provider.clear();
    }
    // A model whose address and headers carry secrets fails, and another takes over.
    place.provider.next([
        Say::refuse(
            403,
            &json!({"error": {"message": format!("{} {}", place.password, place.header)}}),
        ),
        Say::text("The other one answers."),
    ]);
    let asked = json!({ "message": "go on", "model": "gateway" });
    let session = place.submit("/chats", &asked).await;
    place.work(&session, watch).await;
    place.provider.clear();
}

/// What the other wires carry.
async fn wires(place: &Place, canaries: &mut Canaries, watch: &mut place::Watch) {
    for (wire, model) in [
        (Wire::Anthropic, "anthropic"),
        (Wire::Gemini, "gemini"),
        (Wire::Ollama, "ollama"),
    ] {
        let name = |what: &str| format!("{model} {what}");
        let reply = provider::Foreign {
            thinking: format!("think {}", canaries.token(&name("thinking"))),
            text: format!("say {}", canaries.token(&name("text"))),
            argument: format!("cat /srv/{}", canaries.token(&name("argument"))),
            grounding: canaries.token(&name("grounding")),
            code: canaries.assigned(&name("code execution")),
        };
        place
            .provider
            .next([provider::foreign(wire, &reply), provider::foreign_text(wire)]);
        let body = json!({ "message": "look", "model": model });
        let session = place.submit("/chats", &body).await;
        place.work(&session, watch).await;
        place.provider.clear();
    }
}

/// A write that still waits for a person when the sinks are read.
async fn held(place: &Place, canaries: &mut Canaries, watch: &mut place::Watch) {
    place.provider.next([
        Say::Reply(Reply {
            calls: vec![Call::new(
                "infra_query",
                &json!({"action": "search", "query": "web"}),
            )],
            ..Reply::default()
        }),
        Say::Reply(Reply {
            text: format!("It hangs since {}.", canaries.token("reason for a write")),
            calls: vec![Call::new(
                "infra_control",
                &json!({"action": "service_restart", "target_resource_id": "host:web", "unit": "nginx"}),
            )],
            ..Reply::default()
        }),
    ]);
    let question =
        json!({ "message": format!("restart it, as {} says", canaries.token("question before a write")) });
    let session = place.submit("/chats", &question).await;
    place.work(&session, watch).await;
    place.hold().await;
}

/// What people and programs say to the server besides.
async fn people(place: &Place, canaries: &mut Canaries) {
    let stop = json!({ "reason": format!("leak of {}", canaries.token("reason of the kill switch")) });
    place.post("/writes/stop", &stop).await;
    for path in [
        format!("/sessions/{}", canaries.token("path")),
        format!("/sessions?search={}", canaries.token("search")),
        format!("/sessions?{}=1", canaries.token("name in a query")),
        format!("/nothing/{}", canaries.token("path that is nowhere")),
        format!("/resources?search={}", canaries.token("search of a resource")),
        format!("/audit?actor={}", canaries.token("filter of the audit log")),
    ] {
        place.look(&path).await;
    }
    for (path, body) in [
        (
            "/chats",
            json!({ "message": "x", "model": canaries.token("name of a model") }),
        ),
        ("/chats", json!({ (canaries.token("unknown field")): 1 })),
        (
            "/chats",
            json!({ "message": { "password": canaries.bare("wrong type") } }),
        ),
        (
            "/alerts",
            json!({ "alert_type": canaries.token("alert type"), "data": "x" }),
        ),
        (
            "/auth/login",
            json!({ "name": "vera", "password": canaries.bare("password of a person") }),
        ),
        ("/auth/link", json!({ "link": canaries.token("sign-in link") })),
        (
            "/users",
            json!({ "id": canaries.token("name of a user"), "role": "viewer" }),
        ),
        (
            "/me/tokens",
            json!({ "name": canaries.token("name of a token"), "scopes": ["read"] }),
        ),
    ] {
        place.post(path, &body).await;
    }
    place.look_as(&canaries.token("bearer token"), "/me").await;
    place
        .broken_body(&format!("{{\"message\": \"{}\"", canaries.token("broken body")))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_from_any_source_is_in_no_sink() {
    let mut canaries = Canaries::default();
    let place = run(Wish::with(MaskOptions::default()), Story::All, &mut canaries).await;
    let sinks = place.sinks().await;
    // What is not secret is there: whoever sees nothing finds nothing.
    for (sink, words) in [
        ("WebSocket", "It is down."),
        ("SSE", "It is down."),
        ("WebSocket, streamed", "nginx hangs"),
        ("SSE, streamed", "nginx hangs"),
        ("trace", "nginx hangs"),
        ("bundle", "nginx hangs"),
        ("request to a model", "nginx hangs"),
        ("log as text", "request"),
        ("log as JSON", "request"),
        ("file interlock.db-wal", "nginx hangs"),
        ("GET /api/v1/sessions/{id}/markdown", "nginx hangs"),
        ("GET /api/v1/sessions/{id}/timeline", "nginx hangs"),
        ("GET /api/v1/connections", "there"),
        ("GET /api/v1/audit", "ada"),
        ("GET /metrics", "interlock_"),
        ("error of the API", "problem+json"),
    ] {
        let has = |bytes: &[u8]| {
            bytes
                .windows(words.len())
                .any(|window| window == words.as_bytes())
        };
        let there = sinks.iter().any(|(name, bytes)| name == sink && has(bytes));
        assert!(there, "`{words}` is not in: {sink}");
    }
    let found = canaries.found(&sinks);
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
}

/// The sinks that contain no text from outside, so that nothing is found in them even without masking, and the reason.
const BLIND: &[(&str, &str)] = &[
    ("GET /api/v1/audit/verify", "counts, hashes and times"),
    (
        "GET /api/v1/auth/oidc/callback",
        "no provider is configured to sign in with",
    ),
    (
        "GET /api/v1/auth/oidc/start",
        "no provider is configured to sign in with",
    ),
    ("GET /api/v1/auth/options", "the ways to sign in"),
    (
        "GET /api/v1/config",
        "the configuration, whose secrets are only named",
    ),
    ("GET /api/v1/health", "one fixed word"),
    ("GET /api/v1/me", "the person who asks"),
    ("GET /api/v1/me/views", "what the person saved"),
    ("GET /api/v1/models", "the configured models"),
    ("GET /api/v1/openapi.json", "the description of the API"),
    ("GET /api/v1/resources/{id}/metrics", "numbers and times"),
    ("GET /api/v1/tools", "the catalogue"),
    ("GET /api/v1/usage", "configured models and numbers"),
    ("GET /health", "one fixed word"),
    ("GET /metrics", "labels of closed lists, and numbers"),
    ("GET /ready", "closed words about the parts of the server"),
    ("file interlock.db-shm", "the index of the journal"),
];

/// With masking taken away at one boundary, what comes in there is found: the search can fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_boundary_without_masking_is_noticed() {
    let all: BTreeSet<Kind> = Kind::ALL
        .iter()
        .copied()
        .filter(|kind| *kind != Kind::Configured)
        .collect();
    let nothing = || Source {
        off: all.clone(),
        ..Source::default()
    };
    let alerts = MaskOptions {
        alerts: Some(nothing()),
        ..MaskOptions::default()
    };
    let tools = MaskOptions {
        tools: BTreeMap::from([("infra_*".to_owned(), nothing())]),
        ..MaskOptions::default()
    };
    let everywhere = MaskOptions {
        off: all.clone(),
        ..MaskOptions::default()
    };
    let cases: [(Wish, Story, &[&str]); 4] = [
        (
            Wish::with(alerts),
            Story::Alert,
            &[
                "alert label",
                "alert annotation",
                "alert nested value",
                "alert key",
            ],
        ),
        (
            Wish::with(tools),
            Story::Alert,
            &[
                "stdout",
                "stderr",
                "structured result",
                "key of a result",
                "error of a tool",
                "details of an error",
            ],
        ),
        (
            Wish::with(everywhere),
            Story::All,
            &[
                "model thinking",
                "model text",
                "model argument",
                "model tool name",
                "model call id",
                "answer",
                "question",
                "follow-up question",
                "error body",
                "provider request id",
                "provider model name",
                "reason of a denial",
                "edit of a person",
                "fact of a resource",
                "error of a connection",
                "path",
                "gemini code execution",
            ],
        ),
        (
            Wish::with(MaskOptions::default()).without_values(),
            Story::Failures,
            &["key of the provider"],
        ),
    ];
    for (wish, story, sources) in cases {
        let mut canaries = Canaries::default();
        let place = run(wish, story, &mut canaries).await;
        let sinks = place.sinks().await;
        let found = canaries.found(&sinks);
        if story == Story::All {
            let blind: BTreeSet<&str> = BLIND.iter().map(|(sink, _)| *sink).collect();
            assert_eq!(canaries.blind(&sinks), blind, "in these sinks nothing is seen");
        }
        for source in sources {
            let is = |line: &&String| line.starts_with(&format!("{source}:"));
            assert!(
                found.iter().any(|line| is(&line)),
                "{source} is not noticed:\n{}",
                found.join("\n")
            );
        }
    }
}
