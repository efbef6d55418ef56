//! What is connected, what there is, and what Interlock did to it.

use axum::Json;
use axum::extract::State;
use interlock_protocol::ResourceId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At};
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{ConnectionList, Resource, ResourceHistory, ResourceList, Topology};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Read, routes!(connections))
        .route(Access::Read, routes!(list))
        .route(Access::Read, routes!(topology))
        .route(Access::Read, routes!(show))
        .route(Access::Read, routes!(history))
}

/// List the connections, and whether they work.
#[utoipa::path(
    get, path = "/api/v1/connections", operation_id = "listConnections", tag = "infrastructure",
    responses(
        (status = 200, description = "The connections, by name", body = ConnectionList),
        Anybody, Signed,
    ),
)]
async fn connections(State(app): State<App>) -> Result<Json<ConnectionList>, Problem> {
    let _ = app;
    Err(super::not_yet())
}

/// Which resources.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Listing {
    /// Only this kind
    #[param(min_length = 1, max_length = 64, example = "lxc")]
    pub(crate) kind: Option<String>,
    /// Only those with this text in id, name or alias
    #[param(min_length = 1, max_length = 200)]
    pub(crate) search: Option<String>,
    /// Whether to ask every connection anew
    #[param(default = false)]
    pub(crate) refresh: Option<bool>,
}

/// List what there is.
#[utoipa::path(
    get, path = "/api/v1/resources", operation_id = "listResources", tag = "infrastructure",
    params(Listing),
    responses(
        (status = 200, description = "The resources, by id", body = ResourceList),
        Anybody, Signed,
    ),
)]
async fn list(State(app): State<App>, Asked(asked): Asked<Listing>) -> Result<Json<ResourceList>, Problem> {
    let _ = (app, asked);
    Err(super::not_yet())
}

/// Show what lives on what.
#[utoipa::path(
    get, path = "/api/v1/topology", operation_id = "getTopology", tag = "infrastructure",
    responses(
        (status = 200, description = "Nodes and edges", body = Topology),
        Anybody, Signed,
    ),
)]
async fn topology(State(app): State<App>) -> Result<Json<Topology>, Problem> {
    let _ = app;
    Err(super::not_yet())
}

/// Show a resource.
#[utoipa::path(
    get, path = "/api/v1/resources/{id}", operation_id = "getResource", tag = "infrastructure",
    params(("id" = String, Path, min_length = 1, max_length = 512, description = "The resource, with `/` written as `%2F`", example = "lxc:delly:141")),
    responses(
        (status = 200, description = "The resource", body = Resource),
        Anybody, Signed, Missing,
    ),
)]
async fn show(State(app): State<App>, At(id): At<ResourceId>) -> Result<Json<Resource>, Problem> {
    let _ = (app, id);
    Err(super::not_yet())
}

/// How many.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Most {
    /// At most this many
    #[param(minimum = 1, maximum = 200, default = 50)]
    pub(crate) limit: Option<u32>,
}

/// Show what was called on a resource.
#[utoipa::path(
    get, path = "/api/v1/resources/{id}/history", operation_id = "getResourceHistory", tag = "infrastructure",
    params(
        ("id" = String, Path, min_length = 1, max_length = 512, description = "The resource", example = "lxc:delly:141"),
        Most,
    ),
    responses(
        (status = 200, description = "The calls, newest first", body = ResourceHistory),
        Anybody, Signed, Missing,
    ),
)]
async fn history(
    State(app): State<App>,
    At(id): At<ResourceId>,
    Asked(most): Asked<Most>,
) -> Result<Json<ResourceHistory>, Problem> {
    let _ = (app, id, most);
    Err(super::not_yet())
}
