//! Lengths of time as people write them: `"500ms"`, `"120s"`, `"5m"`, `"2h"`.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What a length of time looks like, for a schema.
const PATTERN: &str = "^[0-9]+(ms|s|m|h|d)$";

/// Why a text is no length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is not a whole number and a unit.
    #[error("`{0}` is no length of time: write a whole number and a unit, such as 500ms, 120s, 5m, 2h or 1d")]
    Form(String),
    /// It is longer than can be counted.
    #[error("`{0}` is too long")]
    TooLong(String),
}

/// A length of time. It reads and writes as text such as `"120s"`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(Duration);

impl Span {
    /// This many milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(Duration::from_millis(millis))
    }

    /// This many seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(Duration::from_secs(secs))
    }

    /// The length.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

impl FromStr for Span {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let form = || Error::Form(text.chars().take(40).collect());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let millis_each: u64 = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            "d" => 24 * 60 * 60 * 1000,
            _ => return Err(form()),
        };
        if number.is_empty() {
            return Err(form());
        }
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(millis_each))
            // Far beyond any use, and far from what a clock can add up.
            .filter(|&millis| millis <= 1000 * 365 * 24 * 60 * 60 * 1000)
            .map(Self::from_millis)
            .ok_or_else(|| Error::TooLong(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        match millis {
            0 => f.write_str("0s"),
            _ if !millis.is_multiple_of(1000) => write!(f, "{millis}ms"),
            _ if !millis.is_multiple_of(60 * 1000) => write!(f, "{}s", millis / 1000),
            _ if !millis.is_multiple_of(60 * 60 * 1000) => write!(f, "{}m", millis / (60 * 1000)),
            _ => write!(f, "{}h", millis / (60 * 60 * 1000)),
        }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": PATTERN,
            "description": "A length of time: a whole number and one of ms, s, m, h, d",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_read_and_write() {
        let cases = [
            ("500ms", 500, "500ms"),
            ("120s", 120_000, "2m"),
            ("90s", 90_000, "90s"),
            ("5m", 300_000, "5m"),
            ("2h", 7_200_000, "2h"),
            ("1d", 86_400_000, "24h"),
            ("0s", 0, "0s"),
        ];
        for (text, millis, written) in cases {
            let span: Span = text.parse().expect(text);
            assert_eq!(
                (span, span.to_string().as_str()),
                (Span::from_millis(millis), written)
            );
            assert_eq!(written.parse(), Ok(span));
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "", "5", "s", "-5s", "1.5s", " 5s", "5 s", "5s ", "5S", "5m30s", "٣s", "+5s",
        ] {
            assert_eq!(text.parse::<Span>(), Err(Error::Form(text.to_owned())), "{text}");
        }
        for text in ["99999999999999999999s", "18446744073709551615d", "9999999999999h"] {
            assert_eq!(
                text.parse::<Span>(),
                Err(Error::TooLong(text.to_owned())),
                "{text}"
            );
        }
    }
}
