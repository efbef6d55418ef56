//! One model, as it is configured.

use crate::attempt::{self, Clocks, Tried, cancelled};
use crate::failure::{Fault, Kind, Record};
use crate::http::{Endpoint, Transport};
use crate::limits::Limits;
use crate::retry;
use crate::scripted::{self, Script};
use crate::wire::Wire;
use crate::wire::body::RESERVED;
use crate::{
    Attempt, Completion, Error, Failure, Finish, ModelInfo, Options, Provider, Request, Secrets, Sink,
    Timing, Usage,
};
use bytes::Bytes;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How the model is reached.
#[derive(Debug, Clone)]
enum Reach {
    Http { wire: Wire, endpoint: Box<Endpoint> },
    Script(Script),
}

#[derive(Debug, Clone)]
struct Inner {
    info: ModelInfo,
    options: Options,
    limits: Limits,
    reach: Reach,
}

/// One model, as it is configured. A cheap clone.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

impl Client {
    /// The model of this name in the configuration, with connections of its own.
    pub fn new(name: &str, options: &Options, secrets: &Secrets) -> Result<Self, Error> {
        Self::with_transport(name, options, secrets, &Transport::default())
    }

    /// The same, with shared connections.
    pub fn with_transport(
        name: &str,
        options: &Options,
        secrets: &Secrets,
        transport: &Transport,
    ) -> Result<Self, Error> {
        check(name, options)?;
        let reach = if let Some(wire) = Wire::of(options.provider) {
            let endpoint = Endpoint::new(name, wire, options, secrets, transport)?;
            Reach::Http {
                wire,
                endpoint: Box::new(endpoint),
            }
        } else {
            let path = options.script.as_ref().ok_or_else(|| Error::Setting {
                name: name.to_owned(),
                setting: "script".to_owned(),
                reason: "is missing: name the file to play".to_owned(),
            })?;
            let script = Script::read(path).map_err(|source| Error::Script {
                name: name.to_owned(),
                source,
            })?;
            Reach::Script(script)
        };
        Ok(Self::build(name, options.clone(), reach))
    }

    /// A model that plays this script.
    pub fn scripted(name: &str, script: Script) -> Self {
        Self::scripted_with(name, script, Options::new(Provider::Scripted, ""))
    }

    /// The same, with these time-outs, retries, dialect and price.
    pub fn scripted_with(name: &str, script: Script, options: Options) -> Self {
        Self::build(name, options, Reach::Script(script))
    }

    fn build(name: &str, options: Options, reach: Reach) -> Self {
        let model = if options.model.is_empty() {
            name.to_owned()
        } else {
            options.model.clone()
        };
        Self(Arc::new(Inner {
            info: ModelInfo {
                name: name.to_owned(),
                provider: options.provider,
                model,
            },
            options,
            limits: Limits::DEFAULT,
            reach,
        }))
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        let inner = Arc::unwrap_or_clone(self.0);
        Self(Arc::new(Inner { limits, ..inner }))
    }

    /// Who this is.
    pub fn info(&self) -> &ModelInfo {
        &self.0.info
    }

    /// How it is configured.
    pub fn options(&self) -> &Options {
        &self.0.options
    }

    /// The exact body that [`Self::generate`] would send. The same request gives the same bytes.
    pub fn render(&self, request: &Request) -> Result<Bytes, Error> {
        match &self.0.reach {
            Reach::Http { wire, .. } => wire.body(&self.0.options, request),
            Reach::Script(_) => scripted::body(&self.0.info, request),
        }
    }

