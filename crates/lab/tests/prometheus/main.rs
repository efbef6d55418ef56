//! The lab's Prometheus and Alertmanager: the language, the rules, the wire formats, and somebody else's clients.

mod alertmanager;
mod any_text;
mod clients;
mod http;
mod promql;
mod rules;
mod tsdb;
mod world;
