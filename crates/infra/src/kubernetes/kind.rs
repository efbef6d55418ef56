//! The kinds of objects that are known, and how their ids are written.

use interlock_protocol::{ResourceId, ResourceKind};

use super::Kubernetes;
use crate::Error;

/// The longest name of an object.
const MOST_NAME: usize = 253;

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A machine of the cluster.
    Node,
    /// A namespace.
    Namespace,
    /// A pod.
    Pod,
    /// A deployment.
    Deployment,
    /// A stateful set.
    StatefulSet,
    /// A daemon set.
    DaemonSet,
    /// A service in front of pods.
    Service,
}

impl Kind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Node,
        Self::Namespace,
        Self::Pod,
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Service,
    ];

    /// The kind of resource that it is.
    pub const fn resource(self) -> ResourceKind {
        match self {
            Self::Node => ResourceKind::KubernetesNode,
            Self::Namespace => ResourceKind::KubernetesNamespace,
            Self::Pod => ResourceKind::KubernetesPod,
            Self::Deployment => ResourceKind::KubernetesDeployment,
            Self::StatefulSet => ResourceKind::KubernetesStatefulSet,
            Self::DaemonSet => ResourceKind::KubernetesDaemonSet,
            Self::Service => ResourceKind::KubernetesService,
        }
    }

    /// The kind of a resource, where it is one of these.
    pub fn of(kind: ResourceKind) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.resource() == kind)
    }

    /// Whether its objects live in namespaces.
    pub const fn is_namespaced(self) -> bool {
        match self {
            Self::Node | Self::Namespace => false,
            Self::Pod | Self::Deployment | Self::StatefulSet | Self::DaemonSet | Self::Service => true,
        }
    }

    /// What Kubernetes calls it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::Pod => "Pod",
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Service => "Service",
        }
    }
}

impl Kubernetes {
    /// The id of an object of this cluster.
    pub fn object_id(&self, kind: Kind, namespace: Option<&str>, name: &str) -> Option<ResourceId> {
        let uid = match (kind.is_namespaced(), namespace) {
            (true, Some(namespace)) => format!("{namespace}/{name}"),
            (true, None) => return None,
            (false, _) => name.to_owned(),
        };
        ResourceId::hosted(kind.resource(), self.name(), &uid).ok()
    }

    /// The kind, namespace and name of an object of this cluster.
    pub(super) fn parts<'a>(&self, id: &'a ResourceId) -> Result<(Kind, Option<&'a str>, &'a str), Error> {
        let missing = || Error::NotFound {
            what: format!("`{id}` in the cluster `{}`", self.name()),
        };
        if id.host() != Some(self.name()) {
            return Err(missing());
        }
        let kind = Kind::of(id.kind()).ok_or_else(missing)?;
        let (namespace, name) = match (kind.is_namespaced(), id.uid().split_once('/')) {
            (true, Some((namespace, name))) => (Some(namespace), name),
            (false, None) => (None, id.uid()),
            (true, None) | (false, Some(_)) => return Err(missing()),
        };
        namespace.map(checked).transpose()?;
        checked(name)?;
        Ok((kind, namespace, name))
    }
}

/// A name goes into the address of a request: only what can be one.
pub(super) fn checked(name: &str) -> Result<&str, Error> {
    let takes = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | ':');
    let fits = !name.is_empty()
        && name.len() <= MOST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !name.contains("..")
        && name.chars().all(takes);
    fits.then_some(name).ok_or_else(|| Error::NotFound {
        what: format!("`{}`", name.escape_debug().take(80).collect::<String>()),
    })
}
