//! The JSON form of every public type, as others store and send it. A change of a snapshot here is a change of
//! the contract: old records must still be read.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

use interlock_protocol::{
    AgentName, AlertState, AnalysisWall, ArgumentName, CallId, CategoryName, ContentHash, ControlLevel,
    Decision, Details, ErrorCode, Event, EventBody, EventId, Evidence, EvidenceId, ExecutionId, Expectation,
    Head, HeadAction, HeadRecord, HoldId, Identity, IdentityFact, KindRule, Label, Mode, NotRunReason,
    Observation, Outcome, PermitId, Proposal, Receipt, ReceiptId, RecordState, RefusalRecord, ResourceId,
    ResourceKind, Retry, RiskLevel, RuleName, RunIdentity, RunState, SandboxWall, Sequence, SessionId,
    SessionKind, ShellRule, SocketKind, Source, StageId, Status, Support, TargetArgument, TargetRule,
    ToolCall, ToolDefinition, ToolKind, ToolName, ToolResponse, UnitActivity, UserId, Verification, WallKind,
    Walls, Withheld, WriteNotRun,
};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::fmt::Debug;

/// Sorted, because whether `serde_json` keeps the order of keys depends on features that any crate may switch on.
macro_rules! snapshot {
    ($value:expr) => {
        insta::with_settings!({ sort_maps => true, omit_expression => true }, { insta::assert_json_snapshot!($value) })
    };
}

/// Writes a value, reads it back, and hands out what was written.
fn written<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> Value {
    let json = serde_json::to_value(value).unwrap();
    assert_eq!(&serde_json::from_value::<T>(json.clone()).unwrap(), value);
    json
}

fn parse<T: std::str::FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn details(value: Value) -> Details {
    let Value::Object(map) = value else {
        panic!("details are an object")
    };
    map
}

fn plan_hash() -> ContentHash {
    ContentHash::of("plan")
}

fn at(second: u8) -> Timestamp {
    parse(&format!("2026-01-28T10:00:{second:02}Z"))
}

fn head() -> Head {
    Head {
        record: Some(HeadRecord {
            state: RecordState::Altered,
            what: Some("receipts".to_owned()),
        }),
        actions: vec![HeadAction {
            permit: parse("prm_1"),
            what: "restart".into(),
            resource: Some(parse("lxc:delly:105")),
            name: Some("jellyfin".into()),
            outcome: Some(Outcome::Succeeded),
            verification: Some(Verification::Verified),
            approved_by: Some(parse("anna")),
            started_at: at(0),
        }],
        earlier_actions: 1,
        not_run: vec![
            WriteNotRun {
                reason: NotRunReason::Denied,
                what: "restart".to_owned(),
                resource: Some("lxc:delly:105".parse().unwrap()),
                name: Some("jellyfin".to_owned()),
                by: Some("anna".parse().unwrap()),
                code: None,
                approved_by: None,
                edited_by: Some("zoe".parse().unwrap()),
                edited_from: Some("stop".to_owned()),
                count: 1,
            },
            WriteNotRun {
                reason: NotRunReason::Refused,
                what: "infra_control".to_owned(),
                resource: None,
                name: None,
                by: None,
                code: Some(ErrorCode::ActionNotAllowed),
                approved_by: Some("anna".parse().unwrap()),
                edited_by: None,
                edited_from: None,
                count: 2,
            },
        ],
        earlier_not_run: 4,
        readings: 2,
        earlier_readings: 3,
        support: Some(Support::Partial),
        backed: 1,
        unbacked: 1,
        withheld: Some(Withheld::Rest),
        hidden: 1,
    }
}

