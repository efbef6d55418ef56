//! Builds a cluster from its description, and changes it from outside.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::kind::Kind;
use super::spec::{ClusterSpec, NodeSpec, WorkloadKind, WorkloadSpec};
use super::store::{Store, text, time, uid};
use super::{deployments, pods, workloads};

const VERSION: &str = "v1.31.3+k3s1";

pub(super) fn cluster(spec: &ClusterSpec, speed: f64) -> Store {
    let mut images: Vec<String> = spec.workloads.iter().map(|load| load.image.clone()).collect();
    images.extend(spec.images.iter().chain(&spec.crashing).cloned());
    let mut store = Store::new(images, spec.crashing.clone(), speed);
    let born = Timestamp::now() - SignedDuration::from_hours(24 * 41);
    for name in ["default", "kube-system", "kube-public", "media", "monitoring"] {
        let metadata = json!({ "name": name, "labels": { "kubernetes.io/metadata.name": name } });
        let rest = json!({ "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" } });
        add(&mut store, Kind::Namespace, metadata, rest, born);
    }
    for (index, node) in spec.nodes.iter().enumerate() {
        add_node(&mut store, node, index == 0, born);
    }
    for load in &spec.workloads {
        let image = load
            .image
            .rsplit_once(':')
            .map_or(load.image.as_str(), |(name, _)| name);
        store.voices.insert(image.to_owned(), load.lines.clone());
        add_workload(&mut store, load, born);
    }
    for (namespace, name) in [
        ("default", "web-config"),
        ("monitoring", "prometheus-config"),
        ("kube-system", "coredns"),
    ] {
        let metadata = json!({ "name": name, "namespace": namespace });
        add(&mut store, Kind::ConfigMap, metadata, json!({ "data": {} }), born);
    }
    settle(&mut store);
    store
}

/// Lets the first pods be there already, and look as if they had been for a while.
fn settle(store: &mut Store) {
    for step in 0..24 {
        let now = Timestamp::now() - SignedDuration::from_hours(30) + SignedDuration::from_secs(step * 3600);
        deployments::control(store);
        workloads::control(store);
        pods::control(store, now);
    }
    for event in store.list(Kind::Event, None) {
        store.remove(
            Kind::Event,
            &text(&event, "/metadata/namespace"),
            &text(&event, "/metadata/name"),
        );
    }
    let born = Timestamp::now() - SignedDuration::from_hours(30);
    for kind in [Kind::Pod, Kind::ReplicaSet] {
        for mut object in store.list(kind, None) {
            object["metadata"]["creationTimestamp"] = json!(time(born));
            store.put(kind, object);
        }
    }
}

fn add(store: &mut Store, kind: Kind, mut metadata: Value, rest: Value, born: Timestamp) -> Value {
    let number = store.number();
    metadata["uid"] = json!(uid(number));
    metadata["creationTimestamp"] = json!(time(born));
    if kind.group() == "apps" || kind == Kind::Job {
        metadata["generation"] = json!(1);
    }
    let mut object = json!({ "kind": kind.name(), "apiVersion": kind.api_version(), "metadata": metadata });
    if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
        object.extend(rest);
    }
    store.put(kind, object)
}

fn add_node(store: &mut Store, node: &NodeSpec, server: bool, born: Timestamp) {
    let mut labels = json!({
        "kubernetes.io/hostname": node.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": "k3s",
    });
    if server {
        labels["node-role.kubernetes.io/control-plane"] = json!("true");
        labels["node-role.kubernetes.io/master"] = json!("true");
    }
    let memory = format!("{}Ki", node.memory_mib * 1024);
    let size = json!({ "cpu": node.cpus.to_string(), "memory": memory, "pods": "110", "ephemeral-storage": "61255492Ki" });
    let rest = json!({
        "spec": { "podCIDR": "10.42.0.0/24", "providerID": format!("k3s://{}", node.name) },
        "status": {
            "capacity": size, "allocatable": size,
            "conditions": conditions(true, born),
            "addresses": [{ "type": "InternalIP", "address": node.address }, { "type": "Hostname", "address": node.name }],
            "nodeInfo": {
                "machineID": node.name, "systemUUID": node.name, "bootID": node.name, "kernelVersion": "6.8.12",
                "osImage": "Debian GNU/Linux 12 (bookworm)", "containerRuntimeVersion": "containerd://1.7.23-k3s2",
                "kubeletVersion": VERSION, "kubeProxyVersion": VERSION, "operatingSystem": "linux", "architecture": "amd64",
            },
            "images": [],
        },
    });
    add(
        store,
        Kind::Node,
        json!({ "name": node.name, "labels": labels }),
        rest,
        born,
    );
}