    /// Asks the model. What arrives is passed to the sink at once; what it came to is returned. A request that has shown
    /// nothing yet is asked again when the provider is overloaded or out of reach.
    pub async fn generate(
        &self,
        request: &Request,
        cancel: &CancellationToken,
        sink: &mut Sink<'_>,
    ) -> Result<Completion, Failure> {
        let began = Instant::now();
        let mut call = Call {
            client: self,
            began,
            body: Bytes::new(),
            attempts: Vec::new(),
        };
        match self.render(request) {
            Ok(body) => call.body = body,
            Err(error) => {
                let fault = Fault::new(Kind::InvalidRequest, error.to_string());
                return Err(call.fail(Tried::failed(fault.clone()), fault));
            }
        }
        let timeouts = self.0.options.timeouts;
        let deadline = began + timeouts.call.get();
        for number in 1.. {
            if cancel.is_cancelled() {
                return Err(call.fail(Tried::default(), cancelled()));
            }
            let clocks = Clocks {
                timeouts,
                began: Instant::now(),
                deadline,
                cancel,
            };
            let mut tried = match &self.0.reach {
                Reach::Http { wire, endpoint } => {
                    attempt::ask(endpoint, *wire, call.body.clone(), self.0.limits, clocks, sink).await
                }
                Reach::Script(script) => scripted::play(script, request, number, clocks, sink).await,
            };
            if tried.fault.is_none() {
                tried.fault = emptiness(&tried);
            }
            call.note(&tried, clocks.began);
            let Some(fault) = tried.fault.take() else {
                return Ok(call.complete(tried));
            };
            let retries = &self.0.options.retries;
            if !fault.kind.is_passing() || tried.visible || number >= retries.attempts {
                return Err(call.fail(tried, fault));
            }
            let wait = retry::wait(
                retries,
                number,
                tried.asked_to_wait,
                rand::random_range(0.0..=1.0),
            );
            if Instant::now() + wait >= deadline {
                return Err(call.fail(tried, fault));
            }
            tracing::debug!(model = %self.0.info.name, kind = %fault.kind, ?wait, "asking again");
            if let Some(attempt) = call.attempts.last_mut() {
                attempt.waited = Some(wait);
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(call.fail(tried, cancelled())),
                () = tokio::time::sleep(wait) => {}
            }
        }
        Err(call.fail(Tried::default(), cancelled()))
    }
}

/// A reply that says nothing and calls nothing is none.
fn emptiness(tried: &Tried) -> Option<Fault> {
    let collected = &tried.collected;
    if collected.finish == Some(Finish::Stopped) || !collected.is_empty() {
        return None;
    }
    Some(match &collected.finish {
        Some(Finish::ContentFilter) => Fault::new(Kind::Blocked, "the provider kept the reply back"),
        Some(Finish::Length) => Fault::new(
            Kind::Empty,
            "the model used up its tokens before it said anything",
        ),
        _ => Fault::new(Kind::Empty, "the model said nothing and called nothing"),
    })
}

/// One call to [`Client::generate`].
struct Call<'a> {
    client: &'a Client,
    began: Instant,
    body: Bytes,
    attempts: Vec<Attempt>,
}

