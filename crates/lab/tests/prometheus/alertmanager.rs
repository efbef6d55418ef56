//! The API v2 of Alertmanager over a real socket.

use interlock_lab::prometheus::Rule;
use interlock_lab::prometheus::alertmanager::fingerprint;
use interlock_lab::prometheus::{Labels, Sample};
use serde_json::{Value, json};

use crate::world::{Hand, Served, at, labels, serve};

async fn firing(hand: &Hand) -> Served {
    let rule = Rule::new("ProbeFailed", "probe_success == 0")
        .unwrap()
        .label("severity", "critical");
    let served = serve(vec![rule], hand.clock()).await;
    let sample = Sample {
        labels: labels("probe_success{instance=\"mail\"}"),
        at: at(0),
        value: 0.0,
    };
    served.prometheus.tsdb().append(sample).unwrap();
    served.prometheus.evaluate(hand.set(0));
    served
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|alert| alert["labels"]["alertname"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn an_alert_has_the_real_form() {
    let served = firing(&Hand::default()).await;
    let reply = served.am_get("/api/v2/alerts").await;
    assert_eq!(reply.code, 200);
    let mut alert = reply.body[0].clone();
    let url = alert["generatorURL"].take();
    assert!(
        url.as_str()
            .unwrap()
            .ends_with("/graph?g0.expr=probe%5Fsuccess%20%3D%3D%200&g0.tab=1"),
        "{url}"
    );
    let expected = json!({
        "annotations": {},
        "endsAt": "2025-06-01T12:04:00.000Z",
        "fingerprint": fingerprint(&Labels::new([("alertname", "ProbeFailed"), ("instance", "mail"), ("severity", "critical")])),
        "generatorURL": null,
        "labels": { "alertname": "ProbeFailed", "instance": "mail", "severity": "critical" },
        "receivers": [{ "name": "default" }],
        "startsAt": "2025-06-01T12:00:00.000Z",
        "status": { "inhibitedBy": [], "mutedBy": [], "silencedBy": [], "state": "active" },
        "updatedAt": "2025-06-01T12:00:00.000Z",
    });
    assert_eq!(alert, expected);
}

#[test]
fn a_fingerprint_is_the_one_of_every_prometheus_component() {
    // The FNV-1a offset for no labels; the other was read from Alertmanager 0.25.
    assert_eq!(fingerprint(&Labels::empty()), "cbf29ce484222325");
    assert_eq!(
        fingerprint(&Labels::new([("alertname", "X"), ("a", "b")])),
        "c4fa8262820e0e19"
    );
}

#[tokio::test]
async fn a_resolved_alert_is_active_again_while_its_rule_fires() {
    let hand = Hand::default();
    let served = firing(&hand).await;
    let labels = json!({ "alertname": "ProbeFailed", "instance": "mail", "severity": "critical" });
    hand.set(30);
    let ended = json!([{ "labels": labels, "endsAt": "2025-06-01T12:00:20Z" }]);
    assert_eq!(served.am_post("/api/v2/alerts", ended).await.code, 200);
    assert_eq!(served.am_get("/api/v2/alerts").await.body, json!([]));
    served.prometheus.evaluate(hand.set(45));
    let again = served.am_get("/api/v2/alerts").await.body;
    assert_eq!(names(&again), ["ProbeFailed"]);
}

#[tokio::test]
async fn alerts_of_others_are_taken_and_filtered() {
    let hand = Hand::default();
    let served = serve(vec![], hand.clock()).await;
    hand.set(0);
    let posted = json!([
        { "labels": { "alertname": "A", "instance": "x", "severity": "critical" }, "annotations": { "summary": "s" } },
        { "labels": { "alertname": "A", "instance": "x", "severity": "warning" } },
        { "labels": { "alertname": "B", "instance": "y", "severity": "warning" }, "startsAt": "0001-01-01T00:00:00Z", "endsAt": "0001-01-01T00:00:00Z" },
        { "labels": { "alertname": "C", "instance": "z" }, "startsAt": "2025-06-01T11:00:00Z", "endsAt": "2025-06-01T13:00:00Z", "generatorURL": "http://x/" },
    ]);
    assert_eq!(served.am_post("/api/v2/alerts", posted).await.code, 200);
    let cases = [
        ("", "A A B C"),
        ("?filter=alertname%3D%22A%22", "A A"),
        ("?filter=alertname%3DA&filter=severity!%3Dcritical", "A"),
        (
            "?filter=%7Balertname%3D~%22A%7CB%22%2Cseverity%3D%22warning%22%7D",
            "A B",
        ),
        ("?filter=severity!~%22.%2B%22", "C"),
        ("?inhibited=false", "A B C"),
        ("?active=false", "A"),
        ("?receiver=def.*", "A A B C"),
        ("?receiver=other", ""),
    ];
    for (query, expected) in cases {
        let reply = served.am_get(&format!("/api/v2/alerts{query}")).await;
        assert_eq!(names(&reply.body).join(" "), expected, "{query}");
    }
    let groups = served.am_get("/api/v2/alerts/groups").await.body;
    let shape: Vec<(Value, usize)> = groups
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["labels"].clone(), group["alerts"].as_array().unwrap().len()))
        .collect();
    assert_eq!(
        shape,
        [
            (json!({ "alertname": "A" }), 2),
            (json!({ "alertname": "B" }), 1),
            (json!({ "alertname": "C" }), 1)
        ]
    );

    // Without an end, an alert is over five minutes after it was last told.
    hand.set(301);
    assert_eq!(names(&served.am_get("/api/v2/alerts").await.body), ["C"]);
}

