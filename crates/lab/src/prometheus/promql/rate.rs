//! How fast a series grows: rates with extrapolation to the edges of the range, and straight lines through samples.

use super::super::tsdb::Point;
use super::eval::{Window, Windows};
use super::functions::seconds;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}

pub(super) fn rate(window: &Window<'_>, windows: &Windows<'_>) -> Option<f64> {
    let risen = extrapolated(window, windows, Kind::Counter)?;
    Some(risen / seconds(windows.end - windows.start))
}

pub(super) fn increase(window: &Window<'_>, windows: &Windows<'_>) -> Option<f64> {
    extrapolated(window, windows, Kind::Counter)
}

pub(super) fn delta(window: &Window<'_>, windows: &Windows<'_>) -> Option<f64> {
    extrapolated(window, windows, Kind::Gauge)
}

/// The growth over the whole range. The samples rarely reach its edges: where the gap is short the growth is assumed to
/// go on to the edge, where it is long to half of the usual distance; and a counter is never assumed below zero.
fn extrapolated(window: &Window<'_>, windows: &Windows<'_>, kind: Kind) -> Option<f64> {
    let points = &window.points;
    let (&(first_at, first), &(last_at, last)) = (points.first()?, points.last()?);
    if points.len() < 2 {
        return None;
    }
    let mut growth = last - first;
    if kind == Kind::Counter {
        let resets = points.windows(2).filter(|pair| pair[1].1 < pair[0].1);
        growth += resets.map(|pair| pair[0].1).sum::<f64>();
    }
    let sampled = seconds(last_at - first_at);
    let distance = sampled / (points.len() - 1) as f64;
    let threshold = distance * 1.1;
    let reach = |gap: f64| if gap >= threshold { distance / 2.0 } else { gap };
    let mut to_start = reach(seconds(first_at - windows.start));
    let to_end = reach(seconds(windows.end - last_at));
    if kind == Kind::Counter && growth > 0.0 && first >= 0.0 {
        to_start = to_start.min(sampled * (first / growth));
    }
    Some(growth * ((sampled + to_start + to_end) / sampled))
}

fn last_two(points: &[Point]) -> Option<(Point, Point)> {
    match points {
        [.., before, last] => Some((*before, *last)),
        _ => None,
    }
}

/// The growth per second between the last two samples.
pub(super) fn irate(window: &Window<'_>, _: &Windows<'_>) -> Option<f64> {
    let (before, last) = last_two(&window.points)?;
    let growth = if last.1 < before.1 {
        last.1
    } else {
        last.1 - before.1
    };
    Some(growth / seconds(last.0 - before.0))
}

/// The difference between the last two samples.
pub(super) fn idelta(window: &Window<'_>, _: &Windows<'_>) -> Option<f64> {
    let (before, last) = last_two(&window.points)?;
    Some(last.1 - before.1)
}

/// The slope of the line through the samples.
pub(super) fn deriv(window: &Window<'_>, _: &Windows<'_>) -> Option<f64> {
    let &(first_at, _) = window.points.first()?;
    line(&window.points, first_at).map(|line| line.slope)
}

/// Where the line through the samples will be, `ahead` seconds after the time of the evaluation.
pub(super) fn predict(window: &Window<'_>, _: &Windows<'_>, at: i64, ahead: f64) -> Option<f64> {
    line(&window.points, at).map(|line| line.slope * ahead + line.intercept)
}

struct Line {
    slope: f64,
    intercept: f64,
}

/// The line with the least squares, where `origin` is zero on the time axis.
fn line(points: &[Point], origin: i64) -> Option<Line> {
    let &(_, first) = points.first()?;
    if points.len() < 2 {
        return None;
    }
    if points.iter().all(|(_, value)| *value == first) {
        let flat = if first.is_infinite() { f64::NAN } else { 0.0 };
        return Some(Line {
            slope: flat,
            intercept: first + flat,
        });
    }
    let column = |of: fn(f64, f64) -> f64| {
        let values: Vec<f64> = points
            .iter()
            .map(|(at, y)| of(seconds(at - origin), *y))
            .collect();
        super::window::sum(&values)
    };
    let count = points.len() as f64;
    let (sum_x, sum_y) = (column(|x, _| x), column(|_, y| y));
    let covariance = column(|x, y| x * y) - sum_x * sum_y / count;
    let variance = column(|x, _| x * x) - sum_x * sum_x / count;
    let slope = covariance / variance;
    Some(Line {
        slope,
        intercept: sum_y / count - slope * sum_x / count,
    })
}
