//! The store of time series: samples in memory, with staleness, a retention and a cap on series.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use jiff::Timestamp;
use promql_parser::label::{Matcher, Matchers};

use super::labels::{Labels, METRIC_NAME};
use super::profile::Profile;

/// The bits of the one NaN that says "this series ended here".
const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;

/// How far an instant selector looks back for a sample.
pub const LOOKBACK: Duration = Duration::from_mins(5);

/// One value of one series at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The series, with its name under `__name__`.
    pub labels: Labels,
    /// When it was measured.
    pub at: Timestamp,
    /// What was measured.
    pub value: f64,
}

/// Why a sample was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is older than the newest sample of its series.
    #[error("out of order sample for {0}")]
    OutOfOrder(Labels),
    /// Its series has another value for that time.
    #[error("duplicate sample for timestamp for {0}")]
    Duplicate(Labels),
    /// It has no metric name.
    #[error("a sample needs a metric name: {0}")]
    NoName(Labels),
    /// The store is full.
    #[error("the store holds its {0} series; drop some labels")]
    TooManySeries(usize),
}

/// How much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Samples older than this, counted from the newest of their series, are dropped.
    pub span: Duration,
    /// More series than this are refused.
    pub series: usize,
    /// More samples than this in one series push out its oldest.
    pub samples_per_series: usize,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            span: Duration::from_hours(48),
            series: 20_000,
            samples_per_series: 20_000,
        }
    }
}

/// Time in milliseconds since the epoch, and a value.
pub(super) type Point = (i64, f64);

/// The points of a series, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Store {
    series: BTreeMap<Labels, Vec<Point>>,
    by_name: BTreeMap<Box<str>, BTreeSet<Labels>>,
}

/// How many series and samples are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Series.
    pub series: usize,
    /// Samples.
    pub samples: usize,
}

/// The time series store; a clone is another handle on the same store.
#[derive(Debug, Clone, Default)]
pub struct Tsdb {
    store: Arc<RwLock<Store>>,
    retention: Retention,
}

impl Tsdb {
    /// An empty store.
    pub fn new(retention: Retention) -> Self {
        Self {
            store: Arc::default(),
            retention,
        }
    }

    /// Adds a sample. The same sample twice is no error.
    pub fn append(&self, sample: Sample) -> Result<(), Error> {
        self.write().append(
            sample.labels,
            (sample.at.as_millisecond(), sample.value),
            self.retention,
        )
    }

    /// Says that a series ended: it has no value from here on, until its next sample.
    pub fn mark_stale(&self, labels: Labels, at: Timestamp) -> Result<(), Error> {
        self.append(Sample {
            labels,
            at,
            value: f64::from_bits(STALE_BITS),
        })
    }

    /// Puts a history before what a series already holds: from `span` ago until `now`, every `step`, by a closure.
    /// Where the closure gives nothing, there is a gap.
    pub fn backfill(
        &self,
        labels: &Labels,
        now: Timestamp,
        span: Duration,
        step: Duration,
        value: impl Fn(Timestamp) -> Option<f64>,
    ) -> Result<(), Error> {
        let step = millis(step).max(1_000);
        let end = now.as_millisecond();
        let count =
            (millis(span) / step).min(i64::try_from(self.retention.samples_per_series).unwrap_or(i64::MAX));
        let points = (0..=count).rev().map(|back| end - back * step).filter_map(|at| {
            let when = Timestamp::from_millisecond(at).ok()?;
            Some((at, value(when)?))
        });
        let points: Vec<Point> = points.collect();
        self.write().prepend(labels, points, self.retention)
    }

    /// A day of history in one-minute steps that ends at `current` now, shaped by a profile.
    pub fn backfill_day(
        &self,
        labels: &Labels,
        now: Timestamp,
        current: f64,
        profile: &Profile,
    ) -> Result<(), Error> {
        let history = profile.ending_at(labels, now, current);
        let (span, step) = (Duration::from_hours(24), Duration::from_mins(1));
        self.backfill(labels, now, span, step, |at| history.value(at))
    }

    /// Every series that matches.
    pub fn matching(&self, matchers: &Matchers) -> Vec<Labels> {
        self.read()
            .select(None, matchers)
            .map(|(labels, _)| labels.clone())
            .collect()
    }

    /// How much is held.
    pub fn size(&self) -> Size {
        let store = self.read();
        Size {
            series: store.series.len(),
            samples: store.series.values().map(Vec::len).sum(),
        }
    }

