//! Ways around the gate that were open once.

use interlock_protocol::{ErrorCode, KindRule, Outcome, RiskLevel, RunState, ToolKind, Verification};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::fixture::*;
use crate::*;

fn restarted() -> Stage {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::Succeeded);
    stage
}

#[test]
fn a_typed_read_of_a_secret_holds_as_its_command_does() {
    let reads = [
        (
            "infra_read",
            json!({"action": "file", "target_host": "jellyfin", "path": "/etc/shadow"}),
        ),
        (
            "infra_read",
            json!({"action": "tail", "target_host": "jellyfin", "path": "/etc/shadow"}),
        ),
        (
            "infra_read",
            json!({"action": "find", "target_host": "jellyfin", "path": "/root/.ssh"}),
        ),
        (
            "infra_read",
            json!({"action": "logs", "target_host": "jellyfin", "path": "/etc/shadow"}),
        ),
        (
            "infra_file_edit",
            json!({"action": "read", "target_host": "jellyfin", "path": "/root/.ssh/id_rsa"}),
        ),
        (
            "read_file",
            json!({"path": "/root/.ssh/id_rsa", "target_resource_id": "jellyfin"}),
        ),
        ("read_file", json!({"path": "/root/.ssh/id_rsa"})),
    ];
    let by_command = Stage::discovered().held("infra_read", exec("lxc:delly:105", "cat /etc/shadow"));
    for (tool, arguments) in reads {
        let hold = Stage::discovered().held(tool, arguments);
        assert_eq!(hold.reasons, by_command.reasons);
    }
    let plain = json!({"action": "file", "target_host": "jellyfin", "path": "/etc/hostname"});
    let _permit = Stage::discovered().allowed("infra_read", plain);
    let names = json!({"path": "/root/.ssh", "target_resource_id": "jellyfin"});
    let _permit = Stage::discovered().allowed("list_directory", names);
}

#[test]
fn writing_where_secrets_live_is_of_high_risk() {
    let edit =
        |path: &str| json!({"action": "append", "target_host": "jellyfin", "path": path, "content": "x"});
    let hold = Stage::discovered().held("infra_file_edit", edit("/root/.ssh/id_rsa"));
    assert_eq!(hold.plan.risk, RiskLevel::High);
    let permit = Stage::discovered().allowed("infra_file_edit", edit("/opt/x"));
    assert_eq!(permit.plan().risk, RiskLevel::Medium);
}

#[test]
fn a_get_of_the_written_resource_verifies_and_may_be_repeated_until_it_does() {
    for (tool, action) in [
        ("infra_query", "get"),
        ("infra_query", "config"),
        ("infra_query", "health"),
        ("infra_discovery", "get"),
    ] {
        let mut stage = restarted();
        let get = json!({"action": action, "resource_id": "lxc:delly:105"});
        for _ in 0..5 {
            let permit = stage.allowed(tool, get.clone());
            assert_eq!(permit.plan().resource(), Some(&id("lxc:delly:105")));
            let settled = stage.run_read(permit, guest(RunState::Starting, stage.now), json!({}));
            assert_eq!(settled.ended, []);
        }
        let permit = stage.allowed(tool, get);
        let settled = stage.run_read(permit, guest(RunState::Running, stage.now), json!({}));
        let ends: Vec<Verification> = settled.ended.iter().map(|end| end.outcome).collect();
        assert_eq!(ends, [Verification::Verified]);
    }
}

#[test]
fn a_get_finds_what_was_not_discovered_and_tells_two_of_a_name_apart() {
    let permit = Stage::new().allowed(
        "infra_query",
        json!({"action": "get", "resource_id": "vm:minipc:203"}),
    );
    assert_eq!(permit.plan().resource(), None);
    let twin = ResolvedResource::new(id("lxc:minipc:150"), "jellyfin");
    let mut stage = Stage::discovered().discover(vec![twin]);
    let _permit = stage.allowed("infra_query", json!({"action": "get", "resource_id": "jellyfin"}));
}

#[test]
fn an_undiscovered_host_is_routed_by_its_id_too() {
    let mut stage = Stage::new().discover(vec![jellyfin()]);
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    for target in ["node:delly", "host:DELLY"] {
        let refusal = stage.refused("infra_read", exec(target, "uptime"));
        assert_eq!(refusal.code, ErrorCode::RoutingMismatch, "{target}");
    }
}

