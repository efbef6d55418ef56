//! What an operator says about connections: the key `infrastructure` of the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use interlock_protocol::ResourceId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What Interlock is connected to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Whether the machine that Interlock runs on is one of the resources.
    pub local: bool,
    /// Proxmox VE clusters or single nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proxmox: Vec<Proxmox>,
    /// Docker hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub docker: Vec<Docker>,
    /// Kubernetes clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kubernetes: Vec<Kubernetes>,
    /// Prometheus servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prometheus: Vec<Http>,
    /// Alertmanagers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alertmanager: Vec<Http>,
    /// Proxmox Mail Gateways.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mail_gateways: Vec<MailGateway>,
    /// Hosts that are reached by SSH.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
    /// Tags of resources, by their ids: `lxc:delly:141: [prod]`. They add to the tags that providers report.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, BTreeSet<String>>")]
    pub tags: BTreeMap<ResourceId, BTreeSet<String>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            local: true,
            proxmox: Vec::new(),
            docker: Vec::new(),
            kubernetes: Vec::new(),
            prometheus: Vec::new(),
            alertmanager: Vec::new(),
            mail_gateways: Vec::new(),
            hosts: Vec::new(),
            tags: BTreeMap::new(),
        }
    }
}

impl Options {
    /// How each connection that may use TLS knows the other side.
    pub fn tls_mut(&mut self) -> impl Iterator<Item = &mut Tls> {
        let proxmox = self.proxmox.iter_mut().map(|cluster| &mut cluster.tls);
        let kubernetes = self.kubernetes.iter_mut().map(|cluster| &mut cluster.tls);
        let http = self.prometheus.iter_mut().chain(&mut self.alertmanager);
        let mail = self.mail_gateways.iter_mut().map(|gateway| &mut gateway.tls);
        proxmox
            .chain(kubernetes)
            .chain(http.map(|server| &mut server.tls))
            .chain(mail)
    }

    /// The files with keys: nothing that a model does may reach them.
    pub fn key_files(&self) -> impl Iterator<Item = &PathBuf> {
        let ssh = self.proxmox.iter().filter_map(|cluster| cluster.ssh.as_ref());
        let hosts = self.hosts.iter().map(|host| &host.ssh);
        let kubeconfigs = self
            .kubernetes
            .iter()
            .filter_map(|cluster| cluster.kubeconfig.as_ref());
        ssh.chain(hosts)
            .flat_map(|ssh| ssh.key_file.iter().chain(std::iter::once(&ssh.known_hosts)))
            .chain(kubeconfigs)
    }
}

/// How the other side of TLS is known.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// A file with the authority that signed its certificate, in PEM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// The SHA-256 of its certificate, as Proxmox shows it: `AA:BB:…`. That very certificate and no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// A Proxmox VE cluster, reached through one of its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proxmox {
    /// What it is called here.
    pub name: String,
    /// Where it is: `https://delly.lan:8006`.
    pub url: String,
    /// The API token: `user@realm!name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
    /// The environment variable with the token's secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_secret_env: Option<String>,
    /// The user, with its realm, where no token is used: `root@pam`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The environment variable with that user's password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// How its certificate is known.
    #[serde(default)]
    pub tls: Tls,
    /// How commands reach its nodes and containers. Left out, commands run in virtual machines with a guest agent only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<Ssh>,
    /// Where each node listens for SSH, if not at its own name: `delly: 192.0.2.10:22`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ssh_addresses: BTreeMap<String, String>,
}

/// How to sign in by SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ssh {
    /// The user.
    pub user: String,
    /// A file with the private key, in OpenSSH's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// The environment variable with the password, or with the passphrase of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// A file with the known host keys, in OpenSSH's format. A host whose key is not in it is not talked to.
    pub known_hosts: PathBuf,
}

/// A Docker host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Docker {
    /// What the host is called here.
    pub name: String,
    /// Where its engine listens: `unix:///var/run/docker.sock`, `tcp://192.0.2.20:2375`.
    pub url: String,
    /// The guest or host that it runs on: `lxc:delly:141`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub runs_on: Option<ResourceId>,
}

/// A Kubernetes cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kubernetes {
    /// What it is called here.
    pub name: String,
    /// A kubeconfig file; left out, `url` is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig; left out, its current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Where its API is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The environment variable with the bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// How its certificate is known.
    #[serde(default)]
    pub tls: Tls,
}

/// A server that speaks HTTP: Prometheus, Alertmanager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// What it is called here.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// The environment variable with the bearer token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// The user, for basic authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The environment variable with that user's password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// How its certificate is known.
    #[serde(default)]
    pub tls: Tls,
}

/// A Proxmox Mail Gateway. It has no API tokens: a user signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailGateway {
    /// What it is called here.
    pub name: String,
    /// Where it is: `https://mail.lan:8006`.
    pub url: String,
    /// The user, with its realm: `audit@pmg`.
    pub user: String,
    /// The environment variable with that user's password.
    pub password_env: String,
    /// How its certificate is known.
    #[serde(default)]
    pub tls: Tls,
    /// The guest or host that it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub runs_on: Option<ResourceId>,
}

/// A host that is reached by SSH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What it is called here.
    pub name: String,
    /// Where it listens: `192.0.2.30:22`.
    pub address: String,
    /// How to sign in.
    pub ssh: Ssh,
}
