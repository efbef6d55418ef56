//! How a resource did over time.

use axum::Json;
use axum::extract::State;
use interlock_protocol::ResourceId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At};
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::Metrics;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(metrics))
}

/// How far back.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Back {
    /// How many hours
    #[param(minimum = 1, maximum = 720, default = 6)]
    pub(crate) hours: Option<u32>,
}

/// Show a resource's numbers over time.
#[utoipa::path(
    get, path = "/api/v1/resources/{id}/metrics", operation_id = "getResourceMetrics", tag = "infrastructure",
    params(
        ("id" = String, Path, min_length = 1, max_length = 512, description = "The resource", example = "lxc:delly:141"),
        Back,
    ),
    responses(
        (status = 200, description = "The series; none where nothing measures it", body = Metrics),
        Anybody, Signed, Missing,
    ),
)]
async fn metrics(
    State(app): State<App>,
    At(id): At<ResourceId>,
    Asked(back): Asked<Back>,
) -> Result<Json<Metrics>, Problem> {
    let _ = (app, id, back);
    Err(super::not_yet())
}
