//! What a prompt says about `envelope`, and how a result is written into it.

use super::object::RESULT;
use crate::{Offer, prompt};
use interlock_protocol::{ToolCall, ToolName, ToolResponse};
use serde::Serialize;
use std::collections::BTreeMap;

/// The form of a proposal.
pub(crate) const FORM: &str = "A reply is one JSON object, a call or the final answer, never both:
{\"tool_call\": {\"name\": \"NAME\", \"parameters\": {}}}
{\"final_answer\": {\"summary\": \"TEXT\", \"confidence\": \"high|medium|low\"}}";

pub(crate) fn instructions(offer: &Offer) -> String {
    format!(
        "{FORM}\nA result comes back as `{{\"{RESULT}\": …}}` in a message to you; a reply that contains one is cut \
         there.\n{}",
        prompt::tools(offer)
    )
}

#[derive(Serialize)]
struct Result<'a> {
    name: &'a ToolName,
    response: &'a ToolResponse,
}

pub(crate) fn observation(call: &ToolCall, response: &ToolResponse) -> String {
    let result = Result {
        name: &call.tool,
        response,
    };
    prompt::one_line(&BTreeMap::from([(RESULT, result)]))
}
