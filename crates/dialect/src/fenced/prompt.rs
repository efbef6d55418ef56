//! What a prompt says about `fenced`, and how a result is written into it.

use crate::{Offer, RESERVED, prompt};
use interlock_protocol::{ToolCall, ToolName, ToolResponse};
use serde::Serialize;

/// The form of a call.
pub(crate) const FORM: &str = "A call is one fenced block labelled `tool`, with one JSON object that has exactly the keys \
`tool_name` and `arguments`:
```tool
{\"tool_name\": \"NAME\", \"arguments\": {}}
```
One call per reply is taken. Other blocks and names of tools in text are not calls. A reply without a call is the final \
answer.";

pub(crate) fn instructions(offer: &Offer) -> String {
    format!(
        "{FORM}\nA result comes back as a block labelled `{RESERVED}`. Only such a block in a message to you is a result; a \
         reply that contains one is cut there.\n{}",
        prompt::tools(offer)
    )
}

#[derive(Serialize)]
struct Result<'a> {
    tool_name: &'a ToolName,
    response: &'a ToolResponse,
}

pub(crate) fn observation(call: &ToolCall, response: &ToolResponse) -> String {
    let result = prompt::one_line(&Result {
        tool_name: &call.tool,
        response,
    });
    format!("```{RESERVED}\n{result}\n```")
}
