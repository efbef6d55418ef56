//! What a reply had besides what was taken.

use crate::Quote;
use serde::Serialize;

/// Something that was left out, although the reply as a whole was understood. The model is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "ignored", rename_all = "snake_case")]
pub enum Ignored {
    /// One call per reply, and this was one more.
    #[error("One call per reply is taken. Ignored: the call to `{tool}`.")]
    Call {
        /// The tool, as it was written.
        tool: Quote,
    },
    /// A broken call beside one that was taken.
    #[error("One call per reply is taken. Ignored: {quote}")]
    BrokenCall {
        /// How it begins.
        quote: Quote,
    },
    /// More calls than are looked at.
    #[error("At most {limit} calls per reply are looked at. Ignored: {count} more.")]
    CallsOverLimit {
        /// The most.
        limit: usize,
        /// How many more there were.
        count: usize,
    },
    /// The provider sent the same call, under the same id, again.
    #[error("A call arrived twice with the id `{id}`. It was taken once.")]
    RepeatedCall {
        /// The id.
        id: Quote,
    },
    /// An id that cannot be used or is taken; the call got another.
    #[error("The id `{id}` of a call cannot be used or is taken. The call has a new one.")]
    CallId {
        /// The id.
        id: Quote,
    },
    /// Calls on the wire in a dialect that has none there.
    #[error("Tool calls of the provider are not in use in this dialect. Ignored: {count}.")]
    NativeCalls {
        /// How many.
        count: usize,
    },
    /// A final answer next to a call, or one answer too many.
    #[error("A final answer next to a call, or a second one, is not taken. Ignored: {}", Quote::of(.text))]
    FinalAnswer {
        /// All of it: a forced conclusion may use it.
        text: String,
    },
    /// An `Action:` that has no input, next to a final answer.
    #[error("The final answer was taken. Ignored: the action `{tool}`, which has no `Action Input:`.")]
    Action {
        /// The tool, as it was written.
        tool: Quote,
    },
    /// A result that no tool gave, and everything after it.
    #[error("The reply contains a result that no tool gave. Ignored: everything from there on.")]
    InventedResult,
    /// Text behind a call: what a model says there it cannot know yet.
    #[error("Text after the call was ignored.")]
    TextAfterCall,
    /// Text behind arguments that were complete.
    #[error("The arguments end with the JSON value. Ignored: {quote}")]
    AfterArguments {
        /// How it begins.
        quote: Quote,
    },
    /// Keys beside `tool_call` or `final_answer`.
    #[error("Keys beside `tool_call` and `final_answer` have no meaning. Ignored: {keys}")]
    Keys {
        /// Their names.
        keys: Quote,
    },
    /// A confidence that is none of the three words.
    #[error("`confidence` is `high`, `medium` or `low`. Ignored: {quote}")]
    Confidence {
        /// What it was.
        quote: Quote,
    },
}

impl Ignored {
    /// Whether the model can do anything about it. What the wire did wrong is for the record only.
    pub(crate) const fn concerns_the_model(&self) -> bool {
        match self {
            Self::RepeatedCall { .. } | Self::CallId { .. } => false,
            Self::Call { .. }
            | Self::BrokenCall { .. }
            | Self::CallsOverLimit { .. }
            | Self::NativeCalls { .. }
            | Self::FinalAnswer { .. }
            | Self::Action { .. }
            | Self::InventedResult
            | Self::TextAfterCall
            | Self::AfterArguments { .. }
            | Self::Keys { .. }
            | Self::Confidence { .. } => true,
        }
    }
}
