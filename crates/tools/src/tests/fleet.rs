//! The fleet: found in one graph, read through real wires, and this machine among it.

use interlock_protocol::{Observation, RunState};
use serde_json::json;

use super::world::{Shell, World};
use crate::Inventory as _;

#[tokio::test]
async fn everything_is_found_in_one_graph() {
    let mut world = World::new().await;
    let listed = world.data("infra_query", json!({"action": "list"})).await;
    let ids: Vec<&str> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    for id in [
        "cluster:home",
        "node:delly",
        "lxc:delly:141",
        "vm:minipc:203",
        "storage:delly:local",
    ] {
        assert!(ids.contains(&id), "{id} {ids:?}");
    }
    assert!(ids.contains(&world.stage.here().as_str()), "{ids:?}");
    for (arguments, count) in [
        (json!({"action": "list", "type": "lxc"}), 2),
        (json!({"action": "search", "query": "HOME"}), 3),
        (json!({"action": "search", "query": "141"}), 1),
        (json!({"action": "search", "query": "nothing"}), 0),
        (
            json!({"action": "list", "limit": 1}),
            listed["total"].as_u64().unwrap(),
        ),
    ] {
        let found = world.data("infra_query", arguments.clone()).await;
        assert_eq!(found["total"], count, "{arguments}: {found}");
    }
}

