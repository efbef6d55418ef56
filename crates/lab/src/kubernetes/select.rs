//! Selectors: which objects a caller wants to see.

use serde_json::Value;

use super::status::Fault;
use super::store::text;

/// A condition on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    /// The value is one of these.
    In(String, Vec<String>),
    /// The value is none of these.
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

/// The conditions of a call on labels and on fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selector {
    labels: Vec<Condition>,
    fields: Vec<Condition>,
}

impl Selector {
    pub(super) fn parse(labels: Option<&str>, fields: Option<&str>) -> Result<Self, Fault> {
        let fields = conditions(fields.unwrap_or_default())?;
        if fields
            .iter()
            .any(|one| matches!(one, Condition::Exists(_) | Condition::Missing(_)))
        {
            return Err(Fault::bad("invalid field selector"));
        }
        Ok(Self {
            labels: conditions(labels.unwrap_or_default())?,
            fields,
        })
    }

    pub(super) fn takes(&self, object: &Value) -> bool {
        let label = |key: &str| {
            object["metadata"]["labels"]
                .get(key)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let field = |key: &str| Some(text(object, &format!("/{}", key.replace('.', "/"))));
        self.labels.iter().all(|one| one.holds(label)) && self.fields.iter().all(|one| one.holds(field))
    }
}

impl Condition {
    fn holds(&self, value: impl Fn(&str) -> Option<String>) -> bool {
        match self {
            Self::In(key, values) => value(key).is_some_and(|found| values.contains(&found)),
            Self::NotIn(key, values) => value(key).is_none_or(|found| !values.contains(&found)),
            Self::Exists(key) => value(key).is_some(),
            Self::Missing(key) => value(key).is_none(),
        }
    }
}

fn conditions(text: &str) -> Result<Vec<Condition>, Fault> {
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let parts = text.split(|letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    for part in parts.map(str::trim).filter(|part| !part.is_empty()) {
        found
            .push(condition(part).ok_or_else(|| Fault::bad(format!("unable to parse requirement: {part}")))?);
    }
    Ok(found)
}

fn condition(part: &str) -> Option<Condition> {
    let one = |key: &str, value: &str| (key.trim().to_owned(), vec![value.trim().to_owned()]);
    if let Some((key, list)) = part.split_once(" notin ") {
        return Some(Condition::NotIn(name(key)?, values(list)?));
    }
    if let Some((key, list)) = part.split_once(" in ") {
        return Some(Condition::In(name(key)?, values(list)?));
    }
    if let Some((key, value)) = part.split_once("!=") {
        let (key, value) = one(key, value);
        return Some(Condition::NotIn(name(&key)?, value));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        let (key, value) = one(key, value);
        return Some(Condition::In(name(&key)?, value));
    }
    match part.strip_prefix('!') {
        Some(key) => Some(Condition::Missing(name(key)?)),
        None => Some(Condition::Exists(name(part)?)),
    }
}

fn name(key: &str) -> Option<String> {
    let key = key.trim();
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'/');
    (!key.is_empty() && key.bytes().all(fine)).then(|| key.to_owned())
}

fn values(list: &str) -> Option<Vec<String>> {
    let inside = list.trim().strip_prefix('(')?.strip_suffix(')')?;
    Some(inside.split(',').map(|value| value.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Selector;

    #[test]
    fn selectors_choose_objects() {
        let pod = json!({
            "metadata": { "name": "web-1", "labels": { "app": "web", "tier": "front" } },
            "status": { "phase": "Running" },
        });
        for (labels, fields, takes) in [
            ("", "", true),
            ("app=web", "", true),
            ("app==web,tier", "", true),
            ("app!=web", "", false),
            ("app in (db, web)", "metadata.name=web-1", true),
            ("app notin (db,web)", "", false),
            ("!app", "", false),
            ("!role", "status.phase!=Running", false),
            ("", "status.phase=Running,metadata.name!=web-2", true),
        ] {
            let selector = Selector::parse(Some(labels), Some(fields)).unwrap();
            assert_eq!(selector.takes(&pod), takes, "{labels} | {fields}");
        }
        for wrong in ["=", "a in b", "a in (b", ",=x", "💥=1"] {
            assert!(Selector::parse(Some(wrong), None).is_err(), "{wrong}");
        }
    }
}
