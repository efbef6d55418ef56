//! Sessions, calls and holds to keep, made from small numbers.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test binary uses its own part of this, and a test may fail where it likes"
)]

use interlock_gate::{FourEyes, Hold, HoldStatus, Plan, Target, Undo};
use interlock_protocol::{
    CallId, ContentHash, ControlLevel, ErrorCode, Event, EventBody, Evidence, EvidenceId, ExecutionId,
    Expectation, HoldId, Identity, IdentityFact, Label, Outcome, PermitId, Receipt, ReceiptId, ResourceId,
    RiskLevel, RunId, Sequence, SessionId, SessionKind, StageId, Status, ToolKind, ToolName, WorkerId,
};
use interlock_store::{
    Batch, Claim, Concurrency, Execution, Interaction, Message, NewSession, Options, QueueLimits, Record,
    Run, ShownCall, Stage, StartedCall, Step, Store, TimelineEntry,
};
use jiff::Timestamp;
use serde_json::json;

pub const ROOM: QueueLimits = QueueLimits { max_pending: 100_000 };
pub const MANY: Concurrency = Concurrency {
    worker: 100_000,
    overall: None,
};

/// A moment, with nanoseconds that must survive.
pub fn at(second: i64) -> Timestamp {
    Timestamp::new(1_800_000_000 + second, 123_456_789).unwrap()
}

fn bytes(number: u64) -> [u8; 16] {
    // Spread, as random ids are.
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&ContentHash::of(number.to_be_bytes()).as_bytes()[..16]);
    bytes
}

pub fn session_id(number: u64) -> SessionId {
    SessionId::from_bytes(bytes(number))
}

pub fn execution_id(number: u64) -> ExecutionId {
    ExecutionId::from_bytes(bytes(number))
}

pub fn run_id(number: u64) -> RunId {
    RunId::from_bytes(bytes(number))
}

pub fn permit_id(number: u64) -> PermitId {
    PermitId::from_bytes(bytes(number))
}

pub fn hold_id(number: u64) -> HoldId {
    HoldId::from_bytes(bytes(number))
}

pub fn worker(number: u64) -> WorkerId {
    WorkerId::from_bytes(bytes(number))
}

pub fn new_session(number: u64) -> NewSession {
    NewSession {
        id: session_id(number),
        kind: SessionKind::Chat,
        title: format!("What fills the disk of node {number}?"),
        channel: "cli".to_owned(),
        owner: Some("ada".parse().unwrap()),
        alert_type: None,
        chain: "default".to_owned(),
        input: "what fills the disk?".to_owned(),
        level: ControlLevel::Controlled,
        priority: 0,
        idempotency_key: None,
        fingerprint: None,
        options: json!({ "model": "small", "temperature": 0.1 }),
        at: at(0),
    }
}

pub fn memory() -> Store {
    Store::open(&Options::memory()).unwrap()
}

/// A session that this worker has.
pub async fn claimed(store: &Store, number: u64) -> Claim {
    store.submit(new_session(number), &ROOM).await.unwrap();
    store.claim(&session_id(number), &worker(1), at(1)).await.unwrap()
}

pub fn batch(claim: &Claim, records: Vec<Record>) -> Batch {
    Batch {
        session: claim.session.clone(),
        claim: Some(claim.clone()),
        at: at(2),
        records,
    }
}

/// What people do.
pub fn unclaimed(session: u64, records: Vec<Record>) -> Batch {
    Batch {
        session: session_id(session),
        claim: None,
        at: at(3),
        records,
    }
}

pub fn event(text: &str) -> Record {
    Record::Event {
        stage: Some(StageId::from_bytes(bytes(1))),
        execution: Some(execution_id(1)),
        body: answer(text),
    }
}

pub fn answer(text: &str) -> EventBody {
    EventBody::AnswerGiven {
        text: text.to_owned(),
        head: None,
    }
}

pub fn status(status: Status) -> Record {
    Record::Status {
        status,
        answer: None,
        error: None,
    }
}

pub fn resource(number: u64) -> ResourceId {
    format!("lxc:delly:{number}").parse().unwrap()
}

pub fn plan(session: u64, kind: ToolKind, resource: Option<ResourceId>) -> Plan {
    Plan {
        session: session_id(session),
        execution: execution_id(session),
        call: CallId::from_bytes(bytes(session)),
        tool: ToolName::new("infra_control").unwrap(),
        action: Some("restart".to_owned()),
        arguments: json!({ "resource_id": "lxc:delly:141", "lines": 100 })
            .as_object()
            .unwrap()
            .clone(),
        kind,
        risk: RiskLevel::Medium,
        target: resource.map(|id| Target {
            id,
            name: "web".to_owned(),
            state: Some("running".to_owned()),
            identity: Identity::default().with(IdentityFact::Endpoint, "https://pve.lan:8006"),
        }),
        command: None,
        expectation: (kind == ToolKind::Write).then_some(Expectation::FreeForm),
        undo: Undo::default(),
        timeout_seconds: 30,
        sandbox_required: false,
        before: None,
    }
}

pub fn call(session: u64, permit: u64, kind: ToolKind, target: u64) -> StartedCall {
    let plan = plan(session, kind, Some(resource(target)));
    StartedCall {
        permit: permit_id(permit),
        run: run_id(session),
        plan_hash: plan.hash(),
        plan,
        approved_by: None,
        hold: None,
        started_at: at(2),
        baseline: Vec::new(),
    }
}