#[tokio::test]
async fn a_silence_mutes_until_it_ends() {
    let hand = Hand::default();
    let served = firing(&hand).await;
    let wish = json!({
        "matchers": [{ "name": "instance", "value": "ma.*", "isRegex": true, "isEqual": true }],
        "startsAt": "2025-06-01T12:00:00Z", "endsAt": "2025-06-01T12:10:00Z", "createdBy": "op", "comment": "work",
    });
    let made = served.am_post("/api/v2/silences", wish.clone()).await;
    assert_eq!(made.code, 200);
    let id = made.body["silenceID"].as_str().unwrap().to_owned();
    let alert = served.am_get("/api/v2/alerts").await.body[0]["status"].clone();
    assert_eq!(
        alert,
        json!({ "inhibitedBy": [], "mutedBy": [], "silencedBy": [id], "state": "suppressed" })
    );
    assert_eq!(
        served.am_get("/api/v2/alerts?silenced=false").await.body,
        json!([])
    );

    let silence = served.am_get(&format!("/api/v2/silence/{id}")).await.body;
    let expected = json!({
        "id": id, "status": { "state": "active" }, "updatedAt": "2025-06-01T12:00:00.000Z", "comment": "work", "createdBy": "op",
        "startsAt": "2025-06-01T12:00:00.000Z", "endsAt": "2025-06-01T12:10:00.000Z", "matchers": wish["matchers"],
    });
    assert_eq!(silence, expected);
    assert_eq!(served.am_get("/api/v2/silences").await.body, json!([expected]));

    let mut longer = wish;
    longer["id"] = json!(id);
    longer["endsAt"] = json!("2025-06-01T12:20:00Z");
    assert_eq!(
        served.am_post("/api/v2/silences", longer).await.body,
        json!({ "silenceID": id })
    );

    assert_eq!(served.am_delete(&format!("/api/v2/silence/{id}")).await.code, 200);
    assert_eq!(
        served.am_delete(&format!("/api/v2/silence/{id}")).await.code,
        500,
        "it expired already"
    );
    assert_eq!(
        served.am_get("/api/v2/silences").await.body[0]["status"]["state"],
        "expired"
    );
    assert_eq!(
        served.am_get("/api/v2/alerts").await.body[0]["status"]["state"],
        "active"
    );
}

#[tokio::test]
async fn what_is_wrong_is_refused() {
    let hand = Hand::default();
    let served = serve(vec![], hand.clock()).await;
    hand.set(0);
    let silence = |matchers: Value, ends: &str| json!({ "matchers": matchers, "startsAt": "2025-06-01T12:00:00Z", "endsAt": ends, "createdBy": "", "comment": "" });
    let matcher = |value: &str, regex| json!([{ "name": "a", "value": value, "isRegex": regex }]);
    let cases = [
        ("/api/v2/alerts", json!([{ "labels": {} }]), 400),
        ("/api/v2/alerts", json!({ "labels": { "a": "b" } }), 400),
        (
            "/api/v2/alerts",
            json!([{ "labels": { "a": "b" }, "startsAt": "2025-06-01T12:00:00Z", "endsAt": "2025-06-01T11:00:00Z" }]),
            400,
        ),
        (
            "/api/v2/silences",
            silence(json!([]), "2025-06-01T13:00:00Z"),
            400,
        ),
        (
            "/api/v2/silences",
            silence(matcher("", false), "2025-06-01T13:00:00Z"),
            400,
        ),
        (
            "/api/v2/silences",
            silence(matcher("(", true), "2025-06-01T13:00:00Z"),
            400,
        ),
        (
            "/api/v2/silences",
            silence(matcher("b", false), "2025-06-01T11:00:00Z"),
            400,
        ),
        (
            "/api/v2/silences",
            silence(matcher("b", false), "2025-06-01T13:00:00Z"),
            200,
        ),
    ];
    for (path, body, code) in cases {
        let reply = served.am_post(path, body.clone()).await;
        assert_eq!(reply.code, code, "{body} {reply:?}");
    }
    assert_eq!(served.am_get("/api/v2/silence/none").await.code, 404);
    assert_eq!(served.am_get("/api/v2/alerts?filter=nonsense").await.code, 400);
    assert_eq!(served.am_get("/api/v2/alerts?active=perhaps").await.code, 400);
    assert_eq!(served.am_get("/-/healthy").await.code, 200);
    assert_eq!(served.am_get("/-/ready").await.code, 200);
    assert_eq!(
        served.am_get("/api/v2/receivers").await.body,
        json!([{ "name": "default" }])
    );
    assert_eq!(
        served.am_get("/api/v2/status").await.body["cluster"]["status"],
        "disabled"
    );
}
