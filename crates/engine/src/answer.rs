//! How an execution ends: the answer that its model offers, and the conclusion that code asks for.

use interlock_gate::{Conclusion, SAFE_FAILURE, phantom_detected};
use interlock_model::Completion;
use interlock_protocol::{CategoryName, Decision as Said, ErrorCode, EventBody, Status};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::agent::{Agent, End, Next};
use crate::ask::Asked;
use crate::count;
use crate::error::Error;
use crate::history::Entry;
use crate::work::{Halt, Work};

/// What is answered when not even a conclusion could be had.
const NO_CONCLUSION: &str = "The model gave no conclusion.";

impl Agent {
    /// The model offers to end.
    pub(crate) async fn take_answer(
        &mut self,
        work: &Work,
        completion: &Completion,
        text: &str,
        now: Timestamp,
    ) -> Result<Next, Error> {
        let proposal = interlock_protocol::Proposal::FinalAnswer {
            text: text.to_owned(),
        };
        self.event(EventBody::ProposalReceived { proposal });
        let conclusion = if self.claimed {
            Conclusion::Offered
        } else {
            Conclusion::Tentative
        };
        let decided = work.tape().answer(&self.record.id, text, conclusion, now);
        match decided {
            Ok(answer) => {
                let end = self.release(work, &completion.model, &answer, now);
                Ok(Next::End(end))
            }
            Err(refusal) => {
                work.count_refusal(&refusal);
                // What did not happen is not repeated to the model as if it had said so.
                let text = if refusal.code == ErrorCode::UnsupportedClaim {
                    self.claimed = true;
                    let model = &completion.model;
                    count::count(phantom_detected(model.provider.as_str(), &model.model));
                    SAFE_FAILURE.to_owned()
                } else {
                    completion.reply.text.clone()
                };
                self.refused_event(None, &refusal);
                let entry = Entry::Assistant {
                    text,
                    thinking: Vec::new(),
                    calls: Vec::new(),
                    answer: false,
                };
                self.say(work, entry, now);
                let hint = refusal.recovery_hint.as_deref().unwrap_or_default();
                let note = format!("The answer was not given: {} {hint}", refusal.message);
                self.show(
                    "error",
                    "refused",
                    refusal.message.clone(),
                    json!({ "rule": refusal.rule.as_str(), "code": refusal.code }),
                    now,
                );
                self.note(work, note.trim_end());
                self.keep(work).await?;
                Ok(Next::Go)
            }
        }
    }

    fn release(
        &mut self,
        work: &Work,
        model: &interlock_model::ModelInfo,
        answer: &interlock_gate::Answer,
        now: Timestamp,
    ) -> End {
        let text = answer.text.clone();
        self.event(EventBody::DecisionMade {
            call: None,
            decision: Said::AnswerAllowed,
        });
        if let Some(claim) = &answer.replaced {
            count::count(phantom_detected(model.provider.as_str(), &model.model));
            tracing::warn!(trace_id = %work.run, session = %work.session(), "an answer claimed what no receipt shows");
            if let Ok(category) = CategoryName::new(claim.category.as_str()) {
                self.event(EventBody::AnswerReplaced {
                    category,
                    text: answer.text.clone(),
                });
            }
        }
        self.event(EventBody::AnswerGiven {
            text: text.clone(),
            head: Some(Box::new(answer.head.clone())),
        });
        let spans: Vec<Value> = answer
            .spans
            .iter()
            .map(|span| {
                json!({
                    "start": span.at.start,
                    "end": span.at.end,
                    "backed": !span.evidence.is_empty(),
                    "evidence": span.evidence,
                })
            })
            .collect();
        let metadata = json!({
            "status": answer.status,
            "replaced": answer.replaced.is_some(),
            "head": answer.head,
            "spans": spans,
        });
        self.show("final_analysis", "completed", text.clone(), metadata, now);
        let entry = Entry::Assistant {
            text: text.clone(),
            thinking: Vec::new(),
            calls: Vec::new(),
            answer: true,
        };
        self.say(work, entry, now);
        match (&answer.replaced, answer.status) {
            // What was withheld is no answer.
            (Some(_), Status::Completed) => End::Failed(text),
            (_, status) => End::Answered { text, status },
        }
    }

    /// Code ends the execution: the readings that are due, one call without tools, and the answer from it.
    pub(crate) async fn conclude(&mut self, work: &Work, why: Option<&str>) -> Result<End, Error> {
        self.close_verifications(work).await?;
        if let Some(why) = why {
            let text = work.prompts.conclusion(why)?;
            self.note(work, &text);
        }
        self.record.iterations += 1;
        let asked = self.ask_in_time(work).await?;
        let now = Timestamp::now();
        let (text, model) = match asked {
            Asked::Replied { completion, parsed } => {
                let text = parsed
                    .forced_conclusion()
                    .or_else(|| parsed.final_answer())
                    .map_or_else(|| completion.reply.text.clone(), ToOwned::to_owned);
                (text, Some(completion.model.clone()))
            }
            Asked::Stopped if work.halt().is_some() => {
                self.keep(work).await?;
                return Ok(End::Halted(work.halt().unwrap_or(Halt::Cancelled)));
            }
            Asked::Failed(error) | Asked::TimedOut(error) | Asked::Again(error) => {
                self.show("error", "failed", error.clone(), Value::Null, now);
                (format!("{NO_CONCLUSION} {error}"), None)
            }
            Asked::Empty | Asked::Stopped => (NO_CONCLUSION.to_owned(), None),
        };
        let model_answered = model.is_some() && !text.trim().is_empty();
        let text = if text.trim().is_empty() {
            NO_CONCLUSION.to_owned()
        } else {
            text
        };
        let decided = work
            .tape()
            .answer(&self.record.id, &text, Conclusion::Forced, now);
        let end = match decided {
            Ok(answer) if model_answered => {
                let info = model.unwrap_or_else(|| work.engine.model_info(&self.plan.model));
                self.release(work, &info, &answer, now)
            }
            // What code says is no answer of a model.
            Ok(_) => End::Failed(text),
            Err(refusal) => {
                work.count_refusal(&refusal);
                self.refused_event(None, &refusal);
                End::Failed(refusal.message.clone())
            }
        };
        // Kept together with the end of the execution: an answer that was given is not asked for again.
        Ok(end)
    }
}
