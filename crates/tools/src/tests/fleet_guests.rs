//! Changing guests and services, and what code sees of it afterwards.

use interlock_protocol::Verification;
use serde_json::{Value, json};

use super::stage::outcomes;
use super::world::World;

fn control(action: &str, id: &str) -> Value {
    json!({"action": action, "target_resource_id": id})
}

#[tokio::test]
async fn a_change_of_a_guest_is_verified_by_what_the_cluster_says_afterwards() {
    for (action, id) in [
        ("restart", "lxc:delly:141"),
        ("stop", "lxc:delly:141"),
        ("shutdown", "vm:minipc:203"),
        ("start", "lxc:delly:105"),
        ("delete", "lxc:delly:105"),
    ] {
        let mut world = World::discovered().await;
        let data = world.data("infra_control", control(action, id)).await;
        assert!(
            data["task"].as_str().unwrap().starts_with("UPID:delly:"),
            "{data}"
        );
        assert_eq!(world.observe().await, [Verification::Verified], "{action} {id}");
    }
}

#[tokio::test]
async fn a_later_look_by_the_model_verifies_too() {
    let mut world = World::discovered().await;
    world
        .data("infra_control", control("delete", "lxc:delly:105"))
        .await;
    let arguments = json!({"action": "get", "resource_id": "lxc:delly:105"});
    let (done, settled) = world.stage.settle("infra_query", arguments).await;
    assert_eq!(done.response.outcome().unwrap()["exists"], false);
    assert_eq!(outcomes(&settled), [Verification::Verified]);
}

#[tokio::test]
async fn a_guest_that_moved_is_answered_for_the_id_that_was_asked_for() {
    let mut world = World::discovered().await;
    let mut arguments = control("migrate", "lxc:delly:141");
    arguments["target_node"] = "minipc".into();
    world.data("infra_control", arguments).await;
    let asked = world.cluster.lock().unwrap().asked.join("\n");
    // A container that runs is restarted on the way.
    assert!(asked.contains("target=minipc&restart=1"), "{asked}");
    let arguments = json!({"action": "get", "resource_id": "lxc:delly:141"});
    let (done, settled) = world.stage.settle("infra_query", arguments).await;
    let data = done.response.outcome().unwrap();
    assert_eq!(
        (&data["moved_to"], &data["node"], &data["parent"]),
        (&json!("lxc:minipc:141"), &json!("minipc"), &json!("node:minipc"))
    );
    assert_eq!(outcomes(&settled), [Verification::Verified]);
    let arguments = json!({"action": "exec", "target_resource_id": "lxc:minipc:141", "command": "true"});
    world.data("infra_read", arguments).await;
}

#[tokio::test]
async fn a_node_that_is_none_is_refused_before_anything_happens() {
    for (node, part) in [
        ("nowhere", "delly, minipc"),
        ("delly", "already"),
        ("node:minipc", "delly, minipc"),
    ] {
        let mut world = World::discovered().await;
        let mut arguments = control("migrate", "lxc:delly:141");
        arguments["target_node"] = node.into();
        let (code, message) = world.error("infra_control", arguments).await;
        assert_eq!(code, "INVALID_INPUT");
        assert!(message.contains(part), "{message}");
        let asked = world.cluster.lock().unwrap().asked.join("\n");
        assert!(!asked.contains("POST"), "{asked}");
    }
}

#[tokio::test]
async fn what_proxmox_does_not_do_is_a_failure_that_says_why() {
    let mut world = World::discovered().await;
    world.cluster.lock().unwrap().task = Some("command 'lxc-start' failed: exit code 1");
    let (code, message) = world
        .error("infra_control", control("start", "lxc:delly:105"))
        .await;
    assert_eq!(code, "EXECUTION_FAILED");
    assert!(message.contains("lxc-start"), "{message}");
    assert_eq!(world.observe().await, [Verification::Failed]);
    let mut world = World::discovered().await;
    let (code, message) = world
        .error("infra_control", control("start", "lxc:delly:141"))
        .await;
    assert_eq!(code, "EXECUTION_FAILED");
    assert!(message.contains("already running"), "{message}");
}

#[tokio::test]
async fn a_service_is_restarted_inside_its_guest_and_verified() {
    let mut world = World::discovered().await;
    let mut arguments = control("service_restart", "lxc:delly:141");
    arguments["unit"] = "nginx".into();
    world.data("infra_control", arguments).await;
    let arguments =
        json!({"action": "exec", "target_resource_id": "lxc:delly:141", "command": "systemctl status nginx"});
    let (_, settled) = world.stage.settle("infra_read", arguments).await;
    assert_eq!(outcomes(&settled), [Verification::Verified]);
    let mut arguments = control("service_stop", "lxc:delly:141");
    arguments["unit"] = "nginx".into();
    world.data("infra_control", arguments).await;
    assert_eq!(world.observe().await, [Verification::Verified]);
}
