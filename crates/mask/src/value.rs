//! Secrets in JSON, where the name of a key is enough.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::keys::{holds_secrets, is_reference, kind_of};
use crate::placeholder::{is_placeholder, is_prose_word, only_markers};
use crate::{Kind, Masker};

/// What each string costs besides its own bytes.
const EACH: usize = 32;

impl Masker {
    /// Masks the secrets in a JSON value and says how many there were.
    ///
    /// Every string is masked as text. What stands under a key that names a secret is masked whatever it looks like,
    /// also in lists and objects below it; so are the data of Kubernetes Secrets and the values of `name`/`value` pairs.
    ///
    /// All of it has one budget. Each string that is looked at after it is spent becomes a notice and counts as masked.
    pub fn mask_value(&self, value: &mut Value) -> usize {
        let _meter = self.meter(|| length(value));
        match value {
            Value::String(text) => match self.mask_counting(text) {
                Ok((Cow::Borrowed(_), _)) => 0,
                Ok((Cow::Owned(masked), count)) => {
                    *text = masked;
                    count
                }
                Err(withheld) => {
                    *text = withheld.notice();
                    1
                }
            },
            Value::Array(items) => {
                // Together first: an item that is masked alone may no longer show what its neighbours are.
                let together = self.mask_lines(items);
                together + items.iter_mut().map(|item| self.mask_value(item)).sum::<usize>()
            }
            Value::Object(object) => self.mask_object(object),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }

    /// Masks a list of texts as the lines of one text: a key or a document that several of them make up together shows only
    /// so what it is.
    fn mask_lines(&self, items: &mut Vec<Value>) -> usize {
        if items.len() < 2 || !items.iter().all(Value::is_string) {
            return 0;
        }
        let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        let each: Vec<usize> = texts.iter().map(|text| lines(text)).collect();
        let whole = texts.join("\n");
        let (masked, count) = match self.mask_counting(&whole) {
            Ok((Cow::Borrowed(_), _)) => return 0,
            Ok((Cow::Owned(masked), count)) => (masked, count),
            Err(withheld) => {
                *items = vec![withheld.notice().into()];
                return 1;
            }
        };
        let mut rest = masked.split('\n');
        // Where lines became fewer, nobody can say which text each of them belonged to.
        *items = if lines(&masked) == each.iter().sum::<usize>() {
            let take = |count: usize| rest.by_ref().take(count).collect::<Vec<_>>().join("\n").into();
            each.into_iter().map(take).collect()
        } else {
            rest.map(Value::from).collect()
        };
        count
    }

    fn mask_object(&self, object: &mut Map<String, Value>) -> usize {
        let says = object.get("kind").and_then(Value::as_str);
        let masks = !self.is_off(Kind::KubernetesSecret);
        let is_secret = says == Some("Secret") && masks;
        let is_list = says == Some("SecretList") && masks;
        let sensitive = object.get("sensitive").and_then(Value::as_bool) == Some(true);
        let pair = pair_kind(object).filter(|kind| !self.is_off(*kind));
        let mut count = 0;
        for (key, value) in object.iter_mut() {
            count += if is_secret && matches!(key.as_str(), "data" | "stringData") {
                self.cover(value, Kind::KubernetesSecret, false)
            } else if is_list && key == "items" {
                self.mask_items(value)
            } else if sensitive && key == "value" && !self.is_off(Kind::Secret) {
                self.cover(value, Kind::Secret, false)
            } else if let Some(kind) = holds_secrets(key).filter(|kind| {
                !self.is_off(*kind) && (value.is_object() || value.is_array()) && !is_schema(value)
            }) {
                self.cover_strings(value, kind, value.is_object())
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
        if is_schema(value) {
            self.mask_value(value)
        } else {
            self.cover(value, kind, true)
        }
    }

    /// The items of a list of Secrets, which do not say what they are.
    fn mask_items(&self, value: &mut Value) -> usize {
        let Value::Array(items) = value else {
            return self.mask_value(value);
        };
        let mut count = 0;
        for item in items {
            if let Value::Object(object) = item {
                for key in ["data", "stringData"] {
                    if let Some(data) = object.get_mut(key) {
                        count += self.cover(data, Kind::KubernetesSecret, false);
                    }
                }
            }
            count += self.mask_value(item);
        }
        count
    }

    /// Masks the strings in what is called `secrets` and the like. Numbers count things; an item of a list is a name unless
    /// it looks random.
    fn cover_strings(&self, value: &mut Value, kind: Kind, named: bool) -> usize {
        match value {
            Value::String(text) => {
                let random = text.len() >= 8
                    && text.bytes().any(|byte| byte.is_ascii_digit())
                    && text.bytes().any(|byte| byte.is_ascii_alphabetic());
                if is_placeholder(text) || is_prose_word(text) || !(named || random) {
                    return self.mask_value(value);
                }
                kind.marker().clone_into(text);
                1
            }
            Value::Array(items) => items
                .iter_mut()
                .map(|item| self.cover_strings(item, kind, item.is_object()))
                .sum(),
            // A document of its own says itself what is a secret in it.
            Value::Object(object) if object.contains_key("kind") => self.mask_object(object),
            Value::Object(object) => {
                let cover = |(key, value): (&String, &mut Value)| {
                    if is_reference(key) {
                        self.mask_value(value)
                    } else {
                        self.cover_strings(value, kind, true)
                    }
                };
                object.iter_mut().map(cover).sum::<usize>() + self.mask_keys(object)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
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
        let masked: std::collections::HashMap<String, String> = object
            .keys()
            .filter_map(|key| match self.mask_text(key) {
                Cow::Borrowed(_) => None,
                Cow::Owned(masked) => Some((key.clone(), masked)),
            })
            .collect();
        if masked.is_empty() {
            return 0;
        }
        // Rebuilt, so that the order of keys stays.
        let mut taken = std::collections::HashMap::new();
        for (key, value) in std::mem::take(object) {
            let base = masked.get(&key).cloned().unwrap_or(key);
            let mut name = base.clone();
            // Where the last number for a name stopped: a thousand equal names are numbered once each.
            let number = taken.entry(base.clone()).or_insert(2_usize);
            while object.contains_key(&name) {
                name = format!("{base} {number}");
                *number += 1;
            }
            object.insert(name, value);
        }
        masked.len()
    }
}

/// How much there is to look at.
fn length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + EACH,
        Value::Array(items) => items.iter().map(length).sum(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| key.len() + EACH + length(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// A schema describes a password and holds none.
fn is_schema(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str).is_some_and(|word| {
        matches!(
            word,
            "string" | "number" | "integer" | "object" | "array" | "boolean" | "null"
        )
    })
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
