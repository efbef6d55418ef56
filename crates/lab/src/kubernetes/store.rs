//! Objects with their versions, and what happened to them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::kind::Kind;
use super::pods::Life;

const MOST_CHANGES: usize = 4_000;
const MOST_EVENTS: usize = 400;

/// How an object changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Added,
    Modified,
    Deleted,
}

impl How {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Change {
    pub(super) version: u64,
    pub(super) kind: Kind,
    pub(super) how: How,
    pub(super) object: Value,
}

#[derive(Debug)]
pub(super) struct Store {
    objects: BTreeMap<(Kind, String, String), Value>,
    version: u64,
    made: u64,
    changes: VecDeque<Change>,
    pub(super) moved: watch::Sender<u64>,
    /// What pods go through, by uid.
    pub(super) lives: BTreeMap<String, Life>,
    /// Images that can be pulled, and those whose program crashes.
    pub(super) images: Vec<String>,
    pub(super) crashing: Vec<String>,
    /// What programs print, by the image without its tag.
    pub(super) voices: BTreeMap<String, Vec<String>>,
    speed: f64,
}

impl Store {
    pub(super) fn new(images: Vec<String>, crashing: Vec<String>, speed: f64) -> Self {
        let speed = if speed.is_finite() {
            speed.clamp(0.01, 1000.0)
        } else {
            1.0
        };
        Self {
            objects: BTreeMap::new(),
            version: 1000,
            made: 0,
            changes: VecDeque::new(),
            moved: watch::Sender::new(0),
            lives: BTreeMap::new(),
            images,
            crashing,
            voices: BTreeMap::new(),
            speed,
        }
    }

    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// How long something takes at this speed.
    pub(super) fn takes(&self, millis: u64) -> Duration {
        Duration::from_millis(millis).div_f64(self.speed)
    }

    /// A number that is different each time.
    pub(super) fn number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    pub(super) fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind, namespace.to_owned(), name.to_owned()))
    }

    pub(super) fn list(&self, kind: Kind, namespace: Option<&str>) -> Vec<Value> {
        let first = (kind, namespace.unwrap_or_default().to_owned(), String::new());
        self.objects
            .range(first..)
            .take_while(|((of, space, _), _)| *of == kind && namespace.is_none_or(|wanted| wanted == space))
            .map(|(_, object)| object.clone())
            .collect()
    }

    /// Puts an object in, or its new state. Nothing happens if it is as it was.
    pub(super) fn put(&mut self, kind: Kind, mut object: Value) -> Value {
        let key = (
            kind,
            text(&object, "/metadata/namespace"),
            text(&object, "/metadata/name"),
        );
        let before = self.objects.get(&key);
        if before == Some(&object) {
            return object;
        }
        let how = if before.is_some() {
            How::Modified
        } else {
            How::Added
        };
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(key, object.clone());
        self.record(kind, how, object.clone());
        object
    }

    pub(super) fn remove(&mut self, kind: Kind, namespace: &str, name: &str) -> Option<Value> {
        let mut gone = self
            .objects
            .remove(&(kind, namespace.to_owned(), name.to_owned()))?;
        self.version += 1;
        gone["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.record(kind, How::Deleted, gone.clone());
        Some(gone)
    }

    fn record(&mut self, kind: Kind, how: How, object: Value) {
        if self.changes.len() >= MOST_CHANGES {
            self.changes.pop_front();
        }
        self.changes.push_back(Change {
            version: self.version,
            kind,
            how,
            object,
        });
        self.moved.send_replace(self.version);
    }

    /// The changes of a kind after a version; nothing if they are not known that far back.
    pub(super) fn since(&self, kind: Kind, version: u64) -> Option<Vec<Change>> {
        let oldest = self.changes.front().map_or(0, |change| change.version);
        if version > self.version || (version + 1 < oldest && self.changes.len() >= MOST_CHANGES) {
            return None;
        }
        let later = |change: &&Change| change.version > version && change.kind == kind;
        Some(self.changes.iter().filter(later).cloned().collect())
    }

    /// The objects that another one owns.
    pub(super) fn owned(&self, kind: Kind, owner: &Value) -> Vec<Value> {
        let (space, uid) = (text(owner, "/metadata/namespace"), text(owner, "/metadata/uid"));
        let mine = |object: &Value| text(object, "/metadata/ownerReferences/0/uid") == uid;
        self.list(kind, Some(&space)).into_iter().filter(mine).collect()
    }

    /// Writes an event down about an object.
    pub(super) fn tell(&mut self, about: &Value, warns: bool, reason: &str, message: &str) {
        let namespace = match text(about, "/metadata/namespace") {
            empty if empty.is_empty() => "default".to_owned(),
            some => some,
        };
        let now = time(Timestamp::now());
        let number = self.number();
        let name = format!("{}.{number:016x}", text(about, "/metadata/name"));
        let source = if about["kind"] == "Pod" {
            "kubelet"
        } else {
            "controller-manager"
        };
        let event = json!({
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": { "name": name, "namespace": namespace, "uid": uid(number), "creationTimestamp": now },
            "involvedObject": {
                "kind": about["kind"], "apiVersion": about["apiVersion"], "namespace": namespace,
                "name": about["metadata"]["name"], "uid": about["metadata"]["uid"],
            },
            "reason": reason,
            "message": message,
            "source": { "component": source },
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": if warns { "Warning" } else { "Normal" },
            "eventTime": null,
            "reportingComponent": source,
            "reportingInstance": "",
        });
        self.put(Kind::Event, event);
        let events = self.list(Kind::Event, None);
        if events.len() > MOST_EVENTS
            && let Some(oldest) = events.iter().min_by_key(|event| number_of(event))
        {
            self.remove(
                Kind::Event,
                &text(oldest, "/metadata/namespace"),
                &text(oldest, "/metadata/name"),
            );
        }
    }
}

fn number_of(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or(0)
}

/// The text at a place in an object; empty if there is none.
pub(super) fn text(object: &Value, place: &str) -> String {
    object
        .pointer(place)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The number at a place in an object; 0 if there is none.
pub(super) fn count(object: &Value, place: &str) -> u64 {
    object.pointer(place).and_then(Value::as_u64).unwrap_or(0)
}

/// A time as objects have it.
pub(super) fn time(at: Timestamp) -> String {
    format!("{at:.0}")
}

/// A uid made from a number.
pub(super) fn uid(number: u64) -> String {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        mixed >> 32,
        mixed >> 16 & 0xffff,
        mixed >> 4 & 0xfff,
        mixed & 0xfff,
        number
    )
}

/// Letters and digits as the real one puts them behind names.
pub(super) fn suffix(mut number: u64, length: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8;
    let mut text = String::new();
    for _ in 0..length {
        let index = usize::try_from(number % LETTERS.len() as u64).unwrap_or(0);
        text.push(char::from(LETTERS[index]));
        number /= LETTERS.len() as u64;
    }
    text
}
