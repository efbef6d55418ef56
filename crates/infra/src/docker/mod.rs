//! Docker engines: containers, images, Swarm; over a unix socket or TCP.

mod check;
mod config;
mod error;
mod exec;
mod image;
mod logs;
mod read;
mod recreate;
mod source;
mod swarm;
mod view;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use interlock_gate::Started;
use interlock_protocol::{Identity, IdentityFact, ResourceId, ResourceKind, ToolKind};
use tokio::sync::OnceCell;

pub use check::{Freshness, UpdateCheck};
pub use image::ImageRef;
pub use logs::{LogQuery, Logs};
pub use recreate::Recreated;
pub use view::{Container, Details, Event, Image, Mount, Processes, Usage};

use crate::{BoxFuture, Error, meant, options};

/// How long a question may take.
const READ: Duration = Duration::from_secs(15);
/// How long the engine may take to say which one it is.
const IDENTITY: Duration = Duration::from_secs(8);
/// How long a change may take: stopping waits for the process to end by itself.
const WRITE: Duration = Duration::from_mins(1);
/// How long stopping waits before it kills, in seconds.
const STOP_GRACE: i32 = 10;
/// A Docker engine. Cheap to clone.
#[derive(Clone)]
pub struct Docker {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    address: Address,
    runs_on: Option<ResourceId>,
    id: ResourceId,
    client: OnceCell<bollard::Docker>,
    /// The id of the engine when it last said it.
    engine: Mutex<String>,
    /// Which containers have `timeout`, by their ids.
    timeouts: Mutex<BTreeMap<String, bool>>,
}

#[derive(Debug, Clone)]
enum Address {
    Unix(String),
    Tcp(String),
}

impl fmt::Debug for Docker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Docker")
            .field("name", &self.inner.name)
            .field("address", &self.inner.address)
            .finish_non_exhaustive()
    }
}

impl Docker {
    /// Prepares a connection; nothing is reached yet.
    pub fn new(options: &options::Docker) -> Result<Self, Error> {
        let wrong = |message: String| Error::Configuration {
            connection: options.name.clone(),
            message,
        };
        let id = ResourceId::global(ResourceKind::DockerHost, &options.name)
            .map_err(|error| wrong(format!("`name`: {error}")))?;
        // The name is also the middle part of its containers' ids.
        ResourceId::hosted(ResourceKind::DockerContainer, &options.name, "a")
            .map_err(|error| wrong(format!("`name`: {error}")))?;
        let address = match options.url.split_once("://") {
            Some(("unix", path)) if path.starts_with('/') => Address::Unix(path.to_owned()),
            Some(("tcp" | "http", address)) if is_host_and_port(address) => {
                Address::Tcp(address.trim_end_matches('/').to_owned())
            }
            _ => {
                return Err(wrong(
                    "`url` must be unix:///PATH, tcp://HOST:PORT or http://HOST:PORT".to_owned(),
                ));
            }
        };
        Ok(Self {
            inner: Arc::new(Inner {
                name: options.name.clone(),
                address,
                runs_on: options.runs_on.clone(),
                id,
                client: OnceCell::new(),
                engine: Mutex::default(),
                timeouts: Mutex::default(),
            }),
        })
    }

    /// What the host is called here.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The host as a resource.
    pub fn id(&self) -> &ResourceId {
        &self.inner.id
    }

    /// The guest or host that it runs on.
    pub fn runs_on(&self) -> Option<&ResourceId> {
        self.inner.runs_on.as_ref()
    }

    /// A container of this host as a resource.
    pub fn container_id(&self, name: &str) -> Option<ResourceId> {
        ResourceId::hosted(ResourceKind::DockerContainer, &self.inner.name, name).ok()
    }

    /// The address and the id of the engine. A container's own id is left out: an update gives it another one, and its name
    /// on its engine says which it is.
    pub async fn identity(&self) -> Result<Identity, Error> {
        let client = self.client().await?;
        let info = self.within(IDENTITY, "the engine", client.info()).await;
        let mut identity = self.address_identity();
        match info {
            Ok(info) => {
                let id = info.id.unwrap_or_default();
                (*self.inner.engine.lock().unwrap_or_else(PoisonError::into_inner)).clone_from(&id);
                identity.insert(IdentityFact::DockerEngine, id);
            }
            Err(error @ (Error::Unreachable { .. } | Error::TimedOut { .. })) => return Err(error),
            // A proxy in front of the engine may not pass this question on.
            Err(_) => {}
        }
        Ok(identity)
    }

