//! One object, its events, its log; and the cluster itself.

use interlock_protocol::{Observation, ResourceId};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Event as CoreEvent, Namespace, Node, Pod, Service};
use kube::Api;
use kube::api::LogParams;
use serde::Serialize;
use serde_json::{Value, json};

use super::kind::checked;
use super::list::{daemon_set_replicas, deployment_replicas, stateful_set_replicas};
use super::{Kind, Kubernetes};
use crate::Error;

/// How many events are given back.
const MOST_EVENTS: usize = 200;

/// Something that happened in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Event {
    /// When it happened last.
    pub at: Option<Timestamp>,
    /// `Normal` or `Warning`.
    pub kind: String,
    /// `BackOff`, `FailedScheduling`…
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// What it happened to: `Pod shop/web-1`.
    pub about: String,
    /// How often.
    pub count: i32,
}

/// Which part of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTail {
    /// The container, where the pod has several.
    pub container: Option<String>,
    /// At most this many lines, the newest.
    pub lines: i64,
    /// At most this many bytes.
    pub bytes: i64,
    /// That of the run before this one.
    pub previous: bool,
}

impl Kubernetes {
    /// The version of the cluster.
    pub async fn version(&self) -> Result<Value, Error> {
        let client = self.client().await?;
        let version = self.within("the version", client.apiserver_version()).await?;
        Ok(json!({"version": version.git_version, "platform": version.platform}))
    }

