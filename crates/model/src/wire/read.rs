//! What several wires read alike.

use crate::failure::{Fault, Kind};
use interlock_dialect::Quote;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// A text that is borrowed from what was received where it has no escapes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Str<'a>(Cow<'a, str>);

impl std::ops::Deref for Str<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

struct StrVisitor;

impl<'de> Visitor<'de> for StrVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StrVisitor).map(Self)
    }
}

/// A text, or a list of parts that have texts: some servers send the one, some the other.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Texts<'a>(Cow<'a, str>);

impl std::ops::Deref for Texts<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Str<'a>>,
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let mut joined = String::new();
        while let Some(part) = parts.next_element::<Part<'de>>()? {
            joined.push_str(part.text.as_deref().unwrap_or_default());
        }
        Ok(Cow::Owned(joined))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextsVisitor).map(Self)
    }
}

/// A call's arguments: text that should be JSON, or JSON itself.
#[derive(Debug, PartialEq)]
pub(crate) enum Arguments<'a> {
    Text(Cow<'a, str>),
    Value(Value),
}

struct ArgumentsVisitor;

impl<'de> Visitor<'de> for ArgumentsVisitor {
    type Value = Arguments<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments as a text or an object")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Arguments::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Arguments::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Arguments::Value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Arguments<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentsVisitor)
    }
}

/// How many tokens a provider says it took. What is no such number counts as not said: a reply is worth more than its bill.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let said = Value::deserialize(deserializer)?;
    Ok(said.as_u64().or_else(|| {
        let said = said.as_f64().filter(|said| *said >= 0.0)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative; the cast saturates, and what is too much is not believed later"
        )]
        Some(said as u64)
    }))
}

/// A word of a provider, where it is one.
pub(crate) fn word(text: &str) -> String {
    const MOST: usize = 100;
    if text.chars().nth(MOST).is_some() {
        format!("a word of {} bytes", text.len())
    } else {
        text.to_owned()
    }
}

/// Reads JSON of a wire.
pub(crate) fn json<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T, Fault> {
    serde_json::from_slice(data).map_err(|error| malformed(&error.to_string(), data))
}

/// What came is not what the wire sends.
pub(crate) fn malformed(reason: &str, data: &[u8]) -> Fault {
    let data = data.trim_ascii();
    let text = String::from_utf8_lossy(&data[..data.len().min(1000)]);
    let what = format!(
        "the reply is not what this wire sends ({reason}): {}",
        Quote::of_whole_words(&text)
    );
    Fault::new(Kind::Malformed, what)
}
