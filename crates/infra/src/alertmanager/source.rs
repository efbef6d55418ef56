//! Alerts, for the graph.

use serde_json::{Map, Value, json};

use super::{Alert, Alertmanager};
use crate::{BoxFuture, Error, Resource, Source};

impl Source for Alertmanager {
    fn connection(&self) -> &str {
        self.name()
    }

    fn kind(&self) -> &'static str {
        "alertmanager"
    }

    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async move {
            let alerts = self.alerts().await?;
            Ok(alerts.iter().filter_map(|alert| self.resource(alert)).collect())
        })
    }
}

impl Alertmanager {
    fn resource(&self, alert: &Alert) -> Option<Resource> {
        let id = alert.id()?;
        let name = alert.name().to_owned();
        let mut aliases = vec![name.clone()];
        if let Some(instance) = alert.labels.get("instance") {
            aliases.push(format!("{name} {instance}"));
        }
        let mut facts = Map::new();
        facts.insert("labels".to_owned(), json!(alert.labels));
        facts.insert("starts_at".to_owned(), json!(alert.starts_at));
        for annotation in ["summary", "description"] {
            if let Some(text) = alert.annotations.get(annotation) {
                facts.insert(annotation.to_owned(), Value::from(text.as_str()));
            }
        }
        Some(Resource {
            id,
            name,
            aliases,
            parent: None,
            state: Some(alert.state().as_str().to_owned()),
            identity: self.identity(),
            source: self.inner.name.clone(),
            facts,
        })
    }
}