fn conditions(ready: bool, since: Timestamp) -> Value {
    let now = time(Timestamp::now());
    let one = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": time(since),
        })
    };
    let last = if ready {
        one("Ready", "True", "KubeletReady", "kubelet is posting ready status")
    } else {
        one(
            "Ready",
            "Unknown",
            "NodeStatusUnknown",
            "Kubelet stopped posting node status.",
        )
    };
    json!([
        one(
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available"
        ),
        one(
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure"
        ),
        one(
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available"
        ),
        last,
    ])
}

fn add_workload(store: &mut Store, load: &WorkloadSpec, born: Timestamp) {
    let labels = json!({ "app": load.name });
    let mut container = json!({
        "name": load.name, "image": load.image, "imagePullPolicy": "IfNotPresent",
        "resources": { "requests": { "cpu": "50m", "memory": "64Mi" }, "limits": { "memory": "512Mi" } },
    });
    if let Some(port) = load.port {
        container["ports"] = json!([{ "containerPort": port, "protocol": "TCP" }]);
    }
    let restart = if load.kind == WorkloadKind::Job {
        "Never"
    } else {
        "Always"
    };
    let template = json!({
        "metadata": { "labels": labels },
        "spec": {
            "containers": [container], "restartPolicy": restart, "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "serviceAccountName": "default",
        },
    });
    let selector = json!({ "matchLabels": labels });
    let metadata = json!({ "name": load.name, "namespace": load.namespace, "labels": labels });
    let (kind, spec) = match load.kind {
        WorkloadKind::Deployment(replicas) => (
            Kind::Deployment,
            json!({
                "replicas": replicas, "selector": selector, "template": template, "revisionHistoryLimit": 10,
                "progressDeadlineSeconds": 600,
                "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            }),
        ),
        WorkloadKind::StatefulSet(replicas) => (
            Kind::StatefulSet,
            json!({
                "replicas": replicas, "selector": selector, "template": template, "serviceName": load.name,
                "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } },
            }),
        ),
        WorkloadKind::DaemonSet => (
            Kind::DaemonSet,
            json!({
                "selector": selector, "template": template,
                "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "maxUnavailable": 1, "maxSurge": 0 } },
            }),
        ),
        WorkloadKind::Job => (
            Kind::Job,
            json!({ "selector": selector, "template": template, "completions": 1, "parallelism": 1, "backoffLimit": 6 }),
        ),
    };
    add(
        store,
        kind,
        metadata.clone(),
        json!({ "spec": spec, "status": {} }),
        born,
    );
    if let Some(port) = load.port {
        let address = format!("10.43.{}.{}", port % 200, store.number() % 250 + 2);
        let spec = json!({
            "clusterIP": address, "clusterIPs": [address], "type": "ClusterIP", "selector": labels,
            "ports": [{ "port": port, "targetPort": port, "protocol": "TCP" }],
        });
        add(
            store,
            Kind::Service,
            metadata,
            json!({ "spec": spec, "status": { "loadBalancer": {} } }),
            born,
        );
    }
}

pub(super) fn set_node_ready(store: &mut Store, node: &str, ready: bool) {
    let Some(mut object) = store.get(Kind::Node, "", node).cloned() else {
        return;
    };
    object["status"]["conditions"] = conditions(ready, Timestamp::now());
    let object = store.put(Kind::Node, object);
    let (reason, message) = if ready {
        ("NodeReady", format!("Node {node} status is now: NodeReady"))
    } else {
        ("NodeNotReady", format!("Node {node} status is now: NodeNotReady"))
    };
    store.tell(&object, !ready, reason, &message);
}

pub(super) fn set_image(store: &mut Store, namespace: &str, workload: &str, image: &str) -> bool {
    for kind in [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet] {
        let Some(mut object) = store.get(kind, namespace, workload).cloned() else {
            continue;
        };
        let Some(container) = object.pointer_mut("/spec/template/spec/containers/0") else {
            continue;
        };
        container["image"] = json!(image);
        next_generation(&mut object);
        store.put(kind, object);
        return true;
    }
    false
}

/// Says that what is asked for is something else than before.
pub(super) fn next_generation(object: &mut Value) {
    let generation = object
        .pointer("/metadata/generation")
        .and_then(Value::as_u64)
        .unwrap_or(0);
    object["metadata"]["generation"] = json!(generation + 1);
}

/// Whether a node takes pods, and whether it answers.
pub(super) fn node_state(node: &Value) -> (bool, bool) {
    let ready = node["status"]["conditions"].as_array().is_some_and(|all| {
        all.iter()
            .any(|one| text(one, "/type") == "Ready" && text(one, "/status") == "True")
    });
    (ready && node["spec"]["unschedulable"] != json!(true), ready)
}
