//! Where a read sandbox is required, a command runs only where one is known to hold.

use std::collections::BTreeSet;

use interlock_protocol::{ErrorCode, IdentityFact, SandboxWall, ToolCall, WallKind};
use serde_json::{Value, json};

use super::fixture::Stage;
use crate::gate::Decision;
use crate::rule::Rule;
use crate::sandbox::{ReadTarget, RequireSandbox, Where};

const GUEST: &str = "lxc:delly:105";

fn enforced() -> SandboxWall {
    SandboxWall::Enforced {
        by: WallKind::Bubblewrap,
        sockets: Vec::new(),
        missing: Vec::new(),
    }
}

fn none() -> SandboxWall {
    SandboxWall::None {
        reason: "it has no bwrap".to_owned(),
    }
}

fn tags(tags: &[&str]) -> BTreeSet<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

fn exec(target: Option<&str>) -> Value {
    let mut arguments = json!({"action": "exec", "command": "uptime"});
    if let Some(target) = target {
        arguments["target_host"] = target.into();
    }
    arguments
}

fn stage(required: RequireSandbox) -> Stage {
    let mut stage = Stage::discovered();
    stage.gate.options.read_sandbox = required;
    stage
}

#[test]
fn a_command_runs_where_the_setting_and_the_target_agree() {
    use RequireSandbox::{Always, Never, Tagged};
    let prod = || Tagged(tags(&["prod"]));
    // What is required, what is known of the target, and whether a command runs and its plan requires the sandbox.
    let cases = [
        (Never, None, Some(false)),
        (Never, Some((none(), tags(&["prod"]))), Some(false)),
        (Always, Some((enforced(), tags(&[]))), Some(true)),
        (Always, Some((none(), tags(&[]))), None),
        (Always, None, None),
        (prod(), Some((none(), tags(&["test"]))), Some(false)),
        (prod(), Some((enforced(), tags(&["test"]))), Some(false)),
        (prod(), Some((enforced(), tags(&["prod", "test"]))), Some(true)),
        (prod(), Some((none(), tags(&["prod"]))), None),
        // Nobody could say which tags it has.
        (prod(), None, None),
    ];
    for (required, known, expected) in cases {
        let mut stage = stage(required.clone());
        if let Some((sandbox, tags)) = known.clone() {
            let place = Where::In(GUEST.parse().unwrap());
            let target = ReadTarget { sandbox, tags };
            stage.gate.note_sandbox(&mut stage.session, place, target);
        }
        let decision = stage.propose("infra_read", exec(Some(GUEST)));
        let case = format!("{required:?} {known:?}");
        match (decision, expected) {
            (Decision::Allow(permit), Some(in_plan)) => {
                assert_eq!(permit.plan().sandbox_required, in_plan, "{case}");
            }
            (Decision::Block(refusal), None) => {
                let found = (refusal.rule, refusal.code);
                assert_eq!(found, (Rule::ReadSandbox, ErrorCode::PolicyBlocked), "{case}");
                let metric = stage.gate.metric(&refusal);
                assert_eq!(metric.name, "interlock_read_sandbox_block_total");
            }
            (decision, expected) => panic!("{case}: {decision:?}, expected {expected:?}"),
        }
    }
}

fn exec_of(command: &str) -> Value {
    json!({"action": "exec", "command": command, "target_host": GUEST})
}

fn partial() -> SandboxWall {
    SandboxWall::Enforced {
        by: WallKind::LandlockSeccomp,
        sockets: Vec::new(),
        missing: vec!["signals to other processes".to_owned()],
    }
}

