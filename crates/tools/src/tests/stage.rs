//! A gate, a session, a toolbox for this machine, and a folder to play in.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlock_exec::{Protected, Runner, SandboxPolicy};
use interlock_gate::{
    Approval, Catalogue, Decision, Gate, Moment, Options as GateOptions, Permit, Report, Session,
    SessionOptions, Settled, Situation, Started, VerificationEnd, World,
};
use interlock_protocol::{
    CallId, ContentHash, ControlLevel, Evidence, EvidenceId, ExecutionId, Identity, SessionId, ToolCall,
    ToolName, UserId, Verification,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Done, Inventory, LocalHost, Options, Reading, Toolbox};

pub(super) struct Stage {
    pub(super) gate: Gate,
    pub(super) world: World,
    pub(super) session: Session,
    pub(super) agent: ExecutionId,
    pub(super) host: LocalHost,
    pub(super) toolbox: Toolbox,
    /// What code asks by itself.
    pub(super) inventory: Arc<dyn Inventory>,
    folder: tempfile::TempDir,
    calls: u64,
}

impl Stage {
    /// A stage on which nothing is discovered. Next to its folder is one that is Interlock's own.
    pub(super) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(super) fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        fs::create_dir(&own).unwrap();
        fs::create_dir(folder.path().join("play")).unwrap();
        fs::write(own.join("key"), "hush").unwrap();
        let runner = Runner::new(Protected::new([own]), SandboxPolicy::WhereAvailable);
        let host = LocalHost::new(runner, options).unwrap();
        let toolbox = host.register(Toolbox::builder()).unwrap().build();
        let session = SessionOptions {
            level: ControlLevel::Autonomous,
            ..SessionOptions::default()
        };
        Self {
            gate: Gate::new(
                Arc::new(Catalogue::built_in().unwrap()),
                GateOptions {
                    // The operator says that the files of these tests are data.
                    data_files: [std::env::temp_dir().to_string_lossy().into_owned()].into(),
                    ..GateOptions::default()
                },
            ),
            world: World::default(),
            session: Session::new(SessionId::new("ses_1").unwrap(), session),
            agent: ExecutionId::new("exe_1").unwrap(),
            inventory: Arc::new(host.clone()),
            host,
            toolbox,
            folder,
            calls: 0,
        }
    }

    /// A stage on which this machine is discovered.
    pub(super) async fn discovered() -> Self {
        let mut stage = Self::new();
        stage.run("infra_query", json!({"action": "search"})).await;
        stage
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().join("play").canonicalize().unwrap()
    }

    /// A file of Interlock's own.
    pub(super) fn own(&self, name: &str) -> String {
        let own = self.folder.path().canonicalize().unwrap().join("own");
        own.join(name).to_str().unwrap().to_owned()
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.folder().join(name).to_str().unwrap().to_owned()
    }

    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(super) fn permit(&mut self, tool: &str, arguments: Value) -> Permit {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        self.calls += 1;
        let call = ToolCall {
            id: CallId::new(format!("call_{}", self.calls)).unwrap(),
            tool: ToolName::new(tool).unwrap(),
            arguments,
        };
        let now = Situation::at(Timestamp::now());
        match self
            .gate
            .decide(&mut self.world, &mut self.session, &self.agent, call, now)
        {
            Decision::Allow(permit) => permit,
            Decision::Block(refusal) => panic!("{refusal:?}"),
            Decision::Hold(mut hold) => {
                let by = UserId::new("anna").unwrap();
                let (token, mut record) = hold.open_for(by.clone(), [7; 32], now.now);
                let mut approval = Approval {
                    by: &by,
                    token: &token,
                    record: &mut record,
                };
                self.gate
                    .approve(&mut self.world, &mut self.session, &mut hold, &mut approval, now)
                    .unwrap()
            }
        }
    }

    pub(super) fn begin(&mut self, tool: &str, arguments: Value) -> Started {
        let permit = self.permit(tool, arguments);
        permit.begin(self.world.kill_switch, Timestamp::now()).unwrap()
    }

    /// Finds out what this machine offers, where that decides about a call, as the engine does.
    pub(super) async fn note_sandbox(&mut self, tool: &str, arguments: &Value) {
        let Value::Object(arguments) = arguments.clone() else {
            panic!("arguments are an object")
        };
        let call = ToolCall {
            id: CallId::new("call_asked").unwrap(),
            tool: ToolName::new(tool).unwrap(),
            arguments,
        };
        if let Some(place) = self
            .gate
            .sandbox_asked(&self.session, &call, &[], Timestamp::now())
        {
            let target = self.inventory.read_target(&place).await;
            self.gate.note_sandbox(&mut self.session, place, target);
        }
    }

    /// Decides, approves where it must, begins, runs, finishes and settles.
    pub(super) async fn settle(&mut self, tool: &str, arguments: Value) -> (Done, Settled) {
        self.note_sandbox(tool, &arguments).await;
        let permit = self.permit(tool, arguments);
        let before = self.inventory.baseline(permit.plan()).await;
        self.gate.baseline(&mut self.session, permit.id(), before);
        let started = permit.begin(self.world.kill_switch, Timestamp::now()).unwrap();
        let done = self.toolbox.run(&started, &CancellationToken::new()).await;
        let evidence = done
            .reading
            .clone()
            .map(|reading| self.evidence(reading, done.identity.clone()));
        let now = Timestamp::now();
        let receipt = started.finish(done.ended(now));
        let report = Report {
            receipt: &receipt,
            evidence: evidence.as_ref(),
            discovered: done.discovered.clone(),
        };
        let settled = self
            .gate
            .settle(&mut self.world, &mut self.session, report, now)
            .unwrap();
        (done, settled)
    }

    pub(super) async fn run(&mut self, tool: &str, arguments: Value) -> Done {
        self.settle(tool, arguments).await.0
    }

    /// The data of a call that works.
    pub(super) async fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let done = self.run(tool, arguments).await;
        done.response.outcome().unwrap().clone()
    }

    /// The code and message of a call that fails.
    pub(super) async fn error(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let done = self.run(tool, arguments.clone()).await;
        let error = done
            .response
            .error()
            .unwrap_or_else(|| panic!("{arguments}: {done:?}"));
        (error.code.as_str().to_owned(), error.message.clone())
    }

    pub(super) fn evidence(&self, reading: Reading, identity: Identity) -> Evidence {
        Evidence {
            id: EvidenceId::new(format!("evd_{}", self.calls)).unwrap(),
            session: self.session.id().clone(),
            execution: self.agent.clone(),
            call: CallId::new(format!("call_{}", self.calls)).unwrap(),
            tool: ToolName::new("infra_read").unwrap(),
            resource: reading.resource,
            identity,
            taken_at: reading.taken_at,
            hash: ContentHash::of_json(&reading.data),
            data: reading.data,
            observations: reading.observations,
            walls: reading.walls,
        }
    }

    /// Takes the readings that are pending as code does before a conclusion.
    pub(super) async fn observe(&mut self) -> Vec<Verification> {
        let due = self.gate.begin_conclusion(&mut self.session, &self.agent);
        let mut ends: Vec<VerificationEnd> = Vec::new();
        for due in &due {
            let reading = self.host.observe(&due.resource, &due.expectation).await;
            let identity = crate::Inventory::identity(&self.host, &due.resource).await;
            let evidence = reading.map(|reading| self.evidence(reading, identity));
            let ended = self
                .gate
                .observe(
                    &mut self.session,
                    due,
                    evidence.as_ref(),
                    Moment::ForcedConclusion,
                    Timestamp::now(),
                )
                .unwrap();
            ends.extend(ended);
        }
        ends.into_iter().map(|end| end.outcome).collect()
    }

    pub(super) fn here(&self) -> String {
        self.host.id().to_string()
    }

    /// Arguments of `infra_read` on this machine.
    pub(super) fn read(&self, action: &str, more: Value) -> Value {
        with(json!({"action": action, "target_resource_id": self.here()}), more)
    }

    pub(super) fn at(&self, path: &str) -> Value {
        json!({"path": path, "target_resource_id": self.here()})
    }
}

pub(super) fn with(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

pub(super) fn outcomes(settled: &Settled) -> Vec<Verification> {
    settled.ended.iter().map(|end| end.outcome).collect()
}

pub(super) fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}
