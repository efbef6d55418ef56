//! Secrets in JSON, where the name of a key is enough.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::keys::{is_reference, kind_of};
use crate::placeholder::only_markers;
use crate::{Kind, Masker};

impl Masker {
    /// Masks the secrets in a JSON value and says how many there were.
    ///
    /// Every string is masked as text. What stands under a key that names a secret is masked whatever it looks like,
    /// also in lists and objects below it; so are the data of Kubernetes Secrets and the values of `name`/`value` pairs.
    pub fn mask_value(&self, value: &mut Value) -> usize {
        match value {
            Value::String(text) => match self.mask_counting(text) {
                (Cow::Borrowed(_), _) => 0,
                (Cow::Owned(masked), count) => {
                    *text = masked;
                    count
                }
            },
            Value::Array(items) => items.iter_mut().map(|item| self.mask_value(item)).sum(),
            Value::Object(object) => self.mask_object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    fn mask_object(&self, object: &mut Map<String, Value>) -> usize {
        let is_secret = object.get("kind").and_then(Value::as_str) == Some("Secret")
            && !self.is_off(Kind::KubernetesSecret);
        let pair = pair_kind(object).filter(|kind| !self.is_off(*kind));
        let mut count = 0;
        for (key, value) in object.iter_mut() {
            count += if is_secret && matches!(key.as_str(), "data" | "stringData") {
                self.cover(value, Kind::KubernetesSecret, false)
            } else if let Some(kind) = pair.filter(|_| matches!(key.as_str(), "value" | "Value")) {
                self.cover(value, kind, false)
            } else {
                match kind_of(key).filter(|kind| !self.is_off(*kind) && !is_working_folder(key, value)) {
                    Some(kind) => self.mask_named(value, kind),
                    None => self.mask_value(value),
                }
            };
        }
        count + self.mask_keys(object)
    }

    /// A value whose key says that it is a secret.
    fn mask_named(&self, value: &mut Value, kind: Kind) -> usize {
        // A schema describes a password and holds none.
        let describes = value.get("type").and_then(Value::as_str).is_some_and(|word| {
            matches!(
                word,
                "string" | "number" | "integer" | "object" | "array" | "boolean" | "null"
            )
        });
        if describes {
            self.mask_value(value)
        } else {
            self.cover(value, kind, true)
        }
    }

    /// Masks every string and number at and below a value.
    fn cover(&self, value: &mut Value, kind: Kind, references_stay: bool) -> usize {
        match value {
            Value::String(text) if text.trim().is_empty() || only_markers(text) => 0,
            Value::String(text) => {
                kind.marker().clone_into(text);
                1
            }
            Value::Number(_) => {
                *value = Value::String(kind.marker().to_owned());
                1
            }
            Value::Array(items) => items
                .iter_mut()
                .map(|item| self.cover(item, kind, references_stay))
                .sum(),
            Value::Object(object) => {
                let cover = |(key, value): (&String, &mut Value)| {
                    if references_stay && is_reference(key) {
                        self.mask_value(value)
                    } else {
                        self.cover(value, kind, references_stay)
                    }
                };
                object.iter_mut().map(cover).sum()
            }
            Value::Null | Value::Bool(_) => 0,
        }
    }

    /// A name can be a secret too, as in a map of tokens.
    fn mask_keys(&self, object: &mut Map<String, Value>) -> usize {
        let masked: Vec<(String, String)> = object
            .keys()
            .filter_map(|key| match self.mask_text(key) {
                Cow::Borrowed(_) => None,
                Cow::Owned(masked) => Some((key.clone(), masked)),
            })
            .collect();
        if masked.is_empty() {
            return 0;
        }
        // Built anew, so that the order of keys stays.
        for (key, value) in std::mem::take(object) {
            let new = masked
                .iter()
                .find(|(old, _)| *old == key)
                .map(|(_, new)| new.clone());
            let base = new.unwrap_or(key);
            let mut name = base.clone();
            let mut number = 2;
            while object.contains_key(&name) {
                name = format!("{base} {number}");
                number += 1;
            }
            object.insert(name, value);
        }
        masked.len()
    }
}

/// `pwd` is a password or a place.
fn is_working_folder(key: &str, value: &Value) -> bool {
    key.eq_ignore_ascii_case("pwd") && value.as_str().is_some_and(|text| text.starts_with('/'))
}

/// The kind of `{"name": "DB_PASSWORD", "value": …}`.
fn pair_kind(object: &Map<String, Value>) -> Option<Kind> {
    let name = ["name", "Name", "key", "Key"]
        .iter()
        .find_map(|name| object.get(*name)?.as_str())?;
    kind_of(name)
}
