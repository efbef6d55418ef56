//! Objects as rows, the way `kubectl get` wants them.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::build::node_state;
use super::kind::Kind;
use super::pods::word;
use super::store::{count, text};

/// A table of these objects.
pub(super) fn table(kind: Kind, objects: &[Value], metadata: &Value) -> Value {
    let columns: Vec<Value> = columns(kind)
        .iter()
        .map(|name| {
            let (name, wide) = name.strip_prefix('+').map_or((*name, 0), |name| (name, 1));
            json!({ "name": name, "type": "string", "format": if name == "Name" { "name" } else { "" }, "description": "", "priority": wide })
        })
        .collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            json!({
                "cells": cells(kind, object),
                "object": { "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] },
            })
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows,
    })
}

/// The names of columns; those with a plus are shown in wide tables only.
const fn columns(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Node => &["Name", "Status", "Roles", "Age", "Version", "+Internal-IP"],
        Kind::Namespace => &["Name", "Status", "Age"],
        Kind::Pod => &["Name", "Ready", "Status", "Restarts", "Age", "+IP", "+Node"],
        Kind::Service => &["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age"],
        Kind::ConfigMap => &["Name", "Data", "Age"],
        Kind::Event => &["Last Seen", "Type", "Reason", "Object", "Message"],
        Kind::Deployment => &["Name", "Ready", "Up-to-date", "Available", "Age", "+Images"],
        Kind::ReplicaSet => &["Name", "Desired", "Current", "Ready", "Age", "+Images"],
        Kind::StatefulSet => &["Name", "Ready", "Age", "+Images"],
        Kind::DaemonSet => &[
            "Name",
            "Desired",
            "Current",
            "Ready",
            "Up-to-date",
            "Available",
            "Age",
        ],
        Kind::Job => &["Name", "Status", "Completions", "Age"],
    }
}

fn cells(kind: Kind, object: &Value) -> Value {
    let name = text(object, "/metadata/name");
    let age = age(&text(object, "/metadata/creationTimestamp"));
    let number = |place: &str| count(object, place);
    let image = text(object, "/spec/template/spec/containers/0/image");
    match kind {
        Kind::Node => {
            let (_, ready) = node_state(object);
            let closed = object["spec"]["unschedulable"] == json!(true);
            let status = format!(
                "{}{}",
                if ready { "Ready" } else { "NotReady" },
                if closed { ",SchedulingDisabled" } else { "" }
            );
            let server = object["metadata"]["labels"]["node-role.kubernetes.io/master"].is_string();
            let roles = if server { "control-plane,master" } else { "<none>" };
            let version = text(object, "/status/nodeInfo/kubeletVersion");
            json!([
                name,
                status,
                roles,
                age,
                version,
                text(object, "/status/addresses/0/address")
            ])
        }
        Kind::Namespace => json!([name, text(object, "/status/phase"), age]),
        Kind::Pod => {
            let status = &object["status"]["containerStatuses"][0];
            let ready = u8::from(status["ready"] == json!(true));
            let restarts = count(status, "/restartCount").to_string();
            let node = text(object, "/spec/nodeName");
            json!([
                name,
                format!("{ready}/1"),
                word(object),
                restarts,
                age,
                text(object, "/status/podIP"),
                node
            ])
        }
        Kind::Service => {
            let ports = object["spec"]["ports"].as_array().map_or(0, Vec::len);
            let port = |at: usize| format!("{}/TCP", object["spec"]["ports"][at]["port"]);
            let ports = (0..ports).map(port).collect::<Vec<_>>().join(",");
            json!([
                name,
                text(object, "/spec/type"),
                text(object, "/spec/clusterIP"),
                "<none>",
                ports,
                age
            ])
        }
        Kind::ConfigMap => json!([
            name,
            object["data"].as_object().map_or(0, serde_json::Map::len),
            age
        ]),
        Kind::Event => {
            let about = format!(
                "{}/{}",
                text(object, "/involvedObject/kind").to_lowercase(),
                text(object, "/involvedObject/name")
            );
            let seen = self::age(&text(object, "/lastTimestamp"));
            json!([seen, object["type"], object["reason"], about, object["message"]])
        }
        Kind::Deployment => {
            let ready = format!("{}/{}", number("/status/readyReplicas"), number("/spec/replicas"));
            json!([
                name,
                ready,
                number("/status/updatedReplicas"),
                number("/status/availableReplicas"),
                age,
                image
            ])
        }
        Kind::ReplicaSet => {
            let (current, ready) = (number("/status/replicas"), number("/status/readyReplicas"));
            json!([name, number("/spec/replicas"), current, ready, age, image])
        }
        Kind::StatefulSet => {
            json!([
                name,
                format!("{}/{}", number("/status/readyReplicas"), number("/spec/replicas")),
                age,
                image
            ])
        }
        Kind::DaemonSet => json!([
            name,
            number("/status/desiredNumberScheduled"),
            number("/status/currentNumberScheduled"),
            number("/status/numberReady"),
            number("/status/updatedNumberScheduled"),
            number("/status/numberAvailable"),
            age
        ]),
        Kind::Job => {
            let done = number("/status/succeeded");
            json!([
                name,
                if done > 0 { "Complete" } else { "Running" },
                format!("{done}/1"),
                age
            ])
        }
    }
}

fn age(since: &str) -> String {
    let Ok(since) = since.parse::<Timestamp>() else {
        return "<unknown>".to_owned();
    };
    let seconds = Timestamp::now()
        .as_second()
        .saturating_sub(since.as_second())
        .max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
