//! The functions of the language: which there are, and what each does with its arguments.

use promql_parser::parser::{Call, Expr};

use super::eval::{Eval, Window, Windows};
use super::instant::{self, Maths};
use super::{Error, Item, Value, calendar, histogram, number, rate, relabel, window};

/// A function that is supported, by what it works on.
#[derive(Clone, Copy)]
pub(super) enum Function {
    /// A range of samples becomes one value.
    OverTime(fn(&Window<'_>, &Windows<'_>) -> Option<f64>),
    /// Each value of a vector becomes another.
    Each(Maths),
    /// Each value is a time, of which a part is taken.
    Calendar(calendar::Part),
    Absent,
    AbsentOverTime,
    Clamp,
    ClampMax,
    ClampMin,
    HistogramQuantile,
    LabelJoin,
    LabelReplace,
    LastOverTime,
    Pi,
    PredictLinear,
    QuantileOverTime,
    Round,
    Scalar,
    Sort,
    SortDesc,
    Time,
    Timestamp,
    Vector,
}

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        use Function::{Calendar, Each, OverTime};
        Some(match name {
            "rate" => OverTime(rate::rate),
            "increase" => OverTime(rate::increase),
            "delta" => OverTime(rate::delta),
            "irate" => OverTime(rate::irate),
            "idelta" => OverTime(rate::idelta),
            "deriv" => OverTime(rate::deriv),
            "changes" => OverTime(|window, _| Some(window::changes(&window.points))),
            "resets" => OverTime(|window, _| Some(window::resets(&window.points))),
            "avg_over_time" => OverTime(|window, _| Some(window::average(&values(window)))),
            "min_over_time" => OverTime(|window, _| Some(window::min(&values(window)))),
            "max_over_time" => OverTime(|window, _| Some(window::max(&values(window)))),
            "sum_over_time" => OverTime(|window, _| Some(window::sum(&values(window)))),
            "count_over_time" => OverTime(|window, _| Some(window.points.len() as f64)),
            "stdvar_over_time" => OverTime(|window, _| Some(window::variance(&values(window)))),
            "stddev_over_time" => OverTime(|window, _| Some(window::variance(&values(window)).sqrt())),
            "present_over_time" => OverTime(|_, _| Some(1.0)),
            "last_over_time" => Self::LastOverTime,
            "quantile_over_time" => Self::QuantileOverTime,
            "absent_over_time" => Self::AbsentOverTime,
            "predict_linear" => Self::PredictLinear,
            "abs" => Each(f64::abs),
            "ceil" => Each(f64::ceil),
            "floor" => Each(f64::floor),
            "sqrt" => Each(f64::sqrt),
            "exp" => Each(f64::exp),
            "ln" => Each(f64::ln),
            "log2" => Each(f64::log2),
            "log10" => Each(f64::log10),
            "deg" => Each(f64::to_degrees),
            "rad" => Each(f64::to_radians),
            "sgn" => Each(instant::sign),
            "minute" => Calendar(calendar::Part::Minute),
            "hour" => Calendar(calendar::Part::Hour),
            "day_of_week" => Calendar(calendar::Part::DayOfWeek),
            "day_of_month" => Calendar(calendar::Part::DayOfMonth),
            "day_of_year" => Calendar(calendar::Part::DayOfYear),
            "days_in_month" => Calendar(calendar::Part::DaysInMonth),
            "month" => Calendar(calendar::Part::Month),
            "year" => Calendar(calendar::Part::Year),
            "absent" => Self::Absent,
            "clamp" => Self::Clamp,
            "clamp_max" => Self::ClampMax,
            "clamp_min" => Self::ClampMin,
            "histogram_quantile" => Self::HistogramQuantile,
            "label_join" => Self::LabelJoin,
            "label_replace" => Self::LabelReplace,
            "pi" => Self::Pi,
            "round" => Self::Round,
            "scalar" => Self::Scalar,
            "sort" => Self::Sort,
            "sort_desc" => Self::SortDesc,
            "time" => Self::Time,
            "timestamp" => Self::Timestamp,
            "vector" => Self::Vector,
            _ => return None,
        })
    }
}