impl Call<'_> {
    fn scrub(&self, text: &str) -> String {
        match &self.client.0.reach {
            Reach::Http { endpoint, .. } => endpoint.scrubber.text(text),
            Reach::Script(_) => text.to_owned(),
        }
    }

    fn note(&mut self, tried: &Tried, began: Instant) {
        let message = tried
            .fault
            .as_ref()
            .map_or_else(String::new, |fault| self.scrub(&fault.what));
        self.attempts.push(Attempt {
            model: self.client.0.info.name.clone(),
            status: tried.status,
            request_id: tried.request_id.as_deref().map(|id| self.scrub(id)),
            failed: tried.fault.as_ref().map(|fault| fault.kind),
            message,
            elapsed: began.elapsed(),
            waited: None,
        });
    }

    fn timing(&self, tried: &Tried) -> Timing {
        Timing {
            first_chunk: tried.first_chunk,
            total: self.began.elapsed(),
        }
    }

    /// What can be believed of the tokens that the provider counted. A script is our own.
    fn usage(&self, tried: &Tried) -> Usage {
        let inner = &self.client.0;
        match &inner.reach {
            Reach::Http { .. } => tried.collected.usage.believed(
                self.body.len(),
                tried.raw_total,
                inner.options.max_output_tokens,
            ),
            Reach::Script(_) => tried.collected.usage,
        }
    }

    fn complete(self, tried: Tried) -> Completion {
        let inner = &self.client.0;
        let timing = self.timing(&tried);
        let usage = self.usage(&tried);
        let collected = tried.collected;
        Completion {
            reply: collected.reply,
            thoughts: collected.thoughts,
            call_signatures: collected.call_signatures,
            cost: inner.options.price.and_then(|price| usage.cost(&price)),
            usage,
            finish: collected
                .finish
                .unwrap_or_else(|| Finish::Other("no reason given".to_owned())),
            body: self.body,
            raw: tried.raw,
            raw_total: tried.raw_total,
            attempts: self.attempts,
            timing,
            model: inner.info.clone(),
            served_by: collected.served_by,
            groundings: collected.groundings,
            code_executions: collected.code_executions,
        }
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a fault ends here, in the failure that tells of it"
    )]
    fn fail(&self, tried: Tried, fault: Fault) -> Failure {
        let inner = &self.client.0;
        let place = match &inner.reach {
            Reach::Http { endpoint, .. } => format!(" at {}", endpoint.shown),
            Reach::Script(_) => String::new(),
        };
        let times = match self.attempts.len() {
            0 | 1 => String::new(),
            times => format!(" (asked {times} times)"),
        };
        let what = self.scrub(&fault.what);
        let what = what.trim_end_matches('.');
        let message = format!(
            "Model {}{place}: {what}{times}. {}",
            inner.info,
            fault.kind.remedy()
        );
        let timing = self.timing(&tried);
        let usage = self.usage(&tried);
        let collected = tried.collected;
        Failure {
            kind: fault.kind,
            message,
            visible: tried.visible,
            record: Box::new(Record {
                model: inner.info.clone(),
                attempts: self.attempts.clone(),
                body: self.body.clone(),
                raw: tried.raw,
                raw_total: tried.raw_total,
                partial: collected.reply,
                finish: collected.finish,
                usage,
                cost: inner.options.price.and_then(|price| usage.cost(&price)),
                timing,
            }),
        }
    }
}

/// Whether the settings make sense, as far as that can be said without the environment and the network.
pub(crate) fn check(name: &str, options: &Options) -> Result<(), Error> {
    let wrong = |setting: &str, reason: &str| {
        Err(Error::Setting {
            name: name.to_owned(),
            setting: setting.to_owned(),
            reason: reason.to_owned(),
        })
    };
    if options.provider != Provider::Scripted && options.model.trim().is_empty() {
        return Err(Error::ModelMissing {
            name: name.to_owned(),
            provider: options.provider,
        });
    }
    if let Some(key) = options.extra.keys().find(|key| RESERVED.contains(&key.as_str())) {
        return wrong(
            "extra",
            &format!("cannot set `{key}`: it carries the conversation"),
        );
    }
    if options
        .temperature
        .is_some_and(|temperature| !(0.0..=2.0).contains(&temperature))
    {
        return wrong("temperature", "must be from 0 to 2");
    }
    if options.retries.attempts == 0 {
        return wrong("retries.attempts", "must be at least 1");
    }
    for (setting, span) in [
        ("timeouts.first_chunk", options.timeouts.first_chunk),
        ("timeouts.stall", options.timeouts.stall),
        ("timeouts.call", options.timeouts.call),
    ] {
        if span.get().is_zero() {
            return wrong(setting, "must be longer than nothing");
        }
    }
    if let Some(price) = options.price {
        let all = [
            Some(price.input_per_million),
            Some(price.output_per_million),
            price.cached_input_per_million,
        ];
        if all
            .into_iter()
            .flatten()
            .any(|price| !price.is_finite() || price < 0.0)
        {
            return wrong("price", "must be numbers from 0");
        }
    }
    if options.max_output_tokens == Some(0) {
        return wrong("max_output_tokens", "must be at least 1");
    }
    let budget = options.thinking.and_then(|thinking| thinking.budget_tokens);
    if options.provider == Provider::Openai && budget.is_some() {
        return wrong(
            "thinking.budget_tokens",
            "means nothing to this wire; use `thinking.effort`, or `extra` as the server spells it",
        );
    }
    if !options.native_tools.is_empty() && options.provider != Provider::Gemini {
        return wrong("native_tools", "are Gemini's alone");
    }
    if options.script.is_some() && options.provider != Provider::Scripted {
        return wrong("script", "is for the provider `scripted`");
    }
    Ok(())
}
