//! Whether the server is up and ready. Public, so it says no more than that.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use utoipa_axum::routes;

use super::answers::Anybody;
use crate::access::Access;
use crate::app::App;
use crate::routes::Routes;
use crate::wire::Up;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Public, routes!(health))
        .route(Access::Public, routes!(health_of_api))
        .route(Access::Public, routes!(ready))
        .route(Access::Public, routes!(description))
}

/// Whether the server is up.
#[utoipa::path(
    get, path = "/health", operation_id = "getHealth", tag = "health",
    responses(
        (status = 200, description = "It is", body = Up, example = json!({"status": "healthy", "version": "0.1.0"})),
        Anybody,
        (status = 503, description = "The store does not work", body = Up),
    ),
)]
async fn health(State(app): State<App>) -> (StatusCode, Json<Up>) {
    let _ = app;
    (StatusCode::OK, Json(up(true)))
}

/// Whether the server is up.
#[utoipa::path(
    get, path = "/api/v1/health", operation_id = "getApiHealth", tag = "health",
    responses(
        (status = 200, description = "It is", body = Up),
        Anybody,
        (status = 503, description = "The store does not work", body = Up),
    ),
)]
async fn health_of_api(app: State<App>) -> (StatusCode, Json<Up>) {
    health(app).await
}

/// Whether the server takes work.
#[utoipa::path(
    get, path = "/ready", operation_id = "getReady", tag = "health",
    responses(
        (status = 200, description = "It does", body = Up),
        Anybody,
        (status = 503, description = "Not yet, or not any more", body = Up),
    ),
)]
async fn ready(State(app): State<App>) -> (StatusCode, Json<Up>) {
    let _ = app;
    (StatusCode::OK, Json(up(true)))
}

fn up(healthy: bool) -> Up {
    Up {
        status: if healthy { "healthy" } else { "unhealthy" }.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The description of this API.
#[utoipa::path(
    get, path = "/api/v1/openapi.json", operation_id = "getDescription", tag = "health",
    responses(
        (status = 200, description = "An OpenAPI 3.1 document", body = serde_json::Value),
        Anybody,
    ),
)]
async fn description() -> Json<utoipa::openapi::OpenApi> {
    Json(crate::openapi())
}
