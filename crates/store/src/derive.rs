//! Small rows that follow from long ones, for lists and sums: what they say is said elsewhere already.

use interlock_protocol::{CallId, Decision, EventBody};
use serde_json::Value;

use crate::record::Interaction;

/// An answer of the gate, for lists.
#[derive(Debug)]
pub(crate) struct DecisionRow {
    pub(crate) answer: &'static str,
    pub(crate) code: Option<&'static str>,
    pub(crate) call: Option<String>,
    /// Nothing where the proposal is not in the same batch.
    pub(crate) tool: Option<String>,
}

impl DecisionRow {
    pub(crate) fn is_about(&self, call: &CallId) -> bool {
        self.call.as_deref() == Some(call.as_str())
    }

    pub(crate) fn of(body: &EventBody) -> Option<Self> {
        let EventBody::DecisionMade { call, decision } = body else {
            return None;
        };
        let (answer, code) = match decision {
            Decision::Allowed { .. } => ("allowed", None),
            Decision::AnswerAllowed => ("answer_allowed", None),
            Decision::Held { .. } => ("held", None),
            Decision::Refused(refusal) => ("refused", Some(refusal.code.as_str())),
        };
        Some(Self {
            answer,
            code,
            call: call.as_ref().map(ToString::to_string),
            tool: None,
        })
    }
}

/// What a call to a model used, for sums.
#[derive(Debug)]
pub(crate) struct UsageRow {
    pub(crate) name: String,
    pub(crate) failed: bool,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) micro_dollars: Option<i64>,
    /// In nanoseconds.
    pub(crate) took: Option<i64>,
}

impl UsageRow {
    /// From the facts as the engine writes them; what they do not say is nothing.
    pub(crate) fn of(interaction: &Interaction) -> Self {
        let facts = &interaction.facts;
        let count = |pointer: &str| facts.pointer(pointer).and_then(Value::as_i64);
        let took = count("/timing/total/secs")
            .and_then(|seconds| seconds.checked_mul(1_000_000_000))
            .and_then(|took| took.checked_add(count("/timing/total/nanos")?));
        Self {
            name: facts
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or(&interaction.model)
                .to_owned(),
            failed: facts.get("error").is_some_and(|error| !error.is_null()),
            input_tokens: count("/usage/input_tokens").unwrap_or(0),
            output_tokens: count("/usage/output_tokens").unwrap_or(0),
            micro_dollars: count("/cost/micro_dollars"),
            took,
        }
    }
}
