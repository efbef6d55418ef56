//! Docker hosts and their containers.

use std::time::Duration;

use interlock_gate::{Plan, Started};
use interlock_infra::docker::{Docker, ImageRef, LogQuery};
use interlock_protocol::{MOST_TAKEN, Observation, ResourceId, ResourceKind};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::reach::reading;
use crate::Failure;
use crate::local::arguments;
use crate::options::count;
use crate::{Done, Reading};

/// How old the graph may be in which a name is looked up.
const NAMES_FOR: Duration = Duration::from_secs(30);

/// What a call is about.
enum About {
    /// Every host.
    All,
    /// One host.
    Host(Docker),
    /// One container.
    Container(Docker, ResourceId),
}

impl Fleet {
    pub(super) async fn docker(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        if self.inner.infra.docker().is_empty() {
            return Err(Failure::failed(
                "no Docker host is connected; they are configured under `infrastructure.docker`",
            ));
        }
        let about = self.docker_meant(plan).await?;
        match plan.action.as_deref() {
            Some("list") => self.docker_list(&about).await,
            Some("inspect") => {
                let (docker, id) = container(about)?;
                self.docker_inspect(&docker, &id).await
            }
            Some("logs") => {
                let (docker, id) = container(about)?;
                self.docker_logs(plan, &docker, &id).await
            }
            Some(action @ ("services" | "tasks" | "swarm" | "images")) => {
                self.docker_hosts(&about, action).await
            }
            Some("check_updates") => docker_check(started, &about).await,
            Some(action) => {
                let (_, id) = container(about)?;
                self.container_change(started, &id, action, cancel).await
            }
            None => Err(Failure::missing("action")),
        }
    }

    /// Changes a container: start, stop, restart, delete, control, update, `trigger_update`.
    pub(super) async fn container_change(
        &self,
        started: &Started,
        id: &ResourceId,
        action: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let docker = self.docker_of(id)?;
        let name = id.uid();
        let operation = match action {
            "control" => arguments::needed(plan, "operation")?,
            // A container ends by being told to, whatever it is called.
            "shutdown" => "stop",
            other => other,
        };
        let mut data = json!({"resource_id": id, "operation": operation});
        match operation {
            "start" => docker.start(started, name).await?,
            "stop" => docker.stop(started, name).await?,
            "restart" => docker.restart(started, name).await?,
            "delete" => docker.remove(started, name).await?,
            "update" | "trigger_update" => {
                let image: ImageRef = match operation {
                    "update" => arguments::needed(plan, "image")?.parse()?,
                    // The same name again: what is under it now.
                    _ => docker.inspect(name).await?.image.parse()?,
                };
                let made = docker.update(started, name, &image, cancel).await?;
                data["recreated"] = json!(made);
            }
            _ => return Err(Failure::invalid("`action` is none that this tool has")),
        }
        let done = Done::succeeded(data, format!("the engine took the {operation} of a container"));
        // For people: only a later, separate reading verifies.
        Ok(match self.observe_container(id).await {
            Some(reading) => done.with_reading(reading),
            None => done,
        })
    }

    /// What a container is doing, by our own question. Nothing where its engine cannot be asked.
    pub(super) async fn observe_container(&self, id: &ResourceId) -> Option<Reading> {
        let docker = self.inner.infra.docker_of(id)?;
        let taken_at = Timestamp::now();
        match docker.inspect(id.uid()).await {
            Ok(found) => {
                let observed = docker.observe(&found).await;
                Some(reading(id, taken_at, json!(found), vec![observed]))
            }
            Err(interlock_infra::Error::NotFound { .. }) => Some(Reading {
                resource: Some(id.clone()),
                taken_at,
                data: json!({"exists": false}),
                observations: vec![Observation::Absent],
                walls: None,
            }),
            Err(_) => None,
        }
    }

    fn docker_of(&self, id: &ResourceId) -> Result<&Docker, Failure> {
        self.inner
            .infra
            .docker_of(id)
            .ok_or_else(|| Failure::failed(format!("no Docker host that is connected has `{id}`")))
    }

