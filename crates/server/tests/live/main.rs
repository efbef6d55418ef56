//! What happens reaches everybody who watches: over real sockets, from a real store.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "a test that cannot go on must stop; tables have many columns"
)]

mod metrics;
mod rights;
mod site;
mod sse;
mod streams;
mod ws;
