//! The effective configuration, without anything secret.

use axum::Json;
use axum::extract::State;
use utoipa_axum::routes;

use super::answers::{Anybody, Signed};
use crate::access::Access;
use crate::app::App;
use crate::routes::Routes;
use crate::wire::ConfigForm;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Admin, routes!(config))
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
        file: app.parts().file.as_ref().map(|file| file.display().to_string()),
    })
}
