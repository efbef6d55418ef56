//! Resolution, routing and the resolved context.

use interlock_protocol::{ErrorCode, Outcome};
use jiff::SignedDuration;
use serde_json::json;

use super::fixture::*;
use crate::*;

fn edit(target: &str) -> serde_json::Value {
    json!({"action": "append", "target_host": target, "path": "/opt/homepage/config/services.yaml", "content": "x"})
}

#[test]
fn routing_mismatch_regression_homepage_scenario() {
    let mut stage = Stage::discovered();
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    let refusal = stage.refused("infra_file_edit", edit("delly"));
    assert_eq!(
        (refusal.rule, refusal.code),
        (Rule::Routing, ErrorCode::RoutingMismatch)
    );
    insta::assert_json_snapshot!(refusal.to_response());
    let permit = stage.allowed("infra_file_edit", edit("homepage-docker"));
    assert_eq!(permit.plan().resource(), Some(&id("lxc:delly:141")));
}

#[test]
fn routing_validation_bulk_discovery_should_not_poison_routing() {
    let mut stage = Stage::discovered();
    let _permit = stage.allowed("infra_file_edit", edit("delly"));
}

#[test]
fn routing_validation_explicit_get_should_mark_access() {
    let mut stage = Stage::discovered();
    stage.get(homepage());
    assert!(
        stage
            .session
            .context()
            .was_explicitly_accessed(&id("lxc:delly:141"), stage.now)
    );
    assert_eq!(
        stage.refused("infra_file_edit", edit("delly")).rule,
        Rule::Routing
    );
    let _permit = stage.allowed("infra_read", exec("node:minipc", "uptime"));
}

#[test]
fn a_host_is_refused_even_after_the_host_itself_was_mentioned() {
    let mut stage = Stage::discovered();
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    stage.gate.mention(&mut stage.session, delly(), stage.now);
    assert_eq!(
        stage.refused("infra_read", exec("node:delly", "uptime")).rule,
        Rule::Routing
    );
}

#[test]
fn routing_holds_for_what_runs_inside_and_not_for_what_is_about() {
    let mut stage = Stage::discovered();
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    let _permit = stage.allowed("infra_metrics", json!({"resource_id": "delly"}));
    let command = json!({"action": "command", "target_host": "delly", "command": "touch /x"});
    assert_eq!(stage.refused("infra_control", command).rule, Rule::Routing);
}

#[test]
fn explicit_access_expires() {
    let mut stage = Stage::discovered();
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    stage.wait(SignedDuration::from_mins(46));
    stage.search(vec![delly(), homepage()]);
    let _permit = stage.allowed("infra_file_edit", edit("delly"));
}

#[test]
fn an_unresolved_host_name_is_routed_too() {
    let mut stage = Stage::new().discover(vec![jellyfin()]);
    stage.gate.mention(&mut stage.session, homepage(), stage.now);
    let read = json!({"action": "exec", "target_host": "DELLY", "command": "uptime"});
    assert_eq!(stage.refused("infra_read", read).rule, Rule::Routing);
}

#[test]
fn a_write_needs_its_own_resource_and_a_read_some_resource() {
    let mut stage = Stage::new().discover(vec![jellyfin()]);
    let refusal = stage.refused("infra_control", restart("lxc:delly:999"));
    assert_eq!(
        (refusal.rule, refusal.code),
        (Rule::StrictResolution, ErrorCode::StrictResolution)
    );
    assert_eq!(refusal.details["resource_id"], json!("lxc:delly:999"));
    assert!(refusal.auto_recoverable());
    let _permit = stage.allowed("infra_read", exec("node:elsewhere", "uptime"));
    let mut fresh = Stage::new();
    assert_eq!(
        fresh.refused("infra_read", exec("node:elsewhere", "uptime")).rule,
        Rule::StrictResolution
    );
    let _permit = fresh.allowed("logic_query", json!({"goal": "known_node(Node)"}));
    let _permit = fresh.allowed("infra_knowledge", json!({"action": "recall"}));
}

#[test]
fn names_aliases_and_ids_resolve_and_two_of_a_name_do_not() {
    let twin = ResolvedResource::new(id("lxc:minipc:150"), "Jellyfin");
    for name in ["jellyfin", "JELLYFIN", "media", "lxc:delly:105"] {
        let mut stage = Stage::discovered();
        let permit = stage.allowed("infra_control", restart(name));
        assert_eq!(permit.plan().resource(), Some(&id("lxc:delly:105")), "{name}");
    }
    let mut stage = Stage::discovered().discover(vec![twin]);
    let refusal = stage.refused("infra_control", restart("jellyfin"));
    assert_eq!(
        refusal.details["candidates"],
        json!(["lxc:delly:105", "lxc:minipc:150"])
    );
    let _permit = stage.allowed("infra_control", restart("lxc:minipc:150"));
}

