//! The query language: parses, refuses what is not supported, and evaluates at an instant or over a range.
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "the language is arithmetic on 64-bit floats, with their exact comparisons"
)]

mod aggregate;
mod binary;
mod calendar;
mod eval;
mod functions;
mod histogram;
mod instant;
pub(super) mod number;
mod rate;
mod relabel;
mod support;
mod window;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use promql_parser::parser::Expr;
use promql_parser::parser::value::ValueType;

use super::labels::Labels;
use super::tsdb::{Point, Tsdb, millis};
use eval::Eval;

/// Most points that a range query may give for one series.
pub const MAX_STEPS: i64 = 11_000;

/// Why a query has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text is not a query that can be run here.
    #[error("{0}")]
    Invalid(String),
    /// The query could not be carried out on this data.
    #[error("{0}")]
    Execution(String),
    /// It took too long.
    #[error("query timed out in expression evaluation")]
    Timeout,
}

impl Error {
    fn execution(text: impl Into<String>) -> Self {
        Self::Execution(text.into())
    }
}

/// What one query may cost.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Samples that may be looked at.
    pub samples: u64,
    /// Time that it may take.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            samples: 50_000_000,
            time: Duration::from_secs(30),
        }
    }
}

/// One series' value at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The series.
    pub labels: Labels,
    /// Its value.
    pub value: f64,
    /// When the sample behind it was taken, or the time of the evaluation, in milliseconds.
    pub at: i64,
}

/// One series' values over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The series.
    pub labels: Labels,
    /// Milliseconds and values.
    pub points: Vec<(i64, f64)>,
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number.
    Scalar(f64),
    /// A text.
    Text(String),
    /// A value for each series.
    Vector(Vec<Item>),
    /// Values over time for each series.
    Matrix(Vec<Series>),
}

/// A query that was parsed and that this evaluator can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Query(Expr);

impl std::fmt::Display for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Query {
    /// Reads a query.
    pub fn parse(text: &str) -> Result<Self, Error> {
        support::parse(text).map(Self)
    }

    /// The query in its usual form.
    pub fn pretty(&self) -> String {
        self.0.prettify()
    }

    pub(super) fn expr(&self) -> &Expr {
        &self.0
    }

    /// The answer at one instant.
    pub fn instant(&self, tsdb: &Tsdb, at: Timestamp, limits: Limits) -> Result<Value, Error> {
        let at = at.as_millisecond();
        let store = tsdb.read();
        Eval::new(&store, at, at, deadline(limits), limits.samples).top(&self.0, at)
    }

    /// The answers from `start` to `end`, every `step`.
    pub fn range(
        &self,
        tsdb: &Tsdb,
        start: Timestamp,
        end: Timestamp,
        step: Duration,
        limits: Limits,
    ) -> Result<Vec<Series>, Error> {
        let (start, end, step) = (start.as_millisecond(), end.as_millisecond(), millis(step));
        check_range(start, end, step)?;
        if !matches!(self.0.value_type(), ValueType::Vector | ValueType::Scalar) {
            let kind = support::type_name(self.0.value_type());
            let text =
                format!("invalid expression type {kind:?} for range query, must be Scalar or instant Vector");
            return Err(Error::Invalid(text));
        }
        let store = tsdb.read();
        let eval = Eval::new(&store, start, end, deadline(limits), limits.samples);
        let mut found = BTreeMap::new();
        let mut at = start;
        while at <= end {
            match eval.eval(&self.0, at)? {
                Value::Scalar(value) => push(&mut found, Labels::empty(), (at, value))?,
                Value::Vector(items) => {
                    for item in items {
                        push(&mut found, item.labels, (at, item.value))?;
                    }
                }
                Value::Text(_) | Value::Matrix(_) => {}
            }
            at = at.saturating_add(step);
        }
        Ok(found
            .into_iter()
            .map(|(labels, points)| Series { labels, points })
            .collect())
    }
}

fn check_range(start: i64, end: i64, step: i64) -> Result<(), Error> {
    let refuse = |text: &str| Err(Error::Invalid(text.to_owned()));
    if end < start {
        return refuse("invalid parameter \"end\": end timestamp must not be before start time");
    }
    if step <= 0 {
        return refuse(
            "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive integer",
        );
    }
    if end.saturating_sub(start) / step > MAX_STEPS {
        return refuse(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
        );
    }
    Ok(())
}

fn deadline(limits: Limits) -> Instant {
    let now = Instant::now();
    now.checked_add(limits.time).unwrap_or(now)
}

fn push(found: &mut BTreeMap<Labels, Vec<Point>>, labels: Labels, point: Point) -> Result<(), Error> {
    let points = found.entry(labels).or_default();
    if points.last().is_some_and(|(at, _)| *at == point.0) {
        return Err(Error::execution(SAME_LABELS));
    }
    points.push(point);
    Ok(())
}

const SAME_LABELS: &str = "vector cannot contain metrics with the same labelset";
