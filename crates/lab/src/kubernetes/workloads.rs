//! Stateful sets, daemon sets and jobs.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::build::node_state;
use super::deployments::template_hash;
use super::kind::Kind;
use super::pods::{alive, delete_pod, make_pod, ready};
use super::store::{Store, count, suffix, text, time};

const REVISION: &str = "/metadata/labels/controller-revision-hash";

pub(super) fn control(store: &mut Store) {
    for set in store.list(Kind::StatefulSet, None) {
        stateful(store, set);
    }
    for set in store.list(Kind::DaemonSet, None) {
        daemon(store, set);
    }
    for job in store.list(Kind::Job, None) {
        work(store, job);
    }
}

/// The template of an object with its revision as a label.
fn marked(object: &Value) -> (Value, String) {
    let revision = format!("{}-{}", text(object, "/metadata/name"), template_hash(object));
    let mut template = object["spec"]["template"].clone();
    template["metadata"]["labels"]["controller-revision-hash"] = json!(revision);
    (template, revision)
}

/// One after another: the next pod is made when the ones before it are ready, the last outdated one goes first.
fn stateful(store: &mut Store, mut set: Value) {
    let (template, revision) = marked(&set);
    let name = text(&set, "/metadata/name");
    let space = text(&set, "/metadata/namespace");
    let wanted = count(&set, "/spec/replicas");
    let pods: Vec<Value> = store.owned(Kind::Pod, &set);
    let place = |pod: &Value| {
        text(pod, "/metadata/name")
            .rsplit_once('-')
            .and_then(|(_, number)| number.parse::<u64>().ok())
            .unwrap_or(0)
    };
    let calm = pods.iter().all(|pod| alive(pod) && ready(pod));
    let missing = (0..wanted).find(|at| store.get(Kind::Pod, &space, &format!("{name}-{at}")).is_none());
    let before_ready = |at: u64| {
        pods.iter()
            .filter(|pod| place(pod) < at)
            .all(|pod| alive(pod) && ready(pod))
    };
    if let Some(at) = missing.filter(|at| before_ready(*at)) {
        make_pod(store, &set, &format!("{name}-{at}"), &template, None);
        store.tell(
            &set,
            false,
            "SuccessfulCreate",
            &format!("create Pod {name}-{at} in StatefulSet {name} successful"),
        );
    } else if let Some(last) = pods
        .iter()
        .filter(|pod| alive(pod) && place(pod) >= wanted)
        .max_by_key(|pod| place(pod))
    {
        delete_pod(store, last.clone());
    } else if calm
        && let Some(outdated) = pods
            .iter()
            .filter(|pod| text(pod, REVISION) != revision)
            .max_by_key(|pod| place(pod))
    {
        delete_pod(store, outdated.clone());
    } else if let Some(stuck) = pods
        .iter()
        .find(|pod| alive(pod) && !ready(pod) && text(pod, REVISION) != revision)
    {
        delete_pod(store, stuck.clone());
    }
    let live: Vec<Value> = store.owned(Kind::Pod, &set).into_iter().filter(alive).collect();
    let fine = live.iter().filter(|pod| ready(pod)).count();
    let updated = live.iter().filter(|pod| text(pod, REVISION) == revision).count();
    let current = match text(&set, "/status/currentRevision") {
        unset if unset.is_empty() => revision.clone(),
        _ if updated as u64 == wanted && fine as u64 == wanted => revision.clone(),
        same => same,
    };
    set["status"] = json!({
        "observedGeneration": set["metadata"]["generation"], "replicas": live.len(), "readyReplicas": fine,
        "availableReplicas": fine, "currentReplicas": live.len() - updated.min(live.len()), "updatedReplicas": updated,
        "currentRevision": current, "updateRevision": revision, "collisionCount": 0,
    });
    if current == revision {
        set["status"]["currentReplicas"] = json!(live.len());
    }
    store.put(Kind::StatefulSet, set);
}

/// One pod on each node that takes pods; outdated ones are replaced one at a time.
fn daemon(store: &mut Store, mut set: Value) {
    let (template, revision) = marked(&set);
    let name = text(&set, "/metadata/name");
    let pods: Vec<Value> = store.owned(Kind::Pod, &set).into_iter().filter(alive).collect();
    let nodes = store.list(Kind::Node, None);
    for node in &nodes {
        let node_name = text(node, "/metadata/name");
        let there = pods.iter().any(|pod| text(pod, "/spec/nodeName") == node_name);
        // Daemons run on nodes that are closed to others too.
        if node_state(node).1 && !there {
            let number = store.number();
            make_pod(
                store,
                &set,
                &format!("{name}-{}", suffix(number, 5)),
                &template,
                Some(&node_name),
            );
        }
    }
    let outdated = pods.iter().find(|pod| text(pod, REVISION) != revision);
    let all_there = pods.len() >= nodes.iter().filter(|node| node_state(node).1).count();
    if let Some(pod) = outdated.filter(|pod| !ready(pod) || (all_there && pods.iter().all(ready))) {
        delete_pod(store, pod.clone());
    }
    let fine = pods.iter().filter(|pod| ready(pod)).count();
    let updated = pods.iter().filter(|pod| text(pod, REVISION) == revision).count();
    set["status"] = json!({
        "observedGeneration": set["metadata"]["generation"], "desiredNumberScheduled": nodes.len(),
        "currentNumberScheduled": pods.len(), "updatedNumberScheduled": updated, "numberReady": fine,
        "numberAvailable": fine, "numberMisscheduled": 0, "numberUnavailable": nodes.len().saturating_sub(fine),
    });
    store.put(Kind::DaemonSet, set);
}

fn work(store: &mut Store, mut job: Value) {
    let pods = store.owned(Kind::Pod, &job);
    if pods.is_empty() && count(&job, "/status/succeeded") == 0 {
        let number = store.number();
        let name = format!("{}-{}", text(&job, "/metadata/name"), suffix(number, 5));
        let mut template = job["spec"]["template"].clone();
        template["metadata"]["labels"]["batch.kubernetes.io/job-name"] = job["metadata"]["name"].clone();
        make_pod(store, &job, &name, &template, None);
        store.tell(&job, false, "SuccessfulCreate", &format!("Created pod: {name}"));
        job["status"] = json!({ "active": 1, "ready": 0, "startTime": time(Timestamp::now()) });
    } else if job["status"]["succeeded"].is_null()
        && let Some(done) = pods.iter().find(|pod| text(pod, "/status/phase") == "Succeeded")
    {
        let ended = done["status"]["containerStatuses"][0]["state"]["terminated"]["finishedAt"].clone();
        job["status"] = json!({
            "succeeded": 1, "ready": 0, "startTime": done["status"]["startTime"], "completionTime": ended,
            "conditions": [{ "type": "Complete", "status": "True", "reason": "CompletionsReached", "lastTransitionTime": ended }],
        });
        store.tell(&job, false, "Completed", "Job completed");
    }
    store.put(Kind::Job, job);
}