    /// What a call is about: its target, or what its arguments name.
    async fn docker_meant(&self, plan: &Plan) -> Result<About, Failure> {
        if let Some(target) = &plan.target {
            return self.docker_about(&target.id);
        }
        let text = |name: &str| arguments::text(plan, name).filter(|text| !text.is_empty());
        if let Some(name) = text("resource_id") {
            let id = match name.parse() {
                Ok(id) => id,
                Err(_) => self.named(name).await?,
            };
            return self.docker_about(&id);
        }
        let host = match text("host") {
            Some(name) => Some(self.docker_host_named(name)?),
            None => None,
        };
        match (text("container"), host) {
            (Some(name), host) => self.docker_container_named(name, host).await,
            (None, Some(host)) => Ok(About::Host(host)),
            (None, None) => Ok(About::All),
        }
    }

    fn docker_about(&self, id: &ResourceId) -> Result<About, Failure> {
        match id.kind() {
            ResourceKind::DockerContainer => Ok(About::Container(self.docker_of(id)?.clone(), id.clone())),
            ResourceKind::DockerHost => Ok(About::Host(self.docker_of(id)?.clone())),
            _ => self
                .inner
                .infra
                .docker()
                .iter()
                .find(|docker| docker.runs_on() == Some(id))
                .map(|docker| About::Host(docker.clone()))
                .ok_or_else(|| {
                    Failure::invalid(format!("`{id}` is neither a container nor a Docker host"))
                        .detail("resource_id", id.to_string())
                }),
        }
    }

    fn docker_host_named(&self, name: &str) -> Result<Docker, Failure> {
        let hosts = self.inner.infra.docker();
        hosts
            .iter()
            .find(|docker| docker.name() == name || docker.id().to_string() == name)
            .cloned()
            .ok_or_else(|| {
                let known: Vec<&str> = hosts.iter().map(Docker::name).collect();
                Failure::invalid(format!(
                    "`{name}` is no Docker host; there are {}",
                    known.join(", ")
                ))
                .detail("hosts", known)
            })
    }

    async fn docker_container_named(&self, name: &str, host: Option<Docker>) -> Result<About, Failure> {
        let graph = self.inner.infra.graph(NAMES_FOR).await;
        let found: Vec<ResourceId> = graph
            .named(name)
            .into_iter()
            .map(|resource| resource.id.clone())
            .filter(|id| id.kind() == ResourceKind::DockerContainer)
            .filter(|id| host.as_ref().is_none_or(|host| id.host() == Some(host.name())))
            .collect();
        match found.as_slice() {
            [one] => self.docker_about(one),
            [] => Err(Failure::new(
                interlock_protocol::ErrorCode::NotFound,
                format!("no container is named `{name}`; the action `list` shows what there is"),
            )),
            several => {
                let ids: Vec<String> = several.iter().map(ToString::to_string).collect();
                Err(Failure::invalid(format!(
                    "`{name}` may be any of {}; name one by its id",
                    ids.join(", ")
                )))
            }
        }
    }

