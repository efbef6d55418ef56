//! Asks a model, shows what it writes while it writes it, and keeps exactly what was sent and what came back.

use std::collections::HashSet;

use bytes::Bytes;
use interlock_dialect::{CallIds, Chunk as Piece, Limits, Offer, Parsed, Reader, Reply, WireTool};
use interlock_model::{Chunk, Completion, Failure, Flow, Kind, Outcome, Request, Route, Switched};
use interlock_protocol::ContentHash;
use interlock_store::{Interaction, Record};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::count;
use crate::error::{Error, draw};
use crate::history::{Entry, tokens};
use crate::live::Live;
use crate::masking;
use crate::work::Work;

/// What part of a model's context is left for its reply where nothing says how long it may be.
const REPLY_SHARE: usize = 4;

/// What an execution remembers of its model from one question to the next.
#[derive(Default)]
pub(crate) struct Conversation {
    route: Option<Route>,
    /// The tools on the wire, made once.
    tools: Option<(Vec<WireTool>, usize)>,
    last_body: Bytes,
    pub(crate) interactions: u32,
}

/// What asking came to.
pub(crate) enum Asked {
    /// A reply.
    Replied {
        completion: Box<Completion>,
        parsed: Box<Parsed>,
    },
    /// A reply with nothing in it.
    Empty,
    /// A reply that is of no use; the model is told why.
    Again(String),
    /// No reply in time.
    TimedOut(String),
    /// No reply, and none to be had.
    Failed(String),
    /// Someone stopped it.
    Stopped,
}

impl Agent {
    /// Asks the model. Without an offer it has no tools.
    pub(crate) async fn ask(
        &mut self,
        work: &Work,
        cancel: &CancellationToken,
        offer: Option<&Offer>,
    ) -> Result<Asked, Error> {
        let models = &work.models;
        let options = models.options(&self.plan.model).ok();
        let context = options
            .and_then(|options| options.context_tokens)
            .unwrap_or(work.limits.context_tokens) as usize;
        let reply = options
            .and_then(|options| options.max_output_tokens)
            .map_or(context / REPLY_SHARE, |most| most as usize);
        let (tools, tool_bytes) = self.wire_tools(offer);
        let system = self.history.system().to_owned();
        let room = context
            .saturating_sub(reply.min(context / 2))
            .saturating_sub(tokens(system.len() + tool_bytes));
        let messages = match self.history.messages(self.results(), room) {
            Ok(messages) => messages,
            Err(too_long) => return Ok(Asked::Failed(too_long.to_string())),
        };
        let request = Request {
            system,
            messages,
            tools,
            max_output_tokens: None,
            temperature: None,
            stop: Vec::new(),
        };
        work.engine.live.tell(|| Live::Asking {
            session: work.session().clone(),
            execution: self.id().clone(),
            model: self.plan.model.clone(),
            iteration: self.record.iterations,
        });
        let masker = &work.engine.masker();
        let mut reader = Reader::new(self.dialect(), Limits::default());
        let mut stream = masking::Stream::new(masker);
        let at = Timestamp::now();
        let answered = {
            let execution = self.id().clone();
            let mut sink = |chunk: Chunk<'_>| show(work, &execution, &mut reader, &mut stream, chunk);
            let route = match &mut self.conversation.route {
                Some(route) => route,
                none => match models.route(&self.plan.model) {
                    Ok(route) => none.insert(route),
                    Err(error) => return Ok(Asked::Failed(error.to_string())),
                },
            };
            models.generate(route, &request, cancel, &mut sink).await
        };
        // The masks may have changed while the model answered: what is kept has those of now.
        let masker = &work.engine.masker();
        let Outcome { result, switched } = answered;
        for Switched { from, to, failure } in &switched {
            let text = masking::line(masker, &format!("{from} failed and {to} took over: {failure}"));
            self.show(
                "provider_fallback",
                "completed",
                text,
                json!({ "from": from, "to": to }),
                at,
            );
        }
        if offer.is_some() {
            let Request { tools, .. } = request;
            self.conversation.tools = Some((tools, tool_bytes));
        }
        match result {
            Ok(mut completion) => {
                let rest = reader.end();
                tell(work, self.id(), stream.push(rest.shown));
                tell(work, self.id(), stream.finish());
                let seed = draw()?;
                let none = Offer::default();
                let (offer, ids) = (offer.unwrap_or(&none), CallIds::from_bytes(seed));
                // Proposals are read from what is kept, so that a replay reads the same.
                let changed = masking::completion(masker, &mut completion);
                let renamed = self.forget_used_ids(&mut completion.reply);
                let parsed = if changed || renamed {
                    self.dialect()
                        .parse(&completion.reply, offer, ids, Limits::default())
                } else {
                    reader.finish(offer, ids)
                };
                self.keep_completion(work, &completion, &seed, at);
                Ok(Asked::Replied {
                    completion: Box::new(completion),
                    parsed: Box::new(parsed),
                })
            }
            Err(mut failure) => {
                masking::failure(masker, &mut failure);
                self.keep_failure(work, &failure, at);
                Ok(what_follows(&failure))
            }
        }
    }

