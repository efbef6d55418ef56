//! JSON from a model, read strictly: one value, no key twice, no deeper than the limit.

use crate::{Limits, Quote};
use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// Why a text is not JSON that can be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum Fault {
    /// Its grammar is broken.
    #[error("{message}")]
    Syntax {
        /// What was expected, with line and column.
        message: String,
    },
    /// An object has the same key twice: which value was meant is anyone's guess.
    #[error("the key `{key}` stands twice in one object")]
    DuplicateKey {
        /// The key.
        key: Quote,
    },
    /// It nests too deeply.
    #[error("it nests more than {limit} levels deep")]
    TooDeep {
        /// The most levels.
        limit: usize,
    },
}

/// Reads exactly one value.
pub(crate) fn read(text: &str, limits: &Limits) -> Result<Value, Fault> {
    let found = RefCell::new(None);
    let seed = Strict {
        left: limits.depth(),
        limit: limits.depth(),
        found: &found,
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = seed
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    read.map_err(|error| {
        found.take().unwrap_or_else(|| Fault::Syntax {
            message: error.to_string(),
        })
    })
}

/// Whether a value that someone else read is within the limit.
pub(crate) fn check_depth(value: &Value, limits: &Limits) -> Result<(), Fault> {
    fn fits(value: &Value, left: usize) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            Value::Array(items) => left > 0 && items.iter().all(|item| fits(item, left - 1)),
            Value::Object(members) => left > 0 && members.values().all(|member| fits(member, left - 1)),
        }
    }
    let limit = limits.depth();
    if fits(value, limit) {
        Ok(())
    } else {
        Err(Fault::TooDeep { limit })
    }
}

/// Builds a value and remembers a fault that `serde_json`'s own error could only carry as text.
#[derive(Clone, Copy)]
struct Strict<'a> {
    left: usize,
    limit: usize,
    found: &'a RefCell<Option<Fault>>,
}

impl Strict<'_> {
    fn fail<E: serde::de::Error>(self, fault: Fault) -> E {
        self.found.replace(Some(fault));
        E::custom("refused")
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left, ..self }),
            None => Err(self.fail(Fault::TooDeep { limit: self.limit })),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(inner)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let inner = self.deeper()?;
        let mut object = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(self.fail(Fault::DuplicateKey { key: Quote::of(&key) }));
            }
            let value = members.next_value_seed(inner)?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

/// Follows the brackets of a JSON text byte by byte, strings apart, to find where it ends without reading it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Balance {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Balance {
    /// Takes one more byte; says whether it closed the outermost bracket.
    pub(crate) const fn closes_with(&mut self, byte: u8) -> bool {
        if self.in_string {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

/// Where the object or array ends with which this text begins, if it ends.
pub(crate) fn end_of_value(text: &str) -> Option<usize> {
    let mut balance = Balance::default();
    text.bytes()
        .position(|byte| balance.closes_with(byte))
        .map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn json_is_read_strictly() {
        let limits = Limits {
            json_depth: 2,
            ..Limits::DEFAULT
        };
        assert_eq!(
            read(r#" {"a":[1,-2,1.5,null,true,"x"]} "#, &limits),
            Ok(json!({"a":[1,-2,1.5,null,true,"x"]}))
        );
        assert_eq!(read("[[[]]]", &limits), Err(Fault::TooDeep { limit: 2 }));
        assert_eq!(
            read(r#"{"a":1,"a":2}"#, &limits),
            Err(Fault::DuplicateKey { key: Quote::of("a") })
        );
        for broken in [
            "",
            "{",
            r#"{"a":1,}"#,
            "{} {}",
            "{'a':1}",
            "nul",
            "\"\n\"",
            "1e999",
            "{\"a\":1}x",
        ] {
            assert!(
                matches!(read(broken, &limits), Err(Fault::Syntax { .. })),
                "{broken:?}"
            );
        }
    }

    #[test]
    fn depth_is_capped_whatever_the_limit_says() {
        let limits = Limits {
            json_depth: usize::MAX,
            ..Limits::DEFAULT
        };
        let deep = "[".repeat(100_000);
        assert_eq!(
            read(&deep, &limits),
            Err(Fault::TooDeep {
                limit: Limits::MAX_DEPTH
            })
        );
    }

    proptest! {
        #[test]
        fn strict_reading_agrees_with_serde_json(text in r#"[\[\]{}":,a-c1.e \\-]{0,40}"#) {
            if let Ok(value) = read(&text, &Limits::DEFAULT) {
                prop_assert_eq!(serde_json::from_str::<Value>(&text).expect("the strict reader took it"), value);
            }
        }

        #[test]
        fn the_end_is_found_where_the_value_ends(inner in any::<String>(), tail in any::<String>()) {
            let value = json!({"a": [inner, {"b": {}}]}).to_string();
            prop_assert_eq!(end_of_value(&format!("{value}{tail}")), Some(value.len()));
        }
    }
}
