//! Samples to query, a clock to move, and an HTTP client.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use interlock_lab::prometheus::{Clock, Labels, Prometheus, Rule, Sample, Serving, Tsdb};
use jiff::Timestamp;
use serde_json::Value;

/// The time zero of the samples; a whole hour, so that subqueries align with it. It is a Sunday, 2025-06-01 12:00 UTC.
pub(crate) const T0: i64 = 1_748_779_200;

/// Seconds after time zero.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(T0 + seconds).unwrap()
}

/// Labels from text such as `up{job="a"}`.
pub(crate) fn labels(text: &str) -> Labels {
    let (name, rest) = text.split_once('{').unwrap_or((text, "}"));
    let inner = rest.strip_suffix('}').unwrap();
    let pairs = inner.split(',').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap();
        (name.trim().to_owned(), value.trim().trim_matches('"').to_owned())
    });
    Labels::metric(name, pairs)
}

/// Appends values every `step` seconds from time zero on.
pub(crate) fn load(tsdb: &Tsdb, series: &str, step: i64, values: &[f64]) {
    for (count, value) in (0..).zip(values) {
        tsdb.append(Sample {
            labels: labels(series),
            at: at(count * step),
            value: *value,
        })
        .unwrap();
    }
}

/// A clock that a test moves, in seconds after time zero.
#[derive(Clone, Default)]
pub(crate) struct Hand(Arc<AtomicI64>);

impl Hand {
    pub(crate) fn set(&self, seconds: i64) -> Timestamp {
        self.0.store(seconds, Ordering::SeqCst);
        at(seconds)
    }

    pub(crate) fn clock(&self) -> Clock {
        let hand = self.clone();
        Clock::new(move || at(hand.0.load(Ordering::SeqCst)))
    }
}

/// Both servers, with a client for them.
pub(crate) struct Served {
    pub(crate) prometheus: Prometheus,
    pub(crate) serving: Serving,
    client: reqwest::Client,
}

/// What came back.
#[derive(Debug, PartialEq)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

pub(crate) async fn serve(rules: Vec<Rule>, clock: Clock) -> Served {
    let prometheus = Prometheus::with_clock(rules, clock);
    let serving = prometheus.serve().await.unwrap();
    Served {
        prometheus,
        serving,
        client: client(),
    }
}

fn client() -> reqwest::Client {
    // The client wants a provider even for plain HTTP; a second test in the same process finds it there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

impl Served {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.serving.prometheus)
    }

    pub(crate) fn alertmanager_url(&self, path: &str) -> String {
        format!("http://{}{path}", self.serving.alertmanager)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        reply(self.client.get(self.url(path))).await
    }

    pub(crate) async fn post_form(&self, path: &str, form: &'static str) -> Reply {
        let request = self.client.post(self.url(path)).body(form);
        reply(request.header("content-type", "application/x-www-form-urlencoded")).await
    }

    pub(crate) async fn am_get(&self, path: &str) -> Reply {
        reply(self.client.get(self.alertmanager_url(path))).await
    }

    pub(crate) async fn am_post(&self, path: &str, body: Value) -> Reply {
        let request = self
            .client
            .post(self.alertmanager_url(path))
            .body(body.to_string());
        reply(request.header("content-type", "application/json")).await
    }

    pub(crate) async fn am_delete(&self, path: &str) -> Reply {
        reply(self.client.delete(self.alertmanager_url(path))).await
    }
}

/// The reply, with text that is no JSON as a JSON text.
async fn reply(request: reqwest::RequestBuilder) -> Reply {
    let response = request.send().await.unwrap();
    let code = response.status().as_u16();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Reply { code, body }
}
