//! The effective configuration, without anything secret, and its reload.

use axum::Json;
use axum::extract::State;
use interlock_assembly::{ReloadError, Reloader, Trigger};
use serde_json::json;
use utoipa_axum::routes;

use super::answers::{Anybody, Clash, Signed, Unusable};
use crate::access::{Access, Caller, Via};
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::routes::Routes;
use crate::wire::{ConfigForm, ConfigurationState, Reloaded, ReloadedConnections};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Admin, routes!(config))
        .route(Access::Admin, routes!(reload))
}

/// Show the effective configuration.
#[utoipa::path(
    get, path = "/api/v1/config", operation_id = "getConfig", tag = "site",
    responses(
        (status = 200, description = "Every key, defaults included; nothing secret", body = ConfigForm),
        Anybody, Signed,
    ),
)]
async fn config(State(app): State<App>) -> Json<ConfigForm> {
    Json(ConfigForm {
        config: app.config().sanitised(),
        file: app.file().map(|file| file.display().to_string()),
    })
}

/// Reload the configuration.
///
/// The file is read and checked first. If anything in it cannot be used, the answer says what and where, and the configuration
/// before it stays in use, all of it.
#[utoipa::path(
    post, path = "/api/v1/reload", operation_id = "reloadConfig", tag = "site",
    responses(
        (status = 200, description = "The file is in use", body = Reloaded),
        Anybody, Signed, Clash, Unusable,
    ),
)]
async fn reload(State(app): State<App>, caller: Caller) -> Result<Json<Reloaded>, Problem> {
    let Some(reloader) = app.reloader() else {
        return Err(Problem::new(
            Code::Conflict,
            "this server has no configuration file that could be reloaded",
        )
        .hint("start it with `interlock serve`"));
    };
    let token = match &caller.via {
        Via::Cookie { .. } => None,
        Via::Token { id, .. } => Some(id.clone()),
    };
    let trigger = Trigger::Person {
        user: caller.user,
        token,
    };
    let done = reloader.reload(trigger).await.map_err(|error| refused(&error))?;
    Ok(Json(Reloaded {
        file: done.file.map(|file| file.display().to_string()),
        changed: done.changed,
        connections: ReloadedConnections {
            kept: done.connections.kept,
            made: done.connections.made,
            closed: done.connections.closed,
        },
        warnings: done.warnings,
        before: done.before.map(|hash| hash.to_string()),
        now: done.now.map(|hash| hash.to_string()),
        at: done.at,
    }))
}

fn refused(error: &ReloadError) -> Problem {
    let details = match error {
        ReloadError::Config(error) => {
            let problems = error.problems().iter().map(|problem| {
                json!({
                    "line": problem.place.map(|place| place.line),
                    "column": problem.place.map(|place| place.column),
                    "key": problem.path,
                    "message": problem.message,
                    "help": problem.help,
                })
            });
            json!({ "problems": problems.collect::<Vec<_>>() })
        }
        ReloadError::Record(_) | ReloadError::Engine(_) => {
            return Problem::new(Code::Unavailable, error.to_string());
        }
        ReloadError::Assembly(_) | ReloadError::Part(_) | ReloadError::Build(_) => json!({}),
    };
    Problem::new(Code::ConfigurationRefused, error.to_string())
        .hint("the configuration before it stays in use; correct the file and reload again")
        .details(details)
}

/// Which configuration is in use.
pub(super) fn state(app: &App, reloader: &Reloader) -> ConfigurationState {
    let standing = reloader.standing();
    let (refused_at, reason) = standing.refused.unzip();
    ConfigurationState {
        hash: standing.hash.map(|hash| hash.to_string()),
        since: standing.since,
        refused_at,
        reason: reason.map(|reason| app.masker().mask_text(&reason).into_owned()),
    }
}
