//! The demo and the lab from end to end: real processes in private roots, real wires, and an oracle that looks at the world.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use serde_json::{Value, json};
use support::{Home, Ran, ended};

/// Whether guests have namespaces here. Says so where they have not: the plain folders of the fallback play no incident.
fn has_namespaces(played: &Value) -> bool {
    let isolation = played["isolation"]["isolation"].as_str().unwrap();
    if isolation != "namespaces" {
        eprintln!("SKIPPED: no namespaces here ({played})");
    }
    isolation == "namespaces"
}

fn demo(home: &Home, incident: &str, rest: &[&str]) -> Ran {
    let arguments = ["demo", "--once", "--json", "--speed", "4", "--incident", incident];
    home.run(&[&arguments[..], rest].concat())
}

/// Plays an incident to its verified end, and once more with a human who says no.
fn plays(incident: &str, refused: &[(&str, &str)]) {
    let home = Home::empty();
    let ran = demo(&home, incident, &["--yes"]);
    let played = ran.json();
    if !has_namespaces(&played) {
        return;
    }
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert_eq!(played["resolved"], true, "{ran}");
    assert_eq!(played["verified"], true, "{ran}");
    assert_eq!(played["reason"], Value::Null, "{ran}");
    assert_eq!(played["proof"]["problems"], json!([]), "{ran}");
    let mistakes: Vec<(&str, &str)> = played["session"]["refused"]
        .as_array()
        .unwrap()
        .iter()
        .map(|refusal| {
            (
                refusal["rule"].as_str().unwrap(),
                refusal["code"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(mistakes, refused, "{ran}");

    let denied = demo(&home, incident, &["--deny", "not today"]);
    let played = denied.json();
    assert_eq!(denied.exit, Some(1), "{denied}");
    assert_eq!(played["resolved"], false, "{denied}");
    assert_eq!(played["counts"]["writes"], 0, "{denied}");
    assert!(played["reason"].as_str().unwrap().contains("oracle"), "{denied}");
}

#[test]
fn service_crash() {
    plays(
        "service-crash",
        &[
            ("state_machine", "FSM_BLOCKED"),
            ("command_intent", "READ_ONLY_VIOLATION"),
            ("command_intent", "READ_ONLY_VIOLATION"),
            ("repetition", "LOOP_DETECTED"),
            ("final_answer", "UNSUPPORTED_CLAIM"),
            ("final_answer", "FSM_BLOCKED"),
        ],
    );
}

#[test]
fn disk_full() {
    plays(
        "disk-full",
        &[
            ("dialect", "INVALID_INPUT"),
            ("command_intent", "READ_ONLY_VIOLATION"),
            ("state_machine", "FSM_BLOCKED"),
        ],
    );
}

#[test]
fn wrong_host() {
    plays(
        "wrong-host",
        &[("routing", "ROUTING_MISMATCH"), ("final_answer", "FSM_BLOCKED")],
    );
}

#[test]
fn node_failure() {
    plays(
        "node-failure",
        &[
            ("strict_resolution", "STRICT_RESOLUTION"),
            ("state_machine", "FSM_BLOCKED"),
        ],
    );
}

#[test]
fn restart_loop() {
    plays(
        "restart-loop",
        &[
            ("state_machine", "FSM_BLOCKED"),
            ("repetition", "LOOP_DETECTED"),
            ("final_answer", "UNSUPPORTED_CLAIM"),
        ],
    );
}

/// What nobody foresaw: real programs over real files in a guest, and the answer is true.
#[test]
fn a_command_that_nobody_foresaw_gives_a_true_answer() {
    let script = r#"
replies:
  - calls:
      - tool: infra_query
        arguments: { action: search, query: nginx-proxy }
  - calls:
      - tool: infra_read
        arguments:
          action: exec
          target_resource_id: "lxc:minipc:110"
          command: "awk '{print $9}' /var/log/nginx/access.log | sort | uniq -c | sort -rn"
      - tool: infra_read
        arguments:
          action: exec
          target_resource_id: "lxc:minipc:110"
          command: "grep -c ' 502 ' /var/log/nginx/access.log"
  - text: Nothing to do.
"#;
    let home = Home::with_script(script);
    let data = home.path("data/demo").display().to_string();
    let ran = demo(&home, "service-crash", &["--model", "demo", "--data", &data]);
    let played = ran.json();
    if !has_namespaces(&played) {
        return;
    }
    // Nothing was done about the incident, and the oracle says so.
    assert_eq!(ran.exit, Some(1), "{ran}");
    let session = played["session"]["session_id"].as_str().unwrap();
    let store = format!("sqlite:{data}/interlock.db");
    let trace = home.run(&["--store", &store, "trace", session, "--json"]).json();
    let printed: Vec<&str> = trace["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|evidence| evidence["data"]["stdout"].as_str())
        .collect();
    let [counted, bad] = printed.as_slice() else {
        panic!("{printed:?}")
    };
    let count = |status: &str| -> u32 {
        let line = counted.lines().find(|line| line.trim().ends_with(status));
        let line = line.unwrap_or_else(|| panic!("{counted}"));
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let all: u32 = counted
        .lines()
        .map(|line| line.split_whitespace().next().unwrap().parse::<u32>().unwrap())
        .sum();
    assert_eq!(all, 2000, "{counted}");
    assert_eq!(
        count("502").to_string(),
        bad.trim(),
        "two programs count the same"
    );
}

#[test]
fn the_lab_says_what_can_go_wrong_in_it() {
    let home = Home::empty();
    let incidents = home.run(&["lab", "incidents", "--json"]).json();
    let names: Vec<&str> = incidents
        .as_array()
        .unwrap()
        .iter()
        .map(|incident| incident["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "service-crash",
            "disk-full",
            "wrong-host",
            "node-failure",
            "restart-loop"
        ]
    );
    let wrong = home.run(&["lab", "inject", "earthquake"]);
    assert_eq!(wrong.exit, Some(2), "{wrong}");
    assert!(wrong.stderr.contains("service-crash"), "{wrong}");
    let nobody = home.run(&["lab", "inject", "disk-full"]);
    assert_eq!(nobody.exit, Some(2), "{nobody}");
    assert!(nobody.stderr.contains("interlock lab serve"), "{nobody}");
}

#[test]
fn an_incident_that_is_not_there_is_wrong_usage() {
    let wrong = Home::empty().run(&["demo", "--once", "--yes", "--incident", "earthquake"]);
    assert_eq!(wrong.exit, Some(2), "{wrong}");
    assert!(
        wrong.stderr.contains("there is no incident `earthquake`"),
        "{wrong}"
    );
    assert!(wrong.stderr.contains("service-crash"), "{wrong}");
}

#[test]
fn what_is_said_before_lab_reaches_the_lab() {
    let home = Home::empty();
    assert!(home.run(&["--json", "lab", "incidents"]).json().is_array());
    let wrong = home.run(&["--json", "--log-format", "json", "lab", "inject", "disk-full"]);
    assert_eq!(wrong.exit, Some(2), "{wrong}");
    let line: Value =
        serde_json::from_str(wrong.stderr.trim()).unwrap_or_else(|error| panic!("{error}\n{wrong}"));
    assert_eq!(line["level"], "ERROR");
    assert_eq!(wrong.json()["error"]["code"], "wrong_usage_or_configuration");
}

/// `interlock` has no second personality by its name, and needs the lab only for `demo` and `lab`.
#[test]
fn called_by_another_name_it_is_still_interlock() {
    let home = Home::empty();
    for name in ["docker", "systemctl", "journalctl", "pct", "qm", "lab-service"] {
        let program = home.path(name);
        std::fs::copy(env!("CARGO_BIN_EXE_interlock"), &program).unwrap();
        let version = ended(home.start_as(&program, &["--version"]));
        assert!(version.stdout.starts_with("interlock "), "{name}: {version}");
        let guest = ended(home.start_as(&program, &["__lab-guest", "keeper"]));
        assert_eq!(guest.exit, Some(2), "{name}: {guest}");
        for command in [&["demo", "--once", "--yes"][..], &["lab", "serve"]] {
            let missing = ended(home.start_as(&program, command));
            assert_eq!(missing.exit, Some(2), "{name}: {missing}");
            assert!(
                missing
                    .stderr
                    .contains("the lab is the program `interlock-lab`, which is not at"),
                "{name}: {missing}"
            );
        }
        std::fs::remove_file(&program).unwrap();
    }
}

/// Everything that a crate is made of, as Cargo resolved it.
#[test]
fn nothing_of_the_lab_is_in_the_product() {
    let lock: toml::Table = include_str!("../../../Cargo.lock").parse().unwrap();
    let packages: Vec<&toml::Table> = lock["package"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| package.as_table().unwrap())
        .collect();
    let mut reached = std::collections::BTreeSet::from(["interlock"]);
    let mut next = vec!["interlock"];
    while let Some(name) = next.pop() {
        for package in packages
            .iter()
            .filter(|package| package["name"].as_str() == Some(name))
        {
            let dependencies = package.get("dependencies").and_then(toml::Value::as_array);
            for dependency in dependencies.into_iter().flatten() {
                let dependency = dependency.as_str().unwrap().split(' ').next().unwrap();
                if reached.insert(dependency) {
                    next.push(dependency);
                }
            }
        }
    }
    assert!(reached.contains("interlock-engine"));
    for of_the_lab in ["interlock-lab", "promql-parser"] {
        assert!(!reached.contains(of_the_lab), "{of_the_lab}");
    }
}
