//! The HTTP API of Prometheus over a real socket: whole answers, and what is refused with which code.

use interlock_lab::prometheus::Rule;
use serde_json::{Value, json};

use crate::world::{Hand, Reply, Served, T0, load, serve};

async fn served() -> Served {
    let hand = Hand::default();
    let rule = Rule::new("TargetDown", "up == 0")
        .unwrap()
        .annotation("summary", "{{ $labels.instance }}");
    let served = serve(vec![rule], hand.clock()).await;
    let tsdb = served.prometheus.tsdb();
    load(
        tsdb,
        "up{job=\"node\",instance=\"pve1:9100\"}",
        60,
        &[1.0, 1.0, 1.0],
    );
    load(
        tsdb,
        "up{job=\"node\",instance=\"pve2:9100\"}",
        60,
        &[1.0, 1.0, 0.0],
    );
    load(
        tsdb,
        "container_cpu_usage_seconds_total{name=\"grafana\",instance=\"docker1\"}",
        60,
        &[0.0, 6.0, 12.0],
    );
    load(
        tsdb,
        "node_hwmon_temp_celsius{instance=\"pve1:9100\",chip=\"cpu\",sensor=\"temp1\"}",
        60,
        &[f64::NAN, f64::INFINITY, 42.5],
    );
    served.prometheus.evaluate(hand.set(120));
    served
}

fn success(data: &Value) -> Reply {
    Reply {
        code: 200,
        body: json!({ "status": "success", "data": data }),
    }
}

#[tokio::test]
async fn answers_have_the_real_form() {
    let served = served().await;
    let now = T0 + 120;
    let pve1 = json!({ "__name__": "up", "instance": "pve1:9100", "job": "node" });
    let cases = [
        (
            "query?query=1",
            json!({ "resultType": "scalar", "result": [now, "1"] }),
        ),
        (
            "query?query=%22a%22",
            json!({ "resultType": "string", "result": [now, "a"] }),
        ),
        (
            "query?query=1e30&time=1748779200.5",
            json!({ "resultType": "scalar", "result": [1_748_779_200.5, "1e+30"] }),
        ),
        (
            "query?query=-1%2F0&time=2025-06-01T12:00:00Z",
            json!({ "resultType": "scalar", "result": [T0, "-Inf"] }),
        ),
        (
            "query?query=up%7Binstance%3D%22pve1%3A9100%22%7D",
            json!({ "resultType": "vector", "result": [{ "metric": pve1, "value": [now, "1"] }] }),
        ),
        (
            "query?query=node_hwmon_temp_celsius%5B3m%5D",
            json!({ "resultType": "matrix", "result": [{
                "metric": { "__name__": "node_hwmon_temp_celsius", "chip": "cpu", "instance": "pve1:9100", "sensor": "temp1" },
                "values": [[T0, "NaN"], [T0 + 60, "+Inf"], [T0 + 120, "42.5"]],
            }] }),
        ),
        (
            "query_range?query=sum(up)&start=1748779200&end=1748779320&step=1m",
            json!({ "resultType": "matrix", "result": [{ "metric": {}, "values": [[T0, "2"], [T0 + 60, "2"], [T0 + 120, "1"]] }] }),
        ),
        (
            "query_range?query=gone&start=1748779200&end=1748779320&step=15",
            json!({ "resultType": "matrix", "result": [] }),
        ),
        ("series?match[]=up%7Binstance%3D~%22pve1.*%22%7D", json!([pve1])),
        ("series?match[]=up&start=2030-01-01T00:00:00Z", json!([])),
        ("labels?match[]=up", json!(["__name__", "instance", "job"])),
        ("label/name/values", json!(["grafana"])),
        (
            "label/instance/values?match[]=up",
            json!(["pve1:9100", "pve2:9100"]),
        ),
        (
            "metadata?metric=container_cpu_usage_seconds_total",
            json!({ "container_cpu_usage_seconds_total": [{ "type": "counter", "help": "", "unit": "" }] }),
        ),
        ("format_query?query=sum(up)by(job)", json!("sum by (job) (up)")),
        (
            "alerts",
            json!({ "alerts": [{
                "labels": { "alertname": "TargetDown", "instance": "pve2:9100", "job": "node" },
                "annotations": { "summary": "pve2:9100" },
                "state": "firing", "activeAt": "2025-06-01T12:02:00Z", "value": "0e+00",
            }] }),
        ),
        (
            "alertmanagers",
            json!({ "activeAlertmanagers": [{ "url": served.alertmanager_url("/api/v2/alerts") }], "droppedAlertmanagers": [] }),
        ),
    ];
    for (path, data) in cases {
        assert_eq!(
            served.get(&format!("/api/v1/{path}")).await,
            success(&data),
            "{path}"
        );
    }
    let posted = served
        .post_form("/api/v1/query", "query=count%28up%29&time=1748779200")
        .await;
    assert_eq!(
        posted,
        success(&json!({ "resultType": "vector", "result": [{ "metric": {}, "value": [T0, "2"] }] }))
    );
    let limited = served.get("/api/v1/labels?limit=1").await;
    assert_eq!(
        limited.body,
        json!({ "status": "success", "data": ["__name__"], "warnings": ["results truncated due to limit"] })
    );
}

