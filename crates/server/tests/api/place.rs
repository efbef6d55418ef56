//! A place to try the API in: one host, a model that follows a script, a person for each role.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use interlock_engine::{Engine, Outcome, Setup};
use interlock_executor::{BoxFuture, Done, Executor, Inventory, Reading};
use interlock_gate::{FourEyes, Options as GateOptions, ResolvedResource, Started};
use interlock_infra::{BoxFuture as InfraFuture, Error as InfraError, Infra, Resource, Secrets, Source};
use interlock_mask::Masker;
use interlock_model::{Client, Models, Options as ModelOptions, Provider, Script, Secrets as ModelSecrets};
use interlock_protocol::{
    ControlLevel, Expectation, Observation, ResourceId, Role, RunIdentity, SessionId, ToolKind, UnitActivity,
};
use interlock_seal::{Keyring, Signer};
use interlock_server::{App, Parts, Serving, install_metrics, serve};
use interlock_store::{Options as StoreOptions, Store};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::parts::{self, Given, SCOPES};
pub(crate) use crate::parts::{host, token};

/// A host with one unit, which can be restarted.
#[derive(Default)]
pub(crate) struct Machine {
    restarts: Mutex<Vec<Timestamp>>,
    /// The state it is in; nothing said, it runs.
    state: Mutex<Option<&'static str>>,
}

impl Machine {
    /// How often something was changed on it.
    pub(crate) fn changes(&self) -> usize {
        self.restarts.lock().unwrap().len()
    }

    /// It is in another state from now on.
    pub(crate) fn become_state(&self, state: &'static str) {
        *self.state.lock().unwrap() = Some(state);
    }

    fn resource(&self) -> ResolvedResource {
        let state = self.state.lock().unwrap().unwrap_or("running");
        ResolvedResource::new(host(), "web").in_state(state)
    }

    fn unit(&self) -> Observation {
        let run = RunIdentity::named(format!("invocation {}", self.changes()));
        Observation::Unit {
            unit: "nginx".to_owned(),
            activity: UnitActivity::Active,
            active_since: self.restarts.lock().unwrap().last().copied(),
            run,
        }
    }
}

impl Executor for Machine {
    fn run<'a>(&'a self, started: &'a Started, _: &'a CancellationToken) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            match started.plan().kind {
                ToolKind::Resolve => {
                    Done::succeeded(json!({"resources": [{"id": host(), "name": "web"}]}), "found 1")
                        .with_discovered(vec![self.resource()])
                }
                ToolKind::Read => {
                    let data = json!({"stdout": "nginx is active, load 0.42", "exit_code": 0});
                    Done::succeeded(data.clone(), "read").with_reading(Reading {
                        resource: Some(host()),
                        taken_at: Timestamp::now(),
                        data,
                        observations: vec![self.unit()],
                        walls: None,
                    })
                }
                ToolKind::Write => {
                    self.restarts.lock().unwrap().push(Timestamp::now());
                    Done::succeeded(json!({"done": true}), "restarted nginx")
                }
            }
        })
    }
}

impl Inventory for Machine {
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move {
            let state = self.state.lock().unwrap().unwrap_or("running");
            parts::found(name, state)
        })
    }

    fn observe<'a>(&'a self, resource: &'a ResourceId, _: &'a Expectation) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async move {
            Some(Reading {
                resource: Some(resource.clone()),
                taken_at: Timestamp::now(),
                data: json!({"unit": "nginx"}),
                observations: vec![self.unit()],
                walls: None,
            })
        })
    }
}

/// Makes the host known.
struct Known;

impl Source for Known {
    fn connection(&self) -> &'static str {
        "here"
    }

    fn kind(&self) -> &'static str {
        "host"
    }

    fn discover(&self) -> InfraFuture<'_, Result<Vec<Resource>, InfraError>> {
        Box::pin(async { Ok(vec![parts::resource()]) })
    }
}

/// What may differ from one test to the next.
pub(crate) struct Wish {
    pub(crate) script: String,
    pub(crate) level: ControlLevel,
    pub(crate) four_eyes: FourEyes,
    pub(crate) gate: GateOptions,
    pub(crate) max_pending: u32,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            script: RESTART.to_owned(),
            level: ControlLevel::Controlled,
            four_eyes: FourEyes::Off,
            gate: GateOptions::default(),
            max_pending: 1000,
        }
    }
}

/// Finds the host, looks, wants to restart a unit, looks again, answers.
const RESTART: &str = r#"
replies:
  - calls: [{tool: infra_query, arguments: {action: search, query: web}}]
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "systemctl status nginx"}}]
  - text: "nginx hangs, so I want to restart it."
    calls: [{tool: infra_control, arguments: {action: service_restart, target_resource_id: "host:web", unit: nginx}}]
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "systemctl status nginx --no-pager"}}]
  - text: "nginx is active; see what was done."
  - text: "nginx is active; see what was done."
  - text: "nginx is active; see what was done."
"#;

/// What another model says.
const SECOND: &str = r#"replies: [{text: "The second model answers.", repeat: forever}]"#;

/// The people, each with their role.
pub(crate) const PEOPLE: [(&str, Role); 6] = [
    ("vera", Role::Viewer),
    ("olga", Role::Operator),
    ("ada", Role::Approver),
    ("otto", Role::Approver),
    ("root", Role::Admin),
    ("reader", Role::Admin),
];

/// A server that runs.
pub(crate) struct Place {
    pub(crate) engine: Engine,
    pub(crate) store: Store,
    pub(crate) machine: Arc<Machine>,
    url: String,
    client: reqwest::Client,
    _serving: Serving,
    root: tempfile::TempDir,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body, if it is what was expected.
    #[track_caller]
    pub(crate) fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// The code of a problem, which has the whole form of one.
    #[track_caller]
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.kind, "application/problem+json", "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], self.status, "{self:?}");
        let told = |name: &str| body[name].as_str().is_some_and(|text| !text.is_empty());
        assert!(told("type") && told("title") && told("detail"), "{self:?}");
        (self.status, body["code"].as_str().unwrap_or_default().to_owned())
    }
}

