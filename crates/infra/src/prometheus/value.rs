//! What Prometheus measures: series of points, or one value.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

/// The labels of a series, its name among them.
pub type Labels = BTreeMap<String, String>;

/// One measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// When, in seconds since 1970.
    pub at: f64,
    /// What. May be infinite, or no number.
    pub value: f64,
}

impl Point {
    /// When.
    pub fn time(&self) -> Option<Timestamp> {
        let since = SignedDuration::try_from_secs_f64(self.at).ok()?;
        Timestamp::from_duration(since).ok()
    }
}

/// Written as `[seconds, "value"]`.
impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (at, text) = <(f64, String)>::deserialize(deserializer)?;
        Ok(Self {
            at,
            value: number(&text).ok_or_else(|| serde::de::Error::custom("a value that is no number"))?,
        })
    }
}

/// A number as Prometheus writes it: `+Inf`, `-Inf` and `NaN` too.
fn number(text: &str) -> Option<f64> {
    match text {
        "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        other => other.parse().ok(),
    }
}

/// A series at one moment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Sample {
    /// Its labels.
    #[serde(default)]
    pub metric: Labels,
    /// Its value. A histogram has none and is left out before.
    pub value: Point,
}

/// A series over time.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Series {
    /// Its labels.
    #[serde(default)]
    pub metric: Labels,
    /// Its points, oldest first.
    #[serde(default)]
    pub values: Vec<Point>,
}

/// From when to when, and how close together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The first moment.
    pub from: Timestamp,
    /// The last one.
    pub to: Timestamp,
    /// How far apart points are, in seconds.
    pub step_seconds: u64,
}

/// An answer, with what Prometheus warned about.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<Data> {
    /// What was found.
    pub data: Data,
    /// What is incomplete or doubtful about it.
    pub warnings: Vec<String>,
}

/// The result of a question, by its kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
pub(super) enum Found {
    Vector(Vec<Instant>),
    Matrix(Vec<Series>),
    Scalar(Point),
    String(serde::de::IgnoredAny),
}

/// A series at one moment: a number, or a histogram.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Instant {
    #[serde(default)]
    pub(super) metric: Labels,
    pub(super) value: Option<Point>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_prometheus_writes_them() {
        for (text, value) in [
            (r#"[1700000000.5,"1.5"]"#, 1.5),
            (r#"[1700000000,"1e-3"]"#, 0.001),
            (r#"[1,"+Inf"]"#, f64::INFINITY),
            (r#"[1,"-Inf"]"#, f64::NEG_INFINITY),
        ] {
            let point: Point = serde_json::from_str(text).unwrap();
            assert_eq!(point.value.to_bits(), value.to_bits(), "{text}");
        }
        let nothing: Point = serde_json::from_str(r#"[1,"NaN"]"#).unwrap();
        assert!(nothing.value.is_nan());
        for bad in [r#"[1,"x"]"#, "[1]", r#"{"a":1}"#, r#"["1","1"]"#] {
            assert!(serde_json::from_str::<Point>(bad).is_err(), "{bad}");
        }
    }
}
