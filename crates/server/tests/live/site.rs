//! A whole server over a real database file: people and tokens in its store, clients that speak to its socket.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use interlock_assembly::{Assembly, Folders};
use interlock_config::Config;
use interlock_engine::Engine;
use interlock_executor::{BoxFuture, Inventory, Reading, Toolbox};
use interlock_gate::{Catalogue, ResolvedResource};
use interlock_infra::{Infra, Secrets as InfraSecrets};
use interlock_model::{Client as Model, Models, Options as ModelOptions, Provider, Script, Secrets};
use interlock_protocol::{
    ContentHash, ControlLevel, EventBody, Expectation, ResourceId, Role, SessionId, SessionKind,
};
use interlock_server::{App, Parts, Recorded, Serving, install_metrics, serve};
use interlock_store::{
    ApiToken, Batch, Login, NewSession, NewUser, Options as StoreOptions, QueueLimits, Record, Store,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Nothing here takes that long; whoever waits longer waits in vain.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A place where there is nothing.
struct Nowhere;

impl Inventory for Nowhere {
    fn find<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async { Vec::new() })
    }

    fn observe<'a>(&'a self, _: &'a ResourceId, _: &'a Expectation) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async { None })
    }
}

/// A server that runs.
pub(crate) struct Site {
    pub(crate) store: Store,
    pub(crate) engine: Engine,
    pub(crate) address: String,
    pub(crate) token: String,
    serving: Option<Serving>,
    root: tempfile::TempDir,
}

/// A store in a folder.
pub(crate) fn open(folder: &Path) -> Store {
    Store::open(&StoreOptions::sqlite(folder.join("interlock.db"))).expect("a store in a new folder")
}

fn engine(store: &Store, folder: &Path, reply: &Value) -> Engine {
    let script = json!({ "replies": [reply] }).to_string();
    let file = folder.join("script.yaml");
    std::fs::write(&file, &script).expect("a script");
    let mut options = ModelOptions::new(Provider::Scripted, "script");
    options.script = Some(file);
    let parsed = Script::parse("script", &script).expect("a script");
    let entries = BTreeMap::from([("script".to_owned(), options.clone())]);
    let models = Models::with_secrets(entries, Secrets::environment()).expect("models");
    models.insert(Model::scripted_with("script", parsed, options));
    let mut config = Config::default();
    config.defaults.model = Some("script".to_owned());
    config.queue.max_pending = 10_000;
    config.control.level = ControlLevel::Controlled;
    let catalogue = Catalogue::built_in().expect("the catalogue");
    Assembly::of(&config)
        .folders(Folders::within(folder))
        .models(models)
        .tools(catalogue, Toolbox::builder().build(), Arc::new(Nowhere))
        .over(store.clone())
        .expect("an engine")
        .engine
}

impl Site {
    pub(crate) async fn start() -> Self {
        Self::start_with(install_metrics(), |_| {}).await
    }

    pub(crate) async fn start_with(metrics: Recorded, change: impl FnOnce(&mut Config)) -> Self {
        let reply = json!({ "text": "Everything is as it should be." });
        Self::start_saying(&reply, metrics, change).await
    }

    /// One whose model says this.
    pub(crate) async fn start_saying(
        reply: &Value,
        metrics: Recorded,
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let store = open(root.path());
        let engine = engine(&store, root.path(), reply);
        let mut config = Config::default();
        config.server.listen = ([127, 0, 0, 1], 0).into();
        change(&mut config);
        let app = App::new(Parts {
            engine: engine.clone(),
            infra: Infra::new(&config.infrastructure, &InfraSecrets::environment(), Vec::new())
                .expect("infra"),
            config,
            file: None,
            reloader: None,
            metrics,
            demo: false,
        })
        .await
        .expect("an app");
        let serving = serve(app).await.expect("a server");
        let mut site = Self {
            address: serving.address.to_string(),
            store,
            engine,
            token: String::new(),
            serving: Some(serving),
            root,
        };
        site.user("viewer", Role::Viewer).await;
        site.token = site.new_token("tok_viewer", "viewer", "read").await;
        site
    }

    pub(crate) fn folder(&self) -> &Path {
        self.root.path()
    }

    pub(crate) async fn stop(&mut self) {
        if let Some(serving) = self.serving.take() {
            serving.stop().await;
        }
    }

    pub(crate) async fn user(&self, id: &str, role: Role) {
        let new = NewUser {
            name: id.parse().expect("a name"),
            role,
            password: None,
            identity: None,
            created_at: Timestamp::now(),
        };
        self.store.create_user(new).await.expect("a new user");
    }

    pub(crate) async fn new_token(&self, id: &str, user: &str, scope: &str) -> String {
        let secret = format!("ilk_{}", hex(id));
        let token = ApiToken {
            id: id.to_owned(),
            hash: ContentHash::of(&secret),
            name: "test".to_owned(),
            user: user.parse().expect("a name"),
            scopes: vec![scope.to_owned()],
            created_at: Timestamp::now(),
            expires_at: None,
            used_at: None,
            revoked_at: None,
        };
        self.store.create_token(token).await.expect("a new token");
        secret
    }

