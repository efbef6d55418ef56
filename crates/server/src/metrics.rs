//! Counters, gauges and histograms, for Prometheus: what each means, in which buckets, and the route that shows them.
//!
//! What is counted is counted where it happens (the gate's and the engine's in `interlock_engine`); here it is described.
//! No label value comes from outside unchecked: routes are those of the table, methods those that are known.

use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{Method, header};
use interlock_config::MetricsAccess;
use interlock_protocol::Status;
use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use utoipa_axum::routes;

use crate::access::{Access, Caller, unauthenticated};
use crate::api::answers::{Anybody, Signed};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;

/// How often histograms are tidied.
const TIDY: Duration = Duration::from_secs(10);

/// Every counter, and what it counts.
const COUNTERS: &[(&str, &str)] = &[
    (
        "interlock_alert_total",
        "Alerts that arrived, by what became of them",
    ),
    (
        "interlock_agentic_iterations_total",
        "Turns between a model and the gate",
    ),
    (
        "interlock_approval_block_total",
        "Calls that wait for a human or whose approval did not hold, by rule",
    ),
    (
        "interlock_auto_recovery_attempt_total",
        "Refusals that a model may get past by itself",
    ),
    (
        "interlock_auto_recovery_success_total",
        "Refusals that a model got past by itself",
    ),
    (
        "interlock_command_intent_block_total",
        "Commands that do not do what their tool is for",
    ),
    (
        "interlock_approval_refused_total",
        "Times that somebody was refused who may not decide about a hold",
    ),
    (
        "interlock_config_reload_total",
        "Reloads of the configuration, by outcome",
    ),
    (
        "interlock_fsm_final_block_total",
        "Final answers that came too early",
    ),
    (
        "interlock_fsm_tool_block_total",
        "Calls that the state of the work does not allow",
    ),
    (
        "interlock_governance_block_total",
        "Calls that governance refused, by rule",
    ),
    ("interlock_http_requests_total", "Requests, by route and status"),
    (
        "interlock_hub_errors_total",
        "Times that the store could not be read for those who watch",
    ),
    (
        "interlock_hub_missed_total",
        "Pieces of text that were lost before anybody who watches got them",
    ),
    ("interlock_loop_detected_total", "Calls that repeat themselves"),
    (
        "interlock_model_call_total",
        "Times that a model was asked, by outcome",
    ),
    ("interlock_model_input_tokens_total", "Tokens that went to models"),
    (
        "interlock_model_output_tokens_total",
        "Tokens that came from models",
    ),
    (
        "interlock_permit_revoked_total",
        "Permits that could not be used any more, by rule",
    ),
    (
        "interlock_person_refused_total",
        "Refusals of a call, an edit, a decision or a resumption of writes that a person asked for, by act and reason",
    ),
    (
        "interlock_phantom_detected_total",
        "Answers that claimed what no receipt shows",
    ),
    (
        "interlock_proposal_problem_total",
        "Replies of models that were no proposal",
    ),
    (
        "interlock_proposal_rejected_total",
        "Calls of unknown tools or with wrong arguments",
    ),
    (
        "interlock_read_sandbox_block_total",
        "Commands refused because a read sandbox is required and their machine offers none",
    ),
    (
        "interlock_request_refused_total",
        "Requests of signed-in people and of tokens that their role or scope does not allow, by route",
    ),
    (
        "interlock_routing_mismatch_block_total",
        "Calls to a host that stands in for what is on it",
    ),
    ("interlock_session_total", "Sessions that ended, by status"),
    (
        "interlock_strict_resolution_block_total",
        "Calls on what was not discovered",
    ),
    (
        "interlock_streams_refused_total",
        "WebSockets and streams of events that one login or token had too many of, by kind",
    ),
    ("interlock_tool_call_total", "Tools that ran, by outcome"),
    (
        "interlock_writer_conflict_total",
        "Writes to what another session writes to",
    ),
    (
        "interlock_ws_dropped_total",
        "Pieces of text that a slow reader did not get",
    ),
    ("interlock_ws_frames_total", "Frames on WebSockets, by direction"),
    (
        "interlock_ws_slow_total",
        "Readers that were let go because they were too slow",
    ),
];

