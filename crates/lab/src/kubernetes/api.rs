//! The API: which call goes where, and who may make it.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use http::{StatusCode, header};
use serde_json::{Value, json};

use super::build::next_generation;
use super::discovery;
use super::kind::Kind;
use super::patch::Patch;
use super::pods::delete_pod;
use super::select::Selector;
use super::status::Fault;
use super::store::{Store, count, text};
use super::table::table;
use super::watching::{self, Wanted};
use super::{Core, Role};
use crate::docker::wire::{self, Call};

const MOST_REPLICAS: u64 = 100;

type Answer = Result<Response, Fault>;

/// The API for everybody with a token, or for one role without.
pub(super) fn router(core: &Arc<Core>, role: Option<Role>) -> Router {
    Router::new()
        .fallback(answer)
        .with_state((Arc::clone(core), role))
}

async fn answer(State((core, role)): State<(Arc<Core>, Option<Role>)>, request: Request) -> Response {
    let answer = match Call::read(request).await {
        Ok(call) => dispatch(&core, role, &call),
        Err(_) => Err(Fault::bad("the request body is too large or broke off")),
    };
    answer.unwrap_or_else(|fault| fault.response())
}

/// One object, or all of a kind, or a part of one.
struct Target<'a> {
    kind: Kind,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    part: Option<&'a str>,
}

fn dispatch(core: &Arc<Core>, role: Option<Role>, call: &Call) -> Answer {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    if let ["healthz" | "readyz" | "livez", ..] = path.as_slice() {
        return Ok(wire::typed(StatusCode::OK, "text/plain; charset=utf-8", "ok"));
    }
    let role = role
        .or_else(|| signed_in(core, call))
        .ok_or_else(Fault::unauthorized)?;
    let found = match path.as_slice() {
        ["version"] => Some(discovery::version()),
        ["api"] => Some(discovery::core_versions("127.0.0.1")),
        ["apis"] => Some(discovery::groups()),
        ["api", "v1"] => discovery::resources(""),
        ["apis", group] => discovery::one_group(group),
        ["apis", group, "v1"] if !group.is_empty() => discovery::resources(group),
        _ => None,
    };
    if let Some(found) = found {
        return Ok(wire::json(StatusCode::OK, &found));
    }
    let (group, rest) = match path.as_slice() {
        ["api", "v1", rest @ ..] => ("", rest),
        ["apis", group, "v1", rest @ ..] => (*group, rest),
        _ => return Err(Fault::no_resource()),
    };
    let target = target(group, rest).ok_or_else(Fault::no_resource)?;
    let verb = match call.method.as_str() {
        "GET" => return read(core, &target, call),
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        "POST" => "create",
        _ => return Err(Fault::not_allowed()),
    };
    if role == Role::Viewer {
        let (space, name) = (
            target.namespace.unwrap_or_default(),
            target.name.unwrap_or_default(),
        );
        return Err(Fault::forbidden(verb, target.kind, space, name));
    }
    write(core, &target, verb, call)
}

fn signed_in(core: &Core, call: &Call) -> Option<Role> {
    let token = call
        .headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .ok()?
        .strip_prefix("Bearer ")?;
    match token.trim() {
        token if token == core.admin => Some(Role::Admin),
        token if token == core.viewer => Some(Role::Viewer),
        _ => None,
    }
}

fn target<'a>(group: &str, rest: &[&'a str]) -> Option<Target<'a>> {
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        all => (None, all),
    };
    let (plural, name, part) = match rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(*name), None),
        [plural, name, part] => (plural, Some(*name), Some(*part)),
        _ => return None,
    };
    let kind = Kind::find(group, plural)?;
    let fits = kind.namespaced() || namespace.is_none();
    let complete = !kind.namespaced() || namespace.is_some() || name.is_none();
    (fits && complete).then_some(Target {
        kind,
        namespace,
        name,
        part,
    })
}

fn get(store: &Store, target: &Target<'_>) -> Result<Value, Fault> {
    let name = target.name.unwrap_or_default();
    let found = store
        .get(target.kind, target.namespace.unwrap_or_default(), name)
        .cloned();
    found.ok_or_else(|| Fault::missing(target.kind, name))
}

fn wants_table(call: &Call) -> bool {
    let accepts = call
        .headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    accepts
        .split(',')
        .next()
        .is_some_and(|first| first.contains("as=Table"))
}

