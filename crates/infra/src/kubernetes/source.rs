//! A cluster and everything in it, for the graph.

use interlock_protocol::{Identity, IdentityFact};
use serde_json::{Map, Value};

use super::{Kind, Kubernetes, Object};
use crate::{BoxFuture, Error, Resource, Source};

impl Source for Kubernetes {
    fn connection(&self) -> &str {
        self.name()
    }

    fn kind(&self) -> &'static str {
        "kubernetes"
    }

    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async move {
            let (version, identity) = tokio::join!(self.version(), self.cluster_identity());
            let version = version?;
            let identity = identity?;
            let mut all = vec![self.cluster(&version, &identity)];
            let lists =
                futures_util::future::join_all(Kind::ALL.iter().map(|kind| self.list(*kind, None))).await;
            for (kind, list) in Kind::ALL.iter().zip(lists) {
                match list {
                    Ok(objects) => {
                        let objects = objects.into_iter();
                        all.extend(objects.map(|object| self.resource(*kind, object, &identity)));
                    }
                    // A user may be allowed to see some kinds and not others.
                    Err(Error::Forbidden { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(all)
        })
    }
}

impl Kubernetes {
    fn cluster(&self, version: &Value, identity: &Identity) -> Resource {
        let mut facts = Map::new();
        if let Some(version) = version.get("version") {
            facts.insert("version".to_owned(), version.clone());
        }
        Resource {
            id: self.inner.id.clone(),
            name: self.inner.name.clone(),
            aliases: Vec::new(),
            parent: None,
            state: Some("running".to_owned()),
            identity: identity.clone(),
            source: self.inner.name.clone(),
            facts,
        }
    }

    fn resource(&self, kind: Kind, object: Object, cluster: &Identity) -> Resource {
        let mut aliases = Vec::new();
        if kind.is_namespaced() {
            aliases.push(object.name.clone());
        }
        let mut identity = cluster.clone();
        identity.insert(IdentityFact::ObjectUid, object.uid.unwrap_or_default());
        Resource {
            name: object.id.uid().to_owned(),
            id: object.id,
            aliases,
            parent: Some(self.inner.id.clone()),
            state: Some(object.state),
            identity,
            source: self.inner.name.clone(),
            facts: object.facts,
        }
    }
}
