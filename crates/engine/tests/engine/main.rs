//! The engine from a question to its answer, with a scripted model, a real store and tools that really write.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on must stop"
)]

mod approvals;
mod batches;
mod budget;
mod bundles;
mod canary;
mod catalogues;
mod collision;
mod controllers;
mod crash;
mod edits;
mod faults;
mod fixture;
mod flow;
mod four_eyes;
mod gates;
mod holds;
mod masking;
mod nonsense;
mod one_record;
mod reload;
mod rows;
mod sources;
mod stops;
mod switch;
mod takeover;
mod traces;
mod workers;
mod written;
