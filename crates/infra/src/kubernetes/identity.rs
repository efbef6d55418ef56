//! Which cluster this is, and which object a name stands for.

use interlock_protocol::{Identity, IdentityFact, ResourceId};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use sha2::{Digest as _, Sha256};

use super::{Kind, Kubernetes};
use crate::Error;
use crate::http::shown_fingerprint;

/// The namespace that every cluster has from its first moment on: its uid is that of the cluster.
const FIRST_NAMESPACE: &str = "kube-system";

impl Kubernetes {
    /// Which cluster this is, and which object has this name in it now.
    pub async fn identity(&self, id: &ResourceId) -> Result<Identity, Error> {
        let (cluster, object) = tokio::join!(self.cluster_identity(), self.uid_of(id));
        let identity = cluster?;
        Ok(match object? {
            Some(uid) => identity.with(IdentityFact::ObjectUid, uid),
            None => identity,
        })
    }

    /// The address, the authority and the uid of the cluster.
    pub(super) async fn cluster_identity(&self) -> Result<Identity, Error> {
        let mut identity = Identity::default();
        if let Ok(config) = self.inner.access.config().await {
            let address = config.cluster_url.to_string();
            identity.insert(IdentityFact::Endpoint, address.trim_end_matches('/'));
            if let Some(authorities) = &config.root_cert {
                let mut hash = Sha256::new();
                for authority in authorities {
                    hash.update(authority);
                }
                identity.insert(IdentityFact::TlsAuthority, shown_fingerprint(&hash.finalize()));
            }
        }
        let api: Api<Namespace> = Api::all(self.client().await?);
        let found = self
            .within("the namespace `kube-system`", api.get(FIRST_NAMESPACE))
            .await;
        if let Some(uid) = known(found.map(|namespace| namespace.metadata))? {
            identity.insert(IdentityFact::KubernetesCluster, uid);
        }
        Ok(identity)
    }

    async fn uid_of(&self, id: &ResourceId) -> Result<Option<String>, Error> {
        let Ok((kind, namespace, name)) = self.parts(id) else {
            return Ok(None);
        };
        let client = self.client().await?;
        let namespace = namespace.unwrap_or("default");
        let what = format!("`{id}`");
        macro_rules! uid {
            ($type:ty, $api:expr) => {{
                let api: Api<$type> = $api;
                known(
                    self.within(&what, api.get(name))
                        .await
                        .map(|found| found.metadata),
                )
            }};
        }
        match kind {
            Kind::Node => uid!(Node, Api::all(client)),
            Kind::Namespace => uid!(Namespace, Api::all(client)),
            Kind::Pod => uid!(Pod, Api::namespaced(client, namespace)),
            Kind::Deployment => uid!(Deployment, Api::namespaced(client, namespace)),
            Kind::StatefulSet => uid!(StatefulSet, Api::namespaced(client, namespace)),
            Kind::DaemonSet => uid!(DaemonSet, Api::namespaced(client, namespace)),
            Kind::Service => uid!(Service, Api::namespaced(client, namespace)),
        }
    }
}

/// The uid, where the object is there and the user may see it.
fn known(found: Result<ObjectMeta, Error>) -> Result<Option<String>, Error> {
    match found {
        Ok(meta) => Ok(meta.uid),
        Err(error @ (Error::Unreachable { .. } | Error::TimedOut { .. })) => Err(error),
        Err(_) => Ok(None),
    }
}
