//! What waits for a human, and what was decided.

use axum::Json;
use axum::extract::State;
use interlock_protocol::HoldId;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At};
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Approval, ApprovalList};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(list))
        .route(Access::Read, routes!(show))
}

/// Which holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Which {
    /// Those that wait.
    #[default]
    Open,
    /// Those that do not wait any more.
    Decided,
    /// All of them.
    All,
}

/// Which holds, and how many.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// Which
    #[param(inline)]
    pub(crate) status: Option<Which>,
    /// Only those of this session
    #[param(min_length = 1, max_length = 128)]
    pub(crate) session: Option<String>,
    /// At most this many
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
}

/// List what waits for a human.
///
/// Those that wait come first, soonest to expire first; then the decided, newest first.
#[utoipa::path(
    get, path = "/api/v1/approvals", operation_id = "listApprovals", tag = "approvals",
    params(Listing),
    responses(
        (status = 200, description = "The holds", body = ApprovalList),
        Anybody, Signed,
    ),
)]
async fn list(
    State(app): State<App>,
    caller: Caller,
    Asked(asked): Asked<Listing>,
) -> Result<Json<ApprovalList>, Problem> {
    let _ = (app, caller, asked);
    Err(super::not_yet())
}

/// Show a hold: the exact plan, why, and what is known about its resource.
#[utoipa::path(
    get, path = "/api/v1/approvals/{id}", operation_id = "getApproval", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    responses(
        (status = 200, description = "The hold", body = Approval),
        Anybody, Signed, Missing,
    ),
)]
async fn show(
    State(app): State<App>,
    caller: Caller,
    At(hold): At<HoldId>,
) -> Result<Json<Approval>, Problem> {
    let _ = (app, caller, hold);
    Err(super::not_yet())
}
