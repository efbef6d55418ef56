//! Containers: the list of them, and what can be done to one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Fault, filters, labelled, ok};
use crate::docker::ContainerState;
use crate::docker::api::create::RestartBody;
use crate::docker::container::Container;
use crate::docker::core::Core;
use crate::docker::image::find;
use crate::docker::lifecycle::{Done, GRACE};
use crate::docker::wire::{self, Call};
use crate::machine::Exec;

pub(super) fn list(core: &Arc<Core>, call: &Call) -> Answer {
    let filters = filters(call)?;
    let limit = call
        .get("limit")
        .and_then(|text| text.parse::<usize>().ok())
        .filter(|limit| *limit > 0);
    let all = call.flag("all") || limit.is_some() || filters.iter().any(|(name, _)| name == "status");
    let state = core.state();
    let mut found: Vec<&Container> = Vec::new();
    for container in state.containers.values().filter(|one| all || one.active()) {
        let mut fits = true;
        for (name, values) in &filters {
            fits &= matches(&state.images, container, name, values)?;
        }
        if fits {
            found.push(container);
        }
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.created));
    found.truncate(limit.unwrap_or(usize::MAX));
    let list: Vec<Value> = found.into_iter().map(summary).collect();
    drop(state);
    ok(&Value::Array(list))
}

fn matches(
    images: &[crate::docker::ImageSpec],
    container: &Container,
    name: &str,
    values: &[String],
) -> Result<bool, Fault> {
    let health = container
        .health
        .map_or("none", crate::docker::container::Health::as_str);
    let is = |value: &String| match name {
        "status" => container.state.as_str() == value,
        "name" => container
            .name
            .contains(value.trim_start_matches('/').trim_matches(['^', '$'])),
        "id" => container.id.starts_with(value.as_str()),
        "label" => labelled(&container.settings.labels, value),
        "health" => health == value,
        "exited" => container.state == ContainerState::Exited && container.exit_code.to_string() == *value,
        "ancestor" => find(images, value).is_some_and(|image| image.id == container.image_id),
        "volume" => container
            .settings
            .volumes
            .iter()
            .any(|(source, at)| source == value || at == value),
        "network" => value == "bridge",
        _ => false,
    };
    match name {
        "label" => Ok(values.iter().all(is)),
        "status" | "name" | "id" | "health" | "exited" | "ancestor" | "volume" | "network" => {
            Ok(values.is_empty() || values.iter().any(is))
        }
        _ => Err(Fault::bad(format!("invalid filter '{name}'"))),
    }
}

fn summary(container: &Container) -> Value {
    json!({
        "Id": container.id,
        "Names": [format!("/{}", container.name)],
        "Image": container.image,
        "ImageID": container.image_id,
        "Command": container.settings.argv.join(" "),
        "Created": container.created.as_second(),
        "Ports": ports(container),
        "Labels": container.settings.labels,
        "State": container.state.as_str(),
        "Status": container.status(),
        "HostConfig": { "NetworkMode": "bridge" },
        "NetworkSettings": { "Networks": { "bridge": super::inspect::endpoint(container) } },
        "Mounts": super::inspect::mounts(container),
    })
}

fn ports(container: &Container) -> Value {
    let running = container.state == ContainerState::Running;
    let list = container
        .settings
        .ports
        .iter()
        .map(|port| match port.host.filter(|_| running) {
            Some(host) => {
                json!({ "IP": "0.0.0.0", "PrivatePort": port.container, "PublicPort": host, "Type": "tcp" })
            }
            None => json!({ "PrivatePort": port.container, "Type": "tcp" }),
        });
    list.collect()
}

/// Calls to `/containers/{id}` itself.
pub(super) async fn whole(core: &Arc<Core>, method: &str, id: &str, call: &Call) -> Answer {
    match (method, id) {
        ("DELETE", _) => {
            core.remove(id, call.flag("force")).await?;
            Ok(wire::empty(StatusCode::NO_CONTENT))
        }
        ("POST", "prune") => prune(core).await,
        _ => Err(Fault::new(StatusCode::NOT_FOUND, "page not found")),
    }
}

