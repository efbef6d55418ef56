//! Docker engines: their containers run in machines of their own; the Engine API over HTTP.

pub mod cli;
