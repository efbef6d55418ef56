//! Incidents: what alerts are about, and what people say about them.

use axum::Json;
use axum::extract::State;
use interlock_protocol::{IncidentId, ResourceId};
use interlock_store::{Incident, IncidentMove, IncidentQuery};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Clash, Missing, Signed};
use super::extract::{Asked, At, MaySend, number, text, wrong};
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{
    IncidentDetail, IncidentEvent, IncidentPage, IncidentRun, IncidentSession, IncidentStatus,
    IncidentSummary, MoveIncident, Severity,
};

/// How many events of an incident are shown.
const MOST_EVENTS: u32 = 200;
/// How many sessions of an incident are shown.
const MOST_SESSIONS: usize = 20;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(list))
        .route(Access::Read, routes!(show))
        .route(Access::Operate, routes!(acknowledge))
        .route(Access::Operate, routes!(resolve))
        .route(Access::Operate, routes!(reopen))
}

/// Which incidents.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// Only those with this status; `unresolved` is everything that is not resolved
    #[param(inline)]
    pub(crate) status: Option<Which>,
    /// Only this severity
    pub(crate) severity: Option<Severity>,
    /// Only about this resource
    #[param(min_length = 1, max_length = 256)]
    pub(crate) resource: Option<String>,
    /// How many to pass over
    #[param(minimum = 0, maximum = 1_000_000, default = 0)]
    pub(crate) offset: Option<u32>,
    /// At most this many
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
}

/// Which statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Which {
    /// Everything that is not resolved.
    Unresolved,
    /// Nobody has said anything about it.
    Open,
    /// A person has seen it.
    Acknowledged,
    /// An action on it was verified.
    Mitigated,
    /// It is over.
    Resolved,
}

impl Which {
    fn statuses(self) -> Vec<interlock_protocol::IncidentStatus> {
        use interlock_protocol::IncidentStatus as Of;
        match self {
            Self::Unresolved => vec![Of::Open, Of::Acknowledged, Of::Mitigated],
            Self::Open => vec![Of::Open],
            Self::Acknowledged => vec![Of::Acknowledged],
            Self::Mitigated => vec![Of::Mitigated],
            Self::Resolved => vec![Of::Resolved],
        }
    }
}

/// List incidents.
#[utoipa::path(
    get, path = "/api/v1/incidents", operation_id = "listIncidents", tag = "incidents",
    params(Listing),
    responses(
        (status = 200, description = "Open ones first, the worst first", body = IncidentPage),
        Anybody, Signed,
    ),
)]
async fn list(State(app): State<App>, Asked(asked): Asked<Listing>) -> Result<Json<IncidentPage>, Problem> {
    let resource = asked
        .resource
        .map(|id| {
            id.parse::<ResourceId>()
                .map_err(|_| wrong("resource", "`resource` must be an id such as `lxc:delly:141`"))
        })
        .transpose()?;
    let query = IncidentQuery {
        statuses: asked.status.map(Which::statuses).unwrap_or_default(),
        severity: asked.severity.map(Into::into),
        resource,
        offset: number("offset", asked.offset.unwrap_or(0), 0, 1_000_000)?,
        limit: number("limit", asked.limit.unwrap_or(50), 1, 200)?,
    };
    let (incidents, total) = app.store().incidents(&query).await?;
    Ok(Json(IncidentPage {
        incidents: incidents.into_iter().map(summary).collect(),
        total,
    }))
}

/// Show an incident.
#[utoipa::path(
    get, path = "/api/v1/incidents/{id}", operation_id = "getIncident", tag = "incidents",
    params(("id" = String, Path, description = "The id of the incident")),
    responses(
        (status = 200, description = "The incident, what happened to it, and the sessions for it", body = IncidentDetail),
        Anybody, Signed, Missing,
    ),
)]
async fn show(State(app): State<App>, At(id): At<IncidentId>) -> Result<Json<IncidentDetail>, Problem> {
    Ok(Json(detail(&app, app.store().incident(&id).await?).await?))
}

