//! What waits for a human, and what was decided.

use axum::Json;
use axum::extract::State;
use interlock_gate::Hold;
use interlock_protocol::{HoldId, SessionId};
use interlock_store::Holds;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At, number, text};
use super::hold::{self, Depth};
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
    let limit = number("limit", asked.limit.unwrap_or(50), 1, 200)?;
    let now = Timestamp::now();
    let which = asked.status.unwrap_or_default();
    let session = match &asked.session {
        None => None,
        Some(session) => match SessionId::new(text("session", session, 1, 128)?) {
            Ok(session) => Some(session),
            // What is no id names nothing.
            Err(_) => {
                return Ok(Json(ApprovalList {
                    approvals: Vec::new(),
                    now,
                }));
            }
        },
    };
    let found = match holds(&app, which, session.as_ref(), limit, now).await {
        Err(interlock_store::Error::NotFound { .. }) => Vec::new(),
        found => found?,
    };
    let mut approvals = Vec::with_capacity(found.len());
    for hold in &found {
        let depth = if hold.is_open(now) {
            Depth::Whole
        } else {
            Depth::Brief
        };
        approvals.push(hold::form(&app, &caller, hold, depth).await?);
    }
    Ok(Json(ApprovalList { approvals, now }))
}

/// Those that wait, soonest to expire first; then the others, newest first.
async fn holds(
    app: &App,
    which: Which,
    session: Option<&SessionId>,
    limit: u32,
    now: Timestamp,
) -> Result<Vec<Hold>, interlock_store::Error> {
    let store = app.store();
    let mut pending = store.holds(Holds::Open).await?;
    pending.retain(|hold| session.is_none_or(|session| hold.plan.session == *session));
    // What waited in a session that was deleted is as gone as the session.
    let gone = store.gone(pending.iter().map(|hold| hold.plan.session.clone()).collect());
    let gone = gone.await?;
    pending.retain(|hold| !gone.contains(&hold.plan.session));
    // What nobody decided in time does not wait, noticed or not.
    let (mut open, mut late): (Vec<Hold>, Vec<Hold>) =
        pending.into_iter().partition(|hold| hold.is_open(now));
    open.sort_by_key(|hold| hold.expires_at);
    late.sort_by_key(|hold| std::cmp::Reverse(hold.expires_at));
    let mut found = match which {
        Which::Open => open,
        Which::Decided => late,
        Which::All => {
            open.append(&mut late);
            open
        }
    };
    if which != Which::Open {
        found.extend(store.decided_holds(session, limit).await?);
    }
    found.truncate(limit as usize);
    Ok(found)
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
    let hold = app.store().hold(&hold).await?;
    super::visible(&app, &hold.plan.session).await?;
    Ok(Json(hold::form(&app, &caller, &hold, Depth::Whole).await?))
}
