//! Kubernetes clusters.

use interlock_gate::{Plan, Started};
use interlock_infra::kubernetes::{Kind, Kubernetes, LogTail, Object};
use interlock_protocol::{ErrorCode, Observation, ResourceId, ResourceKind};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::reach::reading;
use crate::Failure;
use crate::local::arguments;
use crate::options::count;
use crate::{Done, Reading};

/// Of how many pods of one workload logs are read.
const MOST_PODS: usize = 3;

/// What a call is about.
struct About {
    clusters: Vec<Kubernetes>,
    /// The object or cluster, where one is named.
    id: Option<ResourceId>,
    namespace: Option<String>,
    name: Option<String>,
}

impl Fleet {
    pub(super) async fn kubernetes(
        &self,
        started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        if self.inner.infra.kubernetes().is_empty() {
            return Err(Failure::failed(
                "no Kubernetes cluster is connected; they are configured under `infrastructure.kubernetes`",
            ));
        }
        let about = self.kubernetes_meant(plan).await?;
        match plan.action.as_deref() {
            Some("clusters") => self.kubernetes_clusters(&about).await,
            Some("nodes") => self.kubernetes_lists(&about, &[Kind::Node]).await,
            Some("namespaces") => self.kubernetes_lists(&about, &[Kind::Namespace]).await,
            Some("pods") => self.kubernetes_lists(&about, &[Kind::Pod]).await,
            Some("deployments") => {
                let workloads = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet];
                self.kubernetes_lists(&about, &workloads).await
            }
            Some("services") => self.kubernetes_lists(&about, &[Kind::Service]).await,
            Some("events") => self.kubernetes_events(&about).await,
            Some("logs") => self.kubernetes_logs(plan, &about).await,
            Some("describe") => self.kubernetes_describe(&about).await,
            Some(action @ ("scale" | "restart" | "delete_pod")) => {
                self.kubernetes_change(started, &about, action).await
            }
            _ => Err(Failure::invalid("`type` is none that this tool has")),
        }
    }

    /// What a workload or pod is doing, by our own question. Nothing where its cluster cannot be asked.
    pub(super) async fn observe_replicas(&self, id: &ResourceId) -> Option<Reading> {
        let cluster = self.cluster_of(id)?;
        let taken_at = Timestamp::now();
        let (data, observations) = match cluster.observe(id).await {
            Ok(seen) => seen,
            Err(interlock_infra::Error::NotFound { .. }) => {
                (json!({"exists": false}), vec![Observation::Absent])
            }
            Err(_) => return None,
        };
        Some(Reading {
            resource: Some(id.clone()),
            taken_at,
            data,
            observations,
            walls: None,
        })
    }

    fn cluster_of(&self, id: &ResourceId) -> Option<&Kubernetes> {
        let host = id.host().filter(|_| Kind::of(id.kind()).is_some());
        self.inner
            .infra
            .kubernetes()
            .iter()
            .find(|cluster| cluster.id() == id || host == Some(cluster.name()))
    }

    async fn kubernetes_meant(&self, plan: &Plan) -> Result<About, Failure> {
        let text = |name: &str| arguments::text(plan, name).filter(|text| !text.is_empty());
        let id = match (&plan.target, text("resource_id").or_else(|| text("cluster"))) {
            (Some(target), _) => Some(target.id.clone()),
            (None, Some(name)) => Some(match name.parse() {
                Ok(id) => id,
                Err(_) => self.named(name).await?,
            }),
            (None, None) => None,
        };
        let clusters = match &id {
            None => self.inner.infra.kubernetes().to_vec(),
            Some(id) => vec![self.cluster_of(id).cloned().ok_or_else(|| {
                Failure::invalid(format!("`{id}` is neither a Kubernetes cluster nor in one"))
                    .detail("resource_id", id.to_string())
            })?],
        };
        let object = id
            .as_ref()
            .filter(|id| Kind::of(id.kind()).is_some_and(Kind::is_namespaced));
        let (namespace, name) = match object.and_then(|id| id.uid().split_once('/')) {
            Some((namespace, name)) => (Some(namespace.to_owned()), Some(name.to_owned())),
            None => (
                text("namespace").map(str::to_owned),
                text("name").map(str::to_owned),
            ),
        };
        Ok(About {
            clusters,
            id,
            namespace,
            name,
        })
    }

    async fn kubernetes_clusters(&self, about: &About) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for cluster in &about.clusters {
            match cluster.version().await {
                Ok(version) => rows.push(json!({"resource_id": cluster.id(), "version": version})),
                Err(error) => problems.push(error.to_string()),
            }
        }
        let data = self.rows("clusters", rows, &problems)?;
        Ok(about.done(taken_at, data, "listed the clusters"))
    }

    async fn kubernetes_lists(&self, about: &About, kinds: &[Kind]) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for cluster in &about.clusters {
            for kind in kinds {
                match cluster.list(*kind, about.namespace.as_deref()).await {
                    Ok(objects) => rows.extend(
                        objects
                            .into_iter()
                            .filter(|object| about.takes(object))
                            .map(|object| json!(object)),
                    ),
                    Err(error) => problems.push(error.to_string()),
                }
            }
        }
        let data = self.rows("objects", rows, &problems)?;
        let mut done = about.done(taken_at, data, "listed objects of Kubernetes");
        // A list that names one workload is a look at it.
        if let (Some(reading), Some(id)) = (&mut done.reading, &about.id)
            && let Some(seen) = self.observe_replicas(id).await
        {
            reading.observations = seen.observations;
        }
        Ok(done)
    }

    async fn kubernetes_events(&self, about: &About) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for cluster in &about.clusters {
            match cluster
                .events(about.namespace.as_deref(), about.name.as_deref())
                .await
            {
                Ok(events) => rows.extend(events.into_iter().map(|event| json!(event))),
                Err(error) => problems.push(error.to_string()),
            }
        }
        let data = self.rows("events", rows, &problems)?;
        Ok(about.done(taken_at, data, "listed events of Kubernetes"))
    }

    async fn kubernetes_logs(&self, plan: &Plan, about: &About) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let cluster = about.cluster()?;
        let namespace = about
            .namespace
            .as_deref()
            .ok_or_else(|| Failure::missing("namespace"))?;
        let name = about.name.as_deref().ok_or_else(|| Failure::missing("name"))?;
        let lines = arguments::count(plan, "lines").unwrap_or_else(|| count(self.inner.options.lines));
        let tail = LogTail {
            container: None,
            lines: i64::try_from(lines).unwrap_or(i64::MAX),
            bytes: self.inner.options.output_bytes.get().into(),
            previous: false,
        };
        let is_pod = about
            .id
            .as_ref()
            .is_some_and(|id| id.kind() == ResourceKind::KubernetesPod);
        let pods = pods_of(cluster, namespace, name, is_pod).await?;
        let mut logs = Vec::new();
        for pod in pods {
            let text = cluster.logs(namespace, &pod.name, &tail).await?;
            logs.push(json!({"pod": pod.id, "state": pod.state, "log": text}));
        }
        let summary = format!("read the logs of {} pods", logs.len());
        Ok(about.done(taken_at, json!({"logs": logs}), &summary))
    }

    async fn kubernetes_describe(&self, about: &About) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let cluster = about.cluster()?;
        let id = match about.id.as_ref().filter(|id| *id != cluster.id()) {
            Some(id) => id.clone(),
            None => find_object(cluster, about).await?,
        };
        let object = cluster.describe(&id).await?;
        let name = id.uid().rsplit('/').next().unwrap_or_default();
        let events = cluster
            .events(about.namespace.as_deref(), Some(name))
            .await
            .unwrap_or_default();
        let data = json!({"resource_id": id, "object": object, "events": events});
        let seen = self.observe_replicas(&id).await;
        let observations = seen.map_or_else(|| vec![Observation::Present], |seen| seen.observations);
        Ok(
            Done::succeeded(data.clone(), "described an object of Kubernetes").with_reading(Reading {
                resource: Some(id),
                taken_at,
                data,
                observations,
                walls: None,
            }),
        )
    }

    async fn kubernetes_change(
        &self,
        started: &Started,
        about: &About,
        action: &str,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let cluster = about.cluster()?;
        let id = plan.resource().ok_or_else(|| Failure::missing("resource_id"))?;
        let mut data = json!({"resource_id": id, "action": action});
        match action {
            "scale" => {
                let replicas = arguments::count(plan, "replicas")
                    .and_then(|number| u32::try_from(number).ok())
                    .ok_or_else(|| Failure::missing("replicas"))?;
                data["replicas"] = replicas.into();
                cluster.scale(started, id, replicas).await?;
            }
            "restart" => cluster.restart(started, id).await?,
            _ => cluster.delete_pod(started, id).await?,
        }
        let done = Done::succeeded(data, format!("the cluster took the {action}"));
        // For people: only a later, separate reading verifies.
        Ok(match self.observe_replicas(id).await {
            Some(reading) => done.with_reading(reading),
            None => done,
        })
    }
}

