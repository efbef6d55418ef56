//! Quantiles of classic histograms: cumulative buckets with their upper bound in the label `le`.

use std::collections::BTreeMap;

use super::super::labels::{Labels, METRIC_NAME};
use super::Item;
use super::aggregate::ascending;

#[derive(Clone, Copy)]
struct Bucket {
    upper: f64,
    count: f64,
}

pub(super) fn quantiles(share: f64, items: &[Item], at: i64) -> Vec<Item> {
    let mut histograms: BTreeMap<Labels, Vec<Bucket>> = BTreeMap::new();
    for item in items {
        // A bucket without a bound that can be read is no bucket.
        let Ok(upper) = item.labels.get("le").parse::<f64>() else {
            continue;
        };
        let labels = item.labels.keep(|name| name != "le" && name != METRIC_NAME);
        histograms.entry(labels).or_default().push(Bucket {
            upper,
            count: item.value,
        });
    }
    let one = |(labels, buckets)| Item {
        labels,
        value: quantile(share, buckets),
        at,
    };
    histograms.into_iter().map(one).collect()
}

fn quantile(share: f64, mut buckets: Vec<Bucket>) -> f64 {
    if share.is_nan() {
        return f64::NAN;
    }
    if share < 0.0 {
        return f64::NEG_INFINITY;
    }
    if share > 1.0 {
        return f64::INFINITY;
    }
    buckets.sort_by(|a, b| ascending(a.upper, b.upper));
    if buckets.last().is_none_or(|last| last.upper != f64::INFINITY) {
        return f64::NAN;
    }
    let buckets = cumulative(&buckets);
    let Some(&Bucket { count: total, .. }) = buckets.last() else {
        return f64::NAN;
    };
    if buckets.len() < 2 || total == 0.0 || total.is_nan() {
        return f64::NAN;
    }
    interpolate(&buckets, share * total)
}

/// Buckets with equal bounds added up, and counts that never fall from one bucket to the next.
fn cumulative(buckets: &[Bucket]) -> Vec<Bucket> {
    let mut merged: Vec<Bucket> = Vec::with_capacity(buckets.len());
    for bucket in buckets {
        match merged.last_mut() {
            Some(last) if last.upper == bucket.upper => last.count += bucket.count,
            Some(_) | None => merged.push(*bucket),
        }
    }
    let mut highest = f64::NEG_INFINITY;
    for bucket in &mut merged {
        highest = highest.max(bucket.count);
        bucket.count = highest;
    }
    merged
}

fn interpolate(buckets: &[Bucket], mut rank: f64) -> f64 {
    let last = buckets.len() - 1;
    let place = buckets[..last].partition_point(|bucket| bucket.count < rank);
    if place == last {
        return buckets[last - 1].upper;
    }
    let Bucket { upper, mut count } = buckets[place];
    if place == 0 && upper <= 0.0 {
        return upper;
    }
    let mut lower = 0.0;
    if place > 0 {
        lower = buckets[place - 1].upper;
        count -= buckets[place - 1].count;
        rank -= buckets[place - 1].count;
    }
    lower + (upper - lower) * (rank / count)
}
