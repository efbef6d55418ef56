//! Alerts in: each is kept, joins the incident that it is about or opens one, and is worked on as the queue has room.

use axum::Json;
use axum::extract::{Path, State};
use http::{HeaderMap, StatusCode};
use interlock_engine::{Alert, Rejected, Taken};
use interlock_store::Filed;
use serde_json::Value;
use utoipa_axum::routes;

use super::alert_forms::{self, Read};
use super::answers::{Anybody, Bodies, Signed};
use super::extract::{Asked, Sent, SentJson, missing, number, text, wrong};
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{
    AcceptedAlert, AcceptedList, AlertOutcome, AlertmanagerPush, AlertmanagerStatus, NewAlert, RejectedAlert,
    RejectedAlerts,
};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Operate, routes!(submit))
        .route(Access::Operate, routes!(alertmanager))
        .route(Access::Operate, routes!(grafana))
        .route(Access::Operate, routes!(cloudevents))
        .route(Access::Operate, routes!(mapped))
        .route(Access::Read, routes!(rejected))
}

/// Submit an alert.
///
/// It is kept first. An alert with a known fingerprint joins its incident; any other one opens an incident. A session for the
/// incident starts when the queue has room. The same idempotency key is the same incident for ever.
#[utoipa::path(
    post, path = "/api/v1/alerts", operation_id = "submitAlert", tag = "alerts",
    params(
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 256, pattern = "^[!-~]+$",
         description = "Two submissions with the same key are one incident; the same as `idempotency_key`"),
    ),
    request_body(content = NewAlert, example = json!({
        "alert_type": "service_down", "data": {"service": "nginx", "host": "web-1"}, "fingerprint": "nginx-web-1"
    })),
    responses(
        (status = 202, description = "What became of it", body = AcceptedAlert,
         example = json!({
            "status": "queued", "incident": "inc_4b5a69788796a5b4c3d2e1f00f1e2d3c",
            "session": "ses_0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            "url": "/incidents/inc_4b5a69788796a5b4c3d2e1f00f1e2d3c"
         })),
        Anybody, Signed, Bodies,
    ),
)]
async fn submit(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    Sent(alert): Sent<NewAlert>,
) -> Result<(StatusCode, Json<AcceptedAlert>), Problem> {
    let key = idempotency(&headers, alert.idempotency_key)?;
    for (field, value, least, most) in [
        ("alert_type", &alert.alert_type, 1, 128),
        ("title", &alert.title, 1, 512),
        ("resource", &alert.resource, 1, 256),
        ("runbook", &alert.runbook, 0, 65_536),
        ("fingerprint", &alert.fingerprint, 1, 256),
        ("idempotency_key", &key, 1, 256),
    ] {
        if let Some(value) = value {
            text(field, value, least, most)?;
        }
    }
    number("priority", alert.priority, -100, 100)?;
    if let Value::String(data) = &alert.data {
        not_empty("data", data)?;
    }
    let firing = alert.status != Some(AlertmanagerStatus::Resolved);
    if !firing && alert.fingerprint.is_none() {
        return Err(wrong(
            "fingerprint",
            "an alert that is resolved needs the `fingerprint` of the one that fired",
        ));
    }
    let starts_at = alert
        .starts_at
        .map(|text| super::extract::moment("starts_at", &text))
        .transpose()?;
    let alert = Alert {
        owner: Some(caller.user.clone()),
        runbook: alert.runbook,
        alert_type: alert.alert_type,
        fingerprint: alert.fingerprint,
        idempotency_key: key,
        firing,
        starts_at,
        severity: alert.severity.map(Into::into),
        priority: alert.priority,
        title: alert.title,
        about: alert.resource,
        ..Alert::firing("api", alert.data)
    };
    let taken = app.engine().take_alerts(vec![alert]).await?;
    match taken.into_iter().next() {
        Some(Ok(taken)) => Ok((StatusCode::ACCEPTED, Json(form(&taken)))),
        Some(Err(Rejected { reason })) => Err(wrong("alert", reason)),
        None => Err(wrong("alert", "the alert was not kept")),
    }
}

