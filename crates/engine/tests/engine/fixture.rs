//! An engine over a real database file, the real gate and a scripted model. Its one host is a folder: reading it reads
//! files there, changing it appends lines there.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interlock_assembly::{Assembly, Folders};
use interlock_config::Config;
use interlock_dialect::Dialect;
use interlock_engine::{
    AgentOptions, Barred, ChainOptions, Engine, Error, Limits, Opened, Outcome, Person, StageOptions,
    Submission, Success,
};
use interlock_executor::{BoxFuture, Done, Executor, Inventory, Reading, Toolbox};
use interlock_gate::{
    ApprovalToken, Catalogue, FourEyes, Hold, Options, Plan, ReadTarget, ResolvedResource, Started, Where,
};
use interlock_model::{Client, Models, Options as ModelOptions, Provider, Script, Secrets, Span, Timeouts};
use interlock_protocol::{
    Arguments, ContentHash, ControlLevel, Decision, Event, EventBody, Expectation, HoldId, Identity,
    IdentityFact, Observation, ResourceId, SandboxWall, Sequence, SessionId, ToolKind, ToolName, UserId,
    WallKind,
};
use interlock_store::{Holds, Options as StoreOptions, Store};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The key that signs the records of these tests.
pub(crate) fn keyring() -> interlock_seal::Keyring {
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    interlock_seal::Keyring::signing(interlock_seal::Signer::from_text(key).unwrap())
}

/// Another name of the host, which only the inventory knows.
pub(crate) const ADDRESS: &str = "10.20.0.11";

/// The one host.
pub(crate) fn host() -> ResourceId {
    "host:web".parse().unwrap()
}

/// Who asks the next question.
pub(crate) fn asker() -> UserId {
    UserId::new("zoe").unwrap()
}

/// A host that is a folder.
#[derive(Default)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// The state in which it is found; running where nothing else is said.
    pub(crate) state: Mutex<Option<String>>,
    /// The SSH key of the machine that has its name; nothing where machines are not told apart.
    pub(crate) machine: Mutex<Option<String>>,
    /// The machine that takes its name after the next write.
    swap: Mutex<Option<String>>,
    /// Whether code cannot look at it.
    pub(crate) dark: AtomicBool,
    /// Whether it offers a read sandbox.
    pub(crate) sandboxed: AtomicBool,
    /// What happens in place of the usual.
    behaviour: Option<Behaviour>,
}

/// What an executor does in place of the usual; nothing for the usual.
pub(crate) type Behaviour = Arc<
    dyn for<'a> Fn(&'a Folder, &'a Started, &'a CancellationToken) -> Option<BoxFuture<'a, Done>>
        + Send
        + Sync,
>;

impl Folder {
    /// What was done, a line each.
    pub(crate) fn effects(&self) -> Vec<String> {
        std::fs::read_to_string(self.path.join("effects"))
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn identity_now(&self) -> Identity {
        match &*self.machine.lock().unwrap() {
            None => Identity::default(),
            Some(key) => Identity::default()
                .with(IdentityFact::Endpoint, "10.0.0.5:22")
                .with(IdentityFact::SshHostKey, key.as_str()),
        }
    }

    fn resource(&self) -> ResolvedResource {
        let state = self.state.lock().unwrap().clone();
        ResolvedResource::new(host(), "web")
            .in_state(state.unwrap_or_else(|| "running".to_owned()))
            .identified(self.identity_now())
    }

    /// Another machine takes the name as soon as something was written.
    pub(crate) fn swap_after_write(&self, key: &str) {
        *self.swap.lock().unwrap() = Some(key.to_owned());
    }

    /// Does something that can be seen.
    pub(crate) fn write(&self, line: &str) {
        let mut file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.path.join("effects"))
            .unwrap();
        writeln!(file, "{line}").unwrap();
        file.sync_all().unwrap();
    }

    /// What a plan changes, in a line.
    pub(crate) fn line(plan: &Plan) -> String {
        plan.command
            .clone()
            .or_else(|| plan.action.clone())
            .unwrap_or_default()
    }
}

