//! What is scraped, as the series `up` tells it, and the Alertmanager that is told of alerts.

use axum::extract::State;
use jiff::Timestamp;
use promql_parser::label::Matchers;
use serde_json::{Value, json};

use super::super::labels::Labels;
use super::super::{EVALUATION_INTERVAL, Prometheus};
use super::Params;
use super::answer::Answer;

pub(super) async fn targets(State(prometheus): State<Prometheus>, params: Params) -> Answer {
    let asked = params.get("state").unwrap_or("any");
    let all = Matchers::empty();
    let store = prometheus.tsdb().read();
    let ups = store
        .select(Some("up"), &all)
        .filter_map(|(labels, points)| Some((labels, *points.last()?)));
    let active: Vec<Value> = match asked {
        "dropped" => Vec::new(),
        _ => ups
            .map(|(labels, (at, value))| target(labels, at, value))
            .collect(),
    };
    Answer::new(json!({ "activeTargets": active, "droppedTargets": [], "droppedTargetCounts": {} }))
}

fn target(labels: &Labels, at: i64, value: f64) -> Value {
    let health = if value > 0.0 { "up" } else { "down" };
    let error = if value > 0.0 {
        ""
    } else {
        "the target did not answer"
    };
    let interval = format!("{}s", EVALUATION_INTERVAL.as_secs());
    let url = format!("http://{}/metrics", labels.get("instance"));
    json!({
        "discoveredLabels": {
            "__address__": labels.get("instance"),
            "__metrics_path__": "/metrics",
            "__scheme__": "http",
            "__scrape_interval__": interval,
            "__scrape_timeout__": "10s",
            "job": labels.get("job"),
        },
        "labels": labels.without_name(),
        "scrapePool": labels.get("job"),
        "scrapeUrl": url,
        "globalUrl": url,
        "lastError": error,
        "lastScrape": Timestamp::from_millisecond(at).map(|at| at.to_string()).unwrap_or_default(),
        "lastScrapeDuration": 0.002,
        "health": health,
        "scrapeInterval": interval,
        "scrapeTimeout": "10s",
    })
}

pub(super) async fn alertmanagers(State(prometheus): State<Prometheus>) -> Answer {
    let addresses = prometheus.shared.addresses.get();
    let active: Vec<Value> = addresses
        .map(|(_, alertmanager)| json!({ "url": format!("http://{alertmanager}/api/v2/alerts") }))
        .into_iter()
        .collect();
    Answer::new(json!({ "activeAlertmanagers": active, "droppedAlertmanagers": [] }))
}
