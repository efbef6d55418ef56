//! Writes the body of a request: settings first, then the tools, the conversation last.

use crate::Error;
use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The fields that carry the conversation, on any wire: nobody sets them but the wires.
pub(crate) const RESERVED: &[&str] = &[
    "model",
    "messages",
    "contents",
    "system",
    "systemInstruction",
    "system_instruction",
    "tools",
    "stream",
];

/// A body that grows field by field.
pub(crate) struct Body {
    bytes: Vec<u8>,
}

impl Body {
    /// Begins with settings and what else the configuration adds to them. Where both have an object, they are joined.
    pub(crate) fn new(mut settings: Map<String, Value>, extra: &Map<String, Value>) -> Result<Self, Error> {
        for (key, value) in extra {
            match (settings.get_mut(key), value) {
                (Some(Value::Object(known)), Value::Object(more)) => {
                    known.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
                }
                _ => {
                    settings.insert(key.clone(), value.clone());
                }
            }
        }
        let mut bytes = Vec::with_capacity(4096);
        serde_json::to_writer(&mut bytes, &settings).map_err(render)?;
        bytes.pop();
        Ok(Self { bytes })
    }

    /// Adds a field.
    pub(crate) fn field(&mut self, name: &str, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        if self.bytes.len() > 1 {
            self.bytes.push(b',');
        }
        serde_json::to_writer(&mut self.bytes, name).map_err(render)?;
        self.bytes.push(b':');
        serde_json::to_writer(&mut self.bytes, value).map_err(render)
    }

    /// The whole body.
    pub(crate) fn finish(mut self) -> Bytes {
        self.bytes.push(b'}');
        self.bytes.into()
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn render(error: serde_json::Error) -> Error {
    Error::Render(error.to_string())
}

/// A number as JSON has it. `f32` is written with the digits that a person wrote, not with those of its `f64`.
pub(crate) fn number(value: f32) -> Result<Value, Error> {
    value
        .to_string()
        .parse()
        .ok()
        .and_then(serde_json::Number::from_f64)
        .map(Value::Number)
        .ok_or_else(|| Error::Render(format!("the temperature {value} is no number")))
}

/// A JSON value as a text inside JSON.
pub(crate) struct AsText<'a, T>(pub(crate) &'a T);

impl<T: Serialize> Serialize for AsText<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::to_string(self.0).map_err(serde::ser::Error::custom)?;
        serializer.serialize_str(&text)
    }
}
