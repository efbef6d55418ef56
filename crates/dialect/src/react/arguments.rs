//! The arguments of an action, in whichever of several ways a model writes them.
//!
//! In this order: a JSON object; any other JSON, as `input`; YAML whose values have structure; `key: value` and
//! `key=value`; anything else as `input`. What begins as a JSON object and is broken is refused: cut off or misquoted
//! arguments must not run as something else.

use crate::json;
use crate::{Fault, JsonFault, Limits, Part, Quote, fenced};
use interlock_protocol::Arguments;
use serde_json::{Number, Value};

/// The longest text that is tried as YAML.
const MAX_YAML_BYTES: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) arguments: Arguments,
    /// How the text begins that followed complete arguments.
    pub(super) rest: Option<Quote>,
}

impl From<Arguments> for Taken {
    fn from(arguments: Arguments) -> Self {
        Self {
            arguments,
            rest: None,
        }
    }
}

pub(super) fn read(text: &str, limits: &Limits) -> Result<Taken, Fault> {
    let text = fenced::unwrap(text.trim()).trim();
    if text.is_empty() {
        return Ok(Arguments::new().into());
    }
    let refuse = |json| {
        Err(Fault::Json {
            part: Part::ActionInput,
            json,
            quote: Quote::of(text),
        })
    };
    match json::read(text, limits) {
        Ok(Value::Object(arguments)) => return Ok(arguments.into()),
        Ok(value) => return Ok(as_input(value).into()),
        Err(json @ (JsonFault::DuplicateKey { .. } | JsonFault::TooDeep { .. })) => return refuse(json),
        Err(json @ JsonFault::Syntax { .. }) => {
            if let Some(taken) = object_then_text(text, limits) {
                return Ok(taken);
            }
            if let Some(arguments) = yaml(text, limits) {
                return Ok(arguments.into());
            }
            if begins_as_json_object(text) {
                return refuse(json);
            }
        }
    }
    match pairs(text) {
        Pairs::Arguments(arguments) => Ok(arguments.into()),
        Pairs::Twice(key) => refuse(JsonFault::DuplicateKey { key: Quote::of(&key) }),
        Pairs::None => Ok(as_input(text.into()).into()),
    }
}

fn as_input(value: Value) -> Arguments {
    Arguments::from_iter([("input".to_owned(), value)])
}

/// `{` and then a key, the end, or nothing: not `{job="node"}` or `{{ template }}`, which are texts of other languages.
fn begins_as_json_object(text: &str) -> bool {
    text.strip_prefix('{').is_some_and(|rest| {
        let rest = rest.trim_start();
        rest.is_empty() || rest.starts_with(['"', '\'', '}'])
    })
}

/// A complete object, and a model that went on talking.
fn object_then_text(text: &str, limits: &Limits) -> Option<Taken> {
    if !text.starts_with('{') {
        return None;
    }
    let (object, rest) = text.split_at_checked(json::end_of_value(text)?)?;
    // On the same line it may be part of something else; on a line of its own it is talk.
    if !rest.starts_with(['\n', '\r']) {
        return None;
    }
    match json::read(object, limits) {
        Ok(Value::Object(arguments)) => Some(Taken {
            arguments,
            rest: Some(Quote::of(rest)),
        }),
        _ => None,
    }
}

/// A YAML mapping that holds a list or a mapping, or is written as one in braces. Without structure it is rather prose
/// with a colon, or pairs. No anchors, no merging, no second document, no key twice.
fn yaml(text: &str, limits: &Limits) -> Option<Arguments> {
    if text.len() > MAX_YAML_BYTES || !text.contains(':') {
        return None;
    }
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: limits.depth(),
            max_anchors: 0,
            max_aliases: 0,
            flow_nesting_limit: limits.depth(),
        },
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        strict_booleans: true,
        ignore_binary_tag_for_string: true,
    };
    let Ok(Value::Object(arguments)) = serde_saphyr::from_str_with_options(text, options) else {
        return None;
    };
    let structured = text.starts_with('{')
        || arguments
            .values()
            .any(|value| value.is_array() || value.is_object());
    (structured && arguments.keys().all(|key| is_name(key))).then_some(arguments)
}

/// Whether it could be the name of an argument.
fn is_name(key: &str) -> bool {
    key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

enum Pairs {
    Arguments(Arguments),
    /// The same key twice.
    Twice(String),
    /// Something else.
    None,
}

/// `key: value` or `key=value`, one to a line, or several in a line where every part between commas is one.
fn pairs(text: &str) -> Pairs {
    let mut arguments = Arguments::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let parts: Option<Vec<(&str, &str)>> = line.split(',').map(pair).collect();
        let Some(parts) = parts.or_else(|| pair(line).map(|one| vec![one])) else {
            return Pairs::None;
        };
        for (key, value) in parts {
            if arguments.insert(key.to_owned(), coerce(value)).is_some() {
                return Pairs::Twice(key.to_owned());
            }
        }
    }
    Pairs::Arguments(arguments)
}

/// A colon needs a space after it, so that an address is no pair.
fn pair(part: &str) -> Option<(&str, &str)> {
    let (key, rest) = part.split_at(part.find([':', '='])?);
    let value = match rest.strip_prefix('=') {
        Some(value) => value,
        None => rest
            .strip_prefix(':')
            .filter(|value| value.is_empty() || value.starts_with([' ', '\t']))?,
    };
    let key = key.trim().trim_matches(['"', '\'']);
    is_name(key).then_some((key, value.trim()))
}

/// Words for true, false and nothing, and plain numbers, become what they say. What would not be written the same again
/// (leading zeros, more digits than a number keeps, `NaN`) stays text.
fn coerce(text: &str) -> Value {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inner.into();
        }
    }
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("true") || is("false") {
        return is("true").into();
    }
    if is("null") || is("none") {
        return Value::Null;
    }
    number(text).map_or_else(|| text.into(), Value::Number)
}

fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let padded = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    if padded || !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text
            .parse::<i64>()
            .ok()
            .map(Number::from)
            .or_else(|| text.parse::<u64>().ok().map(Number::from));
    }
    text.parse().ok().and_then(Number::from_f64)
}
