//! Objects in lists: what each is doing, in a few facts.

use interlock_protocol::ResourceId;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::kind::checked;
use super::{Kind, Kubernetes};
use crate::Error;

/// An object in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Object {
    /// Its id.
    pub id: ResourceId,
    /// The namespace it lives in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// What tells it from another one of that name, earlier or later.
    #[serde(skip)]
    pub uid: Option<String>,
    /// What it is doing: `ready`, `running`, `CrashLoopBackOff`…
    pub state: String,
    /// What else is known: replicas, images, restarts, addresses.
    pub facts: Map<String, Value>,
}

impl Kubernetes {
    /// The objects of a kind, in one namespace or in all.
    pub async fn list(&self, kind: Kind, namespace: Option<&str>) -> Result<Vec<Object>, Error> {
        let namespace = namespace.map(checked).transpose()?;
        let client = self.client().await?;
        macro_rules! namespaced {
            ($type:ty, $view:expr) => {{
                let api: Api<$type> = match namespace {
                    Some(namespace) => Api::namespaced(client, namespace),
                    None => Api::all(client),
                };
                let found = self.all(kind.as_str(), &api).await?;
                found
                    .iter()
                    .filter_map(|object| self.object(kind, &object.metadata, $view(object)))
                    .collect()
            }};
        }
        macro_rules! global {
            ($type:ty, $view:expr) => {{
                let api: Api<$type> = Api::all(client);
                let found = self.all(kind.as_str(), &api).await?;
                found
                    .iter()
                    .filter_map(|object| self.object(kind, &object.metadata, $view(object)))
                    .collect()
            }};
        }
        Ok(match kind {
            Kind::Node => global!(Node, node),
            Kind::Namespace => global!(Namespace, self::namespace),
            Kind::Pod => namespaced!(Pod, pod),
            Kind::Deployment => namespaced!(Deployment, deployment),
            Kind::StatefulSet => namespaced!(StatefulSet, stateful_set),
            Kind::DaemonSet => namespaced!(DaemonSet, daemon_set),
            Kind::Service => namespaced!(Service, service),
        })
    }

    fn object(&self, kind: Kind, meta: &ObjectMeta, (state, facts): (String, Value)) -> Option<Object> {
        let name = meta.name.clone()?;
        let id = self.object_id(kind, meta.namespace.as_deref(), &name)?;
        let facts = match facts {
            Value::Object(facts) => facts.into_iter().filter(|(_, value)| !value.is_null()).collect(),
            _ => Map::new(),
        };
        Some(Object {
            id,
            namespace: meta.namespace.clone().filter(|_| kind.is_namespaced()),
            name,
            uid: meta.uid.clone(),
            state,
            facts,
        })
    }
}

fn node(node: &Node) -> (String, Value) {
    let status = node.status.clone().unwrap_or_default();
    let ready = status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == "Ready");
    let state = match ready.map(|condition| condition.status.as_str()) {
        Some("True") => "ready",
        Some("False") => "not_ready",
        _ => "unknown",
    };
    let pressures: Vec<&str> = status
        .conditions
        .iter()
        .flatten()
        .filter(|condition| condition.type_ != "Ready" && condition.status == "True")
        .map(|condition| condition.type_.as_str())
        .collect();
    let info = status.node_info.as_ref();
    let facts = json!({
        "version": info.map(|info| &info.kubelet_version),
        "system": info.map(|info| &info.os_image),
        "capacity": status.capacity,
        "addresses": status.addresses.iter().flatten().map(|address| &address.address).collect::<Vec<_>>(),
        "unschedulable": node.spec.as_ref().and_then(|spec| spec.unschedulable),
        "problems": pressures,
    });
    (state.to_owned(), facts)
}

fn namespace(namespace: &Namespace) -> (String, Value) {
    let phase = namespace.status.as_ref().and_then(|status| status.phase.clone());
    (phase.unwrap_or_default().to_lowercase(), Value::Null)
}