#[test]
fn no_alias_can_pose_as_a_canonical_id() {
    let fake = ResolvedResource::new(id("lxc:delly:1"), "fake").alias("lxc:delly:105");
    let mut stage = Stage::new().discover(vec![fake]);
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:105")).rule,
        Rule::StrictResolution
    );
}

#[test]
fn two_different_targets_in_one_call_are_refused() {
    let mut stage = Stage::discovered();
    let both =
        json!({"action": "restart", "target_resource_id": "lxc:delly:105", "target_host": "homepage-docker"});
    assert_eq!(stage.refused("infra_control", both).code, ErrorCode::InvalidInput);
    let with_host =
        json!({"action": "restart", "target_resource_id": "lxc:delly:105", "target_host": "delly"});
    let _permit = stage.allowed("infra_control", with_host);
}

#[test]
fn only_a_resolve_adds_resources() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
    let started = stage.begin(permit);
    let receipt = stage.finish(started, Outcome::Succeeded);
    let smuggled = ResolvedResource::new(id("vm:minipc:203"), "smuggled");
    let settled = stage.settle(&receipt, None, vec![smuggled]);
    assert_eq!(settled.dropped, 1);
    assert_eq!(
        stage.refused("infra_control", restart("vm:minipc:203")).rule,
        Rule::StrictResolution
    );
}

#[test]
fn a_bare_alert_id_names_the_alert() {
    let alert = ResolvedResource::new(id("alert:cpu-1"), "High load");
    let mut stage = Stage::discovered().discover(vec![alert]);
    let permit = stage.allowed("infra_alerts", json!({"action": "resolve", "alert_id": "cpu-1"}));
    assert_eq!(permit.plan().resource(), Some(&id("alert:cpu-1")));
}

#[test]
fn entries_live_45_minutes_after_their_last_use() {
    let mut stage = Stage::discovered();
    stage.wait(SignedDuration::from_mins(44));
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "uptime"));
    stage.run(permit, Outcome::Succeeded);
    stage.wait(SignedDuration::from_mins(2));
    assert_eq!(
        stage.refused("infra_control", restart("lxc:delly:141")).rule,
        Rule::StrictResolution
    );
    let _permit = stage.allowed("infra_control", restart("lxc:delly:105"));
}

