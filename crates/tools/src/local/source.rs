//! This machine as one more source of the resource graph.

use interlock_infra::{Error, Resource, Source};
use serde_json::{Map, Value};

use super::{LocalHost, facts};
use crate::BoxFuture;

impl Source for LocalHost {
    fn connection(&self) -> &'static str {
        "local"
    }

    fn kind(&self) -> &'static str {
        "local"
    }

    fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
        Box::pin(async {
            let resource = self.resource();
            Ok(vec![Resource {
                id: resource.id,
                name: resource.name,
                aliases: resource.aliases,
                parent: None,
                state: resource.state,
                identity: resource.identity,
                source: "local".to_owned(),
                facts: match facts::everything() {
                    Value::Object(facts) => facts,
                    _ => Map::new(),
                },
            }])
        })
    }
}
