//! The models, and what they cost.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use super::extract::Asked;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{ModelList, UsageReport};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(models))
        .route(Access::Read, routes!(usage))
}

/// List the models, and how they did in the last 30 days.
#[utoipa::path(
    get, path = "/api/v1/models", operation_id = "listModels", tag = "site",
    responses(
        (status = 200, description = "The models, by name", body = ModelList),
        Anybody, Signed,
    ),
)]
async fn models(State(app): State<App>) -> Result<Json<ModelList>, Problem> {
    let _ = app;
    Err(super::not_yet())
}

/// What usage is grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupBy {
    /// The day, in UTC.
    #[default]
    Day,
    /// The model.
    Model,
    /// The type of the alert.
    AlertType,
}

/// From when to when, by what.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Period {
    /// From; left out, 30 days before `to`
    #[param(format = DateTime)]
    pub(crate) from: Option<String>,
    /// Until; left out, now
    #[param(format = DateTime)]
    pub(crate) to: Option<String>,
    /// Grouped by
    #[param(inline)]
    pub(crate) group_by: Option<GroupBy>,
}

/// What models cost over a time.
#[utoipa::path(
    get, path = "/api/v1/usage", operation_id = "getUsage", tag = "site",
    params(Period),
    responses(
        (status = 200, description = "Calls, tokens and cost", body = UsageReport),
        Anybody, Signed,
    ),
)]
async fn usage(State(app): State<App>, Asked(period): Asked<Period>) -> Result<Json<UsageReport>, Problem> {
    let _ = (app, period);
    Err(super::not_yet())
}
