//! Fields of an answer, however Proxmox writes them: numbers may be texts, flags may be numbers, anything may be missing.

use serde_json::{Map, Value};

/// The fields of one object of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a Value);

impl<'a> Fields<'a> {
    pub(super) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str().filter(|text| !text.is_empty())
    }

    pub(super) fn whole(self, name: &str) -> Option<u64> {
        match self.0.get(name)? {
            Value::Number(number) => number.as_u64().or_else(|| rounded(number.as_f64()?)),
            Value::String(text) => text
                .trim()
                .parse()
                .ok()
                .or_else(|| rounded(text.trim().parse().ok()?)),
            _ => None,
        }
    }

    pub(super) fn number(self, name: &str) -> Option<f64> {
        match self.0.get(name)? {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        }
        .filter(|number: &f64| number.is_finite())
    }

    pub(super) fn flag(self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::Number(number)) => number.as_u64().is_some_and(|number| number != 0),
            Some(Value::String(text)) => matches!(text.as_str(), "1" | "yes" | "true" | "on"),
            _ => false,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast to an integer stops at its bounds"
)]
fn rounded(number: f64) -> Option<u64> {
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

/// The rows of a list; whatever is no object is left out.
pub(super) fn rows(value: &Value) -> impl Iterator<Item = Fields<'_>> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter(|row| row.is_object())
        .map(Fields)
}

/// Facts that are there.
pub(super) fn facts<const N: usize>(pairs: [(&str, Option<Value>); N]) -> Map<String, Value> {
    pairs
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_and_flags_are_read_in_every_form() {
        let value = json!({"a": "141", "b": 141, "c": 1.5e3, "d": "", "e": null, "f": "1", "g": true, "h": -1, "i": "x"});
        let fields = Fields(&value);
        assert_eq!(
            ["a", "b", "c", "d", "e", "h", "i", "none"].map(|name| fields.whole(name)),
            [Some(141), Some(141), Some(1500), None, None, None, None, None]
        );
        assert_eq!(
            ["f", "g", "b", "a", "none"].map(|name| fields.flag(name)),
            [true, true, true, false, false]
        );
        assert_eq!(fields.number("a"), Some(141.0));
    }
}
