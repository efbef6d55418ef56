//! Putting an alert aside, bringing it back, and saying that it is over. Each for a plan about that very alert.

use std::time::Duration;

use http::Method;
use interlock_gate::Started;
use interlock_protocol::ResourceId;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Alert, Alertmanager};
use crate::Error;
use crate::http::segment;
use crate::meant::to_be_changed;

/// What Alertmanager calls a silence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SilenceId(pub String);

impl Alertmanager {
    /// Puts an alert aside for so long: a silence for exactly its labels.
    pub async fn silence(
        &self,
        started: &Started,
        id: &ResourceId,
        comment: &str,
        long: Duration,
    ) -> Result<SilenceId, Error> {
        #[derive(Deserialize)]
        struct Made {
            #[serde(rename = "silenceID")]
            id: String,
        }
        let alert = self.meant_by(started, id).await?;
        let now = Timestamp::now();
        let long = SignedDuration::try_from(long).unwrap_or(SignedDuration::MAX);
        let until = now.checked_add(long).unwrap_or(Timestamp::MAX);
        let matchers: Vec<Value> = alert
            .labels
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value, "isRegex": false, "isEqual": true}))
            .collect();
        let silence = json!({
            "matchers": matchers,
            "startsAt": now,
            "endsAt": until,
            "createdBy": "interlock",
            "comment": comment,
        });
        let body = self.send(Method::POST, "silences", Some(&silence)).await?;
        let made: Made = serde_json::from_slice(&body).map_err(|error| Error::Protocol {
            connection: self.inner.name.clone(),
            message: format!("it did not name the silence: {error}"),
        })?;
        Ok(SilenceId(made.id))
    }

    /// Ends a silence that covers an alert.
    pub async fn expire(&self, started: &Started, id: &ResourceId, silence: &SilenceId) -> Result<(), Error> {
        let alert = self.meant_by(started, id).await?;
        if !alert.status.silenced_by.contains(&silence.0) {
            return Err(Error::NotFound {
                what: format!("a silence of `{id}` with that id"),
            });
        }
        let path = format!("silence/{}", segment(&silence.0));
        self.send(Method::DELETE, &path, None).await?;
        Ok(())
    }

    /// Says that an alert is over. Whoever sent it may say the opposite again.
    pub async fn resolve(&self, started: &Started, id: &ResourceId) -> Result<(), Error> {
        let alert = self.meant_by(started, id).await?;
        let over = json!([{
            "labels": alert.labels,
            "annotations": alert.annotations,
            "startsAt": alert.starts_at,
            "endsAt": Timestamp::now(),
            "generatorURL": alert.generator,
        }]);
        self.send(Method::POST, "alerts", Some(&over)).await?;
        Ok(())
    }

    /// The alert that a plan is about, as it is now.
    async fn meant_by(&self, started: &Started, id: &ResourceId) -> Result<Alert, Error> {
        to_be_changed(started, id)?;
        self.alert(id).await?.ok_or_else(|| Error::NotFound {
            what: format!("`{id}` on `{}`", self.inner.name),
        })
    }
}
