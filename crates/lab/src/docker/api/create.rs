//! Making a container as a client asks for it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Fault};
use crate::docker::container::Settings;
use crate::docker::core::Core;
use crate::docker::spec::{HealthSpec, PortSpec, RestartPolicy};
use crate::docker::wire::{self, Call};

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Body {
    image: String,
    cmd: Option<Words>,
    entrypoint: Option<Words>,
    env: Option<Vec<String>>,
    labels: Option<BTreeMap<String, String>>,
    tty: bool,
    exposed_ports: Option<BTreeMap<String, Value>>,
    healthcheck: Option<Healthcheck>,
    host_config: Option<HostConfig>,
}

/// One word or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
}

impl Words {
    fn list(self) -> Vec<String> {
        match self {
            Self::One(word) => vec![word],
            Self::Many(words) => words,
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Healthcheck {
    test: Option<Vec<String>>,
    interval: u64,
    timeout: u64,
    retries: u32,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct HostConfig {
    restart_policy: Option<RestartBody>,
    port_bindings: Option<BTreeMap<String, Option<Vec<Binding>>>>,
    binds: Option<Vec<String>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Binding {
    host_port: String,
}

/// A restart policy as clients send it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct RestartBody {
    name: String,
    maximum_retry_count: u32,
}

impl RestartBody {
    pub(super) fn policy(&self) -> Result<RestartPolicy, Fault> {
        let policy: RestartPolicy = self
            .name
            .parse()
            .map_err(|error| Fault::bad(format!("{error}")))?;
        Ok(match policy {
            RestartPolicy::OnFailure(None) if self.maximum_retry_count > 0 => {
                RestartPolicy::OnFailure(Some(self.maximum_retry_count))
            }
            other => other,
        })
    }
}

pub(super) fn create(core: &Arc<Core>, call: &Call) -> Answer {
    let body: Body = call.json().map_err(|error| Fault::bad(error.to_string()))?;
    if body.image.is_empty() {
        return Err(Fault::bad(
            "config cannot be empty in order to create a container",
        ));
    }
    let name = call.get("name").filter(|name| !name.is_empty());
    let image = body.image.clone();
    let settings = settings(body)?;
    let container = core.create(name, &image, settings)?;
    Ok(wire::json(
        StatusCode::CREATED,
        &json!({ "Id": container.id, "Warnings": [] }),
    ))
}

fn settings(body: Body) -> Result<Settings, Fault> {
    let host = body.host_config.unwrap_or_default();
    let mut argv = body.entrypoint.map(Words::list).unwrap_or_default();
    argv.extend(body.cmd.map(Words::list).unwrap_or_default());
    let bindings = host.port_bindings.unwrap_or_default();
    let mut ports = Vec::new();
    for key in body
        .exposed_ports
        .unwrap_or_default()
        .keys()
        .chain(bindings.keys())
    {
        let number = key.split('/').next().unwrap_or_default();
        let container = number
            .parse()
            .map_err(|_| Fault::bad(format!("invalid port: {key}")))?;
        let bound = bindings
            .get(key)
            .and_then(Option::as_ref)
            .and_then(|list| list.first());
        let host = bound.and_then(|one| one.host_port.parse().ok());
        let port = PortSpec { container, host };
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    Ok(Settings {
        argv,
        env: variables(body.env.unwrap_or_default())?,
        labels: body.labels.unwrap_or_default(),
        ports,
        volumes: host
            .binds
            .unwrap_or_default()
            .iter()
            .filter_map(|bind| volume(bind))
            .collect(),
        restart: host.restart_policy.unwrap_or_default().policy()?,
        health: body.healthcheck.and_then(health),
        tty: body.tty,
    })
}

pub(super) fn variables(list: Vec<String>) -> Result<BTreeMap<String, String>, Fault> {
    list.into_iter()
        .map(|variable| match variable.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            None if !variable.is_empty() => Ok((variable, String::new())),
            _ => Err(Fault::bad(format!("invalid environment variable: {variable}"))),
        })
        .collect()
}

fn volume(bind: &str) -> Option<(String, String)> {
    let mut parts = bind.split(':');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}

fn health(check: Healthcheck) -> Option<HealthSpec> {
    let mut test = check.test?;
    let test = match test.first().map(String::as_str)? {
        "CMD" => test.split_off(1),
        "CMD-SHELL" => vec!["sh".to_owned(), "-c".to_owned(), test.get(1)?.clone()],
        _ => return None,
    };
    let or = |nanoseconds: u64, default: u64| match nanoseconds {
        0 => Duration::from_secs(default),
        given => Duration::from_nanos(given),
    };
    Some(HealthSpec {
        test,
        interval: or(check.interval, 30),
        timeout: or(check.timeout, 30),
        retries: if check.retries == 0 { 3 } else { check.retries },
    })
}
