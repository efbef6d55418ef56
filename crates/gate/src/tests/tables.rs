//! The table of tools: what each write is checked by, what each read shows, and one name for one action.

use std::collections::BTreeMap;

use interlock_protocol::{
    Arguments, CategoryName, KindRule, Mode, RiskLevel, ShellRule, TargetArgument, TargetRule,
    ToolDefinition, ToolKind,
};
use serde_json::{Value, json};

use super::fixture::*;
use crate::*;

fn arguments(value: Value) -> Arguments {
    match value {
        Value::Object(members) => members,
        _ => panic!("no object"),
    }
}

/// `tool action` of every action that the table has.
fn all(catalogue: &Catalogue) -> impl Iterator<Item = (String, &Action)> {
    catalogue.tools().flat_map(|tool| {
        let name = tool.definition().name.as_str();
        tool.actions()
            .map(move |(action, row)| (format!("{name} {action}").trim_end().to_owned(), row))
    })
}

#[test]
fn every_write_has_an_expectation_or_a_reason_why_it_has_none() {
    let catalogue = Catalogue::built_in().unwrap();
    let mut free_form = BTreeMap::new();
    for (name, action) in all(&catalogue).filter(|(_, action)| action.kind == ToolKind::Write) {
        assert_ne!(action.expect.is_some(), action.free_form.is_some(), "{name}");
        if let Some(reason) = &action.free_form {
            free_form.insert(name, reason.clone());
        }
    }
    insta::assert_json_snapshot!(free_form);
}

#[test]
fn every_write_says_whether_it_can_be_taken_back() {
    let catalogue = Catalogue::built_in().unwrap();
    let table: BTreeMap<String, String> = all(&catalogue)
        .filter(|(_, action)| action.kind == ToolKind::Write)
        .map(|(name, action)| (name, format!("{:?}", action.undo)))
        .collect();
    insta::assert_json_snapshot!(table);
}

#[test]
fn every_read_says_whether_it_shows_state() {
    let catalogue = Catalogue::built_in().unwrap();
    let table: BTreeMap<String, String> = all(&catalogue)
        .filter(|(_, action)| action.kind != ToolKind::Write)
        .map(|(name, action)| {
            let says = match &action.state {
                ShowsState::Always(true) => "state".to_owned(),
                ShowsState::Always(false) => "no state".to_owned(),
                ShowsState::Where { argument, values } => {
                    format!("state where {argument} is one of {values:?}")
                }
            };
            (name, says)
        })
        .collect();
    insta::assert_json_snapshot!(table);
}