    /// Some providers give calls of several replies the same ids. A call gets an id of ours then, so that each call of an
    /// execution has its own. Says whether one did.
    fn forget_used_ids(&self, reply: &mut Reply) -> bool {
        if reply.calls.is_empty() {
            return false;
        }
        let calls = self.history.entries().iter().flat_map(|entry| match entry {
            Entry::Assistant { calls, .. } => calls.as_slice(),
            _ => &[],
        });
        let used: HashSet<&str> = calls.map(|call| call.id.as_str()).collect();
        let mut renamed = false;
        for call in &mut reply.calls {
            renamed |= call.id.take_if(|id| used.contains(id.as_str())).is_some();
        }
        renamed
    }

    fn wire_tools(&mut self, offer: Option<&Offer>) -> (Vec<WireTool>, usize) {
        let (Some(offer), interlock_dialect::Dialect::Native) = (offer, self.dialect()) else {
            return (Vec::new(), 0);
        };
        self.conversation.tools.take().unwrap_or_else(|| {
            let tools: Vec<WireTool> = offer.wire_tools().collect();
            let bytes = tools
                .iter()
                .map(|tool| tool.description.len() + tool.parameters.to_string().len() + 64)
                .sum();
            (tools, bytes)
        })
    }

    fn keep_completion(&mut self, work: &Work, completion: &Completion, seed: &[u8; 16], at: Timestamp) {
        let Completion {
            reply,
            usage,
            finish,
            body,
            raw,
            raw_total,
            attempts,
            timing,
            model,
            served_by,
            cost,
            groundings,
            code_executions,
            ..
        } = completion;
        count::model_call(
            model.provider.as_str(),
            "replied",
            timing.total.as_secs_f64(),
            (usage.input_tokens, usage.output_tokens),
        );
        let mut facts = json!({
            "seed": seed,
            "dialect": self.dialect(),
            "reply": reply,
            "finish": finish,
            "usage": usage,
            "attempts": attempts,
            "timing": timing,
            "raw_total": raw_total,
            "name": model.name,
        });
        let more = [
            ("cost", json!(cost)),
            ("served_by", json!(served_by)),
            ("groundings", json!(groundings)),
            ("code_executions", json!(code_executions)),
        ];
        for (key, value) in more {
            if !value.is_null() && value != json!([]) {
                facts[key] = value;
            }
        }
        for grounding in groundings {
            self.show(
                "google_search_result",
                "completed",
                grounding.to_string(),
                Value::Null,
                at,
            );
        }
        for execution in code_executions {
            self.show(
                "code_execution",
                "completed",
                execution.to_string(),
                Value::Null,
                at,
            );
        }
        self.keep_interaction(
            work,
            (model.provider.as_str(), &model.model),
            body,
            raw,
            facts,
            at,
        );
    }

    fn keep_failure(&mut self, work: &Work, failure: &Failure, at: Timestamp) {
        let record = &failure.record;
        count::model_call(
            record.model.provider.as_str(),
            failure.kind.as_str(),
            record.timing.total.as_secs_f64(),
            (record.usage.input_tokens, record.usage.output_tokens),
        );
        tracing::warn!(
            trace_id = %work.run,
            session = %work.session(),
            kind = failure.kind.as_str(),
            "{failure}"
        );
        let facts = json!({
            "dialect": self.dialect(),
            "error": { "kind": failure.kind, "message": failure.message, "visible": failure.visible },
            "reply": record.partial,
            "usage": record.usage,
            "cost": record.cost,
            "attempts": record.attempts,
            "timing": record.timing,
            "raw_total": record.raw_total,
            "name": record.model.name,
        });
        let model = (record.model.provider.as_str(), record.model.model.as_str());
        self.keep_interaction(work, model, &record.body, &record.raw, facts, at);
    }

