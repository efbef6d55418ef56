//! The state machine: what each state admits, and what moves it.

use interlock_protocol::{ErrorCode, Outcome, RunState, ToolKind, Verification};
use serde_json::json;

use super::fixture::*;
use crate::*;

const LOGS: &str = "grep -i error /var/log/jellyfin.log";

#[test]
fn an_execution_begins_resolving_and_each_has_its_own_state() {
    let stage = Stage::discovered();
    assert_eq!(stage.state(), State::Reading);
    assert_eq!(stage.session.state(&execution("exe_2")), State::Resolving);
}

#[test]
fn what_each_state_admits() {
    use State::{Concluded, Reading, Resolving, Verifying, Writing};
    use ToolKind::{Read, Resolve, Write};
    let expected = [
        (Resolving, [true, true, false], true),
        (Reading, [true, true, true], true),
        (Writing, [true, true, false], false),
        (Verifying, [true, true, false], false),
        (Concluded, [false, false, false], false),
    ];
    for (state, kinds, answer) in expected {
        let found = [Resolve, Read, Write].map(|kind| state.admits(kind));
        assert_eq!((found, state.admits_answer()), (kinds, answer), "{state}");
    }
}

#[test]
fn a_write_is_blocked_in_resolving_and_the_refusal_is_recoverable() {
    let mut stage = Stage::new();
    let refusal = stage.refused("infra_control", restart("lxc:delly:105"));
    assert_eq!(
        (refusal.rule, refusal.code, refusal.auto_recoverable()),
        (Rule::StateMachine, ErrorCode::FsmBlocked, true)
    );
    stage.search(vec![jellyfin()]);
    assert_eq!(stage.state(), State::Reading);
    let _permit = stage.allowed("infra_control", restart("lxc:delly:105"));
}

#[test]
fn policy_blocks_do_not_force_a_next_tool() {
    let mut stage = Stage::new();
    let refusal = stage.refused("infra_control", restart("lxc:delly:105"));
    let text = format!(
        "{} {}",
        refusal.message,
        refusal.recovery_hint.unwrap_or_default()
    );
    for tool in stage.gate.catalogue().tools() {
        let name = tool.definition().name.as_str();
        assert!(!text.contains(name), "{text}");
    }
}

#[test]
fn a_read_or_a_resolve_leaves_resolving_and_a_failed_one_does_not() {
    let mut stage = Stage::new();
    let search = json!({"action": "search", "query": "x"});
    let permit = stage.allowed("infra_query", search.clone());
    stage.run(permit, Outcome::Failed);
    assert_eq!(stage.state(), State::Resolving);
    let permit = stage.allowed("infra_query", search);
    stage.run(permit, Outcome::Succeeded);
    assert_eq!(stage.state(), State::Reading);

    let mut stage = Stage::new();
    let permit = stage.allowed("logic_query", json!({"goal": "known_node(Node)"}));
    stage.run(permit, Outcome::Succeeded);
    assert_eq!(stage.state(), State::Reading);
}

#[test]
fn writing_is_a_real_state_between_permit_and_receipt() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    assert_eq!(stage.state(), State::Writing);
    let refusal = stage.refused("infra_control", restart("lxc:delly:141"));
    assert_eq!(refusal.rule, Rule::StateMachine);
    assert!(matches!(stage.answer("Done.", &[]), AnswerDecision::Block(_)));
    stage.run(permit, Outcome::Succeeded);
    assert_eq!(stage.state(), State::Verifying);
}

#[test]
fn every_started_write_causes_verifying_whatever_its_outcome() {
    for outcome in Outcome::ALL {
        let mut stage = Stage::discovered();
        let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
        let settled = stage.run(permit, *outcome);
        assert_eq!(stage.state(), State::Verifying, "{outcome}");
        assert_eq!(
            settled.required.map(|pending| pending.resource),
            Some(id("lxc:delly:105"))
        );
    }
}

#[test]
fn final_answer_is_blocked_in_verifying() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::Succeeded);
    let AnswerDecision::Block(refusal) = stage.answer("All is well.", &[]) else {
        panic!("released")
    };
    assert_eq!(
        (refusal.rule, refusal.code),
        (Rule::FinalAnswer, ErrorCode::FsmBlocked)
    );
    assert_eq!(refusal.details["unverified_resources"], json!(["lxc:delly:105"]));
}

#[test]
fn a_read_after_the_write_clears_verification() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::Succeeded);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
    let settled = stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
    assert_eq!(
        settled.ended.iter().map(|end| end.outcome).collect::<Vec<_>>(),
        [Verification::Verified]
    );
    assert_eq!(stage.state(), State::Reading);
    assert!(matches!(stage.answer("Done.", &[]), AnswerDecision::Release(_)));
}

