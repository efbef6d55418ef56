//! Keeps everything: sessions, queue, events, approvals, receipts, evidence, traces.