fn call() -> ToolCall {
    ToolCall {
        id: parse("call_1"),
        tool: parse("infra_control"),
        arguments: details(json!({"action": "restart", "resource": "lxc:delly:141"})),
    }
}

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: parse("infra_alerts"),
        description: "Lists alerts, resolves and dismisses them.".into(),
        parameters: json!({
            "type": "object",
            "properties": {"action": {"enum": ["list", "resolve"]}, "alert_id": {"type": "string"}},
            "required": ["action"],
        }),
        category: parse("alerts"),
        risk: RiskLevel::Medium,
        kind: KindRule::ByAction {
            argument: parse("action"),
            actions: [
                ("list".into(), ToolKind::Read),
                ("resolve".into(), ToolKind::Write),
            ]
            .into(),
        },
        modes: [Mode::Normal, Mode::Recovery].into(),
        requires_approval: true,
        timeout_seconds: parse("30"),
        rate_limit_per_hour: Some(parse("60")),
        target: TargetRule::Arguments {
            arguments: vec![TargetArgument {
                name: parse("alert_id"),
                bare: Some(ResourceKind::Alert),
            }],
        },
        shell: ShellRule::Never,
    }
}

fn receipt() -> Receipt {
    Receipt {
        id: parse("rcp_1"),
        permit: parse("prm_1"),
        call: parse("call_1"),
        session: parse("ses_1"),
        execution: parse("exe_1"),
        tool: parse("infra_control"),
        kind: ToolKind::Write,
        resource: Some(parse("lxc:delly:141")),
        plan_hash: plan_hash(),
        started_at: at(1),
        finished_at: Some(at(4)),
        outcome: Outcome::Succeeded,
        exit_code: Some(0),
        output_hash: Some(ContentHash::of("output")),
        summary: "restarted lxc:delly:141".into(),
    }
}

fn evidence() -> Evidence {
    let data = json!({"status": "running"});
    Evidence {
        id: parse("evd_1"),
        session: parse("ses_1"),
        execution: parse("exe_1"),
        call: parse("call_2"),
        tool: parse("infra_query"),
        resource: Some(parse("lxc:delly:141")),
        identity: Identity::default()
            .with(IdentityFact::Endpoint, "https://pve.lan:8006")
            .with(IdentityFact::Cluster, "homelab"),
        taken_at: at(9),
        hash: ContentHash::of_json(&data),
        data,
        observations: vec![Observation::Guest {
            state: RunState::Running,
            started_at: Some(at(3)),
            run: RunIdentity::named("boot-1"),
        }],
        source: None,
        walls: None,
    }
}

fn refusal() -> RefusalRecord {
    RefusalRecord {
        code: ErrorCode::StrictResolution,
        rule: parse("strict_resolution"),
        message: "lxc:delly:141 was not discovered in this session".into(),
        recovery_hint: Some("find it with infra_query action=search".into()),
        auto_recoverable: true,
        details: details(json!({"resource_id": "lxc:delly:141"})),
    }
}

