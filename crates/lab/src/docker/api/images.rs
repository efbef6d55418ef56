//! Images: the list of them, pulling, removing.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Answer, Fault, filters, ok};
use crate::docker::Error;
use crate::docker::core::Core;
use crate::docker::image::{Reference, find};
use crate::docker::spec::ImageSpec;
use crate::docker::wire::{self, Call};

pub(super) fn list(core: &Arc<Core>, call: &Call) -> Answer {
    let mut wanted = Vec::new();
    for (name, values) in filters(call)? {
        match name.as_str() {
            "reference" => wanted.extend(values),
            "dangling" | "label" => {}
            _ => return Err(Fault::bad(format!("invalid filter '{name}'"))),
        }
    }
    let state = core.state();
    let fits = |image: &&ImageSpec| {
        wanted.is_empty()
            || wanted
                .iter()
                .any(|text| *text == image.repository || Reference::parse(text).names(image))
    };
    let uses = |image: &ImageSpec| {
        state
            .containers
            .values()
            .filter(|one| one.image_id == image.id)
            .count()
    };
    let mut images: Vec<&ImageSpec> = state.images.iter().filter(fits).collect();
    images.sort_by_key(|image| std::cmp::Reverse(image.created));
    let list: Vec<Value> = images
        .into_iter()
        .map(|image| summary(image, uses(image)))
        .collect();
    drop(state);
    ok(&Value::Array(list))
}

pub(super) fn summary(image: &ImageSpec, containers: usize) -> Value {
    json!({
        "Id": image.id,
        "ParentId": "",
        "RepoTags": [image.reference()],
        "RepoDigests": [format!("{}@{}", image.repository, image.id)],
        "Created": image.created.as_second(),
        "Size": image.size,
        "SharedSize": -1,
        "Labels": null,
        "Containers": containers,
    })
}

pub(super) fn inspect(core: &Arc<Core>, name: &str) -> Answer {
    let image = find(&core.state().images, name)
        .cloned()
        .ok_or_else(|| Error::NoImage(name.to_owned()))?;
    let env: Vec<String> = image
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    ok(&json!({
        "Id": image.id,
        "RepoTags": [image.reference()],
        "RepoDigests": [format!("{}@{}", image.repository, image.id)],
        "Parent": "",
        "Comment": "",
        "Created": image.created.to_string(),
        "Author": "",
        "Config": { "Env": env, "Cmd": image.argv, "Entrypoint": null, "Labels": null, "WorkingDir": "" },
        "Architecture": "amd64",
        "Os": "linux",
        "Size": image.size,
        "GraphDriver": { "Name": "overlay2", "Data": {} },
        "RootFS": { "Type": "layers", "Layers": [image.id] },
        "Metadata": { "LastTagTime": "0001-01-01T00:00:00Z" },
    }))
}

/// What the registry knows of an image; it must be one that can be pulled.
pub(super) fn distribution(core: &Arc<Core>, name: &str) -> Answer {
    let image = core.offered(name).ok_or_else(|| unknown(name))?;
    ok(&json!({
        "Descriptor": {
            "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
            "digest": image.id,
            "size": 1570,
        },
        "Platforms": [{ "architecture": "amd64", "os": "linux" }],
    }))
}

fn unknown(name: &str) -> Fault {
    let Reference { repository, tag } = Reference::parse(name);
    let message = format!("manifest for {repository}:{tag} not found: manifest unknown: manifest unknown");
    Fault::new(StatusCode::NOT_FOUND, message)
}

pub(super) fn pull(core: &Arc<Core>, call: &Call) -> Answer {
    let from = call.get("fromImage").filter(|from| !from.is_empty());
    let from = from.ok_or_else(|| Fault::bad("fromImage is needed: importing is not supported"))?;
    let name = match call.get("tag").filter(|tag| !tag.is_empty()) {
        Some(tag) if tag.starts_with("sha256:") => format!("{from}@{tag}"),
        Some(tag) => format!("{from}:{tag}"),
        None => from.to_owned(),
    };
    let (image, had) = core.pull(&name).map_err(|error| match error {
        Error::NoImage(_) => unknown(&name),
        other => other.into(),
    })?;
    let lines = progress(&image, had)
        .into_iter()
        .map(|line| Ok::<_, std::convert::Infallible>(Bytes::from(format!("{line}\r\n"))));
    Ok(wire::typed(
        StatusCode::OK,
        "application/json",
        Body::from_stream(stream::iter(lines.collect::<Vec<_>>())),
    ))
}

fn progress(image: &ImageSpec, had: bool) -> Vec<Value> {
    let digits = image.id.trim_start_matches("sha256:");
    let layer = digits.get(..12).unwrap_or(digits);
    let of = |status: &str| json!({ "status": status, "progressDetail": {}, "id": layer });
    let mut lines = vec![json!({ "status": format!("Pulling from {}", image.repository), "id": image.tag })];
    if had {
        lines.push(of("Already exists"));
    } else {
        let detail = |current: u64| json!({ "current": current, "total": image.size });
        lines.push(of("Pulling fs layer"));
        for current in [image.size / 3, image.size / 3 * 2, image.size] {
            lines.push(json!({ "status": "Downloading", "progressDetail": detail(current), "id": layer }));
        }
        lines.extend([of("Download complete"), of("Pull complete")]);
    }
    lines.push(json!({ "status": format!("Digest: {}", image.id) }));
    let news = if had {
        "Image is up to date for"
    } else {
        "Downloaded newer image for"
    };
    lines.push(json!({ "status": format!("Status: {news} {}", image.reference()) }));
    lines
}

pub(super) fn remove(core: &Arc<Core>, name: &str, call: &Call) -> Answer {
    let mut state = core.state();
    let image = find(&state.images, name)
        .cloned()
        .ok_or_else(|| Error::NoImage(name.to_owned()))?;
    let used = state.containers.values().find(|one| one.image_id == image.id);
    if let Some(container) = used
        && (container.active() || !call.flag("force"))
    {
        let (what, how) = if container.active() {
            ("running container", "cannot be forced")
        } else {
            ("stopped container", "must be forced")
        };
        return Err(Fault::new(
            StatusCode::CONFLICT,
            format!(
                "conflict: unable to remove repository reference \"{name}\" ({how}) - {what} {} is using its referenced image {}",
                container.short_id(),
                image.id.get(7..19).unwrap_or_default()
            ),
        ));
    }
    state.images.retain(|one| one.reference() != image.reference());
    drop(state);
    core.tell_of("image", "delete", &image.id, std::collections::BTreeMap::new());
    ok(&json!([{ "Untagged": image.reference() }, { "Deleted": image.id }]))
}
