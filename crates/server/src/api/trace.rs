//! What a run was made of, and whether the gate would say the same again.

use axum::Json;
use axum::extract::State;
use interlock_protocol::SessionId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At};
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::TraceForm;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(trace))
}

/// Which run, and whether to ask again.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// The run; left out, the session's last
    #[param(min_length = 1, max_length = 128)]
    pub(crate) run: Option<String>,
    /// Whether to ask the gate everything again and compare
    #[param(default = false)]
    pub(crate) replay: Option<bool>,
}

/// Show the trace of a run.
///
/// Everything that was asked of models and of the gate. With `replay=true` the gate is asked everything again; nothing runs.
/// Long bodies are cut, with a note of how long they were.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/trace", operation_id = "getTrace", tag = "sessions",
    params(
        ("id" = String, Path, min_length = 1, max_length = 128, description = "The session"),
        Which,
    ),
    responses(
        (status = 200, description = "The trace", body = TraceForm),
        Anybody, Signed, Missing,
    ),
)]
async fn trace(
    State(app): State<App>,
    At(session): At<SessionId>,
    Asked(which): Asked<Which>,
) -> Result<Json<TraceForm>, Problem> {
    let _ = (app, session, which);
    Err(super::not_yet())
}
