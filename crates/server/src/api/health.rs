//! Whether the server is up and ready. Public, so it says no more than that.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use utoipa_axum::routes;

use super::answers::{Anybody, Known};
use crate::access::Access;
use crate::app::App;
use crate::routes::Routes;
use crate::wire::{Check, Health, Up};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Public, routes!(health))
        .route(Access::Public, routes!(health_of_api))
        .route(Access::Public, routes!(ready))
        .route(Access::Public, routes!(description))
}

/// Whether the server is up.
#[utoipa::path(
    get, path = "/health", operation_id = "getHealth", tag = "health",
    responses(
        (status = 200, description = "It is", body = Up, example = json!({"status": "healthy", "version": "0.1.0"})),
        Anybody,
        (status = 503, description = "The store does not work", body = Up),
    ),
)]
async fn health(State(app): State<App>) -> (StatusCode, Json<Up>) {
    up(store(&app).await.ok)
}

/// Whether the server is up.
#[utoipa::path(
    get, path = "/api/v1/health", operation_id = "getApiHealth", tag = "health",
    responses(
        (status = 200, description = "It is", body = Up),
        Anybody, Known,
        (status = 503, description = "The store does not work", body = Up),
    ),
)]
async fn health_of_api(app: State<App>) -> (StatusCode, Json<Up>) {
    health(app).await
}

/// Whether the server takes work.
#[utoipa::path(
    get, path = "/ready", operation_id = "getReady", tag = "health",
    responses(
        (status = 200, description = "It does", body = Up),
        Anybody,
        (status = 503, description = "Not yet, or not any more", body = Up),
    ),
)]
async fn ready(State(app): State<App>) -> (StatusCode, Json<Up>) {
    let closing = app.closing().is_cancelled();
    let (status, Json(up)) = up(!closing && store(&app).await.ok && workers(&app).await.ok);
    // The configuration that is in use works, so the server stays ready.
    let refused = configuration(&app).is_some_and(|check| !check.ok);
    let warning = refused.then(|| NOT_IN_USE.to_owned());
    (status, Json(Up { warning, ..up }))
}

/// What is said where the last reload failed.
const NOT_IN_USE: &str = "the configuration file is not the configuration in use: the last reload failed";

/// Whether the file is the configuration in use, as far as a reload tried it; nothing where there is no file.
fn configuration(app: &App) -> Option<Check> {
    let standing = app.reloader()?.standing();
    let detail = match &standing.refused {
        None => "the file is in use".to_owned(),
        Some((_, reason)) => {
            let reason = app.masker().mask_text(reason).into_owned();
            format!("{NOT_IN_USE}; correct it and reload. {reason}")
        }
    };
    Some(Check {
        name: "configuration".to_owned(),
        ok: standing.refused.is_none(),
        detail,
    })
}

