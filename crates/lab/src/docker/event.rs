//! What happened on a host: the last events of it, and those to come.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::broadcast;

use crate::docker::core::lock;

const MOST: usize = 2_000;

#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) kind: &'static str,
    pub(super) action: String,
    pub(super) id: String,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) at: Timestamp,
}

impl Event {
    /// As the API writes it, with the older names too.
    pub(super) fn json(&self) -> Value {
        let mut event = json!({
            "Type": self.kind,
            "Action": self.action,
            "Actor": { "ID": self.id, "Attributes": self.attributes },
            "scope": "local",
            "time": self.at.as_second(),
            "timeNano": i64::try_from(self.at.as_nanosecond()).unwrap_or(i64::MAX),
        });
        if self.kind == "container" {
            event["status"] = json!(self.action);
            event["id"] = json!(self.id);
            event["from"] = json!(self.attributes.get("image"));
        }
        event
    }
}

#[derive(Debug)]
pub(super) struct Events {
    past: Mutex<VecDeque<Event>>,
    news: broadcast::Sender<Event>,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            past: Mutex::default(),
            news: broadcast::channel(256).0,
        }
    }
}

impl Events {
    pub(super) fn tell(&self, event: Event) {
        let mut past = lock(&self.past);
        if past.len() >= MOST {
            past.pop_front();
        }
        past.push_back(event.clone());
        // Sent under the lock, so that a listener neither misses an event nor gets it twice.
        let _ = self.news.send(event);
    }

    /// What happened, and what will.
    pub(super) fn listen(&self) -> (Vec<Event>, broadcast::Receiver<Event>) {
        let past = lock(&self.past);
        (past.iter().cloned().collect(), self.news.subscribe())
    }
}
