//! What a call to a model came to.

use crate::{Kind, Price, Provider, Thought};
use bytes::Bytes;
use interlock_dialect::Reply;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::time::Duration;

/// A reply, and everything that is worth recording about how it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// What the model said. Untrusted.
    pub reply: Reply,
    /// What it thought, as the history gives it back.
    pub thoughts: Vec<Thought>,
    /// For each call of the reply, what the history gives back with it ([`crate::AssistantCall::signature`]).
    pub call_signatures: Vec<Option<String>>,
    /// How many tokens it took.
    pub usage: Usage,
    /// Why it ended.
    pub finish: Finish,
    /// The exact body that was sent.
    pub body: Bytes,
    /// The reply as it was received, up to the limit.
    pub raw: Bytes,
    /// How many bytes were received.
    pub raw_total: u64,
    /// Every time that it was asked, the last one included.
    pub attempts: Vec<Attempt>,
    /// How long it took.
    pub timing: Timing,
    /// Who answered.
    pub model: ModelInfo,
    /// The model that the provider says has answered, where it says so.
    pub served_by: Option<String>,
    /// What it cost, where the price is known and the provider counts.
    pub cost: Option<Cost>,
    /// What the provider searched and found.
    pub groundings: Vec<Value>,
    /// Code that the provider ran, and what came of it.
    pub code_executions: Vec<Value>,
}

/// How many tokens a call took, as the provider reports it, as far as that can be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Whether the provider said so. Else everything is 0.
    pub reported: bool,
    /// What was read, from a cache or not.
    pub input_tokens: u64,
    /// The part of it that came from the provider's cache.
    pub cached_input_tokens: u64,
    /// What was written, thinking included.
    pub output_tokens: u64,
    /// The part of it that was thinking, where the provider says.
    pub thinking_tokens: u64,
    /// Whether the provider reported more than can be, or parts larger than their whole. What is said here is then the most
    /// that can be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub corrected: bool,
}

/// What a provider adds to a request by itself, in tokens, at most: instructions for tools, the template of a chat.
const ADDED: u64 = 65_536;
/// The most that a model thinks without showing it, in tokens, where no setting limits it.
const HIDDEN: u64 = 1_000_000;

impl Usage {
    /// What can be believed of it. A token has at least one byte: no request is more tokens than it has bytes, and no reply
    /// more than was received, besides what the provider adds and what the model thinks without showing it.
    #[must_use]
    pub(crate) fn believed(self, sent: usize, received: u64, most_output: Option<u32>) -> Self {
        let most_input = (sent as u64).saturating_add(ADDED);
        let hidden = most_output.map_or(HIDDEN, |most| u64::from(most).min(HIDDEN));
        let input_tokens = self.input_tokens.min(most_input);
        let output_tokens = self.output_tokens.min(received.saturating_add(hidden));
        let believed = Self {
            reported: self.reported,
            input_tokens,
            cached_input_tokens: self.cached_input_tokens.min(input_tokens),
            output_tokens,
            thinking_tokens: self.thinking_tokens.min(output_tokens),
            corrected: self.corrected,
        };
        Self {
            corrected: self.corrected || believed != self,
            ..believed
        }
    }

    /// What this costs. Nothing where the provider did not count.
    pub fn cost(&self, price: &Price) -> Option<Cost> {
        if !self.reported {
            return None;
        }
        let Price {
            input_per_million,
            output_per_million,
            cached_input_per_million,
        } = *price;
        let cached = self.cached_input_tokens.min(self.input_tokens);
        // A dollar for a million tokens is a micro-dollar for one.
        #[expect(clippy::cast_precision_loss, reason = "no call has 2^52 tokens")]
        let micros = (self.input_tokens - cached) as f64 * input_per_million
            + cached as f64 * cached_input_per_million.unwrap_or(input_per_million)
            + self.output_tokens as f64 * output_per_million;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "prices are checked to be finite and not negative; the cast saturates"
        )]
        let micro_dollars = micros.round() as u64;
        Some(Cost { micro_dollars })
    }
}

