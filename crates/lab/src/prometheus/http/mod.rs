//! The HTTP API of Prometheus.

mod answer;
mod discovery;
mod params;
mod query;
mod rules;
mod series;
mod status;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use super::Prometheus;
pub(super) use params::Params;

/// Clients ask for the first page to see whether the server is there, and alerts link to the graph.
const NO_PAGES: &str = "This server has no pages, only its API under /api/v1.\n";

pub(super) fn router(prometheus: Prometheus) -> Router {
    let api = Router::new()
        .route("/query", get(query::instant).post(query::instant))
        .route("/query_range", get(query::range).post(query::range))
        .route("/format_query", get(query::format).post(query::format))
        .route("/series", get(series::series).post(series::series))
        .route("/labels", get(series::labels).post(series::labels))
        .route("/label/{name}/values", get(series::values))
        .route("/metadata", get(series::metadata))
        .route("/targets", get(discovery::targets))
        .route("/alertmanagers", get(discovery::alertmanagers))
        .route("/rules", get(rules::rules))
        .route("/alerts", get(rules::alerts))
        .route("/status/buildinfo", get(status::build))
        .route("/status/runtimeinfo", get(status::runtime))
        .route("/status/config", get(status::config))
        .route("/status/flags", get(status::flags))
        .route("/status/tsdb", get(status::tsdb));
    Router::new()
        .nest("/api/v1", api)
        .route("/-/healthy", get(|| async { "Prometheus Server is Healthy.\n" }))
        .route("/-/ready", get(|| async { "Prometheus Server is Ready.\n" }))
        .route("/metrics", get(status::metrics))
        .route("/", get(|| async { NO_PAGES }))
        .route("/graph", get(|| async { NO_PAGES }))
        .fallback(|| async { (StatusCode::NOT_FOUND, "404 page not found\n") })
        .with_state(prometheus)
}
