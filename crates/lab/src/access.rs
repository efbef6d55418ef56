//! How to reach the lab: addresses and credentials, made up at each start.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

use crate::machine::Isolation;
use crate::proxmox::{Credentials, Server};

/// Addresses and credentials of everything that the lab serves, on loopback only.
#[derive(Debug, Clone, Serialize)]
pub struct Access {
    /// How its machines are kept apart from this system.
    #[serde(flatten)]
    pub isolation: Isolation,
    /// Moves incidents.
    pub control: Control,
    /// The Proxmox VE API.
    pub proxmox: Proxmox,
    /// SSH to the nodes.
    pub ssh: Ssh,
    /// Docker engines.
    pub docker: Vec<Docker>,
    /// The Kubernetes API.
    pub kubernetes: Kubernetes,
    /// Prometheus.
    pub prometheus: Http,
    /// Alertmanager.
    pub alertmanager: Http,
    /// The Mail Gateway API.
    pub mail_gateway: MailGateway,
}

/// What moves incidents.
#[derive(Debug, Clone, Serialize)]
pub struct Control {
    /// Where.
    pub url: String,
    /// The bearer token.
    pub token: String,
}

/// The Proxmox VE API.
#[derive(Debug, Clone, Serialize)]
pub struct Proxmox {
    /// Where, without `/api2/json`.
    pub url: String,
    /// The SHA-256 of its certificate.
    pub fingerprint: String,
    /// A token that may do everything.
    pub token_id: String,
    /// Its secret.
    pub token_secret: String,
    /// A token that may only look.
    pub auditor_token_id: String,
    /// Its secret.
    pub auditor_token_secret: String,
    /// A user.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl Proxmox {
    pub(crate) fn new(server: &Server, credentials: &Credentials) -> Self {
        Self {
            url: server.url(),
            fingerprint: server.identity.fingerprint().to_owned(),
            token_id: credentials.token_id.clone(),
            token_secret: credentials.token_secret.clone(),
            auditor_token_id: credentials.auditor_id.clone(),
            auditor_token_secret: credentials.auditor_secret.clone(),
            user: credentials.user.clone(),
            password: credentials.password.clone(),
        }
    }
}

/// SSH to the nodes.
#[derive(Debug, Clone, Serialize)]
pub struct Ssh {
    /// The user.
    pub user: String,
    /// The file with its private key.
    pub key_file: PathBuf,
    /// The file with the keys of the nodes.
    pub known_hosts: PathBuf,
    /// Where each node listens.
    pub addresses: BTreeMap<String, String>,
}

/// A Docker engine.
#[derive(Debug, Clone, Serialize)]
pub struct Docker {
    /// The host.
    pub name: String,
    /// Where.
    pub url: String,
    /// The guest that it runs in.
    pub runs_on: String,
}

/// The Kubernetes API.
#[derive(Debug, Clone, Serialize)]
pub struct Kubernetes {
    /// The cluster.
    pub name: String,
    /// Where.
    pub url: String,
    /// The file with its certificate.
    pub ca_file: PathBuf,
    /// A configuration for `kubectl`.
    pub kubeconfig: PathBuf,
    /// A token that may do everything.
    pub token: String,
}

/// Something that needs no credentials.
#[derive(Debug, Clone, Serialize)]
pub struct Http {
    /// Where.
    pub url: String,
}

impl Http {
    pub(crate) fn at(address: SocketAddr) -> Self {
        Self {
            url: format!("http://{address}"),
        }
    }
}

/// The Mail Gateway API.
#[derive(Debug, Clone, Serialize)]
pub struct MailGateway {
    /// Where, without `/api2/json`.
    pub url: String,
    /// A user.
    pub user: String,
    /// Its password.
    pub password: String,
    /// The guest that it runs in.
    pub runs_on: String,
}
