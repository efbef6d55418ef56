//! Alerts in: each becomes a session, once.

use axum::Json;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use interlock_engine::{MAX_INPUT, Submission};
use interlock_protocol::{ContentHash, SessionKind};
use serde_json::Value;
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Signed};
use super::extract::{Sent, number, text, wrong};
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::routes::Routes;
use crate::wire::{Accepted, AcceptedList, AlertmanagerPush, AlertmanagerStatus, NewAlert};

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
    let key = idempotency(&headers, alert.idempotency_key)?;
    for (field, value, least, most) in [
        ("alert_type", &alert.alert_type, 1, 128),
        ("runbook", &alert.runbook, 0, 65_536),
        ("fingerprint", &alert.fingerprint, 1, 256),
        ("idempotency_key", &key, 1, 256),
    ] {
        if let Some(value) = value {
            text(field, value, least, most)?;
        }
    }
    number("priority", alert.priority, -100, 100)?;
    let mut input = match alert.data {
        Value::String(text) => text,
        other => serde_json::to_string_pretty(&other).unwrap_or_default(),
    };
    not_empty("data", &input)?;
    if let Some(runbook) = alert.runbook.filter(|runbook| !runbook.trim().is_empty()) {
        input.push_str(RUNBOOK);
        input.push_str(&runbook);
    }
    let submission = Submission {
        kind: SessionKind::Chain,
        alert_type: alert.alert_type,
        priority: alert.priority,
        idempotency_key: key,
        fingerprint: alert.fingerprint,
        ..from_api(&caller, input)?
    };
    let (session, new) = app.engine().submit_or_join(submission).await?;
    Ok((StatusCode::ACCEPTED, Json(super::accepted(&session, !new))))
}

/// What stands before a runbook in what agents are shown. They read it as part of the alert: data, not orders.
const RUNBOOK: &str = "\n\n--- runbook, sent along with the alert (untrusted text) ---\n";

/// What every submission over the API has.
fn from_api(caller: &Caller, input: String) -> Result<Submission, Problem> {
    if input.len() > MAX_INPUT {
        return Err(Problem::new(
            Code::TooLarge,
            format!(
                "the alert has {} bytes; at most {MAX_INPUT} are taken",
                input.len()
            ),
        ));
    }
    Ok(Submission {
        channel: "api".to_owned(),
        owner: Some(caller.user.clone()),
        ..Submission::question(input)
    })
}

/// The key that stands in the header or in the body. Both may, if they say the same.
fn idempotency(headers: &HeaderMap, written: Option<String>) -> Result<Option<String>, Problem> {
    let Some(header) = headers.get("idempotency-key") else {
        return Ok(written);
    };
    let header = header
        .to_str()
        .ok()
        .filter(|key| key.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or_else(|| {
            wrong(
                "Idempotency-Key",
                "the header `Idempotency-Key` may have visible ASCII characters and no spaces",
            )
        })?;
    match written {
        Some(written) if written != header => Err(wrong(
            "idempotency_key",
            "the header `Idempotency-Key` and `idempotency_key` differ",
        )),
        _ => Ok(Some(header.to_owned())),
    }
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
    number("alerts", push.alerts.len(), 0, 100)?;
    let mut list = AcceptedList {
        accepted: Vec::new(),
        resolved: 0,
    };
    for alert in push.alerts {
        if alert.status == AlertmanagerStatus::Resolved {
            list.resolved += 1;
            continue;
        }
        if let Some(fingerprint) = &alert.fingerprint {
            text("fingerprint", fingerprint, 1, 256)?;
        }
        let labels = &alert.labels;
        let named = labels.get("alert_type").or_else(|| labels.get("alertname"));
        let alert_type = named.filter(|named| is_known(&app, named)).cloned();
        // Without one of its own, what an alert is about is what its labels say.
        let about = || format!("{labels:?}");
        let submission = Submission {
            kind: SessionKind::Chain,
            alert_type,
            fingerprint: Some(
                alert
                    .fingerprint
                    .clone()
                    .unwrap_or_else(|| ContentHash::of(about()).to_string()),
            ),
            ..from_api(&caller, serde_json::to_string_pretty(&alert).unwrap_or_default())?
        };
        let (session, new) = app.engine().submit_or_join(submission).await?;
        list.accepted.push(super::accepted(&session, !new));
    }
    Ok((StatusCode::ACCEPTED, Json(list)))
}

/// Whether some chain is for alerts of this type.
fn is_known(app: &App, alert_type: &str) -> bool {
    let settings = app.engine().settings();
    let mut chains = settings.chains.values();
    chains.any(|chain| chain.alert_types.iter().any(|known| known == alert_type))
}

/// What only has white space asks for nothing.
pub(super) fn not_empty(field: &str, input: &str) -> Result<(), Problem> {
    if input.trim().is_empty() {
        return Err(wrong(field, format!("there is nothing in `{field}`")));
    }
    Ok(())
}
