//! All models of a configuration, and which one takes over when another fails.

use crate::client;
use crate::failure::Kind;
use crate::{
    Attempt, Client, Completion, Error, Failure, ModelInfo, Options, Request, Secrets, Sink, Transport,
};
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_util::sync::CancellationToken;

/// How many failures in a row make a model give way to the next.
const STRIKES: u32 = 2;

#[derive(Debug)]
struct Inner {
    options: BTreeMap<String, Options>,
    secrets: Secrets,
    transport: Transport,
    /// Built when first used: a model that nobody uses needs no key.
    clients: Mutex<BTreeMap<String, Client>>,
}

/// All models of a configuration, by name. A cheap clone; they share their connections.
#[derive(Debug, Clone)]
pub struct Models(Arc<Inner>);

impl Models {
    /// These models, with keys from the environment.
    pub fn new(options: BTreeMap<String, Options>) -> Result<Self, Error> {
        Self::with_secrets(options, Secrets::environment())
    }

    /// These models, with keys from there. Settings are checked now; keys, certificates and scripts when a model is first
    /// used.
    pub fn with_secrets(options: BTreeMap<String, Options>, secrets: Secrets) -> Result<Self, Error> {
        for (name, model) in &options {
            client::check(name, model)?;
            for other in &model.fallback {
                let wrong = |reason: String| Error::Setting {
                    name: name.clone(),
                    setting: "fallback".to_owned(),
                    reason,
                };
                let Some(fallback) = options.get(other) else {
                    let known = known(&options);
                    return Err(wrong(format!(
                        "names `{other}`, which is no model; there are: {known}"
                    )));
                };
                if other == name {
                    return Err(wrong("names the model itself".to_owned()));
                }
                if fallback.dialect() != model.dialect() {
                    return Err(wrong(format!(
                        "names `{other}`, which writes `{}` where this one writes `{}`: it could not read the prompt",
                        fallback.dialect(),
                        model.dialect()
                    )));
                }
            }
        }
        Ok(Self(Arc::new(Inner {
            options,
            secrets,
            transport: Transport::default(),
            clients: Mutex::default(),
        })))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.options.keys().map(String::as_str)
    }

    /// The keys and passwords that the models are asked with, as they are and in the forms in which somebody may repeat them:
    /// encoded, quoted, backwards. For a masker, and for nothing that shows them.
    pub fn secret_forms(&self) -> Vec<String> {
        let sent: Vec<SecretString> = self
            .0
            .options
            .iter()
            .flat_map(|(name, options)| crate::http::sent(name, options, &self.0.secrets))
            .collect();
        crate::secrets::all_forms(sent.iter().map(ExposeSecret::expose_secret))
    }

    /// How this one is configured.
    pub fn options(&self, name: &str) -> Result<&Options, Error> {
        self.0.options.get(name).ok_or_else(|| Error::Unknown {
            name: name.to_owned(),
            known: known(&self.0.options),
        })
    }

    /// The model of this name.
    pub fn get(&self, name: &str) -> Result<Client, Error> {
        let options = self.options(name)?;
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(name) {
            return Ok(client.clone());
        }
        let client = Client::with_transport(name, options, &self.0.secrets, &self.0.transport)?;
        clients.insert(name.to_owned(), client.clone());
        Ok(client)
    }

    /// Adds a client under its name, in the place of one that is configured.
    pub fn insert(&self, client: Client) {
        let mut clients = self.0.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.insert(client.info().name.clone(), client);
    }

    /// The way of one execution: this model first, then its fallbacks. The first must be usable.
    pub fn route(&self, name: &str) -> Result<Route, Error> {
        let client = self.get(name)?;
        let first = client.options();
        let same = |other: &str| {
            self.0.options.get(other).is_none_or(|other| {
                (other.provider, &other.model, &other.base_url, &other.script)
                    == (first.provider, &first.model, &first.base_url, &first.script)
            })
        };
        let mut names = vec![name.to_owned()];
        for other in &first.fallback {
            if !same(other) && !names.contains(other) {
                names.push(other.clone());
            }
        }
        Ok(Route {
            first: client.info().clone(),
            names,
            at: 0,
            strikes: 0,
            last: None,
        })
    }

