//! Aggregations: many series become one per group, or the largest and smallest are picked.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use promql_parser::parser::token::{
    T_AVG, T_BOTTOMK, T_COUNT, T_COUNT_VALUES, T_GROUP, T_MAX, T_MIN, T_QUANTILE, T_STDDEV, T_STDVAR, T_SUM,
    T_TOPK,
};
use promql_parser::parser::{AggregateExpr, LabelModifier};

use super::super::labels::{Labels, METRIC_NAME};
use super::{Error, Item, Value, number, window};

pub(super) fn apply(
    aggregate: &AggregateExpr,
    param: Option<Value>,
    items: Vec<Item>,
    at: i64,
) -> Result<Vec<Item>, Error> {
    let groups = grouped(aggregate.modifier.as_ref(), items);
    let fold = |fold: fn(&[f64]) -> f64| Ok(folded(groups.iter(), at, fold));
    match aggregate.op.id() {
        T_SUM => fold(window::sum),
        T_AVG => fold(window::average),
        T_MIN => fold(window::min),
        T_MAX => fold(window::max),
        T_COUNT => fold(|values| values.len() as f64),
        T_GROUP => fold(|_| 1.0),
        T_STDVAR => fold(window::variance),
        T_STDDEV => fold(|values| window::variance(values).sqrt()),
        T_QUANTILE => {
            let share = scalar(param.as_ref())?;
            Ok(folded(groups.iter(), at, |values| {
                number::quantile(share, values)
            }))
        }
        T_TOPK => picked(groups, scalar(param.as_ref())?, descending),
        T_BOTTOMK => picked(groups, scalar(param.as_ref())?, ascending),
        T_COUNT_VALUES => count_values(groups, param, at),
        _ => Err(Error::Invalid(format!(
            "the aggregation {} is not supported here",
            aggregate.op
        ))),
    }
}

/// The items of each group, in the order in which the groups first appear.
fn grouped(modifier: Option<&LabelModifier>, items: Vec<Item>) -> Vec<(Labels, Vec<Item>)> {
    let key = |labels: &Labels| match modifier {
        None => Labels::empty(),
        Some(LabelModifier::Include(by)) => labels.keep(|name| by.labels.iter().any(|held| held == name)),
        Some(LabelModifier::Exclude(without)) => {
            labels.keep(|name| name != METRIC_NAME && !without.labels.iter().any(|held| held == name))
        }
    };
    let mut groups: Vec<(Labels, Vec<Item>)> = Vec::new();
    let mut places: HashMap<Labels, usize> = HashMap::new();
    for item in items {
        let place = *places.entry(key(&item.labels)).or_insert_with_key(|key| {
            groups.push((key.clone(), Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(item);
    }
    groups
}

fn folded<'g>(
    groups: impl Iterator<Item = &'g (Labels, Vec<Item>)>,
    at: i64,
    fold: impl Fn(&[f64]) -> f64,
) -> Vec<Item> {
    let one = |(labels, items): &(Labels, Vec<Item>)| {
        let values: Vec<f64> = items.iter().map(|item| item.value).collect();
        Item {
            labels: labels.clone(),
            value: fold(&values),
            at,
        }
    };
    groups.map(one).collect()
}

fn scalar(param: Option<&Value>) -> Result<f64, Error> {
    match param {
        Some(Value::Scalar(value)) => Ok(*value),
        Some(Value::Text(_) | Value::Vector(_) | Value::Matrix(_)) | None => Err(Error::Invalid(
            "the aggregation needs a number as its parameter".to_owned(),
        )),
    }
}

fn picked(
    groups: Vec<(Labels, Vec<Item>)>,
    count: f64,
    order: impl Fn(f64, f64) -> Ordering,
) -> Result<Vec<Item>, Error> {
    if count.is_nan() || count.abs() > 9.2e18 {
        return Err(Error::execution(format!(
            "Scalar value {} overflows int64",
            number::json(count)
        )));
    }
    let count = if count < 1.0 { 0 } else { count as usize };
    let pick = |(_, mut items): (Labels, Vec<Item>)| {
        items.sort_by(|a, b| order(a.value, b.value));
        items.truncate(count);
        items
    };
    Ok(groups.into_iter().flat_map(pick).collect())
}

fn count_values(groups: Vec<(Labels, Vec<Item>)>, param: Option<Value>, at: i64) -> Result<Vec<Item>, Error> {
    let Some(Value::Text(label)) = param else {
        return Err(Error::Invalid(
            "count_values needs the name of a label".to_owned(),
        ));
    };
    if !super::relabel::is_label_name(&label) {
        return Err(Error::execution(format!("invalid label name {label:?}")));
    }
    // The new label may make two groups one.
    let mut counts: BTreeMap<Labels, f64> = BTreeMap::new();
    for (labels, items) in groups {
        for item in items {
            *counts
                .entry(labels.with(&label, &number::plain(item.value)))
                .or_default() += 1.0;
        }
    }
    Ok(counts
        .into_iter()
        .map(|(labels, value)| Item { labels, value, at })
        .collect())
}

/// Smallest first; what is not a number comes last.
pub(super) fn ascending(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Largest first; what is not a number comes last.
pub(super) fn descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