    /// Signs a browser in; its cookie.
    pub(crate) async fn sign_in(&self, user: &str) -> (ContentHash, String) {
        let secret = hex(user);
        let login = Login {
            hash: ContentHash::of(&secret),
            user: user.parse().expect("a name"),
            csrf: "csrf".to_owned(),
            from: "a test".to_owned(),
            created_at: Timestamp::now(),
            expires_at: Timestamp::now() + SignedDuration::from_hours(1),
        };
        let hash = login.hash;
        self.store.create_login(login).await.expect("a login");
        (hash, format!("interlock_session={secret}"))
    }

    /// A session in which something happened already: its creation.
    pub(crate) async fn session(&self, number: u64) -> SessionId {
        new_session(&self.store, number).await
    }

    pub(crate) async fn connect(&self) -> Client {
        let bearer = format!("Bearer {}", self.token);
        let mut client = self
            .connect_with(&[("authorization", &bearer)])
            .await
            .expect("a connection");
        let first = client.next().await;
        assert_eq!(first["type"], "connection.established", "{first}");
        client
    }

    pub(crate) async fn connect_with(&self, headers: &[(&str, &str)]) -> Result<Client, tungstenite::Error> {
        Client::connect(&self.address, headers).await
    }
}

/// 64 digits that follow from a text.
fn hex(text: &str) -> String {
    ContentHash::of(text).to_string().chars().rev().take(64).collect()
}

pub(crate) async fn new_session(store: &Store, number: u64) -> SessionId {
    let mut id = [0x51; 16];
    id[..8].copy_from_slice(&number.to_be_bytes());
    let id = SessionId::from_bytes(id);
    let session = NewSession {
        id: id.clone(),
        kind: SessionKind::Chat,
        title: "a test".to_owned(),
        channel: "test".to_owned(),
        owner: None,
        alert_type: None,
        chain: "question".to_owned(),
        input: "?".to_owned(),
        level: ControlLevel::Controlled,
        priority: 0,
        idempotency_key: None,
        fingerprint: None,
        options: json!({}),
        at: Timestamp::now(),
    };
    store
        .submit(session, &QueueLimits { max_pending: 100_000 })
        .await
        .expect("a new session");
    id
}

/// Keeps so many events at once; the last place.
pub(crate) async fn append(store: &Store, session: &SessionId, count: usize, text: &str) -> u64 {
    let event = Record::Event {
        stage: None,
        execution: None,
        body: EventBody::AnswerGiven {
            text: text.to_owned(),
            head: None,
        },
    };
    let batch = Batch {
        session: session.clone(),
        claim: None,
        at: Timestamp::now(),
        records: vec![event; count],
    };
    let kept = store.append(batch).await.expect("kept");
    kept.events.last().map_or(0, |event| event.sequence.get())
}

/// One end of a WebSocket.
pub(crate) struct Client(pub(crate) WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    pub(crate) async fn connect(address: &str, headers: &[(&str, &str)]) -> Result<Self, tungstenite::Error> {
        let mut request = format!("ws://{address}/api/v1/ws").into_client_request()?;
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().expect("a header");
            request
                .headers_mut()
                .append(name, value.parse().expect("a value"));
        }
        let (socket, _) = timeout(PATIENCE, connect_async(request))
            .await
            .expect("in time")?;
        Ok(Self(socket))
    }

    pub(crate) async fn send(&mut self, message: Message) {
        self.0.send(message).await.expect("sent");
    }

    pub(crate) async fn say(&mut self, request: Value) {
        self.send(Message::text(request.to_string())).await;
    }

    /// Asks for a channel, and what the answer says about where it stands.
    pub(crate) async fn subscribe(&mut self, channel: &str, after: Option<u64>) -> u64 {
        let mut request = json!({ "action": "subscribe", "channel": channel });
        if let Some(after) = after {
            request["after"] = after.into();
        }
        self.say(request).await;
        let answer = self.next().await;
        assert_eq!(answer["type"], "subscription.confirmed", "{answer}");
        assert_eq!(answer["channel"], channel);
        answer["position"].as_u64().expect("a position")
    }

    /// The next message that is none of the protocol itself.
    pub(crate) async fn message(&mut self) -> Option<Result<Message, tungstenite::Error>> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.expect("in time") {
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => return other,
            }
        }
    }

    /// The next frame.
    pub(crate) async fn next(&mut self) -> Value {
        match self.message().await {
            Some(Ok(Message::Text(text))) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("no frame but {other:?}"),
        }
    }

    /// The places of the next events of a channel.
    pub(crate) async fn positions(&mut self, channel: &str, count: usize) -> Vec<u64> {
        let mut all = Vec::with_capacity(count);
        while all.len() < count {
            let frame = self.next().await;
            if frame["channel"] == channel && frame["position"].is_u64() {
                all.extend(frame["position"].as_u64());
            }
        }
        all
    }

    /// With what it was closed.
    pub(crate) async fn closed(&mut self) -> u16 {
        loop {
            match self.message().await {
                Some(Ok(Message::Close(Some(frame)))) => return frame.code.into(),
                Some(Ok(_)) => {}
                other => panic!("no close but {other:?}"),
            }
        }
    }
}
