//! Control levels, governance, command intent, repetition, recovery, classification.

use interlock_protocol::{
    CategoryName, ControlLevel, ErrorCode, Mode, Outcome, RiskLevel, ToolKind, ToolName,
};
use serde_json::{Value, json};
use std::fmt::Write as _;

use super::fixture::*;
use crate::*;

type Make<'a> = &'a dyn Fn() -> (&'static str, Value);

fn outcome(decision: &Decision) -> String {
    match decision {
        Decision::Allow(_) => "allow".to_owned(),
        Decision::Hold(_) => "hold".to_owned(),
        Decision::Block(refusal) => refusal.rule.to_string(),
    }
}

#[test]
fn policy_by_level_by_kind() {
    let policies = [
        PolicyVerdict::NotConsulted,
        PolicyVerdict::Permit {
            policy: "p".to_owned(),
        },
        PolicyVerdict::PermitWithApproval {
            policy: "p".to_owned(),
        },
        PolicyVerdict::Forbid {
            policy: "p".to_owned(),
        },
        PolicyVerdict::DefaultDeny,
    ];
    let read = || ("infra_read", exec("lxc:delly:105", "uptime"));
    let low = || {
        (
            "infra_docker",
            json!({"action": "check_updates", "resource_id": "lxc:delly:105"}),
        )
    };
    let medium = || ("infra_control", restart("lxc:delly:105"));
    let high = || {
        (
            "infra_control",
            json!({"action": "delete", "target_resource_id": "lxc:delly:105"}),
        )
    };
    let secret = || ("infra_read", exec("lxc:delly:105", "cat /etc/shadow"));
    let calls: [(&str, Make<'_>); 5] = [
        ("read", &read),
        ("secret read", &secret),
        ("low write", &low),
        ("medium write", &medium),
        ("high write", &high),
    ];
    let mut table = String::new();
    for policy in &policies {
        for level in ControlLevel::ALL {
            for (name, make) in calls {
                let mut stage = Stage::at_level(*level).discover(vec![jellyfin()]);
                let input = GovernanceInput {
                    policy: policy.clone(),
                    ..GovernanceInput::in_mode(Mode::Normal)
                };
                let situation = Situation {
                    now: stage.now,
                    governance: Governance::Given(&input),
                    names: &[],
                };
                let (tool, arguments) = make();
                let agent = stage.agent.clone();
                let decision = stage.gate.decide(
                    &mut stage.world,
                    &mut stage.session,
                    &agent,
                    call(tool, arguments),
                    situation,
                );
                let _ = writeln!(table, "{policy:?} / {level} / {name}: {}", outcome(&decision));
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn governance_refuses_by_the_rule_that_decided() {
    let normal = GovernanceInput::in_mode(Mode::Normal);
    let category = |name: &str| CategoryName::new(name).unwrap();
    let rule = |bound| ArgumentRule {
        tool: ToolName::new("infra_file_edit").unwrap(),
        argument: "path".to_owned(),
        bound,
    };
    let budget = Budget {
        name: "writes".to_owned(),
        spent: 3,
        limit: 3,
    };
    let cases = [
        (
            GovernanceInput::in_mode(Mode::Lockdown),
            Rule::Mode,
            ErrorCode::ActionNotAllowed,
        ),
        (
            GovernanceInput {
                forbidden_categories: [category("system_write")].into(),
                ..normal.clone()
            },
            Rule::Category,
            ErrorCode::PolicyBlocked,
        ),
        (
            GovernanceInput {
                argument_rules: vec![rule(Bound::ForbiddenPaths(vec!["/etc/**".to_owned()]))],
                ..normal.clone()
            },
            Rule::ArgumentRule,
            ErrorCode::PolicyBlocked,
        ),
        (
            GovernanceInput {
                calls_in_last_hour: 5,
                rate_limit_per_hour: Some(5),
                ..normal.clone()
            },
            Rule::RateLimit,
            ErrorCode::RateLimited,
        ),
        (
            GovernanceInput {
                blast_radius: Some(BlastRadius { affected: 9, most: 3 }),
                ..normal.clone()
            },
            Rule::BlastRadius,
            ErrorCode::PolicyBlocked,
        ),
        (
            GovernanceInput {
                budgets: vec![budget],
                ..normal.clone()
            },
            Rule::Budget,
            ErrorCode::PolicyBlocked,
        ),
        (
            GovernanceInput {
                policy: PolicyVerdict::Forbid {
                    policy: "no-edits".to_owned(),
                },
                ..normal
            },
            Rule::Policy,
            ErrorCode::PolicyBlocked,
        ),
    ];
    for (input, rule, code) in cases {
        let mut stage = Stage::discovered();
        let situation = Situation {
            now: stage.now,
            governance: Governance::Given(&input),
            names: &[],
        };
        let edit = json!({"action": "append", "target_host": "jellyfin", "path": "/etc/x", "content": "x"});
        let agent = stage.agent.clone();
        let decision = stage.gate.decide(
            &mut stage.world,
            &mut stage.session,
            &agent,
            call("infra_file_edit", edit),
            situation,
        );
        let Decision::Block(refusal) = decision else {
            panic!("{rule} let it pass")
        };
        assert_eq!((refusal.rule, refusal.code), (rule, code));
        if rule == Rule::Policy {
            assert_eq!(refusal.details["policy"], json!("no-edits"));
        }
    }
}

#[test]
fn the_read_tool_takes_only_bounded_reads() {
    let mut stage = Stage::discovered();
    let refusal = stage.refused("infra_read", exec("lxc:delly:105", "journalctl -f"));
    assert_eq!(
        (refusal.code, refusal.auto_recoverable()),
        (ErrorCode::ReadOnlyViolation, true)
    );
    assert_eq!(refusal.details["category"], json!("unbounded_stream"));
    assert_eq!(
        refusal.details["suggested_rewrite"],
        json!("journalctl -n 200 --since \"10 min ago\"")
    );
    for command in ["rm -rf /", "systemctl restart x", "psql", "frobnicate"] {
        let refusal = stage.refused("infra_read", exec("lxc:delly:105", command));
        assert_eq!(
            (refusal.code, refusal.auto_recoverable()),
            (ErrorCode::ReadOnlyViolation, false),
            "{command}"
        );
    }
}

#[test]
fn secrets_and_unlisted_networks_hold_at_every_level() {
    for level in ControlLevel::ALL {
        for command in [
            "cat /etc/shadow",
            "curl -s https://status.example.org",
            "ping -c 1 $HOST",
        ] {
            let mut stage = Stage::at_level(*level).discover(vec![jellyfin()]);
            let hold = stage.held("infra_read", exec("lxc:delly:105", command));
            assert_eq!(hold.plan.kind, ToolKind::Read);
        }
    }
    let mut stage = Stage::discovered();
    stage.gate.options.egress.insert("status.example.org".to_owned());
    let _permit = stage.allowed(
        "infra_read",
        exec("lxc:delly:105", "curl -s https://status.example.org"),
    );
    let _hold = stage.held("infra_read", exec("lxc:delly:105", "ping -c 1 $HOST"));
}

#[test]
fn a_command_in_an_action_that_should_have_none_is_judged_too() {
    let mut stage = Stage::discovered();
    let sneaky = json!({"action": "file", "target_host": "jellyfin", "path": "/x", "command": "rm -rf /"});
    assert_eq!(stage.refused("infra_read", sneaky).rule, Rule::CommandIntent);
}

#[test]
fn the_risk_of_a_plan_is_the_worse_of_tool_and_command() {
    let mut stage = Stage::discovered();
    let command = json!({"action": "command", "target_host": "jellyfin", "command": "rm -rf /srv"});
    let hold = stage.held("infra_control", command);
    assert_eq!(hold.plan.risk, RiskLevel::High);
}

#[test]
fn repetition_is_recoverable_then_a_failure_and_allowed_after_a_failure() {
    let mut stage = Stage::discovered();
    let read = || exec("lxc:delly:105", "uptime");
    let permit = stage.allowed("infra_read", read());
    stage.run(permit, Outcome::Failed);
    let permit = stage.allowed("infra_read", read());
    stage.run(permit, Outcome::Succeeded);
    let seen: Vec<(ErrorCode, bool, Severity)> = (0..5)
        .map(|_| stage.refused("infra_read", read()))
        .map(|refusal| (refusal.code, refusal.auto_recoverable(), refusal.severity))
        .collect();
    let soft = (ErrorCode::LoopDetected, true, Severity::Blocked);
    let hard = (ErrorCode::LoopDetected, false, Severity::Failed);
    assert_eq!(seen, [soft, soft, soft, hard, hard]);
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /"));
    stage.run(permit, Outcome::Succeeded);
    let _permit = stage.allowed("infra_read", read());
}

#[test]
fn a_repetition_is_seen_whatever_order_its_arguments_have() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed(
        "infra_read",
        serde_json::from_str(r#"{"action":"exec","target_host":"jellyfin","command":"uptime"}"#).unwrap(),
    );
    stage.run(permit, Outcome::Succeeded);
    let again =
        serde_json::from_str(r#"{"command":"uptime","target_host":"jellyfin","action":"exec"}"#).unwrap();
    assert_eq!(stage.refused("infra_read", again).rule, Rule::Repetition);
}

#[test]
fn recovery_tracking_is_per_tool_counts_attempts_expires_and_ends_with_success() {
    let mut stage = Stage::new();
    for _ in 0..2 {
        stage.refused("infra_control", restart("lxc:delly:105"));
    }
    let pending = |stage: &Stage| {
        let recoveries = stage.session.recoveries(&stage.agent).unwrap();
        recoveries
            .pending()
            .map(|p| (p.tool.to_string(), p.code, p.attempts))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        pending(&stage),
        [("infra_control".to_owned(), ErrorCode::FsmBlocked, 2)]
    );
    stage.search(vec![jellyfin()]);
    let permit = stage.allowed("infra_control", restart("lxc:delly:105"));
    let settled = stage.run(permit, Outcome::Succeeded);
    assert_eq!(settled.recovered.map(|recovery| recovery.attempts), Some(2));
    assert_eq!(pending(&stage), []);
    stage.refused("infra_control", restart("lxc:delly:141"));
    stage.wait(jiff::SignedDuration::from_mins(11));
    stage.refused("infra_docker", json!({"action": "stop", "container": "jellyfin"}));
    assert_eq!(pending(&stage).len(), 1);
}

#[test]
fn unknown_tools_and_unclear_actions_are_writes() {
    use ToolKind::{Read, Resolve, Write};
    let catalogue = Catalogue::built_in().unwrap();
    let kind = |tool: &str, arguments: Value| {
        let Value::Object(arguments) = arguments else {
            panic!()
        };
        catalogue.classify(tool, &arguments)
    };
    let cases = [
        ("infra_query", json!({"action": "search"}), Resolve),
        ("infra_query", json!({"action": "destroy"}), Write),
        ("infra_discovery", json!({"action": "list"}), Resolve),
        ("infra_read", json!({"action": "exec"}), Read),
        ("infra_read", json!({}), Write),
        ("infra_metrics", json!({}), Read),
        ("infra_storage", json!({}), Read),
        ("infra_mail", json!({}), Read),
        ("logic_query", json!({"goal": "known_node(N)"}), Read),
        ("infra_kubernetes", json!({"type": "pods"}), Read),
        ("infra_kubernetes", json!({"type": "nuke"}), Write),
        ("infra_kubernetes", json!({}), Write),
        ("infra_docker", json!({"action": "list"}), Read),
        ("infra_docker", json!({"action": "control"}), Write),
        ("infra_docker", json!({"action": "update"}), Write),
        ("infra_docker", json!({"action": "check_updates"}), Write),
        ("infra_docker", json!({"action": "trigger_update"}), Write),
        ("infra_docker", json!({"action": ["list"]}), Write),
        ("infra_docker", json!({}), Write),
        (
            "infra_control",
            json!({"action": "command", "command": "cat /x"}),
            Write,
        ),
        ("infra_file_edit", json!({"action": "read"}), Read),
        ("infra_file_edit", json!({"action": "READ"}), Write),
        ("infra_file_edit", json!({"action": "write"}), Write),
        ("infra_file_edit", json!({}), Write),
        ("infra_alerts", json!({"action": "list"}), Read),
        ("infra_alerts", json!({"action": "resolve"}), Write),
        ("infra_alerts", json!({"action": "dismiss"}), Write),
        ("infra_knowledge", json!({"action": "recall"}), Read),
        ("infra_knowledge", json!({"action": "remember"}), Write),
        ("read_file", json!({}), Read),
        ("logic_query", json!({}), Read),
        ("write_file", json!({}), Write),
        ("no_such_tool", json!({"action": "read"}), Write),
    ];
    for (tool, arguments, expected) in cases {
        assert_eq!(kind(tool, arguments.clone()), expected, "{tool} {arguments}");
    }
}

#[test]
fn the_session_scope_and_the_schema_are_asked_first() {
    let only = [ToolName::new("infra_read").unwrap()].into();
    let mut stage = Stage::with(SessionOptions {
        tools: ToolScope::Only(only),
        ..SessionOptions::default()
    });
    assert_eq!(
        stage.refused("infra_control", restart("x")).rule,
        Rule::ToolAllowed
    );
    let mut stage = Stage::discovered();
    let unknown = stage.refused("pulse_run_command", json!({"command": "reboot"}));
    assert_eq!(
        (unknown.rule, unknown.code, unknown.auto_recoverable()),
        (Rule::ToolKnown, ErrorCode::NotFound, true)
    );
    for arguments in [
        json!({}),
        json!({"action": "restart"}),
        json!({"action": "explode", "target_host": "x"}),
    ] {
        let refusal = stage.refused("infra_control", arguments);
        assert_eq!(
            (refusal.rule, refusal.code),
            (Rule::Arguments, ErrorCode::InvalidInput)
        );
    }
}

#[test]
fn a_tool_that_may_write_must_declare_its_target() {
    let mut catalogue = Catalogue::built_in().unwrap();
    let mut definition = catalogue.get("logic_query").unwrap().definition().clone();
    definition.name = ToolName::new("grafana.delete").unwrap();
    definition.kind = interlock_protocol::KindRule::Fixed {
        kind: ToolKind::Write,
    };
    assert!(matches!(
        catalogue.register(definition.clone(), None),
        Err(CatalogueError::WriteWithoutTarget(_))
    ));
    let server = id("tool_server:grafana");
    assert!(
        catalogue
            .register(definition.clone(), Some(server.clone()))
            .is_ok()
    );
    assert!(matches!(
        catalogue.register(definition, Some(server)),
        Err(CatalogueError::Duplicate(_))
    ));
}

#[test]
fn decisions_explain_themselves() {
    let mut out = String::new();
    let mut stage = Stage::discovered();
    out.push_str(&stage.propose("infra_control", restart("lxc:delly:105")).explain());
    let mut stage = Stage::at_level(ControlLevel::Controlled).discover(vec![jellyfin()]);
    out.push_str(&stage.propose("infra_control", restart("lxc:delly:105")).explain());
    let mut stage = Stage::new();
    out.push_str(&stage.propose("infra_control", restart("lxc:delly:105")).explain());
    insta::assert_snapshot!(out);
}

#[test]
fn made_up_names_do_not_become_labels() {
    let mut stage = Stage::discovered();
    let refusal = stage.refused("made_up_tool_4711", json!({}));
    let metric = stage.gate.metric(&refusal);
    assert_eq!(metric.name, "interlock_proposal_rejected_total");
    assert_eq!(
        metric.labels,
        [("rule", "tool_known".to_owned()), ("tool", "unknown".to_owned())]
    );
    let refusal = stage.refused(
        "infra_docker",
        json!({"action": "made up", "container": "nowhere"}),
    );
    let metric = stage.gate.metric(&refusal);
    assert_eq!(metric.name, "interlock_strict_resolution_block_total");
    assert_eq!(
        metric.labels,
        [
            ("tool", "infra_docker".to_owned()),
            ("action", "other".to_owned())
        ]
    );
}
