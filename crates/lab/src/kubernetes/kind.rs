//! The kinds of objects that there are.

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Node,
    Namespace,
    Pod,
    Service,
    ConfigMap,
    Event,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
}

pub(super) const ALL: [Kind; 11] = [
    Kind::Node,
    Kind::Namespace,
    Kind::Pod,
    Kind::Service,
    Kind::ConfigMap,
    Kind::Event,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::Job,
];

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::Namespace => "Namespace",
            Self::Pod => "Pod",
            Self::Service => "Service",
            Self::ConfigMap => "ConfigMap",
            Self::Event => "Event",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
        }
    }

    /// Its name in addresses.
    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Node => "nodes",
            Self::Namespace => "namespaces",
            Self::Pod => "pods",
            Self::Service => "services",
            Self::ConfigMap => "configmaps",
            Self::Event => "events",
            Self::Deployment => "deployments",
            Self::ReplicaSet => "replicasets",
            Self::StatefulSet => "statefulsets",
            Self::DaemonSet => "daemonsets",
            Self::Job => "jobs",
        }
    }

    pub(super) const fn short(self) -> &'static [&'static str] {
        match self {
            Self::Node => &["no"],
            Self::Namespace => &["ns"],
            Self::Pod => &["po"],
            Self::Service => &["svc"],
            Self::ConfigMap => &["cm"],
            Self::Event => &["ev"],
            Self::Deployment => &["deploy"],
            Self::ReplicaSet => &["rs"],
            Self::StatefulSet => &["sts"],
            Self::DaemonSet => &["ds"],
            Self::Job => &[],
        }
    }

    pub(super) const fn group(self) -> &'static str {
        match self {
            Self::Node | Self::Namespace | Self::Pod | Self::Service | Self::ConfigMap | Self::Event => "",
            Self::Deployment | Self::ReplicaSet | Self::StatefulSet | Self::DaemonSet => "apps",
            Self::Job => "batch",
        }
    }

    pub(super) fn api_version(self) -> String {
        match self.group() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        }
    }

    /// How errors call it: `deployments.apps`.
    pub(super) fn qualified(self) -> String {
        match self.group() {
            "" => self.plural().to_owned(),
            group => format!("{}.{group}", self.plural()),
        }
    }

    pub(super) const fn namespaced(self) -> bool {
        !matches!(self, Self::Node | Self::Namespace)
    }

    /// Whether it has a subresource `scale`.
    pub(super) const fn scales(self) -> bool {
        matches!(self, Self::Deployment | Self::ReplicaSet | Self::StatefulSet)
    }

    /// Whether it may be changed.
    pub(super) const fn changes(self) -> bool {
        !matches!(
            self,
            Self::Event | Self::Namespace | Self::ConfigMap | Self::Service
        )
    }

    pub(super) fn find(group: &str, plural: &str) -> Option<Self> {
        ALL.into_iter()
            .find(|kind| kind.group() == group && kind.plural() == plural)
    }
}
