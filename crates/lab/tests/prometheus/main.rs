//! The lab's Prometheus and Alertmanager: the language, the rules, the wire formats, and somebody else's clients.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, also in what prepares it"
)]

mod alertmanager;
mod any_text;
mod cases;
mod clients;
mod http;
mod promql;
mod rules;
mod tsdb;
mod world;
