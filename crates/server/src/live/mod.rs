//! What happens, as it happens: the hub, WebSocket and SSE.
//!
//! Data walks: the store's feed and the engine's pieces of text (`tail`) → one frame for each channel that somebody
//! watches (`frame`, `hub`) → a bounded queue for each reader (`mailbox`) → a WebSocket (`ws`) or a stream of events
//! (`sse`), which one gets into through `entry`. A reader that comes from behind reads the store first (`subscriber`), and
//! gets what a model has written so far of what it writes now (`so_far`). Whether it may go on reading is looked
//! at again and again (`rights`). Nothing here waits for a slow reader, and nobody is told what is not kept as if it were.

mod channel;
mod entry;
mod frame;
mod hub;
#[cfg(test)]
mod laws;
mod mailbox;
mod request;
mod rights;
mod so_far;
mod source;
mod sse;
mod subscriber;
mod tail;
mod ws;

use metrics::{Gauge, gauge};
use utoipa_axum::routes;

use crate::access::Access;
use crate::routes::Routes;

pub(crate) use channel::Channel;
pub(crate) use frame::Frame;
pub(crate) use hub::Hub;
pub(crate) use request::Request;

/// The routes of WebSocket and SSE.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(ws::open))
        .route(Access::Read, routes!(sse::sessions))
        .route(Access::Read, routes!(sse::session))
}

/// Counted as long as it is there.
struct Open(Gauge);

impl Open {
    fn new(name: &'static str) -> Self {
        let gauge = gauge!(name);
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}
