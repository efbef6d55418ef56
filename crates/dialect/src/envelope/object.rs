//! One JSON object, and whether it is an envelope.

use crate::json;
use crate::{Confidence, Fault, Limits, Part, Quote};
use interlock_protocol::Arguments;
use serde_json::{Map, Value};
use std::ops::BitOr;

const CALL: &str = "tool_call";
const ANSWER: &str = "final_answer";
/// The key under which we show results. A model that writes it makes one up.
pub(super) const RESULT: &str = "tool_result";

const CALL_SHAPE: &str = "`{\"tool_call\": {\"name\": …, \"parameters\": {…}}}` with no other keys inside";
const ANSWER_SHAPE: &str =
    "`{\"final_answer\": {\"summary\": …, \"confidence\": …}}` with a text as its summary";

/// Which of the two an object is, or would be if it were not broken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Kinds {
    pub(super) call: bool,
    pub(super) answer: bool,
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            call: self.call || other.call,
            answer: self.answer || other.answer,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Content {
    Call {
        name: String,
        parameters: Arguments,
    },
    Answer {
        summary: String,
        /// None where there is none; what was written where it is none of the words.
        confidence: Result<Option<Confidence>, Quote>,
    },
}

/// An object that is meant as an envelope.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) kinds: Kinds,
    pub(super) content: Result<Content, Fault>,
    pub(super) quote: Quote,
    /// The keys beside it.
    pub(super) keys: Option<Quote>,
}

/// What an object is meant as.
#[derive(Debug, Clone)]
pub(super) enum Meant {
    /// Text like any other.
    Text,
    /// A result, which only we may write.
    Result,
    Envelope(Reading),
}

pub(super) fn read(text: &str, limits: &Limits) -> Meant {
    let quote = Quote::of(text);
    let mut members = match json::read(text, limits) {
        Ok(Value::Object(members)) => members,
        Ok(_) => return Meant::Text,
        Err(json) => {
            let has = |key: &str| text.contains(&format!("\"{key}\""));
            let kinds = Kinds {
                call: has(CALL),
                answer: has(ANSWER),
            };
            if kinds == Kinds::default() {
                return Meant::Text;
            }
            let fault = Fault::Json {
                part: Part::Envelope,
                json,
                quote: quote.clone(),
            };
            return Meant::Envelope(Reading {
                kinds,
                content: Err(fault),
                quote,
                keys: None,
            });
        }
    };
    let (call, answer) = (members.remove(CALL), members.remove(ANSWER));
    let kinds = Kinds {
        call: call.is_some(),
        answer: answer.is_some(),
    };
    let shape = |expected| Fault::Shape {
        part: Part::Envelope,
        expected,
        quote: quote.clone(),
    };
    let content = match (call, answer) {
        (None, None) if members.contains_key(RESULT) => return Meant::Result,
        (None, None) => return Meant::Text,
        (Some(_), Some(_)) => Err(Fault::CallAndAnswer),
        (Some(call), None) => read_call(call).ok_or_else(|| shape(CALL_SHAPE)),
        (None, Some(answer)) => read_answer(answer).ok_or_else(|| shape(ANSWER_SHAPE)),
    };
    Meant::Envelope(Reading {
        kinds,
        content,
        quote: quote.clone(),
        keys: names(&members),
    })
}

fn names(members: &Map<String, Value>) -> Option<Quote> {
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| Quote::of(&names.join(", ")))
}

/// `parameters` may be missing or null for a tool that takes none. Any other key could be arguments under another name,
/// and running the call without them would be another call.
fn read_call(call: Value) -> Option<Content> {
    let Value::Object(mut members) = call else {
        return None;
    };
    let Value::String(name) = members.remove("name")? else {
        return None;
    };
    let parameters = match members.remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        None | Some(Value::Null) => Arguments::new(),
        Some(_) => return None,
    };
    members.is_empty().then_some(Content::Call { name, parameters })
}

fn read_answer(answer: Value) -> Option<Content> {
    let Value::Object(mut members) = answer else {
        return None;
    };
    let Value::String(summary) = members.remove("summary")? else {
        return None;
    };
    let confidence = match members.remove("confidence") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) => Confidence::from_word(&word)
            .map(Some)
            .ok_or_else(|| Quote::of(&word)),
        Some(other) => Err(Quote::of(&other.to_string())),
    };
    (!summary.trim().is_empty()).then_some(Content::Answer { summary, confidence })
}