fn read(core: &Arc<Core>, target: &Target<'_>, call: &Call) -> Answer {
    let as_table = wants_table(call);
    if target.name.is_none() || call.flag("watch") {
        let mut selector = Selector::parse(call.get("labelSelector"), call.get("fieldSelector"))?;
        if let Some(name) = target.name {
            selector = Selector::parse(None, Some(&format!("metadata.name={name}")))?;
        }
        let namespace = target.namespace.map(str::to_owned);
        let wanted = Wanted {
            kind: target.kind,
            namespace,
            selector,
            as_table,
        };
        return if call.flag("watch") {
            watching::watch(core, wanted, call)
        } else {
            list(core, &wanted, call)
        };
    }
    let object = get(&core.store(), target)?;
    let shown = match target.part {
        None if as_table => table(target.kind, &[object], &json!({})),
        None | Some("status") => object,
        Some("scale") if target.kind.scales() => scale(&object),
        Some("log") if target.kind == Kind::Pod => return watching::logs(core, &object, call),
        Some(_) => return Err(Fault::no_resource()),
    };
    Ok(wire::json(StatusCode::OK, &shown))
}

fn list(core: &Core, wanted: &Wanted, call: &Call) -> Answer {
    let (mut objects, version) = {
        let store = core.store();
        (
            store.list(wanted.kind, wanted.namespace.as_deref()),
            store.version(),
        )
    };
    objects.retain(|object| wanted.takes(object));
    let mut metadata = json!({ "resourceVersion": version.to_string() });
    if let Some(token) = call.get("continue").filter(|token| !token.is_empty()) {
        let from = token
            .split_once('-')
            .and_then(|(_, from)| from.parse::<usize>().ok());
        let from = from.ok_or_else(|| Fault::bad("continue key is not valid"))?;
        objects.drain(..from.min(objects.len()));
        page(&mut objects, &mut metadata, version, from, call)?;
    } else {
        page(&mut objects, &mut metadata, version, 0, call)?;
    }
    let list = if wanted.as_table {
        table(wanted.kind, &objects, &metadata)
    } else {
        let kind = format!("{}List", wanted.kind.name());
        json!({ "kind": kind, "apiVersion": wanted.kind.api_version(), "metadata": metadata, "items": objects })
    };
    Ok(wire::json(StatusCode::OK, &list))
}

fn page(
    objects: &mut Vec<Value>,
    metadata: &mut Value,
    version: u64,
    from: usize,
    call: &Call,
) -> Result<(), Fault> {
    let Some(limit) = call.get("limit").filter(|text| !text.is_empty() && *text != "0") else {
        return Ok(());
    };
    let limit: usize = limit.parse().map_err(|_| Fault::bad("limit is no number"))?;
    if objects.len() > limit {
        metadata["continue"] = json!(format!("{version}-{}", from + limit));
        metadata["remainingItemCount"] = json!(objects.len() - limit);
        objects.truncate(limit);
    }
    Ok(())
}

fn scale(object: &Value) -> Value {
    let labels = object["spec"]["selector"]["matchLabels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let selector: Vec<String> = labels
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let from = &object["metadata"];
    json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": from["name"], "namespace": from["namespace"], "uid": from["uid"],
            "resourceVersion": from["resourceVersion"], "creationTimestamp": from["creationTimestamp"],
        },
        "spec": { "replicas": count(object, "/spec/replicas") },
        "status": { "replicas": count(object, "/status/replicas"), "selector": selector.join(",") },
    })
}

