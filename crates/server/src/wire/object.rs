//! Forms are objects. Left to itself the reader would also take a list of a form's fields in their order.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A form that is written as a JSON object, and as nothing else.
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AlertmanagerPush, NewAlert};

    #[test]
    fn a_form_is_an_object() {
        let alert = |text: &str| serde_json::from_str::<Object<NewAlert>>(text).is_ok();
        for (text, fine) in [
            (r#"{"data": 1}"#, true),
            (r#" {"data": null} "#, true),
            ("[null, null]", false),
            (r#"["x", 1, null, null, 0]"#, false),
            (r#""x""#, false),
            ("null", false),
            (r#"{"data": 1} {}"#, false),
            (r#"{"data": 1, "data": 2}"#, false),
            (r#"{"data": 1, "typo": 2}"#, false),
        ] {
            assert_eq!(alert(text), fine, "{text}");
        }
        let push = |text: &str| serde_json::from_str::<Object<AlertmanagerPush>>(text).is_ok();
        for (text, fine) in [
            (r#"{"alerts": [{"status": "firing"}]}"#, true),
            // One that is no alert is rejected by itself.
            (r#"{"alerts": [["firing", {}, {}]]}"#, true),
            (r#"{"alerts": {}}"#, false),
            ("[[]]", false),
        ] {
            assert_eq!(push(text), fine, "{text}");
        }
    }
}
