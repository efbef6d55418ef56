//! What the gate answered, over all sessions.

use axum::Json;
use axum::extract::State;
use interlock_protocol::SessionId;
use interlock_store::DecisionFilter;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use super::extract::{Asked, MOST_PLACE, number, text};
use super::forms;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::DecisionPage;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(list))
}

/// What the gate can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::enum_variant_names, reason = "the API's word is `answer_allowed`")]
pub(crate) enum Answer {
    /// A call may run.
    Allowed,
    /// An answer may go out.
    AnswerAllowed,
    /// A human must see it.
    Held,
    /// No.
    Refused,
}

impl Answer {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::AnswerAllowed => "answer_allowed",
            Self::Held => "held",
            Self::Refused => "refused",
        }
    }
}

/// Which decisions.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// Only this session's
    #[param(min_length = 1, max_length = 128)]
    pub(crate) session: Option<String>,
    /// Only these answers
    #[param(inline)]
    pub(crate) answer: Option<Answer>,
    /// Only refusals with this code
    #[param(min_length = 1, max_length = 64, example = "ACTION_NOT_ALLOWED")]
    pub(crate) code: Option<String>,
    /// Only before this place: `next` of the page before
    #[param(minimum = 1, maximum = 9_007_199_254_740_991_u64)]
    pub(crate) before: Option<u64>,
    /// At most this many
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
}

const fn nothing() -> DecisionPage {
    DecisionPage {
        decisions: Vec::new(),
        next: None,
    }
}

/// List what the gate answered.
#[utoipa::path(
    get, path = "/api/v1/decisions", operation_id = "listDecisions", tag = "record",
    params(Listing),
    responses(
        (status = 200, description = "Decisions, newest first", body = DecisionPage),
        Anybody, Signed,
    ),
)]
async fn list(State(app): State<App>, Asked(asked): Asked<Listing>) -> Result<Json<DecisionPage>, Problem> {
    let limit = number("limit", asked.limit.unwrap_or(50), 1, 200)?;
    if let Some(before) = asked.before {
        number("before", before, 1, MOST_PLACE)?;
    }
    if let Some(code) = &asked.code {
        text("code", code, 1, 64)?;
    }
    let session = match &asked.session {
        None => None,
        Some(session) => match SessionId::new(text("session", session, 1, 128)?) {
            Ok(session) => Some(session),
            // What is no id names nothing.
            Err(_) => return Ok(Json(nothing())),
        },
    };
    let filter = DecisionFilter {
        session,
        answer: asked.answer.map(|answer| answer.as_str().to_owned()),
        code: asked.code,
        call: None,
        before: asked.before,
        limit: limit + 1,
    };
    let mut found = match app.store().decisions(&filter).await {
        Err(interlock_store::Error::NotFound { .. }) => return Ok(Json(nothing())),
        found => found?,
    };
    let more = found.len() > limit as usize;
    found.truncate(limit as usize);
    Ok(Json(DecisionPage {
        next: more.then(|| found.last().map(|row| row.position)).flatten(),
        decisions: found.into_iter().map(forms::decision).collect(),
    }))
}
