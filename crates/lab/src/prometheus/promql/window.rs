//! Statistics of the values in a window or in a group.

use super::super::tsdb::Point;

/// A sum that keeps the small parts (Kahan, in Neumaier's form).
pub(super) fn sum(values: &[f64]) -> f64 {
    let mut sum = 0.0_f64;
    let mut lost = 0.0_f64;
    for &value in values {
        let next = sum + value;
        if next.is_finite() {
            lost += if sum.abs() >= value.abs() {
                (sum - next) + value
            } else {
                (value - next) + sum
            };
        } else {
            lost = 0.0;
        }
        sum = next;
    }
    if sum.is_finite() { sum + lost } else { sum }
}

pub(super) fn average(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let total = sum(values);
    if total.is_infinite() && values.iter().all(|value| value.is_finite()) {
        // The sum overflowed; the average does not.
        return values.iter().map(|value| value / count).sum();
    }
    total / count
}

/// The smallest value that is a number.
pub(super) fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// The largest value that is a number.
pub(super) fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The variance of a whole population (Welford).
pub(super) fn variance(values: &[f64]) -> f64 {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        let delta = value - mean;
        mean += delta / count;
        squares += delta * (value - mean);
    }
    squares / count
}

fn pairs(points: &[Point]) -> impl Iterator<Item = (f64, f64)> {
    points.windows(2).map(|pair| (pair[0].1, pair[1].1))
}

/// How often the value changed.
pub(super) fn changes(points: &[Point]) -> f64 {
    let changed = |&(before, after): &(f64, f64)| after != before && !(after.is_nan() && before.is_nan());
    pairs(points).filter(changed).count() as f64
}

/// How often a counter started again.
pub(super) fn resets(points: &[Point]) -> f64 {
    pairs(points).filter(|(before, after)| after < before).count() as f64
}
