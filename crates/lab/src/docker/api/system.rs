//! The host: what it is, what happened on it, its networks and volumes.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderValue, StatusCode};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{API_VERSION, Answer, ENGINE_VERSION, Fault, OLDEST_API_VERSION, filters, labelled, moment};
use crate::docker::ContainerState;
use crate::docker::core::Core;
use crate::docker::event::Event;
use crate::docker::wire::{self, Call};

pub(super) const BRIDGE_ID: &str = "7d86d31b1478e7cca9ebed7e73aa0fdeec46c5ca29497431d3007d2d9e15ed99";

pub(super) fn ping() -> Response {
    let mut response = wire::typed(StatusCode::OK, "text/plain; charset=utf-8", "OK");
    let headers = response.headers_mut();
    headers.insert(
        "Cache-Control",
        HeaderValue::from_static("no-cache, no-store, must-revalidate"),
    );
    headers.insert("Builder-Version", HeaderValue::from_static("2"));
    headers.insert("Swarm", HeaderValue::from_static("inactive"));
    response
}

pub(super) fn version() -> Value {
    json!({
        "Platform": { "Name": "Docker Engine - Community" },
        "Components": [
            { "Name": "Engine", "Version": ENGINE_VERSION, "Details": {
                "ApiVersion": API_VERSION, "MinAPIVersion": OLDEST_API_VERSION, "Os": "linux", "Arch": "amd64",
                "GitCommit": "41ca978", "GoVersion": "go1.22.7", "KernelVersion": "6.8.12",
                "BuildTime": "2024-09-20T11:41:11.000000000+00:00", "Experimental": "false" } },
            { "Name": "containerd", "Version": "1.7.22", "Details": { "GitCommit": "7f7fdf5" } },
            { "Name": "runc", "Version": "1.1.14", "Details": { "GitCommit": "v1.1.14-0-g2c9f560" } },
        ],
        "Version": ENGINE_VERSION,
        "ApiVersion": API_VERSION,
        "MinAPIVersion": OLDEST_API_VERSION,
        "GitCommit": "41ca978",
        "GoVersion": "go1.22.7",
        "Os": "linux",
        "Arch": "amd64",
        "KernelVersion": "6.8.12",
        "BuildTime": "2024-09-20T11:41:11.000000000+00:00",
    })
}

pub(super) fn info(core: &Arc<Core>) -> Value {
    let state = core.state();
    let count = |wanted: fn(ContainerState) -> bool| {
        state.containers.values().filter(|one| wanted(one.state)).count()
    };
    let running = count(|state| matches!(state, ContainerState::Running | ContainerState::Restarting));
    json!({
        "ID": core.name,
        "Name": core.name,
        "Containers": state.containers.len(),
        "ContainersRunning": running,
        "ContainersPaused": 0,
        "ContainersStopped": state.containers.len() - running,
        "Images": state.images.len(),
        "Driver": "overlay2",
        "DriverStatus": [["Backing Filesystem", "extfs"]],
        "Plugins": { "Volume": ["local"], "Network": ["bridge", "host", "null"], "Authorization": null, "Log": ["json-file"] },
        "MemoryLimit": true,
        "SwapLimit": true,
        "NFd": 40,
        "NGoroutines": 60,
        "SystemTime": Timestamp::now().to_string(),
        "LoggingDriver": "json-file",
        "CgroupDriver": "systemd",
        "CgroupVersion": "2",
        "KernelVersion": "6.8.12",
        "OperatingSystem": "Debian GNU/Linux 12 (bookworm)",
        "OSVersion": "12",
        "OSType": "linux",
        "Architecture": "x86_64",
        "IndexServerAddress": "https://index.docker.io/v1/",
        "NCPU": 4,
        "MemTotal": 8_u64 << 30,
        "DockerRootDir": "/var/lib/docker",
        "Labels": [],
        "ServerVersion": ENGINE_VERSION,
        "Runtimes": { "runc": { "path": "runc" } },
        "DefaultRuntime": "runc",
        "Swarm": { "NodeID": "", "NodeAddr": "", "LocalNodeState": "inactive", "ControlAvailable": false, "Error": "", "RemoteManagers": null },
        "LiveRestoreEnabled": false,
        "Isolation": "",
        "InitBinary": "docker-init",
        "SecurityOptions": ["name=seccomp,profile=builtin"],
        "Warnings": null,
    })
}

/// What the past and the present give, as a stream of JSON lines; it ends at `until`, if there is one.
pub(super) fn events(core: &Arc<Core>, call: &Call) -> Answer {
    let time = |key: &str| match call.get(key).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some(text) => moment(text)
            .map(Some)
            .ok_or_else(|| Fault::bad(format!("invalid {key}: {text}"))),
    };
    let (since, until) = (time("since")?, time("until")?);
    let filters = filters(call)?;
    let (past, news) = core.events.listen();
    let old = past
        .into_iter()
        .filter(move |event| since.is_some_and(|since| event.at >= since));
    let left = until.map(|until| std::time::Duration::try_from(until.duration_since(Timestamp::now())));
    let end = async move {
        match left {
            None => std::future::pending().await,
            Some(left) => tokio::time::sleep(left.unwrap_or_default()).await,
        }
    };
    let new = stream::unfold(news, |mut news| async move {
        loop {
            match news.recv().await {
                Ok(event) => return Some((event, news)),
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return None,
            }
        }
    });
    let alive = core.alive.clone();
    let lines = stream::iter(old)
        .chain(
            new.take_until(Box::pin(end))
                .take_until(Box::pin(alive.cancelled_owned())),
        )
        .filter(move |event| {
            let fits = until.is_none_or(|until| event.at <= until) && fits(event, &filters);
            std::future::ready(fits)
        })
        .map(|event| Ok::<_, std::convert::Infallible>(Bytes::from(format!("{}\n", event.json()))));
    Ok(wire::typed(
        StatusCode::OK,
        "application/json",
        Body::from_stream(lines),
    ))
}

