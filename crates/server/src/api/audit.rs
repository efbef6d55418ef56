//! What people did, in a log that shows when somebody changed it.

use axum::Json;
use axum::extract::State;
use interlock_protocol::UserId;
use interlock_store::{AuditFilter, SessionsVerified};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use super::extract::{Asked, MOST_PLACE, number, text};
use super::forms;
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
    let limit = number("limit", asked.limit.unwrap_or(50), 1, 200)?;
    if let Some(before) = asked.before {
        number("before", before, 1, MOST_PLACE)?;
    }
    for (field, value, most) in [
        ("actor", &asked.actor, 128),
        ("action", &asked.action, 128),
        ("subject", &asked.subject, 512),
    ] {
        if let Some(value) = value {
            text(field, value, 1, most)?;
        }
    }
    let actor = match asked.actor.map(UserId::new) {
        None => None,
        Some(Ok(actor)) => Some(actor),
        // A name that nobody can have did nothing.
        Some(Err(_)) => {
            return Ok(Json(AuditPage {
                entries: Vec::new(),
                next: None,
            }));
        }
    };
    let filter = AuditFilter {
        actor,
        action: asked.action,
        subject: asked.subject,
        before: asked.before,
        limit: limit + 1,
    };
    let mut found = app.store().audit_entries(&filter).await?;
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    Ok(Json(AuditPage {
        next: more.then(|| found.last().map(|entry| entry.number)).flatten(),
        entries: found.into_iter().map(forms::audit).collect(),
    }))
}

/// How many sessions one request checks.
const SESSIONS: usize = 500;

/// Which part of the record.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Checking {
    /// Only sessions after this one: `next` of the answer before. Left out: the audit log, its signatures, and the first sessions
    #[param(min_length = 1, max_length = 128)]
    pub(crate) after: Option<String>,
}

/// Check the record.
///
/// The first request checks every entry of the audit log, every seal and checkpoint, and the rows of the first 500 sessions. While
/// `next` is there, ask again with it for the sessions that follow.
#[utoipa::path(
    get, path = "/api/v1/audit/verify", operation_id = "verifyAudit", tag = "record",
    params(Checking),
    responses(
        (status = 200, description = "Whether it is whole", body = AuditCheck),
        Anybody, Signed,
    ),
)]
async fn verify(State(app): State<App>, Asked(asked): Asked<Checking>) -> Result<Json<AuditCheck>, Problem> {
    if let Some(after) = &asked.after {
        text("after", after, 1, 128)?;
    }
    let store = app.store();
    let log = store.verify_audit().await?;
    let mut problems = Vec::new();
    if let Some((number, why)) = log.broken {
        problems.push(format!("audit entry {number}: {why}"));
    }
    let mut sessions = SessionsVerified::default();
    if let Some(keyring) = store.keyring() {
        if asked.after.is_none() {
            let found = store.verify_record(keyring, false).await?;
            problems.extend(found.problems.iter().map(said));
        }
        sessions = store
            .verify_sessions(keyring, asked.after.as_deref(), SESSIONS)
            .await?;
        problems.extend(sessions.altered.iter().map(said));
    } else {
        let changes = store.schema_changes().await?;
        problems.extend(
            changes
                .iter()
                .map(|change| format!("{} {}: {}", change.kind, change.name, change.what())),
        );
    }
    Ok(Json(AuditCheck {
        intact: problems.is_empty(),
        entries: log.entries,
        head: log.head.to_string(),
        signed: store.keyring().is_some(),
        sessions: sessions.checked,
        sessions_intact: sessions.intact,
        sessions_in_progress: sessions.in_progress,
        sessions_older: sessions.older,
        altered: sessions.altered.iter().map(|found| found.place.clone()).collect(),
        problem: problems.first().cloned(),
        problems,
        next: sessions.next,
    }))
}

/// A problem in one line. What was changed may have been chosen by whoever changed it.
fn said(problem: &interlock_store::Problem) -> String {
    interlock_protocol::visible::line(&format!("{}: {}", problem.place, problem.what))
}
