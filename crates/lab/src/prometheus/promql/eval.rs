//! The evaluator: walks a query at one instant, and finds the samples that its selectors name.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use promql_parser::parser::{AtModifier, Call, Expr, MatrixSelector, Offset, SubqueryExpr, VectorSelector};

use super::super::labels::Labels;
use super::super::tsdb::{LOOKBACK, Point, Store, is_stale, millis};
use super::{Error, Item, SAME_LABELS, Series, Value, aggregate, binary, functions, push};

/// The step of a subquery that names none.
const DEFAULT_STEP: Duration = Duration::from_mins(1);

type Selected<'a> = Rc<Vec<(&'a Labels, &'a [Point])>>;

/// The samples of one series in a range.
pub(super) struct Window<'a> {
    pub(super) labels: Labels,
    pub(super) points: Cow<'a, [Point]>,
}

/// The windows of all series of a range, and its bounds: the start is outside, the end inside.
pub(super) struct Windows<'a> {
    pub(super) series: Vec<Window<'a>>,
    pub(super) start: i64,
    pub(super) end: i64,
}

pub(super) struct Eval<'a> {
    store: &'a Store,
    start: i64,
    end: i64,
    deadline: Instant,
    budget: Cell<u64>,
    // A selector is looked up once, not at each step; it is known by its place in the query.
    selected: RefCell<HashMap<*const VectorSelector, Selected<'a>>>,
}

impl<'a> Eval<'a> {
    pub(super) fn new(store: &'a Store, start: i64, end: i64, deadline: Instant, samples: u64) -> Self {
        Self {
            store,
            start,
            end,
            deadline,
            budget: Cell::new(samples),
            selected: RefCell::default(),
        }
    }

    /// The answer to a whole query, which may also be a range of samples.
    pub(super) fn top(&self, expr: &'a Expr, at: i64) -> Result<Value, Error> {
        match expr {
            Expr::MatrixSelector(_) | Expr::Subquery(_) => {
                let windows = self.windows(expr, at)?;
                let series = windows.series.into_iter();
                let series = series.map(|window| Series {
                    labels: window.labels,
                    points: window.points.into_owned(),
                });
                Ok(Value::Matrix(series.collect()))
            }
            Expr::Paren(paren) => self.top(&paren.expr, at),
            _ => self.eval(expr, at),
        }
    }

    pub(super) fn eval(&self, expr: &'a Expr, at: i64) -> Result<Value, Error> {
        self.spend(1)?;
        match expr {
            Expr::NumberLiteral(number) => Ok(Value::Scalar(number.val)),
            Expr::StringLiteral(text) => Ok(Value::Text(text.val.clone())),
            Expr::Paren(paren) => self.eval(&paren.expr, at),
            Expr::Unary(unary) => Ok(negate(self.eval(&unary.expr, at)?)?),
            Expr::VectorSelector(selector) => self.select(selector, at).map(Value::Vector),
            Expr::Binary(binary) => {
                let (lhs, rhs) = (self.eval(&binary.lhs, at)?, self.eval(&binary.rhs, at)?);
                binary::apply(binary, lhs, rhs, at)
            }
            Expr::Aggregate(aggregate) => {
                let param = aggregate
                    .param
                    .as_ref()
                    .map(|param| self.eval(param, at))
                    .transpose()?;
                let items = self.vector(&aggregate.expr, at)?;
                aggregate::apply(aggregate, param, items, at).map(Value::Vector)
            }
            Expr::Call(call) => self.call(call, at),
            Expr::MatrixSelector(_) | Expr::Subquery(_) => Err(Error::Invalid(
                "a range vector needs a function such as rate() around it".to_owned(),
            )),
            Expr::Extension(_) => Err(Error::Invalid("extensions are not supported".to_owned())),
        }
    }

    fn call(&self, call: &'a Call, at: i64) -> Result<Value, Error> {
        let value = functions::apply(self, call, at)?;
        if let Value::Vector(items) = &value {
            distinct(items)?;
        }
        Ok(value)
    }

    pub(super) fn vector(&self, expr: &'a Expr, at: i64) -> Result<Vec<Item>, Error> {
        match self.eval(expr, at)? {
            Value::Vector(items) => Ok(items),
            Value::Scalar(_) | Value::Text(_) | Value::Matrix(_) => Err(expected("an instant vector", expr)),
        }
    }

    pub(super) fn scalar(&self, expr: &'a Expr, at: i64) -> Result<f64, Error> {
        match self.eval(expr, at)? {
            Value::Scalar(value) => Ok(value),
            Value::Vector(_) | Value::Text(_) | Value::Matrix(_) => Err(expected("a scalar", expr)),
        }
    }

    pub(super) fn text(&self, expr: &'a Expr, at: i64) -> Result<String, Error> {
        match self.eval(expr, at)? {
            Value::Text(text) => Ok(text),
            Value::Vector(_) | Value::Scalar(_) | Value::Matrix(_) => Err(expected("a string", expr)),
        }
    }

    /// The newest sample of each selected series that is not older than the look-back.
    fn select(&self, selector: &'a VectorSelector, at: i64) -> Result<Vec<Item>, Error> {
        let at = self.shifted(selector.at.as_ref(), selector.offset.as_ref(), at);
        let oldest = at.saturating_sub(millis(LOOKBACK));
        let series = self.series(selector);
        self.spend(series.len())?;
        let newest = |(labels, points): &(&Labels, &[Point])| {
            let (sampled, value) = *points[..points.partition_point(|(when, _)| *when <= at)].last()?;
            let alive = sampled > oldest && !is_stale(value);
            alive.then(|| Item {
                labels: (*labels).clone(),
                value,
                at: sampled,
            })
        };
        Ok(series.iter().filter_map(newest).collect())
    }

