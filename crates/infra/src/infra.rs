//! Every connection, and the graph of what they know.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use interlock_protocol::{ResourceId, ResourceKind};

use crate::alertmanager::Alertmanager;
use crate::docker::Docker;
use crate::hosts::Host;
use crate::keeper::{Keeper, Numbered};
use crate::kubernetes::Kubernetes;
use crate::made::{self, Connections, Made, connect, connectors};
use crate::mail::MailGateway;
use crate::prometheus::Prometheus;
use crate::proxmox::Proxmox;
use crate::reach::Sandboxes;
use crate::{Error, Graph, Options, Resource, Secrets, Source, options};

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
    /// The same, with what each was made from.
    all: All,
    /// All of them that make resources known, and those of other rooms.
    sources: Vec<Numbered>,
    keeper: Keeper,
    sandboxes: Arc<Sandboxes>,
    /// Tags from the configuration.
    tags: BTreeMap<ResourceId, BTreeSet<String>>,
}

/// Every connector with what it was made from.
#[derive(Default)]
struct All {
    proxmox: Vec<Made<options::Proxmox, Proxmox>>,
    hosts: Vec<Made<options::Host, Host>>,
    docker: Vec<Made<options::Docker, Docker>>,
    kubernetes: Vec<Made<options::Kubernetes, Kubernetes>>,
    prometheus: Vec<Made<options::Http, Prometheus>>,
    alertmanagers: Vec<Made<options::Http, Alertmanager>>,
    mail_gateways: Vec<Made<options::MailGateway, MailGateway>>,
}

impl fmt::Debug for Infra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(
                self.inner
                    .sources
                    .iter()
                    .map(|numbered| numbered.source.connection()),
            )
            .finish()
    }
}

impl Infra {
    /// Prepares every connection; nothing is reached yet. `further` are sources of other rooms, such as this machine.
    pub fn new(options: &Options, secrets: &Secrets, further: Vec<Arc<dyn Source>>) -> Result<Self, Error> {
        let (infra, _) = Self::make(options, secrets, further, None)?;
        Ok(infra)
    }

    /// The same for another configuration. Connectors that it does not change stay as they are, with their open connections
    /// and what was found out through them. The others are closed when the last call that uses them has ended.
    pub fn reconfigured(
        &self,
        options: &Options,
        secrets: &Secrets,
        further: Vec<Arc<dyn Source>>,
    ) -> Result<(Self, Connections), Error> {
        Self::make(options, secrets, further, Some(self))
    }

    fn make(
        options: &Options,
        secrets: &Secrets,
        further: Vec<Arc<dyn Source>>,
        before: Option<&Self>,
    ) -> Result<(Self, Connections), Error> {
        let none = All::default();
        let old = before.map_or(&none, |before| &before.inner.all);
        let mut count = Connections::default();
        let all = All {
            proxmox: connect(&options.proxmox, &old.proxmox, &mut count, |options| {
                Proxmox::new(options, secrets)
            })?,
            hosts: connect(&options.hosts, &old.hosts, &mut count, |options| {
                Host::new(options, secrets)
            })?,
            docker: connect(&options.docker, &old.docker, &mut count, Docker::new)?,
            kubernetes: connect(&options.kubernetes, &old.kubernetes, &mut count, |options| {
                Kubernetes::new(options, secrets)
            })?,
            prometheus: connect(&options.prometheus, &old.prometheus, &mut count, |options| {
                Prometheus::new(options, secrets)
            })?,
            alertmanagers: connect(&options.alertmanager, &old.alertmanagers, &mut count, |options| {
                Alertmanager::new(options, secrets)
            })?,
            mail_gateways: connect(
                &options.mail_gateways,
                &old.mail_gateways,
                &mut count,
                |options| MailGateway::new(options, secrets),
            )?,
        };
        let mut sources: Vec<Numbered> = further
            .into_iter()
            .map(|source| Numbered {
                number: made::number(),
                source,
            })
            .collect();
        sources.extend(sources_of(&all.proxmox));
        sources.extend(sources_of(&all.hosts));
        sources.extend(sources_of(&all.docker));
        sources.extend(sources_of(&all.kubernetes));
        sources.extend(sources_of(&all.prometheus));
        sources.extend(sources_of(&all.alertmanagers));
        sources.extend(sources_of(&all.mail_gateways));
        unique(&sources)?;
        let infra = Self {
            inner: Arc::new(Inner {
                proxmox: connectors(&all.proxmox),
                hosts: connectors(&all.hosts),
                docker: connectors(&all.docker),
                kubernetes: connectors(&all.kubernetes),
                prometheus: connectors(&all.prometheus),
                alertmanagers: connectors(&all.alertmanagers),
                mail_gateways: connectors(&all.mail_gateways),
                all,
                sources,
                keeper: before.map_or_else(Keeper::default, |before| before.inner.keeper.for_other_sources()),
                sandboxes: before.map_or_else(Arc::default, |before| Arc::clone(&before.inner.sandboxes)),
                tags: options.tags.clone(),
            }),
        };
        Ok((infra, count))
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

fn sources_of<Options, Connector: Source + Clone + 'static>(
    connectors: &[Made<Options, Connector>],
) -> impl Iterator<Item = Numbered> {
    connectors.iter().map(|made| Numbered {
        number: made.number,
        source: Arc::new(made.connector.clone()),
    })
}

/// Two connections of one name and kind could not be told apart in results.
fn unique(sources: &[Numbered]) -> Result<(), Error> {
    let mut seen = BTreeSet::new();
    for Numbered { source, .. } in sources {
        if !seen.insert((source.kind(), source.connection())) {
            return Err(Error::Configuration {
                connection: source.connection().to_owned(),
                message: format!("two `{}` connections have this name; rename one", source.kind()),
            });
        }
    }
    Ok(())
}