#[test]
fn the_least_recently_used_entry_makes_room_and_pins_protect() {
    let limits = ContextLimits {
        max_entries: 3,
        ..ContextLimits::default()
    };
    let mut stage = Stage::with(SessionOptions {
        limits,
        ..SessionOptions::default()
    });
    let guest = |n: u32| ResolvedResource::new(id(&format!("lxc:delly:{n}")), format!("g{n}"));
    stage.search(vec![guest(1), guest(2), guest(3)]);
    stage.session.context_mut().pin(&id("lxc:delly:1"));
    stage.search(vec![guest(4)]);
    let known = |stage: &Stage| {
        stage
            .session
            .context()
            .resources(stage.now)
            .map(|r| r.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(known(&stage), ["g1", "g3", "g4"]);
    for n in [3, 4] {
        stage.session.context_mut().pin(&id(&format!("lxc:delly:{n}")));
    }
    assert_eq!(stage.search(vec![guest(5)]).dropped, 1);
    assert_eq!(known(&stage), ["g1", "g3", "g4"]);
}

#[test]
fn one_writer_per_resource_across_executions_and_sessions() {
    let mut stage = Stage::discovered();
    let second = execution("exe_2");
    stage
        .gate
        .rediscover(&mut stage.session, &second, vec![jellyfin()], stage.now);
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    let Decision::Block(refusal) = stage.propose_as(&second, "infra_control", restart("media")) else {
        panic!("allowed")
    };
    assert_eq!(refusal.rule, Rule::OneWriter);
    stage.run(permit, Outcome::Failed);
    assert!(matches!(
        stage.propose_as(&second, "infra_control", restart("media")),
        Decision::Allow(_)
    ));
}

#[test]
fn a_reset_forgets_coherently_and_never_a_verification() {
    for keep in [Keep::Nothing, Keep::Pinned] {
        let mut stage = Stage::discovered();
        stage.session.context_mut().pin(&id("lxc:delly:105"));
        stage.gate.reset(&mut stage.session, keep, stage.now);
        let expected = match keep {
            Keep::Nothing => (State::Resolving, 0),
            Keep::Pinned => (State::Reading, 1),
        };
        assert_eq!((stage.state(), stage.session.context().len(stage.now)), expected);
    }
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    stage.run(permit, Outcome::TimedOut);
    stage.gate.reset(&mut stage.session, Keep::Nothing, stage.now);
    assert_eq!(stage.state(), State::Verifying);
    assert!(matches!(stage.answer("Done.", &[]), AnswerDecision::Block(_)));
}

/// Every way to write the name or address of the node that a guest lives on.
const SPELLINGS: &[&str] = &[
    "delly",
    "DELLY",
    "Delly.",
    "delly:22",
    "root@delly",
    "ssh://delly",
    "ssh://root@delly:22/",
    "delly.example.lan",
    "DELLY.Example.Lan.",
    "delly.example.lan:8006",
    "10.20.0.11",
    " 10.20.0.11",
    "10.20.0.11:22",
    "root@10.20.0.11",
    "https://10.20.0.11:8006",
    "::ffff:10.20.0.11",
    "[::ffff:10.20.0.11]:22",
    "fd00::11",
    "FD00:0:0:0::11",
    "[fd00::11]:22",
    "node:delly",
];

fn addressed() -> ResolvedResource {
    delly()
        .alias("10.20.0.11")
        .alias("delly.example.lan")
        .alias("fd00::11")
}

/// A call of every tool that runs inside a machine that an argument names.
fn inside() -> Vec<(&'static str, &'static str, serde_json::Value)> {
    let catalogue = Catalogue::built_in().unwrap();
    let mut calls = Vec::new();
    for (tool, call) in [
        ("infra_read", json!({"action": "exec", "command": "uptime"})),
        ("infra_read", json!({"action": "file", "path": "/etc/x"})),
        ("infra_read", json!({"action": "find", "path": "/srv"})),
        ("infra_read", json!({"action": "tail", "path": "/etc/x"})),
        ("infra_read", json!({"action": "logs"})),
        (
            "infra_control",
            json!({"action": "command", "command": "touch /x"}),
        ),
        (
            "infra_control",
            json!({"action": "service_start", "unit": "nginx"}),
        ),
        (
            "infra_control",
            json!({"action": "service_stop", "unit": "nginx"}),
        ),
        (
            "infra_control",
            json!({"action": "service_restart", "unit": "nginx"}),
        ),
        ("infra_file_edit", json!({"action": "read", "path": "/etc/x"})),
        (
            "infra_file_edit",
            json!({"action": "write", "path": "/etc/x", "content": "x"}),
        ),
        (
            "infra_file_edit",
            json!({"action": "append", "path": "/etc/x", "content": "x"}),
        ),
        (
            "infra_file_edit",
            json!({"action": "patch", "path": "/etc/x", "edits": [{"find": "a", "replace": "b"}]}),
        ),
        ("read_file", json!({"path": "/etc/x"})),
        ("list_directory", json!({"path": "/etc"})),
        ("write_file", json!({"path": "/etc/x", "content": "x"})),
        ("delete_file", json!({"path": "/etc/x"})),
    ] {
        let definition = catalogue.get(tool).unwrap().definition();
        let properties = definition.parameters["properties"].as_object().unwrap();
        for argument in ["target_resource_id", "target_host"] {
            if properties.contains_key(argument) {
                calls.push((tool, argument, call.clone()));
            }
        }
    }
    // A tool that runs inside its target and is not in the list above would not be looked at.
    for tool in catalogue.tools() {
        let name = tool.definition().name.as_str();
        for (action, row) in tool
            .actions()
            .filter(|(_, row)| row.placement == Placement::Inside)
        {
            let listed = calls.iter().any(|(known, _, call)| {
                *known == name
                    && call
                        .get("action")
                        .and_then(serde_json::Value::as_str)
                        .unwrap_or("")
                        == action
            });
            assert!(listed, "{name} {action} ({:?}) is not in the table", row.kind);
        }
    }
    calls
}

#[test]
fn every_spelling_of_a_parent_is_routed_like_the_parent() {
    for (tool, argument, call) in inside() {
        for spelling in SPELLINGS {
            let mut arguments = call.clone();
            arguments[argument] = (*spelling).into();
            // The node was discovered, or code knows it, or nothing but its own name is known.
            for known in ["discovered", "directory", "nothing"] {
                let mut stage = match known {
                    "discovered" => Stage::new().discover(vec![addressed(), homepage()]),
                    _ => Stage::new().discover(vec![homepage()]),
                };
                stage.gate.mention(&mut stage.session, homepage(), stage.now);
                let names = [NameEntry {
                    name: (*spelling).to_owned(),
                    resources: vec![addressed()],
                }];
                let situation = match known {
                    "directory" => Situation::at(stage.now).with_names(&names),
                    _ => Situation::at(stage.now),
                };
                let agent = stage.agent.clone();
                let decision = stage.gate.decide(
                    &mut stage.world,
                    &mut stage.session,
                    &agent,
                    super::fixture::call(tool, arguments.clone()),
                    situation,
                );
                match decision {
                    Decision::Block(refusal) => assert!(
                        matches!(refusal.rule, Rule::Routing | Rule::StrictResolution),
                        "{tool} {arguments} {known}: {refusal:?}"
                    ),
                    // Without a target nothing runs: the executor looks up no names.
                    Decision::Allow(permit) => assert_eq!(
                        (permit.plan().resource(), permit.kind(), known),
                        (None, interlock_protocol::ToolKind::Read, "nothing"),
                        "{tool} {arguments}"
                    ),
                    Decision::Hold(hold) => panic!("{tool} {arguments} {known}: {hold:?}"),
                }
            }
        }
    }
}

#[test]
fn a_name_that_code_knows_is_resolved_and_not_discovered() {
    let names = [NameEntry {
        name: "10.20.0.11".to_owned(),
        resources: vec![addressed()],
    }];
    let ask = |stage: &mut Stage, tool: &str, arguments: serde_json::Value| {
        let agent = stage.agent.clone();
        let situation = Situation::at(stage.now).with_names(&names);
        let call = super::fixture::call(tool, arguments);
        stage
            .gate
            .decide(&mut stage.world, &mut stage.session, &agent, call, situation)
    };
    let read = json!({"action": "exec", "target_host": "10.20.0.11", "command": "uptime"});
    let mut stage = Stage::new().discover(vec![jellyfin()]);
    let Decision::Allow(permit) = ask(&mut stage, "infra_read", read.clone()) else {
        panic!("a read of what code knows, with something discovered")
    };
    assert_eq!(permit.plan().resource(), Some(&id("node:delly")));
    let write = json!({"action": "command", "target_host": "10.20.0.11", "command": "touch /x"});
    let Decision::Block(refusal) = ask(&mut stage, "infra_control", write) else {
        panic!("a write to what was not discovered")
    };
    assert_eq!(refusal.rule, Rule::StrictResolution);
    let Decision::Block(refusal) = ask(&mut Stage::new(), "infra_read", read) else {
        panic!("a read with nothing discovered")
    };
    assert_eq!(refusal.rule, Rule::StrictResolution);
}

#[test]
fn a_read_that_names_no_machine_is_routed_like_the_one_that_is_meant() {
    let here = ResolvedResource::new(id("host:box"), "box");
    let names = [NameEntry {
        name: String::new(),
        resources: vec![here],
    }];
    let child = ResolvedResource::new(id("docker_container:box:web"), "web");
    let mut stage = Stage::new().discover(vec![child.clone()]);
    let read = || super::fixture::call("read_file", json!({"path": "/etc/x"}));
    let agent = stage.agent.clone();
    let situation = Situation::at(stage.now).with_names(&names);
    let decision = stage
        .gate
        .decide(&mut stage.world, &mut stage.session, &agent, read(), situation);
    let Decision::Allow(permit) = decision else {
        panic!("{decision:?}")
    };
    assert_eq!(permit.plan().resource(), Some(&id("host:box")));
    stage.run(permit, Outcome::Succeeded);
    stage.gate.mention(&mut stage.session, child, stage.now);
    stage.wait(SignedDuration::from_secs(1));
    let read = super::fixture::call("read_file", json!({"path": "/etc/y"}));
    let situation = Situation::at(stage.now).with_names(&names);
    let decision = stage
        .gate
        .decide(&mut stage.world, &mut stage.session, &agent, read, situation);
    assert!(matches!(decision, Decision::Block(refusal) if refusal.rule == Rule::Routing));
}
