//! Changing workloads. Each for a plan about that very object.

use interlock_gate::Started;
use interlock_protocol::{IdentityFact, ResourceId};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;

use super::{Kind, Kubernetes};
use crate::Error;
use crate::meant::to_be_changed;

impl Kubernetes {
    /// Sets how many replicas a deployment or stateful set has.
    pub async fn scale(&self, started: &Started, id: &ResourceId, replicas: u32) -> Result<(), Error> {
        let (kind, namespace, name) = self.meant_by(started, id)?;
        let client = self.client().await?;
        let what = format!("`{id}`");
        let params = PatchParams::default();
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        match kind {
            Kind::Deployment => {
                let api: Api<Deployment> = Api::namespaced(client, namespace);
                self.within(&what, api.patch_scale(name, &params, &patch)).await?;
            }
            Kind::StatefulSet => {
                let api: Api<StatefulSet> = Api::namespaced(client, namespace);
                self.within(&what, api.patch_scale(name, &params, &patch)).await?;
            }
            other => return Err(cannot("be scaled", other)),
        }
        Ok(())
    }

    /// Replaces the pods of a workload one after the other, as `kubectl rollout restart` does.
    pub async fn restart(&self, started: &Started, id: &ResourceId) -> Result<(), Error> {
        let (kind, namespace, name) = self.meant_by(started, id)?;
        let client = self.client().await?;
        let what = format!("`{id}`");
        match kind {
            Kind::Deployment => {
                let api: Api<Deployment> = Api::namespaced(client, namespace);
                self.within(&what, api.restart(name)).await?;
            }
            Kind::StatefulSet => {
                let api: Api<StatefulSet> = Api::namespaced(client, namespace);
                self.within(&what, api.restart(name)).await?;
            }
            Kind::DaemonSet => {
                let api: Api<DaemonSet> = Api::namespaced(client, namespace);
                self.within(&what, api.restart(name)).await?;
            }
            other => return Err(cannot("be restarted", other)),
        }
        Ok(())
    }

    /// Deletes a pod; what made it makes another.
    pub async fn delete_pod(&self, started: &Started, id: &ResourceId) -> Result<(), Error> {
        let (kind, namespace, name) = self.meant_by(started, id)?;
        if kind != Kind::Pod {
            return Err(cannot("be deleted here", kind));
        }
        let api: Api<Pod> = Api::namespaced(self.client().await?, namespace);
        // The cluster itself makes sure that it is this very pod, and not another that took its name since.
        let meant = started.plan().target.as_ref();
        let uid = meant.and_then(|target| target.identity.get(IdentityFact::ObjectUid));
        let params = DeleteParams {
            preconditions: uid.map(|uid| Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        self.within(&format!("`{id}`"), api.delete(name, &params)).await?;
        Ok(())
    }

    fn meant_by<'a>(&self, started: &Started, id: &'a ResourceId) -> Result<(Kind, &'a str, &'a str), Error> {
        to_be_changed(started, id)?;
        let (kind, namespace, name) = self.parts(id)?;
        let namespace = namespace.ok_or_else(|| cannot("be changed", kind))?;
        Ok((kind, namespace, name))
    }
}

fn cannot(what: &str, kind: Kind) -> Error {
    Error::Unsupported(format!("a {} cannot {what}", kind.as_str()))
}
