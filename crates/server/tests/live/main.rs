//! What happens reaches everybody who watches: over real sockets, from a real store.

mod metrics;
mod rights;
mod site;
mod sse;
mod ws;