#[test]
fn a_known_target_does_not_vouch_for_an_unknown_one() {
    let mut stage = Stage::discovered();
    let read = json!({
        "action": "exec", "target_resource_id": "vm:x:999", "target_host": "delly", "command": "uptime",
    });
    assert_eq!(
        stage.refused("infra_read", read.clone()).code,
        ErrorCode::StrictResolution
    );
    stage.gate.options.strict_resolution = StrictResolution::Off;
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    assert_eq!(stage.refused("infra_read", read).code, ErrorCode::RoutingMismatch);
    let named_with_its_host = json!({
        "action": "exec", "target_resource_id": "lxc:delly:141", "target_host": "delly", "command": "uptime",
    });
    let permit = stage.allowed("infra_read", named_with_its_host);
    assert_eq!(permit.plan().resource(), Some(&id("lxc:delly:141")));
}

#[test]
fn the_host_of_the_host_of_what_is_meant_is_no_target() {
    let container = ResolvedResource::new(id("docker_container:homepage-docker:abc"), "homepage");
    let mut stage = Stage::discovered();
    stage.gate.mention(&mut stage.session, container, stage.now);
    let edit = json!({"action": "append", "target_host": "delly", "path": "/opt/x", "content": "x"});
    for (tool, arguments) in [
        ("infra_read", exec("node:delly", "uptime")),
        ("infra_read", exec("lxc:delly:141", "uptime")),
        ("infra_file_edit", edit),
    ] {
        let refusal = stage.refused(tool, arguments);
        assert_eq!(refusal.code, ErrorCode::RoutingMismatch);
        assert_eq!(
            refusal.details["target_resource_id"],
            json!("docker_container:homepage-docker:abc")
        );
    }
    let _permit = stage.allowed("infra_read", exec("node:minipc", "uptime"));
    let _permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
}

#[test]
fn hosts_that_name_each_other_end_the_walk() {
    let one = ResolvedResource::new(id("lxc:b:1"), "a");
    let two = ResolvedResource::new(id("lxc:a:2"), "b");
    let mut stage = Stage::discovered().discover(vec![one.clone(), two]);
    stage.gate.mention(&mut stage.session, one, stage.now);
    let _permit = stage.allowed("infra_read", exec("node:delly", "uptime"));
}

#[test]
fn a_workload_is_changed_only_after_its_discovery() {
    let cluster = ResolvedResource::new(id("kubernetes_cluster:prod"), "prod");
    let web = ResolvedResource::new(id("kubernetes_deployment:prod:shop/web"), "web");
    let known = || Stage::discovered().discover(vec![cluster.clone(), web.clone()]);
    let scale = |more: Value| {
        let mut arguments = json!({"type": "scale", "replicas": 2});
        for (key, value) in more.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        arguments
    };
    for arguments in [
        json!({"cluster": "prod", "name": "never-seen"}),
        json!({"cluster": "prod", "namespace": "shop", "name": "web"}),
        json!({"resource_id": "web", "name": "never-seen"}),
        json!({"resource_id": "web", "namespace": "other"}),
        json!({"resource_id": "lxc:delly:105"}),
    ] {
        let refusal = known().refused("infra_kubernetes", scale(arguments));
        assert_eq!(
            (refusal.code, refusal.auto_recoverable()),
            (ErrorCode::InvalidInput, true)
        );
    }
    let named = json!({"resource_id": "web", "cluster": "prod", "namespace": "shop", "name": "web"});
    let permit = known().allowed("infra_kubernetes", scale(named));
    assert_eq!(permit.plan().resource(), Some(&web.id));
    let pod = json!({"type": "delete_pod", "resource_id": "web"});
    assert_eq!(
        known().refused("infra_kubernetes", pod).code,
        ErrorCode::InvalidInput
    );
}

#[test]
fn a_target_is_of_a_kind_that_its_action_is_for() {
    let alert = ResolvedResource::new(id("alert:cpu-1"), "High load");
    let mut stage = Stage::discovered().discover(vec![alert]);
    for (tool, arguments) in [
        ("infra_control", restart("alert:cpu-1")),
        (
            "infra_control",
            json!({"action": "delete", "target_host": "delly"}),
        ),
        ("infra_docker", json!({"action": "stop", "resource_id": "delly"})),
        (
            "infra_file_edit",
            json!({"action": "write", "target_host": "High load", "path": "/x", "content": "x"}),
        ),
        (
            "infra_alerts",
            json!({"action": "resolve", "alert_id": "lxc:delly:105"}),
        ),
        ("infra_read", exec("alert:cpu-1", "uptime")),
    ] {
        let refusal = stage.refused(tool, arguments);
        assert_eq!(
            (refusal.code, refusal.auto_recoverable()),
            (ErrorCode::InvalidInput, true)
        );
        assert!(refusal.details.contains_key("kinds"), "{refusal}");
    }
}

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
    let mut definition = catalogue.get("logic_query").unwrap().definition().clone();
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
