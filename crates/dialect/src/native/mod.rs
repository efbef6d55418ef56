//! `native`: the provider's own tool calls. Several calls in one reply; a reply without one is the final answer.

mod accumulate;

pub(crate) use accumulate::Accumulator;

use crate::json;
use crate::prompt;
use crate::reader::Context;
use crate::{
    CallRef, Dialect, Fault, Ignored, Limits, NativeArguments, NativeCall, Parsed, Part, Problem, Quote,
    WireName,
};
use interlock_protocol::{Arguments, CallId, Proposal, ToolCall, ToolName, ToolResponse};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the feedback says about the form.
pub(crate) const FORM: &str = "A call goes through the provider's tool calls, with its arguments as one JSON object. A reply \
     without a call is the final answer.";

/// A response as the content of a tool message.
pub(crate) fn observation(response: &ToolResponse) -> String {
    prompt::response(response)
}

pub(crate) fn finish(calls: Accumulator, text: &str, mut context: Context<'_>) -> Parsed {
    let mut parsed = Parsed::new(Dialect::Native);
    let text = text.trim();
    let over_limit = calls.over_limit();
    let calls = calls.into_calls();
    if calls.is_empty() {
        match written_as_text(text, &context) {
            _ if text.is_empty() => parsed.fault(Fault::EmptyReply),
            Some(tool) => {
                parsed.fault(Fault::CallAsText { tool: tool.clone() });
                text.clone_into(&mut parsed.prose);
            }
            None => parsed.answer(text),
        }
        return parsed;
    }
    text.clone_into(&mut parsed.prose);
    let mut taken = Taken::default();
    for call in &calls {
        let Some(id) = taken.identify(call, &mut context, &mut parsed.ignored) else {
            continue;
        };
        match read(call, &context) {
            Ok((tool, arguments)) => {
                parsed
                    .proposals
                    .push(Proposal::ToolCall(ToolCall { id, tool, arguments }));
            }
            Err(fault) => {
                let call = CallRef {
                    id,
                    wire_name: WireName::for_echo(call.name.trim()),
                };
                parsed.problems.push(Problem {
                    fault,
                    call: Some(call),
                });
            }
        }
    }
    if over_limit > 0 {
        parsed.ignored.push(Ignored::CallsOverLimit {
            limit: context.limits.calls(),
            count: over_limit,
        });
    }
    parsed
}

/// The ids of this reply, each with the call that has it.
#[derive(Default)]
struct Taken<'a>(BTreeMap<CallId, Option<&'a NativeCall>>);

impl<'a> Taken<'a> {
    /// The call's own id, or a new one. Nothing for a call that merely arrived again.
    fn identify(
        &mut self,
        call: &'a NativeCall,
        context: &mut Context<'_>,
        ignored: &mut Vec<Ignored>,
    ) -> Option<CallId> {
        if let Some(written) = call.id.as_deref().filter(|id| !id.is_empty()) {
            match CallId::new(written) {
                Ok(id) => match self.0.get(&id) {
                    None => {
                        self.0.insert(id.clone(), Some(call));
                        return Some(id);
                    }
                    Some(&Some(other)) if other == call => {
                        ignored.push(Ignored::RepeatedCall {
                            id: Quote::of(written),
                        });
                        return None;
                    }
                    Some(_) => ignored.push(Ignored::CallId {
                        id: Quote::of(written),
                    }),
                },
                Err(_) => ignored.push(Ignored::CallId {
                    id: Quote::of(written),
                }),
            }
        }
        loop {
            let id = context.ids.draw();
            if !self.0.contains_key(&id) {
                self.0.insert(id.clone(), None);
                return Some(id);
            }
        }
    }
}

fn read(call: &NativeCall, context: &Context<'_>) -> Result<(ToolName, Arguments), Fault> {
    if call.name.trim().is_empty() {
        return Err(Fault::NoName);
    }
    let tool = context.offer.find_on_wire(&call.name)?;
    Ok((tool.clone(), arguments(&call.arguments, &context.limits)?))
}

/// No text and `null` are how providers write "no arguments".
fn arguments(arguments: &NativeArguments, limits: &Limits) -> Result<Arguments, Fault> {
    let fault = |json, quote| Fault::Json {
        part: Part::Arguments,
        json,
        quote,
    };
    let value = match arguments {
        NativeArguments::Text(text) if text.trim().is_empty() => Value::Null,
        NativeArguments::Text(text) => {
            json::read(text, limits).map_err(|json| fault(json, Quote::of(text)))?
        }
        NativeArguments::Value(value) => {
            // Too deep to be written without risk, so the quotation says only what it is.
            json::check_depth(value, limits).map_err(|json| fault(json, Quote::of("a value")))?;
            value.clone()
        }
    };
    match value {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Arguments::new()),
        other => Err(Fault::Shape {
            part: Part::Arguments,
            expected: "one JSON object",
            quote: Quote::of(&other.to_string()),
        }),
    }
}

/// Small models write a call as text instead of making it. It is not run, but it is no final answer either.
fn written_as_text<'a>(text: &str, context: &Context<'a>) -> Option<&'a ToolName> {
    let inner = text
        .strip_prefix("<tool_call>")
        .map_or(text, |rest| rest.strip_suffix("</tool_call>").unwrap_or(rest));
    let inner = crate::fenced::unwrap(inner.trim());
    if !inner.starts_with('{') {
        return None;
    }
    let value = json::read(inner, &context.limits).ok()?;
    let call = ["tool_call", "function", "function_call"]
        .iter()
        .find_map(|key| value.get(key))
        .unwrap_or(&value);
    let name = ["name", "tool_name", "tool", "function"]
        .iter()
        .find_map(|key| call.get(key)?.as_str())?;
    let has_arguments = ["arguments", "parameters", "args", "input"]
        .iter()
        .any(|key| call.get(key).is_some());
    context
        .offer
        .find_on_wire(name)
        .or_else(|_| context.offer.find(name))
        .ok()
        .filter(|_| has_arguments)
}