/// Every event once. A new variant is missing here until the compiler-checked list of names below grows too.
fn event_bodies() -> Vec<EventBody> {
    let hold = || parse::<HoldId>("hold_1");
    let resource = || parse::<ResourceId>("lxc:delly:141");
    let by = || parse::<UserId>("ada");
    vec![
        EventBody::SessionCreated {
            kind: SessionKind::Chat,
            title: parse("Why is it slow?"),
            by: Some(by()),
        },
        EventBody::SessionStatus {
            status: Status::InProgress,
        },
        EventBody::SessionCompleted {
            status: Status::Unverified,
        },
        EventBody::StageStarted {
            name: parse("investigation"),
        },
        EventBody::StageCompleted {
            status: Status::Completed,
        },
        EventBody::ExecutionStarted {
            agent: parse("Investigator"),
        },
        EventBody::ExecutionCompleted {
            status: Status::Failed,
        },
        EventBody::ProposalReceived {
            proposal: Proposal::ToolCall(call()),
        },
        EventBody::DecisionMade {
            call: Some(parse("call_1")),
            decision: Decision::Allowed {
                permit: parse("prm_1"),
                kind: ToolKind::Write,
                plan_hash: plan_hash(),
            },
        },
        EventBody::DecisionMade {
            call: None,
            decision: Decision::AnswerAllowed,
        },
        EventBody::DecisionMade {
            call: Some(parse("call_1")),
            decision: Decision::Held {
                hold: hold(),
                plan_hash: plan_hash(),
            },
        },
        EventBody::DecisionMade {
            call: Some(parse("call_1")),
            decision: Decision::Refused(refusal()),
        },
        EventBody::HoldOpened {
            hold: hold(),
            call: parse("call_1"),
            tool: parse("infra_control"),
            resource: Some(resource()),
            plan_hash: plan_hash(),
            expires_at: at(59),
        },
        EventBody::HoldApproved {
            hold: hold(),
            by: by(),
            plan_hash: plan_hash(),
        },
        EventBody::HoldDenied {
            hold: hold(),
            by: by(),
            reason: "not during the backup".into(),
        },
        EventBody::HoldEdited {
            hold: hold(),
            by: by(),
            old_plan_hash: plan_hash(),
            new_plan_hash: ContentHash::of("edited"),
        },
        EventBody::HoldExpired { hold: hold() },
        EventBody::CallStarted {
            call: parse("call_1"),
            permit: parse("prm_1"),
            tool: parse("infra_control"),
            kind: ToolKind::Write,
            resource: Some(resource()),
            plan_hash: plan_hash(),
        },
        EventBody::ReceiptRecorded { receipt: receipt() },
        EventBody::EvidenceRecorded {
            evidence: parse("evd_1"),
            call: parse("call_2"),
            resource: Some(resource()),
            taken_at: at(9),
            hash: evidence().hash,
        },
        EventBody::VerificationRequired {
            resource: resource(),
            permit: parse("prm_1"),
            expectation: Expectation::GuestRestarted,
            deadline: at(30),
        },
        EventBody::VerificationCompleted {
            resource: resource(),
            receipt: Some(parse("rcp_1")),
            evidence: Some(parse("evd_1")),
            outcome: Verification::Verified,
        },
        EventBody::AnswerGiven {
            text: "The container is up again.".into(),
            head: Some(Box::new(head())),
        },
        EventBody::AnswerReplaced {
            category: parse("action_result"),
            text: "Nothing was changed in this session.".into(),
        },
        EventBody::ContextReset { kept: 1 },
        EventBody::ControlChanged {
            level: ControlLevel::Controlled,
            by: by(),
        },
        EventBody::ModeChanged { mode: Mode::Lockdown },
    ]
}

#[test]
fn identifiers() {
    let forms = json!({
        "session": written(&parse::<SessionId>("ses_1")),
        "stage": written(&parse::<StageId>("stg_1")),
        "execution": written(&ExecutionId::from_bytes([7; 16])),
        "call": written(&parse::<CallId>("functions.infra_query:0")),
        "hold": written(&HoldId::from_bytes([1; 16])),
        "permit": written(&PermitId::from_bytes([2; 16])),
        "receipt": written(&ReceiptId::from_bytes([3; 16])),
        "evidence": written(&EvidenceId::from_bytes([4; 16])),
        "event": written(&EventId::from_bytes([5; 16])),
        "sequence": written(&Sequence::new(42)),
        "user": written(&parse::<UserId>("ada@example.net")),
        "agent": written(&parse::<AgentName>("Log Reader")),
        "label": written(&parse::<Label>("homepage-docker")),
        "tool": written(&parse::<ToolName>("infra_query")),
        "argument": written(&parse::<ArgumentName>("target_host")),
        "category": written(&parse::<CategoryName>("system_write")),
        "rule": written(&parse::<RuleName>("strict_resolution")),
        "resource": written(&parse::<ResourceId>("lxc:delly:141")),
        "hash": written(&plan_hash()),
    });
    snapshot!(forms);
}