/// Keeps alerts of one sender, those that cannot be read too, and says what became of each.
async fn take(
    app: &App,
    caller: &Caller,
    source: &str,
    read: Vec<(Read, Value)>,
) -> Result<(StatusCode, Json<AcceptedList>), Problem> {
    let mut places = Vec::with_capacity(read.len());
    let (mut alerts, mut unread) = (Vec::new(), Vec::new());
    for (alert, body) in read {
        match alert {
            Ok(mut alert) => {
                alert.owner = Some(caller.user.clone());
                alerts.push(alert);
                places.push(None);
            }
            Err(reason) => {
                unread.push((reason.clone(), body.to_string()));
                places.push(Some(reason));
            }
        }
    }
    let mut taken = app.engine().take_alerts(alerts).await?.into_iter();
    app.engine().reject_alerts(source, unread).await?;
    let mut list = AcceptedList {
        accepted: Vec::with_capacity(places.len()),
        resolved: 0,
        rejected: 0,
    };
    for place in places {
        let one = match place {
            Some(reason) => refused(reason),
            None => match taken.next() {
                Some(Ok(taken)) => form(&taken),
                Some(Err(Rejected { reason })) => refused(reason),
                None => refused("the alert was not kept".to_owned()),
            },
        };
        match one.status {
            AlertOutcome::Resolved | AlertOutcome::Ignored => list.resolved += 1,
            AlertOutcome::Rejected => list.rejected += 1,
            AlertOutcome::Queued | AlertOutcome::Waiting | AlertOutcome::Duplicate => {}
        }
        list.accepted.push(one);
    }
    Ok((StatusCode::ACCEPTED, Json(list)))
}

fn form(taken: &Taken) -> AcceptedAlert {
    let status = match &taken.filed {
        Filed::Opened(_) | Filed::Reopened(_) if taken.session.is_some() => AlertOutcome::Queued,
        Filed::Opened(_) | Filed::Reopened(_) => AlertOutcome::Waiting,
        Filed::Repeated(_) => AlertOutcome::Duplicate,
        Filed::Resolved(_) => AlertOutcome::Resolved,
        Filed::NothingToResolve => AlertOutcome::Ignored,
    };
    let incident = taken.filed.incident();
    AcceptedAlert {
        status,
        incident: incident.map(ToString::to_string),
        session: taken.session.as_ref().map(ToString::to_string),
        url: incident.map(|incident| format!("/incidents/{incident}")),
        reason: None,
    }
}

fn refused(reason: String) -> AcceptedAlert {
    AcceptedAlert {
        status: AlertOutcome::Rejected,
        incident: None,
        session: None,
        url: None,
        reason: Some(reason),
    }
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
/// Each alert becomes an incident or an event of one. The type is the label `alert_type`, or else `alertname`.
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
        (status = 202, description = "What became of each alert", body = AcceptedList),
        Anybody, Signed, Bodies,
    ),
)]
async fn alertmanager(
    State(app): State<App>,
    caller: Caller,
    Sent(push): Sent<AlertmanagerPush>,
) -> Result<(StatusCode, Json<AcceptedList>), Problem> {
    webhook(&app, &caller, "alertmanager", push).await
}

/// Take what Grafana sends to a webhook.
///
/// The contact point "Webhook" of Grafana's alerting, which has the form of Alertmanager.
#[utoipa::path(
    post, path = "/api/v1/alerts/grafana", operation_id = "submitGrafana", tag = "alerts",
    request_body(content = AlertmanagerPush, example = json!({
        "receiver": "interlock", "status": "firing", "orgId": 1, "title": "[FIRING:1] disk_full",
        "alerts": [{
            "status": "firing", "labels": {"alertname": "disk_full", "instance": "web-1"},
            "annotations": {"summary": "/srv is full"}, "startsAt": "2026-01-31T12:00:00Z", "fingerprint": "c6eadffa33fcdf37",
            "valueString": "[ var='A' value=97 ]"
        }]
    })),
    responses(
        (status = 202, description = "What became of each alert", body = AcceptedList),
        Anybody, Signed, Bodies,
    ),
)]
async fn grafana(
    State(app): State<App>,
    caller: Caller,
    Sent(push): Sent<AlertmanagerPush>,
) -> Result<(StatusCode, Json<AcceptedList>), Problem> {
    webhook(&app, &caller, "grafana", push).await
}