impl Executor for Folder {
    fn run<'a>(&'a self, started: &'a Started, cancel: &'a CancellationToken) -> BoxFuture<'a, Done> {
        if let Some(behaviour) = &self.behaviour
            && let Some(running) = behaviour(self, started, cancel)
        {
            return running;
        }
        Box::pin(async move {
            let plan = started.plan();
            let mut done = match plan.kind {
                ToolKind::Resolve => Done::succeeded(
                    json!({ "resources": [{ "id": host(), "name": "web" }] }),
                    "found 1",
                )
                .with_discovered(vec![self.resource()]),
                ToolKind::Read => {
                    let command = plan.command.clone().unwrap_or_default();
                    let data = json!({ "stdout": format!("output of {command}: load 0.42, password=hunter2secret"), "exit_code": 0 });
                    Done::succeeded(data.clone(), "read").with_reading(Reading {
                        resource: Some(host()),
                        taken_at: Timestamp::now(),
                        data,
                        observations: vec![Observation::Present],
                        walls: None,
                    })
                }
                ToolKind::Write => {
                    self.write(&Self::line(plan));
                    Done::succeeded(json!({ "done": true }), "wrote")
                }
            };
            done.identity = self.identity_now();
            if plan.kind == ToolKind::Write
                && let Some(key) = self.swap.lock().unwrap().take()
            {
                *self.machine.lock().unwrap() = Some(key);
            }
            done
        })
    }
}

impl Inventory for Folder {
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move {
            // A session that found `web` does not know its address.
            if name == "web" || name == host().to_string() || name == ADDRESS {
                vec![self.resource()]
            } else {
                Vec::new()
            }
        })
    }

    fn identity<'a>(&'a self, _: &'a ResourceId) -> BoxFuture<'a, Identity> {
        Box::pin(std::future::ready(self.identity_now()))
    }

    fn observe<'a>(
        &'a self,
        resource: &'a ResourceId,
        expectation: &'a Expectation,
    ) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async move {
            if self.dark.load(Ordering::SeqCst) {
                return None;
            }
            Some(Reading {
                resource: Some(resource.clone()),
                taken_at: Timestamp::now(),
                data: json!({ "effects": self.effects() }),
                observations: match expectation {
                    // Every file holds what was done so far.
                    Expectation::FilePatched { path } | Expectation::FileHash { path, .. } => {
                        vec![Observation::File {
                            path: path.clone(),
                            hash: Some(ContentHash::of(self.effects().join("\n"))),
                        }]
                    }
                    _ => vec![Observation::Present],
                },
                walls: None,
            })
        })
    }

    fn read_target<'a>(&'a self, _: &'a Where) -> BoxFuture<'a, ReadTarget> {
        let sandbox = if self.sandboxed.load(Ordering::SeqCst) {
            SandboxWall::Enforced {
                by: WallKind::Bubblewrap,
                sockets: Vec::new(),
                missing: Vec::new(),
            }
        } else {
            SandboxWall::None {
                reason: "it has no bwrap".to_owned(),
            }
        };
        Box::pin(std::future::ready(ReadTarget {
            sandbox,
            tags: ["prod".to_owned()].into(),
        }))
    }
}

/// What a test starts from.
pub(crate) struct Lab {
    pub(crate) engine: Engine,
    pub(crate) folder: Arc<Folder>,
    pub(crate) store: Store,
    root: Option<tempfile::TempDir>,
}

/// What may differ from one test to the next.
#[derive(Default)]
pub(crate) struct Wish {
    /// The scripts of the models, by name. The first is the default.
    pub(crate) scripts: Vec<(String, String)>,
    pub(crate) level: ControlLevel,
    pub(crate) limits: Limits,
    pub(crate) dialect: Option<Dialect>,
    pub(crate) checkpoint: Option<interlock_engine::Checkpoint>,
    pub(crate) context_tokens: Option<u32>,
    pub(crate) agents: BTreeMap<String, AgentOptions>,
    pub(crate) chains: BTreeMap<String, ChainOptions>,
    pub(crate) gate: Options,
    pub(crate) four_eyes: FourEyes,
    pub(crate) timeouts: Option<Timeouts>,
    pub(crate) behaviour: Option<Behaviour>,
    /// How long to wait for another program that holds the database.
    pub(crate) busy: Option<Duration>,
    /// Whether the record is not signed.
    pub(crate) unsigned: bool,
}

impl Wish {
    pub(crate) fn script(script: &str) -> Self {
        Self {
            scripts: vec![("script".to_owned(), script.to_owned())],
            level: ControlLevel::Autonomous,
            ..Self::default()
        }
    }

    pub(crate) fn replies(replies: impl IntoIterator<Item = Value>) -> Self {
        Self::script(&script(replies))
    }

    pub(crate) fn level(mut self, level: ControlLevel) -> Self {
        self.level = level;
        self
    }

