//! Deployments and replica sets: rolls pods over to a new template one by one, and keeps their number.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kind::Kind;
use super::pods::{alive, delete_pod, make_pod, ready};
use super::store::{Store, count, suffix, text, time, uid};
use crate::docker::wire::digest_number;

const HASH: &str = "/metadata/labels/pod-template-hash";

pub(super) fn control(store: &mut Store) {
    for deployment in store.list(Kind::Deployment, None) {
        roll(store, deployment);
    }
    for set in store.list(Kind::ReplicaSet, None) {
        let owner = text(&set, "/metadata/ownerReferences/0/name");
        let space = text(&set, "/metadata/namespace");
        if !owner.is_empty() && store.get(Kind::Deployment, &space, &owner).is_none() {
            store.remove(Kind::ReplicaSet, &space, &text(&set, "/metadata/name"));
        } else {
            keep(store, set);
        }
    }
}

/// What a template is known by.
pub(super) fn template_hash(object: &Value) -> String {
    suffix(
        digest_number(object["spec"]["template"].to_string().as_bytes()),
        10,
    )
}

fn roll(store: &mut Store, mut deployment: Value) {
    let wanted = count(&deployment, "/spec/replicas");
    let hash = template_hash(&deployment);
    let sets = store.owned(Kind::ReplicaSet, &deployment);
    let mut new = match sets.iter().find(|set| text(set, HASH) == hash) {
        Some(set) => set.clone(),
        None => make_set(store, &deployment, &hash),
    };
    let revision = |set: &Value| {
        set.pointer("/metadata/annotations/deployment.kubernetes.io~1revision")
            .and_then(Value::as_str)
            .and_then(|text| text.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let highest = sets.iter().map(revision).max().unwrap_or(0);
    if revision(&new) < highest || revision(&new) == 0 {
        new["metadata"]["annotations"]["deployment.kubernetes.io/revision"] =
            json!((highest + 1).to_string());
    }
    let current = revision(&new);
    let mut old: Vec<Value> = sets.into_iter().filter(|set| text(set, HASH) != hash).collect();
    // Newest last: what is oldest goes first.
    old.sort_by_key(revision);
    let replicas = |set: &Value| count(set, "/spec/replicas");
    let available = |set: &Value| count(set, "/status/availableReplicas");
    let others: u64 = old.iter().map(replicas).sum();
    let before = replicas(&new);
    let target = if others == 0 {
        wanted
    } else {
        wanted.min(before + (wanted + 1).saturating_sub(before + others))
    };
    if target != before {
        new["spec"]["replicas"] = json!(target);
        let (word, name) = (
            if target > before { "up" } else { "down" },
            text(&new, "/metadata/name"),
        );
        let message = format!("Scaled {word} replica set {name} from {before} to {target}");
        store.tell(&deployment, false, "ScalingReplicaSet", &message);
    }
    let new = store.put(Kind::ReplicaSet, new);
    let mut spare = (old.iter().map(available).sum::<u64>() + available(&new)).saturating_sub(wanted);
    for set in &mut old {
        let has = replicas(set);
        // Pods that never became ready can go at once; others only when there are enough without them.
        let idle = has.saturating_sub(available(set));
        let go = (idle + spare).min(has);
        if go == 0 {
            continue;
        }
        spare = spare.saturating_sub(go.saturating_sub(idle));
        set["spec"]["replicas"] = json!(has - go);
        let message = format!(
            "Scaled down replica set {} from {has} to {}",
            text(set, "/metadata/name"),
            has - go
        );
        *set = store.put(Kind::ReplicaSet, set.clone());
        store.tell(&deployment, false, "ScalingReplicaSet", &message);
    }
    deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = json!(current.to_string());
    sum_up(store, deployment, &new, &old);
}

fn make_set(store: &mut Store, deployment: &Value, hash: &str) -> Value {
    let number = store.number();
    let mut template = deployment["spec"]["template"].clone();
    template["metadata"]["labels"]["pod-template-hash"] = json!(hash);
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"]["pod-template-hash"] = json!(hash);
    json!({
        "kind": "ReplicaSet",
        "apiVersion": "apps/v1",
        "metadata": {
            "name": format!("{}-{hash}", text(deployment, "/metadata/name")),
            "namespace": deployment["metadata"]["namespace"],
            "uid": uid(number),
            "creationTimestamp": time(Timestamp::now()),
            "generation": 1,
            "labels": template["metadata"]["labels"],
            "annotations": {},
            "ownerReferences": [owner(deployment)],
        },
        "spec": { "replicas": 0, "selector": selector, "template": template },
        "status": { "replicas": 0 },
    })
}

pub(super) fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"], "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}

fn sum_up(store: &mut Store, mut deployment: Value, new: &Value, old: &[Value]) {
    let all = || std::iter::once(new).chain(old);
    let sum = |place: &str| all().map(|set| count(set, place)).sum::<u64>();
    let wanted = count(&deployment, "/spec/replicas");
    let (total, available) = (sum("/status/replicas"), sum("/status/availableReplicas"));
    let updated = count(new, "/status/replicas");
    let done = updated == wanted && total == wanted && available >= wanted;
    let before = deployment["status"]["conditions"].clone();
    let mut status = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": total,
        "updatedReplicas": updated,
        "readyReplicas": sum("/status/readyReplicas"),
        "availableReplicas": available,
    });
    if available < wanted {
        status["unavailableReplicas"] = json!(wanted - available);
    }
    let name = text(new, "/metadata/name");
    let (progress, message) = if done {
        (
            "NewReplicaSetAvailable",
            format!("ReplicaSet \"{name}\" has successfully progressed."),
        )
    } else {
        (
            "ReplicaSetUpdated",
            format!("ReplicaSet \"{name}\" is progressing."),
        )
    };
    let enough = available >= wanted;
    let (reason, text) = if enough {
        ("MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        (
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    let conditions = [
        (
            "Available",
            if enough { "True" } else { "False" },
            reason,
            text.to_owned(),
        ),
        ("Progressing", "True", progress, message),
    ];
    status["conditions"] = conditions
        .into_iter()
        .enumerate()
        .map(|(index, (kind, state, reason, message))| {
            let same = before[index]["status"] == state && before[index]["reason"] == reason;
            let since = if same {
                before[index]["lastTransitionTime"].clone()
            } else {
                json!(time(Timestamp::now()))
            };
            json!({
                "type": kind, "status": state, "reason": reason, "message": message,
                "lastTransitionTime": since, "lastUpdateTime": since,
            })
        })
        .collect();
    deployment["status"] = status;
    store.put(Kind::Deployment, deployment);
}

/// Makes the pods that a replica set lacks, and deletes those that it has too many of.
fn keep(store: &mut Store, mut set: Value) {
    let mut pods: Vec<Value> = store.owned(Kind::Pod, &set).into_iter().filter(alive).collect();
    let wanted = usize::try_from(count(&set, "/spec/replicas")).unwrap_or(usize::MAX);
    if pods.len() > wanted {
        // Those that are not ready go first, then the youngest.
        pods.sort_by_key(|pod| {
            (
                ready(pod),
                std::cmp::Reverse(text(pod, "/metadata/creationTimestamp")),
            )
        });
        for pod in pods.drain(..pods.len() - wanted) {
            let message = format!("Deleted pod: {}", text(&pod, "/metadata/name"));
            delete_pod(store, pod);
            store.tell(&set, false, "SuccessfulDelete", &message);
        }
    }
    while pods.len() < wanted {
        let number = store.number();
        let name = format!("{}-{}", text(&set, "/metadata/name"), suffix(number, 5));
        let template = set["spec"]["template"].clone();
        let pod = make_pod(store, &set, &name, &template, None);
        store.tell(&set, false, "SuccessfulCreate", &format!("Created pod: {name}"));
        pods.push(pod);
    }
    let fine = pods.iter().filter(|pod| ready(pod)).count();
    set["status"] = json!({
        "replicas": pods.len(), "fullyLabeledReplicas": pods.len(), "readyReplicas": fine,
        "availableReplicas": fine, "observedGeneration": set["metadata"]["generation"],
    });
    store.put(Kind::ReplicaSet, set);
}
