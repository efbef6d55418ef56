//! The tools, and how they have been doing.

use axum::Json;
use axum::extract::State;
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::ToolList;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(tools))
}

/// List the tools, and how they did in the last day.
#[utoipa::path(
    get, path = "/api/v1/tools", operation_id = "listTools", tag = "site",
    responses(
        (status = 200, description = "The tools, by name", body = ToolList),
        Anybody, Signed,
    ),
)]
async fn tools(State(app): State<App>) -> Result<Json<ToolList>, Problem> {
    let _ = app;
    Err(super::not_yet())
}
