//! Kubernetes clusters: nodes, workloads, pods, services, events, logs; and changing a workload.

mod client;
mod identity;
mod kind;
mod list;
mod read;
mod source;
mod write;

use std::fmt;
use std::sync::Arc;

use interlock_protocol::{ResourceId, ResourceKind};
use kube::config::Kubeconfig;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::OnceCell;

pub use kind::Kind;
pub use list::Object;
pub use read::{Event, LogTail};

use crate::options;
use crate::{Error, Secrets};

/// A Kubernetes cluster. Cheap to clone.
#[derive(Clone)]
pub struct Kubernetes {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    id: ResourceId,
    access: Access,
    client: OnceCell<kube::Client>,
}

/// How the cluster is reached.
enum Access {
    Kubeconfig {
        config: Box<Kubeconfig>,
        context: Option<String>,
    },
    Url {
        url: http::Uri,
        token: Option<SecretString>,
        authority: Option<Vec<Vec<u8>>>,
    },
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kubernetes").field(&self.inner.name).finish()
    }
}

impl Kubernetes {
    /// Prepares a connection; nothing is reached yet.
    pub fn new(options: &options::Kubernetes, secrets: &Secrets) -> Result<Self, Error> {
        let wrong = |message: String| Error::Configuration {
            connection: options.name.clone(),
            message,
        };
        let id = ResourceId::global(ResourceKind::KubernetesCluster, &options.name)
            .map_err(|error| wrong(format!("`name`: {error}")))?;
        // The name is also the middle part of the ids of everything in it.
        ResourceId::hosted(ResourceKind::KubernetesNode, &options.name, "a")
            .map_err(|error| wrong(format!("`name`: {error}")))?;
        if options.tls.fingerprint.is_some() {
            return Err(wrong(
                "`tls.fingerprint` is not for Kubernetes; name the cluster's authority with `tls.ca_file`"
                    .to_owned(),
            ));
        }
        let access = match (&options.kubeconfig, &options.url) {
            (Some(path), None) => {
                let config = Kubeconfig::read_from(path)
                    .map_err(|error| wrong(format!("`{}`: {error}", path.display())))?;
                no_programs(&config).map_err(wrong)?;
                Access::Kubeconfig {
                    config: Box::new(config),
                    context: options.context.clone(),
                }
            }
            (None, Some(url)) => Access::Url {
                url: url
                    .parse::<http::Uri>()
                    .ok()
                    .filter(|url| matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some())
                    .ok_or_else(|| {
                        wrong("`url` must begin with http:// or https:// and name a host".to_owned())
                    })?,
                token: options
                    .token_env
                    .as_ref()
                    .map(|variable| {
                        secrets
                            .get(variable)
                            .ok_or_else(|| wrong(format!("the environment variable `{variable}` is not set")))
                    })
                    .transpose()?,
                authority: options
                    .tls
                    .ca_file
                    .as_ref()
                    .map(|path| {
                        authority(path).map_err(|error| wrong(format!("`{}`: {error}", path.display())))
                    })
                    .transpose()?,
            },
            (Some(_), Some(_)) => {
                return Err(wrong("give either `kubeconfig` or `url`, not both".to_owned()));
            }
            (None, None) => return Err(wrong("give `kubeconfig`, or `url` and `token_env`".to_owned())),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                name: options.name.clone(),
                id,
                access,
                client: OnceCell::new(),
            }),
        })
    }

    /// What it is called in the configuration.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// It as a resource.
    pub fn id(&self) -> &ResourceId {
        &self.inner.id
    }
}

/// A kubeconfig may name a program that signs in. Nothing but the room `exec` starts one.
fn no_programs(config: &Kubeconfig) -> Result<(), String> {
    let starts = config.auth_infos.iter().any(|user| {
        user.auth_info
            .as_ref()
            .is_some_and(|info| info.exec.is_some() || info.auth_provider.is_some())
    });
    let unchecked = config.clusters.iter().any(|cluster| {
        cluster
            .cluster
            .as_ref()
            .is_some_and(|cluster| cluster.insecure_skip_tls_verify == Some(true))
    });
    if unchecked {
        return Err(
            "its kubeconfig does not check who answers (`insecure-skip-tls-verify`), so that anybody could take its \
             credentials; give the authority of its certificate instead"
                .to_owned(),
        );
    }
    if starts {
        return Err(
            "its kubeconfig signs in with a program (`exec` or `auth-provider`), which is not started here; use a token \
             or a client certificate"
                .to_owned(),
        );
    }
    Ok(())
}

/// The certificates in a PEM file.
fn authority(path: &std::path::Path) -> Result<Vec<Vec<u8>>, String> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject as _;
    let certificates: Vec<Vec<u8>> = CertificateDer::pem_file_iter(path)
        .map_err(|error| error.to_string())?
        .map(|certificate| certificate.map(|certificate| certificate.to_vec()))
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())?;
    if certificates.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    Ok(certificates)
}

impl Access {
    /// The configuration of a client.
    async fn config(&self) -> Result<kube::Config, String> {
        match self {
            Self::Kubeconfig { config, context } => {
                let options = kube::config::KubeConfigOptions {
                    context: context.clone(),
                    ..kube::config::KubeConfigOptions::default()
                };
                kube::Config::from_custom_kubeconfig((**config).clone(), &options)
                    .await
                    .map_err(|error| error.to_string())
            }
            Self::Url {
                url,
                token,
                authority,
            } => {
                let mut config = kube::Config::new(url.clone());
                config.root_cert.clone_from(authority);
                config.auth_info.token = token.as_ref().map(|token| kube_secret(token.expose_secret()));
                Ok(config)
            }
        }
    }
}

/// The client library has its own type for what must not be shown.
fn kube_secret<Secret: From<String>>(text: &str) -> Secret {
    Secret::from(text.to_owned())
}