/// A request with a body of JSON.
pub(crate) trait WithJson {
    fn json(self, body: &Value) -> Self;
}

impl WithJson for reqwest::RequestBuilder {
    fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json")
            .body(body.to_string())
    }
}

impl Place {
    pub(crate) async fn new(wish: Wish) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("interlock.db");
        let keyring = Keyring::signing(Signer::generate().unwrap());
        let store = Store::open_signed(&StoreOptions::sqlite(&file), keyring).unwrap();
        let machine = Arc::new(Machine::default());
        let engine = Engine::new(setup(&store, &machine, wish)).unwrap();
        for (name, role) in PEOPLE {
            // An admin's token that may only look.
            let scopes: &[&str] = if name == "reader" { &["read"] } else { SCOPES };
            parts::person(&store, name, role, scopes).await;
        }
        let infra = Infra::new(
            &interlock_infra::Options::default(),
            &Secrets::environment(),
            vec![Arc::new(Known)],
        )
        .unwrap();
        let app = App::new(Parts {
            engine: engine.clone(),
            infra,
            config: parts::config(),
            file: None,
            reloader: None,
            metrics: install_metrics(),
            demo: false,
        })
        .await
        .unwrap();
        let serving = serve(app).await.unwrap();
        Self {
            engine,
            store,
            machine,
            url: format!("http://{}", serving.address),
            client: reqwest::Client::new(),
            _serving: serving,
            root,
        }
    }

    /// Somebody with the file and without the key: no trigger and no constraint stops them.
    pub(crate) fn forger(&self) -> rusqlite::Connection {
        let conn = rusqlite::Connection::open(self.root.path().join("interlock.db")).unwrap();
        conn.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
        conn.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
            .unwrap();
        conn.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        conn
    }

    /// A request of somebody, or of nobody.
    pub(crate) fn request(&self, who: Option<&str>, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.url));
        match who {
            Some(name) => request.bearer_auth(token(name)),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let headers = response.headers().clone();
        let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
        Answer {
            status: response.status().as_u16(),
            kind: kind.unwrap_or_default().to_owned(),
            headers,
            text: response.text().await.unwrap(),
        }
    }

    pub(crate) async fn get(&self, who: &str, path: &str) -> Answer {
        let path = format!("/api/v1{path}");
        self.send(self.request(Some(who), "GET", &path)).await
    }

    pub(crate) async fn post(&self, who: &str, path: &str, body: &Value) -> Answer {
        let path = format!("/api/v1{path}");
        self.send(self.request(Some(who), "POST", &path).json(body)).await
    }

    /// An alert of an operator.
    pub(crate) async fn alert(&self, data: &str) -> SessionId {
        let body = json!({"alert_type": "service_down", "data": data});
        let accepted = self.post("olga", "/alerts", &body).await.ok(202);
        assert_eq!(accepted["status"], "queued");
        SessionId::new(accepted["session"].as_str().unwrap()).unwrap()
    }

    /// Works on a session until it ends or pauses.
    pub(crate) async fn work(&self, session: &SessionId) -> Outcome {
        self.engine.work_on(session).await.unwrap()
    }

    /// A session that waits for a human, and its hold as a person sees it.
    pub(crate) async fn held(&self, who: &str) -> (SessionId, Value) {
        let session = self.alert("nginx does not answer").await;
        self.work(&session).await;
        let list = self.get(who, "/approvals").await.ok(200);
        let holds = list["approvals"].as_array().unwrap();
        assert_eq!(holds.len(), 1, "{list:#}");
        (session, holds[0].clone())
    }

    /// The secret of a hold, for somebody.
    pub(crate) async fn open(&self, who: &str, hold: &Value) -> String {
        let path = format!("/approvals/{}/open", text(hold, "id"));
        let answer = self.post(who, &path, &json!({})).await;
        let cached = answer
            .headers
            .get("cache-control")
            .and_then(|value| value.to_str().ok());
        assert_eq!(cached, Some("no-store"));
        text(&answer.ok(200), "token").to_owned()
    }

    pub(crate) async fn approve(&self, who: &str, hold: &Value, token: &str) -> Answer {
        let path = format!("/approvals/{}/approve", text(hold, "id"));
        let body = json!({"token": token, "plan_hash": hold["plan_hash"]});
        self.post(who, &path, &body).await
    }
}

/// A text of a document.
#[track_caller]
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name]
        .as_str()
        .unwrap_or_else(|| panic!("no `{name}` in {value:#}"))
}

fn setup(store: &Store, machine: &Arc<Machine>, wish: Wish) -> Setup {
    let options = ModelOptions::new(Provider::Scripted, "script");
    let script = Script::parse("script", &wish.script).unwrap();
    let client = Client::scripted_with("script", script, options.clone());
    let second = Script::parse("second", SECOND).unwrap();
    let second = Client::scripted_with("second", second, options.clone());
    let entries = BTreeMap::from([
        ("script".to_owned(), options.clone()),
        ("second".to_owned(), options),
    ]);
    let models = Models::with_secrets(entries, ModelSecrets::environment()).unwrap();
    models.insert(client);
    models.insert(second);
    parts::setup(Given {
        store: store.clone(),
        machine: machine.clone(),
        models,
        model: "script",
        masker: Masker::built_in(),
        gate: wish.gate,
        level: wish.level,
        four_eyes: wish.four_eyes,
        max_pending: wish.max_pending,
    })
}