async fn webhook(
    app: &App,
    caller: &Caller,
    source: &str,
    push: AlertmanagerPush,
) -> Result<(StatusCode, Json<AcceptedList>), Problem> {
    let read = |alert: Value| (alert_forms::webhook(source, alert.clone()), alert);
    take(app, caller, source, push.alerts.into_iter().map(read).collect()).await
}

/// Take events of the `CloudEvents` specification, version 1.0.
///
/// One event, a list of them, or the data of one with its attributes in `ce-` headers. A type that ends in `.resolved` says
/// that the alert is over.
#[utoipa::path(
    post, path = "/api/v1/alerts/cloudevents", operation_id = "submitCloudEvents", tag = "alerts",
    request_body(content = Object, example = json!({
        "specversion": "1.0", "type": "disk_full", "source": "/sensors/web-1", "id": "a89b61a2", "subject": "web-1",
        "data": {"severity": "critical", "summary": "/srv is full"}
    })),
    responses(
        (status = 202, description = "What became of each event", body = AcceptedList),
        Anybody, Signed, Bodies,
    ),
)]
async fn cloudevents(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    SentJson(body): SentJson,
) -> Result<(StatusCode, Json<AcceptedList>), Problem> {
    let events = match (alert_forms::binary_event(&headers, body.clone()), body) {
        (Some(event), _) | (None, event @ Value::Object(_)) => vec![event],
        (None, Value::Array(events)) => events,
        (None, _) => return Err(wrong("body", "the body must be an event or a list of events")),
    };
    let read = |event: Value| (alert_forms::cloud_event(event.clone()), event);
    take(
        &app,
        &caller,
        "cloudevents",
        events.into_iter().map(read).collect(),
    )
    .await
}

/// Take alerts in a form that the configuration describes.
///
/// `alerts.mappings.NAME` says where the facts of an alert are.
#[utoipa::path(
    post, path = "/api/v1/alerts/mapped/{name}", operation_id = "submitMapped", tag = "alerts",
    params(("name" = String, Path, min_length = 1, max_length = 64, description = "The name of the mapping")),
    request_body(content = Object, example = json!({"id": 7, "host": "web-1", "state": "problem"})),
    responses(
        (status = 202, description = "What became of each alert", body = AcceptedList),
        Anybody, Signed, Bodies,
    ),
)]
async fn mapped(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    SentJson(body): SentJson,
) -> Result<(StatusCode, Json<AcceptedList>), Problem> {
    let settings = app.engine().settings();
    let Some(mapping) = settings.alerts.mappings.get(&name) else {
        return Err(missing("mapping of alerts", &name));
    };
    let read = alert_forms::mapped(&name, mapping, body).map_err(|why| wrong("body", why))?;
    take(&app, &caller, &name, read).await
}

/// How many.
#[derive(Debug, Clone, Default, serde::Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// At most this many
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
}

/// List alerts that were rejected.
#[utoipa::path(
    get, path = "/api/v1/alerts/rejected", operation_id = "listRejectedAlerts", tag = "alerts",
    params(Listing),
    responses(
        (status = 200, description = "The newest first", body = RejectedAlerts),
        Anybody, Signed,
    ),
)]
async fn rejected(
    State(app): State<App>,
    Asked(asked): Asked<Listing>,
) -> Result<Json<RejectedAlerts>, Problem> {
    let limit = number("limit", asked.limit.unwrap_or(50), 1, 200)?;
    let (alerts, total) = app.store().rejected_alerts(limit).await?;
    let form = |alert: interlock_store::RejectedAlert| RejectedAlert {
        at: alert.at,
        source: alert.source,
        reason: alert.reason,
        alert: alert.alert,
    };
    Ok(Json(RejectedAlerts {
        alerts: alerts.into_iter().map(form).collect(),
        total,
    }))
}

/// What only has white space asks for nothing.
pub(super) fn not_empty(field: &str, input: &str) -> Result<(), Problem> {
    if input.trim().is_empty() {
        return Err(wrong(field, format!("there is nothing in `{field}`")));
    }
    Ok(())
}