fn write(core: &Core, target: &Target<'_>, verb: &str, call: &Call) -> Answer {
    let mut store = core.store();
    let name = target.name.ok_or_else(Fault::not_allowed)?;
    let before = get(&store, target)?;
    match (verb, target.part) {
        ("delete", None) => return delete(&mut store, target.kind, before, call),
        ("create", Some("eviction")) if target.kind == Kind::Pod => {
            delete_pod(&mut store, before);
            let done = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
            return Ok(wire::json(StatusCode::CREATED, &done));
        }
        ("update" | "patch", None) if target.kind.changes() => {}
        ("update" | "patch", Some("scale")) if target.kind.scales() => {}
        _ => return Err(Fault::not_allowed()),
    }
    let scaling = target.part.is_some();
    let body: Value = call
        .json()
        .map_err(|error| Fault::bad(format!("the body is no JSON: {error}")))?;
    let from = if scaling { scale(&before) } else { before.clone() };
    let after = if verb == "patch" {
        let kind = call
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let patch = Patch::of(kind).ok_or_else(|| Fault::unsupported(kind))?;
        patch
            .apply(&from, &body)
            .map_err(|why| Fault::invalid(target.kind, name, &why))?
    } else {
        body
    };
    let version = text(&after, "/metadata/resourceVersion");
    if !version.is_empty() && version != text(&before, "/metadata/resourceVersion") {
        return Err(Fault::conflict(target.kind, name));
    }
    let object = changed(target.kind, name, &before, &after, scaling)?;
    let object = if call.get("dryRun") == Some("All") {
        object
    } else {
        store.put(target.kind, object)
    };
    Ok(wire::json(
        StatusCode::OK,
        &if scaling { scale(&object) } else { object },
    ))
}

/// The object as it was with what may be changed of it.
fn changed(kind: Kind, name: &str, before: &Value, after: &Value, scaling: bool) -> Result<Value, Fault> {
    let mut object = before.clone();
    let replicas = &after["spec"]["replicas"];
    let valid = replicas.as_u64().is_some_and(|number| number <= MOST_REPLICAS);
    if (scaling || (kind.scales() && !replicas.is_null())) && !valid {
        let why = format!("spec.replicas: Invalid value: {replicas}: must be between 0 and {MOST_REPLICAS}");
        return Err(Fault::invalid(kind, name, &why));
    }
    if scaling {
        object["spec"]["replicas"] = replicas.clone();
    } else {
        check(kind, name, before, after)?;
        object["spec"] = after["spec"].clone();
        for field in ["labels", "annotations"] {
            if after["metadata"][field].is_object() {
                object["metadata"][field] = after["metadata"][field].clone();
            }
        }
    }
    if object["spec"] != before["spec"] && !object["metadata"]["generation"].is_null() {
        next_generation(&mut object);
    }
    Ok(object)
}

fn check(kind: Kind, name: &str, before: &Value, after: &Value) -> Result<(), Fault> {
    let invalid = |why: &str| Err(Fault::invalid(kind, name, why));
    if !after["spec"].is_object() {
        return invalid("spec: Required value");
    }
    for fixed in [
        "/metadata/name",
        "/metadata/namespace",
        "/spec/selector",
        "/spec/nodeName",
    ] {
        if after
            .pointer(fixed)
            .is_some_and(|value| Some(value) != before.pointer(fixed))
        {
            return invalid(&format!(
                "{}: field is immutable",
                fixed.trim_start_matches('/').replace('/', ".")
            ));
        }
    }
    if kind == Kind::Node {
        return Ok(());
    }
    let spec = if kind == Kind::Pod {
        &after["spec"]
    } else {
        &after["spec"]["template"]["spec"]
    };
    let containers = spec["containers"].as_array();
    let complete = |one: &Value| !text(one, "/image").is_empty() && !text(one, "/name").is_empty();
    if !containers.is_some_and(|list| !list.is_empty() && list.len() <= 20 && list.iter().all(complete)) {
        return invalid("spec.template.spec.containers: Required value: each needs a name and an image");
    }
    let wanted = before["spec"]["selector"]["matchLabels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let labels = &after["spec"]["template"]["metadata"]["labels"];
    if kind != Kind::Pod && wanted.iter().any(|(key, value)| labels.get(key) != Some(value)) {
        return invalid(
            "spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`",
        );
    }
    Ok(())
}

fn delete(store: &mut Store, kind: Kind, object: Value, call: &Call) -> Answer {
    if !kind.changes() || kind == Kind::Node {
        return Err(Fault::not_allowed());
    }
    let options: Value = call.json().unwrap_or_default();
    let at_once = options["gracePeriodSeconds"] == json!(0) || call.get("gracePeriodSeconds") == Some("0");
    if kind == Kind::Pod && !at_once {
        return Ok(wire::json(StatusCode::OK, &delete_pod(store, object)));
    }
    let (space, name) = (
        text(&object, "/metadata/namespace"),
        text(&object, "/metadata/name"),
    );
    store.remove(kind, &space, &name);
    let done = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": { "name": name, "kind": kind.plural(), "group": kind.group(), "uid": object["metadata"]["uid"] },
    });
    Ok(wire::json(StatusCode::OK, &done))
}
