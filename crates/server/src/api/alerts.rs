//! Alerts in: each becomes a session, once.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Signed};
use super::extract::Sent;
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Accepted, AcceptedList, AlertmanagerPush, NewAlert};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Operate, routes!(submit))
        .route(Access::Operate, routes!(alertmanager))
}

/// Submit an alert.
///
/// It becomes a session that waits for a worker. The same idempotency key is the same session for ever; the same
/// fingerprint is the same session while that one is open. Both answer with the status `duplicate`.
#[utoipa::path(
    post, path = "/api/v1/alerts", operation_id = "submitAlert", tag = "alerts",
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256, pattern = "^[!-~]+$",
         description = "Two submissions with the same key are one session; the same as `idempotency_key`"),
    ),
    request_body(content = NewAlert, example = json!({
        "alert_type": "service_down", "data": {"service": "nginx", "host": "web-1"}, "fingerprint": "nginx-web-1"
    })),
    responses(
        (status = 202, description = "It waits for a worker, or joined a session that was there", body = Accepted,
         example = json!({
            "session": "ses_0f1e2d3c4b5a69788796a5b4c3d2e1f0", "status": "queued",
            "url": "/sessions/ses_0f1e2d3c4b5a69788796a5b4c3d2e1f0"
         })),
        Anybody, Signed, Bodies,
    ),
)]
async fn submit(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Sent(alert): Sent<NewAlert>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let _ = (app, caller, headers, alert);
    Err(super::not_yet())
}

/// Take what Alertmanager sends to a webhook.
///
/// Each alert that fires becomes a session, with Alertmanager's own fingerprint; what is resolved is passed over. The type
/// is the label `alert_type`, or else `alertname`; one that no chain has is looked at by the chain for alerts without a type.
#[utoipa::path(
    post, path = "/api/v1/alerts/alertmanager", operation_id = "submitAlertmanager", tag = "alerts",
    request_body(content = AlertmanagerPush, example = json!({
        "version": "4", "status": "firing", "receiver": "interlock",
        "alerts": [{
            "status": "firing", "labels": {"alertname": "service_down", "instance": "web-1"},
            "annotations": {"summary": "nginx is down"}, "startsAt": "2026-01-31T12:00:00Z", "fingerprint": "9f86d081884c7d65"
        }]
    })),
    responses(
        (status = 202, description = "One entry for each alert that fires", body = AcceptedList),
        Anybody, Signed, Bodies,
    ),
)]
async fn alertmanager(
    State(app): State<App>,
    caller: Caller,
    Sent(push): Sent<AlertmanagerPush>,
) -> Result<(StatusCode, Json<AcceptedList>), Problem> {
    let _ = (app, caller, push);
    Err(super::not_yet())
}

/// What only has white space asks for nothing.
pub(super) fn not_empty(input: &str) -> Result<(), Problem> {
    if input.trim().is_empty() {
        return Err(super::extract::wrong("message", "there is nothing in it"));
    }
    Ok(())
}