/// What a pod is doing: why a container of it does not run, or its phase.
pub(super) fn pod(pod: &Pod) -> (String, Value) {
    let status = pod.status.clone().unwrap_or_default();
    let containers: Vec<_> = status.container_statuses.iter().flatten().collect();
    let waiting = containers.iter().find_map(|container| {
        let state = container.state.as_ref()?;
        let waiting = state.waiting.as_ref().and_then(|waiting| waiting.reason.clone());
        waiting.or_else(|| state.terminated.as_ref()?.reason.clone())
    });
    let phase = status.phase.clone().unwrap_or_default();
    let state = match (
        pod.metadata.deletion_timestamp.is_some(),
        status.reason.clone().or(waiting),
    ) {
        (true, _) => "terminating".to_owned(),
        (false, Some(reason)) => reason,
        (false, None) => phase.to_lowercase(),
    };
    let facts = json!({
        "phase": phase,
        "ready": containers.iter().filter(|container| container.ready).count(),
        "containers": containers.iter().map(|container| &container.name).collect::<Vec<_>>(),
        "images": containers.iter().map(|container| &container.image).collect::<Vec<_>>(),
        "restarts": containers.iter().map(|container| i64::from(container.restart_count)).sum::<i64>(),
        "node": pod.spec.as_ref().and_then(|spec| spec.node_name.clone()),
        "address": status.pod_ip,
        "started_at": status.start_time,
    });
    (state, facts)
}

fn replicas_state(ready: i32, wanted: i32) -> String {
    if ready >= wanted { "ready" } else { "degraded" }.to_owned()
}

fn images(spec: Option<&k8s_openapi::api::core::v1::PodSpec>) -> Vec<&str> {
    spec.iter()
        .flat_map(|spec| &spec.containers)
        .filter_map(|container| container.image.as_deref())
        .collect()
}

fn deployment(deployment: &Deployment) -> (String, Value) {
    let (ready, wanted) = deployment_replicas(deployment);
    let spec = deployment.spec.as_ref();
    let problems: Vec<String> = deployment
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten())
        .filter(|condition| condition.status == "False" || condition.type_ == "ReplicaFailure")
        .filter_map(|condition| condition.message.clone())
        .collect();
    let facts = json!({
        "ready": ready,
        "wanted": wanted,
        "images": images(spec.and_then(|spec| spec.template.spec.as_ref())),
        "problems": problems,
    });
    (replicas_state(ready, wanted), facts)
}

fn stateful_set(set: &StatefulSet) -> (String, Value) {
    let (ready, wanted) = stateful_set_replicas(set);
    let spec = set.spec.as_ref();
    let facts = json!({
        "ready": ready,
        "wanted": wanted,
        "images": images(spec.and_then(|spec| spec.template.spec.as_ref())),
    });
    (replicas_state(ready, wanted), facts)
}

fn daemon_set(set: &DaemonSet) -> (String, Value) {
    let (ready, wanted) = daemon_set_replicas(set);
    let spec = set.spec.as_ref();
    let facts = json!({
        "ready": ready,
        "wanted": wanted,
        "images": images(spec.and_then(|spec| spec.template.spec.as_ref())),
    });
    (replicas_state(ready, wanted), facts)
}

fn service(service: &Service) -> (String, Value) {
    let spec = service.spec.clone().unwrap_or_default();
    let ports: Vec<String> = spec
        .ports
        .iter()
        .flatten()
        .map(|port| format!("{}/{}", port.port, port.protocol.as_deref().unwrap_or("TCP")))
        .collect();
    let facts = json!({
        "type": spec.type_,
        "address": spec.cluster_ip,
        "ports": ports,
        "selector": spec.selector,
    });
    ("present".to_owned(), facts)
}

/// How many are ready, and how many are wanted.
pub(super) fn deployment_replicas(deployment: &Deployment) -> (i32, i32) {
    let ready = deployment
        .status
        .as_ref()
        .and_then(|status| status.ready_replicas);
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    (ready.unwrap_or(0), wanted.unwrap_or(1))
}

/// How many are ready, and how many are wanted.
pub(super) fn stateful_set_replicas(set: &StatefulSet) -> (i32, i32) {
    let ready = set.status.as_ref().and_then(|status| status.ready_replicas);
    let wanted = set.spec.as_ref().and_then(|spec| spec.replicas);
    (ready.unwrap_or(0), wanted.unwrap_or(1))
}

/// How many are ready, and how many are wanted.
pub(super) fn daemon_set_replicas(set: &DaemonSet) -> (i32, i32) {
    set.status.as_ref().map_or((0, 0), |status| {
        (status.number_ready, status.desired_number_scheduled)
    })
}
