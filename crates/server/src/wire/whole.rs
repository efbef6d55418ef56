//! Whole numbers as JSON has them: `1.0` is one, however it is written.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// The largest whole number that a JSON number has exactly.
const MOST: f64 = 9_007_199_254_740_991.0;

/// A whole number.
pub(super) fn whole<'de, T: TryFrom<i64>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Whole(PhantomData))
}

/// A whole number, or none.
pub(super) fn maybe_whole<'de, T: TryFrom<i64>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_option(Maybe(PhantomData))
}

struct Whole<T>(PhantomData<T>);

impl<T: TryFrom<i64>> Visitor<'_> for Whole<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number in bounds")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let fits = i64::try_from(number)
            .ok()
            .and_then(|number| T::try_from(number).ok());
        fits.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    #[expect(clippy::cast_possible_truncation, reason = "whole and in bounds")]
    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        if number.fract() == 0.0 && number.abs() <= MOST {
            return self.visit_i64(number as i64);
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }
}

struct Maybe<T>(PhantomData<T>);

impl<'de, T: TryFrom<i64>> Visitor<'de> for Maybe<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number in bounds, or null")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        whole(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::{NewAlert, ResumeWrites};

    #[test]
    fn a_whole_number_is_one_however_it_is_written() {
        let cases = [
            ("1", Some(1)),
            ("1.0", Some(1)),
            ("1e1", Some(10)),
            ("null", None),
        ];
        for (text, expected) in cases {
            let read: ResumeWrites = serde_json::from_str(&format!(r#"{{"revision": {text}}}"#)).unwrap();
            assert_eq!(read.revision, expected, "{text}");
        }
        for text in [
            "-1",
            "1.5",
            "1e300",
            "\"1\"",
            "true",
            "[]",
            "18446744073709551615",
        ] {
            let read = serde_json::from_str::<ResumeWrites>(&format!(r#"{{"revision": {text}}}"#));
            assert!(read.is_err(), "{text}");
        }
        let alert: NewAlert = serde_json::from_str(r#"{"data": "x", "priority": -3.0}"#).unwrap();
        assert_eq!(alert.priority, -3);
    }
}