    pub(crate) fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// One more model, and an agent of the same name that uses it.
    pub(crate) fn agent(mut self, name: &str, replies: impl IntoIterator<Item = Value>) -> Self {
        self.scripts.push((name.to_owned(), script(replies)));
        let agent = AgentOptions {
            model: Some(name.to_owned()),
            ..AgentOptions::default()
        };
        self.agents.insert(name.to_owned(), agent);
        self
    }

    /// A chain for alerts of type `test`, with these agents in its stages.
    pub(crate) fn chain(mut self, success: Success, stages: &[&[&str]]) -> Self {
        let stages = stages.iter().enumerate().map(|(at, agents)| StageOptions {
            name: format!("stage {at}"),
            agents: agents.iter().map(|agent| (*agent).to_owned()).collect(),
            success,
            synthesis: None,
        });
        let chain = ChainOptions {
            description: String::new(),
            alert_types: vec!["test".to_owned()],
            stages: stages.collect(),
        };
        self.chains.insert("test".to_owned(), chain);
        self
    }

    pub(crate) fn behaves<F>(mut self, behaviour: F) -> Self
    where
        F: for<'a> Fn(&'a Folder, &'a Started, &'a CancellationToken) -> Option<BoxFuture<'a, Done>>
            + Send
            + Sync
            + 'static,
    {
        self.behaviour = Some(Arc::new(behaviour));
        self
    }
}

/// A script of these replies.
pub(crate) fn script(replies: impl IntoIterator<Item = Value>) -> String {
    json!({ "replies": replies.into_iter().collect::<Vec<_>>() }).to_string()
}

pub(crate) fn says(text: &str) -> Value {
    json!({ "text": text })
}

/// A reply with these calls.
pub(crate) fn calls(calls: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let calls: Vec<Value> = calls
        .into_iter()
        .map(|(tool, arguments)| json!({ "tool": tool, "arguments": arguments }))
        .collect();
    json!({ "calls": calls })
}

pub(crate) fn find() -> (&'static str, Value) {
    ("infra_query", json!({ "action": "search", "query": "web" }))
}

pub(crate) fn read(command: &str) -> (&'static str, Value) {
    let arguments = json!({ "action": "exec", "target_resource_id": "host:web", "command": command });
    ("infra_read", arguments)
}

pub(crate) fn write(command: &str) -> (&'static str, Value) {
    let arguments = json!({ "action": "command", "target_resource_id": "host:web", "command": command });
    ("infra_control", arguments)
}

/// A call as a dialect writes it.
pub(crate) fn call_in(dialect: Dialect, (tool, arguments): (&'static str, Value)) -> Value {
    match dialect {
        Dialect::Native => calls([(tool, arguments)]),
        Dialect::Fenced => {
            let call = json!({ "tool_name": tool, "arguments": arguments });
            json!({ "raw": format!("```tool\n{call}\n```") })
        }
        Dialect::Envelope => {
            json!({ "raw": json!({ "tool_call": { "name": tool, "parameters": arguments } }).to_string() })
        }
        Dialect::React => {
            json!({ "raw": format!("Thought: go on\nAction: {tool}\nAction Input: {arguments}") })
        }
    }
}

/// An answer as a dialect writes it.
pub(crate) fn answer_in(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::Native | Dialect::Fenced => json!({ "raw": text }),
        Dialect::Envelope => {
            json!({ "raw": json!({ "final_answer": { "summary": text, "confidence": "high" } }).to_string() })
        }
        Dialect::React => json!({ "raw": format!("Thought: done\nFinal Answer: {text}") }),
    }
}

impl Lab {
    pub(crate) fn new(wish: Wish) -> Self {
        let root = tempfile::tempdir().unwrap();
        let mut lab = Self::in_folder(root.path(), wish);
        lab.root = Some(root);
        lab
    }

