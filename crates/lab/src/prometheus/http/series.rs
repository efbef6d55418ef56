//! Which series, labels and values there are.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, State};
use jiff::Timestamp;
use promql_parser::parser::{Expr, VectorSelector};
use serde_json::{Value, json};

use super::super::Prometheus;
use super::super::labels::Labels;
use super::super::promql::Query;
use super::Params;
use super::answer::{Answer, Refusal};

pub(super) async fn series(State(prometheus): State<Prometheus>, params: Params) -> Result<Answer, Refusal> {
    if params.all("match[]").next().is_none() {
        return Err(Refusal::bad("no match[] parameter provided".to_owned()));
    }
    listed(
        selected(&prometheus, &params)?
            .into_iter()
            .map(|labels| json!(labels)),
        &params,
    )
}

pub(super) async fn labels(State(prometheus): State<Prometheus>, params: Params) -> Result<Answer, Refusal> {
    let found = selected(&prometheus, &params)?;
    let names: BTreeSet<&str> = found
        .iter()
        .flat_map(|labels| labels.iter().map(|(name, _)| name))
        .collect();
    listed(names.into_iter().map(|name| json!(name)), &params)
}

pub(super) async fn values(
    State(prometheus): State<Prometheus>,
    Path(name): Path<String>,
    params: Params,
) -> Result<Answer, Refusal> {
    let found = selected(&prometheus, &params)?;
    let values: BTreeSet<&str> = found
        .iter()
        .map(|labels| labels.get(&name))
        .filter(|value| !value.is_empty())
        .collect();
    listed(values.into_iter().map(|value| json!(value)), &params)
}

/// The kind of each metric, by the convention of its name.
pub(super) async fn metadata(
    State(prometheus): State<Prometheus>,
    params: Params,
) -> Result<Answer, Refusal> {
    let asked = params.get("metric");
    let limit = params.limit()?.unwrap_or(usize::MAX);
    let store = prometheus.tsdb().read();
    let names = store
        .names()
        .map(|(name, _)| name)
        .filter(|name| asked.is_none_or(|asked| asked == *name));
    let known: BTreeMap<&str, Value> = names
        .take(limit)
        .map(|name| (name, json!([describe(name)])))
        .collect();
    Ok(Answer::new(json!(known)))
}

fn describe(name: &str) -> Value {
    let kind = if name.ends_with("_total") {
        "counter"
    } else {
        "gauge"
    };
    json!({ "type": kind, "help": "", "unit": "" })
}

fn listed(found: impl Iterator<Item = Value>, params: &Params) -> Result<Answer, Refusal> {
    let mut found: Vec<Value> = found.collect();
    match params.limit()? {
        Some(limit) if found.len() > limit => {
            found.truncate(limit);
            Ok(Answer::truncated(json!(found)))
        }
        Some(_) | None => Ok(Answer::new(json!(found))),
    }
}

/// The series that one of the selectors matches, or all if there is none, with a sample in the time that is asked for.
fn selected(prometheus: &Prometheus, params: &Params) -> Result<BTreeSet<Labels>, Refusal> {
    let start = params.time("start")?.map_or(i64::MIN, Timestamp::as_millisecond);
    let end = params.time("end")?.map_or(i64::MAX, Timestamp::as_millisecond);
    let mut selectors = params
        .all("match[]")
        .map(selector)
        .collect::<Result<Vec<_>, _>>()?;
    if selectors.is_empty() {
        selectors.push(VectorSelector::default());
    }
    let store = prometheus.tsdb().read();
    let mut found = BTreeSet::new();
    for selector in &selectors {
        for (labels, points) in store.select(selector.name.as_deref(), &selector.matchers) {
            let first = points.partition_point(|(at, _)| *at < start);
            if points.get(first).is_some_and(|(at, _)| *at <= end) {
                found.insert(labels.clone());
            }
        }
    }
    Ok(found)
}

fn selector(text: &str) -> Result<VectorSelector, Refusal> {
    let query = Query::parse(text).map_err(|error| {
        let text = error.to_string().replacen("\"query\"", "\"match[]\"", 1);
        Refusal::bad(text)
    })?;
    match query.expr() {
        Expr::VectorSelector(selector) if selector.offset.is_none() && selector.at.is_none() => {
            Ok(selector.clone())
        }
        _ => Err(Refusal::bad(format!(
            "invalid parameter \"match[]\": {text:?} is not a series selector"
        ))),
    }
}
