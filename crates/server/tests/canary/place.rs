//! The server, the people who call it, and those who watch.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use interlock_engine::{Engine, Outcome};
use interlock_gate::{FourEyes, Options as GateOptions};
use interlock_infra::{Infra, Secrets as InfraSecrets, Source};
use interlock_mask::{Masker, Options as MaskOptions};
use interlock_model::{Models, Options as ModelOptions, Provider as Wire, Secrets};
use interlock_protocol::{ControlLevel, Role, SessionId};
use interlock_seal::{Keyring, Signer};
use interlock_server::{App, Parts, Serving, install_metrics, serve};
use interlock_store::{Options as StoreOptions, Store};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::canaries::Canaries;
use crate::log::{Logs, logs};
use crate::machine::{Failing, Known, Machine};
use crate::parts::{self, Given, SCOPES, token};
use crate::provider::Provider;

/// Nothing here takes that long.
const PATIENCE: Duration = Duration::from_secs(30);
const VARIABLE: &str = "CANARY_KEY";
/// The one who calls.
const CALLER: &str = "ada";

/// What may differ from one test to the next.
pub(crate) struct Wish {
    mask: MaskOptions,
    /// Whether the masker knows the keys of the models.
    values: bool,
}

impl Wish {
    pub(crate) const fn with(mask: MaskOptions) -> Self {
        Self { mask, values: true }
    }

    pub(crate) const fn without_values(mut self) -> Self {
        self.values = false;
        self
    }
}

/// The server.
pub(crate) struct Place {
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) machine: Arc<Machine>,
    pub(crate) provider: Provider,
    pub(crate) logs: Logs,
    /// The key of the provider.
    pub(crate) key: String,
    /// The password in the address of another.
    pub(crate) password: String,
    /// The header of that other.
    pub(crate) header: String,
    pub(crate) keyring: Keyring,
    pub(crate) watched: Vec<(String, Vec<u8>)>,
    /// Every answer of the server, by whether it is an error.
    pub(crate) answers: Mutex<(Vec<u8>, Vec<u8>)>,
    address: String,
    client: reqwest::Client,
    root: tempfile::TempDir,
    _serving: Serving,
}

fn models(provider: &Provider, header: &str, password: &str) -> BTreeMap<String, ModelOptions> {
    let model = |wire: Wire, base: &str| {
        let mut options = ModelOptions::new(wire, "m");
        options.base_url = Some(base.into());
        options.api_key_env = Some(VARIABLE.to_owned());
        options.retries.attempts = 1;
        options
    };
    let base = format!("http://{}", provider.address);
    let mut gateway = model(
        Wire::Openai,
        &format!("http://me:{password}@{}/v1", provider.address),
    );
    gateway.api_key_env = None;
    gateway.headers.insert("x-gateway".to_owned(), header.into());
    gateway.fallback = vec!["main".to_owned()];
    BTreeMap::from([
        ("main".to_owned(), model(Wire::Openai, &base)),
        ("gateway".to_owned(), gateway),
        ("anthropic".to_owned(), model(Wire::Anthropic, &base)),
        ("gemini".to_owned(), model(Wire::Gemini, &base)),
        ("ollama".to_owned(), model(Wire::Ollama, &base)),
    ])
}

impl Place {
    pub(crate) async fn new(wish: Wish, canaries: &mut Canaries) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = tempfile::tempdir().unwrap();
        let keyring = Keyring::signing(Signer::generate().unwrap());
        let options = StoreOptions::sqlite(root.path().join("interlock.db"));
        let store = Store::open_signed(&options, keyring.clone()).unwrap();
        let provider = Provider::start().await;
        let machine = Arc::new(Machine::default());
        let key = canaries.own("key of the provider");
        let password = canaries.own("password in an address");
        let header = canaries.own("header of a model");
        let mut config = parts::config();
        config.models = models(&provider, &header, &password);
        config.mask = wish.mask;
        let secrets = Secrets::given([(VARIABLE, key.as_str())]);
        let models = Models::with_secrets(config.models.clone(), secrets).unwrap();
        let mut masker = Masker::new(&config.mask).unwrap();
        if wish.values {
            masker = masker.with_values(models.secret_forms());
        }
        let engine = Engine::new(parts::setup(Given {
            store: store.clone(),
            machine: machine.clone(),
            models,
            model: "main",
            masker: masker.clone(),
            gate: GateOptions::default(),
            level: ControlLevel::Controlled,
            four_eyes: FourEyes::Off,
            max_pending: 1000,
        }))
        .unwrap();
        parts::person(&store, CALLER, Role::Admin, SCOPES).await;
        let logs = logs(&masker);
        let known = ["fact of a resource", "state of a resource", "alias of a resource"];
        let [fact, state, alias] = known.map(|name| canaries.token(name));
        let named = canaries.bare("fact of a resource by its name");
        let failing = format!("500 {}", canaries.assigned("error of a connection"));
        let sources: Vec<Arc<dyn Source>> = vec![
            Arc::new(Known(vec![fact, named, state, alias])),
            Arc::new(Failing(failing)),
        ];
        let infra = Infra::new(
            &interlock_infra::Options::default(),
            &InfraSecrets::environment(),
            sources,
        )
        .unwrap();
        let app = App::new(Parts {
            engine: engine.clone(),
            infra,
            config,
            file: None,
            reloader: None,
            metrics: install_metrics(),
            demo: false,
        })
        .await
        .unwrap();
        let serving = serve(app).await.unwrap();
        Self {
            store,
            engine,
            machine,
            provider,
            logs,
            key,
            password,
            header,
            keyring,
            watched: Vec::new(),
            answers: Mutex::default(),
            address: serving.address.to_string(),
            client: reqwest::Client::new(),
            root,
            _serving: serving,
        }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.root.path().to_owned()
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> (u16, Vec<u8>) {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let mut bytes = format!("{:?}", response.headers()).into_bytes();
        let body = response.bytes().await.unwrap();
        bytes.extend_from_slice(&body);
        let mut answers = self.answers.lock().unwrap();
        let to = if status < 400 {
            &mut answers.0
        } else {
            &mut answers.1
        };
        to.extend_from_slice(&bytes);
        (status, body.to_vec())
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        let request = self
            .client
            .post(self.url(&format!("/api/v1{path}")))
            .bearer_auth(token(CALLER))
            .header("content-type", "application/json")
            .body(body.to_string());
        serde_json::from_slice(&self.send(request).await.1).unwrap_or_default()
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Vec<u8>) {
        self.send(self.client.get(self.url(path)).bearer_auth(token(CALLER)))
            .await
    }

