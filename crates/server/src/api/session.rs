//! One session: what it is, what happened in it, what it read.

use axum::Json;
use axum::extract::State;
use interlock_protocol::{EvidenceId, Sequence, SessionId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::asked::asked;
use super::extract::{Asked, At, MOST_PLACE, missing, number};
use super::forms;
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::{Code, Problem};
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
async fn show(
    State(app): State<App>,
    caller: Caller,
    At(session): At<SessionId>,
) -> Result<Json<SessionDetail>, Problem> {
    super::seen(&app, &caller, &session).await?;
    let store = app.store();
    let outline = store.outline(&session).await?;
    let calls = store.calls(&session).await?;
    let readings = store.readings(&session).await?;
    let facts = store.interaction_facts(&session).await?;
    // Last: what was read until here is what is checked.
    let seal = store.seal_of(&session).await?;
    Ok(Json(forms::detail(outline, &calls, &readings, &facts, &seal)))
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
async fn timeline(
    State(app): State<App>,
    caller: Caller,
    At(session): At<SessionId>,
) -> Result<Json<Timeline>, Problem> {
    super::seen(&app, &caller, &session).await?;
    let store = app.store();
    // First the place: what happens in between is in both, and is seen twice rather than never.
    let sequence = store.outline(&session).await?.last_event.get();
    let entries = store.timeline(&session).await?;
    let seal = store.seal_of(&session).await?;
    Ok(Json(Timeline {
        entries: entries
            .into_iter()
            .map(|entry| forms::entry(entry, &seal))
            .collect(),
        sequence,
    }))
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
    let from = number("after", after.after.unwrap_or(0), 0, MOST_PLACE)?;
    let limit = number("limit", after.limit.unwrap_or(200), 1, 1000)?;
    super::visible(&app, &session).await?;
    let mut found = app
        .store()
        .session_events(&session, Sequence::new(from), limit + 1)
        .await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let events = found
        .iter()
        .map(|event| serde_json::from_str(&event.json))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| {
            tracing::error!(%error, %session, "an event cannot be read");
            Problem::new(Code::Internal, "an event of this session cannot be read")
        })?;
    Ok(Json(EventPage { events, more }))
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
async fn evidence(
    State(app): State<App>,
    caller: Caller,
    At(session): At<SessionId>,
) -> Result<Json<EvidenceList>, Problem> {
    super::seen(&app, &caller, &session).await?;
    let evidence = app.store().evidence(&session).await?;
    let calls = app.store().calls(&session).await?;
    let masker = &app.masker();
    let form = |evidence| {
        let command = asked(masker, &calls, &evidence);
        forms::evidence(evidence, command)
    };
    Ok(Json(EvidenceList {
        evidence: evidence.into_iter().map(form).collect(),
    }))
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
    caller: Caller,
    At((session, evidence)): At<(SessionId, EvidenceId)>,
) -> Result<Json<Evidence>, Problem> {
    super::seen(&app, &caller, &session).await?;
    let mut found = app
        .store()
        .evidence_of(&session, std::slice::from_ref(&evidence))
        .await?;
    let found = found.pop().ok_or_else(|| missing("evidence", &evidence))?;
    let calls = app.store().calls(&session).await?;
    let command = asked(&app.masker(), &calls, &found);
    Ok(Json(forms::evidence(found, command)))
}
