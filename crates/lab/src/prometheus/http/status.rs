//! What the server says about itself.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use promql_parser::label::Matchers;
use serde_json::{Value, json};

use super::super::{EVALUATION_INTERVAL, Prometheus};
use super::answer::Answer;

/// The version whose behaviour this follows; clients look at it.
const VERSION: &str = "3.5.0";
/// How many of the largest a statistic names.
const TOP: usize = 10;

pub(super) async fn build() -> Answer {
    Answer::new(json!({
        "version": VERSION,
        "revision": "interlock-lab",
        "branch": "interlock-lab",
        "buildUser": "",
        "buildDate": "",
        "goVersion": "",
    }))
}

pub(super) async fn runtime(State(prometheus): State<Prometheus>) -> Answer {
    let shared = &prometheus.shared;
    Answer::new(json!({
        "startTime": shared.started.to_string(),
        "CWD": "/",
        "hostname": "lab",
        "serverTime": shared.clock.now().to_string(),
        "reloadConfigSuccess": true,
        "lastConfigTime": shared.started.to_string(),
        "corruptionCount": 0,
        "goroutineCount": 0,
        "GOMAXPROCS": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        "GOMEMLIMIT": i64::MAX,
        "GOGC": "",
        "GODEBUG": "",
        "storageRetention": "2d",
    }))
}

pub(super) async fn config() -> Answer {
    let interval = EVALUATION_INTERVAL.as_secs();
    let yaml = format!(
        "global:\n  scrape_interval: {interval}s\n  evaluation_interval: {interval}s\nrule_files:\n- lab.rules.yml\n"
    );
    Answer::new(json!({ "yaml": yaml }))
}

pub(super) async fn flags() -> Answer {
    Answer::new(json!({
        "query.lookback-delta": "5m",
        "query.max-samples": "50000000",
        "query.timeout": "30s",
        "storage.tsdb.retention.time": "2d",
        "web.listen-address": "127.0.0.1:0",
    }))
}

pub(super) async fn tsdb(State(prometheus): State<Prometheus>) -> Answer {
    let all = Matchers::empty();
    let store = prometheus.tsdb().read();
    let (mut series, mut oldest, mut newest) = (0_usize, i64::MAX, i64::MIN);
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut pairs: BTreeMap<String, usize> = BTreeMap::new();
    for (labels, points) in store.select(None, &all) {
        series += 1;
        oldest = oldest.min(points.first().map_or(i64::MAX, |(at, _)| *at));
        newest = newest.max(points.last().map_or(i64::MIN, |(at, _)| *at));
        for (name, value) in labels.iter() {
            values.entry(name).or_default().insert(value);
            *pairs.entry(format!("{name}={value}")).or_default() += 1;
        }
    }
    let names = values.iter().map(|(name, values)| (*name, values.len()));
    let bytes = values
        .iter()
        .map(|(name, values)| (*name, values.iter().map(|value| value.len()).sum()));
    Answer::new(json!({
        "headStats": {
            "numSeries": series,
            "numLabelPairs": pairs.len(),
            "chunkCount": series,
            "minTime": oldest,
            "maxTime": newest,
        },
        "seriesCountByMetricName": largest(store.names()),
        "labelValueCountByLabelName": largest(names),
        "memoryInBytesByLabelName": largest(bytes),
        "seriesCountByLabelValuePair": largest(pairs.iter().map(|(pair, count)| (pair.as_str(), *count))),
    }))
}

fn largest<'n>(counts: impl Iterator<Item = (&'n str, usize)>) -> Vec<Value> {
    let mut counts: Vec<(&str, usize)> = counts.collect();
    counts.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    counts
        .into_iter()
        .take(TOP)
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect()
}

pub(super) async fn metrics(State(prometheus): State<Prometheus>) -> impl IntoResponse {
    let size = prometheus.tsdb().size();
    let firing = prometheus.alerts().len();
    let text = format!(
        "# HELP prometheus_build_info The version whose behaviour is followed.\n\
         # TYPE prometheus_build_info gauge\n\
         prometheus_build_info{{version=\"{VERSION}\"}} 1\n\
         # HELP prometheus_tsdb_head_series Series that are held.\n\
         # TYPE prometheus_tsdb_head_series gauge\n\
         prometheus_tsdb_head_series {}\n\
         # HELP prometheus_tsdb_head_samples Samples that are held.\n\
         # TYPE prometheus_tsdb_head_samples gauge\n\
         prometheus_tsdb_head_samples {}\n\
         # HELP prometheus_rule_alerts Alerts that are pending or firing.\n\
         # TYPE prometheus_rule_alerts gauge\n\
         prometheus_rule_alerts {firing}\n",
        size.series, size.samples
    );
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}
