//! The tools over Docker, alerts, metrics and notes, from the gate to a verified write, against servers on real sockets.

use interlock_gate::Settled;
use interlock_infra::Options as InfraOptions;
use interlock_protocol::Verification;
use serde_json::json;

use super::docker_stage::Stage;

fn outcomes(settled: &Settled) -> Vec<Verification> {
    settled.ended.iter().map(|end| end.outcome).collect()
}

const WEB: &str = "docker_container:server1:web";
const DEPLOYMENT: &str = "kubernetes_deployment:prod:shop/web";
const ALERT: &str = "alert:6bf1a1f1c1d1e1f1";

#[tokio::test]
async fn a_restarted_container_is_verified_by_looking_at_it() {
    let mut stage = Stage::connected().await;
    let listed = stage.data("infra_docker", json!({"action": "list"})).await;
    assert_eq!(
        (&listed["containers"][0]["resource_id"], &listed["total"]),
        (&json!(WEB), &json!(1))
    );
    let restart = json!({"action": "restart", "resource_id": WEB});
    let (done, settled) = stage.settle("infra_docker", restart).await;
    assert!(done.response.is_ok(), "{done:?}");
    assert_eq!(
        outcomes(&settled),
        [],
        "what the write itself saw verifies nothing"
    );
    let look = json!({"action": "inspect", "container": "server1/web"});
    let (_, settled) = stage.settle("infra_docker", look).await;
    assert_eq!(outcomes(&settled), [Verification::Verified]);
}

#[tokio::test]
async fn code_looks_at_a_container_by_itself() {
    let mut stage = Stage::connected().await;
    stage
        .settle(
            "infra_docker",
            json!({"action": "control", "operation": "restart", "resource_id": WEB}),
        )
        .await;
    assert_eq!(stage.observe().await, [Verification::Verified]);
    let mut stage = Stage::connected().await;
    stage
        .settle("infra_docker", json!({"action": "restart", "resource_id": WEB}))
        .await;
    assert_eq!(stage.observe().await, [Verification::Verified]);
}

#[tokio::test]
async fn an_alert_is_put_aside_and_an_alert_is_over() {
    let mut stage = Stage::connected().await;
    let dismiss = json!({"action": "dismiss", "alert_id": ALERT, "note": "known"});
    stage.settle("infra_alerts", dismiss).await;
    let (done, settled) = stage
        .settle("infra_alerts", json!({"action": "get", "alert_id": ALERT}))
        .await;
    assert_eq!(outcomes(&settled), [Verification::Verified], "{done:?}");
    let mut stage = Stage::connected().await;
    stage
        .settle("infra_alerts", json!({"action": "resolve", "alert_id": ALERT}))
        .await;
    assert_eq!(stage.observe().await, [Verification::Verified]);
}

#[tokio::test]
async fn numbers_of_a_container_come_with_their_bounds() {
    let mut stage = Stage::connected().await;
    let question = json!({"action": "performance", "resource_id": WEB, "period": "15m"});
    let data = stage.data("infra_metrics", question).await;
    let series = &data["series"][0];
    assert_eq!(
        (&series["metric"], &series["avg"], &series["trend_per_hour"]),
        (&json!("memory"), &json!(1000.0), &json!(0.0))
    );
    let nothing = stage
        .error(
            "infra_metrics",
            json!({"action": "temperatures", "resource_id": WEB}),
        )
        .await;
    assert!(
        nothing.contains("nothing that is connected has temperatures"),
        "{nothing}"
    );
}

#[tokio::test]
async fn what_is_learned_is_recalled() {
    let mut stage = Stage::connected().await;
    let note = json!({"action": "remember", "text": "web needs its cache warmed", "about": WEB});
    let (done, _) = stage.settle("infra_knowledge", note).await;
    assert!(done.response.is_ok(), "{done:?}");
    let (done, settled) = stage
        .settle("infra_knowledge", json!({"action": "recall", "query": "cache"}))
        .await;
    let data = done.response.outcome().unwrap();
    assert_eq!(
        (&data["notes"][0]["about"], &data["notes"][0]["session"]),
        (&json!(WEB), &json!("ses_1"))
    );
    assert_eq!(outcomes(&settled), [Verification::Verified]);
}

#[tokio::test]
async fn what_is_not_connected_or_not_of_this_kind_says_so() {
    let mut stage = Stage::connected().await;
    for (tool, arguments, expected) in [
        (
            "infra_docker",
            json!({"action": "logs", "resource_id": ALERT}),
            "neither a container nor a Docker host",
        ),
        (
            "infra_docker",
            json!({"action": "inspect", "host": "server1"}),
            "name one container",
        ),
        (
            "infra_docker",
            json!({"action": "list", "host": "elsewhere"}),
            "is no Docker host; there are server1",
        ),
        ("infra_docker", json!({"action": "services"}), "is not there"),
        (
            "infra_alerts",
            json!({"action": "get", "alert_id": "alert:gone"}),
            "it may be over",
        ),
    ] {
        let error = stage.error(tool, arguments.clone()).await;
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[tokio::test]
async fn a_scaled_workload_is_verified_by_looking_at_it() {
    let mut stage = Stage::connected().await;
    let scale = json!({"type": "scale", "resource_id": DEPLOYMENT, "replicas": 5});
    let (done, settled) = stage.settle("infra_kubernetes", scale).await;
    assert!(done.response.is_ok(), "{done:?}");
    assert_eq!(outcomes(&settled), []);
    let look = json!({"type": "deployments", "resource_id": DEPLOYMENT});
    let (done, settled) = stage.settle("infra_kubernetes", look).await;
    assert_eq!(outcomes(&settled), [Verification::Verified], "{done:?}");
    let all = stage
        .data("infra_kubernetes", json!({"type": "deployments"}))
        .await;
    assert_eq!(
        (&all["total"], &all["objects"][0]["facts"]["wanted"]),
        (&json!(1), &json!(5))
    );
    let described = stage
        .data(
            "infra_kubernetes",
            json!({"type": "describe", "resource_id": DEPLOYMENT}),
        )
        .await;
    assert_eq!(described["object"]["spec"]["replicas"], 5);
}

#[tokio::test]
async fn queues_of_all_gateways_are_listed() {
    let mut stage = Stage::connected().await;
    let data = stage.data("infra_mail", json!({"action": "queues"})).await;
    let gateway = &data["gateways"][0];
    assert_eq!(
        (&gateway["resource_id"], &gateway["queues"][0]["total"]),
        (&json!("mail_gateway:mail"), &json!(5))
    );
}

#[test]
fn what_nothing_connected_can_run_is_not_offered() {
    let options = InfraOptions {
        local: false,
        ..InfraOptions::default()
    };
    let infra =
        interlock_infra::Infra::new(&options, &interlock_infra::Secrets::environment(), Vec::new()).unwrap();
    let fleet = crate::Fleet::new(infra, None, None, crate::Options::default());
    let toolbox = fleet
        .register(interlock_executor::Toolbox::builder())
        .unwrap()
        .build();
    let names: Vec<&str> = toolbox
        .names()
        .map(interlock_protocol::ToolName::as_str)
        .collect();
    assert_eq!(names, ["infra_discovery", "infra_query"]);
}