fn up(healthy: bool) -> (StatusCode, Json<Up>) {
    let status = if healthy {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let up = Up {
        status: if healthy { "healthy" } else { "unhealthy" }.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        warning: None,
    };
    (status, Json(up))
}

/// How old what is known of connections may be, for saying whether they work.
const NOT_OLDER: Duration = Duration::from_mins(1);
/// How long they may take to say so.
const LONGEST: Duration = Duration::from_secs(2);

/// Everything that can be looked at, for those who are signed in.
pub(super) async fn look(app: &App) -> Health {
    let mut checks = vec![store(app).await, workers(app).await, models(app)];
    let vital = checks.iter().take(2).all(|check| check.ok);
    checks.extend(configuration(app));
    match tokio::time::timeout(LONGEST, app.infra().graph(NOT_OLDER)).await {
        Ok(graph) => checks.extend(graph.health().iter().map(|health| Check {
            name: format!("connection:{}", health.connection),
            ok: health.problem.is_none(),
            detail: health.problem.as_deref().map_or_else(
                || knows(health.kind, health.resources),
                |problem| app.masker().mask_text(problem).into_owned(),
            ),
        })),
        Err(_) => checks.push(Check {
            name: "connections".to_owned(),
            ok: false,
            detail: "they take long to answer".to_owned(),
        }),
    }
    let all = checks.iter().all(|check| check.ok);
    Health {
        status: match (vital, all) {
            (true, true) => "healthy",
            (true, false) => "degraded",
            (false, _) => "unhealthy",
        }
        .to_owned(),
        checks,
    }
}

fn knows(kind: &str, resources: usize) -> String {
    match resources {
        1 => format!("{kind} knows 1 resource"),
        more => format!("{kind} knows {more} resources"),
    }
}

/// How old the result of writing to the store may be. Anybody may ask, and a write costs a sync of the disk.
const STORE_TRIED: Duration = Duration::from_secs(2);
/// The least room on the disk of the store. What is accepted with less may not fit.
const LEAST_ROOM: u64 = 1024 * 1024;

/// Whether the store can be read and written to, and has room for more.
async fn store(app: &App) -> Check {
    if let Err(error) = app.store().setting("kill_switch").await {
        tracing::error!(%error, "the store cannot be read");
        return store_check(false, "it cannot be read; the server's log says why".to_owned());
    }
    let mut known = app.store_check().lock().await;
    if let Some((at, check)) = &*known
        && at.elapsed() < STORE_TRIED
    {
        return check.clone();
    }
    let check = try_to_write(app).await;
    *known = Some((Instant::now(), check.clone()));
    check
}

fn store_check(ok: bool, detail: String) -> Check {
    Check {
        name: "store".to_owned(),
        ok,
        detail,
    }
}

async fn try_to_write(app: &App) -> Check {
    let check = store_check;
    match app.store().check_write().await {
        Ok(()) => {}
        Err(interlock_store::Error::Full { .. }) => {
            return check(
                false,
                "its disk is full: nothing new can be kept; free some space".to_owned(),
            );
        }
        Err(error) => {
            tracing::error!(%error, "the store cannot be written to");
            return check(
                false,
                "it cannot be written to; the server's log says why".to_owned(),
            );
        }
    }
    match app.store().free_bytes().await {
        Some(room) if room < LEAST_ROOM => check(
            false,
            format!("its disk is almost full: {room} bytes are left; free some space"),
        ),
        Some(_) | None => check(true, "it can be read and written to".to_owned()),
    }
}

/// Whether somebody works on what waits. A worker tells that it lives, whichever process it is in.
async fn workers(app: &App) -> Check {
    let silence = Duration::from(app.config().queue.orphan_after);
    let silence = SignedDuration::try_from(silence).unwrap_or(SignedDuration::MAX);
    let heard = app.store().last_heartbeat().await.ok().flatten();
    let age = heard.map(|heard| Timestamp::now().duration_since(heard));
    let (ok, detail) = match age {
        Some(age) if age <= silence => (true, "heard of less than a moment ago".to_owned()),
        Some(age) => (false, format!("last heard of {} s ago", age.as_secs())),
        None => (false, "none has started".to_owned()),
    };
    Check {
        name: "workers".to_owned(),
        ok,
        detail,
    }
}

fn models(app: &App) -> Check {
    let count = app.engine().settings().models.names().count();
    Check {
        name: "models".to_owned(),
        ok: count > 0,
        detail: match count {
            0 => "none is configured; add one under `models` in interlock.yaml".to_owned(),
            1 => "1 is configured".to_owned(),
            more => format!("{more} are configured"),
        },
    }
}

/// The description of this API.
#[utoipa::path(
    get, path = "/api/v1/openapi.json", operation_id = "getDescription", tag = "health",
    responses(
        (status = 200, description = "An OpenAPI 3.1 document", body = serde_json::Value),
        Anybody, Known,
    ),
)]
async fn description() -> Json<utoipa::openapi::OpenApi> {
    Json(crate::openapi())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_resource_is_one() {
        let said = [0, 1, 2].map(|count| knows("docker", count));
        let expected = [
            "docker knows 0 resources",
            "docker knows 1 resource",
            "docker knows 2 resources",
        ];
        assert_eq!(said, expected);
    }
}
