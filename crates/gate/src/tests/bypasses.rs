//! Ways around the gate that were open once.

use interlock_protocol::{ErrorCode, KindRule, RiskLevel, ToolKind};
use jiff::SignedDuration;
use serde_json::json;

use super::fixture::*;
use crate::*;

#[test]
fn what_does_not_fit_is_not_repeated_back() {
    let mut stage = Stage::discovered();
    let secret = "hunter2 ".repeat(150_000);
    for arguments in [
        json!({"action": "write", "target_host": "jellyfin", "path": "/x", "content": secret}),
        json!({"action": "write", "target_host": "jellyfin", "path": {"hunter2": secret}}),
    ] {
        let refusal = stage.refused("infra_file_edit", arguments);
        let text = serde_json::to_string(&refusal.to_response()).unwrap();
        assert_eq!(refusal.code, ErrorCode::InvalidInput);
        assert!(
            !text.contains("hunter2") && text.len() < 2_000,
            "{} bytes",
            text.len()
        );
    }
    let refusal = stage.refused("infra_query", json!({"action": "list", "x".repeat(100_000): 1}));
    assert!(serde_json::to_string(&refusal.to_response()).unwrap().len() < 2_000);
}

#[test]
fn an_unclear_action_is_of_high_risk() {
    let mut stage = Stage::discovered();
    let hold = stage.held(
        "infra_file_edit",
        json!({"action": "shred", "target_host": "jellyfin", "path": "/x"}),
    );
    assert_eq!(hold.plan.risk, RiskLevel::High);
}

#[test]
fn a_command_action_has_a_command() {
    let mut stage = Stage::discovered();
    for (tool, action) in [("infra_read", "exec"), ("infra_control", "command")] {
        let refusal = stage.refused(tool, json!({"action": action, "target_host": "jellyfin"}));
        assert_eq!(
            (refusal.rule, refusal.code),
            (Rule::Arguments, ErrorCode::InvalidInput)
        );
    }
}

#[test]
fn no_alias_can_pose_as_a_canonical_id_in_another_case() {
    let fake = ResolvedResource::new(id("lxc:delly:1"), "Lxc:delly:106").alias("lxc:delly:105");
    let mut stage = Stage::new().discover(vec![fake]);
    for target in ["LXC:delly:105", "LXC:DELLY:106"] {
        assert_eq!(
            stage.refused("infra_control", restart(target)).rule,
            Rule::StrictResolution
        );
    }
}

#[test]
fn a_tool_server_discovers_nothing() {
    let mut catalogue = Catalogue::built_in().unwrap();
    let mut definition = catalogue.get("web_search").unwrap().definition().clone();
    definition.name = "srv_find".parse().unwrap();
    definition.kind = KindRule::Fixed {
        kind: ToolKind::Resolve,
    };
    catalogue.register(definition, None).unwrap();
    assert_eq!(
        catalogue.classify("srv_find", &interlock_protocol::Arguments::new()),
        ToolKind::Read
    );
}

#[test]
fn a_call_may_be_proposed_again_after_its_hold_expired() {
    let mut stage = Stage::discovered();
    let delete = json!({"action": "delete", "target_resource_id": "lxc:delly:105"});
    stage.held("infra_control", delete.clone());
    assert_eq!(
        stage.refused("infra_control", delete.clone()).code,
        ErrorCode::LoopDetected
    );
    stage.wait(HOLD_TTL + SignedDuration::from_secs(1));
    stage.held("infra_control", delete);
}
