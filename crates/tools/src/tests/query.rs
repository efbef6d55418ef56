//! This machine is found, by every name it has, and what is not here is not.

use interlock_protocol::{Observation, RunState};
use serde_json::json;

use super::stage::Stage;
use crate::Inventory as _;

#[tokio::test]
async fn this_machine_is_found_and_may_then_be_acted_on() {
    for (action, arguments) in [
        ("search", json!({})),
        ("search", json!({"query": "localhost"})),
        ("list", json!({"type": "any"})),
        ("topology", json!({})),
        ("health", json!({})),
    ] {
        let mut stage = Stage::new();
        let arguments = super::stage::with(json!({"action": action}), arguments);
        let done = stage.run("infra_query", arguments).await;
        assert_eq!(done.discovered[0], stage.host.resource(), "{action}");
        let command = stage.read("exec", json!({"command": "uptime"}));
        assert_eq!(
            stage.data("infra_read", command).await["exit_code"],
            0,
            "{action}"
        );
    }
}

#[tokio::test]
async fn a_search_that_finds_nothing_says_so() {
    let mut stage = Stage::new();
    for arguments in [
        json!({"action": "search", "query": "no-such-machine"}),
        json!({"action": "list", "type": "vm"}),
    ] {
        let data = stage.data("infra_query", arguments).await;
        assert_eq!((&data["resources"], &data["total"]), (&json!([]), &json!(0)));
    }
}

#[tokio::test]
async fn one_is_had_by_id_and_by_alias() {
    let mut stage = Stage::discovered().await;
    for name in [stage.here(), "localhost".to_owned(), "127.0.0.1".to_owned()] {
        for action in ["get", "config", "health"] {
            let done = stage
                .run("infra_query", json!({"action": action, "resource_id": name}))
                .await;
            let reading = done.reading.unwrap();
            assert_eq!(reading.resource.as_ref(), Some(stage.host.id()));
            assert_eq!(reading.data["id"], stage.here());
            assert!(reading.data["processors"].as_u64() > Some(0), "{}", reading.data);
            assert!(matches!(
                reading.observations.as_slice(),
                [
                    Observation::Present,
                    Observation::Guest {
                        state: RunState::Running,
                        started_at: Some(_),
                        ..
                    }
                ]
            ));
        }
    }
    let (code, _) = stage
        .error(
            "infra_query",
            json!({"action": "get", "resource_id": "host:elsewhere"}),
        )
        .await;
    assert_eq!(code, "NOT_FOUND");
}

#[tokio::test]
async fn code_finds_this_machine_by_itself() {
    let stage = Stage::new();
    for name in [&stage.here(), "LOCALHOST", "127.0.0.1"] {
        assert_eq!(stage.host.find(name).await, [stage.host.resource()], "{name}");
    }
    for name in [
        "",
        "elsewhere",
        "host:elsewhere",
        "service:elsewhere:cron.service",
        "-h",
    ] {
        assert_eq!(stage.host.find(name).await, [], "{name}");
    }
}

#[tokio::test]
async fn metrics_need_no_target() {
    let mut stage = Stage::discovered().await;
    let data = stage.data("system_metrics_snapshot", json!({})).await;
    assert!(data["memory_bytes"]["total"].as_u64() > Some(0), "{data}");
}
