//! What a series of numbers says: its bounds, its trend, what is usual, what is unusual now.

use interlock_infra::prometheus::Point;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

/// How many points are shown.
const MOST_POINTS: usize = 60;
const HOUR: f64 = 3600.0;

/// How many numbers there are, as a number to compute with.
#[expect(clippy::cast_precision_loss, reason = "series are short")]
const fn size(count: usize) -> f64 {
    count as f64
}

/// The points that are numbers.
pub(super) fn numbers(points: &[Point]) -> Vec<Point> {
    points
        .iter()
        .copied()
        .filter(|point| point.value.is_finite() && point.at.is_finite())
        .collect()
}

/// Bounds, mean, present, trend, and some of the points. Nothing where there are no numbers.
pub(super) fn summary(points: &[Point]) -> Option<Value> {
    let points = numbers(points);
    let last = points.last()?;
    let every = points.len().div_ceil(MOST_POINTS);
    // Counted from the end, so that the newest is among them.
    let mut shown: Vec<Value> = points
        .iter()
        .rev()
        .step_by(every.max(1))
        .map(|point| json!([point.time(), rounded(point.value)]))
        .collect();
    shown.reverse();
    Some(json!({
        "min": rounded(points.iter().map(|point| point.value).fold(f64::INFINITY, f64::min)),
        "avg": rounded(mean(&points)),
        "max": rounded(points.iter().map(|point| point.value).fold(f64::NEG_INFINITY, f64::max)),
        "last": rounded(last.value),
        "last_at": last.time(),
        "trend_per_hour": trend_per_hour(&points).map(rounded),
        "points": shown,
    }))
}

/// What is usual, and how far away from it the present is.
pub(super) fn baseline(points: &[Point]) -> Option<Value> {
    let points = numbers(points);
    let last = points.last()?;
    let mean = mean(&points);
    let deviation = deviation(&points, mean);
    let away = (deviation > 0.0).then(|| (last.value - mean) / deviation);
    Some(json!({
        "mean": rounded(mean),
        "stddev": rounded(deviation),
        "p95": percentile(&points, 0.95).map(rounded),
        "last": rounded(last.value),
        "last_at": last.time(),
        "deviations_from_mean": away.map(rounded),
        "unusual": away.is_some_and(|away| away.abs() >= 3.0),
        "samples": points.len(),
    }))
}

/// The mean of each hour of the day, in UTC.
pub(super) fn pattern(points: &[Point]) -> Option<Value> {
    let points = numbers(points);
    let last = points.last()?;
    let mut hours: Vec<Vec<Point>> = vec![Vec::new(); 24];
    for point in &points {
        let hour = point
            .time()
            .and_then(|at: Timestamp| usize::try_from(at.to_zoned(TimeZone::UTC).hour()).ok());
        if let Some(hour) = hour.and_then(|hour| hours.get_mut(hour)) {
            hour.push(*point);
        }
    }
    let means: Vec<Value> = hours
        .iter()
        .enumerate()
        .filter(|(_, points)| !points.is_empty())
        .map(|(hour, points)| json!({"hour": hour, "mean": rounded(mean(points)), "samples": points.len()}))
        .collect();
    let by_mean = |one: &&Value, other: &&Value| {
        let number = |value: &Value| value["mean"].as_f64().unwrap_or(0.0);
        number(one).total_cmp(&number(other))
    };
    Some(json!({
        "busiest_hour": means.iter().max_by(by_mean).map(|hour| hour["hour"].clone()),
        "quietest_hour": means.iter().min_by(by_mean).map(|hour| hour["hour"].clone()),
        "hours_utc": means,
        "last": rounded(last.value),
        "last_at": last.time(),
    }))
}

fn mean(points: &[Point]) -> f64 {
    points.iter().map(|point| point.value).sum::<f64>() / size(points.len().max(1))
}

fn deviation(points: &[Point], mean: f64) -> f64 {
    let squares: f64 = points.iter().map(|point| (point.value - mean).powi(2)).sum();
    (squares / size(points.len().max(1))).sqrt()
}

fn percentile(points: &[Point], part: f64) -> Option<f64> {
    let mut values: Vec<f64> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of the length is a place in the list"
    )]
    let place = (size(values.len()) * part).ceil() as usize;
    values.get(place.saturating_sub(1)).copied()
}

/// The slope of the line that fits best.
fn trend_per_hour(points: &[Point]) -> Option<f64> {
    if points.len() < 2 {
        return None;
    }
    let mean_at = points.iter().map(|point| point.at).sum::<f64>() / size(points.len());
    let mean_value = mean(points);
    let (mut together, mut apart) = (0.0, 0.0);
    for point in points {
        together += (point.at - mean_at) * (point.value - mean_value);
        apart += (point.at - mean_at).powi(2);
    }
    (apart > 0.0).then(|| together / apart * HOUR)
}

/// Six digits are more than anyone reads.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the logarithm of a float is small"
    )]
    let digits = 6 - value.abs().log10().ceil() as i32;
    let factor = 10_f64.powi(digits.clamp(-300, 300));
    (value * factor).round() / factor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64]) -> Vec<Point> {
        values
            .iter()
            .zip(0_u32..)
            .map(|(value, place)| Point {
                at: 1_700_000_000.0 + f64::from(place) * 60.0,
                value: *value,
            })
            .collect()
    }

    #[test]
    fn a_series_is_summed_up() {
        let found = summary(&points(&[1.0, 2.0, f64::NAN, 4.0])).unwrap();
        assert_eq!(
            (&found["min"], &found["avg"], &found["max"], &found["last"]),
            (&json!(1.0), &json!(2.33333), &json!(4.0), &json!(4.0))
        );
        let rising: Vec<f64> = (0..10).map(f64::from).collect();
        assert_eq!(summary(&points(&rising)).unwrap()["trend_per_hour"], 60.0);
        let long: Vec<f64> = (0..1000).map(f64::from).collect();
        let shown = summary(&points(&long)).unwrap();
        let shown = shown["points"].as_array().unwrap();
        assert!(shown.len() <= MOST_POINTS && shown.last().unwrap()[1] == 999.0);
        assert_eq!(summary(&points(&[f64::NAN, f64::INFINITY])), None);
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&points(&[5.0])).unwrap()["trend_per_hour"], Value::Null);
    }

    #[test]
    fn what_is_far_from_the_usual_is_unusual() {
        let mut values: Vec<f64> = (0..99).map(|place| 10.0 + f64::from(place % 3)).collect();
        values.push(90.0);
        let found = baseline(&points(&values)).unwrap();
        assert_eq!((&found["unusual"], &found["p95"]), (&json!(true), &json!(12.0)));
        let flat = baseline(&points(&[1.0, 1.0])).unwrap();
        assert_eq!(
            (&flat["unusual"], &flat["deviations_from_mean"]),
            (&json!(false), &Value::Null)
        );
    }

    #[test]
    fn hours_of_the_day_are_told_apart() {
        let busy_at_noon: Vec<Point> = (0..48_u32)
            .map(|hour| Point {
                at: 1_699_920_000.0 + f64::from(hour) * HOUR,
                value: if hour % 24 == 12 { 9.0 } else { 1.0 },
            })
            .collect();
        let found = pattern(&busy_at_noon).unwrap();
        assert_eq!(found["busiest_hour"], 12);
        assert_eq!(found["hours_utc"].as_array().unwrap().len(), 24);
        assert_eq!(
            found["hours_utc"][12],
            json!({"hour": 12, "mean": 9.0, "samples": 2})
        );
    }
}