#[test]
fn the_verification_gate_does_not_waive_after_repeated_write_blocks() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::Succeeded);
    for attempt in 1..=5 {
        let refusal = stage.refused("infra_control", restart("lxc:delly:105"));
        assert_eq!(refusal.rule, Rule::StateMachine);
        assert_eq!(stage.session.blocked_writes(&stage.agent), attempt);
    }
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
    stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
    assert_eq!(stage.session.blocked_writes(&stage.agent), 0);
    let _permit = stage.allowed("infra_control", restart("lxc:delly:105"));
}

#[test]
fn regression_jellyfin_logs_scenario() {
    let mut stage = Stage::discovered();
    for round in 0..20 {
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", &format!("{LOGS}.{round}")));
        stage.run_read(permit, Vec::new(), json!({"stdout": "nothing"}));
        assert_eq!(stage.state(), State::Reading);
    }
    let refusal = stage.refused(
        "infra_control",
        json!({"action": "command", "target_resource_id": "lxc:delly:105", "command": LOGS}),
    );
    assert_eq!(
        (refusal.rule, refusal.code),
        (Rule::CommandIntent, ErrorCode::ReadOnlyViolation)
    );
    assert_eq!(refusal.details["read_tool"], json!("infra_read"));
    assert!(refusal.auto_recoverable());
    assert_eq!(stage.state(), State::Reading);
}

#[test]
fn regression_write_read_write_sequence() {
    let mut stage = Stage::discovered();
    for _ in 0..3 {
        let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
        stage.run(permit, Outcome::Succeeded);
        assert_eq!(stage.state(), State::Verifying);
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
        stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
        assert_eq!(stage.state(), State::Reading);
    }
}

#[test]
fn regression_multiple_reads_after_write() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::Succeeded);
    for command in ["uptime", "ls /", "uptime", "cat /etc/hostname"] {
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", command));
        stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
        assert_eq!(stage.state(), State::Reading);
    }
    let _permit = stage.allowed("infra_control", restart("lxc:delly:105"));
}

#[test]
fn a_read_tool_never_triggers_verifying() {
    let mut stage = Stage::discovered();
    for outcome in Outcome::ALL {
        let permit = stage.allowed(
            "infra_read",
            exec("lxc:delly:105", &format!("cat /tmp/{outcome}")),
        );
        stage.run(permit, *outcome);
        assert_eq!(stage.state(), State::Reading, "{outcome}");
    }
}

#[test]
fn looking_without_a_tool_does_not_advance_the_state() {
    let mut stage = Stage::new();
    stage.gate.mention(&mut stage.session, jellyfin(), stage.now);
    assert_eq!(stage.state(), State::Resolving);
}

#[test]
fn several_writes_in_a_row_each_need_their_own_reading() {
    let mut stage = Stage::discovered();
    for target in ["lxc:delly:105", "lxc:delly:141"] {
        let permit = stage.allowed("infra_control", restart(target));
        stage.run(permit, Outcome::Succeeded);
        let refusal = stage.refused("infra_control", restart("node:minipc"));
        assert_eq!(refusal.rule, Rule::StateMachine);
        let permit = stage.allowed("infra_read", exec(target, "uptime"));
        stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
    }
}

#[test]
fn a_receipt_is_taken_once_and_only_for_its_own_plan() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    let started = stage.begin(permit);
    let receipt = stage.finish(started, Outcome::Succeeded);
    let mut forged = receipt.clone();
    forged.plan_hash = interlock_protocol::ContentHash::of("another plan");
    let mut take = |receipt: &interlock_protocol::Receipt| {
        let report = Report {
            receipt,
            evidence: None,
            discovered: Vec::new(),
        };
        stage
            .gate
            .settle(&mut stage.world, &mut stage.session, report, stage.now)
    };
    assert!(matches!(take(&forged), Err(SettleError::OtherPlan { .. })));
    assert!(take(&receipt).is_ok());
    assert_eq!(
        take(&receipt),
        Err(SettleError::NotOutstanding(receipt.permit.clone()))
    );
}

#[test]
fn the_same_inputs_give_the_same_decisions_so_that_a_trace_replays() {
    let run = || {
        let mut stage = Stage::discovered();
        let read = stage.propose("infra_read", exec("lxc:delly:105", "uptime"));
        let write = stage.propose("infra_control", restart("lxc:delly:105"));
        let refused = stage.propose("infra_control", restart("lxc:delly:141"));
        format!("{read:?} {write:?} {refused:?}")
    };
    assert_eq!(run(), run());
}
