//! Which machine a resource is, asked live: what a plan's identity is compared with before anything runs.

use std::time::Duration;

use interlock_protocol::{Identity, ResourceId, ResourceKind};

use crate::{Error, Infra};

/// How old the graph may be that says which connection knows an alert.
const SOURCES_FOR: Duration = Duration::from_mins(1);

/// Makes sure that a live look does not contradict the identity that a plan was made for.
pub(crate) fn compare(connection: &str, meant: &Identity, live: &Identity) -> Result<(), Error> {
    let changes = meant.contradictions(live);
    if changes.is_empty() {
        return Ok(());
    }
    Err(Error::AnotherMachine {
        connection: connection.to_owned(),
        changes,
    })
}

impl Infra {
    /// Which machine a resource is now. Asks the connection itself; what was discovered before does not go into it. Empty
    /// where no connection knows it.
    pub async fn identity(&self, id: &ResourceId) -> Result<Identity, Error> {
        match id.kind() {
            ResourceKind::Node
            | ResourceKind::Cluster
            | ResourceKind::Vm
            | ResourceKind::Lxc
            | ResourceKind::Storage => match self.proxmox_of(id).await {
                Ok(proxmox) => proxmox.identity(id).await,
                Err(Error::NotFound { .. }) => Ok(Identity::default()),
                Err(error) => Err(error),
            },
            ResourceKind::Host => {
                let host = self.hosts().iter().find(|host| host.id() == id);
                Ok(host.map(crate::hosts::Host::identity).unwrap_or_default())
            }
            ResourceKind::DockerHost
            | ResourceKind::DockerContainer
            | ResourceKind::DockerService
            | ResourceKind::DockerImage
            | ResourceKind::DockerVolume
            | ResourceKind::DockerNetwork => {
                let name = id.host().unwrap_or_else(|| id.uid());
                match self.docker().iter().find(|docker| docker.name() == name) {
                    Some(docker) => docker.identity().await,
                    None => Ok(Identity::default()),
                }
            }
            ResourceKind::KubernetesCluster
            | ResourceKind::KubernetesNode
            | ResourceKind::KubernetesNamespace
            | ResourceKind::KubernetesPod
            | ResourceKind::KubernetesDeployment
            | ResourceKind::KubernetesStatefulSet
            | ResourceKind::KubernetesDaemonSet
            | ResourceKind::KubernetesJob
            | ResourceKind::KubernetesService => {
                let name = id.host().unwrap_or_else(|| id.uid());
                match self.kubernetes().iter().find(|cluster| cluster.name() == name) {
                    Some(cluster) => cluster.identity(id).await,
                    None => Ok(Identity::default()),
                }
            }
            ResourceKind::MailGateway => {
                let gateway = self.mail_gateways().iter().find(|gateway| gateway.id() == id);
                Ok(gateway
                    .map(crate::mail::MailGateway::identity)
                    .unwrap_or_default())
            }
            ResourceKind::Alert => {
                let graph = self.graph(SOURCES_FOR).await;
                let source = graph.get(id).map(|known| known.source.as_str());
                let known = self
                    .alertmanagers()
                    .iter()
                    .find(|server| Some(server.name()) == source);
                Ok(known
                    .map(crate::alertmanager::Alertmanager::identity)
                    .unwrap_or_default())
            }
            ResourceKind::ToolServer | ResourceKind::Note | ResourceKind::Service => Ok(Identity::default()),
        }
    }
}
