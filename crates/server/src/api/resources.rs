//! What is connected, what there is, and what Interlock did to it.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use interlock_infra::Resource as Known;
use interlock_mask::Masker;
use interlock_protocol::{ResourceId, SandboxWall};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At, missing, number, text};
use super::forms;
use crate::access::Access;
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::{
    Connection, ConnectionList, ReadSandbox, Resource, ResourceCall, ResourceHistory, ResourceList, Topology,
    TopologyEdge, TopologyNode,
};

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
async fn connections(State(app): State<App>) -> Json<ConnectionList> {
    let graph = app.infra().graph(NOT_OLDER).await;
    let mut connections: Vec<Connection> = graph
        .health()
        .iter()
        .map(|health| Connection {
            name: health.connection.clone(),
            kind: health.kind.to_owned(),
            ok: health.problem.is_none(),
            problem: health
                .problem
                .as_deref()
                .map(|problem| app.masker().mask_text(problem).into_owned()),
            resources: health.resources as u64,
        })
        .collect();
    connections.sort_by(|one, other| one.name.cmp(&other.name));
    Json(ConnectionList {
        connections,
        taken_at: graph.taken_at().unwrap_or_else(Timestamp::now),
    })
}

/// How old what is shown may be, unless a refresh is asked for.
pub(super) const NOT_OLDER: Duration = Duration::from_secs(30);

/// A resource as it is shown. What a connection reports about it may hold secrets.
fn form(masker: &Masker, resource: &Known) -> Resource {
    let clean = |text: &String| masker.mask_text(text).into_owned();
    let mut facts = serde_json::Value::Object(resource.facts.clone());
    masker.mask_value(&mut facts);
    Resource {
        id: resource.id.to_string(),
        kind: resource.id.kind().as_str().to_owned(),
        name: clean(&resource.name),
        aliases: resource.aliases.iter().map(clean).collect(),
        parent: resource.parent.as_ref().map(ToString::to_string),
        state: resource.state.as_ref().map(clean),
        source: resource.source.clone(),
        facts,
        read_sandbox: None,
    }
}

fn sandbox(wall: &SandboxWall) -> ReadSandbox {
    let by = match wall {
        SandboxWall::Enforced { by, .. } => Some(by.as_str().to_owned()),
        SandboxWall::None { .. } => None,
    };
    ReadSandbox {
        enforced: wall.is_enforced(),
        by,
        phrase: wall.phrase(),
    }
}

/// Whether a text is in a resource's id, name or aliases, whatever the case of its letters.
fn has(resource: &Known, lower: &str) -> bool {
    let id = resource.id.to_string();
    [id.as_str(), &resource.name]
        .into_iter()
        .chain(resource.aliases.iter().map(String::as_str))
        .any(|name| name.to_lowercase().contains(lower))
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
    /// Whether to ask every connection now, instead of showing the last result
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
    if let Some(kind) = &asked.kind {
        text("kind", kind, 1, 64)?;
    }
    if let Some(search) = &asked.search {
        text("search", search, 1, 200)?;
    }
    let age = if asked.refresh == Some(true) {
        Duration::ZERO
    } else {
        NOT_OLDER
    };
    let graph = app.infra().graph(age).await;
    let search = asked.search.as_deref().map(str::to_lowercase);
    let fits = |resource: &&Known| {
        let kind = asked.kind.as_deref();
        kind.is_none_or(|kind| resource.id.kind().as_str() == kind)
            && search.as_deref().is_none_or(|search| has(resource, search))
    };
    let shown = graph.resources().iter().filter(fits);
    let masker = app.masker();
    Ok(Json(ResourceList {
        resources: shown.map(|resource| form(&masker, resource)).collect(),
        taken_at: graph.taken_at().unwrap_or_else(Timestamp::now),
    }))
}

/// Show what lives on what.
#[utoipa::path(
    get, path = "/api/v1/topology", operation_id = "getTopology", tag = "infrastructure",
    responses(
        (status = 200, description = "Nodes and edges", body = Topology),
        Anybody, Signed,
    ),
)]
async fn topology(State(app): State<App>) -> Json<Topology> {
    let graph = app.infra().graph(NOT_OLDER).await;
    let clean = |text: &String| app.masker().mask_text(text).into_owned();
    let nodes = graph
        .resources()
        .iter()
        .map(|resource| TopologyNode {
            id: resource.id.to_string(),
            kind: resource.id.kind().as_str().to_owned(),
            name: clean(&resource.name),
            state: resource.state.as_ref().map(clean),
        })
        .collect();
    let edges = graph
        .resources()
        .iter()
        .filter_map(|resource| {
            // What lives on something that nobody knows hangs on nothing.
            let parent = graph.get(resource.parent.as_ref()?)?;
            Some(TopologyEdge {
                parent: parent.id.to_string(),
                child: resource.id.to_string(),
            })
        })
        .collect();
    Json(Topology { nodes, edges })
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
    let graph = app.infra().graph(NOT_OLDER).await;
    let resource = graph.get(&id).ok_or_else(|| missing("resource", &id))?;
    let mut shown = form(&app.masker(), resource);
    shown.read_sandbox = app.infra().known_sandbox(&id).as_ref().map(sandbox);
    Ok(Json(shown))
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
    let limit = number("limit", most.limit.unwrap_or(50), 1, 200)?;
    let calls = app.store().calls_on(&id, limit).await?;
    // What is not there any more may have a history; what never was has none.
    if calls.is_empty() && app.infra().graph(NOT_OLDER).await.get(&id).is_none() {
        return Err(missing("resource", &id));
    }
    Ok(Json(ResourceHistory {
        calls: calls
            .iter()
            .map(|(session, call)| ResourceCall {
                session: session.to_string(),
                action: forms::action(call),
            })
            .collect(),
    }))
}
