//! The models, and what they cost.

use axum::Json;
use axum::extract::State;
use interlock_mask::Masker;
use interlock_model::Kind;
use interlock_store::{ModelHealth, UsageBy};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use super::extract::{Asked, moment};
use super::forms::cut;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Model, ModelFailure, ModelList, UsageReport, UsageRow};

/// The longest sentence about a failure, in characters.
const MESSAGE: usize = 300;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(models))
        .route(Access::Read, routes!(usage))
}

/// List the models, and how they did in the last 30 days.
#[utoipa::path(
    get, path = "/api/v1/models", operation_id = "listModels", tag = "site",
    responses(
        (status = 200, description = "The models, by name", body = ModelList),
        Anybody, Signed,
    ),
)]
async fn models(State(app): State<App>) -> Result<Json<ModelList>, Problem> {
    let now = Timestamp::now();
    let used = app.store().usage(before(now), now, UsageBy::Model).await?;
    let setup = app.engine().settings();
    let known: Vec<String> = setup.models.names().map(str::to_owned).collect();
    let health = app.store().model_health(known, before(now)).await?;
    let names: Vec<&str> = setup.models.names().collect();
    let default = setup.defaults.model.as_deref().or(match names.as_slice() {
        [only] => Some(*only),
        _ => None,
    });
    let mut models = Vec::new();
    for name in &names {
        let Ok(options) = setup.models.options(name) else {
            continue;
        };
        let used = used.iter().find(|row| row.group == *name);
        let health = health.iter().find(|health| health.name == *name);
        models.push(Model {
            name: (*name).to_owned(),
            provider: options.provider.as_str().to_owned(),
            model: options.model.clone(),
            default: default == Some(*name),
            calls: used.map_or(0, |used| used.calls),
            failed: used.map_or(0, |used| used.failed),
            input_tokens: used.map_or(0, |used| used.input_tokens),
            output_tokens: used.map_or(0, |used| used.output_tokens),
            cost: used.and_then(|used| used.cost).filter(|cost| cost.is_finite()),
            seconds_p50: used
                .map(|used| used.seconds_p50)
                .filter(|seconds| seconds.is_finite()),
            seconds_p95: used
                .map(|used| used.seconds_p95)
                .filter(|seconds| seconds.is_finite()),
            last_success_at: health.and_then(|health| health.last_success_at),
            last_failure: health.and_then(|health| failure(health, &setup.masker)),
        });
    }
    Ok(Json(ModelList { models }))
}

/// How a model last failed. A kind that this version does not know is left out.
fn failure(health: &ModelHealth, masker: &Masker) -> Option<ModelFailure> {
    let (at, error) = health.last_failure.as_ref()?;
    let kind: Kind = serde_json::from_value(error.get("kind")?.clone()).ok()?;
    let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
    Some(ModelFailure {
        at: *at,
        kind: kind.into(),
        message: cut(&masker.mask_text(message), MESSAGE),
    })
}

/// What usage is grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupBy {
    /// The day, in UTC.
    #[default]
    Day,
    /// The model.
    Model,
    /// The type of the alert.
    AlertType,
}

/// From when to when, by what.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Period {
    /// From; left out, 30 days before `to`
    #[param(format = DateTime)]
    pub(crate) from: Option<String>,
    /// Until; left out, now
    #[param(format = DateTime)]
    pub(crate) to: Option<String>,
    /// Grouped by
    #[param(inline)]
    pub(crate) group_by: Option<GroupBy>,
}

/// What models cost over a time.
#[utoipa::path(
    get, path = "/api/v1/usage", operation_id = "getUsage", tag = "site",
    params(Period),
    responses(
        (status = 200, description = "Calls, tokens and cost", body = UsageReport),
        Anybody, Signed,
    ),
)]
async fn usage(State(app): State<App>, Asked(period): Asked<Period>) -> Result<Json<UsageReport>, Problem> {
    let to = match &period.to {
        Some(to) => moment("to", to)?,
        None => Timestamp::now(),
    };
    let from = match &period.from {
        Some(from) => moment("from", from)?,
        None => before(to),
    };
    let by = match period.group_by.unwrap_or_default() {
        GroupBy::Day => UsageBy::Day,
        GroupBy::Model => UsageBy::Model,
        GroupBy::AlertType => UsageBy::AlertType,
    };
    let rows = app.store().usage(from, to, by).await?;
    Ok(Json(UsageReport {
        rows: rows
            .into_iter()
            .map(|row| UsageRow {
                group: row.group,
                calls: row.calls,
                failed: row.failed,
                sessions: row.sessions,
                input_tokens: row.input_tokens,
                output_tokens: row.output_tokens,
                cost: row.cost.filter(|cost| cost.is_finite()),
            })
            .collect(),
        from,
        to,
    }))
}

/// 30 days before a moment.
fn before(moment: Timestamp) -> Timestamp {
    moment
        .checked_sub(SignedDuration::from_hours(30 * 24))
        .unwrap_or(Timestamp::UNIX_EPOCH)
}
