//! What a prompt says about `react`, and how a result is written into it.

use crate::{Offer, prompt};
use interlock_protocol::ToolResponse;

/// The form of a proposal.
pub(crate) const FORM: &str = "A reply has lines that begin with these words, spelled so. To call a tool:
Thought: TEXT
Action: NAME
Action Input: {}
To end:
Thought: TEXT
Final Answer: TEXT
`Action Input:` takes the arguments as one JSON object. One action per reply is taken; the last one counts.";

pub(crate) fn instructions(offer: &Offer) -> String {
    format!(
        "{FORM}\nA result comes back as `Observation:` in a message to you; a reply that contains one is cut there.\n{}",
        prompt::tools(offer)
    )
}

pub(crate) fn observation(response: &ToolResponse) -> String {
    format!("Observation: {}", prompt::response(response))
}
