//! Hosts that are reached by SSH and belong to no cluster.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use interlock_protocol::{Identity, IdentityFact, ResourceId, ResourceKind};
use serde_json::Map;
use tokio_util::sync::CancellationToken;

use crate::output::Limits;
use crate::ssh::{Credentials, Ssh};
use crate::{BoxFuture, Error, Resource, Secrets, Source, options};

/// Where a machine keeps the id that it was given when it was installed.
const MACHINE_ID: &str = "/etc/machine-id";

/// 32 hexadecimal digits.
fn is_machine_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A host that is reached by SSH. Cheap to clone.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

struct Inner {
    id: ResourceId,
    name: String,
    ssh: Ssh,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Host").field(&self.inner.name).finish()
    }
}

impl Host {
    /// Prepares a connection; nothing is reached yet.
    pub(crate) fn new(options: &options::Host, secrets: &Secrets) -> Result<Self, Error> {
        let id =
            ResourceId::global(ResourceKind::Host, &options.name).map_err(|error| Error::Configuration {
                connection: options.name.clone(),
                message: format!("its name makes no resource id: {error}"),
            })?;
        let credentials = Credentials::new(&options.name, &options.ssh, secrets)?;
        Ok(Self {
            inner: Arc::new(Inner {
                id,
                name: options.name.clone(),
                ssh: Ssh::new(&options.name, &options.address, credentials)?,
            }),
        })
    }

    /// Its id.
    pub fn id(&self) -> &ResourceId {
        &self.inner.id
    }

    /// The address and the accepted host keys. Nothing is reached for it.
    pub fn identity(&self) -> Identity {
        self.inner.ssh.identity(IdentityFact::Endpoint)
    }

    pub(crate) fn ssh(&self) -> &Ssh {
        &self.inner.ssh
    }
}

impl Source for Host {
    fn connection(&self) -> &str {
        &self.inner.name
    }

    fn kind(&self) -> &'static str {
        "ssh"
    }

    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async {
            let argv = ["cat", "/proc/sys/kernel/hostname", "/proc/uptime", MACHINE_ID].map(str::to_owned);
            let limits = Limits {
                wall: Duration::from_secs(5),
                ..Limits::default()
            };
            let output = self
                .inner
                .ssh
                .exec(&argv, None, limits, &CancellationToken::new())
                .await?;
            let text = output.stdout.text();
            let mut lines = text.lines();
            let called = lines.next().map(str::trim).unwrap_or_default();
            let mut facts = Map::new();
            let uptime = lines
                .next()
                .and_then(|line| line.split('.').next()?.trim().parse::<u64>().ok());
            if let Some(uptime) = uptime {
                facts.insert("uptime_seconds".to_owned(), uptime.into());
            }
            let mut identity = self.identity();
            if let Some(id) = lines.next().map(str::trim).filter(|id| is_machine_id(id)) {
                identity.insert(IdentityFact::MachineId, id);
            }
            let aliases = Some(called)
                .filter(|called| !called.is_empty() && *called != self.inner.name)
                .map(str::to_owned)
                .into_iter()
                .collect();
            Ok(vec![Resource {
                id: self.inner.id.clone(),
                name: self.inner.name.clone(),
                aliases,
                parent: None,
                state: Some("running".to_owned()),
                identity,
                source: self.inner.name.clone(),
                facts,
            }])
        })
    }
}
