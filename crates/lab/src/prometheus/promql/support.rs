//! What of the language is supported: everything else is refused when a query is read, before any data is touched.

use promql_parser::parser::token::{T_LIMIT_RATIO, T_LIMITK};
use promql_parser::parser::value::ValueType;
use promql_parser::parser::{self, Expr};

use super::Error;
use super::functions::Function;

/// Longest query text, in bytes.
const MAX_TEXT: usize = 8 * 1024;
/// Deepest nesting of a query; the evaluator and its answer recurse this far.
const MAX_DEPTH: usize = 100;

pub(super) fn parse(text: &str) -> Result<Expr, Error> {
    let refuse = |why: String| Error::Invalid(format!("invalid parameter \"query\": {why}"));
    if text.len() > MAX_TEXT {
        return Err(refuse(format!("a query is at most {MAX_TEXT} bytes long")));
    }
    if brackets(text) > MAX_DEPTH {
        return Err(refuse(format!("a query is at most {MAX_DEPTH} levels deep")));
    }
    let expr = parser::parse(text).map_err(|why| refuse(format!("parse error: {why}")))?;
    check(&expr).map_err(refuse)?;
    Ok(expr)
}

/// The deepest nesting of brackets, counted generously: those within strings count too.
fn brackets(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Walks with its own stack, because the depth is what it checks.
fn check(expr: &Expr) -> Result<(), String> {
    let mut open = vec![(expr, 1)];
    while let Some((expr, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(format!("a query is at most {MAX_DEPTH} levels deep"));
        }
        let mut push = |inner| open.push((inner, depth + 1));
        match expr {
            Expr::Aggregate(aggregate) => {
                if matches!(aggregate.op.id(), T_LIMITK | T_LIMIT_RATIO) {
                    return Err(format!("the aggregation {} is not supported here", aggregate.op));
                }
                push(&aggregate.expr);
                aggregate.param.iter().for_each(|param| push(param));
            }
            Expr::Unary(unary) => push(&unary.expr),
            Expr::Binary(binary) => {
                if let Some(modifier) = &binary.modifier
                    && (modifier.fill_values.lhs.is_some() || modifier.fill_values.rhs.is_some())
                {
                    return Err(
                        "the modifiers fill, fill_left and fill_right are not supported here".to_owned(),
                    );
                }
                push(&binary.lhs);
                push(&binary.rhs);
            }
            Expr::Paren(paren) => push(&paren.expr),
            Expr::Subquery(subquery) => {
                if subquery.step.is_some_and(|step| step.is_zero()) || subquery.range.is_zero() {
                    return Err("duration must be greater than 0".to_owned());
                }
                push(&subquery.expr);
            }
            Expr::Call(call) => {
                let name = call.func.name;
                if Function::named(name).is_none() {
                    return Err(format!("the function {name} is not supported here"));
                }
                check_arguments(name, &call.args.args, &call.func.arg_types)?;
                call.args.args.iter().for_each(|argument| push(argument));
            }
            Expr::MatrixSelector(selector) => {
                if selector.range.is_zero() {
                    return Err("duration must be greater than 0".to_owned());
                }
            }
            Expr::NumberLiteral(_) | Expr::StringLiteral(_) | Expr::VectorSelector(_) => {}
            Expr::Extension(_) => return Err("extensions are not supported".to_owned()),
        }
    }
    Ok(())
}

/// The parser lets some literals through without a look at their type.
fn check_arguments(function: &str, arguments: &[Box<Expr>], expected: &[ValueType]) -> Result<(), String> {
    for (at, argument) in arguments.iter().enumerate() {
        let Some(want) = expected.get(at).or(expected.last()) else {
            return Err(format!("too many arguments in call to function {function:?}"));
        };
        let got = argument.value_type();
        if got != *want {
            return Err(format!(
                "expected type {want} in call to function {function:?}, got {got}"
            ));
        }
    }
    Ok(())
}

/// The name of a type as the server writes it in its errors.
pub(super) fn type_name(kind: ValueType) -> &'static str {
    match kind {
        ValueType::Vector => "instant vector",
        ValueType::Scalar => "scalar",
        ValueType::Matrix => "range vector",
        ValueType::String => "string",
    }
}
