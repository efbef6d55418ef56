//! Proxmox VE: a client of its API, and the cluster as a source of resources.
//!
//! Reads are typed questions that anyone in this process may ask. What changes a guest takes a
//! [`Started`](interlock_gate::Started) and acts on the resource of that plan and no other. Numbers that come as texts,
//! fields that are left out and nodes that are away are all ordinary here.

mod agent;
mod auth;
mod client;
mod discover;
mod facts;
mod guest;
mod identity;
mod read;
mod task;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

pub use guest::{Guest, GuestKind, GuestStatus};
pub use task::{TaskEnd, Upid};
pub use write::Change;

pub(crate) use agent::MOST_INPUT;

use crate::http::Http;
use crate::options;
use crate::ssh::{self, Ssh};
use crate::{Error, Secrets};

/// A Proxmox VE cluster, reached through one of its nodes. Cheap to clone.
#[derive(Clone)]
pub struct Proxmox {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    /// No other connector of this process has it.
    number: u64,
    http: Http,
    auth: auth::Auth,
    shell: Option<Shell>,
    addresses: Mutex<discover::Addresses>,
    guests: Mutex<identity::Guests>,
}

/// How commands reach the nodes.
struct Shell {
    credentials: ssh::Credentials,
    addresses: BTreeMap<String, String>,
    nodes: Mutex<BTreeMap<String, Ssh>>,
}

impl fmt::Debug for Proxmox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxmox").field(&self.inner.name).finish()
    }
}

impl Proxmox {
    /// Prepares a connection; nothing is reached yet.
    pub fn new(options: &options::Proxmox, secrets: &Secrets) -> Result<Self, Error> {
        let shell = options
            .ssh
            .as_ref()
            .map(|ssh| {
                Ok(Shell {
                    credentials: ssh::Credentials::new(&options.name, ssh, secrets)?,
                    addresses: options.ssh_addresses.clone(),
                    nodes: Mutex::new(BTreeMap::new()),
                })
            })
            .transpose()?;
        Ok(Self {
            inner: Arc::new(Inner {
                name: options.name.clone(),
                number: crate::made::number(),
                http: Http::new(&options.name, &options.url, &options.tls)?,
                auth: auth::Auth::new(options, secrets)?,
                shell,
                addresses: Mutex::default(),
                guests: Mutex::default(),
            }),
        })
    }

    /// What it is called in the configuration.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Another number means another connector.
    pub(crate) fn number(&self) -> u64 {
        self.inner.number
    }

    /// The way into a node, where one is configured.
    pub(crate) fn ssh(&self, node: &str) -> Result<Ssh, Error> {
        let Some(shell) = &self.inner.shell else {
            return Err(Error::Unsupported(format!(
                "commands cannot reach the node `{node}` and its containers: give the Proxmox connection `{}` the key \
                 `ssh` (user, key_file or password_env, known_hosts)",
                self.inner.name
            )));
        };
        let mut nodes = shell.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ssh) = nodes.get(node) {
            return Ok(ssh.clone());
        }
        let address = shell.addresses.get(node).map_or(node, String::as_str);
        let ssh = Ssh::new(&self.inner.name, address, shell.credentials.clone())?;
        nodes.insert(node.to_owned(), ssh.clone());
        Ok(ssh)
    }
}