    /// Opens what an earlier lab in this folder left.
    pub(crate) fn in_folder(root: &Path, wish: Wish) -> Self {
        let folder = Arc::new(Folder {
            path: root.to_owned(),
            behaviour: wish.behaviour,
            ..Folder::default()
        });
        let mut options = StoreOptions::sqlite(root.join("interlock.db"));
        if let Some(busy) = wish.busy {
            options = options.with_busy_timeout(busy);
        }
        let store = if wish.unsigned {
            Store::open(&options).unwrap()
        } else {
            Store::open_signed(&options, keyring()).unwrap()
        };
        let mut entries = BTreeMap::new();
        let mut clients = Vec::new();
        for (name, script) in &wish.scripts {
            let mut options = ModelOptions::new(Provider::Scripted, name);
            options.dialect = wish.dialect;
            options.context_tokens = wish.context_tokens;
            options.timeouts = wish.timeouts.unwrap_or_default();
            options.retries.base = Span::from_millis(1);
            let file = root.join(format!("{name}.yaml"));
            std::fs::write(&file, script).unwrap();
            options.script = Some(file);
            let script = Script::parse(name, script).unwrap();
            clients.push(Client::scripted_with(name, script, options.clone()));
            entries.insert(name.clone(), options);
        }
        let models = Models::with_secrets(entries, Secrets::environment()).unwrap();
        for client in clients {
            models.insert(client);
        }
        let mut builder = Toolbox::builder();
        // The tool for files only where a script calls it.
        let edits = |(_, script): &(String, String)| script.contains("infra_file_edit");
        let files = wish.scripts.iter().any(edits).then_some("infra_file_edit");
        for name in ["infra_query", "infra_read", "infra_control"]
            .into_iter()
            .chain(files)
        {
            let executor: Arc<dyn Executor> = folder.clone();
            builder = builder.register(ToolName::new(name).unwrap(), executor).unwrap();
        }
        let mut gate = wish.gate;
        // What the scripts write is data, so that `autonomous` does not ask.
        gate.data_files.insert("/srv".to_owned());
        let mut config = Config::default();
        config.agents = wish.agents;
        config.chains = wish.chains;
        config.defaults.model = wish.scripts.first().map(|(name, _)| name.clone());
        let (mut setup, _) = Assembly::of(&config)
            .folders(Folders::within(root))
            .models(models)
            .tools(Catalogue::built_in().unwrap(), builder.build(), folder.clone())
            .gate(gate)
            .setup(store.clone())
            .unwrap();
        setup.settings.limits = wish.limits;
        setup.settings.level = wish.level;
        setup.settings.four_eyes = wish.four_eyes;
        setup.checkpoint = wish.checkpoint;
        Self {
            engine: Engine::new(setup).unwrap(),
            folder,
            store,
            root: None,
        }
    }

    /// Asks, and works on it until it ends or pauses.
    pub(crate) async fn ask(&self, question: &str) -> (SessionId, Outcome) {
        let session = self.engine.submit(Submission::question(question)).await.unwrap();
        let outcome = self.engine.work_on(&session).await.unwrap();
        (session, outcome)
    }

    /// An alert of type `test`, worked on until it ends or pauses.
    pub(crate) async fn alert(&self, alert: &str) -> (SessionId, Outcome) {
        let session = self
            .engine
            .submit(Submission::alert("test", alert))
            .await
            .unwrap();
        let outcome = self.engine.work_on(&session).await.unwrap();
        (session, outcome)
    }

    /// The next question of a chat.
    pub(crate) async fn again(&self, session: &SessionId, question: &str) -> Outcome {
        self.engine.ask_again(session, &asker(), question).await.unwrap();
        self.engine.work_on(session).await.unwrap()
    }

    /// The one hold that waits.
    pub(crate) async fn hold(&self) -> HoldId {
        let holds = self.store.holds(Holds::Open).await.unwrap();
        assert_eq!(holds.len(), 1, "{holds:#?}");
        holds[0].id.clone()
    }

