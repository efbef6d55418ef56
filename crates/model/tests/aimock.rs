//! Every wire against a server that we did not write: `@copilotkit/aimock`, with its faults switched on.
//!
//! It is installed once, into the user's cache. Where that cannot be done the test says SKIPPED, except under `CI`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up has failed"
)]

mod support;

use interlock_dialect::{CallIds, Dialect, Limits, NativeArguments, Offer};
use interlock_model::{
    AssistantCall, Chunk, Client, Completion, Failure, Finish, Flow, Kind, Message, Options, Provider,
    Request, Retries, Secrets, Span, Thinking,
};
use interlock_protocol::ToolDefinition;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use tokio_util::sync::CancellationToken;

const VERSION: &str = "1.43.0";

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test may start a server for itself"
)]
fn command(program: &str, folder: &Path) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.current_dir(folder);
    command
}

/// The folder in which it is installed.
fn install() -> Result<PathBuf, String> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
        .ok_or("there is no cache folder")?
        .join("interlock");
    let folder = cache.join(format!("aimock-{VERSION}"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/aimock");
    if !folder.join("node_modules/@copilotkit/aimock").is_dir() {
        std::fs::create_dir_all(&cache).map_err(|error| error.to_string())?;
        let fresh = tempfile::tempdir_in(&cache).map_err(|error| error.to_string())?;
        for file in ["package.json", "package-lock.json"] {
            std::fs::copy(source.join(file), fresh.path().join(file)).map_err(|error| error.to_string())?;
        }
        let installed = command("npm", fresh.path())
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .output()
            .map_err(|error| format!("npm: {error}"))?;
        if !installed.status.success() {
            return Err(format!("npm ci: {}", String::from_utf8_lossy(&installed.stderr)));
        }
        // Whoever was first has done the same.
        let _ = std::fs::rename(fresh.path(), &folder);
    }
    std::fs::copy(source.join("start.mjs"), folder.join("start.mjs")).map_err(|error| error.to_string())?;
    Ok(folder)
}

struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    fn start() -> Result<Self, String> {
        let folder = install()?;
        let mut child = command("node", &folder)
            .arg("start.mjs")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("node: {error}"))?;
        let mut url = String::new();
        let output = child.stdout.take().ok_or("no output")?;
        BufReader::new(output)
            .read_line(&mut url)
            .map_err(|error| error.to_string())?;
        let url = url.trim().to_owned();
        if url.is_empty() {
            return Err("it did not start".to_owned());
        }
        Ok(Self { child, url })
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PROVIDERS: [Provider; 4] = [
    Provider::Openai,
    Provider::Anthropic,
    Provider::Gemini,
    Provider::Ollama,
];

fn options(mock: &Mock, provider: Provider) -> Options {
    let mut options = Options::new(provider, "some-model");
    options.base_url = Some(mock.url.as_str().into());
    options.api_key_env = Some("KEY".to_owned());
    options.retries = Retries {
        attempts: 3,
        base: Span::from_millis(1),
        cap: Span::from_millis(20),
    };
    if provider == Provider::Anthropic {
        options.thinking = Some(Thinking {
            budget_tokens: Some(1024),
            effort: None,
        });
    }
    options
}

fn offer() -> Offer {
    let definition: ToolDefinition = serde_json::from_value(json!({
        "name": "grafana.query", "description": "Asks.", "category": "read", "risk": "low",
        "parameters": { "type": "object", "properties": { "q": { "type": "string" } } },
        "kind": { "rule": "fixed", "kind": "read" }, "modes": [], "timeout_seconds": 1, "target": { "rule": "none" },
    }))
    .expect("a definition");
    Offer::new([&definition]).expect("an offer")
}

fn request(text: &str) -> Request {
    Request {
        system: "You are careful.".to_owned(),
        messages: vec![Message::user(text)],
        tools: offer().wire_tools().collect(),
        ..Request::default()
    }
}

async fn ask(options: &Options, request: &Request) -> (Result<Completion, Failure>, usize) {
    let client = Client::new("main", options, &Secrets::given([("KEY", "canary-key")])).expect("a client");
    let mut pieces = 0;
    let result = client
        .generate(request, &CancellationToken::new(), &mut |chunk| {
            if matches!(chunk, Chunk::Text(_)) {
                pieces += 1;
            }
            Flow::Continue
        })
        .await;
    (result, pieces)
}

async fn speaks(mock: &Mock, provider: Provider) {
    let (completion, pieces) = ask(&options(mock, provider), &request("plain")).await;
    let completion = completion.unwrap_or_else(|failure| panic!("{provider}: {failure}"));
    assert_eq!(
        completion.reply.text, "Hello from the other side, größer and ✓.",
        "{provider}"
    );
    assert_eq!(completion.finish, Finish::Stop, "{provider}");
    assert!(pieces > 3, "{provider}: {pieces} pieces");
    // This server gives Ollama's thinking a name that Ollama does not have.
    if provider != Provider::Ollama {
        assert_eq!(
            completion.reply.thinking, "Let me think about this.",
            "{provider}"
        );
    }
    assert!(completion.usage.reported, "{provider}");
}

async fn calls_tools(mock: &Mock, provider: Provider) {
    let options = options(mock, provider);
    let mut request = request("tool");
    let (completion, _) = ask(&options, &request).await;
    let completion = completion.unwrap_or_else(|failure| panic!("{provider}: {failure}"));
    assert_eq!(completion.finish, Finish::ToolCalls, "{provider}");
    let parsed = Dialect::Native.parse(
        &completion.reply,
        &offer(),
        CallIds::from_bytes([1; 16]),
        Limits::DEFAULT,
    );
    let calls: Vec<_> = parsed
        .calls()
        .map(|call| {
            (
                call.tool.as_str(),
                serde_json::to_value(&call.arguments).expect("JSON"),
            )
        })
        .collect();
    let expected = json!({ "q": "up", "deep": { "list": [1, "zwölf"] } });
    assert_eq!(
        calls,
        [("grafana.query", expected), ("grafana.query", json!({}))],
        "{provider}"
    );

    let made: Vec<AssistantCall> = parsed
        .calls()
        .zip(&completion.reply.calls)
        .zip(&completion.call_signatures)
        .map(|((call, native), signature)| AssistantCall {
            id: call.id.as_str().to_owned(),
            name: native.name.clone(),
            arguments: match &native.arguments {
                NativeArguments::Text(text) => serde_json::from_str(text).unwrap_or_default(),
                NativeArguments::Value(value) => value.as_object().cloned().unwrap_or_default(),
            },
            signature: signature.clone(),
        })
        .collect();
    let results: Vec<_> = made
        .iter()
        .map(|call| Message::Tool {
            call: call.id.clone(),
            name: call.name.clone(),
            text: "{\"up\":1}".to_owned(),
            failed: false,
        })
        .collect();
    request.messages.push(Message::Assistant {
        text: completion.reply.text,
        thinking: completion.thoughts,
        calls: made,
    });
    request.messages.extend(results);
    let (completion, _) = ask(&options, &request).await;
    let completion = completion.unwrap_or_else(|failure| panic!("{provider}: {failure}"));
    assert_eq!(completion.reply.text, "It is up.", "{provider}");
}

async fn fails_well(mock: &Mock, provider: Provider) {
    // Every reply goes wrong in this way.
    for (fault, kind, attempts) in [
        ("drop", Kind::Overloaded, 3),
        ("ratelimit", Kind::RateLimited, 3),
        ("disconnect", Kind::Transport, 3),
        ("malformed", Kind::Malformed, 1),
    ] {
        let mut options = options(mock, provider);
        options
            .headers
            .insert(format!("x-aimock-chaos-{fault}"), "1".into());
        let failure = ask(&options, &request("plain")).await.0.expect_err(fault);
        assert_eq!(
            (failure.kind, failure.record.attempts.len()),
            (kind, attempts),
            "{provider} {fault}: {failure}"
        );
        assert!(
            !failure.visible && !format!("{failure:?}").contains("canary-key"),
            "{provider} {fault}"
        );
    }
    // Two of three replies go wrong: asking again gets there.
    let mut flaky = options(mock, provider);
    for fault in ["drop", "ratelimit", "disconnect"] {
        flaky
            .headers
            .insert(format!("x-aimock-chaos-{fault}"), "0.3".into());
    }
    flaky.retries.attempts = 60;
    let completion = ask(&flaky, &request("plain"))
        .await
        .0
        .expect("a reply in the end");
    assert_eq!(
        completion.reply.text, "Hello from the other side, größer and ✓.",
        "{provider}"
    );
    // Half a reply is never taken for a whole one.
    for cut in ["cut", "broken"] {
        let failure = ask(&options(mock, provider), &request(cut))
            .await
            .0
            .expect_err(cut);
        assert_eq!(
            (failure.kind, failure.visible),
            (Kind::Transport, true),
            "{provider} {cut}: {failure}"
        );
        assert_eq!(failure.record.attempts.len(), 1, "{provider} {cut}");
    }
    let failure = ask(&options(mock, provider), &request("refused"))
        .await
        .0
        .expect_err("refused");
    assert_eq!(failure.kind, Kind::RateLimited, "{provider}: {failure}");
}

#[tokio::test]
async fn wires_that_somebody_else_wrote() {
    let mock = match Mock::start() {
        Ok(mock) => mock,
        Err(reason) => {
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!ci, "aimock cannot be started: {reason}");
            eprintln!("SKIPPED: aimock cannot be started: {reason}");
            return;
        }
    };
    for provider in PROVIDERS {
        speaks(&mock, provider).await;
        calls_tools(&mock, provider).await;
        fails_well(&mock, provider).await;
    }
}
