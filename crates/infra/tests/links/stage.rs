//! The proof that the gate permitted a plan, from the gate itself. The tests of the lab's sandboxes use it too.

#![allow(dead_code, reason = "each user needs only some of this")]

use std::sync::Arc;

use interlock_gate::{
    Approval, Catalogue, Decision, Ended, Gate, Options, Report, ResolvedResource, Session, SessionOptions,
    Situation, Started, World,
};
use interlock_protocol::{
    CallId, ControlLevel, ExecutionId, Outcome, SessionId, ToolCall, ToolKind, ToolName, UserId,
};
use jiff::Timestamp;
use serde_json::{Value, json};

struct Stage {
    gate: Gate,
    world: World,
    session: Session,
}

/// A started call of this tool, in a session that has discovered this resource.
pub(crate) fn started(resource: &str, tool: &str, arguments: Value) -> Started {
    let mut stage = Stage {
        gate: Gate::new(Arc::new(Catalogue::built_in().unwrap()), Options::default()),
        world: World::default(),
        session: Session::new(
            SessionId::new("ses_1").unwrap(),
            SessionOptions {
                level: ControlLevel::Autonomous,
                ..SessionOptions::default()
            },
        ),
    };
    let search = stage.begin(1, "infra_query", json!({"action": "list"}));
    let now = Timestamp::now();
    let receipt = search.finish(Ended {
        outcome: Outcome::Succeeded,
        finished_at: Some(now),
        exit_code: None,
        output_hash: None,
        summary: String::new(),
    });
    let report = Report {
        receipt: &receipt,
        evidence: None,
        discovered: vec![ResolvedResource::new(resource.parse().unwrap(), "it")],
    };
    stage
        .gate
        .settle(&mut stage.world, &mut stage.session, report, now)
        .unwrap();
    stage.begin(2, tool, arguments)
}

/// A started call that only looks at this resource.
pub(crate) fn reading(resource: &str) -> Started {
    let arguments = json!({"action": "get", "resource_id": resource});
    let started = started(resource, "infra_query", arguments);
    assert_eq!(started.plan().kind, ToolKind::Resolve);
    assert_eq!(started.plan().resource(), Some(&resource.parse().unwrap()));
    started
}

impl Stage {
    fn begin(&mut self, number: u32, tool: &str, arguments: Value) -> Started {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let call = ToolCall {
            id: CallId::new(format!("call_{number}")).unwrap(),
            tool: ToolName::new(tool).unwrap(),
            arguments,
        };
        let now = Situation::at(Timestamp::now());
        let agent = ExecutionId::new("exe_1").unwrap();
        let permit = match self
            .gate
            .decide(&mut self.world, &mut self.session, &agent, call, now)
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
        };
        permit.begin(self.world.kill_switch, Timestamp::now()).unwrap()
    }
}