#[test]
fn words() {
    fn all<T: Serialize + DeserializeOwned + PartialEq + Debug>(words: &[T]) -> Vec<Value> {
        words.iter().map(written).collect()
    }
    let forms = json!({
        "alert_state": all(AlertState::ALL),
        "analysis_wall": all(AnalysisWall::ALL),
        "control_level": all(ControlLevel::ALL),
        "error_code": all(ErrorCode::ALL),
        "mode": all(Mode::ALL),
        "outcome": all(Outcome::ALL),
        "resource_kind": all(ResourceKind::ALL),
        "risk_level": all(RiskLevel::ALL),
        "run_state": all(RunState::ALL),
        "session_kind": all(SessionKind::ALL),
        "socket_kind": all(SocketKind::ALL),
        "status": all(Status::ALL),
        "tool_kind": all(ToolKind::ALL),
        "unit_activity": all(UnitActivity::ALL),
        "verification": all(Verification::ALL),
        "wall_kind": all(WallKind::ALL),
    });
    snapshot!(forms);
}

#[test]
fn tool_definitions() {
    let by_action = definition();
    let fixed = ToolDefinition {
        name: parse("infra_read"),
        description: "Runs a command that only reads.".into(),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        category: parse("read_only"),
        risk: RiskLevel::Low,
        kind: KindRule::Fixed { kind: ToolKind::Read },
        modes: Mode::ALL.iter().copied().collect(),
        requires_approval: false,
        timeout_seconds: parse("60"),
        rate_limit_per_hour: None,
        target: TargetRule::None,
        shell: ShellRule::Argument {
            argument: parse("command"),
        },
    };
    for definition in [&by_action, &fixed] {
        assert_eq!(definition.check(), Ok(()));
    }
    snapshot!(json!([written(&by_action), written(&fixed)]));
}

#[test]
fn proposals() {
    let answer = Proposal::FinalAnswer {
        text: "All is well.".into(),
    };
    snapshot!(json!([written(&Proposal::ToolCall(call())), written(&answer)]));
}

#[test]
fn responses() {
    let forms = json!({
        "success": written(&ToolResponse::success(json!({"status": "running"})).with_meta("elapsed_ms", 12)),
        "success_without_data": written(&ToolResponse::success(Value::Null)),
        "blocked": written(&ToolResponse::blocked(
            ErrorCode::RoutingMismatch,
            "delly is a node; you mean something on it",
            details(json!({"target_resource_id": "lxc:delly:141"})),
        )),
        "blocked_for_good": written(&ToolResponse::blocked(
            ErrorCode::LoopDetected,
            "the same call for the fourth time",
            details(json!({"auto_recoverable": false})),
        )),
        "failed": written(&ToolResponse::failed(
            ErrorCode::ExecutionFailed, "exit code 3", Retry::Useless, details(json!({"exit_code": 3})),
        )),
        "failed_for_now": written(&ToolResponse::failed(
            ErrorCode::Timeout, "no end within 30 s", Retry::Useful, Map::new(),
        )),
    });
    snapshot!(forms);
}

