//! The API: which call goes where, and who may make it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use hyper::ext::ReasonPhrase;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::queue::{Message, Queue};
use super::{Core, Role, node, statistics};
use crate::docker::wire::{self, Call};

/// An answer other than the one that was hoped for; its message is in the status line, as in the real one.
#[derive(Debug)]
pub(super) struct Fault {
    status: StatusCode,
    message: String,
    errors: Map<String, Value>,
}

impl Fault {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: Map::new(),
        }
    }

    pub(super) fn parameter(name: &str, why: &str) -> Self {
        let errors = Map::from_iter([(name.to_owned(), json!(why))]);
        Self {
            errors,
            ..Self::new(StatusCode::BAD_REQUEST, "Parameter verification failed.")
        }
    }

    fn response(self) -> Response {
        let mut body = json!({ "data": null });
        if !self.errors.is_empty() {
            body["errors"] = Value::Object(self.errors);
        }
        let mut response = wire::json(self.status, &body);
        let line: String = self
            .message
            .chars()
            .filter(|letter| !letter.is_control())
            .take(200)
            .collect();
        if let Ok(reason) = ReasonPhrase::try_from(line.into_bytes()) {
            response.extensions_mut().insert(reason);
        }
        response
    }
}

/// What is in the envelope.
struct Found {
    data: Value,
    total: Option<i64>,
}

impl From<Value> for Found {
    fn from(data: Value) -> Self {
        Self { data, total: None }
    }
}

type Answer = Result<Found, Fault>;

pub(super) fn router(core: &Arc<Core>) -> Router {
    Router::new().fallback(answer).with_state(Arc::clone(core))
}

async fn answer(State(core): State<Arc<Core>>, request: Request) -> Response {
    let answer = match Call::read(request).await {
        Ok(call) => dispatch(&core, &call),
        Err(_) => Err(Fault::new(
            StatusCode::BAD_REQUEST,
            "the request body is too large or broke off",
        )),
    };
    match answer {
        Ok(Found { data, total }) => {
            let mut body = json!({ "data": data });
            if let Some(total) = total {
                body["total"] = json!(total);
            }
            wire::typed(StatusCode::OK, "application/json;charset=UTF-8", body.to_string())
        }
        Err(fault) => fault.response(),
    }
}

/// A parameter that is a number.
pub(super) fn number(call: &Call, name: &str) -> Result<Option<i64>, Fault> {
    let wrong = |_| Fault::parameter(name, "type check ('integer') failed");
    // No time that makes sense is further away than this.
    let near = |value: i64| value.clamp(-1_000_000_000_000, 1_000_000_000_000);
    call.get(name)
        .map(|text| text.parse().map(near).map_err(wrong))
        .transpose()
}

fn dispatch(core: &Core, call: &Call) -> Answer {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    let missing = || {
        let message = format!("Method '{} /{}' not implemented", call.method, path.join("/"));
        Fault::new(StatusCode::NOT_IMPLEMENTED, message)
    };
    let ["api2", "json" | "extjs", path @ ..] = path.as_slice() else {
        return Err(missing());
    };
    if (call.method.as_str(), path) == ("POST", &["access", "ticket"]) {
        return sign_in(core, call);
    }
    let denied = |why: &str| Fault::new(StatusCode::UNAUTHORIZED, why);
    let role = core
        .keys
        .caller(&call.headers)
        .ok_or_else(|| denied("authentication failure"))?;
    if call.method == "GET" {
        return read(core, path, call)?.ok_or_else(missing);
    }
    if !core.keys.allows_write(&call.headers, role) {
        return Err(denied("Permission denied - invalid csrf token"));
    }
    if role == Role::Auditor {
        return Err(Fault::new(StatusCode::FORBIDDEN, "Permission check failed"));
    }
    write(core, call.method.as_str(), path, call)?.ok_or_else(missing)
}

