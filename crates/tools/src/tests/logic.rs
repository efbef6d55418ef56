//! Questions in logic about a cluster, through the gate.

use serde_json::{Value, json};

use super::world::World;

/// The values of one variable in all answers.
fn values<'a>(data: &'a Value, variable: &str) -> Vec<&'a Value> {
    let answers = data["answers"].as_array().unwrap();
    answers.iter().map(|answer| &answer[variable]).collect()
}

#[tokio::test]
async fn a_model_asks_where_guests_run_and_what_an_answer_rests_on() {
    let mut world = World::discovered().await;
    let data = world
        .data("logic_query", json!({"goal": "current_vm_host(Guest, delly)"}))
        .await;
    assert_eq!(data["holds"], true, "{data}");
    assert!(!values(&data, "Guest").is_empty(), "{data}");
    let counted = "aggregate_all(count, current_vm_host(_, delly), Count)";
    let count = world.data("logic_query", json!({"goal": counted})).await;
    let guests = data["answers"].as_array().unwrap().len();
    assert_eq!(values(&count, "Count"), [&json!(guests)], "{count}");
    let explained = world
        .data(
            "logic_query",
            json!({"goal": "known_node(minipc)", "explain": true}),
        )
        .await;
    assert!(
        explained.to_string().contains("known_node(minipc)"),
        "{explained}"
    );
}

#[tokio::test]
async fn a_goal_that_does_more_than_ask_is_refused_and_says_why() {
    for goal in [
        "node_health(delly, S), assertz(x)",
        "consult('/etc/passwd')",
        "shell('id')",
        "G = assertz(x), call(G)",
        "open('/etc/shadow', read, S)",
        "known_node(",
    ] {
        let mut world = World::discovered().await;
        let (done, _) = world.stage.settle("logic_query", json!({"goal": goal})).await;
        let said = serde_json::to_string(&done.response).unwrap();
        assert!(said.contains("INVALID_INPUT"), "{goal}: {said}");
    }
}
