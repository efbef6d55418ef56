//! From the tree to typed values, with the place of whatever does not fit.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};

use crate::problem::{Place, Problem};
use crate::tree::{Data, Name, Node};

/// Reads a typed value out of the tree.
pub(crate) fn from_node<'n, T: de::Deserialize<'n>>(node: &'n Node) -> Result<T, Problem> {
    T::deserialize(At(node)).map_err(|wrong| {
        let path = wrong.path.iter().rev().fold(String::new(), |path, part| {
            let dot = if path.is_empty() || part.starts_with('[') {
                ""
            } else {
                "."
            };
            format!("{path}{dot}{part}")
        });
        Problem::new(path, wrong.place, wrong.message)
    })
}

/// What does not fit, and where. The path grows from the inside to the outside.
#[derive(Debug)]
pub(crate) struct Wrong {
    message: String,
    place: Option<Place>,
    path: Vec<String>,
}

impl Wrong {
    fn within(mut self, part: String, place: Place) -> Self {
        self.place.get_or_insert(place);
        self.path.push(part);
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            message: message.to_string(),
            place: None,
            path: Vec::new(),
        }
    }
}

#[derive(Clone, Copy)]
struct At<'n>(&'n Node);

/// A value from outside is text; where a number or a truth value is wanted, it is read as one.
macro_rules! scalars {
    ($($method:ident $visit:ident $type:ty;)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            if let Data::Text(text) = &self.0.data
                && text.interpolated
                && let Ok(value) = text.value.trim().parse::<$type>()
            {
                return visitor.$visit(value);
            }
            self.deserialize_any(visitor)
        })+
    };
}

impl<'de> Deserializer<'de> for At<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match &self.0.data {
            Data::Null => visitor.visit_unit(),
            Data::Bool(value) => visitor.visit_bool(*value),
            Data::Integer(value) => visitor.visit_i64(*value),
            Data::Float(value) => visitor.visit_f64(*value),
            Data::Text(text) => visitor.visit_borrowed_str(&text.value),
            Data::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Data::Map(entries) => visitor.visit_map(Entries { entries, next: 0 }),
        }
    }

    scalars! {
        deserialize_bool visit_bool bool;
        deserialize_u8 visit_u8 u8;
        deserialize_u16 visit_u16 u16;
        deserialize_u32 visit_u32 u32;
        deserialize_u64 visit_u64 u64;
        deserialize_i8 visit_i8 i8;
        deserialize_i16 visit_i16 i16;
        deserialize_i32 visit_i32 i32;
        deserialize_i64 visit_i64 i64;
        deserialize_f32 visit_f32 f32;
        deserialize_f64 visit_f64 f64;
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0.data {
            Data::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match &self.0.data {
            Data::Text(text) => {
                let word: StrDeserializer<'_, Wrong> = text.value.as_str().into_deserializer();
                visitor.visit_enum(word)
            }
            Data::Map(entries) => match entries.as_slice() {
                [(name, node)] => visitor.visit_enum(Variant { name, node }),
                _ => Err(de::Error::custom("must be one word, or a map with one key")),
            },
            other => Err(de::Error::custom(format!(
                "must be one word, not {}",
                other.what()
            ))),
        }
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

struct Items<'n> {
    items: &'n [Node],
    next: usize,
}

impl<'n> SeqAccess<'n> for Items<'n> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some(item) = self.items.get(self.next) else {
            return Ok(None);
        };
        let index = self.next;
        self.next += 1;
        seed.deserialize(At(item))
            .map(Some)
            .map_err(|wrong| wrong.within(format!("[{index}]"), item.place))
    }
}

struct Entries<'n> {
    entries: &'n [(Name, Node)],
    next: usize,
}

impl<'n> MapAccess<'n> for Entries<'n> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'n>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((name, _)) = self.entries.get(self.next) else {
            return Ok(None);
        };
        let key: StrDeserializer<'n, Wrong> = name.text.as_str().into_deserializer();
        seed.deserialize(key)
            .map(Some)
            .map_err(|wrong| wrong.within(name.text.clone(), name.place))
    }

    fn next_value_seed<V: DeserializeSeed<'n>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let Some((name, node)) = self.entries.get(self.next) else {
            return Err(de::Error::custom("a value without a key"));
        };
        self.next += 1;
        seed.deserialize(At(node))
            .map_err(|wrong| wrong.within(name.text.clone(), node.place))
    }
}

/// `{variant: content}`.
struct Variant<'n> {
    name: &'n Name,
    node: &'n Node,
}

impl<'n> EnumAccess<'n> for Variant<'n> {
    type Error = Wrong;
    type Variant = At<'n>;

    fn variant_seed<V: DeserializeSeed<'n>>(self, seed: V) -> Result<(V::Value, At<'n>), Wrong> {
        let key: StrDeserializer<'n, Wrong> = self.name.text.as_str().into_deserializer();
        Ok((seed.deserialize(key)?, At(self.node)))
    }
}

impl<'n> VariantAccess<'n> for At<'n> {
    type Error = Wrong;

    fn unit_variant(self) -> Result<(), Wrong> {
        Err(de::Error::custom("this word takes no value"))
    }

    fn newtype_variant_seed<T: DeserializeSeed<'n>>(self, seed: T) -> Result<T::Value, Wrong> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'n>>(self, _: usize, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'n>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match &self.0.data {
            Data::Map(entries) => visitor.visit_map(Entries { entries, next: 0 }),
            other => Err(de::Error::custom(format!(
                "must be a map of keys, not {}",
                other.what()
            ))),
        }
    }
}