#[test]
fn a_command_that_runs_code_named_by_data_reads_only_in_a_sandbox_and_one_that_is_handed_over_has_none() {
    use RequireSandbox::{Always, Never, Tagged};
    let prod = || Tagged(tags(&["prod"]));
    // What is required, what the target offers, the command, and whether it runs and its plan requires the sandbox.
    let cases = [
        (Never, Some(enforced()), "git status", Some(true)),
        (Never, Some(none()), "git status", None),
        (Never, Some(partial()), "git status", None),
        (Never, None, "git status", None),
        (Always, Some(enforced()), "git status", Some(true)),
        (Always, Some(none()), "git status", None),
        (prod(), Some(enforced()), "git status", Some(true)),
        (prod(), Some(none()), "git status", None),
        (Never, Some(enforced()), "docker exec web uptime", Some(false)),
        (Never, Some(none()), "docker exec web uptime", Some(false)),
        (Always, Some(enforced()), "docker exec web uptime", None),
        (Always, Some(none()), "docker exec web uptime", None),
        (prod(), Some(enforced()), "docker exec web uptime", Some(false)),
        (Always, Some(partial()), "uptime", Some(true)),
    ];
    for (required, known, command, expected) in cases {
        let mut stage = stage(required.clone());
        if let Some(sandbox) = known.clone() {
            let place = Where::In(GUEST.parse().unwrap());
            let target = ReadTarget {
                sandbox,
                tags: BTreeSet::new(),
            };
            stage.gate.note_sandbox(&mut stage.session, place, target);
        }
        let case = format!("{required:?} {known:?} {command}");
        match (stage.propose("infra_read", exec_of(command)), expected) {
            (Decision::Allow(permit), Some(in_plan)) => {
                assert_eq!(permit.plan().sandbox_required, in_plan, "{case}");
            }
            (Decision::Block(refusal), None) => {
                let found = (refusal.rule, refusal.code);
                assert_eq!(found, (Rule::ReadSandbox, ErrorCode::PolicyBlocked), "{case}");
                assert!(refusal.recovery_hint.is_some(), "{case}");
            }
            (decision, expected) => panic!("{case}: {decision:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn the_refusal_of_a_command_that_needs_a_sandbox_says_why_and_what_to_do() {
    let refused = |required: RequireSandbox, sandbox: SandboxWall, command: &str| {
        let mut stage = stage(required);
        let place = Where::In(GUEST.parse().unwrap());
        let target = ReadTarget {
            sandbox,
            tags: BTreeSet::new(),
        };
        stage.gate.note_sandbox(&mut stage.session, place, target);
        let refusal = stage.refused("infra_read", exec_of(command));
        format!(
            "{}\n  {}\n  {}",
            refusal.message,
            refusal.recovery_hint.as_deref().unwrap_or_default(),
            serde_json::to_string(&refusal.details).unwrap(),
        )
    };
    insta::assert_snapshot!(
        [
            refused(RequireSandbox::Never, none(), "git status"),
            refused(RequireSandbox::Never, partial(), "git status"),
            refused(RequireSandbox::Always, enforced(), "docker exec web uptime"),
        ]
        .join("\n")
    );
}

#[test]
fn without_a_sandbox_it_can_be_approved_as_a_change() {
    let mut stage = stage(RequireSandbox::Never);
    let command = json!({"action": "command", "target_resource_id": GUEST, "command": "git status"});
    assert!(
        !matches!(stage.propose("infra_control", command), Decision::Block(_)),
        "a change that a human approves"
    );
    // What is a read everywhere still belongs to the read tool.
    let command = json!({"action": "command", "target_resource_id": GUEST, "command": "uptime"});
    assert_eq!(stage.refused("infra_control", command).rule, Rule::CommandIntent);
}

#[test]
fn only_commands_that_read_are_asked_about() {
    let place = Some(Where::In(GUEST.parse().unwrap()));
    let cases = [
        (
            RequireSandbox::Always,
            "infra_read",
            exec(Some(GUEST)),
            place.clone(),
        ),
        (
            RequireSandbox::Always,
            "infra_read",
            exec(None),
            Some(Where::Here),
        ),
        (RequireSandbox::Never, "infra_read", exec(Some(GUEST)), None),
        (
            RequireSandbox::Never,
            "infra_read",
            exec_of("git status"),
            place.clone(),
        ),
        (
            RequireSandbox::Always,
            "infra_read",
            json!({"action": "file", "target_host": GUEST, "path": "/etc/hosts"}),
            None,
        ),
        (
            RequireSandbox::Always,
            "infra_control",
            json!({"action": "command", "target_resource_id": GUEST, "command": "touch /x"}),
            None,
        ),
        // What was not discovered is refused without being asked.
        (
            RequireSandbox::Always,
            "infra_read",
            exec(Some("lxc:delly:999")),
            None,
        ),
    ];
    for (required, tool, arguments, expected) in cases {
        let mut stage = stage(required);
        let Value::Object(map) = arguments.clone() else {
            panic!("arguments are an object")
        };
        let call = ToolCall {
            id: interlock_protocol::CallId::new("call_1").unwrap(),
            tool: interlock_protocol::ToolName::new(tool).unwrap(),
            arguments: map,
        };
        let asked = stage.gate.sandbox_asked(&stage.session, &call, &[], stage.now);
        assert_eq!(asked, expected, "{arguments}");
        if asked.is_none() && arguments["target_host"] == "lxc:delly:999" {
            assert_eq!(stage.refused(tool, arguments).rule, Rule::ReadSandbox);
        }
    }
}

#[test]
fn a_plan_that_requires_a_sandbox_is_another_plan() {
    let mut stage = stage(RequireSandbox::Always);
    let target = ReadTarget {
        sandbox: enforced(),
        tags: BTreeSet::new(),
    };
    let place = Where::In(GUEST.parse().unwrap());
    stage.gate.note_sandbox(&mut stage.session, place, target);
    let Decision::Allow(permit) = stage.propose("infra_read", exec(Some(GUEST))) else {
        panic!("it is allowed")
    };
    let mut other = permit.plan().clone();
    other.sandbox_required = false;
    // With and without the identity of the machine.
    let mut identified = [permit.plan().clone(), other.clone()];
    for plan in &mut identified {
        let target = plan.target.as_mut().expect("it has a target");
        target.identity = std::mem::take(&mut target.identity).with(IdentityFact::Endpoint, "192.0.2.1:22");
    }
    let hashes: BTreeSet<String> = identified
        .iter()
        .chain([permit.plan(), &other])
        .map(|plan| plan.hash().to_string())
        .collect();
    assert_eq!(hashes.len(), 4, "{hashes:?}");
    assert_ne!(other.hash(), permit.plan_hash());
    let written = serde_json::to_value(&other).unwrap();
    assert_eq!(written.get("sandbox_required"), None);
}
