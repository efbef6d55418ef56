//! What the frame of the page shows, and the switch that stops all writes.

use axum::Json;
use axum::extract::State;
use interlock_engine::WritesState;
use interlock_gate::{FourEyes, KillSwitch};
use interlock_protocol::Mode;
use jiff::Timestamp;
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Clash, Signed};
use super::extract::{MOST_PLACE, MaySend, number, text};
use super::health;
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{IncidentTotals, Overview, ResumeWrites, StatusCount, StopWrites, Writes};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(overview))
        .route(Access::Operate, routes!(stop))
        .route(Access::Admin, routes!(resume))
}

/// Show how things stand.
#[utoipa::path(
    get, path = "/api/v1/overview", operation_id = "getOverview", tag = "site",
    responses(
        (status = 200, description = "How things stand", body = Overview),
        Anybody, Signed,
    ),
)]
async fn overview(State(app): State<App>) -> Result<Json<Overview>, Problem> {
    let now = Timestamp::now();
    let setup = app.engine().settings();
    let counts = app.store().counts().await?;
    let writes = app.engine().writes().await?;
    let incidents = app.store().incident_counts().await?;
    Ok(Json(Overview {
        mode: Mode::Normal.to_string(),
        level: setup.level.into(),
        four_eyes: setup.four_eyes == FourEyes::On,
        writes: writes_form(writes),
        incidents: IncidentTotals {
            critical: incidents.critical,
            warning: incidents.warning,
            info: incidents.info,
            waiting: incidents.waiting,
        },
        open_holds: counts.open_holds,
        sessions: counts
            .by_status
            .into_iter()
            .map(|(status, count)| StatusCount {
                status: status.into(),
                count,
            })
            .collect(),
        health: health::look(&app).await,
        configuration: app
            .reloader()
            .map(|reloader| super::settings::state(&app, reloader)),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: app.started_at(),
        now,
        demo: app.is_demo(),
    }))
}

/// Stop all writes, of every process on this store.
#[utoipa::path(
    post, path = "/api/v1/writes/stop", operation_id = "stopWrites", tag = "site",
    request_body(content = Option<StopWrites>, example = json!({"reason": "something is going wrong"})),
    responses(
        (status = 200, description = "They are stopped", body = Writes),
        Anybody, Signed, Bodies,
    ),
)]
async fn stop(
    State(app): State<App>,
    caller: Caller,
    MaySend(why): MaySend<StopWrites>,
) -> Result<Json<Writes>, Problem> {
    let reason = why.reason.filter(|reason| !reason.trim().is_empty());
    if let Some(reason) = &reason {
        text("reason", reason, 1, 500)?;
    }
    let stopped = app
        .engine()
        .stop_writes(KillSwitch::Engaged, &caller.user, reason.as_deref())
        .await?;
    Ok(Json(writes_form(stopped)))
}

/// Let writes go again.
///
/// With the `revision` that was looked at, it is a conflict where writes were stopped again since.
#[utoipa::path(
    post, path = "/api/v1/writes/resume", operation_id = "resumeWrites", tag = "site",
    request_body(content = Option<ResumeWrites>, example = json!({"revision": 3})),
    responses(
        (status = 200, description = "They go", body = Writes),
        Anybody, Signed, Clash, Bodies,
    ),
)]
async fn resume(
    State(app): State<App>,
    caller: Caller,
    MaySend(looked): MaySend<ResumeWrites>,
) -> Result<Json<Writes>, Problem> {
    let seen = looked
        .revision
        .map(|revision| number("revision", revision, 0, MOST_PLACE))
        .transpose()?;
    let going = app.engine().resume_writes(&caller.user, seen).await?;
    Ok(Json(writes_form(going)))
}

fn writes_form(state: WritesState) -> Writes {
    Writes {
        stopped: state.stopped,
        revision: state.revision,
        by: state.by.map(Into::into),
        at: state.at,
        reason: state.reason,
    }
}