    /// Keeps what was sent as the part that differs from what was sent before: most of a request is the one before it.
    fn keep_interaction(
        &mut self,
        work: &Work,
        (provider, model): (&str, &str),
        body: &Bytes,
        raw: &Bytes,
        facts: Value,
        at: Timestamp,
    ) {
        let last = &self.conversation.last_body;
        let shared = shared(last, body);
        self.conversation.interactions += 1;
        self.pending.push(Record::Interaction(Interaction {
            execution: self.record.id.clone(),
            number: self.conversation.interactions,
            run: work.run.clone(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            shared: shared as u64,
            body: body[shared..].to_vec(),
            body_hash: ContentHash::of(body),
            raw: raw.to_vec(),
            facts,
            at,
        }));
        self.conversation.last_body = body.clone();
    }

    /// After a restart nothing is known of what was sent before: the next request is kept whole.
    pub(crate) fn resume_conversation(&mut self, interactions: u32) {
        self.conversation.interactions = interactions;
    }
}

/// How many bytes two texts have in common from their beginning.
fn shared(a: &[u8], b: &[u8]) -> usize {
    const BLOCK: usize = 256;
    let blocks = a
        .chunks_exact(BLOCK)
        .zip(b.chunks_exact(BLOCK))
        .take_while(|(a, b)| a == b)
        .count();
    let start = blocks * BLOCK;
    let rest = a[start..].iter().zip(&b[start..]).take_while(|(a, b)| a == b);
    start + rest.count()
}

fn what_follows(failure: &Failure) -> Asked {
    match failure.kind {
        Kind::Empty => Asked::Empty,
        Kind::Degenerate => Asked::Again(
            "The reply repeated itself and was cut. Say it once: call a tool, or give the final answer."
                .to_owned(),
        ),
        // Nothing was shown, so the model was asked again there already.
        Kind::TimeoutFirstChunk | Kind::TimeoutStall | Kind::TimeoutCall if !failure.visible => {
            Asked::Failed(failure.message.clone())
        }
        Kind::TimeoutFirstChunk | Kind::TimeoutStall | Kind::TimeoutCall => {
            Asked::TimedOut(failure.message.clone())
        }
        // It broke off in the middle: what was shown is void, and the next try may bring it whole.
        Kind::Transport | Kind::Overloaded if failure.visible => Asked::TimedOut(failure.message.clone()),
        Kind::Cancelled => Asked::Stopped,
        Kind::RateLimited
        | Kind::Quota
        | Kind::Overloaded
        | Kind::Credentials
        | Kind::InvalidRequest
        | Kind::ContextTooLong
        | Kind::Transport
        | Kind::Malformed
        | Kind::TooLarge
        | Kind::Blocked
        | Kind::ScriptEnded
        | Kind::ScriptMismatch => Asked::Failed(failure.message.clone()),
    }
}

/// Gives a piece to the dialect and what it shows to whoever watches.
fn show(
    work: &Work,
    execution: &interlock_protocol::ExecutionId,
    reader: &mut Reader,
    stream: &mut masking::Stream,
    chunk: Chunk<'_>,
) -> Flow {
    let piece = match chunk {
        Chunk::Text(text) => Piece::Text(text),
        Chunk::Thinking(text) => Piece::Thinking(text),
        Chunk::CallDelta(delta) => Piece::CallDelta(delta),
        Chunk::Call(call) => Piece::Call(call),
        Chunk::Grounding(_) | Chunk::CodeExecution(_) => return Flow::Continue,
    };
    let progress = reader.push(piece);
    tell(work, execution, stream.push(progress.shown));
    match progress.stop {
        Some(_) => Flow::Stop,
        None => Flow::Continue,
    }
}

fn tell(work: &Work, execution: &interlock_protocol::ExecutionId, shown: Vec<interlock_dialect::Shown>) {
    for shown in shown {
        work.engine.live.tell(|| Live::Chunk {
            session: work.session().clone(),
            execution: execution.clone(),
            channel: shown.channel,
            text: shown.text,
        });
    }
}
