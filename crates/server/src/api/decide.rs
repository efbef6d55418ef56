//! Deciding about what waits: open, approve, deny, edit.
//!
//! The secret that opening draws goes into the answer of that one request and nowhere else: no log, no event, no address.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use interlock_protocol::HoldId;
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Clash, Missing, Signed};
use super::extract::{At, Sent};
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Approval, Approve, Deny, Edit, OpenedApproval};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Approve, routes!(open))
        .route(Access::Approve, routes!(approve))
        .route(Access::Approve, routes!(deny))
        .route(Access::Approve, routes!(edit))
}

/// Open a hold to decide about it.
///
/// Draws the secret with which this approver may approve it, once, for ten minutes at most.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/open", operation_id = "openApproval", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    responses(
        (status = 200, description = "The hold and the secret; kept by nobody on the way", body = OpenedApproval),
        Anybody, Signed, Missing, Clash,
    ),
)]
async fn open(State(app): State<App>, caller: Caller, At(hold): At<HoldId>) -> Result<Response, Problem> {
    let _ = (app, caller, hold);
    Err(super::not_yet())
}

/// Approve a hold.
///
/// Needs the secret from opening it and the hash of the plan that was shown. Of two approvals at the same time one wins.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/approve", operation_id = "approveHold", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    request_body(content = Approve),
    responses(
        (status = 200, description = "The hold, approved; its session goes on", body = Approval),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn approve(
    State(app): State<App>,
    caller: Caller,
    At(hold): At<HoldId>,
    Sent(yes): Sent<Approve>,
) -> Result<Json<Approval>, Problem> {
    let _ = (app, caller, hold, yes);
    Err(super::not_yet())
}

/// Deny a hold.
///
/// The agent is told the reason, and goes on without.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/deny", operation_id = "denyHold", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    request_body(content = Deny, example = json!({"reason": "not during office hours"})),
    responses(
        (status = 200, description = "The hold, denied; its session goes on", body = Approval),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn deny(
    State(app): State<App>,
    caller: Caller,
    At(hold): At<HoldId>,
    Sent(no): Sent<Deny>,
) -> Result<Json<Approval>, Problem> {
    let _ = (app, caller, hold, no);
    Err(super::not_yet())
}

/// Change the plan of a hold.
///
/// The new plan passes the whole gate and waits in a hold of its own, which comes back. Where the gate refuses it, the old
/// hold stays as it is.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/edit", operation_id = "editHold", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    request_body(content = Edit),
    responses(
        (status = 200, description = "The new hold", body = Approval),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn edit(
    State(app): State<App>,
    caller: Caller,
    At(hold): At<HoldId>,
    Sent(changed): Sent<Edit>,
) -> Result<Json<Approval>, Problem> {
    let _ = (app, caller, hold, changed);
    Err(super::not_yet())
}
