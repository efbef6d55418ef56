//! Operators between two values: arithmetic, comparison and sets, with the matching of two vectors.

use std::collections::{HashMap, HashSet};

use promql_parser::parser::token::{
    T_ADD, T_ATAN2, T_DIV, T_EQLC, T_GTE, T_GTR, T_LAND, T_LOR, T_LSS, T_LTE, T_LUNLESS, T_MOD, T_MUL, T_NEQ,
    T_POW, T_SUB,
};
use promql_parser::parser::{BinModifier, BinaryExpr, LabelModifier, VectorMatchCardinality};

use super::super::labels::{Labels, METRIC_NAME};
use super::{Error, Item, Value};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Pow,
    Atan2,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Unless,
}

impl Op {
    fn of(token: u16) -> Option<Self> {
        Some(match token {
            T_ADD => Self::Add,
            T_SUB => Self::Sub,
            T_MUL => Self::Mul,
            T_DIV => Self::Div,
            T_MOD => Self::Mod,
            T_POW => Self::Pow,
            T_ATAN2 => Self::Atan2,
            T_EQLC => Self::Equal,
            T_NEQ => Self::NotEqual,
            T_LSS => Self::Less,
            T_LTE => Self::LessEqual,
            T_GTR => Self::Greater,
            T_GTE => Self::GreaterEqual,
            T_LAND => Self::And,
            T_LOR => Self::Or,
            T_LUNLESS => Self::Unless,
            _ => return None,
        })
    }

    /// The result of arithmetic, or whether a comparison holds.
    fn on(self, lhs: f64, rhs: f64) -> Outcome {
        match self {
            Self::Add => Outcome::Number(lhs + rhs),
            Self::Sub => Outcome::Number(lhs - rhs),
            Self::Mul => Outcome::Number(lhs * rhs),
            Self::Div => Outcome::Number(lhs / rhs),
            Self::Mod => Outcome::Number(lhs % rhs),
            Self::Pow => Outcome::Number(lhs.powf(rhs)),
            Self::Atan2 => Outcome::Number(lhs.atan2(rhs)),
            Self::Equal => Outcome::Holds(lhs == rhs),
            Self::NotEqual => Outcome::Holds(lhs != rhs),
            Self::Less => Outcome::Holds(lhs < rhs),
            Self::LessEqual => Outcome::Holds(lhs <= rhs),
            Self::Greater => Outcome::Holds(lhs > rhs),
            Self::GreaterEqual => Outcome::Holds(lhs >= rhs),
            Self::And | Self::Or | Self::Unless => Outcome::Holds(true),
        }
    }
}

enum Outcome {
    Number(f64),
    Holds(bool),
}

