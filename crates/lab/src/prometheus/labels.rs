//! The labels that name a series: sorted, without empty values, cheap to clone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// The label that holds the metric's name.
pub const METRIC_NAME: &str = "__name__";

/// A sorted set of labels. A label with an empty value is the same as no label.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels(Arc<[(Box<str>, Box<str>)]>);

impl Labels {
    /// Labels from pairs, in any order; the last of two equal names wins.
    pub fn new<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let sorted: BTreeMap<Box<str>, Box<str>> = pairs
            .into_iter()
            .map(|(name, value)| (name.as_ref().into(), value.as_ref().into()))
            .collect();
        Self(
            sorted
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect(),
        )
    }

    /// The labels of the metric `name` with further pairs.
    pub fn metric<N: AsRef<str>, V: AsRef<str>>(name: &str, pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_owned()));
        Self::new(pairs.chain([(METRIC_NAME.to_owned(), name.to_owned())]))
    }

    /// No labels.
    pub fn empty() -> Self {
        Self(Arc::new([]))
    }

    /// The value of a label; empty if there is none.
    pub fn get(&self, name: &str) -> &str {
        self.0
            .binary_search_by(|(held, _)| held.as_ref().cmp(name))
            .map_or("", |at| self.0[at].1.as_ref())
    }

    /// The metric's name; empty if it was dropped.
    pub fn name(&self) -> &str {
        self.get(METRIC_NAME)
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value.as_ref()))
    }

    /// Whether there is no label at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same labels with one set; an empty value removes it.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        Self::new(self.iter().chain([(name, value)]))
    }

    /// Only the labels whose name passes.
    #[must_use]
    pub fn keep(&self, mut passes: impl FnMut(&str) -> bool) -> Self {
        if self.iter().all(|(name, _)| passes(name)) {
            return self.clone();
        }
        Self(self.0.iter().filter(|(name, _)| passes(name)).cloned().collect())
    }

    /// The same labels without the metric's name.
    #[must_use]
    pub fn without_name(&self) -> Self {
        self.keep(|name| name != METRIC_NAME)
    }

    /// The labels as a map.
    pub fn to_map(&self) -> BTreeMap<String, String> {
        self.iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        f.write_str("{")?;
        for (at, (name, value)) in self.iter().filter(|(name, _)| *name != METRIC_NAME).enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name}={value:?}")?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
