//! SHA-256 over bytes and over JSON in one canonical form.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// Why a text is no hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a content hash is 64 lower-case hexadecimal digits")]
pub struct Error;

/// The SHA-256 of some content: of a plan, an output, a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; 32]);

impl ContentHash {
    /// The hash of these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The hash of a JSON value, whatever order its keys were written in.
    ///
    /// The value is written without white space and with the keys of every object sorted by their bytes.
    /// Numbers keep the form in which they were read: `1` and `1.0` are two contents.
    pub fn of_json(value: &Value) -> Self {
        let mut text = String::new();
        write_canonical(value, &mut text);
        Self::of(text)
    }

    /// Of a digest that was made piece by piece.
    pub(crate) const fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Written by hand because whether `serde_json` sorts keys depends on features that any crate may switch on.
fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|&(key, _)| key);
            out.push('{');
            for (index, (key, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(member, out);
            }
            out.push('}');
        }
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentHash({self})")
    }
}

impl FromStr for ContentHash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(Error);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

const fn digit(c: u8) -> Result<u8, Error> {
    match c {
        b'0'..=b'9' => Ok(c - b'0'),
        b'a'..=b'f' => Ok(c - b'a' + 10),
        _ => Err(Error),
    }
}

impl TryFrom<String> for ContentHash {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_hash_is_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(ContentHash::of("").to_string(), empty);
        assert_eq!(empty.parse(), Ok(ContentHash::of("")));
    }

    #[test]
    fn other_spellings_are_refused() {
        let upper = ContentHash::of("").to_string().to_uppercase();
        for text in ["", "e3b0", &upper, &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(text.parse::<ContentHash>(), Err(Error), "{text:?}");
        }
    }

    #[test]
    fn the_order_of_keys_does_not_count_and_everything_else_does() {
        let a: Value = serde_json::from_str(r#"{"b":[1,{"y":2,"x":1}],"a":"\""}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{ "a": "\u0022", "b": [1, {"x":1, "y":2}] }"#).unwrap();
        assert_eq!(ContentHash::of_json(&a), ContentHash::of_json(&b));
        let mut canonical = String::new();
        write_canonical(&a, &mut canonical);
        assert_eq!(canonical, r#"{"a":"\"","b":[1,{"x":1,"y":2}]}"#);

        let different = [
            json!({}),
            json!([]),
            json!(null),
            json!("1"),
            json!(1),
            json!(1.0),
            json!([1, 2]),
            json!([2, 1]),
        ];
        for (index, left) in different.iter().enumerate() {
            for right in &different[index + 1..] {
                assert_ne!(
                    ContentHash::of_json(left),
                    ContentHash::of_json(right),
                    "{left} {right}"
                );
            }
        }
    }
}
