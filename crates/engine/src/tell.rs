//! What a model and the record are told of calls: what came of them, that the gate refused them, and that nobody put
//! them to the gate.

use interlock_gate::{Hold, Metric, Refusal};
use interlock_protocol::{
    CallId, Decision as Said, ErrorCode, EventBody, EvidenceId, RefusalRecord, RuleName, ToolCall,
    ToolResponse,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::agent::Agent;
use crate::calls::tell_of_edit;
use crate::count;
use crate::history::Entry;
use crate::timeline::{CallFacts, Place, Progress};
use crate::work::{Work, unwritable};

/// Why a call was not put to the gate. As much a refusal as the gate's own: typed, recorded and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unasked {
    /// The agent takes one call of a reply.
    OneCall,
    /// An earlier call of the reply waits for a human.
    HeldBefore,
    /// The session is being stopped.
    Stopping,
    /// The next question of the conversation came first.
    NextQuestion,
    /// The process that would have put it ended.
    ProcessEnded,
}

impl Unasked {
    /// The rule, as the record and the counters name it.
    const fn rule(self) -> &'static str {
        match self {
            Self::OneCall => "one_call_per_reply",
            Self::HeldBefore => "held_before",
            Self::Stopping => "stopping",
            Self::NextQuestion => "next_question",
            Self::ProcessEnded => "process_ended",
        }
    }

    const fn code(self) -> ErrorCode {
        match self {
            Self::OneCall => ErrorCode::ActionNotAllowed,
            Self::HeldBefore | Self::Stopping | Self::NextQuestion | Self::ProcessEnded => {
                ErrorCode::Cancelled
            }
        }
    }

    pub(crate) const fn message(self) -> &'static str {
        match self {
            Self::OneCall => "Not run: one call per reply.",
            Self::HeldBefore => "Not run: an earlier call of the reply waits for a human.",
            Self::Stopping => "Not run: the session is being stopped.",
            Self::NextQuestion => "Not run: the next question came first.",
            Self::ProcessEnded => "Not run: the process that would have run it ended before.",
        }
    }
}

/// The rule under which a reply that is no proposal stands in the record.
const DIALECT: &str = "dialect";

impl Agent {
    /// Tells the model that a call was refused, and writes it down.
    pub(crate) fn refuse(&mut self, work: &Work, call: &ToolCall, refusal: &Refusal, now: Timestamp) {
        let place = self.new_place(now);
        let facts = CallFacts::proposed(call, refusal.about.kind);
        self.record_refusal(work, &call.id, refusal, (&facts, &place), now);
        self.answer_call(work, call, &refusal.to_response(), None, now);
    }

