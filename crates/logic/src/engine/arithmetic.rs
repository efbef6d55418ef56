//! Values of expressions: integers of 64 bits and finite floating-point numbers. Overflow is an error, never a wrong value.

use std::cmp::Ordering;

use crate::engine::cell::{Address, Cell, QuestionAtoms};
use crate::engine::heap::{Heap, int_and_float};
use crate::engine::machine::Stop;

/// The deepest nesting of an expression that was built while a goal ran.
const MAX_DEPTH: u32 = 500;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    pub(crate) fn cell(self) -> Cell {
        match self {
            Self::Int(value) => Cell::Int(value),
            Self::Float(value) => Cell::Float(value),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "this is what float arithmetic on integers means"
    )]
    fn float(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    pub(crate) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a.cmp(&b),
            (Self::Int(a), Self::Float(b)) => int_and_float(a, b),
            (Self::Float(a), Self::Int(b)) => int_and_float(b, a).reverse(),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        }
    }
}

fn wrong<T>(message: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Error(message.into()))
}

fn finite(value: f64) -> Result<Number, Stop> {
    if value.is_finite() {
        Ok(Number::Float(value))
    } else {
        wrong("arithmetic: the result is not a finite number")
    }
}

fn whole(value: Option<i64>) -> Result<Number, Stop> {
    match value {
        Some(value) => Ok(Number::Int(value)),
        None => wrong("arithmetic: the result does not fit in an integer of 64 bits"),
    }
}

/// The value of an expression.
pub(crate) fn evaluate(heap: &mut Heap, atoms: &QuestionAtoms<'_>, cell: Cell) -> Result<Number, Stop> {
    nested(heap, atoms, cell, 0)
}

fn nested(heap: &mut Heap, atoms: &QuestionAtoms<'_>, cell: Cell, depth: u32) -> Result<Number, Stop> {
    heap.work += 1;
    if heap.exhausted() {
        return Err(Stop::Steps);
    }
    if depth > MAX_DEPTH {
        return wrong(format!(
            "arithmetic: the expression is nested deeper than {MAX_DEPTH} levels"
        ));
    }
    match heap.value(cell) {
        Cell::Int(value) => Ok(Number::Int(value)),
        Cell::Float(value) => Ok(Number::Float(value)),
        Cell::Ref(_) => {
            wrong("arithmetic: a variable has no value yet; put the goal that gives it a value first")
        }
        Cell::Atom(name) => match &**atoms.name(name) {
            "pi" => Ok(Number::Float(std::f64::consts::PI)),
            "e" => Ok(Number::Float(std::f64::consts::E)),
            other => wrong(format!(
                "arithmetic: `{}` is not a number",
                crate::write::write_atom(other)
            )),
        },
        Cell::Struct(at) => structure(heap, atoms, at, depth),
        Cell::Functor(..) => wrong("arithmetic: not a number"),
    }
}

fn structure(heap: &mut Heap, atoms: &QuestionAtoms<'_>, at: Address, depth: u32) -> Result<Number, Stop> {
    let (name, arity, first) = heap.functor(at);
    let name = atoms.name(name).clone();
    match arity {
        1 => {
            let argument = heap.argument(first, 0);
            let value = nested(heap, atoms, argument, depth + 1)?;
            unary(&name, value)
        }
        2 => {
            let (left, right) = (heap.argument(first, 0), heap.argument(first, 1));
            let left = nested(heap, atoms, left, depth + 1)?;
            let right = nested(heap, atoms, right, depth + 1)?;
            binary(&name, left, right)
        }
        _ => wrong(format!("arithmetic: `{name}/{arity}` has no value")),
    }
}

fn unary(name: &str, value: Number) -> Result<Number, Stop> {
    match (name, value) {
        ("+", value) => Ok(value),
        ("-", Number::Int(value)) => whole(value.checked_neg()),
        ("-", Number::Float(value)) => Ok(Number::Float(-value)),
        ("abs", Number::Int(value)) => whole(value.checked_abs()),
        ("abs", Number::Float(value)) => Ok(Number::Float(value.abs())),
        ("sign", Number::Int(value)) => Ok(Number::Int(value.signum())),
        ("sign", Number::Float(value)) => Ok(Number::Float(if value == 0.0 { 0.0 } else { value.signum() })),
        ("sqrt", value) => {
            let value = value.float();
            if value < 0.0 {
                return wrong("arithmetic: the square root of a negative number");
            }
            finite(value.sqrt())
        }
        ("float", value) => finite(value.float()),
        ("integer" | "floor" | "ceiling" | "round" | "truncate", Number::Int(value)) => {
            Ok(Number::Int(value))
        }
        ("integer" | "round", Number::Float(value)) => to_int(value.round()),
        ("floor", Number::Float(value)) => to_int(value.floor()),
        ("ceiling", Number::Float(value)) => to_int(value.ceil()),
        ("truncate", Number::Float(value)) => to_int(value.trunc()),
        _ => wrong(format!("arithmetic: `{name}/1` has no value")),
    }
}

