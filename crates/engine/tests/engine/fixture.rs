//! An engine over a real SQLite file, the real gate and a scripted model. Its one host is a folder: reading it reads
//! files there, changing it appends lines there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlock_engine::{Defaults, Engine, Limits, Outcome, Prompts, Setup, Submission};
use interlock_gate::{Catalogue, FourEyes, Gate, Options, ResolvedResource, Started};
use interlock_mask::Masker;
use interlock_model::{Client, Models, Options as ModelOptions, Provider, Script, Secrets};
use interlock_protocol::{
    ControlLevel, Event, Expectation, Observation, ResourceId, Sequence, SessionId, ToolKind, ToolName,
    UserId,
};
use interlock_store::{Options as StoreOptions, QueueLimits, Store};
use interlock_tools::{BoxFuture, Done, Executor, Inventory, Reading, Toolbox};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The one host.
pub fn host() -> ResourceId {
    "host:web".parse().unwrap()
}

/// A host that is a folder.
#[derive(Debug)]
pub struct Folder {
    pub path: PathBuf,
}

impl Folder {
    /// What was done, a line each.
    pub fn effects(&self) -> Vec<String> {
        std::fs::read_to_string(self.path.join("effects"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn resource() -> ResolvedResource {
        ResolvedResource::new(host(), "web").in_state("running")
    }
}

impl Executor for Folder {
    fn run<'a>(&'a self, started: &'a Started, _: &'a CancellationToken) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let plan = started.plan();
            match plan.kind {
                ToolKind::Resolve => Done::succeeded(
                    json!({ "resources": [{ "id": host(), "name": "web" }] }),
                    "found 1",
                )
                .with_discovered(vec![Self::resource()]),
                ToolKind::Read => {
                    let command = plan.command.clone().unwrap_or_default();
                    let data = json!({ "stdout": format!("output of {command}: load 0.42, password=hunter2secret"), "exit_code": 0 });
                    Done::succeeded(data.clone(), "read").with_reading(Reading {
                        resource: Some(host()),
                        taken_at: Timestamp::now(),
                        data,
                        observations: vec![Observation::Present],
                    })
                }
                ToolKind::Write => {
                    use std::io::Write as _;
                    let mut file = std::fs::OpenOptions::new()
                        .create(true)
                        .append(true)
                        .open(self.path.join("effects"))
                        .unwrap();
                    let line = plan
                        .command
                        .clone()
                        .or_else(|| plan.action.clone())
                        .unwrap_or_default();
                    writeln!(file, "{line}").unwrap();
                    file.sync_all().unwrap();
                    Done::succeeded(json!({ "done": true }), "wrote")
                }
            }
        })
    }
}

impl Inventory for Folder {
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move {
            if name == "web" || name == host().to_string() {
                vec![Self::resource()]
            } else {
                Vec::new()
            }
        })
    }

    fn observe<'a>(&'a self, resource: &'a ResourceId, _: &'a Expectation) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async move {
            Some(Reading {
                resource: Some(resource.clone()),
                taken_at: Timestamp::now(),
                data: json!({ "effects": self.effects() }),
                observations: vec![Observation::Present],
            })
        })
    }
}

/// What a test starts from.
pub struct Lab {
    pub engine: Engine,
    pub folder: Arc<Folder>,
    pub store: Store,
    root: Option<tempfile::TempDir>,
}

/// What may differ from one test to the next.
pub struct Wish {
    pub script: String,
    pub level: ControlLevel,
    pub limits: Limits,
    pub dialect: Option<interlock_dialect::Dialect>,
    pub checkpoint: Option<interlock_engine::Checkpoint>,
    pub context_tokens: Option<u32>,
}

impl Wish {
    pub fn script(script: &str) -> Self {
        Self {
            script: script.to_owned(),
            level: ControlLevel::Autonomous,
            limits: Limits::default(),
            dialect: None,
            checkpoint: None,
            context_tokens: None,
        }
    }

    pub fn level(mut self, level: ControlLevel) -> Self {
        self.level = level;
        self
    }
}

