//! Alertmanager: what fires, what someone put aside, and putting something aside.

mod client;
mod source;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use interlock_protocol::{AlertState, Identity, Observation, ResourceId, ResourceKind};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use write::SilenceId;

use crate::http::Http;
use crate::options;
use crate::prometheus::Credentials;
use crate::{Error, Secrets};

/// How many alerts are taken.
const MOST: usize = 2000;

/// An Alertmanager. Cheap to clone.
#[derive(Clone)]
pub struct Alertmanager {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    http: Http,
    credentials: Credentials,
}

impl fmt::Debug for Alertmanager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alertmanager").field(&self.inner.name).finish()
    }
}

/// An alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// What its labels hash to.
    #[serde(default)]
    pub fingerprint: String,
    /// Its labels; `alertname` is one.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What is written about it.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Since when it fires.
    #[serde(rename = "startsAt")]
    pub starts_at: Timestamp,
    /// When it counts as over, if nobody says anything more.
    #[serde(rename = "endsAt", default)]
    pub ends_at: Option<Timestamp>,
    /// Where it stands.
    pub status: Standing,
    /// What made it.
    #[serde(rename = "generatorURL", default, skip_serializing_if = "String::is_empty")]
    pub generator: String,
}

/// Where an alert stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Standing {
    /// `active`, `suppressed` or `unprocessed`.
    pub state: String,
    /// The silences that cover it.
    #[serde(rename = "silencedBy", default)]
    pub silenced_by: Vec<String>,
    /// The alerts that make it not worth telling.
    #[serde(rename = "inhibitedBy", default)]
    pub inhibited_by: Vec<String>,
}

impl Alert {
    /// Its name.
    pub fn name(&self) -> &str {
        self.labels.get("alertname").map_or("unnamed", String::as_str)
    }

    /// It as a resource: by its fingerprint, or by name and instance where it has none.
    pub fn id(&self) -> Option<ResourceId> {
        ResourceId::global(ResourceKind::Alert, &self.fingerprint)
            .or_else(|_| {
                let instance = self.labels.get("instance").map_or("", String::as_str);
                ResourceId::global(
                    ResourceKind::Alert,
                    &plain(&format!("{}-{instance}", self.name())),
                )
            })
            .ok()
    }

    /// Where it stands, in our words.
    pub fn state(&self) -> AlertState {
        if self.status.silenced_by.is_empty() {
            AlertState::Active
        } else {
            AlertState::Dismissed
        }
    }

    /// Where it stands, as something that can be expected.
    pub fn observation(&self) -> Observation {
        Observation::Alert { state: self.state() }
    }
}

/// A text of letters, digits and dashes.
fn plain(text: &str) -> String {
    let dashed: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
                c
            } else {
                '-'
            }
        })
        .take(200)
        .collect();
    dashed
        .trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .to_owned()
}

impl Alertmanager {
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

    /// The address, and what its certificate is known by.
    pub fn identity(&self) -> Identity {
        self.inner.http.identity()
    }

    /// What it is called in the configuration.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Every alert: those that fire, those that are put aside, those that others make not worth telling.
    pub async fn alerts(&self) -> Result<Vec<Alert>, Error> {
        let mut alerts = self.all().await?;
        alerts.truncate(MOST);
        Ok(alerts)
    }

    async fn all(&self) -> Result<Vec<Alert>, Error> {
        let path = "alerts?active=true&silenced=true&inhibited=true&unprocessed=true";
        let mut alerts: Vec<Alert> = self.get(path).await?;
        alerts.sort_by(|one, other| {
            one.starts_at
                .cmp(&other.starts_at)
                .then(one.fingerprint.cmp(&other.fingerprint))
        });
        Ok(alerts)
    }

    /// The alert with this id. Nothing where it does not fire any more.
    pub async fn alert(&self, id: &ResourceId) -> Result<Option<Alert>, Error> {
        let alerts = self.all().await?;
        Ok(alerts.into_iter().find(|alert| alert.id().as_ref() == Some(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(fingerprint: &str, labels: &[(&str, &str)]) -> Alert {
        Alert {
            fingerprint: fingerprint.to_owned(),
            labels: labels
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            annotations: BTreeMap::new(),
            starts_at: Timestamp::UNIX_EPOCH,
            ends_at: None,
            status: Standing::default(),
            generator: String::new(),
        }
    }

    #[test]
    fn every_alert_has_an_id_that_fits() {
        let cases = [
            (
                alert("a1b2c3d4e5f60718", &[("alertname", "Down")]),
                Some("alert:a1b2c3d4e5f60718"),
            ),
            (
                alert("", &[("alertname", "Disk full!"), ("instance", "delly:9100")]),
                Some("alert:Disk-full--delly-9100"),
            ),
            (alert("", &[]), Some("alert:unnamed")),
            (alert("../x", &[("alertname", "--")]), None),
        ];
        for (alert, id) in cases {
            assert_eq!(alert.id().map(|id| id.to_string()).as_deref(), id);
        }
    }
}