impl About {
    /// The one cluster.
    fn cluster(&self) -> Result<&Kubernetes, Failure> {
        match self.clusters.as_slice() {
            [one] => Ok(one),
            _ => Err(Failure::invalid(
                "there are several clusters; name one with `cluster`",
            )),
        }
    }

    fn takes(&self, object: &Object) -> bool {
        let same = |name: &String| object.name == *name || object.name.starts_with(&format!("{name}-"));
        self.name.as_ref().is_none_or(same)
    }

    fn done(&self, taken_at: Timestamp, data: Value, summary: &str) -> Done {
        let done = Done::succeeded(data.clone(), summary);
        done.with_reading(match &self.id {
            Some(id) => reading(id, taken_at, data, Vec::new()),
            None => Reading {
                resource: None,
                taken_at,
                data,
                observations: Vec::new(),
                walls: None,
            },
        })
    }
}

/// One pod by its name, or the pods of a workload.
async fn pods_of(
    cluster: &Kubernetes,
    namespace: &str,
    name: &str,
    is_pod: bool,
) -> Result<Vec<Object>, Failure> {
    let mut pods = cluster.list(Kind::Pod, Some(namespace)).await?;
    let exact = is_pod || pods.iter().any(|pod| pod.name == name);
    pods.retain(|pod| {
        if exact {
            pod.name == name
        } else {
            pod.name.starts_with(&format!("{name}-"))
        }
    });
    pods.truncate(MOST_PODS);
    if pods.is_empty() {
        return Err(Failure::new(
            ErrorCode::NotFound,
            format!("there is no pod `{namespace}/{name}`, nor one of a workload of that name"),
        ));
    }
    Ok(pods)
}

/// The object that a namespace and a name mean, whatever its kind.
async fn find_object(cluster: &Kubernetes, about: &About) -> Result<ResourceId, Failure> {
    let name = about.name.as_deref().ok_or_else(|| Failure::missing("name"))?;
    for kind in Kind::ALL {
        if kind.is_namespaced() != about.namespace.is_some() {
            continue;
        }
        let objects = cluster.list(*kind, about.namespace.as_deref()).await?;
        if let Some(found) = objects.into_iter().find(|object| object.name == name) {
            return Ok(found.id);
        }
    }
    Err(Failure::new(
        ErrorCode::NotFound,
        format!("nothing in the cluster `{}` is named `{name}`", cluster.name()),
    ))
}