    async fn docker_list(&self, about: &About) -> Result<Done, Failure> {
        if let About::Container(docker, id) = about {
            return self.docker_inspect(docker, id).await;
        }
        let hosts = self.hosts_of(about);
        let taken_at = Timestamp::now();
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for docker in &hosts {
            match docker.containers().await {
                Ok(containers) => {
                    for container in containers {
                        let mut row = json!(container);
                        row["resource_id"] = json!(docker.container_id(&container.name));
                        row["host"] = docker.name().into();
                        rows.push(row);
                    }
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        let rows = self.rows("containers", rows, &problems)?;
        let summary = format!("listed the containers of {} hosts", hosts.len());
        Ok(about_host(about, taken_at, rows, summary))
    }

    /// Rows in one list, as many as are given back, with what could not be asked.
    pub(super) fn rows(
        &self,
        key: &str,
        mut rows: Vec<Value>,
        problems: &[String],
    ) -> Result<Value, Failure> {
        if rows.is_empty() && !problems.is_empty() {
            return Err(Failure::failed(problems.join("; ")));
        }
        let total = rows.len();
        rows.truncate(count(self.inner.options.entries));
        let mut data = json!({"total": total, "truncated": total > rows.len()});
        data[key] = Value::Array(rows);
        if !problems.is_empty() {
            data["problems"] = json!(problems);
        }
        Ok(data)
    }

    fn hosts_of(&self, about: &About) -> Vec<Docker> {
        match about {
            About::All => self.inner.infra.docker().to_vec(),
            About::Host(docker) | About::Container(docker, _) => vec![docker.clone()],
        }
    }

    async fn docker_inspect(&self, docker: &Docker, id: &ResourceId) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let found = docker.inspect(id.uid()).await?;
        let observed = docker.observe(&found).await;
        let data = json!(found);
        Ok(
            Done::succeeded(data.clone(), "looked at a container").with_reading(reading(
                id,
                taken_at,
                data,
                vec![observed],
            )),
        )
    }

    async fn docker_logs(&self, plan: &Plan, docker: &Docker, id: &ResourceId) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let query = LogQuery {
            lines: arguments::count(plan, "lines").unwrap_or_else(|| count(self.inner.options.lines)),
            since: None,
            bytes: MOST_TAKEN,
        };
        let logs = docker.logs(id.uid(), query).await?;
        let found = docker.inspect(id.uid()).await?;
        let observed = docker.observe(&found).await;
        let data = json!({
            "resource_id": id,
            "state": found.state,
            "exit_code": found.exit_code,
            "restart_count": found.restart_count,
            "lines": logs.lines,
            "truncated": logs.truncated,
        });
        let summary = format!("read {} lines of a container's log", logs.lines.len());
        Ok(Done::succeeded(data.clone(), summary).with_reading(reading(id, taken_at, data, vec![observed])))
    }

    /// What hosts say about Swarm or about their images.
    async fn docker_hosts(&self, about: &About, action: &str) -> Result<Done, Failure> {
        let taken_at = Timestamp::now();
        let mut rows = Vec::new();
        let mut problems = Vec::new();
        for docker in self.hosts_of(about) {
            let found = match action {
                "services" => docker.services().await.map(Value::from),
                "tasks" => docker.tasks().await.map(Value::from),
                "swarm" => docker.swarm().await,
                _ => docker.images().await.map(|images| json!(images)),
            };
            match found {
                Ok(found) => {
                    let mut row = json!({"host": docker.name()});
                    row[action] = found;
                    rows.push(row);
                }
                Err(error) => problems.push(error.to_string()),
            }
        }
        let data = self.rows("hosts", rows, &problems)?;
        Ok(about_host(
            about,
            taken_at,
            data,
            format!("asked Docker hosts for {action}"),
        ))
    }
}

/// Asks registries whether there is something newer.
async fn docker_check(started: &Started, about: &About) -> Result<Done, Failure> {
    let checks = match about {
        About::Container(docker, id) => docker.check_updates(started, Some(id.uid())).await?,
        About::Host(docker) => docker.check_updates(started, None).await?,
        About::All => return Err(Failure::missing("resource_id")),
    };
    let summary = format!("checked {} containers for newer images", checks.len());
    Ok(Done::succeeded(json!({"checks": checks}), summary))
}

/// A result that was read from one host, or from all.
fn about_host(about: &About, taken_at: Timestamp, data: Value, summary: String) -> Done {
    let done = Done::succeeded(data.clone(), summary);
    match about {
        About::Host(docker) => done.with_reading(reading(docker.id(), taken_at, data, Vec::new())),
        About::All | About::Container(..) => done.with_reading(Reading {
            resource: None,
            taken_at,
            data,
            observations: Vec::new(),
            walls: None,
        }),
    }
}

fn container(about: About) -> Result<(Docker, ResourceId), Failure> {
    match about {
        About::Container(docker, id) => Ok((docker, id)),
        About::All | About::Host(_) => Err(Failure::invalid(
            "name one container: `resource_id` as the action `list` shows it, or `container`",
        )),
    }
}