    /// Everything that is on the disk, the log of the database with it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for name in ["interlock.db", "interlock.db-wal", "interlock.db-shm"] {
            bytes.extend(std::fs::read(self.folder.path.join(name)).unwrap_or_default());
        }
        bytes
    }

    /// The rules that refused something, in order.
    pub(crate) async fn refusals(&self, session: &SessionId) -> Vec<String> {
        let refused = |event: Event| match event.body {
            EventBody::DecisionMade {
                decision: Decision::Refused(refusal),
                ..
            } => Some(refusal.rule.to_string()),
            _ => None,
        };
        self.events(session)
            .await
            .into_iter()
            .filter_map(refused)
            .collect()
    }

    /// The calls that are shown to people with this status.
    pub(crate) async fn shown(
        &self,
        session: &SessionId,
        status: &str,
    ) -> Vec<interlock_store::TimelineEntry> {
        let timeline = self.store.timeline(session).await.unwrap();
        let wanted =
            |entry: &interlock_store::TimelineEntry| entry.kind == "llm_tool_call" && entry.status == status;
        timeline.into_iter().filter(wanted).collect()
    }

    /// All traces of a session, as they are exported.
    pub(crate) async fn traces(&self, session: &SessionId) -> String {
        let mut text = String::new();
        for run in self.store.runs(session).await.unwrap() {
            let trace = interlock_engine::Trace::of(&self.store, session, run)
                .await
                .unwrap();
            text.push_str(&serde_json::to_string(&trace).unwrap());
        }
        text
    }

    /// What was sent to the model last, as text.
    pub(crate) async fn last_request(&self, session: &SessionId) -> String {
        self.requests(session).await.last().unwrap().to_string()
    }

    pub(crate) async fn events(&self, session: &SessionId) -> Vec<Event> {
        self.store.events(session, Sequence::START, 10_000).await.unwrap()
    }

    pub(crate) async fn event_names(&self, session: &SessionId) -> Vec<&'static str> {
        self.events(session)
            .await
            .iter()
            .map(|event| event.body.name())
            .collect()
    }

    /// The answers that were given, in order, each with its head.
    pub(crate) async fn given(&self, session: &SessionId) -> Vec<(String, Option<interlock_protocol::Head>)> {
        let events = self.events(session).await;
        let given = events.into_iter().filter_map(|event| match event.body {
            interlock_protocol::EventBody::AnswerGiven { text, head } => Some((text, head.map(|head| *head))),
            _ => None,
        });
        given.collect()
    }

    /// The bodies of what was sent to the model, in order.
    pub(crate) async fn requests(&self, session: &SessionId) -> Vec<Value> {
        let mut bodies = Vec::new();
        for run in self.store.runs(session).await.unwrap() {
            for interaction in self.store.interactions(&run.id).await.unwrap() {
                bodies.push(serde_json::from_slice(&interaction.body).unwrap());
            }
        }
        bodies
    }

    /// Asks the gate everything again that the session asked it; and looks whether each effect has its permit, each
    /// permit one receipt, and each call on the wire its one result.
    pub(crate) async fn prove(&self, session: &SessionId) {
        for body in self.requests(session).await {
            well_formed(&body);
        }
        for run in self.store.runs(session).await.unwrap() {
            let trace = interlock_engine::Trace::of(&self.store, session, run)
                .await
                .unwrap();
            let text = serde_json::to_string(&trace).unwrap();
            let back: interlock_engine::Trace = serde_json::from_str(&text).unwrap();
            let traced = back.check(self.store.keyring()).unwrap();
            assert!(traced.holds(), "{traced:#?}");
        }
        self.timeline_is_derived(session).await;
        // No write is missing in the head, whatever became of the processes that made them.
        let head = interlock_engine::head(&self.store, session).await.unwrap();
        let calls = self.store.calls(session).await.unwrap();
        let writes = calls
            .iter()
            .filter(|call| call.started.plan.kind == interlock_protocol::ToolKind::Write);
        assert_eq!(
            head.actions.len() + head.earlier_actions as usize,
            writes.count(),
            "{head:?}"
        );
        // Nor a write that did not run. The record is the truth: the head that the gate gave with an answer says what the record
        // said at that moment. What waited then and was withdrawn later, because the session was stopped, is in the record alone.
        let mut outline = self.store.outline(session).await.unwrap();
        let Some((answer, last)) = outline.answer.clone().zip(outline.runs.last().cloned()) else {
            return;
        };
        let given = answer.metadata.get("head").cloned();
        if let Some(given) = given
            && last.channel != "direct"
            && answer.at >= last.started_at
        {
            outline.not_run.retain(|call| call.at <= answer.at);
            let seal = interlock_store::SealState::Unsigned;
            let then = interlock_engine::head_of(&outline, &[], &[], &seal);
            let given: interlock_protocol::Head = serde_json::from_value(given).unwrap();
            // The record says more than the gate remembers: what was approved before it was refused, and what was edited.
            let told = |head: &interlock_protocol::Head| -> Vec<_> {
                let writes = head.not_run.iter();
                writes
                    .map(|write| (write.reason, write.by.clone(), write.code, write.count))
                    .collect()
            };
            assert_eq!(told(&given), told(&then));
            for (given, then) in given.not_run.iter().zip(then.not_run) {
                if then.approved_by.is_none() && then.edited_by.is_none() {
                    assert_eq!(*given, then);
                }
            }
        }
    }

    /// What people see of each call is what its rows say: made again from them, the timeline is the same.
    pub(crate) async fn timeline_is_derived(&self, session: &SessionId) {
        let timeline = self.store.timeline(session).await.unwrap();
        let shown: Vec<_> = timeline
            .into_iter()
            .filter(|entry| entry.kind == "llm_tool_call")
            .collect();
        let derived = interlock_engine::derived_timeline(&self.store, session)
            .await
            .unwrap();
        assert_eq!(shown, derived);
    }

    /// What the head says about writes that did not run.
    pub(crate) async fn not_run(&self, session: &SessionId) -> Vec<String> {
        let head = interlock_engine::head(&self.store, session).await.unwrap();
        head.not_run
            .iter()
            .map(interlock_protocol::WriteNotRun::text)
            .collect()
    }
}

