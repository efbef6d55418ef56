//! A tool of a crate of its own goes through the gate like every other one.

#![expect(
    clippy::unwrap_used,
    reason = "the functions that tests share are test code too"
)]

use std::sync::Arc;

use interlock_example_tool_family::{RackLight, TOOLS};
use interlock_executor::{Catalogue, GateOptions, Inventories, Inventory as _, Stage, Toolbox};
use interlock_protocol::{ErrorCode, ResourceId, Verification};
use serde_json::json;

fn stage(light: &RackLight) -> Stage {
    let mut catalogue = Catalogue::built_in().unwrap();
    catalogue.add_toml(TOOLS).unwrap();
    let toolbox = light.register(Toolbox::builder()).unwrap().build();
    let inventory = Inventories::of([Arc::new(light.clone()) as _]);
    Stage::new(catalogue, GateOptions::default(), toolbox, Arc::new(inventory))
}

#[tokio::test]
async fn a_write_needs_discovery_runs_for_its_permit_and_is_verified() {
    let light = RackLight::new("rack-7").unwrap();
    let mut stage = stage(&light);
    let switch = json!({ "resource_id": "host:rack-7", "light": "on" });

    let refusal = stage.decide("rack_light_switch", &switch).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::FsmBlocked, "{refusal:?}");
    assert_eq!(light.light(), "off");

    let seen = stage.data("rack_light_query", json!({})).await;
    assert_eq!(seen["light"], "off");
    let done = stage.run("rack_light_switch", switch).await;
    assert!(done.response.error().is_none(), "{done:?}");
    assert_eq!(light.light(), "on");
    assert_eq!(stage.observe().await, [Verification::Verified]);
}

#[tokio::test]
async fn what_is_not_as_expected_is_a_failed_write() {
    let light = RackLight::new("rack-7").unwrap();
    let mut stage = stage(&light);
    stage.data("rack_light_query", json!({})).await;
    let arguments = json!({ "resource_id": "host:rack-7", "light": "on" });
    stage.run("rack_light_switch", arguments).await;
    // Somebody switches it off again before code looks.
    let other = stage_of_someone_else(&light).await;
    assert!(other, "the other switch worked");
    assert_eq!(stage.observe().await, [Verification::Failed]);
}

async fn stage_of_someone_else(light: &RackLight) -> bool {
    let mut stage = stage(light);
    stage.data("rack_light_query", json!({})).await;
    let arguments = json!({ "resource_id": "host:rack-7", "light": "off" });
    stage
        .run("rack_light_switch", arguments)
        .await
        .response
        .error()
        .is_none()
}

#[tokio::test]
async fn arguments_outside_of_the_schema_never_reach_the_executor() {
    let light = RackLight::new("rack-7").unwrap();
    let mut stage = stage(&light);
    stage.data("rack_light_query", json!({})).await;
    for arguments in [
        json!({ "resource_id": "host:rack-7", "light": "blinking" }),
        json!({ "resource_id": "host:rack-7" }),
        json!({ "resource_id": "host:rack-7", "light": "on", "colour": "red" }),
    ] {
        let refusal = stage.decide("rack_light_switch", &arguments).unwrap_err();
        assert_eq!(refusal.code, ErrorCode::InvalidInput, "{arguments}: {refusal:?}");
    }
    assert_eq!(light.light(), "off");
}

/// About a resource only the inventory that knows it is asked; a mention asks all of them.
#[tokio::test]
async fn inventories_compose() {
    let (first, second) = (
        RackLight::new("rack-1").unwrap(),
        RackLight::new("rack-2").unwrap(),
    );
    let both = Inventories::of([Arc::new(first) as _, Arc::new(second) as _]);
    let id: ResourceId = "host:rack-2".parse().unwrap();
    assert_eq!(both.find("rack-2").await.len(), 1);
    let expected = interlock_protocol::Expectation::Present;
    let reading = both.observe(&id, &expected).await.unwrap();
    assert_eq!(reading.resource, Some(id));
    let unknown: ResourceId = "host:rack-3".parse().unwrap();
    assert!(!both.knows(&unknown));
    assert!(both.observe(&unknown, &expected).await.is_none());
}
