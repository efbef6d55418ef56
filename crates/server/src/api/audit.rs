//! What people did, in a log that shows when somebody changed it.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use super::extract::Asked;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{AuditCheck, AuditPage};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Admin, routes!(list))
        .route(Access::Admin, routes!(verify))
}

/// Which entries.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// Only this person's
    #[param(min_length = 1, max_length = 128)]
    pub(crate) actor: Option<String>,
    /// Only actions that begin like this
    #[param(min_length = 1, max_length = 128, example = "hold.")]
    pub(crate) action: Option<String>,
    /// Only about this
    #[param(min_length = 1, max_length = 512)]
    pub(crate) subject: Option<String>,
    /// Only before this number: `next` of the page before
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub(crate) before: Option<u64>,
    /// At most this many
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
}

/// List what people did.
#[utoipa::path(
    get, path = "/api/v1/audit", operation_id = "listAudit", tag = "record",
    params(Listing),
    responses(
        (status = 200, description = "Entries, newest first", body = AuditPage),
        Anybody, Signed,
    ),
)]
async fn list(State(app): State<App>, Asked(asked): Asked<Listing>) -> Result<Json<AuditPage>, Problem> {
    let _ = (app, asked);
    Err(super::not_yet())
}

/// Look at every entry of the audit log and at how they hang together.
#[utoipa::path(
    get, path = "/api/v1/audit/verify", operation_id = "verifyAudit", tag = "record",
    responses(
        (status = 200, description = "Whether it is whole", body = AuditCheck),
        Anybody, Signed,
    ),
)]
async fn verify(State(app): State<App>) -> Result<Json<AuditCheck>, Problem> {
    let _ = app;
    Err(super::not_yet())
}
