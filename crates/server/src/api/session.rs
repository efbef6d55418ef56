//! One session: what it is, what happened in it, what it read.

use axum::Json;
use axum::extract::State;
use interlock_protocol::{EvidenceId, SessionId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At};
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{EventPage, Evidence, EvidenceList, SessionDetail, Timeline};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(show))
        .route(Access::Read, routes!(timeline))
        .route(Access::Read, routes!(events))
        .route(Access::Read, routes!(evidence))
        .route(Access::Read, routes!(one_evidence))
}

/// Show a session.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}", operation_id = "getSession", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 200, description = "The session", body = SessionDetail),
        Anybody, Signed, Missing,
    ),
)]
async fn show(State(app): State<App>, At(session): At<SessionId>) -> Result<Json<SessionDetail>, Problem> {
    let _ = (app, session);
    Err(super::not_yet())
}

/// Show a session's timeline.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/timeline", operation_id = "getTimeline", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 200, description = "Its entries, in the order in which they began", body = Timeline),
        Anybody, Signed, Missing,
    ),
)]
async fn timeline(State(app): State<App>, At(session): At<SessionId>) -> Result<Json<Timeline>, Problem> {
    let _ = (app, session);
    Err(super::not_yet())
}

/// From where, and how many.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct After {
    /// Only events after this place; 0 for all
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_u64, default = 0)]
    pub(crate) after: Option<u64>,
    /// At most this many
    #[param(minimum = 1, maximum = 1000, default = 200)]
    pub(crate) limit: Option<u32>,
}

/// List a session's events.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/events", operation_id = "listEvents", tag = "sessions",
    params(
        ("id" = String, Path, min_length = 1, max_length = 128, description = "The session"),
        After,
    ),
    responses(
        (status = 200, description = "A page of events, in order", body = EventPage),
        Anybody, Signed, Missing,
    ),
)]
async fn events(
    State(app): State<App>,
    At(session): At<SessionId>,
    Asked(after): Asked<After>,
) -> Result<Json<EventPage>, Problem> {
    let _ = (app, session, after);
    Err(super::not_yet())
}

/// List what a session read.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/evidence", operation_id = "listEvidence", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 200, description = "Its evidence, in order", body = EvidenceList),
        Anybody, Signed, Missing,
    ),
)]
async fn evidence(State(app): State<App>, At(session): At<SessionId>) -> Result<Json<EvidenceList>, Problem> {
    let _ = (app, session);
    Err(super::not_yet())
}

/// Show one piece of evidence.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/evidence/{evidence}", operation_id = "getEvidence", tag = "sessions",
    params(
        ("id" = String, Path, min_length = 1, max_length = 128, description = "The session"),
        ("evidence" = String, Path, min_length = 1, max_length = 128, description = "The evidence"),
    ),
    responses(
        (status = 200, description = "The evidence", body = Evidence),
        Anybody, Signed, Missing,
    ),
)]
async fn one_evidence(
    State(app): State<App>,
    At((session, evidence)): At<(SessionId, EvidenceId)>,
) -> Result<Json<Evidence>, Problem> {
    let _ = (app, session, evidence);
    Err(super::not_yet())
}
