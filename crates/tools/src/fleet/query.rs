//! Finding resources in the graph.

use std::collections::BTreeMap;
use std::time::Duration;

use interlock_gate::{Plan, ResolvedResource, Started};
use interlock_infra::{Graph, Resource};
use interlock_protocol::{ResourceId, ResourceKind};
use serde_json::{Value, json};

use super::{Fleet, resolved};
use crate::Failure;
use crate::local::arguments;
use crate::options::count;
use crate::{Done, LocalHost};

/// How many resources are given back where the call does not say.
const DEFAULT_LIMIT: usize = 50;
/// How many of those that are found become known to the session: it holds some hundreds.
const MOST_DISCOVERED: usize = 300;
/// How old the graph may be that a list is made of.
const LISTS_FOR: Duration = Duration::from_secs(2);
/// States in which nothing is wrong.
const GOOD: [&str; 14] = [
    "running",
    "online",
    "available",
    "quorate",
    "active",
    "ready",
    "healthy",
    "ok",
    "up",
    "stopped",
    "succeeded",
    "resolved",
    "exited",
    "enabled",
];

impl Fleet {
    pub(super) async fn query(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        let everything = arguments::text(plan, "resource_id").is_none();
        if let (Some(local), Some("topology" | "health"), true) =
            (self.only_local(), plan.action.as_deref(), everything)
        {
            // It says more about itself than a graph of one could.
            return local.query(started).await;
        }
        match plan.action.as_deref() {
            Some("search" | "list") => self.search(plan).await,
            Some("topology") => Ok(self.topology().await),
            Some("health") if arguments::text(plan, "resource_id").is_none() => Ok(self.health().await),
            Some(action @ ("get" | "config" | "health")) => self.one(started, action).await,
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    /// This machine, where nothing else is connected.
    fn only_local(&self) -> Option<&LocalHost> {
        let infra = &self.inner.infra;
        let alone = infra.proxmox().is_empty()
            && infra.hosts().is_empty()
            && infra.docker().is_empty()
            && infra.kubernetes().is_empty()
            && infra.mail_gateways().is_empty()
            && infra.alertmanagers().is_empty();
        self.inner.local.as_ref().filter(|_| alone)
    }

    async fn search(&self, plan: &Plan) -> Result<Done, Failure> {
        let wanted = arguments::text(plan, "query").unwrap_or("").to_lowercase();
        let limit = arguments::count(plan, "limit").unwrap_or(DEFAULT_LIMIT);
        let kind =
            match arguments::text(plan, "type") {
                None | Some("any") => None,
                Some(word) => Some(word.parse::<ResourceKind>().map_err(|error| {
                    Failure::invalid(format!("`type` is none that resources have: {error}"))
                })?),
            };
        let graph = self.inner.infra.graph(LISTS_FOR).await;
        let services = match (&self.inner.local, kind) {
            (Some(local), Some(ResourceKind::Service)) => local.services().await,
            _ => Vec::new(),
        };
        let mut found: Vec<(Value, ResolvedResource)> = services
            .into_iter()
            .filter(|service| service.name.to_lowercase().contains(&wanted))
            .map(|service| {
                let shown = json!({"id": service.id, "kind": "service", "name": service.name,
                                   "state": service.state});
                (shown, service)
            })
            .collect();
        let mut known: Vec<&Resource> = graph
            .resources()
            .iter()
            .filter(|resource| kind.is_none_or(|kind| resource.id.kind() == kind))
            .filter(|resource| matches(resource, &wanted))
            .collect();
        // What goes by that very name comes first; the rest stays by id.
        known.sort_by_key(|resource| !resource.name.eq_ignore_ascii_case(&wanted));
        found.extend(
            known
                .into_iter()
                .map(|resource| (shown(resource), resolved(resource))),
        );
        let total = found.len();
        found.truncate(limit);
        let (rows, discovered): (Vec<Value>, Vec<ResolvedResource>) = found.into_iter().unzip();
        let mut data = json!({"resources": rows, "total": total, "truncated": total > rows.len()});
        add_problems(&mut data, &graph);
        if total == 0 {
            data["hint"] =
                json!("Nothing here has that name. The action `list` without a query shows what there is.");
        }
        let summary = format!("found {} of {total}", rows.len());
        Ok(Done::succeeded(data, summary).with_discovered(discovered))
    }

    /// What lives on what.
    async fn topology(&self) -> Done {
        let graph = self.inner.infra.graph(LISTS_FOR).await;
        let mut room = count(self.inner.options.entries);
        let roots: Vec<Value> = graph
            .resources()
            .iter()
            .filter(|resource| {
                resource
                    .parent
                    .as_ref()
                    .is_none_or(|parent| graph.get(parent).is_none())
            })
            .filter_map(|resource| branch(&graph, resource, &mut room, 0))
            .collect();
        let mut data = json!({
            "roots": roots,
            "total": graph.resources().len(),
            "truncated": room == 0,
        });
        add_problems(&mut data, &graph);
        let discovered = graph
            .resources()
            .iter()
            .take(MOST_DISCOVERED)
            .map(resolved)
            .collect();
        Done::succeeded(data, "what lives on what").with_discovered(discovered)
    }

    /// How connections do, what there is, and what is not as it should be.
    async fn health(&self) -> Done {
        let graph = self.inner.infra.graph(LISTS_FOR).await;
        let mut counts: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
        for resource in graph.resources() {
            let states = counts.entry(resource.id.kind().as_str()).or_default();
            let state = resource.state.clone().unwrap_or_else(|| "unknown".to_owned());
            *states.entry(state).or_default() += 1;
        }
        let attention: Vec<&Resource> = graph
            .resources()
            .iter()
            .filter(|resource| needs_attention(resource))
            .take(count(self.inner.options.entries))
            .collect();
        let data = json!({
            "connections": graph.health(),
            "resources": counts,
            "attention": attention.iter().map(|resource| shown(resource)).collect::<Vec<_>>(),
        });
        let mut discovered: Vec<ResolvedResource> = attention
            .into_iter()
            .take(MOST_DISCOVERED)
            .map(resolved)
            .collect();
        discovered.extend(self.inner.local.as_ref().map(LocalHost::resource));
        Done::succeeded(data, "how everything is doing").with_discovered(discovered)
    }
}

fn matches(resource: &Resource, wanted: &str) -> bool {
    [&resource.name, &resource.id.to_string()]
        .into_iter()
        .chain(&resource.aliases)
        .any(|name| name.to_lowercase().contains(wanted))
}

fn needs_attention(resource: &Resource) -> bool {
    let bad_state = resource.state.as_deref().is_some_and(|state| {
        let state = state.to_lowercase();
        !GOOD.contains(&state.as_str())
    });
    bad_state || resource.facts.contains_key("stale_since")
}

/// A resource with everything on it, as long as there is room.
fn branch(graph: &Graph, resource: &Resource, room: &mut usize, depth: usize) -> Option<Value> {
    const DEEPEST: usize = 8;
    *room = room.checked_sub(1)?;
    let mut shown = json!({"id": resource.id, "name": resource.name, "state": resource.state});
    if depth < DEEPEST {
        let children: Vec<Value> = graph
            .children(&resource.id)
            .filter_map(|child| branch(graph, child, room, depth + 1))
            .collect();
        if !children.is_empty() {
            shown["children"] = children.into();
        }
    }
    Some(shown)
}

/// Says which connections do not answer: what they know may be old or missing.
fn add_problems(data: &mut Value, graph: &Graph) {
    let problems: Vec<Value> = graph
        .health()
        .iter()
        .filter_map(|health| {
            let problem = health.problem.as_ref()?;
            Some(json!({"connection": health.connection, "kind": health.kind, "problem": problem}))
        })
        .collect();
    if !problems.is_empty() {
        data["unreachable_connections"] = problems.into();
    }
}

/// A resource as results show it.
pub(super) fn shown(resource: &Resource) -> Value {
    let mut shown = json!({
        "id": resource.id,
        "kind": resource.id.kind(),
        "name": resource.name,
        "aliases": resource.aliases,
        "state": resource.state,
        "source": resource.source,
    });
    if let Some(parent) = &resource.parent {
        shown["parent"] = parent.to_string().into();
    }
    if !resource.facts.is_empty() {
        shown["facts"] = Value::Object(resource.facts.clone());
    }
    shown
}

/// The id that a text is, whether or not something has it.
pub(super) fn id_of(text: &str) -> Option<ResourceId> {
    text.parse().ok()
}
