//! The Engine API: which call goes where, and how errors look.

mod containers;
mod create;
mod exec;
mod images;
mod inspect;
mod logs;
mod stats;
mod system;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

use crate::docker::Error;
use crate::docker::core::Core;
use crate::docker::wire::{self, Call};

/// The newest version of the API that is spoken.
const API_VERSION: &str = "1.47";
const OLDEST_API_VERSION: &str = "1.24";
const ENGINE_VERSION: &str = "27.3.1";

/// An answer other than the one that was hoped for.
#[derive(Debug)]
struct Fault {
    status: StatusCode,
    message: String,
}

impl Fault {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::NoContainer(_) | Error::NoImage(_) => StatusCode::NOT_FOUND,
            Error::Conflict(_) => StatusCode::CONFLICT,
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::Io { .. } | Error::Machine(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

type Answer = Result<Response, Fault>;

pub(super) fn router(core: &Arc<Core>) -> Router {
    Router::new().fallback(answer).with_state(Arc::clone(core))
}

async fn answer(State(core): State<Arc<Core>>, request: Request) -> Response {
    let answer = match Call::read(request).await {
        Ok(call) => dispatch(&core, call).await,
        Err(_) => Err(Fault::bad("the request body is too large or broke off")),
    };
    let mut response =
        answer.unwrap_or_else(|fault| wire::json(fault.status, &json!({ "message": fault.message })));
    let headers = response.headers_mut();
    headers.insert("Api-Version", HeaderValue::from_static(API_VERSION));
    headers.insert("Ostype", HeaderValue::from_static("linux"));
    headers.insert("Docker-Experimental", HeaderValue::from_static("false"));
    headers.insert("Server", HeaderValue::from_static("Docker/27.3.1 (linux)"));
    response
}

async fn dispatch(core: &Arc<Core>, mut call: Call) -> Answer {
    strip_version(&mut call)?;
    let path = std::mem::take(&mut call.path);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (call.method.as_str(), path.as_slice()) {
        ("GET" | "HEAD", ["_ping"]) => Ok(system::ping()),
        ("GET", ["version"]) => ok(&system::version()),
        ("GET", ["info"]) => ok(&system::info(core)),
        ("GET", ["events"]) => system::events(core, &call),
        ("GET", ["system", "df"]) => ok(&system::usage(core)),
        ("GET", ["volumes"]) => ok(&system::volumes(core)),
        ("GET", ["networks"]) => ok(&system::networks(core)),
        ("GET", ["networks", id]) => system::network(core, id),
        ("GET", ["containers", "json"]) => containers::list(core, &call),
        ("POST", ["containers", "create"]) => create::create(core, &call),
        (method, ["containers", id]) => containers::whole(core, method, id, &call).await,
        (method, ["containers", id, what]) => container(core, method, id, what, &call).await,
        ("GET", ["exec", id, "json"]) => exec::inspect(core, id),
        ("POST", ["exec", id, "start"]) => exec::start(core, id, call).await,
        ("POST", ["exec", _, "resize"]) => Ok(wire::empty(StatusCode::OK)),
        ("GET", ["images", "json"]) => images::list(core, &call),
        ("POST", ["images", "create"]) => images::pull(core, &call),
        ("GET", ["images", name @ .., "json"]) if !name.is_empty() => images::inspect(core, &name.join("/")),
        ("GET", ["distribution", name @ .., "json"]) if !name.is_empty() => {
            images::distribution(core, &name.join("/"))
        }
        ("DELETE", ["images", name @ ..]) if !name.is_empty() => images::remove(core, &name.join("/"), &call),
        (
            _,
            [
                "services" | "tasks" | "nodes" | "swarm" | "secrets" | "configs",
                ..,
            ],
        ) => Err(Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "This node is not a swarm manager. Use \"docker swarm init\" or \"docker swarm join\" to connect this node to swarm and try again.",
        )),
        _ => Err(Fault::new(StatusCode::NOT_FOUND, "page not found")),
    }
}

async fn container(core: &Arc<Core>, method: &str, id: &str, what: &str, call: &Call) -> Answer {
    match (method, what) {
        ("GET", "json") => ok(&inspect::container(core, id)?),
        ("GET", "logs") => logs::logs(core, id, call),
        ("GET", "top") => containers::top(core, id, call).await,
        ("GET", "stats") => stats::stats(core, id, call),
        ("GET", "changes") => core.find(id).map_err(Fault::from).and_then(|_| ok(&json!([]))),
        ("POST", "start" | "stop" | "restart" | "kill" | "rename" | "update") => {
            containers::control(core, id, what, call).await
        }
        ("POST", "pause" | "unpause") => {
            core.find(id)?;
            let message = format!("cannot {what} container {id}: the cgroup freezer is not available");
            Err(Fault::new(StatusCode::INTERNAL_SERVER_ERROR, message))
        }
        ("POST", "wait") => containers::wait(core, id, call),
        ("POST", "resize") => Ok(wire::empty(StatusCode::OK)),
        ("POST", "exec") => exec::create(core, id, call),
        _ => Err(Fault::new(StatusCode::NOT_FOUND, "page not found")),
    }
}

/// Takes `/v1.43` off, if it is a version that is spoken.
fn strip_version(call: &mut Call) -> Result<(), Fault> {
    let Some((major, minor)) = call
        .path
        .first()
        .and_then(|first| first.strip_prefix('v'))
        .and_then(|text| text.split_once('.'))
    else {
        return Ok(());
    };
    let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else {
        return Ok(());
    };
    if (major, minor) > (1, 47) {
        return Err(Fault::bad(format!(
            "client version {major}.{minor} is too new. Maximum supported API version is {API_VERSION}"
        )));
    }
    if (major, minor) < (1, 24) {
        return Err(Fault::bad(format!(
            "client version {major}.{minor} is too old. Minimum supported API version is {OLDEST_API_VERSION}, please upgrade your client to a newer version"
        )));
    }
    call.path.remove(0);
    Ok(())
}

#[expect(clippy::unnecessary_wraps, reason = "reads well in the table of calls")]
fn ok(value: &Value) -> Answer {
    Ok(wire::json(StatusCode::OK, value))
}

/// Filters as clients send them: `{"status":["running"]}`, or the older `{"status":{"running":true}}`.
fn filters(call: &Call) -> Result<Vec<(String, Vec<String>)>, Fault> {
    let Some(text) = call.get("filters").filter(|text| !text.is_empty()) else {
        return Ok(Vec::new());
    };
    let invalid = || Fault::bad("invalid filter");
    let parsed: Value = serde_json::from_str(text).map_err(|_| invalid())?;
    let fields = parsed.as_object().ok_or_else(invalid)?;
    let mut filters = Vec::new();
    for (name, values) in fields {
        let values = match values {
            Value::Array(values) => values
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            Value::Object(values) => values.keys().cloned().collect(),
            _ => return Err(invalid()),
        };
        filters.push((name.clone(), values));
    }
    Ok(filters)
}

/// Whether labels have `key` or `key=value`.
fn labelled(labels: &std::collections::BTreeMap<String, String>, wanted: &str) -> bool {
    match wanted.split_once('=') {
        Some((key, value)) => labels.get(key).is_some_and(|found| found == value),
        None => labels.contains_key(wanted),
    }
}

/// A time as clients send it: seconds with a fraction, or RFC 3339.
fn moment(text: &str) -> Option<jiff::Timestamp> {
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    jiff::Timestamp::new(seconds.parse().ok()?, digits.parse().ok()?).ok()
}
