//! Docker engines and their API, over HTTP and with `docker`.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must stop")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_lab::docker::{
    ContainerSpec, ContainerState, ContainerView, Engine, HostSpec, ImageSpec, PortSpec, Registry,
    RestartPolicy,
};
use interlock_lab::machine::{Exec, File, Isolation, Machines, Runs, Spec, Wish};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(40);

struct Host {
    engine: Engine,
    machines: Arc<Machines>,
    _folder: tempfile::TempDir,
}

fn image(tag: &str, fails: &str) -> ImageSpec {
    let config = format!("name = \"web\"\nversion = \"{tag}\"\nlisten = 8080\n{fails}");
    ImageSpec {
        repository: "ghcr.io/example/web".to_owned(),
        tag: tag.to_owned(),
        id: String::new(),
        size: 48_000_000,
        created: "2026-01-02T03:04:05Z".parse().unwrap(),
        files: vec![File {
            path: "/etc/app/service.toml".into(),
            content: config.into_bytes(),
            mode: 0o644,
        }],
        argv: vec!["lab-service".to_owned(), "/etc/app/service.toml".to_owned()],
        env: BTreeMap::from([("APP_VERSION".to_owned(), tag.to_owned())]),
    }
}

async fn host(restart: RestartPolicy) -> Host {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let program = env!("CARGO_BIN_EXE_interlock-lab").into();
    let machines = Machines::new(program, folder.path().join("machines"), Wish::Best)
        .await
        .unwrap();
    let machines = Arc::new(machines);
    let web = ContainerSpec {
        name: "web".to_owned(),
        image: "ghcr.io/example/web:1.0".to_owned(),
        machine: Spec {
            address: Some([10, 20, 0, 31].into()),
            disk_bytes: 16 << 20,
            ..Spec::default()
        },
        env: BTreeMap::from([("COLOR".to_owned(), "blue".to_owned())]),
        ports: vec![PortSpec {
            container: 8080,
            host: Some(18080),
        }],
        restart,
        labels: BTreeMap::from([("tier".to_owned(), "front".to_owned())]),
        volumes: vec![("web-data".to_owned(), "/data".to_owned())],
        health: None,
    };
    let spec = HostSpec {
        name: "server1".to_owned(),
        containers: vec![web],
        images: vec![image("1.0", "")],
        registry: Registry {
            images: vec![
                image("1.0", ""),
                image("1.1", ""),
                image("2.0", "fails = \"no database\"\n"),
            ],
        },
    };
    let engine = Engine::start(Arc::clone(&machines), spec).await.unwrap();
    Host {
        engine,
        machines,
        _folder: folder,
    }
}