#[test]
fn a_table_that_leaves_out_what_it_must_say_is_not_loaded() {
    let table = |kind: &str, extra: &str| {
        format!(
            r#"
[[tool]]
name = "x"
description = "x"
category = "system_write"
risk = "low"
kind = "write"
by = "action"
target = {{ arguments = ["target"] }}
synonyms = [{{ when = {{ action = "b" }}, is = {{ action = "a" }} }}]
[tool.actions]
a = {{ kind = "{kind}"{extra} }}
[tool.parameters]
type = "object"
[tool.parameters.properties]
action = {{ type = "string" }}
target = {{ type = "string" }}
"#
        )
    };
    let loads = |kind, extra| Catalogue::from_toml(&table(kind, extra)).map(drop);
    for (kind, extra) in [
        ("write", ", expect = \"absent\", undo = \"not_by_itself\""),
        (
            "write",
            ", free_form = \"anything can happen\", undo = \"unknown\"",
        ),
        ("read", ", state = true"),
        ("read", ", state = false"),
        ("resolve", ", state = { argument = \"target\", values = [\"x\"] }"),
    ] {
        loads(kind, extra).unwrap_or_else(|error| panic!("{kind}{extra}: {error}"));
    }
    for (kind, extra) in [
        ("write", ""),
        ("write", ", free_form = \" \""),
        ("write", ", expect = \"absent\", free_form = \"x\""),
    ] {
        let error = loads(kind, extra).unwrap_err();
        assert!(
            matches!(error, CatalogueError::NoExpectation { .. }),
            "{kind}{extra}: {error}"
        );
    }
    for (kind, extra) in [
        ("write", ", expect = \"absent\", state = true"),
        ("read", ""),
        ("resolve", ""),
        ("read", ", state = true, expect = \"absent\""),
    ] {
        let error = loads(kind, extra).unwrap_err();
        assert!(
            matches!(error, CatalogueError::NoState { .. }),
            "{kind}{extra}: {error}"
        );
    }
    for (kind, extra) in [
        ("write", ", expect = \"absent\""),
        ("read", ", state = true, undo = \"reversible\""),
    ] {
        let error = loads(kind, extra).unwrap_err();
        assert!(
            matches!(error, CatalogueError::NoUndo { .. }),
            "{kind}{extra}: {error}"
        );
    }
    let stray =
        table("read", ", state = true").replace(r#"is = { action = "a" }"#, r#"is = { action = "c" }"#);
    let error = Catalogue::from_toml(&stray).unwrap_err();
    assert!(matches!(error, CatalogueError::Synonym { .. }), "{error}");
}

#[test]
fn synonyms_are_one_action_everywhere() {
    let catalogue = Catalogue::built_in().unwrap();
    let more = json!({"resource_id": "docker_container:server1:web", "text": "x"});
    let mut count = 0;
    for tool in catalogue.tools() {
        let name = tool.definition().name.as_str();
        for (mut said, mut meant) in tool.synonyms() {
            count += 1;
            let shown = format!("{name} {said:?}");
            assert_eq!(tool.normalised(said.clone()), meant, "{shown}");
            assert_eq!(tool.action_name(&said), tool.action_name(&meant), "{shown}");
            assert_eq!(tool.action(&said), tool.action(&meant), "{shown}");
            assert_eq!(
                catalogue.classify(name, &said),
                catalogue.classify(name, &meant),
                "{shown}"
            );
            let known: Vec<&str> = match tool.definition().parameters.get("properties") {
                Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
                _ => Vec::new(),
            };
            for (key, value) in arguments(more.clone()) {
                if known.contains(&key.as_str()) {
                    said.insert(key.clone(), value.clone());
                    meant.insert(key, value);
                }
            }
            let plan = |arguments: &Arguments| {
                let container = ResolvedResource::new(id("docker_container:server1:web"), "web");
                let notes = ResolvedResource::new(id("note:knowledge"), "knowledge");
                let mut stage = Stage::new().discover(vec![container, notes]);
                let permit = stage.allowed(name, Value::Object(arguments.clone()));
                let repeated = stage.refused(name, Value::Object(meant.clone()));
                assert_ne!(repeated.rule, Rule::Arguments, "{shown}");
                let plan = permit.plan().clone();
                (
                    plan.hash(),
                    plan.action.clone(),
                    plan.arguments.clone(),
                    plan.expectation,
                )
            };
            assert_eq!(plan(&said), plan(&meant), "{shown}");
        }
    }
    assert_eq!(count, 8);
}

#[test]
fn what_contradicts_its_action_is_refused() {
    let container = ResolvedResource::new(id("docker_container:server1:web"), "web");
    for arguments in [
        json!({"action": "stop", "operation": "start", "resource_id": "web"}),
        json!({"action": "inspect", "operation": "restart", "resource_id": "web"}),
        json!({"action": "control", "operation": "delete", "resource_id": "web"}),
    ] {
        let mut stage = Stage::new().discover(vec![container.clone()]);
        let refusal = stage.refused("infra_docker", arguments.clone());
        assert_eq!(refusal.rule, Rule::Arguments, "{arguments}");
    }
}

/// The same change through two tools is checked in the same way.
#[test]
fn tools_that_do_the_same_expect_the_same() {
    let container = ResolvedResource::new(id("docker_container:server1:web"), "web");
    let target = "docker_container:server1:web";
    let file = |tool_has_action: bool| {
        let mut call = json!({"target_resource_id": "lxc:delly:105", "path": "/srv/x", "content": "x"});
        if tool_has_action {
            call["action"] = "write".into();
        }
        call
    };
    let mut pairs = vec![(("infra_file_edit", file(true)), ("write_file", file(false)))];
    for action in ["start", "stop", "restart"] {
        pairs.push((
            ("infra_docker", json!({"action": action, "resource_id": target})),
            (
                "infra_control",
                json!({"action": action, "target_resource_id": target}),
            ),
        ));
    }
    for (one, other) in pairs {
        let expected = [&one, &other].map(|(tool, arguments)| {
            let mut stage = Stage::discovered().discover(vec![container.clone()]);
            match stage.propose(tool, arguments.clone()) {
                Decision::Allow(permit) => permit.plan().expectation.clone(),
                Decision::Hold(hold) => hold.plan.expectation.clone(),
                Decision::Block(refusal) => panic!("{tool} {arguments}: {refusal:?}"),
            }
        });
        assert_eq!(expected[0], expected[1], "{one:?} {other:?}");
        assert!(expected[0].is_some());
    }
}

/// What the gate makes of one call to the tool `probe`, so that two definitions can be compared.
fn decided(definition: &ToolDefinition) -> String {
    let mut stage = Stage::discovered();
    let mut catalogue = Catalogue::built_in().unwrap();
    let target = (definition.target == TargetRule::None).then(|| id("tool_server:probe"));
    catalogue.register(definition.clone(), target).unwrap();
    let mut gate = Gate::new(std::sync::Arc::new(catalogue), Options::default());
    gate.analyse = analyse;
    let input = GovernanceInput {
        forbidden_categories: [CategoryName::new("forbidden").unwrap()].into(),
        calls_in_last_hour: 3,
        ..GovernanceInput::in_mode(Mode::Normal)
    };
    let situation = Situation {
        now: stage.now,
        governance: Governance::Given(&input),
        names: &[],
    };
    let agent = stage.agent.clone();
    let arguments = json!({"command": "systemctl stop nginx", "where": "lxc:delly:105"});
    let decision = gate.decide(
        &mut stage.world,
        &mut stage.session,
        &agent,
        call("probe", arguments),
        situation,
    );
    let plan = match &decision {
        Decision::Allow(permit) => format!("{:?}", permit.plan()),
        Decision::Hold(hold) => format!("{:?}", hold.plan),
        Decision::Block(refusal) => format!("{:?}", refusal.rule),
    };
    format!("{}{plan}", decision.explain())
}

type Change = fn(&mut ToolDefinition);

/// A field that nothing reads is a promise that nothing keeps. Each field is changed alone, and the decision changes. A new
/// field does not pass without a case.
#[test]
fn every_field_of_a_definition_decides() {
    let built_in = Catalogue::built_in().unwrap();
    let probe = ToolDefinition {
        name: "probe".parse().unwrap(),
        kind: KindRule::Fixed {
            kind: ToolKind::Write,
        },
        target: TargetRule::Arguments {
            arguments: vec![TargetArgument {
                name: "where".parse().unwrap(),
                bare: None,
            }],
        },
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}, "where": {"type": "string"}}}),
        rate_limit_per_hour: std::num::NonZeroU32::new(100),
        risk: RiskLevel::Low,
        ..built_in.get("logic_query").unwrap().definition().clone()
    };
    let base = decided(&probe);
    let changes: &[(&str, Change)] = &[
        ("name", |tool| tool.name = "another".parse().unwrap()),
        ("parameters", |tool| {
            tool.parameters["properties"]["command"] = json!({"type": "integer"});
        }),
        ("category", |tool| {
            tool.category = CategoryName::new("forbidden").unwrap();
        }),
        ("risk", |tool| tool.risk = RiskLevel::High),
        ("kind", |tool| {
            tool.kind = KindRule::Fixed { kind: ToolKind::Read };
        }),
        ("modes", |tool| tool.modes = [Mode::Recovery].into()),
        ("requires_approval", |tool| {
            tool.requires_approval = !tool.requires_approval;
        }),
        ("timeout_seconds", |tool| {
            tool.timeout_seconds = std::num::NonZeroU32::new(7).unwrap();
        }),
        ("rate_limit_per_hour", |tool| {
            tool.rate_limit_per_hour = std::num::NonZeroU32::new(3);
        }),
        ("target", |tool| tool.target = TargetRule::None),
        ("shell", |tool| {
            tool.shell = ShellRule::Argument {
                argument: "command".parse().unwrap(),
            };
        }),
    ];
    for (field, change) in changes {
        let mut other = probe.clone();
        change(&mut other);
        assert_ne!(decided(&other), base, "`{field}` decides nothing");
    }
    // What a model is told of a tool decides nothing by itself; `interlock_dialect::Offer` reads it.
    let told = ["description"];
    let Value::Object(written) = serde_json::to_value(&probe).unwrap() else {
        panic!("a definition is an object")
    };
    let fields: Vec<&str> = written.keys().map(String::as_str).collect();
    let mut covered: Vec<&str> = changes.iter().map(|(field, _)| *field).chain(told).collect();
    covered.sort_unstable();
    let mut fields = fields;
    fields.sort_unstable();
    assert_eq!(fields, covered);
}
