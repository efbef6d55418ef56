//! What the frame of the page shows, and the switch that stops all writes.

use axum::Json;
use axum::extract::State;
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Signed};
use super::extract::MaySend;
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Overview, StopWrites, Writes};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(overview))
        .route(Access::Operate, routes!(stop))
        .route(Access::Admin, routes!(resume))
}

/// Show how things stand.
#[utoipa::path(
    get, path = "/api/v1/overview", operation_id = "getOverview", tag = "site",
    responses(
        (status = 200, description = "How things stand", body = Overview),
        Anybody, Signed,
    ),
)]
async fn overview(State(app): State<App>) -> Result<Json<Overview>, Problem> {
    let _ = app;
    Err(super::not_yet())
}

/// Stop all writes, of every process on this store.
#[utoipa::path(
    post, path = "/api/v1/writes/stop", operation_id = "stopWrites", tag = "site",
    request_body(content = Option<StopWrites>, example = json!({"reason": "something is going wrong"})),
    responses(
        (status = 200, description = "They are stopped", body = Writes),
        Anybody, Signed, Bodies,
    ),
)]
async fn stop(
    State(app): State<App>,
    caller: Caller,
    MaySend(why): MaySend<StopWrites>,
) -> Result<Json<Writes>, Problem> {
    let _ = (app, caller, why);
    Err(super::not_yet())
}

/// Let writes go again.
#[utoipa::path(
    post, path = "/api/v1/writes/resume", operation_id = "resumeWrites", tag = "site",
    responses(
        (status = 200, description = "They go", body = Writes),
        Anybody, Signed,
    ),
)]
async fn resume(State(app): State<App>, caller: Caller) -> Result<Json<Writes>, Problem> {
    let _ = (app, caller);
    Err(super::not_yet())
}