impl Host {
    async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Vec<u8>) {
        let url = format!("http://{}{path}", self.engine.address());
        let mut request = reqwest::Client::new().request(method.parse().unwrap(), url);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let response = request.send().await.unwrap();
        (
            response.status().as_u16(),
            response.bytes().await.unwrap().to_vec(),
        )
    }

    /// Whether programs of the system can be run in machines; said aloud where not.
    fn namespaces(&self) -> bool {
        match self.machines.isolation() {
            Isolation::Namespaces => true,
            Isolation::Folders { why } => {
                eprintln!("SKIPPED: this system has no namespaces for machines ({why})");
                false
            }
        }
    }

    async fn json(&self, path: &str) -> Value {
        let (status, body) = self.call("GET", path, None).await;
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).unwrap()
    }

    fn web(&self) -> ContainerView {
        self.engine
            .containers()
            .into_iter()
            .find(|one| one.name == "web")
            .unwrap()
    }

    async fn until(&self, what: &str, holds: impl Fn(&ContainerView) -> bool) -> ContainerView {
        let began = Instant::now();
        loop {
            let view = self.web();
            if holds(&view) {
                return view;
            }
            assert!(began.elapsed() < PATIENCE, "{what} did not come to be: {view:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What the service in the container answers.
    async fn page(&self) -> String {
        let began = Instant::now();
        loop {
            if let Some(machine) = self.engine.machine("web")
                && let Ok(bytes) = machine.talk(8080, b"GET / HTTP/1.0\r\n\r\n", 1 << 16).await
            {
                return String::from_utf8_lossy(&bytes).into_owned();
            }
            assert!(began.elapsed() < PATIENCE, "nobody listens");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// What frames say, by stream.
fn frames(mut bytes: &[u8]) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    while let [stream, 0, 0, 0, a, b, c, d, rest @ ..] = bytes {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        found.push((*stream, String::from_utf8_lossy(&rest[..length]).into_owned()));
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty(), "{bytes:?}");
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_image_really_crashes_and_a_good_one_heals() {
    let host = host(RestartPolicy::Always).await;
    assert!(host.page().await.contains("web"));
    host.engine
        .deploy("web", "ghcr.io/example/web:2.0")
        .await
        .unwrap();
    let looping = host.until("three restarts", |view| view.restart_count >= 3).await;
    assert_eq!(looping.image, "ghcr.io/example/web:2.0");
    host.until("the wait", |view| {
        view.state == ContainerState::Restarting && view.exit_code == 1
    })
    .await;
    let path = "/v1.43/containers/json?filters=%7B%22status%22%3A%5B%22restarting%22%5D%7D";
    let began = Instant::now();
    let status = loop {
        // Between two waits it runs for a moment.
        if let Some(status) = host.json(path).await[0]["Status"].as_str() {
            break status.to_owned();
        }
        assert!(began.elapsed() < PATIENCE);
    };
    assert!(status.starts_with("Restarting (1) "), "{status}");
    let (_, log) = host
        .call("GET", "/containers/web/logs?stdout=1&stderr=1&timestamps=1", None)
        .await;
    let lines = frames(&log);
    let told = lines
        .iter()
        .filter(|(_, line)| line.contains("no database"))
        .count();
    assert!(told >= 3, "each run tells why it failed: {lines:?}");

    host.engine
        .deploy("web", "ghcr.io/example/web:1.0")
        .await
        .unwrap();
    assert!(host.page().await.contains("web"));
    let well = host
        .until("running", |view| view.state == ContainerState::Running)
        .await;
    assert_eq!(
        (well.restart_count, well.image.as_str()),
        (0, "ghcr.io/example/web:1.0")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn restart_policies_are_kept() {
    for (policy, restarts) in [("no", 0), ("on-failure:2", 2)] {
        let host = host(policy.parse().unwrap()).await;
        host.engine
            .deploy("web", "ghcr.io/example/web:2.0")
            .await
            .unwrap();
        let end = host
            .until("the end", |view| {
                view.state == ContainerState::Exited && view.restart_count == restarts
            })
            .await;
        assert_eq!(end.exit_code, 1, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn containers_go_down_with_their_host_and_come_back() {
    let host = host(RestartPolicy::UnlessStopped).await;
    host.page().await;
    host.engine.host_down().await;
    assert_eq!(host.web().state, ContainerState::Exited);
    assert!(host.engine.machine("web").is_none());
    let url = format!("http://{}/_ping", host.engine.address());
    assert!(reqwest::get(&url).await.is_err());
    host.engine.host_up().await;
    assert_eq!(reqwest::get(&url).await.unwrap().status(), 200);
    assert!(host.page().await.contains("web"));
    assert_eq!(host.call("POST", "/containers/web/stop?t=2", None).await.0, 204);
    host.engine.host_down().await;
    host.engine.host_up().await;
    assert_eq!(host.web().state, ContainerState::Exited, "somebody stopped it");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_answer_as_the_real_engine_does() {
    let host = host(RestartPolicy::No).await;
    host.page().await;
    let id = host.web().id;
    let bad = json!({ "Image": "ghcr.io/example/web:1.0", "HostConfig": { "RestartPolicy": { "Name": "sometimes" } } });
    for (method, path, body, status) in [
        ("GET", "/_ping", None, 200),
        ("HEAD", "/v1.43/_ping", None, 200),
        ("GET", "/v9.99/version", None, 400),
        ("GET", "/v1.1/version", None, 400),
        ("GET", "/nope", None, 404),
        ("POST", "/containers/web/start", None, 304),
        ("POST", "/containers/nope/start", None, 404),
        ("DELETE", "/containers/web", None, 409),
        (
            "POST",
            "/containers/create?name=web",
            Some(json!({ "Image": "ghcr.io/example/web:1.0" })),
            409,
        ),
        (
            "POST",
            "/containers/create?name=x%2Fy",
            Some(json!({ "Image": "ghcr.io/example/web:1.0" })),
            400,
        ),
        (
            "POST",
            "/containers/create",
            Some(json!({ "Image": "nope" })),
            404,
        ),
        ("POST", "/containers/create", Some(json!([1])), 400),
        ("POST", "/containers/create", Some(bad), 400),
        ("GET", "/containers/web/logs", None, 400),
        ("GET", "/containers/web/logs?stdout=1&since=yesterday", None, 400),
        ("GET", "/containers/json?filters=%5B", None, 400),
        (
            "GET",
            "/containers/json?filters=%7B%22moon%22%3A%5B%22full%22%5D%7D",
            None,
            400,
        ),
        ("POST", "/containers/web/stop?t=x", None, 400),
        ("POST", "/containers/web/kill?signal=%24(id)", None, 400),
        ("POST", "/containers/web/exec", Some(json!({ "Cmd": [] })), 400),
        ("POST", "/containers/web/exec", Some(json!({ "Cmd": "ls" })), 400),
        ("POST", "/exec/nope/start", Some(json!({})), 404),
        (
            "POST",
            "/images/create?fromImage=ghcr.io%2Fexample%2Fweb&tag=7.7",
            None,
            404,
        ),
        ("GET", "/images/ghcr.io/example/web:1.0/json", None, 200),
        ("DELETE", "/images/ghcr.io/example/web:1.0", None, 409),
        ("GET", "/networks/bridge", None, 200),
        ("GET", "/networks/nope", None, 404),
        ("GET", "/services", None, 503),
        ("GET", "/swarm", None, 503),
        ("GET", "/system/df", None, 200),
        ("GET", "/volumes", None, 200),
        ("GET", "/events?since=0&until=1", None, 200),
        ("GET", "/%ff%00/containers/%2e%2e/json", None, 404),
    ] {
        let (found, body) = host.call(method, path, body).await;
        let text = String::from_utf8_lossy(&body);
        assert_eq!(found, status, "{method} {path}: {text}");
        if status >= 400 {
            let error: Value = serde_json::from_slice(&body).unwrap();
            assert!(error["message"].is_string(), "{method} {path}: {text}");
        }
    }
    for name in [id.as_str(), &id[..12], "web", "%2Fweb"] {
        assert_eq!(
            host.json(&format!("/containers/{name}/json")).await["Id"],
            json!(id),
            "{name}"
        );
    }
    let found = host.json("/containers/web/json").await;
    assert_eq!(found["State"]["Status"], "running");
    assert!(
        found["Config"]["Env"].to_string().contains("COLOR=blue"),
        "{found:#}"
    );
    let stats = host.json("/containers/web/stats?stream=false").await;
    assert!(stats["memory_stats"]["usage"].as_u64().unwrap() > 0, "{stats:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_run_in_containers_and_events_tell_of_it() {
    let host = host(RestartPolicy::Always).await;
    if !host.namespaces() {
        return;
    }
    host.page().await;
    let script = "echo $COLOR; echo bad >&2; exit 3";
    let body = json!({ "Cmd": ["sh", "-c", script], "AttachStdout": true, "AttachStderr": true });
    let (status, made) = host.call("POST", "/v1.43/containers/web/exec", Some(body)).await;
    let made: Value = serde_json::from_slice(&made).unwrap();
    assert_eq!(status, 201, "{made}");
    let id = made["Id"].as_str().unwrap();
    let (status, output) = host
        .call(
            "POST",
            &format!("/exec/{id}/start"),
            Some(json!({ "Detach": false })),
        )
        .await;
    let mut output = frames(&output);
    output.sort();
    assert_eq!(
        (status, output),
        (200, vec![(1, "blue\n".to_owned()), (2, "bad\n".to_owned())])
    );
    let state = host.json(&format!("/exec/{id}/json")).await;
    assert_eq!(
        (&state["Running"], &state["ExitCode"]),
        (&json!(false), &json!(3))
    );

    assert_eq!(
        host.call("POST", "/containers/web/restart?t=2", None).await.0,
        204
    );
    assert_eq!(host.call("POST", "/containers/web/kill", None).await.0, 204);
    let end = host
        .until("the end", |view| view.state == ContainerState::Exited)
        .await;
    assert_eq!(end.exit_code, 137);
    let (status, _) = host
        .call("POST", "/containers/web/exec", Some(json!({ "Cmd": ["true"] })))
        .await;
    assert_eq!(status, 409, "nothing runs in what does not run");
    let now = jiff::Timestamp::now().as_second() + 1;
    let path = format!("/events?since=1&until={now}&filters=%7B%22event%22%3A%5B%22die%22%5D%7D");
    let events = String::from_utf8_lossy(&host.call("GET", &path, None).await.1).into_owned();
    assert!(events.contains("\"exitCode\":\"137\""), "{events}");
    let waited = host.call("POST", "/containers/web/wait", None).await;
    assert_eq!(waited.0, 200);
    assert!(String::from_utf8_lossy(&waited.1).contains("\"StatusCode\":137"));
}

/// What somebody else's `docker` prints; nothing, said aloud, where it is not installed.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "somebody else's client is the test"
)]
async fn docker(host: &Host, arguments: &[&str]) -> Option<(Option<i32>, String)> {
    let address = format!("tcp://{}", host.engine.address());
    let words: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
    let home = tempfile::tempdir().unwrap();
    let run = tokio::task::spawn_blocking(move || {
        std::process::Command::new("docker")
            .args(["-H", &address])
            .args(words)
            .env("HOME", home.path())
            .env_remove("DOCKER_HOST")
            .env_remove("DOCKER_CONTEXT")
            .output()
    });
    match run.await.unwrap() {
        Ok(output) => {
            let text = [output.stdout, output.stderr].concat();
            Some((output.status.code(), String::from_utf8_lossy(&text).into_owned()))
        }
        Err(error) => {
            eprintln!("SKIPPED: docker could not be run ({error}); install it to check the API with it");
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_docker_client_works() {
    let host = host(RestartPolicy::Always).await;
    if !host.namespaces() {
        return;
    }
    host.page().await;
    let soon = (jiff::Timestamp::now().as_second() + 4).to_string();
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["version"], 0, &["27.3.1"]),
        (&["info"], 0, &["Name: server1", "Containers: 1"]),
        (
            &["ps", "-a"],
            0,
            &[
                "CONTAINER ID",
                "ghcr.io/example/web:1.0",
                "Up ",
                "0.0.0.0:18080->8080/tcp",
                "web",
            ],
        ),
        (&["logs", "--tail", "5", "web"], 0, &["8080"]),
        (
            &["inspect", "-f", "{{.State.Status}} {{.RestartCount}}", "web"],
            0,
            &["running 0"],
        ),
        (
            &["exec", "web", "sh", "-c", "echo $APP_VERSION; exit 4"],
            4,
            &["1.0"],
        ),
        (&["restart", "-t", "2", "web"], 0, &["web"]),
        (&["stats", "--no-stream", "web"], 0, &["CPU %", "MiB / 4GiB"]),
        (
            &["pull", "ghcr.io/example/web:1.1"],
            0,
            &["Downloaded newer image"],
        ),
        (&["pull", "ghcr.io/example/web:9"], 1, &["manifest unknown"]),
        (&["images"], 0, &["REPOSITORY", "1.1", "48MB"]),
        (
            &[
                "create",
                "--name",
                "second",
                "--restart",
                "on-failure:3",
                "ghcr.io/example/web:1.1",
            ],
            0,
            &[],
        ),
        (&["start", "second"], 0, &["second"]),
        (&["stop", "-t", "2", "second"], 0, &["second"]),
        (&["rename", "second", "third"], 0, &[]),
        (&["rm", "third"], 0, &["third"]),
        (&["rm", "third"], 1, &["No such container: third"]),
        (&["network", "ls"], 0, &["bridge"]),
        (&["volume", "ls"], 0, &["web-data"]),
        (&["system", "df"], 0, &["Images"]),
        (&["service", "ls"], 1, &["This node is not a swarm manager"]),
        (
            &["events", "--since", "1h", "--until", &soon],
            0,
            &["container start", "image pull"],
        ),
    ];
    for (arguments, code, expected) in cases {
        let Some((found, text)) = docker(&host, arguments).await else {
            return;
        };
        assert_eq!(found, Some(*code), "docker {arguments:?}: {text}");
        for part in *expected {
            assert!(text.contains(part), "docker {arguments:?} lacks {part:?}: {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn docker_on_the_host_itself_works() {
    let host = host(RestartPolicy::Always).await;
    if !host.namespaces() {
        return;
    }
    host.page().await;
    let spec = Spec {
        name: "server1".to_owned(),
        address: Some([10, 20, 0, 30].into()),
        disk_bytes: 16 << 20,
        runs: Runs::Program(["sleep", "600"].map(str::to_owned).to_vec()),
        sockets: vec![("/run/docker.sock".into(), host.engine.socket())],
        ..Spec::default()
    };
    let machine = host.machines.start(&spec).await.unwrap();
    for (line, code, expected) in [
        ("docker ps", 0, "ghcr.io/example/web:1.0"),
        ("docker ps -aq | wc -c", 0, "13"),
        ("docker ps --format '{{.Names}} {{.State}}'", 0, "web running"),
        ("docker logs -n 3 web", 0, "8080"),
        ("docker inspect -f '{{.State.Status}}' web", 0, "running"),
        ("docker exec web sh -c 'echo $COLOR; exit 5'", 5, "blue"),
        ("echo hello | docker exec -i web cat", 0, "hello"),
        ("docker port web", 0, "8080/tcp -> 0.0.0.0:18080"),
        ("docker stats --no-stream", 0, "MEM USAGE / LIMIT"),
        ("docker restart web", 0, "web"),
        ("docker images", 0, "48MB"),
        ("docker version", 0, "Engine:"),
        ("docker stop nope", 1, "No such container: nope"),
        ("docker fly", 125, "is not a docker command"),
    ] {
        let argv = ["sh", "-c", line].map(str::to_owned).to_vec();
        let done = machine
            .exec(Exec {
                argv,
                timeout: Some(PATIENCE),
                ..Exec::default()
            })
            .await
            .unwrap();
        let text = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(done.code, code, "{line}: {text}");
        assert!(text.contains(expected), "{line} lacks {expected:?}: {text}");
    }
}