pub(super) fn apply<'a>(eval: &Eval<'a>, call: &'a Call, at: i64) -> Result<Value, Error> {
    let name = call.func.name;
    let function = Function::named(name)
        .ok_or_else(|| Error::Invalid(format!("the function {name} is not supported here")))?;
    let arguments = Arguments { eval, call, at };
    match function {
        Function::OverTime(fold) => arguments.over_time(0, fold),
        Function::QuantileOverTime => {
            let share = arguments.scalar(0)?;
            arguments.over_time(1, |window, _| Some(number::quantile(share, &values(window))))
        }
        Function::PredictLinear => {
            let ahead = arguments.scalar(1)?;
            arguments.over_time(0, |window, windows| rate::predict(window, windows, at, ahead))
        }
        Function::LastOverTime => {
            let windows = arguments.windows(0)?;
            let last = |window: &Window<'_>| {
                let &(_, value) = window.points.last()?;
                Some(Item {
                    labels: window.labels.clone(),
                    value,
                    at,
                })
            };
            Ok(Value::Vector(windows.series.iter().filter_map(last).collect()))
        }
        Function::AbsentOverTime => {
            let windows = arguments.windows(0)?;
            Ok(instant::absent(arguments.expr(0)?, windows.series.is_empty(), at))
        }
        Function::Absent => {
            let items = arguments.vector(0)?;
            Ok(instant::absent(arguments.expr(0)?, items.is_empty(), at))
        }
        Function::Each(maths) => arguments.each(maths),
        Function::Calendar(part) => {
            if call.args.is_empty() {
                let item = Item {
                    labels: super::Labels::empty(),
                    value: part.of(seconds(at)),
                    at,
                };
                return Ok(Value::Vector(vec![item]));
            }
            arguments.each(|value| part.of(value))
        }
        Function::Clamp => {
            let (min, max) = (arguments.scalar(1)?, arguments.scalar(2)?);
            if max < min {
                return Ok(Value::Vector(Vec::new()));
            }
            arguments.each(|value| instant::larger(min, instant::smaller(max, value)))
        }
        Function::ClampMax => {
            let max = arguments.scalar(1)?;
            arguments.each(|value| instant::smaller(max, value))
        }
        Function::ClampMin => {
            let min = arguments.scalar(1)?;
            arguments.each(|value| instant::larger(min, value))
        }
        Function::Round => {
            let to = if call.args.len() > 1 {
                arguments.scalar(1)?
            } else {
                1.0
            };
            // Multiplying by the inverse is what the server does; dividing would round some values differently.
            let inverse = 1.0 / to;
            arguments.each(|value| (value * inverse + 0.5).floor() / inverse)
        }
        Function::HistogramQuantile => {
            let share = arguments.scalar(0)?;
            Ok(Value::Vector(histogram::quantiles(
                share,
                &arguments.vector(1)?,
                at,
            )))
        }
        Function::LabelReplace => {
            let (target, replacement) = (arguments.text(1)?, arguments.text(2)?);
            let (source, pattern) = (arguments.text(3)?, arguments.text(4)?);
            let rule = relabel::Replace::new(target, replacement, source, &pattern)?;
            Ok(Value::Vector(rule.on(arguments.vector(0)?)))
        }
        Function::LabelJoin => {
            let (target, separator) = (arguments.text(1)?, arguments.text(2)?);
            let sources = (3..call.args.len())
                .map(|place| arguments.text(place))
                .collect::<Result<Vec<_>, _>>()?;
            relabel::join(&target, &separator, &sources, arguments.vector(0)?).map(Value::Vector)
        }
        Function::Sort => arguments.sorted(super::aggregate::ascending),
        Function::SortDesc => arguments.sorted(super::aggregate::descending),
        Function::Scalar => match arguments.vector(0)?.as_slice() {
            [only] => Ok(Value::Scalar(only.value)),
            _ => Ok(Value::Scalar(f64::NAN)),
        },
        Function::Vector => {
            let value = arguments.scalar(0)?;
            Ok(Value::Vector(vec![Item {
                labels: super::Labels::empty(),
                value,
                at,
            }]))
        }
        Function::Pi => Ok(Value::Scalar(std::f64::consts::PI)),
        Function::Time => Ok(Value::Scalar(seconds(at))),
        Function::Timestamp => {
            // Only a plain selector knows when its samples were taken.
            let plain = instant::is_selector(arguments.expr(0)?);
            let when = |item: &Item| seconds(if plain { item.at } else { at });
            let items = arguments.vector(0)?.into_iter();
            let items = items.map(|item| Item {
                labels: item.labels.without_name(),
                value: when(&item),
                at,
            });
            Ok(Value::Vector(items.collect()))
        }
    }
}

struct Arguments<'e, 'a> {
    eval: &'e Eval<'a>,
    call: &'a Call,
    at: i64,
}

impl<'a> Arguments<'_, 'a> {
    fn expr(&self, place: usize) -> Result<&'a Expr, Error> {
        let missing = || {
            Error::Invalid(format!(
                "an argument is missing in call to {}",
                self.call.func.name
            ))
        };
        self.call
            .args
            .args
            .get(place)
            .map(AsRef::as_ref)
            .ok_or_else(missing)
    }

    fn scalar(&self, place: usize) -> Result<f64, Error> {
        self.eval.scalar(self.expr(place)?, self.at)
    }

    fn text(&self, place: usize) -> Result<String, Error> {
        self.eval.text(self.expr(place)?, self.at)
    }

    fn vector(&self, place: usize) -> Result<Vec<Item>, Error> {
        self.eval.vector(self.expr(place)?, self.at)
    }

    fn windows(&self, place: usize) -> Result<Windows<'a>, Error> {
        self.eval.windows(self.expr(place)?, self.at)
    }

    fn each(&self, maths: impl Fn(f64) -> f64) -> Result<Value, Error> {
        let items = self.vector(0)?.into_iter();
        let item = |item: Item| Item {
            labels: item.labels.without_name(),
            value: maths(item.value),
            at: self.at,
        };
        Ok(Value::Vector(items.map(item).collect()))
    }

    fn over_time(
        &self,
        place: usize,
        fold: impl Fn(&Window<'_>, &Windows<'_>) -> Option<f64>,
    ) -> Result<Value, Error> {
        let windows = self.windows(place)?;
        let one = |window: &Window<'_>| {
            let value = fold(window, &windows)?;
            Some(Item {
                labels: window.labels.without_name(),
                value,
                at: self.at,
            })
        };
        Ok(Value::Vector(windows.series.iter().filter_map(one).collect()))
    }

    fn sorted(&self, order: fn(f64, f64) -> std::cmp::Ordering) -> Result<Value, Error> {
        let mut items = self.vector(0)?;
        items.sort_by(|a, b| order(a.value, b.value));
        Ok(Value::Vector(items))
    }
}

fn values(window: &Window<'_>) -> Vec<f64> {
    window.points.iter().map(|(_, value)| *value).collect()
}

/// Milliseconds as seconds.
pub(super) fn seconds(at: i64) -> f64 {
    at as f64 / 1_000.0
}