impl Lab {
    pub fn new(wish: Wish) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut lab = Self::in_folder(root.path(), wish);
        lab.root = Some(root);
        lab
    }

    /// Opens what an earlier lab in this folder left.
    pub fn in_folder(root: &Path, wish: Wish) -> Self {
        let folder = Arc::new(Folder {
            path: root.to_owned(),
        });
        let store = Store::open(&StoreOptions::file(root.join("interlock.db"))).unwrap();
        let mut options = ModelOptions::new(Provider::Scripted, "script");
        options.dialect = wish.dialect;
        options.context_tokens = wish.context_tokens;
        options.script = Some(root.join("script.yaml"));
        std::fs::write(root.join("script.yaml"), &wish.script).unwrap();
        let script = Script::parse("script.yaml", &wish.script).unwrap();
        let models = Models::with_secrets(
            BTreeMap::from([("script".to_owned(), options.clone())]),
            Secrets::environment(),
        )
        .unwrap();
        models.insert(Client::scripted_with("script", script, options));
        let mut builder = Toolbox::builder();
        for name in ["infra_query", "infra_read", "infra_control"] {
            let executor: Arc<dyn Executor> = folder.clone();
            builder = builder.register(ToolName::new(name).unwrap(), executor).unwrap();
        }
        let setup = Setup {
            store: store.clone(),
            models,
            toolbox: builder.build(),
            inventory: folder.clone(),
            gate: Arc::new(Gate::new(
                Arc::new(Catalogue::built_in().unwrap()),
                Options::default(),
            )),
            masker: Masker::built_in(),
            prompts: Prompts::built_in().unwrap(),
            agents: BTreeMap::new(),
            chains: BTreeMap::new(),
            defaults: Defaults::default(),
            limits: wish.limits,
            queue: QueueLimits { max_pending: 1000 },
            level: wish.level,
            four_eyes: FourEyes::Off,
            checkpoint: wish.checkpoint,
        };
        Self {
            engine: Engine::new(setup).unwrap(),
            folder,
            store,
            root: None,
        }
    }

    /// Asks, and works on it until it ends or pauses.
    pub async fn ask(&self, question: &str) -> (SessionId, Outcome) {
        let session = self.engine.submit(Submission::question(question)).await.unwrap();
        let outcome = self.engine.work_on(&session).await.unwrap();
        (session, outcome)
    }

    pub async fn events(&self, session: &SessionId) -> Vec<Event> {
        self.store.events(session, Sequence::START, 10_000).await.unwrap()
    }

    pub async fn event_names(&self, session: &SessionId) -> Vec<&'static str> {
        self.events(session)
            .await
            .iter()
            .map(|event| event.body.name())
            .collect()
    }

    /// The bodies of what was sent to the model, in order.
    pub async fn requests(&self, session: &SessionId) -> Vec<Value> {
        let mut bodies = Vec::new();
        for run in self.store.runs(session).await.unwrap() {
            for interaction in self.store.interactions(&run.id).await.unwrap() {
                bodies.push(serde_json::from_slice(&interaction.body).unwrap());
            }
        }
        bodies
    }

    /// Asks the gate everything again that the session asked it.
    pub async fn prove(&self, session: &SessionId) {
        for run in self.store.runs(session).await.unwrap() {
            let trace = interlock_engine::Trace::of(&self.store, &self.engine.setup().gate, session, run)
                .await
                .unwrap();
            let text = serde_json::to_string(&trace).unwrap();
            let back: interlock_engine::Trace = serde_json::from_str(&text).unwrap();
            let traced = back.check().unwrap();
            assert!(traced.holds(), "{traced:#?}");
        }
    }
}

pub fn operator() -> UserId {
    UserId::new("olga").unwrap()
}

/// The script that finds the host, changes it once, looks, and answers; and looks again if the answer must wait.
pub const RESTART: &str = r#"
replies:
  - calls: [{tool: infra_query, arguments: {action: search, query: web}}]
  - calls: [{tool: infra_control, arguments: {action: command, target_resource_id: "host:web", command: "touch /srv/flag"}}]
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "ls /srv"}}]
  - text: "The flag was asked for; see what was done."
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "ls -l /srv"}}]
  - text: "The flag was asked for; see what was done."
"#;