#[tokio::test]
async fn what_is_wrong_is_refused_with_its_type() {
    let served = served().await;
    let cases = [
        ("query", 400, "bad_data"),
        ("query?query=up%7B", 400, "bad_data"),
        ("query?query=up&time=yesterday", 400, "bad_data"),
        ("query?query=up&timeout=soon", 400, "bad_data"),
        ("query?query=sin(up)", 400, "bad_data"),
        ("query?query=up%20%2B%20on(job)%20up", 422, "execution"),
        (
            "query?query=max_over_time(max_over_time(up%5B1h%3A1s%5D)%5B1h%3A1s%5D)&timeout=0.001",
            503,
            "timeout",
        ),
        ("query_range?query=up&start=1&end=2", 400, "bad_data"),
        ("query_range?query=up&start=1&end=2&step=0", 400, "bad_data"),
        ("query_range?query=up&start=2&end=1&step=1", 400, "bad_data"),
        ("query_range?query=up&start=0&end=11001&step=1", 400, "bad_data"),
        (
            "query_range?query=up%5B5m%5D&start=0&end=10&step=1",
            400,
            "bad_data",
        ),
        ("series", 400, "bad_data"),
        ("series?match[]=sum(up)", 400, "bad_data"),
        ("labels?match[]=%7B%7D", 400, "bad_data"),
        ("rules?type=other", 400, "bad_data"),
    ];
    for (path, code, kind) in cases {
        let reply = served.get(&format!("/api/v1/{path}")).await;
        assert_eq!(
            (reply.code, &reply.body["status"], &reply.body["errorType"]),
            (code, &json!("error"), &json!(kind)),
            "{path}"
        );
        assert!(
            reply.body["error"].as_str().is_some_and(|text| !text.is_empty()),
            "{path}"
        );
    }
    assert_eq!(served.get("/api/v1/nothing").await.code, 404);
}

#[tokio::test]
async fn it_tells_about_itself() {
    let served = served().await;
    let data = async |path: &str| served.get(&format!("/api/v1/{path}")).await.body["data"].clone();
    let rules = data("rules").await;
    let rule = &rules["groups"][0]["rules"][0];
    let summary = [
        &rule["name"],
        &rule["state"],
        &rule["query"],
        &rule["health"],
        &rule["type"],
        &rule["duration"],
    ];
    assert_eq!(
        json!(summary),
        json!(["TargetDown", "firing", "up == 0", "ok", "alerting", 0.0])
    );
    assert_eq!(data("rules?type=record").await, json!({ "groups": [] }));

    let targets = data("targets").await;
    let health: Vec<(&Value, &Value)> = targets["activeTargets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (&t["labels"]["instance"], &t["health"]))
        .collect();
    assert_eq!(json!(health), json!([["pve1:9100", "up"], ["pve2:9100", "down"]]));

    assert_eq!(data("status/buildinfo").await["version"], "3.5.0");
    assert_eq!(
        data("status/runtimeinfo").await["serverTime"],
        "2025-06-01T12:02:00Z"
    );
    assert_eq!(data("status/flags").await["query.lookback-delta"], "5m");
    assert!(
        data("status/config").await["yaml"]
            .as_str()
            .unwrap()
            .contains("evaluation_interval")
    );
    // Four metrics of the scrape and the two series of the alert.
    assert_eq!(data("status/tsdb").await["headStats"]["numSeries"], 6);
    assert_eq!(served.get("/-/healthy").await.code, 200);
    assert_eq!(served.get("/-/ready").await.code, 200);
    let metrics = served.get("/metrics").await.body;
    assert!(
        metrics
            .as_str()
            .unwrap()
            .contains("\nprometheus_tsdb_head_series 6\n"),
        "{metrics}"
    );
}