/// Every gauge, and what it shows.
const GAUGES: &[(&str, &str)] = &[
    (
        "interlock_altered_sessions",
        "Sessions whose record was found changed outside Interlock, ever",
    ),
    ("interlock_build_info", "1, with the version as a label"),
    (
        "interlock_config_last_reload_success_timestamp_seconds",
        "When the configuration in use was loaded, since 1970",
    ),
    (
        "interlock_config_last_reload_successful",
        "Whether the last reload of the configuration succeeded; 0 if the file is not the configuration in use",
    ),
    (
        "interlock_hub_position",
        "The place of the last event that was handed to those who watch",
    ),
    ("interlock_open_holds", "Calls that wait for a human"),
    (
        "interlock_process_resident_memory_bytes",
        "Memory that the process has in RAM",
    ),
    (
        "interlock_process_start_time_seconds",
        "When the process started, since 1970",
    ),
    ("interlock_queue_sessions", "Sessions, by where they stand"),
    ("interlock_sse_connections", "Streams of events that are open"),
    (
        "interlock_subscriptions",
        "Channels that are watched, once for each who watches",
    ),
    ("interlock_ws_connections", "WebSockets that are open"),
];

/// Every histogram, what it measures, and its buckets in seconds.
const HISTOGRAMS: &[(&str, &str, &[f64])] = &[
    (
        "interlock_http_request_seconds",
        "How long a request took until its answer began, by route",
        &[
            0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
        ],
    ),
    (
        "interlock_model_call_seconds",
        "How long a model took to answer",
        &[0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 120.0, 300.0],
    ),
    (
        "interlock_tool_call_seconds",
        "How long a tool ran",
        &[
            0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
        ],
    ),
];

/// Where counters are read from.
#[derive(Clone)]
pub struct Recorded(PrometheusHandle);

impl Recorded {
    /// Everything, in the text format of Prometheus.
    pub fn render(&self) -> String {
        self.0.render()
    }

    /// Puts what histograms gathered into their buckets, again and again: where nobody scrapes, it must not grow.
    pub(crate) async fn tidy(self) {
        loop {
            tokio::time::sleep(TIDY).await;
            self.0.run_upkeep();
        }
    }
}

/// Begins to count, for the whole process. Once; a second call in one process counts into nothing.
pub fn install_metrics() -> Recorded {
    let builder = HISTOGRAMS
        .iter()
        .try_fold(PrometheusBuilder::new(), |builder, (name, _, buckets)| {
            builder.set_buckets_for_metric(Matcher::Full((*name).to_owned()), buckets)
        })
        .unwrap_or_else(|error| {
            tracing::error!(%error, "histograms have no buckets");
            PrometheusBuilder::new()
        });
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    metrics::with_local_recorder(&recorder, describe);
    if metrics::set_global_recorder(recorder).is_err() {
        tracing::debug!("somebody counts already");
    }
    Recorded(handle)
}

fn describe() {
    for (name, what) in COUNTERS {
        metrics::describe_counter!(*name, *what);
    }
    for (name, what) in GAUGES {
        metrics::describe_gauge!(*name, *what);
    }
    for (name, what, _) in HISTOGRAMS {
        metrics::describe_histogram!(*name, *what);
    }
}

/// The route of the metrics.
pub(crate) fn routes() -> Routes {
    // Who may depends on the configuration, so the handler looks.
    Routes::new().route(Access::Public, routes!(scrape))
}

