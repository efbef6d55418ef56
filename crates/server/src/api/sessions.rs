//! Lists of sessions, and what is done to many or one of them.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use interlock_protocol::{SessionId, Status, UserId};
use interlock_store::{Cancelled, SessionPage, SessionQuery, SortBy};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::answers::{Anybody, Bodies, Clash, Missing, Signed};
use super::extract::{Asked, At, Sent, missing, moment, number, short, text, wrong};
use super::forms;
use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{
    Bulk, BulkAction, BulkResult, BulkResults, CancelResult, SessionFilters, SessionKind, SessionList,
    SessionSummary, Usage,
};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(list))
        .route(Access::Read, routes!(filters))
        .route(Access::Operate, routes!(bulk))
        .route(Access::Operate, routes!(cancel))
        .route(Access::Operate, routes!(delete))
        .route(Access::Operate, routes!(restore))
}

/// What a list is ordered by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    /// When it was submitted.
    #[default]
    CreatedAt,
    /// When something last happened.
    LastInteractionAt,
    /// Its status, by word.
    Status,
    /// Its title.
    Title,
    /// How long it took.
    Duration,
}

/// Which end comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The smallest.
    Asc,
    /// The largest.
    #[default]
    Desc,
}

/// Which sessions, in which order, which page.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// The page: 1 for the first
    #[param(minimum = 1, maximum = 1_000_000, default = 1)]
    pub(crate) page: Option<u32>,
    /// How many on a page
    #[param(minimum = 1, maximum = 100, default = 25)]
    pub(crate) page_size: Option<u32>,
    /// What they are ordered by
    #[param(inline)]
    pub(crate) sort: Option<Sort>,
    /// Which end comes first
    #[param(inline)]
    pub(crate) order: Option<Order>,
    /// Only these statuses, with commas between them
    #[param(
        pattern = "^(pending|in_progress|held|cancelling|completed|unverified|failed|cancelled|timed_out)(,(pending|in_progress|held|cancelling|completed|unverified|failed|cancelled|timed_out)){0,8}$",
        example = "held,in_progress"
    )]
    pub(crate) status: Option<String>,
    /// Only this kind
    #[param(inline)]
    pub(crate) kind: Option<SessionKind>,
    /// Only alerts of this type
    #[param(min_length = 1, max_length = 128)]
    pub(crate) alert_type: Option<String>,
    /// Only runs of this chain
    #[param(min_length = 1, max_length = 128)]
    pub(crate) chain: Option<String>,
    /// Only what this person asked for
    #[param(min_length = 1, max_length = 128)]
    pub(crate) owner: Option<String>,
    /// Only those whose title, input or answer has this text
    #[param(min_length = 1, max_length = 200)]
    pub(crate) search: Option<String>,
    /// Only those submitted at this moment or later
    #[param(format = DateTime)]
    pub(crate) from: Option<String>,
    /// Only those submitted before this moment
    #[param(format = DateTime)]
    pub(crate) to: Option<String>,
}

/// List sessions.
#[utoipa::path(
    get, path = "/api/v1/sessions", operation_id = "listSessions", tag = "sessions",
    params(Listing),
    responses(
        (status = 200, description = "A page of sessions", body = SessionList),
        Anybody, Signed,
    ),
)]
async fn list(State(app): State<App>, Asked(asked): Asked<Listing>) -> Result<Json<SessionList>, Problem> {
    let (page, page_size) = (asked.page.unwrap_or(1), asked.page_size.unwrap_or(25));
    number("page", page, 1, 1_000_000)?;
    number("page_size", page_size, 1, 100)?;
    let query = query(asked, page, page_size)?;
    let found = match query {
        Some(query) => app.store().session_page(&query).await?,
        None => SessionPage {
            sessions: Vec::new(),
            total: 0,
        },
    };
    let mut sessions: Vec<SessionSummary> = found.sessions.iter().map(forms::summary_of_listed).collect();
    let ids = found
        .sessions
        .iter()
        .map(|listed| listed.session.submitted.id.clone());
    let used = app.store().usage_of(ids.collect()).await?;
    for (session, used) in sessions.iter_mut().zip(used) {
        session.usage = Usage {
            calls: used.calls,
            input_tokens: used.input_tokens,
            output_tokens: used.output_tokens,
            cost: used.cost.filter(|cost| cost.is_finite()),
        };
    }
    Ok(Json(SessionList {
        sessions,
        page,
        page_size,
        total: found.total,
    }))
}

/// The query of a list; nothing where what it asks for cannot be.
fn query(asked: Listing, page: u32, page_size: u32) -> Result<Option<SessionQuery>, Problem> {
    for (field, value, most) in [
        ("alert_type", &asked.alert_type, 128),
        ("chain", &asked.chain, 128),
        ("owner", &asked.owner, 128),
        ("search", &asked.search, 200),
    ] {
        if let Some(value) = value {
            text(field, value, 1, most)?;
        }
    }
    // A name that nobody can have is nobody's.
    let owner = match asked.owner {
        None => None,
        Some(owner) => match UserId::new(owner) {
            Ok(owner) => Some(owner),
            Err(_) => return Ok(None),
        },
    };
    let moment = |field, text: Option<String>| text.map(|text| moment(field, &text)).transpose();
    Ok(Some(SessionQuery {
        statuses: asked
            .status
            .as_deref()
            .map(statuses)
            .transpose()?
            .unwrap_or_default(),
        kind: asked.kind.map(Into::into),
        alert_type: asked.alert_type,
        chain: asked.chain,
        owner,
        search: asked.search,
        from: moment("from", asked.from)?,
        to: moment("to", asked.to)?,
        sort: match asked.sort.unwrap_or_default() {
            Sort::CreatedAt => SortBy::CreatedAt,
            Sort::LastInteractionAt => SortBy::LastInteraction,
            Sort::Status => SortBy::Status,
            Sort::Title => SortBy::Title,
            Sort::Duration => SortBy::Duration,
        },
        ascending: asked.order == Some(Order::Asc),
        offset: u64::from(page - 1) * u64::from(page_size),
        limit: page_size,
    }))
}

