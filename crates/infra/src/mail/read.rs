//! What can be asked of a gateway.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::MailGateway;
use crate::Error;
use crate::http::segment;

impl MailGateway {
    /// Its version.
    pub async fn version(&self) -> Result<Value, Error> {
        self.get("/version").await
    }

    /// How each of its machines does: time up, load, memory, disk, services.
    pub async fn status(&self) -> Result<Value, Error> {
        let mut nodes = Vec::new();
        for node in self.nodes().await? {
            let place = format!("/nodes/{}", segment(&node));
            let status = self.get(&format!("{place}/status")).await?;
            // Older gateways, and users with few rights, do not list services.
            let services = self.get(&format!("{place}/services")).await.ok();
            nodes.push(json!({"node": node, "status": status, "services": services}));
        }
        Ok(json!({"version": self.version().await?, "nodes": nodes}))
    }

    /// What waits in the mail queues, by domain and age.
    pub async fn queues(&self) -> Result<Value, Error> {
        let mut queues = Vec::new();
        for node in self.nodes().await? {
            let path = format!("/nodes/{}/postfix/qshape", segment(&node));
            let by_domain = self.get(&path).await?;
            let total: i64 = by_domain
                .as_array()
                .into_iter()
                .flatten()
                .filter(|row| row.get("domain").and_then(Value::as_str) != Some("TOTAL"))
                .filter_map(|row| integer(row.get("total")?))
                .sum();
            queues.push(json!({"node": node, "total": total, "by_domain": by_domain}));
        }
        Ok(Value::Array(queues))
    }

    /// What was caught, over the last so long: scores of spam, and viruses by name; and what is kept in quarantine.
    pub async fn spam(&self, since: SignedDuration) -> Result<Value, Error> {
        let span = span(since);
        Ok(json!({
            "scores": self.get(&format!("/statistics/spamscores{span}")).await?,
            "viruses": self.get(&format!("/statistics/virus{span}")).await?,
            "quarantine": self.quarantine().await?,
        }))
    }

    /// How much spam and how many viruses are kept.
    pub async fn quarantine(&self) -> Result<Value, Error> {
        Ok(json!({
            "spam": self.get("/quarantine/spamstatus").await?,
            "virus": self.get("/quarantine/virusstatus").await?,
        }))
    }

    /// How much mail went through, over the last so long.
    pub async fn statistics(&self, since: SignedDuration) -> Result<Value, Error> {
        let span = span(since);
        Ok(json!({
            "mail": self.get(&format!("/statistics/mail{span}")).await?,
            "domains": self.get(&format!("/statistics/domains{span}")).await?,
        }))
    }

    /// How much mail went through in the last hours, in steps.
    pub async fn recent(&self, hours: u8) -> Result<Value, Error> {
        self.get(&format!("/statistics/recent?hours={}", hours.clamp(1, 24)))
            .await
    }

    /// The domains that it takes mail for.
    pub async fn domains(&self) -> Result<Value, Error> {
        self.get("/config/domains").await
    }

    async fn nodes(&self) -> Result<Vec<String>, Error> {
        let nodes = self.get("/nodes").await?;
        let names: Vec<String> = nodes
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|node| node.get("node")?.as_str().map(str::to_owned))
            .collect();
        if names.is_empty() {
            return Err(self.not_understood("it named none of its machines"));
        }
        Ok(names)
    }
}

fn span(since: SignedDuration) -> String {
    let now = Timestamp::now();
    let from = now.checked_sub(since).unwrap_or(Timestamp::UNIX_EPOCH);
    format!("?starttime={}&endtime={}", from.as_second(), now.as_second())
}

/// A number, or a text that is one: the gateway writes both.
fn integer(value: &Value) -> Option<i64> {
    value
        .as_i64()
        .or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
}
