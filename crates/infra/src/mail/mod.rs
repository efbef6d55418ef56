//! Proxmox Mail Gateway: how it does, what waits in its queues, what it caught.

mod client;
mod read;

use std::fmt;
use std::sync::Arc;

use interlock_protocol::{Identity, ResourceId, ResourceKind};
use secrecy::SecretString;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::http::Http;
use crate::options;
use crate::{BoxFuture, Error, Resource, Secrets, Source};

/// A Proxmox Mail Gateway. Cheap to clone.
#[derive(Clone)]
pub struct MailGateway {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    id: ResourceId,
    runs_on: Option<ResourceId>,
    http: Http,
    user: String,
    password: SecretString,
    /// Held while someone signs in: everyone else waits and uses the same ticket.
    ticket: Mutex<Option<client::Ticket>>,
}

impl fmt::Debug for MailGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MailGateway").field(&self.inner.name).finish()
    }
}

impl MailGateway {
    /// Prepares a connection; nothing is reached yet.
    pub fn new(options: &options::MailGateway, secrets: &Secrets) -> Result<Self, Error> {
        let wrong = |message: String| Error::Configuration {
            connection: options.name.clone(),
            message,
        };
        let id = ResourceId::global(ResourceKind::MailGateway, &options.name)
            .map_err(|error| wrong(format!("`name`: {error}")))?;
        let password = secrets.get(&options.password_env).ok_or_else(|| {
            wrong(format!(
                "the environment variable `{}` is not set",
                options.password_env
            ))
        })?;
        Ok(Self {
            inner: Arc::new(Inner {
                name: options.name.clone(),
                id,
                runs_on: options.runs_on.clone(),
                http: Http::new(&options.name, &options.url, &options.tls)?,
                user: options.user.clone(),
                password,
                ticket: Mutex::new(None),
            }),
        })
    }

    /// What it is called in the configuration.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The address, and what its certificate is known by.
    pub fn identity(&self) -> Identity {
        self.inner.http.identity()
    }

    /// It as a resource.
    pub fn id(&self) -> &ResourceId {
        &self.inner.id
    }
}

impl Source for MailGateway {
    fn connection(&self) -> &str {
        self.name()
    }

    fn kind(&self) -> &'static str {
        "mail_gateway"
    }

    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async move {
            let version = self.version().await?;
            let mut facts = Map::new();
            if let Some(Value::String(version)) = version.get("version") {
                facts.insert("version".to_owned(), version.as_str().into());
            }
            Ok(vec![Resource {
                id: self.inner.id.clone(),
                name: self.inner.name.clone(),
                aliases: Vec::new(),
                parent: self.inner.runs_on.clone(),
                state: Some("running".to_owned()),
                identity: self.identity(),
                source: self.inner.name.clone(),
                facts,
            }])
        })
    }
}
