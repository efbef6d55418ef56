//! What functions do with single values, and what `absent` says about a selector that found nothing.

use std::collections::BTreeMap;

use promql_parser::label::MatchOp;
use promql_parser::parser::{Expr, VectorSelector};

use super::super::labels::{Labels, METRIC_NAME};
use super::{Item, Value};

/// A function of one number.
pub(super) type Maths = fn(f64) -> f64;

pub(super) fn sign(value: f64) -> f64 {
    if value < 0.0 {
        -1.0
    } else if value > 0.0 {
        1.0
    } else {
        value
    }
}

/// The smaller of two; not a number if either is not.
pub(super) fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.min(b)
    }
}

/// The larger of two; not a number if either is not.
pub(super) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}

/// Whether an expression is an instant selector and nothing more.
pub(super) fn is_selector(expr: &Expr) -> bool {
    match expr {
        Expr::VectorSelector(_) => true,
        Expr::Paren(paren) => is_selector(&paren.expr),
        _ => false,
    }
}

/// One, with the labels that the selector asks for, if there is nothing; else nothing.
pub(super) fn absent(expr: &Expr, nothing: bool, at: i64) -> Value {
    let item = nothing.then(|| Item {
        labels: asked(expr),
        value: 1.0,
        at,
    });
    Value::Vector(item.into_iter().collect())
}

fn asked(expr: &Expr) -> Labels {
    match expr {
        Expr::VectorSelector(selector) => equal(selector),
        Expr::MatrixSelector(selector) => equal(&selector.vs),
        _ => Labels::empty(),
    }
}

/// The labels that are asked for by exactly one matcher, an equal one.
fn equal(selector: &VectorSelector) -> Labels {
    let mut found: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    for matcher in selector
        .matchers
        .matchers
        .iter()
        .filter(|matcher| matcher.name != METRIC_NAME)
    {
        let value = match matcher.op {
            MatchOp::Equal => Some(matcher.value.as_str()),
            MatchOp::NotEqual | MatchOp::Re(_) | MatchOp::NotRe(_) => None,
        };
        found
            .entry(&matcher.name)
            .and_modify(|held| *held = None)
            .or_insert(value);
    }
    Labels::new(found.into_iter().filter_map(|(name, value)| Some((name, value?))))
}
