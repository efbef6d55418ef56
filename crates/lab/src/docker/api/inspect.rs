//! Everything about one container.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Fault;
use crate::docker::ContainerState;
use crate::docker::container::Container;
use crate::docker::core::Core;

/// What the API writes where there is no time.
const NEVER: &str = "0001-01-01T00:00:00Z";

pub(super) fn container(core: &Arc<Core>, id: &str) -> Result<Value, Fault> {
    let container = core.find(id)?;
    let settings = &container.settings;
    let env: Vec<String> = settings
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let exposed: Map<String, Value> = settings
        .ports
        .iter()
        .map(|port| (format!("{}/tcp", port.container), json!({})))
        .collect();
    Ok(json!({
        "Id": container.id,
        "Created": container.created.to_string(),
        "Path": settings.argv.first(),
        "Args": settings.argv.get(1..).unwrap_or_default(),
        "State": state(&container),
        "Image": container.image_id,
        "ResolvConfPath": "",
        "HostnamePath": "",
        "HostsPath": "",
        "LogPath": format!("/var/lib/docker/containers/{0}/{0}-json.log", container.id),
        "Name": format!("/{}", container.name),
        "RestartCount": container.restarts,
        "Driver": "overlay2",
        "Platform": "linux",
        "MountLabel": "",
        "ProcessLabel": "",
        "AppArmorProfile": "docker-default",
        "ExecIDs": null,
        "HostConfig": {
            "Binds": settings.volumes.iter().map(|(source, at)| format!("{source}:{at}")).collect::<Vec<_>>(),
            "LogConfig": { "Type": "json-file", "Config": {} },
            "NetworkMode": "bridge",
            "PortBindings": bindings(&container, true),
            "RestartPolicy": {
                "Name": settings.restart.name(),
                "MaximumRetryCount": settings.restart.maximum(),
            },
            "AutoRemove": false,
            "Privileged": false,
            "Memory": 0,
            "NanoCpus": 0,
        },
        "GraphDriver": { "Name": "overlay2", "Data": {} },
        "Mounts": mounts(&container),
        "Config": {
            "Hostname": container.short_id(),
            "User": "",
            "Tty": settings.tty,
            "OpenStdin": false,
            "Env": env,
            "Cmd": settings.argv,
            "Image": container.image,
            "Volumes": null,
            "WorkingDir": "",
            "Entrypoint": null,
            "Labels": settings.labels,
            "ExposedPorts": exposed,
            "Healthcheck": settings.health.as_ref().map(|health| json!({
                "Test": std::iter::once("CMD").chain(health.test.iter().map(String::as_str)).collect::<Vec<_>>(),
                "Interval": nanoseconds(health.interval),
                "Timeout": nanoseconds(health.timeout),
                "Retries": health.retries,
            })),
        },
        "NetworkSettings": {
            "Ports": bindings(&container, container.state == ContainerState::Running),
            "IPAddress": address(&container),
            "Gateway": "172.17.0.1",
            "Networks": { "bridge": endpoint(&container) },
        },
    }))
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn state(container: &Container) -> Value {
    let time = |at: Option<Timestamp>| at.map_or_else(|| NEVER.to_owned(), |at| at.to_string());
    let mut state = json!({
        "Status": container.state.as_str(),
        "Running": container.active(),
        "Paused": false,
        "Restarting": container.state == ContainerState::Restarting,
        "OOMKilled": false,
        "Dead": false,
        "Pid": if container.state == ContainerState::Running { 1000 + container.run } else { 0 },
        "ExitCode": container.exit_code,
        "Error": container.error,
        "StartedAt": time(container.started),
        "FinishedAt": time(container.finished),
    });
    if let Some(health) = container.health {
        state["Health"] = json!({ "Status": health.as_str(), "FailingStreak": container.failing, "Log": [] });
    }
    state
}

fn bindings(container: &Container, bound: bool) -> Value {
    let mut bindings = Map::new();
    for port in &container.settings.ports {
        let host = port.host.filter(|_| bound).map_or(
            Value::Null,
            |host| json!([{ "HostIp": "0.0.0.0", "HostPort": host.to_string() }]),
        );
        bindings.insert(format!("{}/tcp", port.container), host);
    }
    Value::Object(bindings)
}

pub(super) fn mounts(container: &Container) -> Vec<Value> {
    let one = |(source, at): &(String, String)| {
        let kind = if source.starts_with('/') { "bind" } else { "volume" };
        let path = match kind {
            "bind" => source.clone(),
            _ => format!("/var/lib/docker/volumes/{source}/_data"),
        };
        json!({
            "Type": kind, "Name": source, "Source": path, "Destination": at,
            "Driver": "local", "Mode": "z", "RW": true, "Propagation": "",
        })
    };
    container.settings.volumes.iter().map(one).collect()
}

fn address(container: &Container) -> String {
    match (container.state, container.spec.address) {
        (ContainerState::Running, Some(address)) => address.to_string(),
        _ => String::new(),
    }
}

pub(super) fn endpoint(container: &Container) -> Value {
    json!({
        "NetworkID": super::system::BRIDGE_ID,
        "EndpointID": if container.state == ContainerState::Running { container.id.as_str() } else { "" },
        "Gateway": "172.17.0.1",
        "IPAddress": address(container),
        "IPPrefixLen": 16,
        "MacAddress": "",
    })
}
