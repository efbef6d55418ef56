//! Every connection, and the graph of what they know.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use interlock_protocol::{ResourceId, ResourceKind};

use crate::alertmanager::{self, Alertmanager};
use crate::docker::{self, Docker};
use crate::hosts::{self, Host};
use crate::keeper::Keeper;
use crate::kubernetes::{self, Kubernetes};
use crate::mail::{self, MailGateway};
use crate::prometheus::{self, Prometheus};
use crate::proxmox::{self, Proxmox};
use crate::reach::Sandboxes;
use crate::{Error, Graph, Options, Resource, Secrets, Source};

/// How old the graph may be that says which tags a resource has.
const TAGS_FOR: Duration = Duration::from_secs(30);
/// How many parents of parents give their tags.
const MOST_PARENTS: usize = 5;

/// Everything that Interlock is connected to. Cheap to clone.
#[derive(Clone)]
pub struct Infra {
    inner: Arc<Inner>,
}

/// The connectors, each list in the order of the configuration.
struct Inner {
    proxmox: Vec<Proxmox>,
    hosts: Vec<Host>,
    docker: Vec<Docker>,
    kubernetes: Vec<Kubernetes>,
    prometheus: Vec<Prometheus>,
    alertmanagers: Vec<Alertmanager>,
    mail_gateways: Vec<MailGateway>,
    /// All of them that make resources known, and those of other rooms.
    sources: Vec<Arc<dyn Source>>,
    keeper: Keeper,
    sandboxes: Sandboxes,
    /// Tags from the configuration.
    tags: BTreeMap<ResourceId, BTreeSet<String>>,
}

impl fmt::Debug for Infra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.inner.sources.iter().map(|source| source.connection()))
            .finish()
    }
}

impl Infra {
    /// Prepares every connection; nothing is reached yet. `further` are sources of other rooms, such as this machine.
    pub fn new(options: &Options, secrets: &Secrets, further: Vec<Arc<dyn Source>>) -> Result<Self, Error> {
        let proxmox = proxmox::connect(options, secrets)?;
        let hosts = hosts::connect(options, secrets)?;
        let docker = docker::connect(options)?;
        let kubernetes = kubernetes::connect(options, secrets)?;
        let prometheus = prometheus::connect(options, secrets)?;
        let alertmanagers = alertmanager::connect(options, secrets)?;
        let mail_gateways = mail::connect(options, secrets)?;
        let mut sources = further;
        sources.extend(sources_of(&proxmox));
        sources.extend(sources_of(&hosts));
        sources.extend(sources_of(&docker));
        sources.extend(sources_of(&kubernetes));
        sources.extend(sources_of(&prometheus));
        sources.extend(sources_of(&alertmanagers));
        sources.extend(sources_of(&mail_gateways));
        unique(&sources)?;
        Ok(Self {
            inner: Arc::new(Inner {
                proxmox,
                hosts,
                docker,
                kubernetes,
                prometheus,
                alertmanagers,
                mail_gateways,
                sources,
                keeper: Keeper::default(),
                sandboxes: Sandboxes::default(),
                tags: options.tags.clone(),
            }),
        })
    }

    /// What all connections know, not older than this.
    pub async fn graph(&self, not_older: Duration) -> Arc<Graph> {
        self.inner.keeper.graph(&self.inner.sources, not_older).await
    }

    /// The tags that the configuration gives a resource.
    pub fn configured_tags(&self, id: &ResourceId) -> BTreeSet<String> {
        self.inner.tags.get(id).cloned().unwrap_or_default()
    }

    /// The tags of a resource and of everything that it lives on: from the configuration and from providers.
    pub async fn tags(&self, id: &ResourceId) -> BTreeSet<String> {
        let graph = self.graph(TAGS_FOR).await;
        let mut tags = BTreeSet::new();
        let mut at = Some(id.clone());
        for _ in 0..MOST_PARENTS {
            let Some(id) = at else { break };
            tags.extend(self.configured_tags(&id));
            let known = graph.get(&id);
            tags.extend(known.into_iter().flat_map(Resource::tags));
            at = known.and_then(|known| known.parent.clone());
        }
        tags
    }

    pub(crate) fn sandboxes(&self) -> &Sandboxes {
        &self.inner.sandboxes
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.inner.sources.len()
    }

    /// The Proxmox VE clusters.
    pub fn proxmox(&self) -> &[Proxmox] {
        &self.inner.proxmox
    }

    /// The hosts that are reached by SSH.
    pub fn hosts(&self) -> &[Host] {
        &self.inner.hosts
    }

    /// The Docker hosts.
    pub fn docker(&self) -> &[Docker] {
        &self.inner.docker
    }

    /// The Docker host of this id, or of the container with this id.
    pub fn docker_of(&self, id: &ResourceId) -> Option<&Docker> {
        let host = id.host().filter(|_| id.kind() == ResourceKind::DockerContainer);
        self.docker()
            .iter()
            .find(|docker| docker.id() == id || host == Some(docker.name()))
    }

    /// The Kubernetes clusters.
    pub fn kubernetes(&self) -> &[Kubernetes] {
        &self.inner.kubernetes
    }

    /// The Prometheus servers.
    pub fn prometheus(&self) -> &[Prometheus] {
        &self.inner.prometheus
    }

    /// The Alertmanagers.
    pub fn alertmanagers(&self) -> &[Alertmanager] {
        &self.inner.alertmanagers
    }

    /// The Proxmox Mail Gateways.
    pub fn mail_gateways(&self) -> &[MailGateway] {
        &self.inner.mail_gateways
    }
}

fn sources_of<Connector: Source + Clone + 'static>(
    connectors: &[Connector],
) -> impl Iterator<Item = Arc<dyn Source>> {
    connectors
        .iter()
        .map(|connector| Arc::new(connector.clone()) as Arc<dyn Source>)
}

/// Two connections of one name and kind could not be told apart in results.
fn unique(sources: &[Arc<dyn Source>]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for source in sources {
        if !seen.insert((source.kind(), source.connection())) {
            return Err(Error::Configuration {
                connection: source.connection().to_owned(),
                message: format!("two `{}` connections have this name; rename one", source.kind()),
            });
        }
    }
    Ok(())
}