    /// Tells the model that a call was refused that is shown already, as about to run or as waiting for a human.
    pub(crate) fn refuse_shown(
        &mut self,
        work: &Work,
        call: &ToolCall,
        refusal: &Refusal,
        (facts, hold): (&CallFacts<'_>, Option<&Hold>),
        place: &Place,
    ) {
        let now = Timestamp::now();
        self.record_refusal(work, &call.id, refusal, (facts, place), now);
        let response = match hold {
            Some(hold) => tell_of_edit(refusal.to_response(), hold),
            None => refusal.to_response(),
        };
        self.answer_call(work, call, &response, None, now);
    }

    /// Writes down and counts what the gate refused, and shows it.
    fn record_refusal(
        &mut self,
        work: &Work,
        call: &CallId,
        refusal: &Refusal,
        (facts, place): (&CallFacts<'_>, &Place),
        now: Timestamp,
    ) {
        work.count_refusal(refusal);
        match refusal.to_record() {
            Ok(record) => {
                self.show_call(facts, place, Progress::Refused(&record), now);
                self.event(EventBody::DecisionMade {
                    call: Some(call.clone()),
                    decision: Said::Refused(record),
                });
            }
            Err(error) => self.pending.push(unwritable("a refusal", &error)),
        }
    }

    pub(crate) fn refused_event(&mut self, call: Option<&interlock_protocol::CallId>, refusal: &Refusal) {
        match refusal.to_record() {
            Ok(record) => self.event(EventBody::DecisionMade {
                call: call.cloned(),
                decision: Said::Refused(record),
            }),
            Err(error) => self.pending.push(unwritable("a refusal", &error)),
        }
    }

    /// A call that nobody put to the gate.
    pub(crate) fn not_run(&mut self, work: &Work, call: &ToolCall, why: Unasked, now: Timestamp) {
        let response = self.turn_away(work, &call.id, call.tool.as_str(), why);
        self.answer_call(work, call, &response, None, now);
    }

    /// Writes down that a call was not put to the gate. What comes back is what the model is told.
    pub(crate) fn turn_away(&mut self, work: &Work, call: &CallId, tool: &str, why: Unasked) -> ToolResponse {
        let response = ToolResponse::blocked(why.code(), why.message(), Map::new());
        self.record_block(work, Some(call), (why.rule(), tool), &response);
        response
    }

    /// Writes down that a reply, or a call in it, is no proposal.
    pub(crate) fn not_understood(
        &mut self,
        work: &Work,
        problem: &interlock_dialect::Problem,
        now: Timestamp,
    ) {
        count::problem(self.dialect().as_str());
        let response = problem.to_response();
        let call = problem.call.as_ref();
        let tool = call.map_or("", |call| call.wire_name.as_str());
        self.record_block(work, call.map(|call| &call.id), (DIALECT, tool), &response);
        let fault = problem.fault.to_string();
        self.show("error", "refused", fault, json!({ "rule": DIALECT }), now);
    }

    fn record_block(
        &mut self,
        work: &Work,
        call: Option<&CallId>,
        (rule, tool): (&'static str, &str),
        response: &ToolResponse,
    ) {
        let (Some(error), Ok(name)) = (response.error(), RuleName::new(rule)) else {
            return;
        };
        // Names that a model makes up must not become label values.
        let known = work.tools.catalogue().get(tool).is_some();
        count::count(Metric {
            name: "interlock_proposal_rejected_total",
            labels: vec![
                ("rule", rule.to_owned()),
                ("tool", if known { tool } else { "unknown" }.to_owned()),
            ],
        });
        tracing::info!(
            event = "tool_call_blocked",
            trace_id = %work.run,
            session = %work.session(),
            tool,
            code = %error.code,
            rule,
            "{}", error.message
        );
        let record = RefusalRecord {
            code: error.code,
            rule: name,
            message: error.message.clone(),
            recovery_hint: None,
            auto_recoverable: true,
            details: error.details.clone(),
        };
        self.event(EventBody::DecisionMade {
            call: call.cloned(),
            decision: Said::Refused(record),
        });
    }

    /// Tells the model what came of a call.
    pub(crate) fn answer_call(
        &mut self,
        work: &Work,
        call: &ToolCall,
        response: &ToolResponse,
        evidence: Option<&EvidenceId>,
        now: Timestamp,
    ) {
        let text = self.shown(work, Some(call), response);
        let kept = evidence.map_or_else(String::new, |id| format!(", kept as {id}"));
        let brief = ToolResponse::success(json!(format!(
            "left out to save room: the answer of {} ({} bytes{kept})",
            call.tool,
            text.len()
        )));
        let brief = self.dialect().observation(call, &brief);
        let entry = Entry::Tool {
            call: call.id.as_str().to_owned(),
            name: interlock_dialect::WireName::of(&call.tool).as_str().to_owned(),
            text,
            failed: !response.is_ok(),
            brief,
        };
        self.say(work, entry, now);
    }

    /// What a model is shown of an answer: marked as data from outside, and no longer than there is use for.
    pub(crate) fn shown(&self, work: &Work, call: Option<&ToolCall>, response: &ToolResponse) -> String {
        let most = work.limits.shown_bytes;
        let marked = response.clone().with_meta("trust", "untrusted data");
        let render = |response: &ToolResponse| match call {
            Some(call) => self.dialect().observation(call, response),
            None => interlock_dialect::Dialect::Native.observation(
                &ToolCall {
                    id: nobody(),
                    tool: unnamed(),
                    arguments: serde_json::Map::new(),
                },
                response,
            ),
        };
        let text = render(&marked);
        if text.len() <= most {
            return text;
        }
        let short = match response.outcome() {
            Ok(Value::String(text)) => ToolResponse::success(ends(text, most)),
            Ok(data) => ToolResponse::success(ends(&data.to_string(), most)),
            // Why it failed stays whole; what it printed on the way does not.
            Err(error) => {
                let mut error = error.clone();
                let details = Value::Object(std::mem::take(&mut error.details)).to_string();
                error.details.insert("details".to_owned(), ends(&details, most));
                ToolResponse::from_error(error)
            }
        };
        render(&short.with_meta("trust", "untrusted data"))
    }
}

/// The beginning and the end of a text that is too long to be shown.
fn ends(whole: &str, most: usize) -> Value {
    let head = whole.floor_char_boundary(most * 2 / 3);
    let tail = whole.ceil_char_boundary(whole.len().saturating_sub(most / 4).max(head));
    json!({
        "truncated": true,
        "bytes": whole.len(),
        "beginning": &whole[..head],
        "end": &whole[tail..],
    })
}

#[expect(clippy::expect_used, reason = "a constant that is a valid name")]
fn unnamed() -> interlock_protocol::ToolName {
    interlock_protocol::ToolName::new("unknown").expect("a valid name")
}

#[expect(clippy::expect_used, reason = "a constant that is a valid name")]
fn nobody() -> interlock_protocol::CallId {
    interlock_protocol::CallId::new("none").expect("a valid name")
}