fn sign_in(core: &Core, call: &Call) -> Answer {
    let fields = call.fields();
    let field = |name: &str| {
        fields
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let given = field("username").zip(field("password"));
    let (user, password) =
        given.ok_or_else(|| Fault::parameter("password", "property is missing and it is not optional"))?;
    let user = match field("realm") {
        Some(realm) if !user.contains('@') => format!("{user}@{realm}"),
        _ => user.to_owned(),
    };
    let failed = || Fault::new(StatusCode::UNAUTHORIZED, "authentication failure");
    let role = core.keys.sign_in(&user, password).ok_or_else(failed)?;
    let name = match role {
        Role::Root => "root",
        Role::Auditor => "audit",
    };
    Ok(json!({
        "ticket": core.keys.ticket(role),
        "CSRFPreventionToken": core.keys.csrf_token(role),
        "username": role.user(),
        "role": name,
    })
    .into())
}

fn read(core: &Core, path: &[&str], call: &Call) -> Result<Option<Found>, Fault> {
    let data = match path {
        ["version"] => json!({ "release": "8.1", "repoid": "8ff4cdbbb2d4", "version": "8.1.4" }),
        ["nodes"] => json!([{ "node": core.node }]),
        ["statistics", what] => return Ok(statistics::statistics(what, call)?.map(Found::from)),
        ["quarantine", what] => return Ok(statistics::quarantine(what, call)?.map(Found::from)),
        ["nodes", node, rest @ ..] => {
            check_node(core, node)?;
            return read_node(core, rest, call);
        }
        _ => return Ok(None),
    };
    Ok(Some(data.into()))
}

fn check_node(core: &Core, node: &str) -> Result<(), Fault> {
    if node == core.node || node == "localhost" {
        return Ok(());
    }
    Err(Fault::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("no such cluster node '{node}'"),
    ))
}

fn read_node(core: &Core, path: &[&str], call: &Call) -> Result<Option<Found>, Fault> {
    let data = match path {
        ["status"] => node::status(core),
        ["services"] => core.services().list(),
        ["services", name, "state"] => core.services().state(name).ok_or_else(|| no_service(name))?,
        ["tracker"] => node::tracker(core, call)?,
        ["syslog"] => {
            let (data, total) = node::syslog(core, call)?;
            return Ok(Some(Found {
                data,
                total: Some(total),
            }));
        }
        ["postfix", "qshape"] => {
            let names = call.get("queues").unwrap_or("incoming,active,deferred,hold");
            let queues: Vec<Queue> = names
                .split([',', ' ', ';'])
                .filter(|name| !name.is_empty())
                .map(queue)
                .collect::<Result<_, _>>()?;
            core.queues().shape(&queues, Timestamp::now()).into()
        }
        ["postfix", "queue", name] => return mailq(core, queue(name)?, call).map(Some),
        ["postfix", "queue", name, id] => {
            let queue = queue(name)?;
            let queues = core.queues();
            let found = queues
                .list(queue)
                .find(|message| message.id == *id)
                .ok_or_else(|| no_message(id))?;
            json!(format!(
                "Return-Path: <{}>\nTo: <{}>\nSubject: (waiting)\n",
                found.sender, found.receiver
            ))
        }
        _ => return Ok(None),
    };
    Ok(Some(data.into()))
}

fn queue(name: &str) -> Result<Queue, Fault> {
    let wrong = || {
        Fault::parameter(
            "queue",
            &format!(
                "value '{name}' does not have a value in the enumeration 'deferred, active, incoming, hold'"
            ),
        )
    };
    Queue::parse(name).ok_or_else(wrong)
}

fn no_service(name: &str) -> Fault {
    Fault::parameter(
        "service",
        &format!("value '{name}' does not have a value in the enumeration"),
    )
}

fn no_message(id: &str) -> Fault {
    Fault::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("no such message '{id}'"),
    )
}

