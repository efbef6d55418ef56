//! Fences, their labels, and what stands between them.

use crate::json;
use crate::{Fault, Limits, Part, Quote, RESERVED};
use interlock_protocol::Arguments;
use serde_json::Value;

/// What the shape of a call is called in messages.
const EXPECTED: &str =
    "one JSON object with exactly the keys `tool_name` (a string) and `arguments` (an object)";

/// The line that opened a block: at most three spaces, then three or more of one mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    mark: u8,
    width: usize,
}

/// What a block says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Label {
    /// A call.
    Tool,
    /// JSON, which may be a call.
    Json,
    /// Nothing.
    None,
    /// A result, which only we may write.
    Result,
    /// Something else.
    Other,
}

impl Fence {
    pub(crate) fn open(line: &str) -> Option<(Self, Label)> {
        let (fence, info) = Self::marks(line)?;
        // With backticks in the rest of its line it is code within a line, not a fence.
        if fence.mark == b'`' && info.contains('`') {
            return None;
        }
        let info = info.trim();
        let is = |label: &str| info.eq_ignore_ascii_case(label);
        let label = match () {
            () if info.is_empty() => Label::None,
            () if is("tool") => Label::Tool,
            () if is("json") => Label::Json,
            () if is(RESERVED) => Label::Result,
            () => Label::Other,
        };
        Some((fence, label))
    }

    pub(crate) fn is_closed_by(self, line: &str) -> bool {
        Self::marks(line).is_some_and(|(other, rest)| {
            other.mark == self.mark && other.width >= self.width && rest.trim().is_empty()
        })
    }

    /// Whether an unfinished line could become an opening fence. Looks at its beginning only, however long it grows.
    pub(crate) fn may_open(line: &str) -> bool {
        let indent = line.bytes().take(4).take_while(|&byte| byte == b' ').count();
        let Some(&mark) = line.as_bytes().get(indent) else {
            return indent < 4;
        };
        let mut marks = line.as_bytes()[indent..].iter().take(3);
        indent < 4 && matches!(mark, b'`' | b'~') && marks.all(|&byte| byte == mark)
    }

    fn marks(line: &str) -> Option<(Self, &str)> {
        let line = line.trim_end_matches(['\n', '\r']);
        let marks = line.trim_start_matches(' ');
        if line.len() - marks.len() > 3 {
            return None;
        }
        let mark = marks.bytes().next().filter(|mark| matches!(mark, b'`' | b'~'))?;
        let width = marks.bytes().take_while(|&byte| byte == mark).count();
        (width >= 3).then(|| (Self { mark, width }, &marks[width..]))
    }
}

/// What a block is.
#[derive(Debug, Clone)]
pub(crate) enum Reading {
    /// Text like any other.
    Text,
    /// A call by its form; the tool is not looked up yet.
    Call { name: String, arguments: Arguments },
    /// The form of a call in a block without a label.
    Unlabelled(String),
    /// A call that is broken, with how it begins.
    Fault(Fault, Quote),
}

pub(crate) fn read(label: Label, body: &str, limits: &Limits) -> Reading {
    let body = body.trim();
    let quote = Quote::of(body);
    let shape = |quote: Quote| {
        Reading::Fault(
            Fault::Shape {
                part: Part::Block,
                expected: EXPECTED,
                quote: quote.clone(),
            },
            quote,
        )
    };
    let value = match (json::read(body, limits), label) {
        (Ok(value), _) => value,
        (Err(json), Label::Tool) => {
            return Reading::Fault(
                Fault::Json {
                    part: Part::Block,
                    json,
                    quote: quote.clone(),
                },
                quote,
            );
        }
        (Err(json), Label::Json) if body.contains("\"tool_name\"") => {
            return Reading::Fault(
                Fault::Json {
                    part: Part::Block,
                    json,
                    quote: quote.clone(),
                },
                quote,
            );
        }
        (Err(_), _) => return Reading::Text,
    };
    match (call(value), label) {
        (Ok((name, arguments)), Label::Tool | Label::Json) => Reading::Call { name, arguments },
        (Ok((name, _)), Label::None) => Reading::Unlabelled(name),
        (Err(_), Label::Tool) | (Err(Misfit::NamesATool), Label::Json) => shape(quote),
        (Err(_) | Ok(_), _) => Reading::Text,
    }
}

/// Why a value has not the form of a call.
enum Misfit {
    /// It names a tool and the rest is wrong.
    NamesATool,
    /// It is something else.
    Unrelated,
}

fn call(value: Value) -> Result<(String, Arguments), Misfit> {
    let Value::Object(mut members) = value else {
        return Err(Misfit::Unrelated);
    };
    let Some(name) = members.remove("tool_name") else {
        return Err(Misfit::Unrelated);
    };
    match (name, members.remove("arguments"), members.is_empty()) {
        (Value::String(name), Some(Value::Object(arguments)), true) => Ok((name, arguments)),
        _ => Err(Misfit::NamesATool),
    }
}
