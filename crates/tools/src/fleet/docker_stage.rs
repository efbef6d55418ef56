//! A gate, a session and the tools of a fleet, connected to servers on real sockets.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex};

use interlock_executor::Toolbox;
use interlock_gate::{Catalogue, Options as GateOptions};
use interlock_infra::{Infra, Options as InfraOptions, Secrets, options};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::{BoxFuture, Fleet, Knowledge, Note, Notes, Options};

/// A Docker engine, a cluster, a gateway, a Prometheus and an Alertmanager behind one address.
#[derive(Default)]
struct Servers {
    started_at: Option<Timestamp>,
    silenced: bool,
    over: bool,
    replicas: Option<u64>,
}

fn answer(servers: &mut Servers, line: &str, body: &str) -> (u16, Value) {
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let alert = || {
        let silenced = if servers.silenced {
            json!(["s1"])
        } else {
            json!([])
        };
        json!({"fingerprint": "6bf1a1f1c1d1e1f1", "labels": {"alertname": "WebDown"}, "annotations": {},
            "startsAt": "2026-11-15T08:00:00Z", "status": {"state": "active", "silencedBy": silenced, "inhibitedBy": []}})
    };
    match (method, path.split('?').next().unwrap()) {
        // Of the engine and of the cluster.
        ("GET", "/version") => (
            200,
            json!({"ApiVersion": "1.47", "major": "1", "minor": "34", "gitVersion": "v1.34.1", "gitCommit": "",
                "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "", "platform": "linux/amd64"}),
        ),
        (_, path)
            if path.starts_with("/apis/")
                || path.starts_with("/api/v1/n")
                || path.starts_with("/api/v1/p") =>
        {
            cluster(servers, method, path, body)
        }
        ("GET", "/api/v1/services") => (200, json!({"metadata": {}, "items": []})),
        ("POST", "/api2/json/access/ticket") => (200, json!({"data": {"ticket": "t"}})),
        ("GET", "/api2/json/version") => (200, json!({"data": {"version": "8.1.4"}})),
        ("GET", "/api2/json/nodes") => (200, json!({"data": [{"node": "mail"}]})),
        ("GET", "/api2/json/nodes/mail/postfix/qshape") => (
            200,
            json!({"data": [{"domain": "TOTAL", "total": 5}, {"domain": "example.org", "total": 5}]}),
        ),
        ("GET", "/containers/json") => (
            200,
            json!([{"Id": "4f1c9e0d2b7a61c3", "Names": ["/web"], "Image": "nginx:1.27", "State": "running",
                "Status": "Up 3 hours", "Created": 1_763_190_000}]),
        ),
        ("GET", "/containers/web/json" | "/containers/4f1c9e0d2b7a61c3/json") => {
            let since = servers
                .started_at
                .map_or_else(|| "2026-11-15T06:00:00Z".to_owned(), |at| at.to_string());
            (
                200,
                json!({"Id": "4f1c9e0d2b7a61c3", "Name": "/web", "State": {"Status": "running", "StartedAt": since},
                    "Config": {"Image": "nginx:1.27"}}),
            )
        }
        ("POST", "/containers/4f1c9e0d2b7a61c3/restart") => {
            servers.started_at = Some(Timestamp::now());
            (204, Value::Null)
        }
        ("GET", "/api/v2/alerts") if servers.over => (200, json!([])),
        ("GET", "/api/v2/alerts") => (200, json!([alert()])),
        ("POST", "/api/v2/alerts") => {
            servers.over = body.contains("endsAt");
            (200, Value::Null)
        }
        ("POST", "/api/v2/silences") => {
            servers.silenced = true;
            (200, json!({"silenceID": "s1"}))
        }
        ("GET", "/api/v1/query") => (
            200,
            json!({"status": "success", "data": {"resultType": "vector", "result": []}}),
        ),
        ("GET", "/api/v1/query_range") if path.contains("container_memory_usage_bytes") => {
            let now = Timestamp::now().as_second();
            let values: Vec<Value> = (0..30)
                .map(|place| json!([now - 30 * (30 - place), "1000"]))
                .collect();
            (
                200,
                json!({"status": "success", "data": {"resultType": "matrix",
                    "result": [{"metric": {"name": "web"}, "values": values}]}}),
            )
        }
        ("GET", "/api/v1/query_range") => (
            200,
            json!({"status": "success", "data": {"resultType": "matrix", "result": []}}),
        ),
        _ => (404, json!({"message": "no such thing"})),
    }
}

/// A cluster with one deployment, whose pods are ready at once.
fn cluster(servers: &mut Servers, method: &str, path: &str, body: &str) -> (u16, Value) {
    if (method, path) == ("PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale") {
        let wish: Value = serde_json::from_str(body).unwrap();
        servers.replicas = wish["spec"]["replicas"].as_u64();
        return (
            200,
            json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web"}, "spec": {}}),
        );
    }
    let replicas = servers.replicas.unwrap_or(3);
    let deployment = json!({"metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {}, "template": {}}, "status": {"readyReplicas": replicas}});
    match path {
        "/apis/apps/v1/deployments" | "/apis/apps/v1/namespaces/shop/deployments" => {
            (200, json!({"metadata": {}, "items": [deployment]}))
        }
        "/apis/apps/v1/namespaces/shop/deployments/web" => (200, deployment),
        _ => (200, json!({"metadata": {}, "items": []})),
    }
}

async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let world = Arc::new(Mutex::new(Servers::default()));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                let mut chunk = [0; 4096];
                let (line, body) = loop {
                    let count = stream.read(&mut chunk).await.unwrap();
                    if count == 0 {
                        return;
                    }
                    bytes.extend_from_slice(&chunk[..count]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let length = head
                        .lines()
                        .filter_map(|line| line.split_once(": "))
                        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                        .map_or(0, |(_, value)| value.parse().unwrap());
                    if body.len() >= length {
                        break (head.lines().next().unwrap().to_owned(), body.to_owned());
                    }
                };
                let (status, value) = answer(&mut world.lock().unwrap(), &line, &body);
                let text = if value.is_null() {
                    String::new()
                } else {
                    value.to_string()
                };
                let head = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close",
                    text.len()
                );
                stream
                    .write_all(format!("{head}\r\n\r\n{text}").as_bytes())
                    .await
                    .unwrap();
            });
        }
    });
    address
}

