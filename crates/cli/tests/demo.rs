//! The demo and the lab from end to end: real processes in private roots, real wires, and an oracle that looks at the world.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use serde_json::{Value, json};
use support::{Home, Ran};

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