    /// What was known when the engine last said which one it is: it may be slow to answer once.
    fn last_identity(&self) -> Identity {
        let engine = self.inner.engine.lock().unwrap_or_else(PoisonError::into_inner);
        self.address_identity()
            .with(IdentityFact::DockerEngine, engine.as_str())
    }

    fn address_identity(&self) -> Identity {
        let address = match &self.inner.address {
            Address::Unix(path) => format!("unix://{path}"),
            Address::Tcp(address) => format!("tcp://{address}"),
        };
        Identity::default().with(IdentityFact::Endpoint, address)
    }

    /// The client, after it was found out which version both sides speak.
    async fn client(&self) -> Result<&bollard::Docker, Error> {
        self.inner
            .client
            .get_or_try_init(|| async {
                let seconds = WRITE.as_secs() + READ.as_secs();
                let version = bollard::API_DEFAULT_VERSION;
                let client = match &self.inner.address {
                    Address::Unix(path) => bollard::Docker::connect_with_unix(path, seconds, version),
                    Address::Tcp(address) => bollard::Docker::connect_with_http(address, seconds, version),
                }
                .map_err(|error| self.error("the engine", error))?;
                self.within(READ, "the engine", client.negotiate_version()).await
            })
            .await
    }

    /// Runs a request within its time. Behind pointers: what engines say about containers is large.
    fn within<'a, Answer: Send + 'a>(
        &'a self,
        time: Duration,
        what: &'a str,
        request: impl Future<Output = Result<Answer, bollard::errors::Error>> + Send + 'a,
    ) -> BoxFuture<'a, Result<Answer, Error>> {
        let request = Box::pin(request);
        Box::pin(async move {
            match tokio::time::timeout(time, request).await {
                Ok(answer) => answer.map_err(|error| self.error(what, error)),
                Err(_) => Err(Error::TimedOut {
                    connection: self.inner.name.clone(),
                    seconds: time.as_secs(),
                }),
            }
        })
    }

    /// Makes sure that a plan changes this very container, and that its name can be part of an address.
    fn is_changed_by(&self, started: &Started, container: &str) -> Result<(), Error> {
        let id = self.checked(container)?;
        meant::to_be_changed(started, &id)
    }

    /// Makes sure that a plan is about this very container, and that its name can be part of an address.
    fn is_meant_by(&self, started: &Started, container: &str) -> Result<ResourceId, Error> {
        let id = self.checked(container)?;
        let plan = started.plan();
        match &plan.target {
            Some(target) if target.id == id => Ok(id),
            // A read of what was not discovered has no target.
            None if plan.kind != ToolKind::Write => Ok(id),
            _ => Err(Error::Unsupported(format!("the plan is not about `{id}`"))),
        }
    }

    /// A container's name goes into the address of a request: only what can be one.
    fn checked(&self, container: &str) -> Result<ResourceId, Error> {
        self.container_id(container)
            .filter(|_| !container.contains('/'))
            .ok_or_else(|| Error::NotFound {
                what: format!(
                    "a container named `{}`",
                    container.escape_debug().take(80).collect::<String>()
                ),
            })
    }
}

fn is_host_and_port(address: &str) -> bool {
    let address = address.trim_end_matches('/');
    let Some((host, port)) = address.rsplit_once(':') else {
        return false;
    };
    !host.is_empty()
        && port.parse::<u16>().is_ok()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(name: &str, url: &str) -> options::Docker {
        options::Docker {
            name: name.to_owned(),
            url: url.to_owned(),
            runs_on: None,
        }
    }

    #[test]
    fn addresses_that_are_none_are_refused_at_once() {
        for (name, url, good) in [
            ("server1", "unix:///var/run/docker.sock", true),
            ("server1", "tcp://192.0.2.20:2375", true),
            ("server1", "http://localhost:2375/", true),
            ("server1", "tcp://[::1]:2375", true),
            ("server1", "unix://relative", false),
            ("server1", "tcp://host", false),
            ("server1", "tcp://user:pw@host:2375", false),
            ("server1", "https://host:2376", false),
            ("server1", "", false),
            ("two words", "tcp://host:2375", false),
            ("a/b", "tcp://host:2375", false),
        ] {
            let made = Docker::new(&options(name, url));
            assert_eq!(made.is_ok(), good, "{name} {url}");
        }
    }
}
