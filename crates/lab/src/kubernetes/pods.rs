//! Pods: how they are made, what they go through, how they end.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::PodView;
use super::build::node_state;
use super::deployments::owner;
use super::kind::Kind;
use super::logs::Lines;
use super::store::{Store, text, time, uid};

/// Where a pod is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Creating,
    Running,
    Ready,
    PullFails,
    Crashed,
    Done,
    Ending,
}

/// What a pod goes through.
#[derive(Debug, Clone)]
pub(super) struct Life {
    stage: Stage,
    since: Timestamp,
    restarts: u32,
    pub(super) lines: Lines,
    pub(super) previous: Option<Lines>,
}

/// Not about to end.
pub(super) fn alive(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn ready(pod: &Value) -> bool {
    alive(pod) && pod["status"]["containerStatuses"][0]["ready"] == json!(true)
}

pub(super) fn views(store: &Store) -> Vec<PodView> {
    let view = |pod: Value| PodView {
        namespace: text(&pod, "/metadata/namespace"),
        name: text(&pod, "/metadata/name"),
        node: pod["spec"]["nodeName"].as_str().map(str::to_owned),
        status: word(&pod),
        ready: ready(&pod),
    };
    store.list(Kind::Pod, None).into_iter().map(view).collect()
}

/// What `kubectl get pods` says about a pod.
pub(super) fn word(pod: &Value) -> String {
    if !alive(pod) {
        return "Terminating".to_owned();
    }
    let state = &pod["status"]["containerStatuses"][0]["state"];
    let waits = text(state, "/waiting/reason");
    let ended = text(state, "/terminated/reason");
    match (waits.is_empty(), ended.is_empty()) {
        (false, _) => waits,
        (true, false) => ended,
        (true, true) => text(pod, "/status/phase"),
    }
}

/// Makes a pod from a template.
pub(super) fn make_pod(
    store: &mut Store,
    by: &Value,
    name: &str,
    template: &Value,
    node: Option<&str>,
) -> Value {
    let number = store.number();
    let mut metadata = template["metadata"].clone();
    metadata["name"] = json!(name);
    metadata["namespace"] = by["metadata"]["namespace"].clone();
    metadata["uid"] = json!(uid(number));
    metadata["creationTimestamp"] = json!(time(Timestamp::now()));
    metadata["ownerReferences"] = json!([owner(by)]);
    let mut spec = template["spec"].clone();
    spec["tolerations"] = json!([]);
    if let Some(node) = node {
        spec["nodeName"] = json!(node);
    }
    store.put(
        Kind::Pod,
        json!({
            "kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec,
            "status": { "phase": "Pending", "qosClass": "Burstable" },
        }),
    )
}

/// Asks a pod to end.
pub(super) fn delete_pod(store: &mut Store, mut pod: Value) -> Value {
    if alive(&pod) {
        pod["metadata"]["deletionTimestamp"] = json!(time(Timestamp::now()));
        pod["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        pod = store.put(Kind::Pod, pod);
        let container = text(&pod, "/spec/containers/0/name");
        store.tell(&pod, false, "Killing", &format!("Stopping container {container}"));
    }
    pod
}

pub(super) fn control(store: &mut Store, now: Timestamp) {
    let pods = store.list(Kind::Pod, None);
    store
        .lives
        .retain(|id, _| pods.iter().any(|pod| pod["metadata"]["uid"] == id.as_str()));
    for pod in pods {
        let id = text(&pod, "/metadata/uid");
        let born = || Life {
            stage: Stage::Waiting,
            since: now,
            restarts: 0,
            lines: Lines::default(),
            previous: None,
        };
        let mut life = store.lives.remove(&id).unwrap_or_else(born);
        live(store, pod, &mut life, now);
        store.lives.insert(id, life);
    }
}

/// One step on the way of a pod, if it is time for it.
fn live(store: &mut Store, mut pod: Value, life: &mut Life, now: Timestamp) {
    let waited = Duration::try_from(now.duration_since(life.since)).unwrap_or_default();
    let node = store.get(Kind::Node, "", &text(&pod, "/spec/nodeName")).cloned();
    let lost = node.as_ref().is_some_and(|node| !node_state(node).1);
    let orphan = orphaned(store, &pod);
    if orphan || (lost && life.stage != Stage::Ending && alive(&pod)) {
        pod = delete_pod(store, pod);
    }
    if !alive(&pod) && life.stage != Stage::Ending {
        (life.stage, life.since) = (Stage::Ending, now);
        return;
    }
    let image = text(&pod, "/spec/containers/0/image");
    let next = match life.stage {
        Stage::Waiting if waited >= store.takes(150) => {
            if !schedule(store, &mut pod) {
                life.since = now;
                return;
            }
            Stage::Creating
        }
        Stage::Creating if waited >= store.takes(450) => {
            if store.images.contains(&image) {
                Stage::Running
            } else {
                Stage::PullFails
            }
        }
        Stage::Running if store.crashing.contains(&image) && waited >= store.takes(300) => Stage::Crashed,
        Stage::Running if waited >= store.takes(350) => {
            if text(&pod, "/spec/restartPolicy") == "Never" {
                Stage::Done
            } else {
                Stage::Ready
            }
        }
        Stage::Crashed if waited >= store.takes(1000 << life.restarts.min(6)) => {
            life.restarts += 1;
            Stage::Running
        }
        Stage::PullFails if store.images.contains(&image) => Stage::Running,
        Stage::Ending if waited >= store.takes(500) => {
            store.remove(
                Kind::Pod,
                &text(&pod, "/metadata/namespace"),
                &text(&pod, "/metadata/name"),
            );
            return;
        }
        same => same,
    };
    if next == life.stage {
        if matches!(next, Stage::Running | Stage::Ready) {
            let voice = voice(store, &image);
            life.lines.go_on(&voice, now, store.takes(4000));
        }
        return;
    }
    (life.stage, life.since) = (next, now);
    enter(store, pod, life, now, &image);
}

fn voice(store: &Store, image: &str) -> Vec<String> {
    let name = image.rsplit_once(':').map_or(image, |(name, _)| name);
    store.voices.get(name).cloned().unwrap_or_default()
}

fn orphaned(store: &Store, pod: &Value) -> bool {
    let by = &pod["metadata"]["ownerReferences"][0];
    let kind = [Kind::ReplicaSet, Kind::StatefulSet, Kind::DaemonSet, Kind::Job]
        .into_iter()
        .find(|kind| by["kind"] == kind.name());
    let space = text(pod, "/metadata/namespace");
    kind.is_some_and(|kind| store.get(kind, &space, &text(by, "/name")).is_none())
}

/// Finds the node with the fewest pods. Whether there is one.
fn schedule(store: &mut Store, pod: &mut Value) -> bool {
    if pod["spec"]["nodeName"].is_string() {
        return true;
    }
    let pods = store.list(Kind::Pod, None);
    let load = |name: &str| pods.iter().filter(|pod| pod["spec"]["nodeName"] == name).count();
    let nodes = store.list(Kind::Node, None);
    let open = nodes
        .iter()
        .filter(|node| node_state(node).0)
        .map(|node| text(node, "/metadata/name"));
    if let Some(name) = open.min_by_key(|name| load(name)) {
        pod["spec"]["nodeName"] = json!(name);
        let place = format!(
            "{}/{}",
            text(pod, "/metadata/namespace"),
            text(pod, "/metadata/name")
        );
        store.tell(
            pod,
            false,
            "Scheduled",
            &format!("Successfully assigned {place} to {name}"),
        );
        return true;
    }
    let message = format!(
        "0/{0} nodes are available: {0} node(s) were unschedulable.",
        nodes.len()
    );
    let conditions = json!([{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
    }]);
    if pod["status"]["conditions"] != conditions {
        pod["status"]["conditions"] = conditions;
        *pod = store.put(Kind::Pod, pod.clone());
        store.tell(pod, true, "FailedScheduling", &message);
    }
    false
}

/// Writes down what a new stage means, and tells of it.
fn enter(store: &mut Store, mut pod: Value, life: &mut Life, now: Timestamp, image: &str) {
    let container = text(&pod, "/spec/containers/0/name");
    let voice = voice(store, image);
    let crashes = store.crashing.iter().any(|one| one == image);
    let mut news: Vec<(bool, &str, String)> = Vec::new();
    match life.stage {
        Stage::Running => {
            if life.restarts > 0 {
                life.previous = Some(std::mem::take(&mut life.lines));
            }
            life.lines.begin(&voice, now, crashes);
            news.push((
                false,
                "Pulled",
                format!("Container image \"{image}\" already present on machine"),
            ));
            news.push((false, "Created", format!("Created container {container}")));
            news.push((false, "Started", format!("Started container {container}")));
        }
        Stage::PullFails => {
            news.push((false, "Pulling", format!("Pulling image \"{image}\"")));
            news.push((
                true,
                "Failed",
                format!("Failed to pull image \"{image}\": not found"),
            ));
            news.push((true, "Failed", "Error: ErrImagePull".to_owned()));
            news.push((false, "BackOff", format!("Back-off pulling image \"{image}\"")));
            news.push((true, "Failed", "Error: ImagePullBackOff".to_owned()));
        }
        Stage::Crashed => {
            news.push((
                true,
                "BackOff",
                format!("Back-off restarting failed container {container}"),
            ));
        }
        Stage::Waiting | Stage::Creating | Stage::Ready | Stage::Done | Stage::Ending => {}
    }
    pod["status"] = status(&pod, life, now, image);
    let pod = store.put(Kind::Pod, pod);
    for (warns, reason, message) in news {
        store.tell(&pod, warns, reason, &message);
    }
}

fn status(pod: &Value, life: &Life, now: Timestamp, image: &str) -> Value {
    let before = &pod["status"];
    let at = time(now);
    let is_ready = life.stage == Stage::Ready;
    let began = match &before["containerStatuses"][0]["state"]["running"]["startedAt"] {
        Value::Null => json!(at),
        since => since.clone(),
    };
    let ended = |code: u32, reason: &str| json!({ "terminated": { "exitCode": code, "reason": reason, "startedAt": began, "finishedAt": at } });
    let waits =
        |reason: &str, message: String| json!({ "waiting": { "reason": reason, "message": message } });
    let (phase, state, last) = match life.stage {
        Stage::Waiting | Stage::Creating | Stage::Ending => (
            "Pending",
            json!({ "waiting": { "reason": "ContainerCreating" } }),
            json!({}),
        ),
        Stage::PullFails => (
            "Pending",
            waits("ImagePullBackOff", format!("Back-off pulling image \"{image}\"")),
            json!({}),
        ),
        Stage::Running | Stage::Ready => (
            "Running",
            json!({ "running": { "startedAt": began } }),
            before["containerStatuses"][0]["lastState"].clone(),
        ),
        Stage::Crashed => {
            let message = format!(
                "back-off restarting failed container={}",
                text(pod, "/spec/containers/0/name")
            );
            ("Running", waits("CrashLoopBackOff", message), ended(1, "Error"))
        }
        Stage::Done => ("Succeeded", ended(0, "Completed"), json!({})),
    };
    let condition = |kind: &str, fine: bool| json!({ "type": kind, "status": if fine { "True" } else { "False" }, "lastProbeTime": null, "lastTransitionTime": at });
    let started = matches!(life.stage, Stage::Running | Stage::Ready);
    let number = text(pod, "/metadata/uid").bytes().fold(7_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let address = format!("10.42.{}.{}", number % 3, number / 3 % 250 + 2);
    json!({
        "phase": phase,
        "qosClass": "Burstable",
        "hostIP": "10.0.20.11",
        "podIP": if started { json!(address) } else { Value::Null },
        "podIPs": if started { json!([{ "ip": address }]) } else { json!([]) },
        "startTime": if before["startTime"].is_null() { json!(at) } else { before["startTime"].clone() },
        "conditions": [
            condition("PodScheduled", true), condition("Initialized", true),
            condition("ContainersReady", is_ready), condition("Ready", is_ready),
        ],
        "containerStatuses": [{
            "name": pod["spec"]["containers"][0]["name"],
            "state": state,
            "lastState": if last.is_null() { json!({}) } else { last },
            "ready": is_ready,
            "started": started,
            "restartCount": life.restarts,
            "image": image,
            "imageID": if started { format!("{image}@sha256:{number:064x}") } else { String::new() },
            "containerID": if started { format!("containerd://{number:064x}") } else { String::new() },
        }],
    })
}