    /// The samples of a range selector or of a subquery.
    pub(super) fn windows(&self, expr: &'a Expr, at: i64) -> Result<Windows<'a>, Error> {
        match expr {
            Expr::MatrixSelector(selector) => self.range(selector, at),
            Expr::Subquery(subquery) => self.subquery(subquery, at),
            Expr::Paren(paren) => self.windows(&paren.expr, at),
            _ => Err(expected("a range vector", expr)),
        }
    }

    fn range(&self, selector: &'a MatrixSelector, at: i64) -> Result<Windows<'a>, Error> {
        let end = self.shifted(selector.vs.at.as_ref(), selector.vs.offset.as_ref(), at);
        let start = end.saturating_sub(millis(selector.range));
        let mut found = Vec::new();
        for &(labels, points) in self.series(&selector.vs).iter() {
            let from = points.partition_point(|(when, _)| *when <= start);
            let until = points.partition_point(|(when, _)| *when <= end);
            let points = &points[from..until.max(from)];
            self.spend(points.len() + 1)?;
            let points: Cow<'a, [Point]> = if points.iter().any(|(_, value)| is_stale(*value)) {
                points
                    .iter()
                    .copied()
                    .filter(|(_, value)| !is_stale(*value))
                    .collect()
            } else {
                Cow::Borrowed(points)
            };
            if !points.is_empty() {
                found.push(Window {
                    labels: labels.clone(),
                    points,
                });
            }
        }
        Ok(Windows {
            series: found,
            start,
            end,
        })
    }

    fn subquery(&self, subquery: &'a SubqueryExpr, at: i64) -> Result<Windows<'a>, Error> {
        let end = self.shifted(subquery.at.as_ref(), subquery.offset.as_ref(), at);
        let start = end.saturating_sub(millis(subquery.range));
        let step = millis(subquery.step.unwrap_or(DEFAULT_STEP)).max(1);
        // Steps are aligned to the epoch, so that they do not move with the time of the query.
        let mut when = start.div_euclid(step).saturating_add(1).saturating_mul(step);
        let mut found = BTreeMap::new();
        while when <= end {
            for item in self.vector(&subquery.expr, when)? {
                push(&mut found, item.labels, (when, item.value))?;
            }
            when = when.saturating_add(step);
        }
        let series = found
            .into_iter()
            .map(|(labels, points)| Window {
                labels,
                points: points.into(),
            })
            .collect();
        Ok(Windows { series, start, end })
    }

    fn series(&self, selector: &'a VectorSelector) -> Selected<'a> {
        let find = || {
            Rc::new(
                self.store
                    .select(selector.name.as_deref(), &selector.matchers)
                    .collect(),
            )
        };
        let mut selected = self.selected.borrow_mut();
        Rc::clone(selected.entry(std::ptr::from_ref(selector)).or_insert_with(find))
    }

    /// The time that a selector looks at, by its `@` and its `offset`.
    fn shifted(&self, modifier: Option<&AtModifier>, offset: Option<&Offset>, at: i64) -> i64 {
        let base = match modifier {
            None => at,
            Some(AtModifier::Start) => self.start,
            Some(AtModifier::End) => self.end,
            Some(AtModifier::At(time)) => epoch_millis(*time),
        };
        match offset {
            None => base,
            Some(Offset::Pos(back)) => base.saturating_sub(millis(*back)),
            Some(Offset::Neg(forth)) => base.saturating_add(millis(*forth)),
        }
    }

    fn spend(&self, samples: usize) -> Result<(), Error> {
        let Some(left) = self.budget.get().checked_sub(samples as u64) else {
            return Err(Error::execution(
                "query processing would load too many samples into memory in query execution",
            ));
        };
        let before = self.budget.replace(left);
        // The clock is asked every few thousand samples only.
        if before >> 12 != left >> 12 && Instant::now() > self.deadline {
            return Err(Error::Timeout);
        }
        Ok(())
    }
}

fn epoch_millis(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => millis(after),
        Err(before) => millis(before.duration()).saturating_neg(),
    }
}

fn negate(value: Value) -> Result<Value, Error> {
    match value {
        Value::Scalar(value) => Ok(Value::Scalar(-value)),
        Value::Vector(items) => {
            let negative = |item: Item| Item {
                labels: item.labels.without_name(),
                value: -item.value,
                ..item
            };
            let items: Vec<Item> = items.into_iter().map(negative).collect();
            distinct(&items)?;
            Ok(Value::Vector(items))
        }
        Value::Text(_) | Value::Matrix(_) => Err(Error::Invalid("only a number can be negated".to_owned())),
    }
}

fn distinct(items: &[Item]) -> Result<(), Error> {
    let mut seen = std::collections::HashSet::with_capacity(items.len());
    if items.iter().all(|item| seen.insert(&item.labels)) {
        Ok(())
    } else {
        Err(Error::execution(SAME_LABELS))
    }
}

fn expected(what: &str, expr: &Expr) -> Error {
    Error::Invalid(format!("{what} was expected, not {expr}"))
}
