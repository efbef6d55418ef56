//! The routes of the API v2.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::http::Params;
use super::super::labels::Labels;
use super::matcher::{Matcher, Matchers};
use super::silence::Silence;
use super::wire::{self, PostedAlert, PostedSilence};
use super::{Alert, Alertmanager, Error, Muted, RECEIVER};

pub(in super::super) fn router(alertmanager: Alertmanager) -> Router {
    Router::new()
        .route("/-/healthy", get(|| async { "OK" }))
        .route("/-/ready", get(|| async { "OK" }))
        .route("/api/v2/alerts", get(list_alerts).post(post_alerts))
        .route("/api/v2/alerts/groups", get(groups))
        .route("/api/v2/silences", get(list_silences).post(post_silence))
        .route("/api/v2/silence/{id}", get(get_silence).delete(delete_silence))
        .route("/api/v2/status", get(status))
        .route(
            "/api/v2/receivers",
            get(|| async { Json(json!([{ "name": RECEIVER }])) }),
        )
        .route("/-/reload", post(|| async { StatusCode::OK }))
        .with_state(alertmanager)
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let code = match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::UnknownSilence(_) => StatusCode::NOT_FOUND,
            Self::Expired(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Full(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        (code, Json(self.to_string())).into_response()
    }
}

/// Which alerts are asked for.
struct Filter {
    matchers: Matchers,
    receiver: Option<Matchers>,
    active: bool,
    silenced: bool,
    inhibited: bool,
}

impl Filter {
    fn of(params: &Params) -> Result<Self, Error> {
        let flag = |name| match params.get(name) {
            None | Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(Error::Invalid(format!(
                "{name} in query must be of type boolean: {other:?}"
            ))),
        };
        let receiver = |pattern: &str| {
            let matcher = Matcher {
                name: "receiver".to_owned(),
                value: pattern.to_owned(),
                is_regex: true,
                is_equal: true,
            };
            Matchers::new(&[matcher])
        };
        Ok(Self {
            matchers: Matchers::parse(params.all("filter"))?,
            receiver: params.get("receiver").map(receiver).transpose()?,
            active: flag("active")?,
            silenced: flag("silenced")?,
            inhibited: flag("inhibited")?,
        })
    }

    fn passes(&self, (alert, muted): &(Alert, Muted)) -> bool {
        let own = Labels::new([("receiver", RECEIVER)]);
        let receiver = self
            .receiver
            .as_ref()
            .is_none_or(|receiver| receiver.match_labels(&own));
        receiver
            && self.matchers.match_labels(&alert.labels)
            && (self.active || !muted.is_empty())
            && (self.silenced || muted.silenced_by.is_empty())
            && (self.inhibited || muted.inhibited_by.is_empty())
    }
}

async fn list_alerts(State(alertmanager): State<Alertmanager>, params: Params) -> Result<Json<Value>, Error> {
    let filter = Filter::of(&params)?;
    let found = alertmanager
        .active()
        .into_iter()
        .filter(|alert| filter.passes(alert));
    Ok(Json(
        found.map(|(alert, muted)| wire::alert(&alert, &muted)).collect(),
    ))
}

async fn post_alerts(State(alertmanager): State<Alertmanager>, body: Bytes) -> Result<StatusCode, Error> {
    let now = alertmanager.clock.now();
    let posted: Vec<PostedAlert> = read(&body)?;
    // The good ones are taken even if there are bad ones, and the sender is told about those.
    let (good, bad): (Vec<_>, Vec<_>) = posted
        .into_iter()
        .map(|alert| alert.checked(now))
        .partition(Result::is_ok);
    alertmanager.put(good.into_iter().flatten())?;
    match bad.into_iter().find_map(Result::err) {
        Some(error) => Err(error),
        None => Ok(StatusCode::OK),
    }
}

async fn groups(State(alertmanager): State<Alertmanager>, params: Params) -> Result<Json<Value>, Error> {
    let filter = Filter::of(&params)?;
    let mut groups: BTreeMap<Labels, Vec<Value>> = BTreeMap::new();
    for (alert, muted) in alertmanager
        .active()
        .into_iter()
        .filter(|alert| filter.passes(alert))
    {
        let key = alert.labels.keep(|name| name == "alertname");
        groups.entry(key).or_default().push(wire::alert(&alert, &muted));
    }
    let group =
        |(labels, alerts)| json!({ "alerts": alerts, "labels": labels, "receiver": { "name": RECEIVER } });
    Ok(Json(groups.into_iter().map(group).collect()))
}

async fn list_silences(
    State(alertmanager): State<Alertmanager>,
    params: Params,
) -> Result<Json<Value>, Error> {
    let matchers = Matchers::parse(params.all("filter"))?;
    let now = alertmanager.clock.now();
    let state = alertmanager.lock();
    let asked = |silence: &&Silence| {
        let named = silence
            .wish
            .matchers
            .iter()
            .map(|matcher| (&matcher.name, &matcher.value));
        matchers.match_labels(&Labels::new(named))
    };
    let mut found: Vec<&Silence> = state.silences.all().filter(asked).collect();
    found.sort_by_key(|silence| (silence.state(now), silence.wish.ends_at));
    Ok(Json(
        found
            .into_iter()
            .map(|silence| wire::silence(silence, now))
            .collect(),
    ))
}

async fn post_silence(State(alertmanager): State<Alertmanager>, body: Bytes) -> Result<Json<Value>, Error> {
    let posted: PostedSilence = read(&body)?;
    let (id, wish) = posted.parts();
    let now = alertmanager.clock.now();
    let id = alertmanager.lock().silences.set(id, wish, now)?;
    Ok(Json(json!({ "silenceID": id })))
}

async fn get_silence(
    State(alertmanager): State<Alertmanager>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Error> {
    let now = alertmanager.clock.now();
    let state = alertmanager.lock();
    let found = state.silences.get(&id).map(|silence| wire::silence(silence, now));
    found.map(Json).ok_or(Error::UnknownSilence(id))
}

async fn delete_silence(
    State(alertmanager): State<Alertmanager>,
    Path(id): Path<String>,
) -> Result<StatusCode, Error> {
    let now = alertmanager.clock.now();
    alertmanager.lock().silences.expire(&id, now)?;
    Ok(StatusCode::OK)
}

const CONFIG: &str = "global:
  resolve_timeout: 5m
route:
  receiver: default
  group_by:
  - alertname
inhibit_rules:
- source_matchers:
  - severity=\"critical\"
  target_matchers:
  - severity=\"warning\"
  equal:
  - alertname
  - instance
receivers:
- name: default
";

async fn status(State(alertmanager): State<Alertmanager>) -> Json<Value> {
    Json(json!({
        "cluster": { "status": "disabled", "peers": [] },
        "config": { "original": CONFIG },
        "uptime": wire::time(alertmanager.started),
        "versionInfo": {
            "branch": "interlock-lab",
            "buildDate": "",
            "buildUser": "",
            "goVersion": "",
            "revision": "interlock-lab",
            "version": "0.28.1",
        },
    }))
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Invalid(format!("parsing body failed: {error}")))
}
