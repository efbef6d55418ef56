//! Serves people and programs: the HTTP API, WebSocket and SSE, who may do what, metrics, the dashboard.
//!
//! This room turns requests into calls of the engine and the store, and what happens into streams. It must never decide
//! whether a proposal may run (the gate does), never run anything, never hand out what the caller may not see, and never
//! put a secret into a log, an event or a URL. A route exists only together with the rule that says who may use it.
//!
//! Data walks: a connection (`serve`) → host, origin and limits (`http`) → who is it (`auth`) → may they (`access`) → a
//! handler (`api`) → engine or store → a form (`wire`). Events walk the other way: store → hub (`live`) → WebSocket and SSE.

#![expect(
    clippy::result_large_err,
    reason = "a problem is made once and ends its request; a box would buy nothing"
)]

mod access;
mod api;
mod app;
mod auth;
#[doc(hidden)]
pub mod fuzzing;
mod http;
mod live;
mod metrics;
mod page;
mod problem;
mod routes;
mod seats;
mod serve;
pub mod wire;

pub use access::Access;
pub use app::{App, Parts};
pub use auth::sign_in_link;
pub use metrics::{Recorded, install_metrics};
pub use problem::{Code, Problem};
pub use routes::{Rule, openapi, rules};
pub use serve::{Error, Serving, serve};