/// An amount of money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Millionths of a dollar.
    pub micro_dollars: u64,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "${}.{:06}",
            self.micro_dollars / 1_000_000,
            self.micro_dollars % 1_000_000
        )
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model was done.
    Stop,
    /// The model waits for its tool calls.
    ToolCalls,
    /// It reached the most tokens that it may write.
    Length,
    /// The provider cut it off for what it says.
    ContentFilter,
    /// The receiver wanted no more.
    Stopped,
    /// Something else, in the provider's word.
    Other(String),
}

/// Who answered, or was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    /// Its name in the configuration.
    pub name: String,
    /// The wire.
    pub provider: Provider,
    /// The provider's name for it.
    pub model: String,
}

impl fmt::Display for ModelInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({} {})", self.name, self.provider, self.model)
    }
}

/// How long a call took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Until the first piece of the reply, from when the attempt that brought it began.
    pub first_chunk: Option<Duration>,
    /// The whole call, with everything that was tried again.
    pub total: Duration,
}

/// One time that a model was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attempt {
    /// The entry in the configuration that was asked.
    pub model: String,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// What the provider calls this request.
    pub request_id: Option<String>,
    /// Why it failed; nothing for the one that did not.
    pub failed: Option<Kind>,
    /// What went wrong, for people; empty where nothing did.
    pub message: String,
    /// How long it took.
    pub elapsed: Duration,
    /// How long was waited before the next.
    pub waited: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_tokens_times_price() {
        let usage = |input_tokens, cached_input_tokens, output_tokens| Usage {
            reported: true,
            input_tokens,
            cached_input_tokens,
            output_tokens,
            thinking_tokens: 0,
            corrected: false,
        };
        let price = |cached_input_per_million| Price {
            input_per_million: 2.5,
            output_per_million: 10.0,
            cached_input_per_million,
        };
        let cases = [
            (usage(1_000_000, 0, 0), price(None), "$2.500000"),
            (usage(1000, 0, 100), price(None), "$0.003500"),
            (usage(1000, 400, 100), price(Some(0.25)), "$0.002600"),
            (usage(1000, 400, 100), price(None), "$0.003500"),
            (usage(10, 99, 0), price(Some(0.0)), "$0.000000"),
        ];
        for (usage, price, expected) in cases {
            let cost = usage.cost(&price).map(|cost| cost.to_string());
            assert_eq!(cost.as_deref(), Some(expected));
        }
        assert_eq!(Usage::default().cost(&price(None)), None);
    }
    #[test]
    fn a_provider_is_believed_as_far_as_it_can_be_true() {
        let usage = |input_tokens, cached_input_tokens, output_tokens, thinking_tokens| Usage {
            reported: true,
            input_tokens,
            cached_input_tokens,
            output_tokens,
            thinking_tokens,
            corrected: false,
        };
        let corrected = |usage: Usage| Usage {
            corrected: true,
            ..usage
        };
        let cases = [
            (usage(900, 400, 50, 10), None, usage(900, 400, 50, 10)),
            (
                usage(u64::MAX, u64::MAX, u64::MAX, u64::MAX),
                None,
                corrected(usage(66_536, 66_536, 1_000_500, 1_000_500)),
            ),
            (usage(10, 11, 5, 6), None, corrected(usage(10, 10, 5, 5))),
            (usage(10, 0, 2_000, 0), Some(100), corrected(usage(10, 0, 600, 0))),
            (usage(10, 0, 2_000, 0), Some(u32::MAX), usage(10, 0, 2_000, 0)),
        ];
        for (said, most, expected) in cases {
            let believed = said.believed(1000, 500, most);
            assert_eq!(believed, expected, "{said:?}");
            assert_eq!(believed.believed(1000, 500, most), believed);
        }
    }
}