fn to_int(value: f64) -> Result<Number, Stop> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if (-BEYOND..BEYOND).contains(&value) {
        #[expect(clippy::cast_possible_truncation, reason = "the value is whole and in range")]
        return Ok(Number::Int(value as i64));
    }
    whole(None)
}

pub(crate) fn binary(name: &str, left: Number, right: Number) -> Result<Number, Stop> {
    use Number::{Float, Int};
    match (name, left, right) {
        ("+", Int(a), Int(b)) => whole(a.checked_add(b)),
        ("+", a, b) => finite(a.float() + b.float()),
        ("-", Int(a), Int(b)) => whole(a.checked_sub(b)),
        ("-", a, b) => finite(a.float() - b.float()),
        ("*", Int(a), Int(b)) => whole(a.checked_mul(b)),
        ("*", a, b) => finite(a.float() * b.float()),
        ("/" | "//" | "mod" | "rem" | "div", _, Int(0)) => wrong("arithmetic: division by zero"),
        ("/", Int(a), Int(b)) => match a.checked_rem(b) {
            Some(0) => whole(a.checked_div(b)),
            // The remainder of the least integer by -1 does not fit; the quotient does not either.
            None => whole(None),
            Some(_) => finite(left.float() / right.float()),
        },
        ("/", a, b) => {
            if b.float() == 0.0 {
                return wrong("arithmetic: division by zero");
            }
            finite(a.float() / b.float())
        }
        ("//", Int(a), Int(b)) => whole(a.checked_div(b)),
        ("rem", Int(a), Int(b)) => Ok(Int(a.checked_rem(b).unwrap_or(0))),
        ("mod", Int(a), Int(b)) => {
            let rest = a.checked_rem(b).unwrap_or(0);
            Ok(Int(if rest != 0 && (rest < 0) != (b < 0) {
                rest + b
            } else {
                rest
            }))
        }
        ("div", Int(a), Int(b)) => {
            let rest = a.checked_rem(b).unwrap_or(0);
            let down = i64::from(rest != 0 && (rest < 0) != (b < 0));
            whole(a.checked_div(b).and_then(|quotient| quotient.checked_sub(down)))
        }
        ("min", a, b) => Ok(if b.order(a) == Ordering::Less { b } else { a }),
        ("max", a, b) => Ok(if b.order(a) == Ordering::Greater { b } else { a }),
        ("**" | "^", Int(base), Int(exponent)) => power(name, base, exponent),
        ("**" | "^", a, b) => finite(a.float().powf(b.float())),
        ("//" | "mod" | "rem" | "div", Float(_), _) | ("//" | "mod" | "rem" | "div", _, Float(_)) => {
            wrong(format!("arithmetic: `{name}` takes integers"))
        }
        _ => wrong(format!("arithmetic: `{name}/2` has no value")),
    }
}

fn power(name: &str, base: i64, exponent: i64) -> Result<Number, Stop> {
    if exponent < 0 {
        return match base {
            1 => Ok(Number::Int(1)),
            -1 => Ok(Number::Int(if exponent % 2 == 0 { 1 } else { -1 })),
            0 => wrong("arithmetic: division by zero"),
            _ if name == "**" => finite(Number::Int(base).float().powf(Number::Int(exponent).float())),
            _ => wrong("arithmetic: an integer to a negative power is not an integer; write 2.0 ^ -1"),
        };
    }
    match (base, u32::try_from(exponent)) {
        (0 | 1, _) if exponent > 0 => Ok(Number::Int(base)),
        (-1, _) => Ok(Number::Int(if exponent % 2 == 0 { 1 } else { -1 })),
        (_, Ok(exponent)) => whole(base.checked_pow(exponent)),
        (_, Err(_)) => whole(None),
    }
}