pub fn receipt(call: &StartedCall, outcome: Outcome) -> Receipt {
    Receipt {
        id: ReceiptId::from_bytes(bytes(7)),
        permit: call.permit.clone(),
        call: call.plan.call.clone(),
        session: call.plan.session.clone(),
        execution: call.plan.execution.clone(),
        tool: call.plan.tool.clone(),
        kind: call.plan.kind,
        resource: call.plan.resource().cloned(),
        plan_hash: call.plan_hash,
        started_at: call.started_at,
        finished_at: Some(at(3)),
        outcome,
        exit_code: Some(0),
        output_hash: None,
        summary: "done".to_owned(),
    }
}

pub fn finished(call: &StartedCall) -> Record {
    Record::Finished {
        receipt: receipt(call, Outcome::Succeeded),
        pending: None,
    }
}

pub fn evidence(session: u64, number: u64, text: &str) -> Evidence {
    let data = json!({ "text": text });
    Evidence {
        id: EvidenceId::from_bytes(bytes(number)),
        session: session_id(session),
        execution: execution_id(session),
        call: CallId::from_bytes(bytes(number)),
        tool: ToolName::new("infra_read").unwrap(),
        resource: None,
        identity: Identity::default(),
        taken_at: at(3),
        hash: ContentHash::of_json(&data),
        data,
        observations: Vec::new(),
        source: None,
        walls: None,
    }
}

pub fn hold(session: u64, number: u64) -> Hold {
    let plan = plan(session, ToolKind::Write, Some(resource(141)));
    Hold {
        id: hold_id(number),
        call: plan.call.clone(),
        plan_hash: plan.hash(),
        plan,
        reasons: vec!["writes".to_owned()],
        owner: None,
        four_eyes: FourEyes::Off,
        opened_at: at(2),
        expires_at: at(3_600),
        edited_from: None,
        status: HoldStatus::Pending,
    }
}

pub fn approved(mut hold: Hold, by: &str) -> Hold {
    hold.status = HoldStatus::Approved {
        by: by.parse().unwrap(),
        at: at(4),
    };
    hold
}

pub fn run(session: u64) -> Run {
    Run {
        id: run_id(session),
        channel: "cli".to_owned(),
        input: "what fills the disk?".to_owned(),
        input_hash: ContentHash::of("what fills the disk?"),
        status: Status::InProgress,
        started_at: at(2),
        completed_at: None,
    }
}

pub fn stage(session: u64) -> Stage {
    Stage {
        id: StageId::from_bytes(bytes(session)),
        index: 0,
        name: "look".to_owned(),
        status: Status::InProgress,
        error: None,
        started_at: at(2),
        completed_at: None,
    }
}

pub fn execution(session: u64) -> Execution {
    Execution {
        id: execution_id(session),
        stage: StageId::from_bytes(bytes(session)),
        index: 0,
        agent: "operator".parse().unwrap(),
        model: "small".to_owned(),
        controller: "native".to_owned(),
        status: Status::InProgress,
        iterations: 1,
        error: None,
        started_at: at(2),
        completed_at: None,
    }
}

pub fn message(session: u64, number: u32, text: &str) -> Message {
    Message {
        execution: execution_id(session),
        number,
        run: run_id(session),
        role: "tool".to_owned(),
        content: json!({ "text": text, "share": 0.1, "big": u64::MAX }),
        at: at(2),
    }
}

pub fn entry(session: u64, number: u32, status: &str) -> TimelineEntry {
    TimelineEntry {
        execution: execution_id(session),
        number,
        kind: "llm_tool_call".to_owned(),
        status: status.to_owned(),
        content: "df -h".to_owned(),
        call: Some(ShownCall {
            id: CallId::new("call_7").unwrap(),
            tool: ToolName::new("infra_read").unwrap(),
            kind: Some(ToolKind::Read),
            permit: Some(permit_id(7)),
            hold: Some(hold_id(7)),
            refused: Some(("kill_switch".parse().unwrap(), ErrorCode::PolicyBlocked)),
        }),
        metadata: json!({
            "call": "call_7", "tool": "infra_read", "kind": "read", "permit": permit_id(7), "hold": hold_id(7),
            "rule": "kill_switch", "code": ErrorCode::PolicyBlocked,
        }),
        at: at(2),
        updated_at: at(3),
    }
}

/// The `number`th call to a model, whose body goes on where `before` ended.
pub fn interaction(session: u64, number: u32, before: &[u8], body: &[u8]) -> Interaction {
    let shared = before.iter().zip(body).take_while(|(a, b)| a == b).count();
    Interaction {
        execution: execution_id(session),
        number,
        run: run_id(session),
        provider: "openai".to_owned(),
        model: "small-1".to_owned(),
        shared: shared as u64,
        body: body[shared..].to_vec(),
        body_hash: ContentHash::of(body),
        raw: b"data: {}\n\n".to_vec(),
        facts: json!({ "usage": { "input": 10, "output": 3 }, "cost": 0.000_123 }),
        at: at(2),
    }
}

pub fn step(session: u64, number: u64) -> Step {
    Step {
        number,
        run: run_id(session),
        input: json!({ "decide": { "call": number } }),
        outcome: json!({ "allowed": true }),
        at: at(2),
    }
}

pub async fn texts(store: &Store, session: u64) -> Vec<(u64, String)> {
    let events = store
        .events(&session_id(session), Sequence::START, 1_000_000)
        .await
        .unwrap();
    events
        .into_iter()
        .map(|event| (event.sequence.get(), told(&event)))
        .collect()
}

/// What an event says, in short.
pub fn told(event: &Event) -> String {
    match &event.body {
        EventBody::AnswerGiven { text, .. } => text.clone(),
        EventBody::SessionStatus { status } | EventBody::SessionCompleted { status } => {
            format!("{} {status}", event.body.name())
        }
        EventBody::SessionCreated { title, .. } => format!("created {}", Label::as_str(title)),
        other => other.name().to_owned(),
    }
}
