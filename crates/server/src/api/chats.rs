//! Questions of people, and their follow-up questions.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use interlock_engine::{Overrides, Submission};
use interlock_protocol::SessionId;
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Clash, Missing, Signed};
use super::extract::{At, Sent, text};
use crate::access::{Access, Caller, Via};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Accepted, NewChat, NewMessage};

/// The longest question, in characters.
const LONGEST: usize = 100_000;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Operate, routes!(ask))
        .route(Access::Operate, routes!(ask_again))
}

/// Ask a question.
///
/// It becomes a session of its own; what happens in it is streamed under `/ws` and `/sessions/{id}/stream`.
#[utoipa::path(
    post, path = "/api/v1/chats", operation_id = "askQuestion", tag = "chats",
    request_body(content = NewChat, example = json!({"message": "why is @web-1 slow?"})),
    responses(
        (status = 202, description = "It waits for a worker", body = Accepted),
        Anybody, Signed, Bodies,
    ),
)]
async fn ask(
    State(app): State<App>,
    caller: Caller,
    Sent(chat): Sent<NewChat>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    text("message", &chat.message, 1, LONGEST)?;
    if let Some(model) = &chat.model {
        text("model", model, 1, 128)?;
    }
    let channel = match caller.via {
        Via::Cookie { .. } => "web",
        Via::Token { .. } => "api",
    };
    let submission = Submission {
        channel: channel.to_owned(),
        owner: Some(caller.user),
        overrides: Overrides {
            model: chat.model,
            ..Overrides::default()
        },
        ..Submission::question(chat.message)
    };
    super::alerts::not_empty("message", &submission.input)?;
    let session = app.engine().submit(submission).await?;
    Ok((StatusCode::ACCEPTED, Json(super::accepted(&session))))
}

/// Ask a follow-up question.
///
/// With `model`, that model answers this question and those after it.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/messages", operation_id = "askAgain", tag = "chats",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    request_body(content = NewMessage, example = json!({"message": "and since when?"})),
    responses(
        (status = 202, description = "It waits for a worker", body = Accepted),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn ask_again(
    State(app): State<App>,
    caller: Caller,
    At(session): At<SessionId>,
    Sent(message): Sent<NewMessage>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let NewMessage { message, model } = message;
    text("message", &message, 1, LONGEST)?;
    super::alerts::not_empty("message", &message)?;
    if let Some(model) = &model {
        text("model", model, 1, 128)?;
    }
    super::visible(&app, &session).await?;
    let (engine, by) = (app.engine(), &caller.user);
    match model {
        Some(model) => engine.ask_another(&session, by, &message, &model).await?,
        None => engine.ask_again(&session, by, &message).await?,
    }
    Ok((StatusCode::ACCEPTED, Json(super::accepted(&session))))
}
