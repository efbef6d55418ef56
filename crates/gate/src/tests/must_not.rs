//! What must never be changed: one test per prohibition.

use interlock_protocol::{Outcome, ToolKind};
use serde_json::json;

use super::fixture::*;
use crate::*;

#[test]
fn do_not_allow_action_tools_without_discovery() {
    let mut stage = Stage::new().discover(vec![delly()]);
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:105")).rule,
        Rule::StrictResolution
    );
}

#[test]
fn do_not_remove_the_state_machine_from_either_gate() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::Succeeded);
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:141")).rule,
        Rule::StateMachine
    );
    assert!(matches!(stage.answer("Done.", &[]), AnswerDecision::Block(_)));
}

#[test]
fn do_not_change_the_default_of_unknown_tools_to_read() {
    let catalogue = Catalogue::built_in().unwrap();
    assert_eq!(
        catalogue.classify("brand_new_tool", &serde_json::Map::new()),
        ToolKind::Write
    );
}

#[test]
fn do_not_reset_the_state_machine_without_the_context() {
    let mut stage = Stage::discovered();
    stage.gate.reset(&mut stage.session, Keep::Nothing, stage.now);
    assert_eq!(
        (stage.state(), stage.session.context().len(stage.now)),
        (State::Resolving, 0)
    );
}

#[test]
fn do_not_remove_phantom_detection() {
    let AnswerDecision::Release(answer) = Stage::new().answer("I restarted the server.", &[]) else {
        panic!()
    };
    assert_eq!(answer.text, SAFE_FAILURE);
}

#[test]
fn do_not_route_reads_through_write_tools() {
    let mut stage = Stage::discovered();
    let read =
        json!({"action": "command", "target_host": "jellyfin", "command": "grep error /var/log/syslog"});
    assert_eq!(stage.refused("infra_control", read).rule, Rule::CommandIntent);
    assert_eq!(stage.state(), State::Reading);
}

#[test]
fn do_not_target_the_parent_host_when_a_child_is_meant() {
    let mut stage = Stage::discovered();
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    let edit = json!({"action": "append", "target_host": "delly", "path": "/opt/x", "content": "x"});
    assert_eq!(stage.refused("infra_file_edit", edit).rule, Rule::Routing);
}

#[test]
fn do_not_add_prompts_to_error_recovery() {
    let mut stage = Stage::new();
    for arguments in [restart("lxc:delly:105"), json!({})] {
        let refusal = stage.refused("infra_control", arguments);
        let text = format!(
            "{} {}",
            refusal.message,
            refusal.recovery_hint.clone().unwrap_or_default()
        )
        .to_lowercase();
        for word in ["you ", "please", "let me", "i notice", "suggest"] {
            assert!(!text.contains(word), "{text}");
        }
        assert!(refusal.to_response().error().is_some());
    }
}

#[test]
fn do_not_skip_telemetry() {
    let mut stage = Stage::new();
    let refusal = stage.refused("infra_control", restart("lxc:delly:105"));
    let metric = stage.gate.metric(&refusal);
    assert_eq!(metric.name, "interlock_fsm_tool_block_total");
    assert_eq!(
        metric.labels,
        [
            ("state", "resolving".to_owned()),
            ("tool", "infra_control".to_owned()),
            ("kind", "write".to_owned())
        ]
    );
}
