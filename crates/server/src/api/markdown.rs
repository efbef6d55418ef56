//! A session as a document, for a ticket or a chat.

use axum::extract::State;
use axum::response::Response;
use interlock_protocol::SessionId;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::At;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(markdown))
}

/// Show a session as a document.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/markdown", operation_id = "getMarkdown", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 200, description = "The session as Markdown", body = String, content_type = "text/markdown; charset=utf-8"),
        Anybody, Signed, Missing,
    ),
)]
async fn markdown(State(app): State<App>, At(session): At<SessionId>) -> Result<Response, Problem> {
    let _ = (app, session);
    Err(super::not_yet())
}