    /// What happened, newest first; in one namespace or in all, to one object or to any.
    pub async fn events(&self, namespace: Option<&str>, name: Option<&str>) -> Result<Vec<Event>, Error> {
        let client = self.client().await?;
        let api: Api<CoreEvent> = match namespace.map(checked).transpose()? {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        let found = self.all("events", &api).await?;
        let mut events: Vec<Event> = found
            .into_iter()
            .filter(|event| name.is_none() || event.involved_object.name.as_deref() == name)
            .map(event)
            .collect();
        events.sort_by_key(|event| std::cmp::Reverse(event.at));
        events.truncate(MOST_EVENTS);
        Ok(events)
    }

    /// The end of a pod's log.
    pub async fn logs(&self, namespace: &str, pod: &str, tail: &LogTail) -> Result<String, Error> {
        let client = self.client().await?;
        let api: Api<Pod> = Api::namespaced(client, checked(namespace)?);
        let params = LogParams {
            container: tail
                .container
                .as_deref()
                .map(checked)
                .transpose()?
                .map(str::to_owned),
            tail_lines: Some(tail.lines),
            limit_bytes: Some(tail.bytes),
            previous: tail.previous,
            timestamps: true,
            ..LogParams::default()
        };
        let what = format!("the pod `{namespace}/{pod}`");
        self.within(&what, api.logs(checked(pod)?, &params)).await
    }

    /// One object, whole, without what the machinery keeps in it and without the values of environment variables.
    pub async fn describe(&self, id: &ResourceId) -> Result<Value, Error> {
        let (kind, namespace, name) = self.parts(id)?;
        let client = self.client().await?;
        let what = format!("`{id}`");
        macro_rules! fetched {
            ($type:ty, $api:expr) => {{
                let api: Api<$type> = $api;
                let found = self.within(&what, api.get(name)).await?;
                serde_json::to_value(found)
            }};
        }
        let namespace = namespace.unwrap_or("default");
        let object = match kind {
            Kind::Node => fetched!(Node, Api::all(client)),
            Kind::Namespace => fetched!(Namespace, Api::all(client)),
            Kind::Pod => fetched!(Pod, Api::namespaced(client, namespace)),
            Kind::Deployment => fetched!(Deployment, Api::namespaced(client, namespace)),
            Kind::StatefulSet => fetched!(StatefulSet, Api::namespaced(client, namespace)),
            Kind::DaemonSet => fetched!(DaemonSet, Api::namespaced(client, namespace)),
            Kind::Service => fetched!(Service, Api::namespaced(client, namespace)),
        };
        let mut object = object.map_err(|error| Error::Protocol {
            connection: self.name().to_owned(),
            message: error.to_string(),
        })?;
        tidy(&mut object);
        Ok(object)
    }

    /// What is seen of a workload or a pod, in the words in which something can be expected.
    pub async fn observe(&self, id: &ResourceId) -> Result<(Value, Vec<Observation>), Error> {
        let (kind, namespace, name) = self.parts(id)?;
        let client = self.client().await?;
        let namespace = namespace.unwrap_or("default");
        let what = format!("`{id}`");
        let ((ready, wanted), (updated, generation, observed)) = match kind {
            Kind::Deployment => {
                let api: Api<Deployment> = Api::namespaced(client, namespace);
                let found = self.within(&what, api.get(name)).await?;
                let status = found.status.as_ref();
                let newest = (
                    status.map(|status| status.updated_replicas.unwrap_or(0)),
                    found.metadata.generation,
                    status.and_then(|status| status.observed_generation),
                );
                (deployment_replicas(&found), newest)
            }
            Kind::StatefulSet => {
                let api: Api<StatefulSet> = Api::namespaced(client, namespace);
                let found = self.within(&what, api.get(name)).await?;
                let status = found.status.as_ref();
                let newest = (
                    status.map(|status| status.updated_replicas.unwrap_or(0)),
                    found.metadata.generation,
                    status.and_then(|status| status.observed_generation),
                );
                (stateful_set_replicas(&found), newest)
            }
            Kind::DaemonSet => {
                let api: Api<DaemonSet> = Api::namespaced(client, namespace);
                let found = self.within(&what, api.get(name)).await?;
                let status = found.status.as_ref();
                let newest = (
                    status.map(|status| status.updated_number_scheduled.unwrap_or(0)),
                    found.metadata.generation,
                    status.and_then(|status| status.observed_generation),
                );
                (daemon_set_replicas(&found), newest)
            }
            Kind::Node | Kind::Namespace | Kind::Pod | Kind::Service => {
                let object = self.describe(id).await?;
                let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
                let mut observed = vec![Observation::Present];
                observed.extend(uid.map(|uid| Observation::Identity { uid }));
                return Ok((object, observed));
            }
        };
        let count = |number: i32| u32::try_from(number).unwrap_or(0);
        let replicas = Observation::Replicas {
            ready: count(ready),
            wanted: count(wanted),
            updated: updated.map(count),
            generation,
            observed_generation: observed,
        };
        Ok((
            json!({"ready": ready, "wanted": wanted, "updated": updated, "generation": generation}),
            vec![Observation::Present, replicas],
        ))
    }
}

fn event(event: CoreEvent) -> Event {
    let at = event
        .last_timestamp
        .map(|at| at.0)
        .or(event.event_time.map(|at| at.0))
        .or(event.first_timestamp.map(|at| at.0));
    let about = event.involved_object;
    let place = about
        .namespace
        .map_or_else(String::new, |namespace| format!("{namespace}/"));
    Event {
        at,
        kind: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
        about: format!(
            "{} {place}{}",
            about.kind.unwrap_or_default(),
            about.name.unwrap_or_default()
        ),
        count: event.count.unwrap_or(1),
    }
}

/// Takes out what nobody reads, and what nobody should.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("managedFields");
            if let Some(Value::Object(annotations)) = members.get_mut("annotations") {
                annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
            }
            if let Some(Value::Array(variables)) = members.get_mut("env") {
                for variable in variables {
                    if let Some(value) = variable.get_mut("value") {
                        *value = Value::from("(set)");
                    }
                }
            }
            members.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_variables_and_machinery_are_left_out() {
        let mut object = json!({
            "metadata": {"managedFields": [1], "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}},
            "spec": {"containers": [{"env": [{"name": "PASSWORD", "value": "hush"}, {"name": "B"}]}]},
        });
        tidy(&mut object);
        let expected = json!({
            "metadata": {"annotations": {"a": "b"}},
            "spec": {"containers": [{"env": [{"name": "PASSWORD", "value": "(set)"}, {"name": "B"}]}]},
        });
        assert_eq!(object, expected);
    }
}