fn statuses(words: &str) -> Result<Vec<Status>, Problem> {
    let mut statuses: Vec<Status> = Vec::new();
    for word in words.split(',') {
        let status = word.parse().map_err(|_| {
            let known: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
            wrong(
                "status",
                format!("`{}` is no status; there are {}", short(word), known.join(", ")),
            )
        })?;
        if !statuses.contains(&status) {
            statuses.push(status);
        }
    }
    Ok(statuses)
}

/// What a filter of the list can choose from.
#[utoipa::path(
    get, path = "/api/v1/sessions/filters", operation_id = "listSessionFilters", tag = "sessions",
    responses(
        (status = 200, description = "Types, chains, people and statuses", body = SessionFilters),
        Anybody, Signed,
    ),
)]
async fn filters(State(app): State<App>) -> Result<Json<SessionFilters>, Problem> {
    let found = app.store().filter_options().await?;
    Ok(Json(SessionFilters {
        alert_types: found.alert_types,
        chains: found.chains,
        owners: found.owners.iter().map(ToString::to_string).collect(),
        statuses: Status::ALL.iter().map(|status| (*status).into()).collect(),
    }))
}

/// Cancel or delete many sessions.
///
/// Each is told apart: what cannot be done to one does not keep it from being done to the others.
#[utoipa::path(
    post, path = "/api/v1/sessions/bulk", operation_id = "bulkSessions", tag = "sessions",
    request_body(content = Bulk, example = json!({
        "sessions": ["ses_0f1e2d3c4b5a69788796a5b4c3d2e1f0"], "action": "cancel"
    })),
    responses(
        (status = 200, description = "What came of it, for each", body = BulkResults),
        Anybody, Signed, Bodies,
    ),
)]
async fn bulk(
    State(app): State<App>,
    caller: Caller,
    Sent(bulk): Sent<Bulk>,
) -> Result<Json<BulkResults>, Problem> {
    number("sessions", bulk.sessions.len(), 1, 100)?;
    let mut results = Vec::with_capacity(bulk.sessions.len());
    for named in bulk.sessions {
        let done = match SessionId::new(named.clone()) {
            Err(_) => Err(missing("session", &named)),
            Ok(session) => match bulk.action {
                BulkAction::Cancel => stop(&app, &caller, &session).await.map(|_| ()),
                BulkAction::Delete => remove(&app, &caller, &session).await,
            },
        };
        results.push(BulkResult {
            session: named,
            error: done.err().map(|problem| problem.form().detail),
        });
    }
    Ok(Json(BulkResults { results }))
}

/// Stop a session, wherever it stands.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/cancel", operation_id = "cancelSession", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 200, description = "Where it stands now", body = CancelResult, example = json!({"result": "cancelled"})),
        Anybody, Signed, Missing,
    ),
)]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    At(session): At<SessionId>,
) -> Result<Json<CancelResult>, Problem> {
    let result = stop(&app, &caller, &session).await?;
    Ok(Json(CancelResult {
        result: match result {
            Cancelled::Now => "cancelled",
            Cancelled::Requested => "requested",
            Cancelled::Ended => "ended",
        }
        .to_owned(),
    }))
}

async fn stop(app: &App, caller: &Caller, session: &SessionId) -> Result<Cancelled, Problem> {
    super::visible(app, session).await?;
    Ok(app.engine().cancel(session, &caller.user).await?)
}

async fn remove(app: &App, caller: &Caller, session: &SessionId) -> Result<(), Problem> {
    super::visible(app, session).await?;
    app.store().soft_delete(session, Timestamp::now()).await?;
    super::note(app, caller, "session.deleted", session.as_str()).await
}

/// Delete a session that has ended.
///
/// It is gone from lists, and can be restored until retention removes it.
#[utoipa::path(
    delete, path = "/api/v1/sessions/{id}", operation_id = "deleteSession", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 204, description = "It is deleted"),
        Anybody, Signed, Missing, Clash,
    ),
)]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    At(session): At<SessionId>,
) -> Result<StatusCode, Problem> {
    remove(&app, &caller, &session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Take back the deletion of a session.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/restore", operation_id = "restoreSession", tag = "sessions",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session")),
    responses(
        (status = 204, description = "It is back"),
        Anybody, Signed, Missing,
    ),
)]
async fn restore(
    State(app): State<App>,
    caller: Caller,
    At(session): At<SessionId>,
) -> Result<StatusCode, Problem> {
    app.store().restore(&session).await?;
    super::note(&app, &caller, "session.restored", session.as_str()).await?;
    Ok(StatusCode::NO_CONTENT)
}