impl Outcome {
    /// The value to keep, if any, and whether the metric's name survives it.
    fn keep(self, kept: f64, as_bool: bool) -> Option<(f64, Name)> {
        match self {
            Self::Number(value) => Some((value, Name::Dropped)),
            Self::Holds(holds) if as_bool => Some((f64::from(u8::from(holds)), Name::Dropped)),
            Self::Holds(holds) => holds.then_some((kept, Name::Kept)),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Kept,
    Dropped,
}

impl Name {
    fn on(self, labels: &Labels) -> Labels {
        match self {
            Self::Kept => labels.clone(),
            Self::Dropped => labels.without_name(),
        }
    }
}

pub(super) fn apply(binary: &BinaryExpr, lhs: Value, rhs: Value, at: i64) -> Result<Value, Error> {
    let op = Op::of(binary.op.id())
        .ok_or_else(|| Error::Invalid(format!("the operator {} is not supported", binary.op)))?;
    let as_bool = binary.return_bool();
    match (lhs, rhs) {
        (Value::Scalar(lhs), Value::Scalar(rhs)) => match op.on(lhs, rhs) {
            Outcome::Number(value) => Ok(Value::Scalar(value)),
            Outcome::Holds(holds) => Ok(Value::Scalar(f64::from(u8::from(holds)))),
        },
        (Value::Vector(items), Value::Scalar(scalar)) => {
            let each = |item: Item| with_scalar(&item, op.on(item.value, scalar), as_bool, at);
            vector(items.into_iter().filter_map(each))
        }
        (Value::Scalar(scalar), Value::Vector(items)) => {
            let each = |item: Item| with_scalar(&item, op.on(scalar, item.value), as_bool, at);
            vector(items.into_iter().filter_map(each))
        }
        (Value::Vector(lhs), Value::Vector(rhs)) => {
            let default = BinModifier::default();
            let modifier = binary.modifier.as_ref().unwrap_or(&default);
            match op {
                Op::And | Op::Or | Op::Unless => Ok(Value::Vector(sets(op, lhs, rhs, modifier))),
                _ => Matching { op, modifier, at }.join(&lhs, &rhs).map(Value::Vector),
            }
        }
        (Value::Text(_) | Value::Matrix(_), _) | (_, Value::Text(_) | Value::Matrix(_)) => Err(
            Error::Invalid("binary expression must contain only scalar and instant vector types".to_owned()),
        ),
    }
}

fn vector(items: impl Iterator<Item = Item>) -> Result<Value, Error> {
    let items: Vec<Item> = items.collect();
    let mut seen = HashSet::with_capacity(items.len());
    if items.iter().all(|item| seen.insert(&item.labels)) {
        Ok(Value::Vector(items))
    } else {
        Err(Error::execution(super::SAME_LABELS))
    }
}

fn with_scalar(item: &Item, outcome: Outcome, as_bool: bool, at: i64) -> Option<Item> {
    let (value, name) = outcome.keep(item.value, as_bool)?;
    Some(Item {
        labels: name.on(&item.labels),
        value,
        at,
    })
}

fn sets(op: Op, lhs: Vec<Item>, rhs: Vec<Item>, modifier: &BinModifier) -> Vec<Item> {
    let key = |item: &Item| signature(modifier, &item.labels);
    if op == Op::Or {
        let held: HashSet<Labels> = lhs.iter().map(key).collect();
        let added = rhs.into_iter().filter(|item| !held.contains(&key(item)));
        return lhs.into_iter().chain(added).collect();
    }
    let held: HashSet<Labels> = rhs.iter().map(key).collect();
    lhs.into_iter()
        .filter(|item| held.contains(&key(item)) == (op == Op::And))
        .collect()
}

/// The labels by which two series find each other.
fn signature(modifier: &BinModifier, labels: &Labels) -> Labels {
    match &modifier.matching {
        Some(LabelModifier::Include(on)) => labels.keep(|name| on.labels.iter().any(|held| held == name)),
        Some(LabelModifier::Exclude(ignored)) => {
            labels.keep(|name| name != METRIC_NAME && !ignored.labels.iter().any(|held| held == name))
        }
        None => labels.without_name(),
    }
}

struct Matching<'m> {
    op: Op,
    modifier: &'m BinModifier,
    at: i64,
}

impl Matching<'_> {
    fn join(&self, lhs: &[Item], rhs: &[Item]) -> Result<Vec<Item>, Error> {
        let swapped = matches!(self.modifier.card, VectorMatchCardinality::OneToMany(_));
        let (many, one) = if swapped { (rhs, lhs) } else { (lhs, rhs) };
        if many.is_empty() || one.is_empty() {
            return Ok(Vec::new());
        }
        let ones = self.index(one, if swapped { "left" } else { "right" })?;
        let mut joined = Vec::new();
        let mut matched: HashSet<Labels> = HashSet::new();
        for item in many {
            let key = signature(self.modifier, &item.labels);
            let Some(other) = ones.get(&key) else { continue };
            let (left, right) = if swapped {
                (other.value, item.value)
            } else {
                (item.value, other.value)
            };
            let outcome = self.op.on(left, right);
            let Some((value, name)) = outcome.keep(left, self.modifier.return_bool) else {
                continue;
            };
            let labels = self.result(&item.labels, &other.labels, name);
            match self.modifier.card {
                VectorMatchCardinality::OneToOne | VectorMatchCardinality::ManyToMany => {
                    if !matched.insert(key) {
                        return Err(Error::execution(
                            "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)",
                        ));
                    }
                }
                VectorMatchCardinality::ManyToOne(_) | VectorMatchCardinality::OneToMany(_) => {
                    if !matched.insert(labels.clone()) {
                        return Err(Error::execution(
                            "multiple matches for labels: grouping labels must ensure unique matches",
                        ));
                    }
                }
            }
            joined.push(Item {
                labels,
                value,
                at: self.at,
            });
        }
        Ok(joined)
    }

    fn index<'i>(&self, items: &'i [Item], side: &str) -> Result<HashMap<Labels, &'i Item>, Error> {
        let mut found: HashMap<Labels, &Item> = HashMap::with_capacity(items.len());
        for item in items {
            let key = signature(self.modifier, &item.labels);
            if let Some(first) = found.insert(key.clone(), item) {
                return Err(Error::execution(format!(
                    "found duplicate series for the match group {key} on the {side} hand-side of the operation: [{}, {}];many-to-many matching not allowed: matching labels must be unique on one side",
                    item.labels, first.labels
                )));
            }
        }
        Ok(found)
    }

    fn result(&self, many: &Labels, one: &Labels, name: Name) -> Labels {
        let labels = name.on(many);
        match &self.modifier.card {
            VectorMatchCardinality::ManyToOne(included) | VectorMatchCardinality::OneToMany(included) => {
                let names = included.labels.iter();
                names.fold(labels, |labels, name| labels.with(name, one.get(name)))
            }
            VectorMatchCardinality::OneToOne | VectorMatchCardinality::ManyToMany => {
                match &self.modifier.matching {
                    Some(LabelModifier::Include(on)) => {
                        labels.keep(|name| on.labels.iter().any(|held| held == name))
                    }
                    Some(LabelModifier::Exclude(ignored)) => {
                        labels.keep(|name| !ignored.labels.iter().any(|held| held == name))
                    }
                    None => labels,
                }
            }
        }
    }
}
