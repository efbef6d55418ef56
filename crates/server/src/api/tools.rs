//! The tools, and how they have been doing.

use axum::Json;
use axum::extract::State;
use interlock_protocol::{KindRule, ToolDefinition, ToolKind};
use interlock_store::ToolUse;
use jiff::{SignedDuration, Timestamp};
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{Tool, ToolAction, ToolList};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(tools))
}

/// List the tools, and how they did in the last day.
#[utoipa::path(
    get, path = "/api/v1/tools", operation_id = "listTools", tag = "site",
    responses(
        (status = 200, description = "The tools, by name", body = ToolList),
        Anybody, Signed,
    ),
)]
async fn tools(State(app): State<App>) -> Result<Json<ToolList>, Problem> {
    let now = Timestamp::now();
    let since = now
        .checked_sub(SignedDuration::from_hours(24))
        .unwrap_or(Timestamp::UNIX_EPOCH);
    let used = app.store().tool_use(since).await?;
    let known = app.engine().tools();
    let mut tools: Vec<Tool> = known
        .catalogue()
        .tools()
        .map(|tool| {
            let definition = tool.definition();
            let used = used.iter().find(|used| used.tool == definition.name);
            form(definition, known.toolbox().has(&definition.name), used)
        })
        .collect();
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Json(ToolList { tools }))
}

fn form(definition: &ToolDefinition, available: bool, used: Option<&ToolUse>) -> Tool {
    let (kind, actions) = match &definition.kind {
        KindRule::Fixed { kind } => (*kind, Vec::new()),
        KindRule::ByAction { actions, .. } => {
            let worst = actions.values().copied().max_by_key(|kind| worse(*kind));
            let actions = actions
                .iter()
                .map(|(name, kind)| ToolAction {
                    name: name.clone(),
                    kind: (*kind).into(),
                })
                .collect();
            (worst.unwrap_or(ToolKind::Write), actions)
        }
    };
    Tool {
        name: definition.name.to_string(),
        description: definition.description.clone(),
        category: Some(definition.category.to_string()),
        kind: kind.into(),
        actions,
        parameters: definition.parameters.clone(),
        available,
        calls: used.map_or(0, |used| used.calls),
        failed: used.map_or(0, |used| used.failed),
        seconds_p50: used
            .map(|used| used.seconds_p50)
            .filter(|seconds| seconds.is_finite()),
        seconds_p95: used
            .map(|used| used.seconds_p95)
            .filter(|seconds| seconds.is_finite()),
        last_at: used.and_then(|used| used.last_at),
    }
}

const fn worse(kind: ToolKind) -> u8 {
    match kind {
        ToolKind::Resolve => 0,
        ToolKind::Read => 1,
        ToolKind::Write => 2,
    }
}
