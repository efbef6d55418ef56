//! Keeps everything: sessions, queue, events, approvals, receipts, evidence, traces.

mod record;

pub use record::*;