#[tokio::test]
async fn topology_and_health_show_the_whole() {
    let mut world = World::new().await;
    let tree = world.data("infra_query", json!({"action": "topology"})).await;
    let text = tree.to_string();
    assert!(
        text.contains("cluster:home") && text.contains("\"children\""),
        "{text}"
    );
    let health = world.data("infra_query", json!({"action": "health"})).await;
    assert_eq!(health["resources"]["lxc"]["running"], 1, "{health}");
    let working = |health: &serde_json::Value| {
        let rows = health["connections"].as_array().unwrap();
        let row = rows
            .iter()
            .find(|row| row["connection"] == "home")
            .unwrap()
            .clone();
        row.get("problem").is_none()
    };
    assert!(working(&health));
    world.cluster.lock().unwrap().down = true;
    // What was taken a moment ago is good for a while.
    let down = async {
        loop {
            // The same call twice in a row would be refused.
            world.data("infra_query", json!({"action": "list"})).await;
            let health = world.data("infra_query", json!({"action": "health"})).await;
            if !working(&health) {
                return health;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    };
    let health = tokio::time::timeout(std::time::Duration::from_secs(20), down)
        .await
        .unwrap();
    // What it knew stays known, and is marked.
    assert_eq!(health["resources"]["lxc"]["running"], 1, "{health}");
    assert!(
        health["attention"].to_string().contains("stale_since"),
        "{health}"
    );
}

#[tokio::test]
async fn one_is_had_by_id_name_and_number_and_looked_at_freshly() {
    let mut world = World::discovered().await;
    for name in ["lxc:delly:141", "homepage", "141"] {
        let arguments = json!({"action": "get", "resource_id": name});
        let done = world.stage.run("infra_query", arguments).await;
        let reading = done.reading.unwrap();
        assert_eq!(reading.data["id"], "lxc:delly:141", "{name}");
        assert!(matches!(
            reading.observations.as_slice(),
            [
                Observation::Present,
                Observation::Guest {
                    state: RunState::Running,
                    started_at: Some(_),
                    ..
                },
                Observation::Property { .. }
            ]
        ));
    }
    let config = world
        .data(
            "infra_query",
            json!({"action": "config", "resource_id": "homepage"}),
        )
        .await;
    assert_eq!(config["config"]["hostname"], "homepage");
    assert!(!config.to_string().contains("hush"), "{config}");
    let node = world
        .data(
            "infra_query",
            json!({"action": "get", "resource_id": "node:delly"}),
        )
        .await;
    assert_eq!(node["state"], "online");
    for name in ["nobody", "lxc:elsewhere:141", "host:elsewhere"] {
        let (code, _) = world
            .error("infra_query", json!({"action": "get", "resource_id": name}))
            .await;
        assert_eq!(code, "NOT_FOUND", "{name}");
    }
}

#[tokio::test]
async fn commands_run_in_a_container_through_its_node_and_in_a_machine_through_its_agent() {
    let mut world = World::discovered().await;
    for (command, stdout) in [
        ("echo 'a b'", "a b\n"),
        (
            "printf '%s\\n' b a a | sort | uniq -c | awk '{print $1, $2}'",
            "2 a\n1 b\n",
        ),
        ("cat /no/such/file", ""),
    ] {
        let arguments = json!({"action": "exec", "target_resource_id": "lxc:delly:141", "command": command});
        let data = world.data("infra_read", arguments).await;
        assert_eq!(data["stdout"], stdout, "{command}: {data}");
    }
    let ran = world.ssh.commands.lock().unwrap().clone();
    assert!(
        ran.iter().all(|line| line.starts_with("timeout -k 2 ")),
        "{ran:?}"
    );
    assert!(
        ran.iter()
            .any(|line| line.contains(" pct exec 141 -- timeout -k 2 60 ")),
        "{ran:?}"
    );
    let arguments = json!({"action": "exec", "target_resource_id": "vm:minipc:203", "command": "uptime"});
    let data = world.data("infra_read", arguments).await;
    assert_eq!(data["stdout"], "from the agent\n");
    let asked = world.cluster.lock().unwrap().asked.join("\n");
    assert!(
        asked.contains("command=timeout&command=-k&command=2&command=60&command=uptime"),
        "{asked}"
    );
}

#[tokio::test]
async fn what_cannot_be_entered_says_what_to_configure() {
    let exec = |id: &str| json!({"action": "exec", "target_resource_id": id, "command": "uptime"});
    for (shell, parts) in [
        (Shell::None, ["`ssh`", "known_hosts"]),
        (Shell::Unknown, ["is not known", "add the line"]),
    ] {
        let mut world = World::with(shell).await;
        world.data("infra_query", json!({"action": "list"})).await;
        let (code, message) = world.error("infra_read", exec("node:delly")).await;
        assert_eq!(code, "EXECUTION_FAILED");
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[tokio::test]
async fn this_machine_is_one_of_them_and_stays_itself() {
    let mut world = World::discovered().await;
    let here = world.stage.here();
    let data = world
        .data(
            "infra_read",
            json!({"action": "exec", "target_resource_id": here, "command": "uname"}),
        )
        .await;
    assert_eq!(data["exit_code"], 0);
    assert_eq!(world.ssh.commands.lock().unwrap().len(), 0);
    let found = world.inventory.find("localhost").await;
    assert_eq!(found, [world.stage.host.resource()]);
    for name in ["homepage", "lxc:delly:141", "141"] {
        let ids: Vec<String> = world
            .inventory
            .find(name)
            .await
            .iter()
            .map(|found| found.id.to_string())
            .collect();
        assert_eq!(ids, ["lxc:delly:141"], "{name}");
    }
}

#[tokio::test]
async fn storage_and_discovery_say_what_there_is() {
    let mut world = World::discovered().await;
    let pools = world.data("infra_storage", json!({"action": "pools"})).await;
    assert_eq!(pools["pools"][0]["id"], "storage:delly:local", "{pools}");
    let arguments = json!({"action": "backups", "resource_id": "lxc:delly:141"});
    let backups = world.data("infra_storage", arguments).await;
    assert_eq!(
        (&backups["total"], &backups["backups"][0]["volid"]),
        (&json!(1), &json!("local:backup/a"))
    );
    let arguments = json!({"action": "get", "resource_id": "lxc:delly:141"});
    let built = world.data("infra_discovery", arguments).await;
    assert_eq!(
        built["services"],
        json!([{"unit": "nginx.service", "state": "active"}])
    );
    assert!(!built["file_systems"].as_array().unwrap().is_empty(), "{built}");
}