fn mailq(core: &Core, queue: Queue, call: &Call) -> Answer {
    let start = usize::try_from(number(call, "start")?.unwrap_or(0)).unwrap_or(0);
    let limit = usize::try_from(number(call, "limit")?.unwrap_or(1000))
        .unwrap_or(0)
        .min(5000);
    let filter = call.get("filter").unwrap_or_default();
    let descending = call
        .get("sortdir")
        .is_none_or(|text| text.eq_ignore_ascii_case("desc"));
    let queues = core.queues();
    let fits = |message: &&Message| message.sender.contains(filter) || message.receiver.contains(filter);
    let mut found: Vec<&Message> = queues.list(queue).filter(fits).collect();
    match call.get("sortfield").unwrap_or("arrival_time") {
        "message_size" => found.sort_by_key(|message| message.size),
        "sender" => found.sort_by(|one, other| one.sender.cmp(&other.sender)),
        "receiver" => found.sort_by(|one, other| one.receiver.cmp(&other.receiver)),
        _ => found.sort_by_key(|message| message.arrived),
    }
    if descending {
        found.reverse();
    }
    let total = i64::try_from(found.len()).unwrap_or(i64::MAX);
    let data = found
        .into_iter()
        .skip(start)
        .take(limit)
        .map(Message::json)
        .collect();
    Ok(Found {
        data,
        total: Some(total),
    })
}

fn write(core: &Core, method: &str, path: &[&str], call: &Call) -> Result<Option<Found>, Fault> {
    let ["nodes", node, path @ ..] = path else {
        return Ok(None);
    };
    check_node(core, node)?;
    match (method, path) {
        ("POST", ["postfix", "flush_queues"]) => {
            core.queues().deliver(|_| true);
        }
        ("POST", ["postfix", "discard_verify_cache"]) => {}
        ("POST", ["postfix", "queue", name]) => chosen(core, queue(name)?, call)?,
        ("POST", ["postfix", "queue", name, id]) => one(core, queue(name)?, id, Act::Deliver)?,
        ("DELETE", ["postfix", "queue"]) => core.queues().clear(),
        ("DELETE", ["postfix", "queue", name]) => {
            let queue = queue(name)?;
            let ids: Vec<String> = core
                .queues()
                .list(queue)
                .map(|message| message.id.clone())
                .collect();
            core.queues().delete(|message| ids.contains(&message.id));
        }
        ("DELETE", ["postfix", "queue", name, id]) => one(core, queue(name)?, id, Act::Delete)?,
        ("POST", ["services", name, what @ ("start" | "stop" | "restart" | "reload")]) => {
            if !core.services().set(name, *what != "stop") {
                return Err(no_service(name));
            }
            let now = Timestamp::now().as_second();
            let upid = format!(
                "UPID:{}:00000A2F:0001C3D4:{now:08X}:srv{what}:{name}:root@pam:",
                core.node
            );
            return Ok(Some(json!(upid).into()));
        }
        _ => return Ok(None),
    }
    Ok(Some(Value::Null.into()))
}

/// What is done to a message.
#[derive(Clone, Copy)]
enum Act {
    Deliver,
    Delete,
}

fn one(core: &Core, queue: Queue, id: &str, act: Act) -> Result<(), Fault> {
    let mut queues = core.queues();
    if !queues.has(queue, id) {
        return Err(no_message(id));
    }
    match act {
        Act::Deliver => queues.deliver(|message| message.id == id),
        Act::Delete => queues.delete(|message| message.id == id),
    };
    Ok(())
}

/// `action` on each of `ids`.
fn chosen(core: &Core, queue: Queue, call: &Call) -> Result<(), Fault> {
    let fields = call.fields();
    let field = |name: &str| {
        fields
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let act = match field("action") {
        Some("deliver") => Act::Deliver,
        Some("delete") => Act::Delete,
        _ => return Err(Fault::parameter("action", "value must be 'deliver' or 'delete'")),
    };
    let ids =
        field("ids").ok_or_else(|| Fault::parameter("ids", "property is missing and it is not optional"))?;
    for id in ids.split([',', ';', ' ']).filter(|id| !id.is_empty()) {
        one(core, queue, id, act)?;
    }
    Ok(())
}