#[derive(Default)]
struct Memory(Mutex<Vec<Note>>);

impl Notes for Memory {
    fn remember(&self, note: Note) -> BoxFuture<'_, Result<(), String>> {
        self.0.lock().unwrap().push(note);
        Box::pin(async { Ok(()) })
    }

    fn recall<'a>(
        &'a self,
        query: &'a str,
        _about: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Note>, String>> {
        let notes = self.0.lock().unwrap().clone();
        let found = notes
            .into_iter()
            .filter(|note| note.text.contains(query))
            .take(most)
            .collect();
        Box::pin(async move { Ok(found) })
    }
}

/// The stage of every tool family, with everything connected.
pub(super) struct Stage(interlock_executor::Stage);

impl Deref for Stage {
    type Target = interlock_executor::Stage;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Stage {
    /// Everything is connected and discovered.
    pub(super) async fn connected() -> Self {
        let address = serve().await;
        let http = options::Http {
            name: "m".to_owned(),
            url: format!("http://{address}"),
            token_env: None,
            user: None,
            password_env: None,
            tls: options::Tls::default(),
        };
        let options = InfraOptions {
            docker: vec![options::Docker {
                name: "server1".to_owned(),
                url: format!("tcp://{address}"),
                runs_on: None,
            }],
            kubernetes: vec![options::Kubernetes {
                name: "prod".to_owned(),
                kubeconfig: None,
                context: None,
                url: Some(format!("http://{address}")),
                token_env: None,
                tls: options::Tls::default(),
            }],
            mail_gateways: vec![options::MailGateway {
                name: "mail".to_owned(),
                url: format!("http://{address}"),
                user: "audit@pmg".to_owned(),
                password_env: "PMG".to_owned(),
                tls: options::Tls::default(),
                runs_on: None,
            }],
            prometheus: vec![http.clone()],
            alertmanager: vec![http],
            ..InfraOptions::default()
        };
        let mut stage = Self::new(&options);
        stage.data("infra_query", json!({"action": "list"})).await;
        stage
    }

    pub(super) fn new(options: &InfraOptions) -> Self {
        let infra = Infra::new(
            options,
            &Secrets::given([("PMG", "pw")]),
            vec![Arc::new(Knowledge)],
        )
        .unwrap();
        let fleet = Fleet::new(infra, None, Some(Arc::new(Memory::default())), Options::default());
        let toolbox = fleet.register(Toolbox::builder()).unwrap().build();
        Self(interlock_executor::Stage::new(
            Catalogue::built_in().unwrap(),
            GateOptions::default(),
            toolbox,
            Arc::new(fleet.inventory()),
        ))
    }

    /// The message of a call that fails.
    pub(super) async fn error(&mut self, tool: &str, arguments: Value) -> String {
        self.0.error(tool, arguments).await.1
    }
}
