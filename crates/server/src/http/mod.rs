//! What every request passes before anything looks at it: who it really comes from, host, origin, limits, headers.
//!
//! Nothing here knows who is signed in. Every answer leaves with the headers that keep a browser safe, and every error
//! leaves as a problem that says what to do.

mod front;
mod headers;
mod limits;
mod linger;
mod secrets;
mod site;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use interlock_config::ServerLimits;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

pub(crate) use front::{changes, is_upgrade};
pub(crate) use headers::{Styles, policy};
pub(crate) use limits::{Limits, network};
pub(crate) use site::{Peer, Site};

use crate::app::App;
use crate::problem::{Code, Problem};

/// Everything that is served, with everything that a request passes on the way.
pub(crate) fn service(app: &App, site: &Arc<Site>, limits: &ServerLimits) -> Router {
    let (routes, _, _) = crate::routes::all().split();
    let bytes = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let room = front::BodyRoom {
        alerts: bytes(limits.alert_bytes),
        others: bytes(limits.body_bytes),
    };
    routes
        .fallback(crate::page::serve)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app.clone())
        .layer(from_fn_with_state(app.clone(), crate::auth::identify))
        .layer(from_fn_with_state(room, front::body_room))
        .layer(from_fn_with_state(limits.request_timeout.get(), front::in_time))
        .layer(from_fn(secrets::mark))
        .layer(from_fn_with_state(app.clone(), front::problems))
        .layer(from_fn(front::nothing_hidden))
        .layer(CompressionLayer::new().compress_when(secrets::may_compress as secrets::MayCompress))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(crate::metrics::count_requests))
        .layer(from_fn_with_state(site.clone(), front::front))
        .layer(from_fn(linger::linger))
}

async fn method_not_allowed(method: http::Method) -> Problem {
    Problem::new(
        Code::MethodNotAllowed,
        format!("this route does not take {method}"),
    )
    .hint("the description of the API, /api/v1/openapi.json, says what it takes")
}

#[expect(clippy::needless_pass_by_value, reason = "the form that the layer asks for")]
fn panicked(payload: Box<dyn std::any::Any + Send>) -> Response {
    let said = payload
        .downcast_ref::<&'static str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    tracing::error!(said, "a handler panicked");
    Problem::new(Code::Internal, "something went wrong that should not have")
        .hint("the server's log says what, under the id in `x-request-id`")
        .into_response()
}