pub(crate) fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

pub(crate) fn operator() -> UserId {
    UserId::new("olga").unwrap()
}

/// Decides as the user of a shell, by name: the proof is asked for each time.
pub(crate) trait DecidesByName {
    async fn approve_by(&self, hold: &HoldId, by: &UserId) -> Result<Hold, Error>;
    async fn approve_with_by(&self, hold: &HoldId, by: &UserId, token: &ApprovalToken)
    -> Result<Hold, Error>;
    async fn open_hold_by(&self, hold: &HoldId, by: &UserId) -> Result<Opened, Error>;
    async fn deny_by(&self, hold: &HoldId, by: &UserId, reason: &str) -> Result<Hold, Error>;
    async fn edit_by(&self, hold: &HoldId, by: &UserId, arguments: Arguments) -> Result<Hold, Error>;
    async fn barred_by(&self, hold: &Hold, by: &UserId) -> Result<Option<Barred>, Error>;
}

impl DecidesByName for Engine {
    async fn approve_by(&self, hold: &HoldId, by: &UserId) -> Result<Hold, Error> {
        let approver = self.approver(hold, &Person::at_shell(by.clone())).await?;
        self.approve(&approver).await
    }

    async fn approve_with_by(
        &self,
        hold: &HoldId,
        by: &UserId,
        token: &ApprovalToken,
    ) -> Result<Hold, Error> {
        let approver = self.approver(hold, &Person::at_shell(by.clone())).await?;
        self.approve_with(&approver, token).await
    }

    async fn open_hold_by(&self, hold: &HoldId, by: &UserId) -> Result<Opened, Error> {
        let approver = self.approver(hold, &Person::at_shell(by.clone())).await?;
        self.open_hold(&approver).await
    }

    async fn deny_by(&self, hold: &HoldId, by: &UserId, reason: &str) -> Result<Hold, Error> {
        let decider = self.decider(hold, &Person::at_shell(by.clone())).await?;
        self.deny(&decider, reason).await
    }

    async fn edit_by(&self, hold: &HoldId, by: &UserId, arguments: Arguments) -> Result<Hold, Error> {
        let decider = self.decider(hold, &Person::at_shell(by.clone())).await?;
        self.edit(&decider, arguments).await
    }

    async fn barred_by(&self, hold: &Hold, by: &UserId) -> Result<Option<Barred>, Error> {
        self.barred(hold, &Person::at_shell(by.clone())).await
    }
}

/// The script that finds the host, changes it once, looks, and answers; and looks again if the answer must wait.
pub(crate) const RESTART: &str = r#"
replies:
  - calls: [{tool: infra_query, arguments: {action: search, query: web}}]
  - calls: [{tool: infra_control, arguments: {action: command, target_resource_id: "host:web", command: "touch /srv/flag"}}]
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "ls /srv"}}]
  - text: "The flag was asked for; see what was done."
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "ls -l /srv"}}]
  - text: "The flag was asked for; see what was done."
"#;

/// Every call that a request shows has exactly one result, behind it and before the model speaks again.
pub(crate) fn well_formed(body: &Value) {
    let mut open: Vec<String> = Vec::new();
    let messages = body["messages"].as_array().unwrap();
    for message in messages {
        match message["role"].as_str().unwrap() {
            "assistant" => {
                assert_eq!(open, Vec::<String>::new(), "a call without its result: {body:#}");
                for call in message["calls"].as_array().into_iter().flatten() {
                    open.push(call["id"].as_str().unwrap().to_owned());
                }
            }
            "tool" => {
                let call = message["call"].as_str().unwrap();
                let at = open.iter().position(|id| id == call);
                open.remove(at.unwrap_or_else(|| panic!("a result without its call: {body:#}")));
            }
            _ => assert_eq!(open, Vec::<String>::new(), "a call without its result: {body:#}"),
        }
    }
    assert_eq!(open, Vec::<String>::new(), "a call without its result: {body:#}");
}

/// Whether bytes are somewhere in others.
pub(crate) fn has(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|at| at == needle)
}