#[test]
fn expectations_and_observations() {
    let unit = || "nginx.service".to_owned();
    let path = || "/etc/hosts".to_owned();
    let hash = ContentHash::of("127.0.0.1 localhost\n");
    let expectations = [
        Expectation::GuestState {
            state: RunState::Stopped,
        },
        Expectation::GuestRestarted,
        Expectation::UnitActivity {
            unit: unit(),
            activity: UnitActivity::Active,
        },
        Expectation::UnitRestarted { unit: unit() },
        Expectation::FileHash { path: path(), hash },
        Expectation::FilePatched { path: path() },
        Expectation::FileAbsent { path: path() },
        Expectation::FileAppended {
            path: path(),
            added: hash,
        },
        Expectation::ContainerState {
            state: RunState::Running,
        },
        Expectation::ContainerRestarted,
        Expectation::ContainerImage {
            image: "nginx:1.29".into(),
        },
        Expectation::ContainerUpdated,
        Expectation::ReadyReplicas { count: 3 },
        Expectation::RolledOut,
        Expectation::Replaced,
        Expectation::NoteKept { text: hash },
        Expectation::AlertState {
            state: AlertState::Resolved,
        },
        Expectation::Property {
            name: "memory_mib".into(),
            value: json!(2048),
        },
        Expectation::Present,
        Expectation::Absent,
        Expectation::FreeForm,
    ];
    let observations = [
        Observation::Guest {
            state: RunState::Starting,
            started_at: None,
            run: RunIdentity::default(),
        },
        Observation::Guest {
            state: RunState::Running,
            started_at: None,
            run: RunIdentity {
                id: Some("pid 4711".into()),
                seconds: Some(86_400),
            },
        },
        Observation::Unit {
            unit: unit(),
            activity: UnitActivity::Active,
            active_since: Some(at(2)),
            run: RunIdentity::named("invocation 1"),
        },
        Observation::File {
            path: path(),
            hash: Some(hash),
        },
        Observation::File {
            path: path(),
            hash: None,
        },
        Observation::Container {
            state: RunState::Running,
            image: Some("nginx:1.29".into()),
            started_at: Some(at(2)),
            run: RunIdentity::named("c1 2026-01-01T00:00:02Z"),
            instance: Some("c1".into()),
            image_id: Some("sha256:1".into()),
            current_image_id: Some("sha256:2".into()),
        },
        Observation::Replicas {
            ready: 2,
            wanted: 3,
            updated: Some(1),
            generation: Some(5),
            observed_generation: Some(4),
        },
        Observation::Identity { uid: "uid-1".into() },
        Observation::FileAfter { path: path(), hash },
        Observation::Note { text: hash },
        Observation::Alert {
            state: AlertState::Active,
        },
        Observation::Property {
            name: "memory_mib".into(),
            value: json!(2048),
        },
        Observation::Present,
        Observation::Absent,
    ];
    snapshot!(json!({
        "expectations": expectations.iter().map(written).collect::<Vec<_>>(),
        "observations": observations.iter().map(written).collect::<Vec<_>>(),
    }));
}

#[test]
fn receipts_and_evidence() {
    let interrupted = Receipt {
        outcome: Outcome::InterruptedUnknown,
        resource: None,
        finished_at: None,
        exit_code: None,
        output_hash: None,
        summary: "the worker died".into(),
        ..receipt()
    };
    let walls = |sandbox| Evidence {
        walls: Some(Walls {
            analysis: AnalysisWall::Read,
            sandbox,
        }),
        ..evidence()
    };
    let sandboxed = walls(SandboxWall::Enforced {
        by: WallKind::LandlockSeccomp,
        sockets: vec![SocketKind::Unix],
        missing: vec!["signals to other processes".into()],
    });
    let without_sandbox = walls(SandboxWall::None {
        reason: "the guest has no `unshare`".into(),
    });
    let asked = |source| Evidence {
        source: Some(source),
        ..evidence()
    };
    let by_call = asked(Source::Call {
        arguments: json!({"action": "exec", "command": "uptime"})
            .as_object()
            .cloned()
            .unwrap_or_default(),
    });
    let by_code = asked(Source::Code);
    snapshot!(json!({
        "receipt": written(&receipt()),
        "interrupted": written(&interrupted),
        "evidence": written(&evidence()),
        "by_call": written(&by_call),
        "by_code": written(&by_code),
        "sandboxed": written(&sandboxed),
        "without_sandbox": written(&without_sandbox),
    }));
}

#[test]
fn events() {
    let events: Vec<Value> = (1_u64..)
        .zip(event_bodies())
        .map(|(number, body)| {
            let name = body.name();
            let event = Event {
                id: EventId::from_bytes(u128::from(number).to_be_bytes()),
                session: parse("ses_1"),
                sequence: Sequence::new(number),
                at: at(1),
                stage: (number % 2 == 0).then(|| parse("stg_1")),
                execution: (number % 3 == 0).then(|| parse("exe_1")),
                body,
            };
            let json = written(&event);
            assert_eq!(json["type"], name);
            json
        })
        .collect();
    snapshot!(events);
}
