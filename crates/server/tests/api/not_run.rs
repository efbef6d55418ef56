//! What was approved and did not run: the hold says why.

use serde_json::{Value, json};

use crate::place::{Place, Wish, text};

/// A hold that was approved, after something happened and the session went on.
async fn approved(happens: impl AsyncFnOnce(&Place)) -> Value {
    let place = Place::new(Wish::default()).await;
    let (session, hold) = place.held("ada").await;
    assert_eq!(text(&hold["evidence"][0], "command"), "systemctl status nginx");
    let token = place.open("ada", &hold).await;
    let waits = place.approve("ada", &hold, &token).await.ok(200);
    assert_eq!(
        (text(&waits, "status"), &waits["not_run"]),
        ("approved", &json!(null))
    );
    happens(&place).await;
    place.work(&session).await;
    let path = format!("/approvals/{}", text(&hold, "id"));
    place.get("vera", &path).await.ok(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_since_is_told() {
    let after = approved(async |place: &Place| place.machine.become_state("stopped")).await;
    assert_eq!(
        (text(&after, "status"), &after["action"]),
        ("approved", &json!(null))
    );
    let not = &after["not_run"];
    assert!(
        !text(not, "code").is_empty() && !text(not, "rule").is_empty(),
        "{not:#}"
    );
    assert_eq!(
        not["changes"],
        json!([{"field": "state", "before": "running", "after": "stopped"}])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_were_stopped_are_told() {
    let after = approved(async |place: &Place| {
        place.post("olga", "/writes/stop", &json!({})).await.ok(200);
    })
    .await;
    let not = &after["not_run"];
    assert!(text(not, "message").contains("stopped"), "{not:#}");
    assert_eq!(not["changes"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ran_is_no_such_thing() {
    let after = approved(async |_: &Place| {}).await;
    assert_eq!(
        (&after["action"]["verification"], &after["not_run"]),
        (&json!("verified"), &json!(null))
    );
}
