//! Numbers as the server writes them, and quantiles.

use super::aggregate::ascending;

/// A number without an exponent: the text of a label.
pub(super) fn plain(value: f64) -> String {
    special(value).unwrap_or_else(|| value.to_string())
}

/// A number as in the API's answers: with an exponent if it is very large or very small.
pub(in super::super) fn json(value: f64) -> String {
    with_exponent(value, 1e-6)
}

/// A number as in an annotation.
pub(in super::super) fn in_template(value: f64) -> String {
    with_exponent(value, 1e-4)
}

fn special(value: f64) -> Option<String> {
    let text = if value.is_nan() {
        "NaN"
    } else if value == f64::INFINITY {
        "+Inf"
    } else if value == f64::NEG_INFINITY {
        "-Inf"
    } else {
        return None;
    };
    Some(text.to_owned())
}

fn with_exponent(value: f64, smallest: f64) -> String {
    if let Some(text) = special(value) {
        return text;
    }
    let size = value.abs();
    if size == 0.0 || (smallest..1e21).contains(&size) {
        return value.to_string();
    }
    exponent(value)
}

/// A number with an exponent, as in the list of alerts.
pub(in super::super) fn exponent(value: f64) -> String {
    if let Some(text) = special(value) {
        return text;
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent
                .strip_prefix('-')
                .map_or(('+', exponent), |rest| ('-', rest));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

/// The value below which the given share of the values lies.
pub(super) fn quantile(share: f64, values: &[f64]) -> f64 {
    if values.is_empty() || share.is_nan() {
        return f64::NAN;
    }
    if share < 0.0 {
        return f64::NEG_INFINITY;
    }
    if share > 1.0 {
        return f64::INFINITY;
    }
    let mut sorted = values.to_vec();
    // What is not a number counts as the smallest.
    sorted.sort_by(|a, b| b.is_nan().cmp(&a.is_nan()).then(ascending(*a, *b)));
    let rank = share * (sorted.len() - 1) as f64;
    let lower = (rank.floor() as usize).min(sorted.len() - 1);
    let upper = (lower + 1).min(sorted.len() - 1);
    let weight = rank - rank.floor();
    sorted[lower] * (1.0 - weight) + sorted[upper] * weight
}