async fn prune(core: &Arc<Core>) -> Answer {
    let idle: Vec<String> = core
        .state()
        .containers
        .values()
        .filter(|one| !one.active())
        .map(|one| one.id.clone())
        .collect();
    for id in &idle {
        core.remove(id, false).await?;
    }
    ok(&json!({ "ContainersDeleted": idle, "SpaceReclaimed": 0 }))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Update {
    restart_policy: Option<RestartBody>,
}

pub(super) async fn control(core: &Arc<Core>, id: &str, what: &str, call: &Call) -> Answer {
    let grace = match call.get("t").map(str::parse::<i64>) {
        None => GRACE,
        Some(Ok(seconds)) => Duration::from_secs(u64::try_from(seconds).unwrap_or(3600).min(3600)),
        Some(Err(_)) => return Err(Fault::bad("invalid value for parameter t")),
    };
    match what {
        "start" => return core.start(id).await.map(changed).map_err(Fault::from),
        "stop" => return core.stop(id, grace).await.map(changed).map_err(Fault::from),
        "restart" => core.restart(id, grace).await?,
        "kill" => {
            let signal = call.get("signal").filter(|text| !text.is_empty());
            core.kill(id, signal.unwrap_or("KILL")).await?;
        }
        "rename" => core.rename(id, call.get("name").unwrap_or_default())?,
        _ => return update(core, id, call),
    }
    Ok(wire::empty(StatusCode::NO_CONTENT))
}

fn changed(done: Done) -> Response {
    wire::empty(match done {
        Done::Changed => StatusCode::NO_CONTENT,
        Done::AlreadySo => StatusCode::NOT_MODIFIED,
    })
}

fn update(core: &Arc<Core>, id: &str, call: &Call) -> Answer {
    let container = core.find(id)?;
    let update: Update = call.json().map_err(|error| Fault::bad(error.to_string()))?;
    if let Some(body) = update.restart_policy {
        let policy = body.policy()?;
        core.change(&container.id, |one| {
            one.settings.restart = policy;
            one.asked.restart = policy;
        });
        core.tell(&container, "update");
    }
    ok(&json!({ "Warnings": null }))
}

/// Answers when the container is in the state that is waited for; the header comes at once.
pub(super) fn wait(core: &Arc<Core>, id: &str, call: &Call) -> Answer {
    let container = core.find(id)?;
    let removed = call.get("condition") == Some("removed");
    let next = call.get("condition") == Some("next-exit");
    let core = Arc::clone(core);
    let body = stream::once(async move {
        let mut changed = container.changed.subscribe();
        if next {
            let _ = changed.wait_for(|state| *state == ContainerState::Running).await;
        }
        let _ = changed
            .wait_for(|state| matches!(state, ContainerState::Exited | ContainerState::Created))
            .await;
        let exit_code = core
            .find(&container.id)
            .map_or(container.exit_code, |one| one.exit_code);
        drop(container);
        if removed {
            // Its last sender goes away with it.
            while changed.changed().await.is_ok() {}
        }
        let text = json!({ "StatusCode": exit_code, "Error": null }).to_string();
        Ok::<_, std::convert::Infallible>(Bytes::from(text + "\n"))
    });
    Ok(wire::typed(
        StatusCode::OK,
        "application/json",
        Body::from_stream(body),
    ))
}

pub(super) async fn top(core: &Arc<Core>, id: &str, call: &Call) -> Answer {
    let container = core.find(id)?;
    let Some(machine) = container
        .machine
        .filter(|_| container.state == ContainerState::Running)
    else {
        let message = format!("container {} is not running", container.id);
        return Err(Fault::new(StatusCode::CONFLICT, message));
    };
    let wanted = call
        .get("ps_args")
        .filter(|text| !text.is_empty())
        .unwrap_or("-ef");
    let argv = std::iter::once("ps")
        .chain(wanted.split_whitespace())
        .map(str::to_owned)
        .collect();
    let exec = Exec {
        argv,
        env: BTreeMap::new(),
        timeout: Some(GRACE),
        ..Exec::default()
    };
    let finished = machine.exec(exec).await.map_err(crate::docker::Error::from)?;
    let text = String::from_utf8_lossy(&finished.stdout);
    let mut lines = text.lines();
    let titles: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    if finished.code != 0 || titles.is_empty() {
        let why = String::from_utf8_lossy(&finished.stderr).trim().to_owned();
        return Err(Fault::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            format!("Error running ps: {why}"),
        ));
    }
    let rows: Vec<Vec<String>> = lines.map(|line| columns(line, titles.len())).collect();
    ok(&json!({ "Titles": titles, "Processes": rows }))
}

/// So many columns; the last one takes the rest of the line.
fn columns(line: &str, count: usize) -> Vec<String> {
    let mut rest = line.trim();
    let mut row = Vec::new();
    while row.len() + 1 < count {
        let Some((first, more)) = rest.split_once(char::is_whitespace) else {
            break;
        };
        row.push(first.to_owned());
        rest = more.trim_start();
    }
    row.push(rest.to_owned());
    row
}