/// Acknowledge an incident.
#[utoipa::path(
    post, path = "/api/v1/incidents/{id}/acknowledge", operation_id = "acknowledgeIncident", tag = "incidents",
    params(("id" = String, Path, description = "The id of the incident")),
    request_body(content = Option<MoveIncident>, example = json!({"reason": "I am looking at it"})),
    responses(
        (status = 200, description = "The incident", body = IncidentDetail),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn acknowledge(
    State(app): State<App>,
    caller: Caller,
    At(id): At<IncidentId>,
    MaySend(why): MaySend<MoveIncident>,
) -> Result<Json<IncidentDetail>, Problem> {
    moved(&app, &caller, &id, IncidentMove::Acknowledge, why).await
}

/// Resolve an incident.
///
/// Its alert may still fire; that is shown beside it.
#[utoipa::path(
    post, path = "/api/v1/incidents/{id}/resolve", operation_id = "resolveIncident", tag = "incidents",
    params(("id" = String, Path, description = "The id of the incident")),
    request_body(content = Option<MoveIncident>, example = json!({"reason": "fixed by hand"})),
    responses(
        (status = 200, description = "The incident", body = IncidentDetail),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn resolve(
    State(app): State<App>,
    caller: Caller,
    At(id): At<IncidentId>,
    MaySend(why): MaySend<MoveIncident>,
) -> Result<Json<IncidentDetail>, Problem> {
    moved(&app, &caller, &id, IncidentMove::Resolve, why).await
}

/// Reopen an incident.
///
/// A new session starts for it.
#[utoipa::path(
    post, path = "/api/v1/incidents/{id}/reopen", operation_id = "reopenIncident", tag = "incidents",
    params(("id" = String, Path, description = "The id of the incident")),
    request_body(content = Option<MoveIncident>, example = json!({"reason": "it is back"})),
    responses(
        (status = 200, description = "The incident", body = IncidentDetail),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn reopen(
    State(app): State<App>,
    caller: Caller,
    At(id): At<IncidentId>,
    MaySend(why): MaySend<MoveIncident>,
) -> Result<Json<IncidentDetail>, Problem> {
    moved(&app, &caller, &id, IncidentMove::Reopen, why).await
}

async fn moved(
    app: &App,
    caller: &Caller,
    id: &IncidentId,
    to: IncidentMove,
    why: MoveIncident,
) -> Result<Json<IncidentDetail>, Problem> {
    let reason = why.reason.filter(|reason| !reason.trim().is_empty());
    if let Some(reason) = &reason {
        text("reason", reason, 1, 500)?;
    }
    let incident = app
        .engine()
        .move_incident(id, to, &caller.user, reason.as_deref())
        .await?;
    Ok(Json(detail(app, incident).await?))
}

async fn detail(app: &App, incident: Incident) -> Result<IncidentDetail, Problem> {
    let store = app.store();
    let events = store.incident_events(&incident.id, MOST_EVENTS).await?;
    let mut sessions = Vec::new();
    for id in store
        .incident_sessions(&incident.id)
        .await?
        .into_iter()
        .take(MOST_SESSIONS)
    {
        let session = store.session(&id).await?;
        sessions.push(IncidentRun {
            id: id.to_string(),
            title: session.submitted.title,
            status: session.status.into(),
            created_at: session.submitted.at,
            completed_at: session.completed_at,
        });
    }
    Ok(IncidentDetail {
        alert: incident.alert.clone(),
        incident: summary(incident),
        events: events
            .into_iter()
            .map(|event| IncidentEvent {
                number: event.number,
                kind: event.kind.into(),
                at: event.at,
                last_at: event.last_at,
                count: event.count,
                by: event.by.map(|by| by.to_string()),
                session: event.session.map(|session| session.to_string()),
                text: event.text,
            })
            .collect(),
        sessions,
    })
}

pub(super) fn summary(incident: Incident) -> IncidentSummary {
    IncidentSummary {
        id: incident.id.to_string(),
        status: IncidentStatus::from(incident.status),
        severity: incident.severity.into(),
        firing: incident.firing,
        title: incident.title,
        summary: incident.summary,
        source: incident.source,
        alert_type: incident.alert_type,
        rule: incident.rule,
        about: incident.about,
        resource: incident.resource.map(|resource| resource.to_string()),
        starts_at: incident.starts_at,
        opened_at: incident.opened_at,
        changed_at: incident.changed_at,
        resolved_at: incident.resolved_at,
        repeats: incident.repeats,
        waiting: incident.waiting,
        session: incident.session.map(|session| IncidentSession {
            id: session.id.to_string(),
            status: session.status.into(),
            open_holds: session.open_holds,
        }),
    }
}