    /// Asks the model that the route is at. Where that fails and another could help, and nothing has been shown, the next
    /// one is asked; the route stays there.
    ///
    /// A failure after something was shown is returned as it is ([`Failure::visible`]): only the caller can discard what
    /// was shown. Asking again with the same route says that it did; the route remembers the failure.
    pub async fn generate(
        &self,
        route: &mut Route,
        request: &Request,
        cancel: &CancellationToken,
        sink: &mut Sink<'_>,
    ) -> Outcome {
        let mut switched = Vec::new();
        let mut earlier: Vec<Attempt> = Vec::new();
        let mut last: Option<Failure> = route.last.take();
        loop {
            if route.strikes >= STRIKES
                && let Some(to) = self.advance(route)
                && let Some(failure) = last.take()
            {
                let from = failure.record.model.clone();
                tracing::warn!(%from, to = %to.info(), kind = %failure.kind, "another model takes over");
                switched.push(Switched {
                    from,
                    to: to.info().clone(),
                    failure,
                });
            }
            let client = match self.get(route.current()) {
                Ok(client) => client,
                Err(error) => {
                    let result = Err(Failure::of_error(&error, route.info()));
                    return Outcome { result, switched };
                }
            };
            match client.generate(request, cancel, sink).await {
                Ok(mut completion) => {
                    route.strikes = 0;
                    completion.attempts.splice(0..0, earlier);
                    let result = Ok(completion);
                    return Outcome { result, switched };
                }
                Err(mut failure) => {
                    failure.record.attempts.splice(0..0, earlier.drain(..));
                    let strikes = strikes(failure.kind);
                    route.strikes = if strikes == 0 { 0 } else { route.strikes + strikes };
                    let exhausted = route.strikes >= STRIKES && !self.has_next(route);
                    if strikes == 0 || failure.visible || exhausted {
                        if failure.visible && strikes > 0 && !exhausted {
                            route.last = Some(failure.clone());
                        }
                        let result = Err(failure);
                        return Outcome { result, switched };
                    }
                    earlier = std::mem::take(&mut failure.record.attempts);
                    if route.strikes >= STRIKES {
                        failure.record.attempts.clone_from(&earlier);
                    }
                    last = Some(failure);
                }
            }
        }
    }

    fn has_next(&self, route: &Route) -> bool {
        route.names[route.at + 1..]
            .iter()
            .any(|name| self.get(name).is_ok())
    }

    /// Moves on to the next model that can be used.
    fn advance(&self, route: &mut Route) -> Option<Client> {
        for at in route.at + 1..route.names.len() {
            match self.get(&route.names[at]) {
                Ok(client) => {
                    route.at = at;
                    route.strikes = 0;
                    return Some(client);
                }
                Err(error) => tracing::warn!(model = %route.names[at], %error, "a fallback cannot be used"),
            }
        }
        None
    }
}

fn known(options: &BTreeMap<String, Options>) -> String {
    if options.is_empty() {
        return "none".to_owned();
    }
    options.keys().cloned().collect::<Vec<_>>().join(", ")
}

/// How much a failure says against a model: nothing where another model would not help or the caller has to act; once
/// where it may have been chance; enough at once where it will not get better by itself.
const fn strikes(kind: Kind) -> u32 {
    match kind {
        Kind::RateLimited
        | Kind::Quota
        | Kind::Overloaded
        | Kind::Credentials
        | Kind::InvalidRequest
        | Kind::Transport => STRIKES,
        Kind::TimeoutFirstChunk | Kind::TimeoutStall | Kind::TimeoutCall | Kind::Malformed => 1,
        Kind::ContextTooLong
        | Kind::TooLarge
        | Kind::Degenerate
        | Kind::Empty
        | Kind::Blocked
        | Kind::Cancelled
        | Kind::ScriptEnded
        | Kind::ScriptMismatch => 0,
    }
}

/// Which model an execution is at. It never goes back.
#[derive(Debug, Clone)]
pub struct Route {
    first: ModelInfo,
    names: Vec<String>,
    at: usize,
    strikes: u32,
    /// A failure after something was shown, which the caller has seen.
    last: Option<Failure>,
}

impl Route {
    /// The name of the model that is asked next.
    pub fn current(&self) -> &str {
        &self.names[self.at]
    }

    /// The name of the model that it began with.
    pub fn first(&self) -> &str {
        &self.names[0]
    }

    /// Who is asked next, as far as can be said when it cannot be used.
    fn info(&self) -> ModelInfo {
        ModelInfo {
            name: self.current().to_owned(),
            ..self.first.clone()
        }
    }

    /// How many times in a row the current model has failed.
    pub const fn strikes(&self) -> u32 {
        self.strikes
    }
}

/// What a call along a route came to.
#[derive(Debug)]
pub struct Outcome {
    /// The reply, or why there is none.
    pub result: Result<Completion, Failure>,
    /// Each time that another model took over, in order.
    pub switched: Vec<Switched>,
}

/// Another model took over.
#[derive(Debug, Clone, PartialEq)]
pub struct Switched {
    /// The one that failed.
    pub from: ModelInfo,
    /// The one that is used from now on.
    pub to: ModelInfo,
    /// Why.
    pub failure: Failure,
}