    pub(crate) async fn look(&self, path: &str) {
        self.get(&format!("/api/v1{path}")).await;
    }

    pub(crate) async fn look_as(&self, token: &str, path: &str) {
        let request = self
            .client
            .get(self.url(&format!("/api/v1{path}")))
            .bearer_auth(token);
        assert_eq!(self.send(request).await.0, 401);
    }

    pub(crate) async fn broken_body(&self, body: &str) {
        let request = self
            .client
            .post(self.url("/api/v1/chats"))
            .bearer_auth(token(CALLER))
            .header("content-type", "application/json")
            .body(body.to_owned());
        assert_eq!(self.send(request).await.0, 400);
    }

    /// Sends a question or an alert; its session.
    pub(crate) async fn submit(&self, path: &str, body: &Value) -> String {
        let accepted = self.post(path, body).await;
        let session = accepted["session"].as_str();
        session.unwrap_or_else(|| panic!("{accepted:#}")).to_owned()
    }

    /// The one hold that waits.
    pub(crate) async fn hold(&self) -> Value {
        let (_, body) = self.get("/api/v1/approvals").await;
        let list: Value = serde_json::from_slice(&body).unwrap();
        let hold = list["approvals"].get(0);
        hold.unwrap_or_else(|| panic!("{list:#}")).clone()
    }

    /// Somebody watches over a WebSocket.
    pub(crate) async fn watch(&self) -> Watch {
        let mut request = format!("ws://{}/api/v1/ws", self.address)
            .into_client_request()
            .unwrap();
        let bearer = format!("Bearer {}", token(CALLER)).parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let (socket, _) = connect_async(request).await.unwrap();
        let mut watch = Watch {
            socket,
            frames: Vec::new(),
            streamed: Vec::new(),
        };
        watch.subscribe("sessions").await;
        watch
    }

    /// Works on a session while it is watched in both ways, until those who watch have seen its last event.
    pub(crate) async fn work(&self, session: &str, watch: &mut Watch) -> Outcome {
        let id = SessionId::new(session).unwrap();
        watch.subscribe(&format!("session:{session}")).await;
        let path = self.url(&format!("/api/v1/sessions/{session}/stream?after=0"));
        let mut stream = self
            .client
            .get(path)
            .bearer_auth(token(CALLER))
            .send()
            .await
            .unwrap();
        assert_eq!(stream.status(), 200);
        let outcome = self.engine.work_on(&id).await.unwrap();
        let last = self.store.last_sequence(&id).await.unwrap().get();
        let end = format!("id: {last}\n");
        let mut streamed = Vec::new();
        while !String::from_utf8_lossy(&streamed).contains(&end) {
            let chunk = tokio::time::timeout(PATIENCE, stream.chunk()).await;
            streamed.extend_from_slice(&chunk.unwrap().unwrap().unwrap());
        }
        watch.streamed.extend(streamed);
        watch.until(&format!("session:{session}"), last).await;
        outcome
    }

    pub(crate) fn finish(mut self, watch: Watch) -> Self {
        // What a model writes comes in small pieces; a secret would be spread over several.
        let pieces = |bytes: &[u8], lead: &str| -> Vec<u8> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let frames = text.lines().filter_map(|line| line.strip_prefix(lead));
            let frames = frames.filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let pieces = frames.filter_map(|frame| frame["delta"].as_str().map(str::to_owned));
            pieces.collect::<String>().into_bytes()
        };
        self.watched = vec![
            ("WebSocket, streamed".to_owned(), pieces(&watch.frames, "")),
            ("SSE, streamed".to_owned(), pieces(&watch.streamed, "data: ")),
            ("WebSocket".to_owned(), watch.frames),
            ("SSE".to_owned(), watch.streamed),
        ];
        self
    }
}

/// Somebody who watches.
pub(crate) struct Watch {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    frames: Vec<u8>,
    streamed: Vec<u8>,
}

impl Watch {
    async fn frame(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next()).await;
            match message.unwrap().unwrap().unwrap() {
                Message::Text(text) => {
                    self.frames.extend_from_slice(text.as_bytes());
                    self.frames.push(b'\n');
                    return serde_json::from_str(&text).unwrap();
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    async fn subscribe(&mut self, channel: &str) {
        let wish = json!({ "action": "subscribe", "channel": channel, "after": 0 });
        self.socket.send(Message::text(wish.to_string())).await.unwrap();
        loop {
            let frame = self.frame().await;
            if frame["channel"] == channel && frame["type"] == "subscription.confirmed" {
                return;
            }
        }
    }

    /// Reads until this place of a channel.
    async fn until(&mut self, channel: &str, last: u64) {
        loop {
            let frame = self.frame().await;
            if frame["channel"] == channel && frame["position"].as_u64() == Some(last) {
                return;
            }
        }
    }
}
