//! One request to a cluster, within its time, and what its refusals mean.

use std::future::Future;
use std::time::Duration;

use kube::api::ListParams;
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use super::Kubernetes;
use crate::Error;
use crate::http::{deepest, message};

/// How long one request may take.
pub(super) const TIME: Duration = Duration::from_secs(20);
const CONNECT: Duration = Duration::from_secs(5);
/// How many objects are asked for at once.
const PAGE: u32 = 250;
/// How many objects are taken at all.
const MOST: usize = 5000;

impl Kubernetes {
    pub(super) async fn client(&self) -> Result<Client, Error> {
        let client = self
            .inner
            .client
            .get_or_try_init(|| async {
                let wrong = |message: String| Error::Configuration {
                    connection: self.inner.name.clone(),
                    message,
                };
                // Whoever was first has chosen: any provider of cryptography will do.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let mut config = self.inner.access.config().await.map_err(wrong)?;
                config.connect_timeout = Some(CONNECT);
                config.read_timeout = Some(TIME);
                config.reset_reader_on_write = true;
                config.write_timeout = Some(TIME);
                config.proxy_url = None;
                Client::try_from(config).map_err(|error| wrong(deepest(&error)))
            })
            .await?;
        Ok(client.clone())
    }

    /// Runs a request within its time.
    pub(super) async fn within<Answer>(
        &self,
        what: &str,
        request: impl Future<Output = Result<Answer, kube::Error>>,
    ) -> Result<Answer, Error> {
        match tokio::time::timeout(TIME, request).await {
            Ok(answer) => answer.map_err(|error| self.error(what, error)),
            Err(_) => Err(Error::TimedOut {
                connection: self.inner.name.clone(),
                seconds: TIME.as_secs(),
            }),
        }
    }

    /// All objects, page by page.
    pub(super) async fn all<Object>(&self, what: &str, api: &Api<Object>) -> Result<Vec<Object>, Error>
    where
        Object: Clone + DeserializeOwned + std::fmt::Debug,
    {
        let mut params = ListParams::default().limit(PAGE);
        let mut all = Vec::new();
        loop {
            let page = self.within(what, api.list(&params)).await?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) if all.len() < MOST => params = params.continue_token(&token),
                _ => break,
            }
        }
        all.truncate(MOST);
        Ok(all)
    }

    fn error(&self, what: &str, error: kube::Error) -> Error {
        let connection = self.inner.name.clone();
        match error {
            kube::Error::Api(status) => {
                let message = message(if status.message.is_empty() {
                    &status.reason
                } else {
                    &status.message
                });
                match status.code {
                    401 => Error::Unauthorized { connection, message },
                    403 => Error::Forbidden { connection, message },
                    404 => Error::NotFound {
                        what: format!("{what} in the cluster `{connection}`"),
                    },
                    code => Error::Refused {
                        connection,
                        status: Some(code),
                        message,
                    },
                }
            }
            kube::Error::Service(error) => Error::Unreachable {
                connection,
                cause: message(&deepest(&*error)),
            },
            kube::Error::HyperError(error) => Error::Unreachable {
                connection,
                cause: message(&deepest(&error)),
            },
            other => Error::Protocol {
                connection,
                message: message(&deepest(&other)),
            },
        }
    }
}