/// Read the metrics.
///
/// Public if `server.metrics` says so; else for those who are signed in and for programs with a token.
#[utoipa::path(
    get, path = "/metrics", operation_id = "getMetrics", tag = "health",
    responses(
        (status = 200, description = "The text format of Prometheus", body = String, content_type = "text/plain"),
        Anybody, Signed,
    ),
)]
async fn scrape(State(app): State<App>, caller: Result<Caller, Problem>) -> Result<Response, Problem> {
    match app.config().server.metrics {
        MetricsAccess::Public => {}
        MetricsAccess::Private => caller.map_err(|_| unauthenticated())?.may(Access::Read)?,
    }
    measure(&app).await;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], app.metrics().render()).into_response())
}

/// What is looked at only when somebody asks.
async fn measure(app: &App) {
    gauge!("interlock_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    gauge!("interlock_process_start_time_seconds").set(app.started_at().as_duration().as_secs_f64());
    if let Some(bytes) = resident_memory().await {
        gauge!("interlock_process_resident_memory_bytes").set(bytes);
    }
    match app.store().counts().await {
        Ok(counts) => {
            for status in Status::ALL {
                let count = counts.by_status.iter().find(|(of, _)| of == status);
                gauge!("interlock_queue_sessions", "status" => status.as_str())
                    .set(as_float(count.map_or(0, |(_, count)| *count)));
            }
            gauge!("interlock_altered_sessions").set(as_float(counts.altered));
            gauge!("interlock_open_holds").set(as_float(counts.open_holds));
        }
        // The other numbers are worth having, then more than ever.
        Err(error) => tracing::warn!(%error, "sessions cannot be counted"),
    }
}

async fn resident_memory() -> Option<f64> {
    let status = tokio::fs::read_to_string("/proc/self/status").await.ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u32 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kilobytes) * 1024.0)
}

#[expect(clippy::cast_precision_loss, reason = "a gauge has no other type")]
fn as_float(number: u64) -> f64 {
    number as f64
}

/// Counts every request: by the route that it matched, never by the path that was sent.
pub(crate) async fn count_requests(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = known(request.method());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    counter!("interlock_http_requests_total", "method" => method, "route" => route.clone(), "status" => status)
        .increment(1);
    histogram!("interlock_http_request_seconds", "method" => method, "route" => route)
        .record(begun.elapsed().as_secs_f64());
    response
}

/// Anybody can make up methods; a label must not follow.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The names in a source file that are written as ours.
    fn names(source: &str) -> BTreeSet<String> {
        let plain = |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let quoted = source.split('"').filter(plain);
        let ours = quoted.filter(|word| {
            word.strip_prefix("interlock_")
                .is_some_and(|rest| !rest.is_empty())
        });
        ours.map(str::to_owned).collect()
    }

    #[test]
    fn everything_that_is_counted_is_described() {
        let described: BTreeSet<&str> = COUNTERS
            .iter()
            .chain(GAUGES)
            .map(|(name, _)| *name)
            .chain(HISTOGRAMS.iter().map(|(name, _, _)| *name))
            .collect();
        let all = COUNTERS.len() + GAUGES.len() + HISTOGRAMS.len();
        assert_eq!(described.len(), all, "one is described twice");
        let sources = [
            include_str!("../../engine/src/count.rs"),
            include_str!("../../gate/src/metric.rs"),
            include_str!("live/entry.rs"),
            include_str!("live/hub.rs"),
            include_str!("live/mod.rs"),
            include_str!("live/sse.rs"),
            include_str!("live/tail.rs"),
            include_str!("live/ws/connection.rs"),
            include_str!("metrics.rs"),
        ];
        let used: BTreeSet<String> = sources.iter().flat_map(|source| names(source)).collect();
        assert!(used.len() > 30, "{used:?}");
        for name in &used {
            assert!(described.contains(name.as_str()), "{name} has no description");
        }
    }

    #[test]
    fn a_made_up_method_is_no_label() {
        assert_eq!(known(&Method::GET), "GET");
        assert_eq!(known(&Method::from_bytes(b"MAKEUP").unwrap()), "OTHER");
    }
}
