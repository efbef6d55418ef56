//! The rules and their alerts.

use axum::extract::State;
use serde_json::{Value, json};

use super::super::promql::number;
use super::super::rules::{Alert, Running};
use super::super::{EVALUATION_INTERVAL, Prometheus};
use super::Params;
use super::answer::{Answer, Refusal};

/// The zero time of the server's language, for what did not happen yet.
const NEVER: &str = "0001-01-01T00:00:00Z";

pub(super) async fn alerts(State(prometheus): State<Prometheus>) -> Answer {
    let alerts: Vec<Value> = prometheus.alerts().iter().map(alert).collect();
    Answer::new(json!({ "alerts": alerts }))
}

pub(super) async fn rules(State(prometheus): State<Prometheus>, params: Params) -> Result<Answer, Refusal> {
    let recording_only = match params.get("type") {
        None | Some("alert") => false,
        Some("record") => true,
        Some(other) => {
            return Err(Refusal::bad(format!(
                "invalid parameter \"type\": not supported value {other:?}"
            )));
        }
    };
    let names: Vec<&str> = params.all("rule_name[]").collect();
    let running = prometheus.rules();
    let asked = |running: &&Running| names.is_empty() || names.contains(&running.rule.alert.as_str());
    let rules: Vec<Value> = running
        .iter()
        .filter(asked)
        .filter(|_| !recording_only)
        .map(rule)
        .collect();
    if rules.is_empty() {
        return Ok(Answer::new(json!({ "groups": [] })));
    }
    let last = running.iter().filter_map(|running| running.last_evaluation).max();
    let took: f64 = running.iter().map(|running| running.took.as_secs_f64()).sum();
    Ok(Answer::new(json!({ "groups": [{
        "name": "lab",
        "file": "lab.rules.yml",
        "rules": rules,
        "interval": EVALUATION_INTERVAL.as_secs(),
        "limit": 0,
        "evaluationTime": took,
        "lastEvaluation": last.map_or_else(|| NEVER.to_owned(), |at| at.to_string()),
    }] })))
}

fn rule(running: &Running) -> Value {
    let health = match (&running.last_error, running.last_evaluation) {
        (Some(_), _) => "err",
        (None, Some(_)) => "ok",
        (None, None) => "unknown",
    };
    let mut rule = json!({
        "state": running.state().name(),
        "name": running.rule.alert,
        "query": running.rule.expr.to_string(),
        "duration": running.rule.hold.as_secs_f64(),
        "keepFiringFor": 0,
        "labels": running.rule.labels,
        "annotations": running.rule.annotations,
        "alerts": running.active().map(alert).collect::<Vec<_>>(),
        "health": health,
        "evaluationTime": running.took.as_secs_f64(),
        "lastEvaluation": running.last_evaluation.map_or_else(|| NEVER.to_owned(), |at| at.to_string()),
        "type": "alerting",
    });
    if let Some(error) = &running.last_error {
        rule["lastError"] = json!(error.to_string());
    }
    rule
}

fn alert(alert: &Alert) -> Value {
    json!({
        "labels": alert.labels,
        "annotations": alert.annotations,
        "state": alert.state.name(),
        "activeAt": alert.active_at.to_string(),
        "value": number::exponent(alert.value),
    })
}
