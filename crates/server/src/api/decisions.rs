//! What the gate answered, over all sessions.

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
use crate::wire::DecisionPage;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(list))
}

/// What the gate can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// A call may run.
    Allowed,
    /// An answer may go out.
    AnswerAllowed,
    /// A human must see it.
    Held,
    /// No.
    Refused,
}

/// Which decisions.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// Only this session's
    #[param(min_length = 1, max_length = 128)]
    pub(crate) session: Option<String>,
    /// Only these answers
    #[param(inline)]
    pub(crate) answer: Option<Answer>,
    /// Only refusals with this code
    #[param(min_length = 1, max_length = 64, example = "ACTION_NOT_ALLOWED")]
    pub(crate) code: Option<String>,
    /// Only before this place: `next` of the page before
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub(crate) before: Option<u64>,
    /// At most this many
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
}

/// List what the gate answered.
#[utoipa::path(
    get, path = "/api/v1/decisions", operation_id = "listDecisions", tag = "record",
    params(Listing),
    responses(
        (status = 200, description = "Decisions, newest first", body = DecisionPage),
        Anybody, Signed,
    ),
)]
async fn list(State(app): State<App>, Asked(asked): Asked<Listing>) -> Result<Json<DecisionPage>, Problem> {
    let _ = (app, asked);
    Err(super::not_yet())
}