    /// The newest sample of a series, if it has not ended.
    pub fn latest(&self, labels: &Labels) -> Option<Sample> {
        let (at, value) = self.read().series.get(labels)?.last().copied()?;
        let at = Timestamp::from_millisecond(at).ok()?;
        (!is_stale(value)).then(|| Sample {
            labels: labels.clone(),
            at,
            value,
        })
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    fn points(&mut self, labels: &Labels, retention: Retention) -> Result<&mut Vec<Point>, Error> {
        if labels.name().is_empty() {
            return Err(Error::NoName(labels.clone()));
        }
        if !self.series.contains_key(labels) {
            if self.series.len() >= retention.series {
                return Err(Error::TooManySeries(retention.series));
            }
            self.by_name
                .entry(labels.name().into())
                .or_default()
                .insert(labels.clone());
        }
        Ok(self.series.entry(labels.clone()).or_default())
    }

    fn append(&mut self, labels: Labels, point: Point, retention: Retention) -> Result<(), Error> {
        let points = self.points(&labels, retention)?;
        match points.last() {
            Some(&(at, _)) if at > point.0 => return Err(Error::OutOfOrder(labels)),
            Some(&(at, value)) if at == point.0 => {
                return if value.to_bits() == point.1.to_bits() {
                    Ok(())
                } else {
                    Err(Error::Duplicate(labels))
                };
            }
            Some(_) | None => points.push(point),
        }
        trim(points, retention);
        Ok(())
    }

    fn prepend(&mut self, labels: &Labels, mut older: Vec<Point>, retention: Retention) -> Result<(), Error> {
        let points = self.points(labels, retention)?;
        if let Some(&(first, _)) = points.first() {
            older.retain(|(at, _)| *at < first);
        }
        older.append(points);
        *points = older;
        trim(points, retention);
        Ok(())
    }

    /// The series with this name (if it is known) that match.
    pub(super) fn select<'a>(
        &'a self,
        name: Option<&'a str>,
        matchers: &'a Matchers,
    ) -> Box<dyn Iterator<Item = (&'a Labels, &'a [Point])> + 'a> {
        let fits = move |labels: &&Labels| matches(matchers, labels);
        let with = |labels: &'a Labels| self.series.get(labels).map(|points| (labels, points.as_slice()));
        match name.or_else(|| exact_name(matchers)) {
            Some(name) => {
                let named = self.by_name.get(name).into_iter().flatten();
                Box::new(named.filter(fits).filter_map(with))
            }
            None => Box::new(self.series.keys().filter(fits).filter_map(with)),
        }
    }

    /// How many series each metric has.
    pub(super) fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.by_name
            .iter()
            .map(|(name, series)| (name.as_ref(), series.len()))
    }
}

/// The name that a selector such as `{__name__="up"}` asks for.
fn exact_name(matchers: &Matchers) -> Option<&str> {
    let is_name = |matcher: &&Matcher| {
        matcher.name == METRIC_NAME && matches!(matcher.op, promql_parser::label::MatchOp::Equal)
    };
    let found = matchers.matchers.iter().find(is_name)?;
    matchers.or_matchers.is_empty().then_some(found.value.as_str())
}

/// Whether labels pass: all of the matchers, or all of one of the alternatives.
pub(super) fn matches(matchers: &Matchers, labels: &Labels) -> bool {
    let all = |group: &[Matcher]| {
        group
            .iter()
            .all(|matcher| matcher.is_match(labels.get(&matcher.name)))
    };
    let alternatives = &matchers.or_matchers;
    all(&matchers.matchers) && (alternatives.is_empty() || alternatives.iter().any(|group| all(group)))
}

/// Whether a value says that its series ended.
pub(super) fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE_BITS
}

/// A duration in milliseconds.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn trim(points: &mut Vec<Point>, retention: Retention) {
    let Some(&(newest, _)) = points.last() else { return };
    let oldest = newest.saturating_sub(millis(retention.span));
    let too_old = points.partition_point(|(at, _)| *at < oldest);
    let too_many = points.len().saturating_sub(retention.samples_per_series);
    // A whole block at once, so that a steady stream does not shift the points at each sample.
    let drop = too_old.max(too_many);
    if drop > 0 && (drop >= 64 || points.len() < 128) {
        points.drain(..drop);
    }
}
