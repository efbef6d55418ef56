//! A gate and a session to run tools in: for the tests of tool families.

use std::sync::Arc;

use interlock_gate::{
    Approval, Catalogue, Decision, Gate, Moment, Options, Permit, Refusal, Report, Session, SessionOptions,
    Settled, Situation, Started, World,
};
use interlock_protocol::{
    CallId, ContentHash, ControlLevel, Evidence, EvidenceId, ExecutionId, Identity, SessionId, Source,
    ToolCall, ToolName, UserId, Verification,
};
use jiff::Timestamp;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{Done, Inventory, Reading, Toolbox};

/// The real gate, a session at `autonomous`, a toolbox and an inventory. Calls go the way that the engine takes: the gate
/// decides, a person approves what is held, the call runs, its receipt and evidence go back to the gate.
pub struct Stage {
    /// What decides.
    pub gate: Gate,
    /// What all sessions share.
    pub world: World,
    /// The one session.
    pub session: Session,
    /// Who proposes in it.
    pub agent: ExecutionId,
    /// What runs.
    pub toolbox: Toolbox,
    /// What code asks by itself.
    pub inventory: Arc<dyn Inventory>,
    calls: u64,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage")
            .field("toolbox", &self.toolbox)
            .finish_non_exhaustive()
    }
}

#[expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    clippy::panic,
    reason = "a test that is set up wrongly must fail at once; no shipped binary has this feature"
)]
impl Stage {
    /// A stage on which nothing is discovered yet.
    pub fn new(
        catalogue: Catalogue,
        options: Options,
        toolbox: Toolbox,
        inventory: Arc<dyn Inventory>,
    ) -> Self {
        let session = SessionOptions {
            level: ControlLevel::Autonomous,
            ..SessionOptions::default()
        };
        Self {
            gate: Gate::new(Arc::new(catalogue), options),
            world: World::default(),
            session: Session::new(SessionId::new("ses_1").expect("an id"), session),
            agent: ExecutionId::new("exe_1").expect("an id"),
            toolbox,
            inventory,
            calls: 0,
        }
    }

    fn call(&self, tool: &str, arguments: &Value) -> ToolCall {
        let Value::Object(arguments) = arguments.clone() else {
            panic!("arguments are an object: {arguments}")
        };
        ToolCall {
            id: CallId::new(format!("call_{}", self.calls)).expect("an id"),
            tool: ToolName::new(tool).expect("the name of a tool"),
            arguments,
        }
    }

    /// What the gate says to a call. What it holds is approved.
    pub fn decide(&mut self, tool: &str, arguments: &Value) -> Result<Permit, Box<Refusal>> {
        self.calls += 1;
        let call = self.call(tool, arguments);
        let now = Situation::at(Timestamp::now());
        match self
            .gate
            .decide(&mut self.world, &mut self.session, &self.agent, call, now)
        {
            Decision::Allow(permit) => Ok(permit),
            Decision::Block(refusal) => Err(refusal),
            Decision::Hold(mut hold) => {
                let by = UserId::new("anna").expect("an id");
                let (token, mut record) = hold.open_for(by.clone(), [7; 32], now.now);
                let mut approval = Approval {
                    by: &by,
                    token: &token,
                    record: &mut record,
                };
                let approved =
                    self.gate
                        .approve(&mut self.world, &mut self.session, &mut hold, &mut approval, now);
                Ok(approved.expect("an approval that holds"))
            }
        }
    }

    /// The permit of a call that the gate lets pass.
    pub fn permit(&mut self, tool: &str, arguments: Value) -> Permit {
        self.decide(tool, &arguments)
            .unwrap_or_else(|refusal| panic!("{arguments}: {refusal:?}"))
    }

    /// A call that has begun.
    pub fn begin(&mut self, tool: &str, arguments: Value) -> Started {
        let permit = self.permit(tool, arguments);
        permit
            .begin(self.world.kill_switch, Timestamp::now())
            .expect("writes are not stopped")
    }

    /// Finds out what a place offers, where that decides about a call, as the engine does.
    pub async fn note_sandbox(&mut self, tool: &str, arguments: &Value) {
        let call = self.call(tool, arguments);
        let asked = self
            .gate
            .sandbox_asked(&self.session, &call, &[], Timestamp::now());
        if let Some(place) = asked {
            let target = self.inventory.read_target(&place).await;
            self.gate.note_sandbox(&mut self.session, place, target);
        }
    }

    /// Decides, approves where it must, begins, runs, finishes and settles.
    pub async fn settle(&mut self, tool: &str, arguments: Value) -> (Done, Settled) {
        self.note_sandbox(tool, &arguments).await;
        let permit = self.permit(tool, arguments);
        let before = self.inventory.baseline(permit.plan()).await;
        self.gate.baseline(&mut self.session, permit.id(), before);
        let started = permit
            .begin(self.world.kill_switch, Timestamp::now())
            .expect("writes are not stopped");
        let done = self.toolbox.run(&started, &CancellationToken::new()).await;
        let evidence = done.reading.clone().map(|reading| Evidence {
            source: Some(Source::Call {
                arguments: started.plan().arguments.clone(),
            }),
            ..self.evidence(tool, reading, done.identity.clone())
        });
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
            .expect("the gate knows this call");
        (done, settled)
    }

    /// What came of a call.
    pub async fn run(&mut self, tool: &str, arguments: Value) -> Done {
        self.settle(tool, arguments).await.0
    }

    /// The data of a call that works.
    pub async fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let done = self.run(tool, arguments.clone()).await;
        let data = done.response.outcome().ok().cloned();
        data.unwrap_or_else(|| panic!("{arguments}: {done:?}"))
    }

    /// The code and message of a call that fails.
    pub async fn error(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let done = self.run(tool, arguments.clone()).await;
        let error = done
            .response
            .error()
            .unwrap_or_else(|| panic!("{arguments}: {done:?}"));
        (error.code.as_str().to_owned(), error.message.clone())
    }

    /// A reading that code took, as evidence.
    pub fn evidence(&self, tool: &str, reading: Reading, identity: Identity) -> Evidence {
        Evidence {
            id: EvidenceId::new(format!("evd_{}", self.calls)).expect("an id"),
            session: self.session.id().clone(),
            execution: self.agent.clone(),
            call: CallId::new(format!("call_{}", self.calls)).expect("an id"),
            tool: ToolName::new(tool).expect("the name of a tool"),
            resource: reading.resource,
            identity,
            taken_at: reading.taken_at,
            hash: ContentHash::of_json(&reading.data),
            data: reading.data,
            observations: reading.observations,
            source: Some(Source::Code),
            walls: reading.walls,
        }
    }

    /// Takes the readings that are pending as code does before a conclusion.
    pub async fn observe(&mut self) -> Vec<Verification> {
        let due = self.gate.begin_conclusion(&mut self.session, &self.agent);
        let mut ends = Vec::new();
        for due in &due {
            let reading = self.inventory.observe(&due.resource, &due.expectation).await;
            let identity = self.inventory.identity(&due.resource).await;
            let evidence = reading.map(|reading| self.evidence("infra_read", reading, identity));
            let ended = self.gate.observe(
                &mut self.session,
                due,
                evidence.as_ref(),
                Moment::ForcedConclusion,
                Timestamp::now(),
            );
            ends.extend(ended.expect("the gate waits for this reading"));
        }
        ends.into_iter().map(|end| end.outcome).collect()
    }
}