fn fits(event: &Event, filters: &[(String, Vec<String>)]) -> bool {
    let name = event.attributes.get("name");
    filters.iter().all(|(filter, values)| {
        values.iter().any(|value| match filter.as_str() {
            "type" => event.kind == value,
            "event" | "action" => event.action == *value || event.action.starts_with(&format!("{value}:")),
            "container" => {
                event.kind == "container" && (event.id.starts_with(value.as_str()) || name == Some(value))
            }
            "image" => event.attributes.get("image") == Some(value) || event.id == *value,
            "label" => labelled(&event.attributes, value),
            _ => false,
        })
    })
}

pub(super) fn usage(core: &Arc<Core>) -> Value {
    let state = core.state();
    let images: Vec<Value> = state
        .images
        .iter()
        .map(|image| {
            let uses = state
                .containers
                .values()
                .filter(|one| one.image_id == image.id)
                .count();
            super::images::summary(image, uses)
        })
        .collect();
    let layers: u64 = state.images.iter().map(|image| image.size).sum();
    let containers: Vec<Value> = state
        .containers
        .values()
        .map(|one| {
            json!({
                "Id": one.id, "Names": [format!("/{}", one.name)], "Image": one.image, "ImageID": one.image_id,
                "Created": one.created.as_second(), "State": one.state.as_str(), "Status": one.status(),
                "SizeRw": 4096, "SizeRootFs": 4096,
            })
        })
        .collect();
    drop(state);
    let mut volumes = volumes(core);
    for volume in volumes["Volumes"].as_array_mut().into_iter().flatten() {
        volume["UsageData"] = json!({ "RefCount": 1, "Size": 4096 });
    }
    json!({ "LayersSize": layers, "Images": images, "Containers": containers, "Volumes": volumes["Volumes"], "BuildCache": [] })
}

pub(super) fn volumes(core: &Arc<Core>) -> Value {
    let state = core.state();
    let mounted = state.containers.values().flat_map(|one| &one.settings.volumes);
    let names: BTreeSet<&String> = mounted
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with('/'))
        .collect();
    let volumes: Vec<Value> = names
        .into_iter()
        .map(|name| {
            json!({
                "Name": name, "Driver": "local", "Mountpoint": format!("/var/lib/docker/volumes/{name}/_data"),
                "CreatedAt": core.began.to_string(), "Labels": null, "Options": null, "Scope": "local",
            })
        })
        .collect();
    json!({ "Volumes": volumes, "Warnings": null })
}

pub(super) fn networks(core: &Arc<Core>) -> Value {
    json!([bridge(core), plain(core, "host"), plain(core, "none")])
}

pub(super) fn network(core: &Arc<Core>, wanted: &str) -> Answer {
    let networks = networks(core);
    let is = |network: &&Value| {
        network["Name"] == wanted
            || (wanted.len() >= 4 && network["Id"].as_str().is_some_and(|id| id.starts_with(wanted)))
    };
    let found = networks.as_array().and_then(|list| list.iter().find(is));
    let missing = || Fault::new(StatusCode::NOT_FOUND, format!("network {wanted} not found"));
    Ok(wire::json(StatusCode::OK, found.ok_or_else(missing)?))
}

fn bridge(core: &Arc<Core>) -> Value {
    let state = core.state();
    let connected: Map<String, Value> = state
        .containers
        .values()
        .filter(|one| one.state == ContainerState::Running)
        .map(|one| {
            let address = one
                .spec
                .address
                .map(|address| format!("{address}/16"))
                .unwrap_or_default();
            (
                one.id.clone(),
                json!({ "Name": one.name, "EndpointID": one.id, "IPv4Address": address }),
            )
        })
        .collect();
    json!({
        "Name": "bridge", "Id": BRIDGE_ID, "Created": core.began.to_string(), "Scope": "local",
        "Driver": "bridge", "EnableIPv6": false, "Internal": false, "Attachable": false, "Ingress": false,
        "IPAM": { "Driver": "default", "Options": null, "Config": [{ "Subnet": "172.17.0.0/16", "Gateway": "172.17.0.1" }] },
        "Containers": connected, "Options": { "com.docker.network.bridge.name": "docker0" }, "Labels": {},
    })
}

fn plain(core: &Arc<Core>, name: &str) -> Value {
    json!({
        "Name": name, "Id": wire::digest(&[core.name.as_bytes(), name.as_bytes()]),
        "Created": core.began.to_string(), "Scope": "local", "Driver": if name == "none" { "null" } else { name },
        "EnableIPv6": false, "Internal": false, "Attachable": false, "Ingress": false,
        "IPAM": { "Driver": "default", "Options": null, "Config": [] }, "Containers": {}, "Options": {}, "Labels": {},
    })
}
