//! Finding resources: this machine, and the services it runs.

use interlock_exec::{Exit, Probe, UnitName};
use interlock_gate::{Plan, ResolvedResource, Started};
use interlock_protocol::{ErrorCode, Observation, ResourceId, ResourceKind, RunState};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{LocalHost, PROBE_TIME, arguments, facts, unit};
use crate::Done;
use crate::Failure;

/// How many resources are given back where the call does not say.
const DEFAULT_LIMIT: usize = 50;

impl LocalHost {
    pub(crate) async fn query(&self, started: &Started) -> Result<Done, Failure> {
        let plan = started.plan();
        match plan.action.as_deref() {
            Some("search" | "list") => self.search(plan).await,
            Some("topology") => {
                let services = self.services().await;
                let data = json!({"hosts": [{
                    "id": self.inner.id,
                    "name": self.inner.name,
                    "services": services.iter().map(shown).collect::<Vec<_>>(),
                }]});
                let mut all = vec![self.resource()];
                all.extend(services);
                Ok(Done::succeeded(data, "the topology of this machine").with_discovered(all))
            }
            Some("health") if arguments::text(plan, "resource_id").is_none() => {
                Ok(self.about_host(facts::health, "how this machine is doing"))
            }
            Some(action @ ("get" | "config" | "health")) => self.one(plan, action).await,
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    async fn search(&self, plan: &Plan) -> Result<Done, Failure> {
        let wanted = arguments::text(plan, "query").unwrap_or("").to_lowercase();
        let limit = arguments::count(plan, "limit").unwrap_or(DEFAULT_LIMIT);
        let known = match arguments::text(plan, "type") {
            None | Some("any") => vec![self.resource()],
            Some("service") => self.services().await,
            Some(_) => Vec::new(),
        };
        let mut found: Vec<ResolvedResource> = known
            .into_iter()
            .filter(|resource| {
                [&resource.name, &resource.id.to_string()]
                    .into_iter()
                    .chain(&resource.aliases)
                    .any(|name| name.to_lowercase().contains(&wanted))
            })
            .collect();
        let total = found.len();
        found.truncate(limit);
        let mut data = json!({
            "resources": found.iter().map(shown).collect::<Vec<_>>(),
            "total": total,
            "truncated": total > found.len(),
        });
        if total == 0 {
            data["hint"] =
                json!("Nothing here has that name. The action `list` without a query shows what there is.");
        }
        let summary = format!("found {} of {total}", found.len());
        Ok(Done::succeeded(data, summary).with_discovered(found))
    }

    async fn one(&self, plan: &Plan, action: &str) -> Result<Done, Failure> {
        let name = arguments::needed(plan, "resource_id")?;
        if self.answers_to(name) {
            return Ok(match action {
                "health" => self.about_host(facts::health, "how this machine is doing"),
                "config" => self.about_host(facts::config, "what this machine is"),
                _ => self.about_host(facts::everything, "this machine"),
            });
        }
        let taken_at = Timestamp::now();
        let Some((service, unit_name)) = self.service_named(name) else {
            return Err(nothing_named(name));
        };
        let unit = self.unit(&unit_name).await?;
        if !unit.loaded {
            return Err(nothing_named(name));
        }
        let data = facts::merged(unit.data(&unit_name), json!({"id": service}));
        let mut reading = self.reading(taken_at, data.clone(), unit.observations(&unit_name));
        reading.resource = Some(service.clone());
        let resource = ResolvedResource::new(service, unit_name.as_str()).in_state(unit.activity.as_str());
        Ok(Done::succeeded(data, "a service of this machine")
            .with_reading(reading)
            .with_discovered(vec![resource]))
    }

    fn about_host(&self, facts: fn() -> Value, summary: &str) -> Done {
        let taken_at = Timestamp::now();
        let resource = self.resource();
        let data = facts::merged(shown(&resource), facts());
        let reading = self.reading(taken_at, data.clone(), vec![running()]);
        Done::succeeded(data, summary)
            .with_reading(reading)
            .with_discovered(vec![resource])
    }

    /// How this machine is doing, as a tool of its own.
    pub(crate) fn snapshot(&self, started: &Started) -> Result<Done, Failure> {
        self.is_meant_by(started.plan())?;
        let mut done = self.about_host(facts::health, "how this machine is doing");
        // Only a resolve discovers.
        done.discovered.clear();
        Ok(done)
    }

    /// The id of a service of this machine, if a name is one.
    pub(crate) fn service_named(&self, name: &str) -> Option<(ResourceId, UnitName)> {
        let id: ResourceId = name.parse().ok()?;
        let ours = id.kind() == ResourceKind::Service && id.host() == Some(self.inner.id.uid());
        let unit = UnitName::new(id.uid()).ok()?;
        ours.then_some((id, unit))
    }

    /// The services of this machine; none where systemd does not run it.
    pub(crate) async fn services(&self) -> Vec<ResolvedResource> {
        if unit::require_systemd().is_err() {
            return Vec::new();
        }
        let output = self
            .inner
            .runner
            .probe(
                &Probe::Services,
                self.limits(PROBE_TIME),
                &CancellationToken::new(),
            )
            .await;
        match output {
            Ok(output) if output.exit == Exit::Code(0) => unit::services(&output.stdout.text())
                .into_iter()
                .filter_map(|(name, state)| {
                    let id = ResourceId::hosted(ResourceKind::Service, self.inner.id.uid(), &name).ok()?;
                    Some(ResolvedResource::new(id, name).in_state(state))
                })
                .collect(),
            Ok(_) => Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "the services of this machine cannot be listed");
                Vec::new()
            }
        }
    }
}

/// It runs: else nobody would be asked.
pub(super) fn running() -> Observation {
    Observation::Guest {
        state: RunState::Running,
        started_at: facts::booted_at(),
        run: facts::run(),
    }
}

fn nothing_named(name: &str) -> Failure {
    Failure::new(ErrorCode::NotFound, format!("there is no `{name}` here")).detail("resource_id", name)
}

fn shown(resource: &ResolvedResource) -> Value {
    json!({
        "id": resource.id,
        "kind": resource.id.kind(),
        "name": resource.name,
        "aliases": resource.aliases,
        "state": resource.state,
    })
}
