//! Prometheus: questions in `PromQL`, and what it knows of series, alerts, rules and targets.

mod credentials;
mod read;
mod value;

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub(crate) use credentials::Credentials;
pub use read::{Alert, Rule, Target};
pub use value::{Answer, Labels, Point, Range, Sample, Series};

use crate::http::{self, Http, Request, message};
use crate::options;
use crate::{BoxFuture, Error, Resource, Secrets, Source};

/// A question longer than this is posted: proxies and servers cut long addresses.
const LONG_QUESTION: usize = 1024;

/// A Prometheus server. Cheap to clone.
#[derive(Clone)]
pub struct Prometheus {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    http: Http,
    credentials: Credentials,
}

impl fmt::Debug for Prometheus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Prometheus").field(&self.inner.name).finish()
    }
}

/// The envelope of every answer.
#[derive(Deserialize)]
struct Envelope<Data> {
    status: Status,
    data: Option<Data>,
    #[serde(default)]
    error: String,
    #[serde(default, rename = "errorType")]
    error_type: String,
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    infos: Vec<String>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Success,
    Error,
}

impl Prometheus {
    /// Prepares a connection; nothing is reached yet.
    pub fn new(options: &options::Http, secrets: &Secrets) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner {
                name: options.name.clone(),
                http: Http::new(&options.name, &options.url, &options.tls)?,
                credentials: Credentials::new(options, secrets)?,
            }),
        })
    }

    /// What it is called in the configuration.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// What it answers to a question: by address if it is short, in the body if it is long.
    async fn ask<Data: DeserializeOwned>(
        &self,
        path: &str,
        pairs: &[(&str, &str)],
    ) -> Result<(Data, Vec<String>), Error> {
        let question = http::form(pairs);
        let mut headers = self.inner.credentials.headers();
        let posted = question.len() > LONG_QUESTION;
        let path = match (posted, question.is_empty()) {
            (true, _) | (false, true) => format!("/api/v1/{path}"),
            (false, false) => format!("/api/v1/{path}?{question}"),
        };
        let request = if posted {
            let body = http::form_body(pairs, &mut headers);
            Request {
                method: ::http::Method::POST,
                path: &path,
                headers,
                body: Some(body),
            }
        } else {
            Request {
                headers,
                ..Request::get(&path)
            }
        };
        let answer = self.inner.http.send(request).await?;
        self.open(&answer)
    }

    /// What only has an address.
    async fn get<Data: DeserializeOwned>(&self, path: &str) -> Result<(Data, Vec<String>), Error> {
        self.ask(path, &[]).await
    }

    fn open<Data: DeserializeOwned>(&self, answer: &http::Answer) -> Result<(Data, Vec<String>), Error> {
        let connection = self.inner.name.clone();
        let parsed = serde_json::from_slice::<Envelope<Data>>(&answer.body);
        let said = match &parsed {
            Ok(envelope) if !envelope.error.is_empty() => {
                message(&format!("{}: {}", envelope.error_type, envelope.error))
            }
            Ok(_) | Err(_) => format!("{} {}", answer.status, message(&answer.reason)),
        };
        match (answer.status, parsed) {
            (401, _) => Err(Error::Unauthorized {
                connection,
                message: said,
            }),
            (403, _) => Err(Error::Forbidden {
                connection,
                message: said,
            }),
            (200..300, Ok(envelope)) if envelope.status == Status::Success => {
                let mut warnings = envelope.warnings;
                warnings.extend(envelope.infos);
                let data = envelope.data.ok_or_else(|| Error::Protocol {
                    connection,
                    message: "an answer without `data`".to_owned(),
                })?;
                Ok((data, warnings))
            }
            (200..300, Err(error)) => Err(Error::Protocol {
                connection,
                message: message(&format!(
                    "{} bytes that are no answer of Prometheus: {error}",
                    answer.body.len()
                )),
            }),
            (status, _) => Err(Error::Refused {
                connection,
                status: Some(status),
                message: said,
            }),
        }
    }
}

impl Source for Prometheus {
    fn connection(&self) -> &str {
        self.name()
    }

    fn kind(&self) -> &'static str {
        "prometheus"
    }

    /// It measures resources that others make known; asking it shows whether it works.
    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async move {
            self.query("vector(1)", None).await?;
            Ok(Vec::new())
        })
    }
}
